//! The statistics of benchstat (golang.org/x/perf): what Go's users know, from two separate samples.
//!
//! Median with an interval between order statistics, Mann and Whitney's U test, `~` where p > α, and
//! geometric means. Two faults of upstream's statistics are corrected, and reproduced with [`Upstream::AsPrinted`]: with
//! ties and sides of different sizes its p value depends on the order of the arguments and can exceed 1 (and
//! with two different values it counts a choice that there is not); and the interval for 24 values is off by one order statistic through rounding. None of this knows of drift or
//! of pairs: see [`super::verdict`].

mod interval;
mod mann_whitney;
mod shortest;
mod upstream;

pub use interval::{Interval, median_interval};
pub use mann_whitney::{MannWhitney, NoTest, mann_whitney};
pub use shortest::shortest;
pub use upstream::Upstream;

use super::distributions::student;
use super::error::{Error, finite};
use super::moments;
use std::fmt;

/// What is assumed of a metric's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Assumption {
    /// Nothing: medians and the U test.
    #[default]
    Nothing,
    /// A normal distribution: means and Welch's t test.
    Normal,
    /// All values are equal, as bytes of a file are.
    Exact,
}

/// What to say about a summary or a comparison, in upstream's words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Note {
    /// Too few values for an interval.
    IntervalNeeds {
        /// This many are enough; `None`: more than 50.
        values: Option<usize>,
        /// At this confidence.
        confidence: f64,
    },
    /// Too few values to find any difference.
    DifferenceNeeds {
        /// This many a side are enough; `None`: 10 or more.
        values: Option<usize>,
        /// At this α.
        alpha: f64,
    },
    /// Nothing to distinguish.
    AllEqual,
    /// A side without the values that a t test needs.
    TooSmall,
    /// Sides without variance.
    ZeroVariance,
    /// Values that should be equal are not.
    NotExact {
        /// Smallest of them.
        low: f64,
        /// Largest of them.
        high: f64,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let needs = |values: Option<usize>, most: usize| match values {
            Some(values) => format!(">= {values}"),
            None => format!("> {most}"),
        };
        match *self {
            Note::IntervalNeeds { values, confidence } => write!(
                f,
                "need {} samples for confidence interval at level {}",
                needs(values, 50),
                shortest(confidence)
            ),
            Note::DifferenceNeeds { values, alpha } => write!(
                f,
                "need {} samples to detect a difference at alpha level {}",
                needs(values, SMALLEST_P.len()),
                shortest(alpha)
            ),
            Note::AllEqual => f.write_str("all samples are equal"),
            Note::TooSmall => f.write_str("sample is too small"),
            Note::ZeroVariance => f.write_str("sample has zero variance"),
            Note::NotExact { low, high } => write!(
                f,
                "exact distribution expected, but values range from {} to {}",
                shortest(low),
                shortest(high)
            ),
        }
    }
}

/// A sample summed up.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Median, mean or most frequent value, by the assumption.
    pub center: f64,
    /// Lower end of its interval; −∞ where there are too few values.
    pub low: f64,
    /// Upper end; ∞ where there are too few values.
    pub high: f64,
    /// The probability that the interval really has.
    pub confidence: f64,
    /// What to say about it.
    pub notes: Vec<Note>,
}

impl Summary {
    /// The interval as a percentage of the centre, as benchstat prints it after `±`: the larger side; `∞`
    /// without an end, `?` where signs differ.
    pub fn percent(&self) -> String {
        if self.low.is_infinite() || self.high.is_infinite() {
            return "∞".to_owned();
        }
        let sign = |value: f64| (value > 0.0, value < 0.0);
        if sign(self.center) != sign(self.low) || sign(self.center) != sign(self.high) {
            return "?".to_owned();
        }
        if self.center == 0.0 {
            return "0%".to_owned();
        }
        let reach = (self.high / self.center - 1.0).max(1.0 - self.low / self.center);
        format!("{:.0}%", 100.0 * reach)
    }
}

/// Two samples compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Two-sided p; 0 of exact values, whose difference needs no test.
    pub p: f64,
    /// Values of the first side.
    pub n1: usize,
    /// Values of the second side.
    pub n2: usize,
    /// p above this prints `~`. 0 where no threshold applies: so is upstream's for means.
    pub alpha: f64,
    /// What to say about it.
    pub notes: Vec<Note>,
}

impl Comparison {
    /// The change of the centre in percent, `~` where p > α, `0.00%` where equal, `?` from 0.
    pub fn delta(&self, old: f64, new: f64) -> String {
        if self.p > self.alpha {
            "~".to_owned()
        } else if old == new {
            "0.00%".to_owned()
        } else if old == 0.0 {
            "?".to_owned()
        } else {
            format!("{:+.2}%", (new / old - 1.0) * 100.0)
        }
    }
}

/// `p=0.PPP n=N1+N2`, or shorter.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.p != 0.0 {
            write!(f, "p={:.3} ", self.p)?;
        }
        if self.n1 == self.n2 { write!(f, "n={}", self.n1) } else { write!(f, "n={}+{}", self.n1, self.n2) }
    }
}

/// Sums up `values`, in any order, with an interval at `confidence` (0.95).
///
/// # Errors
/// [`Error::TooFew`] of nothing, [`Error::NotFinite`], [`Error::OutOfRange`] for a confidence outside 0 to 1.
pub fn summary(
    values: &[f64],
    assumption: Assumption,
    confidence: f64,
    upstream: Upstream,
) -> Result<Summary, Error> {
    checked(values)?;
    if !(0.0..=1.0).contains(&confidence) {
        return Err(Error::OutOfRange { name: "the confidence of an interval", value: confidence });
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Ok(match assumption {
        Assumption::Nothing => of_median(&sorted, confidence, upstream),
        Assumption::Normal => of_mean(&sorted, confidence),
        Assumption::Exact => of_exact(&sorted),
    })
}

fn checked(values: &[f64]) -> Result<(), Error> {
    if values.is_empty() {
        return Err(Error::TooFew { needed: 1, got: 0 });
    }
    finite(values)
}

fn of_median(sorted: &[f64], confidence: f64, upstream: Upstream) -> Summary {
    let interval = median_interval(sorted.len(), confidence, upstream);
    let statistic = |order: usize| order.checked_sub(1).and_then(|index| sorted.get(index)).copied();
    let low = statistic(interval.low).unwrap_or(f64::NEG_INFINITY);
    let high = statistic(interval.high).unwrap_or(f64::INFINITY);
    let mut notes = Vec::new();
    if low.is_infinite() || high.is_infinite() {
        notes.push(Note::IntervalNeeds { values: interval::values_needed(confidence, upstream), confidence });
    }
    let center = match upstream {
        Upstream::Corrected => moments::median(sorted),
        Upstream::AsPrinted => printed_median(sorted),
    };
    Summary { center, low, high, confidence: interval.confidence, notes }
}

/// The median as upstream's general quantile has it (Hyndman & Fan's definition 8), whose last bit may
/// differ.
fn printed_median(sorted: &[f64]) -> f64 {
    let place = 1.0 / 3.0 + 0.5 * (sorted.len() as f64 + 1.0 / 3.0);
    let (whole, part) = (libm::floor(place), place - libm::floor(place));
    let after = sorted.get(whole as usize);
    let before = (whole as usize).checked_sub(1).and_then(|index| sorted.get(index));
    match (before, after) {
        (Some(before), Some(after)) => before + part * (after - before),
        (None, Some(only)) | (Some(only), None) => *only,
        (None, None) => f64::NAN,
    }
}

fn of_mean(sorted: &[f64], confidence: f64) -> Summary {
    let mean = moments::mean(sorted);
    let n = sorted.len() as f64;
    let reach = if sorted.len() < 2 {
        f64::INFINITY
    } else {
        let deviation = moments::standard_deviation(sorted);
        let t = -student::quantile((1.0 - confidence) / 2.0, n - 1.0);
        if deviation == 0.0 { 0.0 } else { t * deviation / libm::sqrt(n) }
    };
    Summary { center: mean, low: mean - reach, high: mean + reach, confidence, notes: Vec::new() }
}

fn of_exact(sorted: &[f64]) -> Summary {
    let (low, high) =
        (sorted.first().copied().unwrap_or(f64::NAN), sorted.last().copied().unwrap_or(f64::NAN));
    // The first of the most frequent values.
    let (mut center, mut most) = (low, 0);
    for group in sorted.chunk_by(|one, other| one == other) {
        if group.len() > most {
            (center, most) = (group.first().copied().unwrap_or(low), group.len());
        }
    }
    let notes = if most == sorted.len() { Vec::new() } else { vec![Note::NotExact { low, high }] };
    Summary { center, low, high, confidence: 1.0, notes }
}

/// The least p of the U test for 1 to 9 values a side: 2/C(2n, n).
const SMALLEST_P: [f64; 9] = [
    1.0,
    2.0 / 6.0,
    2.0 / 20.0,
    2.0 / 70.0,
    2.0 / 252.0,
    2.0 / 924.0,
    2.0 / 3432.0,
    2.0 / 12870.0,
    2.0 / 48620.0,
];

/// Compares two samples, in any order; `alpha` (0.05) is what the U test's p is compared with.
///
/// # Errors
/// [`Error::TooFew`] of nothing, [`Error::NotFinite`].
pub fn compare(
    a: &[f64],
    b: &[f64],
    assumption: Assumption,
    alpha: f64,
    upstream: Upstream,
) -> Result<Comparison, Error> {
    checked(a)?;
    checked(b)?;
    let (n1, n2) = (a.len(), b.len());
    Ok(match assumption {
        Assumption::Nothing => by_ranks(a, b, alpha, upstream),
        Assumption::Normal => {
            let (p, notes) = welch(a, b, upstream).map_or_else(|note| (1.0, vec![note]), |p| (p, Vec::new()));
            let alpha = match upstream {
                Upstream::Corrected => alpha,
                Upstream::AsPrinted => 0.0,
            };
            Comparison { p, n1, n2, alpha, notes }
        }
        Assumption::Exact => Comparison { p: 0.0, n1, n2, alpha: 0.0, notes: Vec::new() },
    })
}

fn by_ranks(a: &[f64], b: &[f64], alpha: f64, upstream: Upstream) -> Comparison {
    let (n1, n2) = (a.len(), b.len());
    let (p, mut notes) = match mann_whitney(a, b, upstream) {
        Ok(found) => (found.p, Vec::new()),
        Err(NoTest::AllEqual) => return Comparison { p: 1.0, n1, n2, alpha, notes: vec![Note::AllEqual] },
        Err(NoTest::Empty) => return Comparison { p: 1.0, n1, n2, alpha, notes: vec![Note::TooSmall] },
    };
    if p > alpha {
        let values = SMALLEST_P.iter().position(|smallest| *smallest <= alpha).map(|index| index + 1);
        let enough = values.unwrap_or(SMALLEST_P.len() + 1);
        if n1 < enough && n2 < enough {
            notes.push(Note::DifferenceNeeds { values, alpha });
        }
    }
    Comparison { p, n1, n2, alpha, notes }
}

/// Welch's t test, two-sided. Upstream takes its tail from 1, so that what is below 1e-16 prints as an exact
/// result.
fn welch(a: &[f64], b: &[f64], upstream: Upstream) -> Result<f64, Note> {
    if a.len() < 2 || b.len() < 2 {
        return Err(Note::TooSmall);
    }
    let part = |values: &[f64]| {
        let deviation = moments::standard_deviation(values);
        deviation * deviation / values.len() as f64
    };
    let (va, vb) = (part(a), part(b));
    if va == 0.0 && vb == 0.0 {
        return Err(Note::ZeroVariance);
    }
    let (na, nb) = ((a.len() - 1) as f64, (b.len() - 1) as f64);
    let nu = (va + vb) * (va + vb) / (va * va / na + vb * vb / nb);
    let t = (moments::mean(a) - moments::mean(b)) / libm::sqrt(va + vb);
    let tail = match upstream {
        Upstream::Corrected => student::survival(t.abs(), nu),
        Upstream::AsPrinted => 1.0 - student::cdf(t.abs(), nu),
    };
    Ok((2.0 * tail).min(1.0))
}

/// The geometric mean; `None` of nothing or where a value is not positive.
pub fn geomean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| value.is_nan() || *value <= 0.0) {
        return None;
    }
    let logarithms: Vec<f64> = values.iter().map(|value| libm::log(*value)).collect();
    Some(libm::exp(moments::mean(&logarithms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_values_that_differ_get_a_note() {
        let found = summary(&[101.0, 100.0, 101.0], Assumption::Exact, 0.95, Upstream::Corrected).unwrap();
        assert_eq!((found.center, found.low, found.high), (101.0, 100.0, 101.0));
        assert_eq!(
            found.notes[0].to_string(),
            "exact distribution expected, but values range from 100 to 101"
        );
    }

    #[test]
    fn bad_samples_are_refused() {
        assert!(summary(&[], Assumption::Nothing, 0.95, Upstream::Corrected).is_err());
        assert!(summary(&[1.0], Assumption::Nothing, f64::NAN, Upstream::Corrected).is_err());
        assert!(compare(&[1.0], &[f64::NAN], Assumption::Nothing, 0.05, Upstream::Corrected).is_err());
        assert_eq!((geomean(&[]), geomean(&[1.0, 0.0]), geomean(&[f64::NAN])), (None, None, None));
        assert!(geomean(&[1.0, 4.0]).is_some_and(|mean| (mean - 2.0).abs() < 1e-15));
    }
}
