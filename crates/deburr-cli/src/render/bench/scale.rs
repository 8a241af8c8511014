//! A logarithmic axis: values → shares of its length, and where its ticks are.
//!
//! In: values above zero. Out: a place for each between 0 and 1; rates and numbers of threads are read off it.

/// What ten times as much is on an axis: the ends' decadic logarithms.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogScale {
    low: f64,
    high: f64,
}

/// The least range of an axis of rates, as a logarithm: with less, noise would fill the chart.
const LEAST: f64 = 0.8;

impl LogScale {
    /// An axis that ends at the least and the largest value.
    pub(super) fn exact(values: impl IntoIterator<Item = f64>) -> LogScale {
        let logarithms = values.into_iter().map(f64::log10).filter(|it| it.is_finite());
        let (low, high) = logarithms
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| (low.min(it), high.max(it)));
        if low <= high { LogScale { low, high } } else { LogScale { low: 0.0, high: 0.0 } }
    }

    /// An axis of rates: values that are almost the same are so on it.
    pub(super) fn of_rates(values: impl IntoIterator<Item = f64>) -> LogScale {
        let LogScale { low, high } = LogScale::exact(values);
        let free = (LEAST - (high - low)).max(0.0) / 2.0;
        LogScale { low: low - free, high: high + free }
    }

    /// Where a value is, from 0 to 1; what is beyond an end is at that end.
    pub(super) fn share(&self, value: f64) -> f64 {
        let share = (value.log10() - self.low) / (self.high - self.low);
        // On an axis of one value, it is in the middle.
        if share.is_nan() { 0.5 } else { share.clamp(0.0, 1.0) }
    }

    /// Up to `most` values between the ends: 1, 2 and 5 times powers of ten, or some powers of ten.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        let within = |tick: &f64| {
            let place = tick.log10();
            tick.is_finite() && (self.low - 1e-9..=self.high + 1e-9).contains(&place)
        };
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        let fine = (first..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|part| part * 10f64.powi(power)));
        let fine: Vec<f64> = fine.filter(within).collect();
        if fine.len() <= most {
            return fine;
        }
        let (first, last) = (self.low.ceil() as i32, self.high.floor() as i32);
        let step = (last - first + 1).unsigned_abs().div_ceil(most.max(1) as u32).max(1) as i32;
        let powers = (first..=last).filter(|power| power.rem_euclid(step) == 0);
        powers.map(|power| 10f64.powi(power)).filter(within).collect()
    }
}

/// A tick of an axis of rates, which is 1, 2 or 5 times a power of ten.
pub(super) fn tick(rate: f64) -> String {
    match rate {
        rate if !(1.0..1e12).contains(&rate) => format!("{rate:.0e}"),
        rate if rate >= 1e9 => format!("{:.0} G", rate / 1e9),
        rate if rate >= 1e6 => format!("{:.0} M", rate / 1e6),
        rate if rate >= 1e3 => format!("{:.0} k", rate / 1e3),
        rate => format!("{rate:.0}"),
    }
}

/// Places for labels, each as near to the wanted one as it can be with `gap` between any two, from `low` to `high`. Where there
/// is no room for all, they are closer.
pub(super) fn spread(wanted: &[f64], gap: f64, (low, high): (f64, f64)) -> Vec<f64> {
    let gap = gap.min((high - low) / wanted.len().saturating_sub(1).max(1) as f64);
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&one, &other| wanted[one].total_cmp(&wanted[other]));
    let mut places = wanted.to_vec();
    let mut least = low;
    for &index in &order {
        places[index] = places[index].max(least);
        least = places[index] + gap;
    }
    let mut most = high;
    for &index in order.iter().rev() {
        places[index] = places[index].min(most);
        most = places[index] - gap;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_times_as_much_is_as_far_everywhere() {
        let scale = LogScale::exact([1e6, 1e9, f64::NAN, 0.0, -3.0]);
        let shares = [1e6, 1e7, 1e8, 1e9, 1e12, 0.0].map(|rate| (scale.share(rate) * 1e9).round() / 1e9);
        assert_eq!(shares, [0.0, 0.333333333, 0.666666667, 1.0, 1.0, 0.0]);
        assert_eq!(LogScale::exact([8.0]).share(8.0), 0.5);
        assert_eq!(LogScale::exact([]).share(f64::NAN), 0.5);
    }

    #[test]
    fn rates_that_are_almost_the_same_are_near_each_other() {
        let scale = LogScale::of_rates([1e8, 1.05e8]);
        assert!(scale.share(1.05e8) - scale.share(1e8) < 0.05, "{scale:?}");
    }

    #[test]
    fn ticks_are_few_and_between_the_ends() {
        let ticks = |low, high, most| LogScale::of_rates([low, high]).ticks(most);
        assert_eq!(ticks(1e8, 1e8, 5), [5e7, 1e8, 2e8]);
        assert_eq!(ticks(1e6, 1e7, 5), [1e6, 2e6, 5e6, 1e7]);
        assert_eq!(ticks(3e5, 2e9, 5), [1e6, 1e7, 1e8, 1e9]);
        for (low, high) in [(5e-324, 1.7e308), (1e308, 1e308), (5e-324, 5e-324), (1e-9, 3e300)] {
            let ticks = ticks(low, high, 6);
            assert!(
                ticks.len() <= 6 && ticks.iter().all(|tick| *tick > 0.0 && tick.is_finite()),
                "{ticks:?}"
            );
        }
        assert_eq!(
            [1e308, 5e-3, 2.0, 5e4, 2e7, 1e9, 5e11].map(tick),
            ["1e308", "5e-3", "2", "50 k", "20 M", "1 G", "500 G"]
        );
    }

    #[test]
    fn labels_keep_apart_and_stay_inside() {
        assert_eq!(spread(&[5.0, 5.0, 0.0], 1.0, (0.0, 9.0)), [5.0, 6.0, 0.0]);
        assert_eq!(spread(&[9.0, 9.0, 9.0], 1.0, (0.0, 9.0)), [7.0, 8.0, 9.0]);
        assert_eq!(spread(&[0.0; 5], 1.0, (0.0, 2.0)), [0.0, 0.5, 1.0, 1.5, 2.0]);
        assert_eq!(spread(&[], 1.0, (0.0, 2.0)), Vec::<f64>::new());
    }
}
