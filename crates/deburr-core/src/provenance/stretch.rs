//! Stretches: neighbouring functions that were compiled in one way.
//!
//! In: by function, in order of address, how much more likely its code is without an optimiser than with one. Out: runs of
//! functions without one. A compilation unit, or a member of an archive, is in one place of a linked file, so that functions
//! answer for their neighbours: the best path of a hidden Markov model with two states (Viterbi 1967) is taken, in which the
//! change of state has a price.

use std::ops::Range;

/// The price of a file that begins without an optimiser, as a natural logarithm: about 1 in 400.
const PRICE_OF_START: f32 = 6.0;
/// The price of a change from function to function: about 1 in 160,000. A few functions that happen to load what a register
/// holds do not pay for two changes.
pub(super) const PRICE_OF_CHANGE: f32 = 12.0;
/// The same in a file most of which no optimiser has seen.
pub(super) const PRICE_OF_EXCEPTION: f32 = 24.0;

/// The runs of functions that were compiled without an optimiser. `scores`: the logarithm of the ratio of likelihoods by
/// function; 0 where it says nothing. `price_of_change`: of one from function to function.
pub(super) fn stretches(scores: &[f32], price_of_change: f32) -> Vec<Range<usize>> {
    // The best sum of a path that ends with an optimiser, and of one that ends without.
    let (mut with, mut without) = (0.0, -PRICE_OF_START);
    // Whether each came from the other.
    let mut changed = Vec::with_capacity(scores.len());
    for (index, score) in scores.iter().enumerate() {
        let price = if index == 0 { f32::INFINITY } else { price_of_change };
        let (from_without, from_with) = (without - price, with - price);
        changed.push((from_without > with, from_with > without));
        (with, without) = (with.max(from_without), without.max(from_with) + score);
    }
    let mut found = Vec::new();
    let mut is_without = without > with;
    let mut end = scores.len();
    for (index, (to_with, to_without)) in changed.iter().enumerate().rev() {
        let is_change = if is_without { *to_without } else { *to_with };
        if is_change {
            if is_without {
                found.push(index..end);
            }
            end = index;
            is_without = !is_without;
        }
    }
    if is_without {
        found.push(0..end);
    }
    found.reverse();
    found.into_iter().filter_map(|stretch| trimmed(scores, stretch)).collect()
}

/// Without functions at either end that say nothing of themselves.
fn trimmed(scores: &[f32], stretch: Range<usize>) -> Option<Range<usize>> {
    let inside = scores.get(stretch.clone())?;
    let first = inside.iter().position(|score| *score > 0.0)?;
    let last = inside.iter().rposition(|score| *score > 0.0)?;
    Some(stretch.start + first..stretch.start + last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(scores: &[f32]) -> Vec<(usize, usize)> {
        stretches(scores, PRICE_OF_CHANGE).into_iter().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn a_run_of_functions_without_optimiser_is_found_among_others() {
        let mut scores = vec![-1.0; 40];
        scores.extend([4.0, 3.0, -0.5, 4.0, 0.0, 4.0, 5.0, 4.0, 5.0, 4.0]);
        scores.extend(vec![-1.0; 40]);
        assert_eq!(bounds(&scores), [(40, 50)]);
    }

    #[test]
    fn a_few_functions_are_no_stretch() {
        let mut scores = vec![-1.0; 40];
        scores.extend([5.0, 5.0, 5.0, 5.0]);
        scores.extend(vec![-1.0; 40]);
        assert_eq!(bounds(&scores), []);
    }

    #[test]
    fn a_file_may_be_without_optimiser_from_beginning_to_end() {
        assert_eq!(bounds(&[0.0, 4.0, 4.0, -0.2, 4.0, 0.0]), [(1, 5)]);
        assert_eq!(bounds(&[4.0]), []);
        assert_eq!(bounds(&[]), []);
    }

    #[test]
    fn two_stretches_are_two() {
        let mut scores = vec![4.0; 10];
        scores.extend(vec![-2.0; 20]);
        scores.extend(vec![4.0; 10]);
        assert_eq!(bounds(&scores), [(0, 10), (30, 40)]);
    }
}
