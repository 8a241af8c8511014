//! Measuring stage: what is read of a run.
//!
//! In: what it took, and what it printed. Out: a number by name. A pattern has to match once: what is printed twice is as wrong
//! as what is not printed at all, since nobody knows which of the two is meant.

use super::process::Usage;
use regex::Regex;
use std::fmt;

/// A number that every run has.
#[derive(Debug, Clone)]
pub struct Metric {
    /// What it is called.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
}

/// Where a number comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// Wall time, in seconds.
    Wall,
    /// CPU time outside of the kernel, in seconds.
    User,
    /// CPU time in the kernel, in seconds.
    System,
    /// Peak memory, in bytes.
    PeakMemory,
    /// What the first group of an expression matches, or the whole of it where it has none.
    Pattern(Regex),
}

/// Why a run has no such number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoNumber {
    /// The pattern matches nothing.
    NoMatch,
    /// It matches more than once.
    Matches(usize),
    /// What it matches is no number.
    Text(String),
}

impl fmt::Display for NoNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoNumber::NoMatch => f.write_str("its pattern matches nothing of what the command printed"),
            NoNumber::Matches(times) => {
                write!(f, "its pattern matches {times} times, where once is expected: which one is meant?")
            }
            NoNumber::Text(text) => write!(f, "its pattern matches {text:?}, which is no number"),
        }
    }
}

impl Metric {
    /// Whether it is looked for in what a run prints.
    pub fn is_printed(&self) -> bool {
        matches!(self.source, Source::Pattern(_))
    }

    /// The number of a run.
    ///
    /// # Errors
    /// [`NoNumber`], for a pattern that does not match once, or matches no number.
    pub fn read(&self, usage: &Usage, text: &str) -> Result<f64, NoNumber> {
        match &self.source {
            Source::Wall => Ok(usage.wall),
            Source::User => Ok(usage.user),
            Source::System => Ok(usage.system),
            Source::PeakMemory => Ok(usage.peak_memory as f64),
            Source::Pattern(pattern) => {
                let mut matches = pattern.captures_iter(text);
                let first = matches.next().ok_or(NoNumber::NoMatch)?;
                match matches.count() {
                    0 => {}
                    more => return Err(NoNumber::Matches(more + 1)),
                }
                let found = first.get(1).or_else(|| first.get(0)).map_or("", |found| found.as_str());
                // As people write large numbers.
                let digits = found.trim().replace([',', '_'], "");
                let number = digits.parse().ok().filter(|number: &f64| number.is_finite());
                number.ok_or_else(|| NoNumber::Text(found.to_owned()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: Usage = Usage {
        wall: 2.0,
        user: 1.5,
        system: 0.25,
        peak_memory: 4096,
        voluntary_switches: 1,
        involuntary_switches: 2,
    };

    fn read(source: Source, text: &str) -> Result<f64, NoNumber> {
        Metric { name: "it".to_owned(), source }.read(&USAGE, text)
    }

    fn pattern(pattern: &str, text: &str) -> Result<f64, NoNumber> {
        read(Source::Pattern(Regex::new(pattern).expect("an expression")), text)
    }

    #[test]
    fn what_a_run_took_is_read_as_it_is() {
        let sources = [Source::Wall, Source::User, Source::System, Source::PeakMemory];
        assert_eq!(sources.map(|source| read(source, "")), [Ok(2.0), Ok(1.5), Ok(0.25), Ok(4096.0)]);
    }

    #[test]
    fn patterns_match_one_number() {
        assert_eq!(pattern(r"tps = ([0-9.]+)", "tps = 1234.5 (x)"), Ok(1234.5));
        assert_eq!(pattern(r"[0-9,]+ ops", "1,234,567 ops"), Err(NoNumber::Text("1,234,567 ops".to_owned())));
        assert_eq!(pattern(r"([0-9,]+) ops", "1,234,567 ops"), Ok(1_234_567.0));
        assert_eq!(pattern(r"-?[0-9.]+e-?[0-9]+", "x 1.5e-3"), Ok(0.0015));
    }

    #[test]
    fn a_pattern_that_does_not_match_once_gives_no_number() {
        assert_eq!(pattern(r"tps = ([0-9.]+)", "none"), Err(NoNumber::NoMatch));
        assert_eq!(pattern(r"tps = ([0-9.]+)", "tps = 1\ntps = 2\ntps = 3"), Err(NoNumber::Matches(3)));
        assert_eq!(pattern(r"tps = (\w+)", "tps = none"), Err(NoNumber::Text("none".to_owned())));
        assert_eq!(pattern(r"tps = (\w+)", "tps = inf"), Err(NoNumber::Text("inf".to_owned())));
    }
}
