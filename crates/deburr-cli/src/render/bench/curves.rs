//! The points of a table → a curve for each variant: its rates by number of threads.

use deburr_lab::bench::record::{PointRecord, Rates};
use std::collections::BTreeSet;

/// A variant's rates, fewest threads first.
#[derive(Debug)]
pub(super) struct Curve<'r> {
    pub(super) name: &'r str,
    pub(super) points: Vec<(usize, &'r Rates)>,
}

/// The curves, in the order in which the variants come; none where there are not two numbers of threads. A logarithm has no place
/// for a rate that is not above zero.
pub(super) fn curves(points: &[PointRecord]) -> Vec<Curve<'_>> {
    let mut curves: Vec<Curve<'_>> = Vec::new();
    for point in points {
        for variant in &point.variants {
            let measured = variant.measured.as_ref().filter(|rates| rates.rate > 0.0);
            let (Some(rates), threads @ 1..) = (measured, point.processors.len()) else { continue };
            match curves.iter_mut().find(|curve| curve.name == variant.name) {
                Some(curve) => curve.points.push((threads, rates)),
                None => curves.push(Curve { name: &variant.name, points: vec![(threads, rates)] }),
            }
        }
    }
    curves.iter_mut().for_each(|curve| curve.points.sort_by_key(|(threads, _)| *threads));
    if threads(&curves).len() > 1 { curves } else { Vec::new() }
}

/// All numbers of threads of some curves.
pub(super) fn threads(curves: &[Curve<'_>]) -> BTreeSet<usize> {
    curves.iter().flat_map(|curve| &curve.points).map(|(threads, _)| *threads).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_lab::bench::record::BenchRecord;

    #[test]
    fn a_curve_needs_two_numbers_of_threads_and_rates_above_zero() {
        let mut record: BenchRecord = serde_json::from_str(include_str!("example.json")).unwrap();
        let shape = |points: &[PointRecord]| {
            let shape = |curve: &Curve<'_>| {
                let points = curve.points.iter().map(|(threads, rates)| (*threads, rates.rate));
                (curve.name.to_owned(), points.collect::<Vec<_>>())
            };
            curves(points).iter().map(shape).collect::<Vec<_>>()
        };
        let expected = [
            ("lock xadd".to_owned(), vec![(1, 2e8), (2, 4e7)]),
            ("cmpxchg loop".to_owned(), vec![(1, 1.538e8), (2, 1e7)]),
        ];
        assert_eq!(shape(&record.points), expected);
        record.points.reverse();
        assert_eq!(shape(&record.points), expected);
        record.points[0].variants[0].measured.as_mut().unwrap().rate = 0.0;
        assert_eq!(shape(&record.points)[1].1, [(1, 2e8)]);
        assert_eq!(shape(&record.points[..1]), []);
        record.points[0].processors.clear();
        assert_eq!(shape(&record.points), []);
    }
}
