//! Power: how many pairs an effect takes, and which effect some pairs resolve.
//!
//! In: the t posterior, or a standard deviation, and the region of equivalence. Out: estimates for people, by
//! the normal distribution. No verdict depends on them.

use crate::stats::posterior::paired::Posterior;
use crate::stats::rope::Rope;

/// About how many pairs would prove which side of the edge θ is on, if the estimates are right: (1.645 +
/// 1.28)²·s²/(|θ̂| − L)², a one-sided 5 % and a power of 90 %. At least 2. `None` beyond a million.
pub fn pairs_needed(posterior: &Posterior, rope: Rope) -> Option<u64> {
    let gap = posterior.mean().abs() - rope.half_width();
    let spread = posterior.standard_deviation();
    let needed = libm::ceil((1.645 + 1.28) * (1.645 + 1.28) * spread * spread / (gap * gap));
    (needed <= 1e6).then_some((needed as u64).max(2))
}

/// The smallest effect that `pairs` pairs would probably prove to be outside the region of equivalence, as a
/// log ratio: L + (1.645 + 1.28)·s/√pairs, the same one-sided 5 % and power of 90 % as [`pairs_needed`].
pub fn resolvable(standard_deviation: f64, pairs: usize, rope: Rope) -> f64 {
    rope.half_width() + (1.645 + 1.28) * standard_deviation / libm::sqrt(pairs.max(1) as f64)
}
