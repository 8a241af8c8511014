//! Whether more or less is better: the one place where a time becomes a quantity of which more is better.
//!
//! Everything else in `stats` takes *larger is better*. A rate (transactions a second) enters as it is. A
//! time (seconds, bytes, nanoseconds an operation) enters as its reciprocal in
//! [`super::posterior::unpaired`], and with the sign of its logarithm turned in [`super::posterior::paired`],
//! so that a positive log ratio always says that B is better.

use super::error::Error;

/// Whether more of a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Larger is better: operations a second, megabytes a second.
    Larger,
    /// Smaller is better: seconds, bytes, misses.
    Smaller,
}

impl Direction {
    /// `value` as a quantity of which more is better: itself, or its reciprocal.
    ///
    /// # Errors
    /// [`Error::NotFinite`], or [`Error::NotPositive`] where a reciprocal or a ratio needs a positive value;
    /// index 0.
    pub fn orient(self, value: f64) -> Result<f64, Error> {
        positive(value, 0)?;
        Ok(match self {
            Direction::Larger => value,
            Direction::Smaller => 1.0 / value,
        })
    }

    /// [`Direction::orient`] of every value.
    ///
    /// # Errors
    /// As [`Direction::orient`], with the value's index.
    pub fn orient_all(self, values: &[f64]) -> Result<Vec<f64>, Error> {
        let oriented = values.iter().enumerate().map(|(index, &value)| {
            positive(value, index)?;
            self.orient(value)
        });
        oriented.collect()
    }

    /// The log ratio of a pair, dimensionless: ln(b/a), turned so that more than 0 says that B is better.
    ///
    /// # Errors
    /// [`Error::NotFinite`] or [`Error::NotPositive`]; index 0 is `a`, 1 is `b`.
    pub fn log_ratio(self, a: f64, b: f64) -> Result<f64, Error> {
        positive(a, 0)?;
        positive(b, 1)?;
        // From the larger one down, so that who swaps the sides gets the same number with its sign turned.
        let (low, high, sign) = if b < a { (b, a, -1.0) } else { (a, b, 1.0) };
        let ratio = libm::log(high / low);
        // A quotient of two ordinary numbers may still overflow.
        let ratio = sign * if ratio.is_finite() { ratio } else { libm::log(high) - libm::log(low) };
        Ok(match self {
            Direction::Larger => ratio,
            Direction::Smaller => -ratio,
        })
    }

    /// By how much B differs from A where their log ratio is `log_ratio`: a fraction of A in the metric's own
    /// unit, so that −0.03 of a time is a time shorter by 3 %.
    pub fn change(self, log_ratio: f64) -> f64 {
        match self {
            Direction::Larger => libm::expm1(log_ratio),
            Direction::Smaller => libm::expm1(-log_ratio),
        }
    }

    /// The log ratios of pairs, `a[i]` with `b[i]`: one number a pair, in the order of the pairs.
    ///
    /// # Errors
    /// [`Error::NotPaired`] for different lengths, and as [`Direction::log_ratio`] with the pair's index.
    pub fn log_ratios(self, a: &[f64], b: &[f64]) -> Result<Vec<f64>, Error> {
        if a.len() != b.len() {
            return Err(Error::NotPaired { a: a.len(), b: b.len() });
        }
        let ratios = a.iter().zip(b).enumerate().map(|(index, (&a, &b))| {
            positive(a, index)?;
            positive(b, index)?;
            self.log_ratio(a, b)
        });
        ratios.collect()
    }
}

fn positive(value: f64, index: usize) -> Result<(), Error> {
    if !value.is_finite() {
        return Err(Error::NotFinite { index });
    }
    if value <= 0.0 {
        return Err(Error::NotPositive { index, value });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_faster_b_is_better_whether_given_as_a_time_or_as_a_rate() {
        let time = Direction::Smaller.log_ratio(2.0, 1.0);
        let rate = Direction::Larger.log_ratio(0.5, 1.0);
        assert_eq!(time, rate);
        assert!(time.is_ok_and(|ratio| (ratio - 2f64.ln()).abs() < 1e-15));
        assert_eq!(Direction::Smaller.orient(4.0), Ok(0.25));
    }

    #[test]
    fn a_change_is_in_the_unit_of_the_metric() {
        for (direction, change) in [(Direction::Smaller, -0.2), (Direction::Larger, 0.25)] {
            let (a, b) = if direction == Direction::Smaller { (1.0, 0.8) } else { (0.8, 1.0) };
            let found = direction.change(direction.log_ratio(a, b).unwrap());
            assert!((found - change).abs() < 1e-15, "{found}");
        }
    }

    #[test]
    fn values_without_a_logarithm_are_refused_with_their_place() {
        assert_eq!(
            Direction::Larger.log_ratios(&[1.0, 1.0], &[1.0, 0.0]),
            Err(Error::NotPositive { index: 1, value: 0.0 })
        );
        assert_eq!(Direction::Smaller.orient_all(&[1.0, f64::NAN]), Err(Error::NotFinite { index: 1 }));
        assert_eq!(Direction::Larger.log_ratios(&[1.0], &[]), Err(Error::NotPaired { a: 1, b: 0 }));
    }

    #[test]
    fn ratios_of_extreme_values_stay_finite() {
        let ratio = Direction::Larger.log_ratio(1e-300, 1e300);
        assert!(ratio.is_ok_and(|ratio| (ratio - 600.0 * 10f64.ln()).abs() < 1e-9));
    }
}
