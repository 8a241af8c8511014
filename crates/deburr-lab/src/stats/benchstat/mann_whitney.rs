//! Mann and Whitney's U test, two-sided.
//!
//! Exact up to 50 values a side without ties and up to 25 with them: given the values, every choice of which
//! of them are the first side's is equally probable, and the choices are counted (Klotz, The Wilcoxon, ties,
//! and the computer, JASA 61 (1966)). Beyond, the normal distribution with corrections for ties and
//! continuity.
//!
//! With ties and sides of different sizes the exact distribution is not symmetric. What counts as extreme is
//! then a U at least as far from its mean as the observed one: that is the same whichever side is named
//! first, and never above 1.

use super::upstream::Upstream;
use crate::stats::distributions::normal;
use crate::stats::ranks::{midranks, ties};

/// Most values a side for the exact distribution.
const EXACT: usize = 50;
const EXACT_WITH_TIES: usize = 25;

/// What a U test finds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// Pairs of an `a` above a `b`, those that are equal counted half.
    pub u: f64,
    /// Two-sided.
    pub p: f64,
}

/// Why there is no p value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoTest {
    /// A side is empty.
    Empty,
    /// All values of both sides are equal.
    AllEqual,
}

/// Tests whether values of `a` tend to be larger or smaller than those of `b`. Values must be finite.
///
/// # Errors
/// [`NoTest`].
pub fn mann_whitney(a: &[f64], b: &[f64], upstream: Upstream) -> Result<MannWhitney, NoTest> {
    if a.is_empty() || b.is_empty() {
        return Err(NoTest::Empty);
    }
    let both: Vec<f64> = a.iter().chain(b).copied().collect();
    let ties = ties(&both);
    if ties.len() == 1 {
        return Err(NoTest::AllEqual);
    }
    let (n, m) = (a.len(), b.len());
    let ranks: usize = midranks(&both).iter().take(n).map(|rank| rank.doubled).sum();
    // Twice U, so that halves stay whole.
    let (u, all) = (ranks - n * (n + 1), 2 * n * m);
    let tied = ties.len() < both.len();
    let most = if tied { EXACT_WITH_TIES } else { EXACT };
    let p = if n > most || m > most {
        approximate(u, n, m, &ties, upstream)
    } else if 2 * u == all {
        1.0
    } else {
        exact(u, n, m, &ties, upstream)
    };
    Ok(MannWhitney { u: u as f64 / 2.0, p })
}

fn exact(u: usize, n: usize, m: usize, ties: &[usize], upstream: Upstream) -> f64 {
    let chances = distribution(n, m, ties);
    let all = 2 * n * m;
    let (near, far) = (u.min(all - u), u.max(all - u));
    let lower: f64 = chances.iter().take(near + 1).sum();
    match (upstream, ties) {
        (Upstream::AsPrinted, &[below, above]) => 2.0 * of_two(near, n, m, below, above),
        // The smaller U may be the other side's, but the distribution is this side's.
        (Upstream::AsPrinted, _) => 2.0 * lower,
        (Upstream::Corrected, _) => (lower + chances.iter().skip(far).sum::<f64>()).min(1.0),
    }
}

/// P(2U ≤ u) as upstream has it where there are only two different values, so many of each: the number of
/// larger ones that the first side has at most is rounded towards 0, also where it is below 0 and no choice
/// has so small a U.
fn of_two(u: usize, n: usize, m: usize, below: usize, above: usize) -> f64 {
    let [u, first, lower] = [u, n, below].map(|count| count as i64);
    let most = (u - first * (lower - first)) / (n + m) as i64;
    let counts = (n.saturating_sub(below)..=above).take_while(|&count| count as i64 <= most);
    counts.map(|count| hypergeometric(n, m, above, count)).sum()
}

/// P(2U = i) for i from 0 to 2nm, given how many values there are of each size in ascending order.
///
/// Values are dealt out from the smallest: of a group of t, r to the first side, which puts each of the r
/// above the `other` values of the second side that were dealt before, and level with the t − r of its own
/// group. The chance of r is hypergeometric, so that only chances are multiplied and nothing grows.
fn distribution(n: usize, m: usize, ties: &[usize]) -> Vec<f64> {
    let size = 2 * n * m + 1;
    // By how many the first side has been dealt.
    let mut dealt: Vec<Vec<f64>> = vec![Vec::new(); n + 1];
    if let Some(first) = dealt.first_mut() {
        *first = vec![1.0];
    }
    let mut before = 0;
    for &group in ties {
        let mut next: Vec<Vec<f64>> = vec![Vec::new(); n + 1];
        for (mine, chances) in dealt.iter().enumerate().filter(|(_, chances)| !chances.is_empty()) {
            let other = before - mine;
            for r in 0..=group.min(n - mine) {
                if other + group - r > m {
                    continue;
                }
                let chance = hypergeometric(n - mine, m - other, group, r);
                let shift = r * (2 * other + group - r);
                let Some(into) = next.get_mut(mine + r) else { continue };
                let needed = (chances.len() + shift).min(size);
                if into.len() < needed {
                    into.resize(needed, 0.0);
                }
                for (sum, from) in into.iter_mut().skip(shift).zip(chances) {
                    *sum += chance * from;
                }
            }
        }
        dealt = next;
        before += group;
    }
    let mut all = dealt.pop().unwrap_or_default();
    all.resize(size, 0.0);
    all
}

/// The chance that of the next `drawn` values out of `mine` + `other` left, `r` are mine.
fn hypergeometric(mine: usize, other: usize, drawn: usize, r: usize) -> f64 {
    // C(drawn, r) · mine!/(mine−r)! · other!/(other−(drawn−r))! · (left−drawn)!/left!, factor by factor, each
    // near 1.
    let left = mine + other;
    let mut chance = 1.0;
    for i in 0..r {
        chance *= (mine - i) as f64 / (left - i) as f64 * ((drawn - i) as f64 / (r - i) as f64);
    }
    for i in 0..drawn - r {
        chance *= (other - i) as f64 / (left - r - i) as f64;
    }
    chance
}

fn approximate(u: usize, n: usize, m: usize, ties: &[usize], upstream: Upstream) -> f64 {
    let (product, total) = ((n * m) as f64, (n + m) as f64);
    let correction: f64 = ties.iter().map(|&t| (t as f64) * ((t as f64) * (t as f64) - 1.0)).sum();
    let deviation = libm::sqrt(product * ((total + 1.0) - correction / (total * (total - 1.0))) / 12.0);
    let off = (u as f64 / 2.0 - product / 2.0).abs();
    let z = (off - 0.5).max(0.0) / deviation;
    let tail = match upstream {
        // Taken from 1 where the first side is the larger one.
        Upstream::AsPrinted if u > n * m => 1.0 - normal::cdf(z),
        Upstream::Corrected | Upstream::AsPrinted => normal::survival(z),
    };
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    /// By listing all choices of the first side's places.
    fn listed(a: &[f64], b: &[f64]) -> f64 {
        let both: Vec<f64> = a.iter().chain(b).copied().collect();
        let twice_u = |mine: usize| -> i64 {
            let mut u = 0;
            for i in (0..both.len()).filter(|i| mine >> i & 1 == 1) {
                for j in (0..both.len()).filter(|j| mine >> j & 1 == 0) {
                    u += i64::from(both[i] >= both[j]) + i64::from(both[i] > both[j]);
                }
            }
            u
        };
        let mean = (a.len() * b.len()) as i64;
        let off = (twice_u((1 << a.len()) - 1) - mean).abs();
        let choices: Vec<usize> =
            (0..1usize << both.len()).filter(|mine| mine.count_ones() as usize == a.len()).collect();
        choices.iter().filter(|&&mine| (twice_u(mine) - mean).abs() >= off).count() as f64
            / choices.len() as f64
    }

    #[test]
    fn exact_p_values_are_those_of_all_choices() {
        let mut random = Random::new(6);
        for (n, m) in [(1, 3), (2, 2), (3, 4), (5, 2), (4, 6), (6, 6), (7, 3)] {
            for coarse in [2.0, 4.0, 1e9] {
                let mut draw =
                    |count| -> Vec<f64> { (0..count).map(|_| (random.uniform() * coarse).floor()).collect() };
                let (a, b) = (draw(n), draw(m));
                if let Ok(found) = mann_whitney(&a, &b, Upstream::Corrected) {
                    let expected = listed(&a, &b);
                    assert!((found.p - expected).abs() < 1e-13, "{a:?} {b:?} {} {expected}", found.p);
                    let turned = mann_whitney(&b, &a, Upstream::Corrected).unwrap();
                    assert!(
                        (turned.p - found.p).abs() < 1e-13,
                        "the order of the sides matters: {a:?} {b:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_approximation_meets_the_exact_distribution() {
        let mut random = Random::new(7);
        let draw = |random: &mut Random| -> Vec<f64> { (0..50).map(|_| random.normal()).collect() };
        let (a, b) = (draw(&mut random), draw(&mut random));
        let found = mann_whitney(&a, &b, Upstream::Corrected).unwrap();
        let near = approximate((2.0 * found.u) as usize, 50, 50, &[1; 100], Upstream::Corrected);
        assert!((near - found.p).abs() < 2e-3, "{near} {}", found.p);
    }

    #[test]
    fn nothing_and_nothing_but_ties_have_no_p() {
        assert_eq!(mann_whitney(&[], &[1.0], Upstream::Corrected), Err(NoTest::Empty));
        assert_eq!(mann_whitney(&[1.0], &[1.0, 1.0], Upstream::Corrected), Err(NoTest::AllEqual));
    }
}
