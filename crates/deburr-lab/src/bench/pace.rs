//! How fast operations follow each other: the time between two of them, and the time inside a critical section.
//!
//! In: nanoseconds, and what an iteration of the delay loop takes. Out: [`Work`], in iterations.

use crate::kernel::{DELAYS, Work};
use crate::measure::schedule::layout_order;
use std::fmt;
use std::str::FromStr;

/// The longest time between two operations, and in a critical section, in nanoseconds: a sample must hold many.
pub const LONGEST_NS: f64 = 10_000.0;

/// The time between two operations of a thread, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Think {
    /// None: the next follows at once.
    None,
    /// Always the same.
    Fixed(f64),
    /// Exponentially distributed with this mean: the quantiles of the distribution, in a fixed random order.
    Exponential(f64),
}

/// How fast operations follow each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// The time between two operations.
    pub think: Think,
    /// The time inside a critical section, in nanoseconds.
    pub section_ns: f64,
}

impl Think {
    /// Its name: `fixed`.
    pub const fn name(self) -> &'static str {
        match self {
            Think::None => "none",
            Think::Fixed(_) => "fixed",
            Think::Exponential(_) => "exponential",
        }
    }

    /// Its mean, in nanoseconds.
    pub const fn mean_ns(self) -> f64 {
        match self {
            Think::None => 0.0,
            Think::Fixed(ns) | Think::Exponential(ns) => ns,
        }
    }

    /// The time after the operation of this number, in nanoseconds.
    fn delay_ns(self, at: usize) -> f64 {
        match self {
            Think::None => 0.0,
            Think::Fixed(ns) => ns,
            // The quantile in the middle of each of so many equal parts.
            Think::Exponential(mean) => -mean * (1.0 - (at as f64 + 0.5) / DELAYS as f64).ln(),
        }
    }
}

/// Why a text is no think time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoThink;

impl fmt::Display for NoThink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected none, fixed:NS or exponential:NS, with up to {LONGEST_NS} nanoseconds")
    }
}

impl std::error::Error for NoThink {}

impl FromStr for Think {
    type Err = NoThink;

    fn from_str(text: &str) -> Result<Think, NoThink> {
        let (kind, ns) = text.split_once(':').unwrap_or((text, "0"));
        let ns: f64 = ns.parse().map_err(|_| NoThink)?;
        let is_time = ns > 0.0 && ns <= LONGEST_NS;
        match kind {
            "none" if text == "none" => Ok(Think::None),
            "fixed" if is_time => Ok(Think::Fixed(ns)),
            "exponential" if is_time => Ok(Think::Exponential(ns)),
            _ => Err(NoThink),
        }
    }
}

impl fmt::Display for Think {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Think::None => f.write_str("none"),
            Think::Fixed(ns) | Think::Exponential(ns) => write!(f, "{}:{ns}", self.name()),
        }
    }
}

impl Pace {
    /// One operation after the other, with nothing in a critical section.
    pub const NONE: Pace = Pace { think: Think::None, section_ns: 0.0 };

    /// The same in iterations of the delay loop, each of which takes so many nanoseconds.
    pub fn work(&self, iteration_ns: f64) -> Work {
        // The loop has one iteration at least.
        let iterations = |ns: f64| (ns / iteration_ns).round().clamp(1.0, f64::from(u32::MAX)) as u32 - 1;
        let mut delays = [0; DELAYS];
        for (place, at) in delays.iter_mut().zip(layout_order(1, 0, DELAYS as u32)) {
            *place = iterations(self.think.delay_ns(at as usize));
        }
        let thinks = (self.think != Think::None).into();
        Work { section: iterations(self.section_ns), thinks, delays, ..Work::NONE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_think_time_is_read_as_it_is_written() {
        for text in ["none", "fixed:100", "exponential:2.5", "fixed:10000"] {
            assert_eq!(text.parse::<Think>().unwrap().to_string(), text);
        }
        for wrong in [
            "",
            "some",
            "none:3",
            "fixed",
            "fixed:0",
            "fixed:-1",
            "fixed:NaN",
            "exponential:10001",
            "fixed:1:2",
        ] {
            assert_eq!(wrong.parse::<Think>(), Err(NoThink), "{wrong}");
        }
    }

    #[test]
    fn delays_have_the_mean_and_the_spread_of_their_distribution() {
        let delays = |think| {
            let work = Pace { think, section_ns: 0.0 }.work(0.25);
            work.delays.map(|delay| 0.25 * (f64::from(delay) + 1.0))
        };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        assert!(delays(Think::Fixed(100.0)).iter().all(|&ns| ns == 100.0));
        let drawn = delays(Think::Exponential(100.0));
        assert!((mean(&drawn) - 100.0).abs() < 1.0, "{}", mean(&drawn));
        // The standard deviation of an exponential distribution is its mean.
        let squares: Vec<f64> = drawn.iter().map(|ns| (ns - 100.0).powi(2)).collect();
        assert!((mean(&squares).sqrt() - 100.0).abs() < 5.0, "{}", mean(&squares).sqrt());
        assert!(drawn.windows(2).any(|pair| pair[0] > pair[1]));
    }

    #[test]
    fn a_section_is_a_number_of_iterations() {
        let section = |ns| Pace { think: Think::None, section_ns: ns }.work(0.5).section;
        assert_eq!([0.0, 0.5, 5.0, 1000.0].map(section), [0, 0, 9, 1999]);
        assert_eq!(Pace::NONE.work(0.5), Work::NONE);
    }
}
