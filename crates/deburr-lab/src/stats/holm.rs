//! Several metrics at once: Holm's step-down correction (A simple sequentially rejective multiple test procedure, Scandinavian
//! Journal of Statistics 6 (1979)). Valid whatever the dependence between the metrics.

/// The adjusted p values, in the order of `p`: each is to be held against α as if it were the only one. A p that is not a number
/// counts as 1.
pub fn adjusted(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> =
        p.iter().map(|&p| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) }).enumerate().collect();
    order.sort_by(|one, other| one.1.total_cmp(&other.1));
    let (count, mut floor) = (order.len(), 0.0f64);
    for (place, (_, p)) in order.iter_mut().enumerate() {
        floor = floor.max((count - place) as f64 * *p).min(1.0);
        *p = floor;
    }
    order.sort_by_key(|&(index, _)| index);
    order.into_iter().map(|(_, p)| p).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjusted_values_are_those_of_the_step_down_procedure() {
        // By hand: sorted .01 .02 .03 .04 times 4 3 2 1, never falling.
        let found = adjusted(&[0.04, 0.01, 0.03, 0.02]);
        for (found, expected) in found.iter().zip([0.06, 0.04, 0.06, 0.06]) {
            assert!((found - expected).abs() < 1e-15);
        }
        assert_eq!(adjusted(&[0.9, f64::NAN, 0.8]), [1.0, 1.0, 1.0]);
        assert!(adjusted(&[]).is_empty());
    }
}
