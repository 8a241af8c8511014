//! Ranks with ties: doubled, so that the mean rank of a group of ties stays a whole number.
//!
//! In: finite values. Out: their ranks in the order of the values, and the sizes of groups of ties.

/// One value's place among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// Twice the rank from 1; ties share the mean of their ranks.
    pub doubled: usize,
}

/// The ranks of the values, in the values' order. Values must be finite for the order to mean anything.
pub fn midranks(values: &[f64]) -> Vec<Rank> {
    let mut order: Vec<(usize, f64)> = values.iter().copied().enumerate().collect();
    order.sort_unstable_by(|one, other| one.1.total_cmp(&other.1));
    let mut placed: Vec<(usize, Rank)> = Vec::with_capacity(values.len());
    let mut before = 0;
    // `chunk_by` compares with ==, so that −0 and 0 tie, which the order above leaves side by side.
    for group in order.chunk_by(|one, other| one.1 == other.1) {
        let doubled = 2 * before + group.len() + 1;
        placed.extend(group.iter().map(|&(index, _)| (index, Rank { doubled })));
        before += group.len();
    }
    placed.sort_unstable_by_key(|&(index, _)| index);
    placed.into_iter().map(|(_, rank)| rank).collect()
}

/// How many values there are of each distinct value, in ascending order of value.
pub fn ties(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.chunk_by(|one, other| one == other).map(<[f64]>::len).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_the_mean_of_their_ranks() {
        let doubled: Vec<usize> = midranks(&[3.0, 1.0, 3.0, 2.0]).iter().map(|rank| rank.doubled).collect();
        assert_eq!(doubled, [7, 2, 7, 4]);
        assert_eq!(ties(&[3.0, 1.0, 3.0, 2.0]), [1, 1, 2]);
        assert_eq!(midranks(&[0.0, -0.0]).iter().map(|rank| rank.doubled).sum::<usize>(), 6);
    }
}
