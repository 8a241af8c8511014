//! Numbers for tests that are the same in each run.
//!
//! In: a seed. Out: a function that draws. The linear congruential generator of Knuth's MMIX (volume 2, 3.3.4), whose upper bits are used.

/// Draws numbers below a bound, which is not zero.
pub(crate) fn draws(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    }
}
