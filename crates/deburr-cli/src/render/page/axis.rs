//! An axis: values → coordinates, and where its ticks are.
//!
//! In: the values that are drawn, and the coordinates of both ends. Out: a place for each value. Values that
//! are no numbers, one value alone and huge ranges make an axis, too.

/// A range of values on a range of coordinates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    values: (f64, f64),
    places: (f64, f64),
}

impl Axis {
    /// An axis that holds all finite values, with `margin` of its length free at both ends; `places` are its
    /// ends' coordinates.
    pub(crate) fn over(values: impl IntoIterator<Item = f64>, margin: f64, places: (f64, f64)) -> Axis {
        let finite = values.into_iter().filter(|value| value.is_finite());
        let (least, most) = finite
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let values = match least.partial_cmp(&most) {
            // Halves, because the difference of two huge values may be none.
            Some(std::cmp::Ordering::Less) => {
                let wanted = (most / 2.0 - least / 2.0) * 2.0 * margin;
                let free = if wanted.is_finite() { wanted } else { 0.0 };
                (least - free, most + free)
            }
            Some(std::cmp::Ordering::Equal) if least != 0.0 => {
                (least - least.abs() * 0.05, least + least.abs() * 0.05)
            }
            _ => (-1.0, 1.0),
        };
        Axis { values, places }
    }

    /// The same, unless some values are so far from most that these would be squeezed: beyond three times the
    /// distance of the quartiles from them (Tukey, Exploratory data analysis (1977), 2D), and more than half of
    /// the axis away. Those are beyond its ends then. It always holds `always`.
    pub(crate) fn over_most(
        values: &[f64],
        always: impl IntoIterator<Item = f64>,
        margin: f64,
        places: (f64, f64),
    ) -> Axis {
        let always: Vec<f64> = always.into_iter().collect();
        let with = |values: &[f64]| Axis::over(values.iter().chain(&always).copied(), margin, places);
        let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |quarter: usize| sorted.get(quarter * sorted.len() / 4).copied();
        let (Some(low), Some(high)) = (at(1), at(3)) else { return with(values) };
        let reach = 3.0 * (high - low);
        let most: Vec<f64> =
            sorted.iter().copied().filter(|value| (low - reach..=high + reach).contains(value)).collect();
        let (whole, most) = (with(&sorted), with(&most));
        let length = |axis: &Axis| axis.values.1 / 2.0 - axis.values.0 / 2.0;
        if reach > 0.0 && length(&whole) > 2.0 * length(&most) { most } else { whole }
    }

    /// Where a value is; what is beyond an end is at that end.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let ((low, high), (from, to)) = (self.values, self.places);
        let exact = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
        // No number has no place; the axis begins somewhere.
        let share = if exact.is_nan() { 0.0 } else { exact.clamp(0.0, 1.0) };
        from + share * (to - from)
    }

    /// Whether a value is between the ends.
    pub(crate) fn holds(&self, value: f64) -> bool {
        (self.values.0..=self.values.1).contains(&value)
    }

    /// Some `count` round values between the ends, none closer than `least`, with the digits after the point
    /// that they need.
    pub(crate) fn ticks(&self, count: u32, least: f64) -> (Vec<f64>, usize) {
        let (low, high) = self.values;
        let rough = ((high / f64::from(count) - low / f64::from(count)).max(least)).max(f64::MIN_POSITIVE);
        let power = 10f64.powf(rough.log10().floor());
        let round = [1.0, 2.0, 5.0].map(|part| part * power);
        let step = round.into_iter().find(|step| *step >= rough * 0.8).unwrap_or(10.0 * power);
        let first = (low / step).ceil();
        let endless = (0..=2 * count).map(|index| (first + f64::from(index)) * step);
        // The rounding of a product must not lose the last one.
        let ticks = endless.take_while(|tick| *tick <= high + step * 1e-9).collect();
        (ticks, (-(step * 1.001).log10().floor()).clamp(0.0, 12.0) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_value_lands_at_a_known_place() {
        let axis = Axis::over([10.0, 30.0, f64::NAN], 0.0, (0.0, 200.0));
        assert_eq!(
            [10.0, 15.0, 30.0, 40.0, f64::NAN].map(|value| axis.place(value)),
            [0.0, 50.0, 200.0, 200.0, 0.0]
        );
        // Upwards is towards smaller coordinates.
        let axis = Axis::over([0.0, 1.0], 0.5, (200.0, 0.0));
        assert_eq!([0.0, 0.5, 1.0].map(|value| axis.place(value)), [150.0, 100.0, 50.0]);
    }

    #[test]
    fn one_value_far_out_does_not_squeeze_the_others() {
        let places = (0.0, 100.0);
        let axis = Axis::over_most(&[1.0, 1.1, 1.2, 1.3, 1.4, 90.0], [0.5], 0.0, places);
        assert!(axis.holds(0.5) && axis.holds(1.4) && !axis.holds(90.0));
        assert_eq!((axis.place(0.5), axis.place(1.4), axis.place(90.0)), (0.0, 100.0, 100.0));
        // A little far out, or among values that are all alike, it is on the axis.
        for values in [&[1.0, 1.1, 1.2, 1.3, 1.4, 1.6][..], &[1.0, 1.0, 1.0, 1.0, 1.0, 9.0], &[1.0, 9.0], &[]]
        {
            let axis = Axis::over_most(values, [], 0.0, places);
            assert!(values.iter().all(|value| axis.holds(*value)), "{values:?}");
        }
    }

    #[test]
    fn ticks_are_round_and_between_the_ends() {
        let ticks = |low, high, least| {
            let (ticks, after) = Axis::over([low, high], 0.0, (0.0, 1.0)).ticks(5, least);
            (ticks.iter().map(|tick| (tick * 1e6).round() / 1e6).collect::<Vec<f64>>(), after)
        };
        assert_eq!(ticks(0.0, 1.0, 0.0).1, 1);
        assert_eq!(ticks(0.0, 10.0, 0.0), (vec![0.0, 2.0, 4.0, 6.0, 8.0, 10.0], 0));
        assert_eq!(ticks(11.3, 12.2, 0.0), (vec![11.4, 11.6, 11.8, 12.0, 12.2], 1));
        assert_eq!(ticks(1.0, 4.0, 1.0), (vec![1.0, 2.0, 3.0, 4.0], 0));
        assert_eq!(ticks(-0.02, 0.03, 0.0).1, 2);
    }

    #[test]
    fn an_axis_of_nothing_of_one_value_or_of_huge_ones_is_still_an_axis() {
        for values in [vec![], vec![0.0], vec![5.0, 5.0], vec![-1e308, 1.7e308], vec![1e-308, 1.1e-308]] {
            let axis = Axis::over(values.iter().copied(), 0.05, (0.0, 100.0));
            assert!(values.iter().all(|value| (0.0..=100.0).contains(&axis.place(*value))), "{axis:?}");
            let (ticks, _) = axis.ticks(5, 0.0);
            assert!(ticks.len() <= 11 && ticks.iter().all(|tick| tick.is_finite()), "{values:?}: {ticks:?}");
        }
    }
}
