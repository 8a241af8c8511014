//! How far placement alone moves a program: the same code at several layouts, each measured once in every
//! round.
//!
//! ln x = round + layout + noise, the layouts drawn at random. A layout's place is the median over the rounds
//! of how far it is from the round's median, so that neither a machine that drifts nor a run that was
//! disturbed moves it. Noise is the median difference of two runs of one layout, over that of a normal
//! distribution. σ² of the layouts is the variance of their places less noise²/rounds, the share that a mean
//! would have; a median has more of it, so that σ rather comes out too large than too small.
//!
//! Where A and B have one layout each, those differ by √2·σ even if the programs do not. That much, with the
//! t quantile of one degree of freedom less than layouts, a difference has to exceed before it says anything
//! about the programs.

use crate::stats::distributions::student;
use crate::stats::error::Error;
use crate::stats::moments;
use crate::stats::rope::Rope;

/// The median of how far two values of a normal distribution of σ = 1 are apart: √2·Φ⁻¹(3/4).
const APART: f64 = 0.953_872_552_417_2;
/// The one-sided error of [`Placement::floor`]: as that of the verdict, half of α = .10.
const ERROR: f64 = 0.05;

/// What several layouts of one program show, on the scale of logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placement {
    layouts: usize,
    rounds: usize,
    layout_variance: f64,
    noise_variance: f64,
}

impl Placement {
    /// Of positive values, one row a round and in each row one value a layout, in the same order.
    ///
    /// # Errors
    /// [`Error::TooFew`] with fewer than 2 rounds or layouts, [`Error::NotPaired`] for rows of different
    /// lengths, [`Error::NotFinite`] and [`Error::NotPositive`] with a value's index in its row.
    pub fn of(rounds: &[Vec<f64>]) -> Result<Placement, Error> {
        let layouts = rounds.first().map_or(0, Vec::len);
        for count in [rounds.len(), layouts] {
            if count < 2 {
                return Err(Error::TooFew { needed: 2, got: count });
            }
        }
        let mut logarithms = Vec::new();
        for row in rounds {
            if row.len() != layouts {
                return Err(Error::NotPaired { a: layouts, b: row.len() });
            }
            logarithms.push(row.iter().enumerate().map(logarithm).collect::<Result<Vec<f64>, Error>>()?);
        }
        for row in &mut logarithms {
            let middle = moments::median(row);
            row.iter_mut().for_each(|value| *value -= middle);
        }
        let (mut places, mut apart) = (Vec::new(), Vec::new());
        for layout in 0..layouts {
            let runs: Vec<f64> = logarithms.iter().filter_map(|row| row.get(layout).copied()).collect();
            places.push(moments::median(&runs));
            for (index, one) in runs.iter().enumerate() {
                apart.extend(runs.iter().skip(index + 1).map(|other| (one - other).abs()));
            }
        }
        let square = |value: f64| value * value;
        let noise_variance = square(moments::median(&apart) / APART);
        let places_variance = square(moments::standard_deviation(&places));
        let layout_variance = (places_variance - noise_variance / rounds.len() as f64).max(0.0);
        Ok(Placement { layouts, rounds: rounds.len(), layout_variance, noise_variance })
    }

    /// How many layouts there were.
    pub fn layouts(&self) -> usize {
        self.layouts
    }

    /// How often each was measured.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// The standard deviation that layouts make, as a logarithm; 0 where there is no more of it than noise
    /// explains.
    pub fn deviation(&self) -> f64 {
        libm::sqrt(self.layout_variance)
    }

    /// The standard deviation of runs of one layout, as a logarithm.
    pub fn noise(&self) -> f64 {
        libm::sqrt(self.noise_variance)
    }

    /// What two layouts of one program differ by at most, as a logarithm, in 19 of 20 cases to each side.
    pub fn floor(&self) -> f64 {
        let quantile = student::quantile(1.0 - ERROR, (self.layouts - 1) as f64);
        quantile * libm::sqrt(2.0 * self.layout_variance)
    }

    /// A region of equivalence that has room for what placement does.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] where layouts differ beyond all numbers.
    pub fn widen(&self, rope: Rope) -> Result<Rope, Error> {
        Rope::new(libm::expm1(rope.half_width() + self.floor()))
    }
}

fn logarithm((index, value): (usize, &f64)) -> Result<f64, Error> {
    match *value {
        value if !value.is_finite() => Err(Error::NotFinite { index }),
        value if value <= 0.0 => Err(Error::NotPositive { index, value }),
        value => Ok(libm::log(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    /// Rounds of one program: `drift` from round to round, layouts that differ by `layout` (sd), runs by
    /// `noise` (sd).
    fn rounds(
        random: &mut Random,
        [drift, layout, noise]: [f64; 3],
        layouts: usize,
        rounds: usize,
    ) -> Vec<Vec<f64>> {
        let offsets: Vec<f64> = (0..layouts).map(|_| layout * random.normal()).collect();
        let row = |round: usize| {
            let mut value = |offset: &f64| (drift * round as f64 + offset + noise * random.normal()).exp();
            offsets.iter().map(&mut value).collect()
        };
        (0..rounds).map(row).collect()
    }

    #[test]
    fn places_and_noise_are_medians() {
        // Layouts at −1, 0 and 2 of rounds that differ by 3; one run was disturbed, by 40.
        let table =
            [[-1.0, 0.0, 2.0], [2.0, 43.0, 5.0], [5.5, 6.0, 8.0]].map(|row| row.map(f64::exp).to_vec());
        let found = Placement::of(&table).unwrap();
        // Less the rounds' medians 0, 5 and 6: −1 −3 −.5, 0 38 0, 2 0 2. Places −1, 0 and 2; apart 2 .5 2.5,
        // 38 0 38, 2 0 2.
        assert!((found.noise() - 2.0 / APART).abs() < 1e-12, "{found:?}");
        let expected = (7.0 / 3.0 - (2.0 / APART).powi(2) / 3.0).sqrt();
        assert!((found.deviation() - expected).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn layouts_are_distinguished_from_noise_and_drift() {
        let mut random = Random::new(5);
        let mut mean = |settings: [f64; 3]| {
            let squares = (0..400)
                .map(|_| Placement::of(&rounds(&mut random, settings, 10, 3)).unwrap().deviation().powi(2));
            (squares.sum::<f64>() / 400.0).sqrt()
        };
        let found = mean([0.05, 0.02, 0.005]);
        assert!((found / 0.02 - 1.0).abs() < 0.08, "{found}");
        // Without any, what is found is what noise leaves of it.
        let nothing = mean([0.05, 0.0, 0.02]);
        assert!(nothing < 0.01, "{nothing}");
    }

    #[test]
    fn a_region_has_room_for_two_layouts() {
        let mut random = Random::new(6);
        let found = Placement::of(&rounds(&mut random, [0.0, 0.01, 0.0], 2000, 2)).unwrap();
        let widened = found.widen(Rope::ONE_PERCENT).unwrap();
        // 1.645·√2·1 % with as many layouts as that.
        assert!((widened.half_width() - 0.009_95 - 0.0233).abs() < 1e-3, "{widened:?}");
        let one = Placement::of(&rounds(&mut random, [0.1, 0.0, 0.0], 10, 3)).unwrap();
        assert!((one.widen(Rope::ONE_PERCENT).unwrap().relative() - 0.01).abs() < 1e-9, "{one:?}");
    }

    #[test]
    fn what_is_no_table_of_positive_numbers_is_refused() {
        let of = |rows: &[&[f64]]| Placement::of(&rows.iter().map(|row| row.to_vec()).collect::<Vec<_>>());
        assert_eq!(of(&[]), Err(Error::TooFew { needed: 2, got: 0 }));
        assert_eq!(of(&[&[1.0], &[1.0]]), Err(Error::TooFew { needed: 2, got: 1 }));
        assert_eq!(of(&[&[1.0, 2.0], &[1.0]]), Err(Error::NotPaired { a: 2, b: 1 }));
        assert_eq!(of(&[&[1.0, 2.0], &[1.0, 0.0]]), Err(Error::NotPositive { index: 1, value: 0.0 }));
        assert_eq!(of(&[&[1.0, 2.0], &[f64::NAN, 1.0]]), Err(Error::NotFinite { index: 0 }));
        let wild = Placement::of(&[vec![1e-300, 1e300], vec![1e-300, 1e300]]).unwrap();
        assert!(wild.widen(Rope::ONE_PERCENT).is_err());
    }
}
