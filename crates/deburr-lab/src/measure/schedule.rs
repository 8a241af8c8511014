//! Measuring stage: which side of a pair runs first.
//!
//! In: the experiment's seed and a pair's number. Out: an order, the same at every call, so that an
//! interrupted experiment goes on as it would have. What a record says of its runs' order is what counts:
//! older ones have other orders. SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).

use crate::side::Side;

/// Who is first in four pairs: two blocks of two pairs.
const TWO_BLOCKS: [[Side; 4]; 4] = [
    [Side::A, Side::B, Side::A, Side::B],
    [Side::A, Side::B, Side::B, Side::A],
    [Side::B, Side::A, Side::A, Side::B],
    [Side::B, Side::A, Side::B, Side::A],
];
/// Who is first in four pairs: one block of four.
const ONE_BLOCK: [[Side; 4]; 6] = [
    [Side::A, Side::A, Side::B, Side::B],
    [Side::A, Side::B, Side::A, Side::B],
    [Side::A, Side::B, Side::B, Side::A],
    [Side::B, Side::A, Side::A, Side::B],
    [Side::B, Side::A, Side::B, Side::A],
    [Side::B, Side::B, Side::A, Side::A],
];

/// The order of a pair's runs, however often it is measured: in random blocks of two or four pairs, in each
/// of which both sides are first equally often, so that what the place in a pair does cancels (Matts &
/// Lachin, Properties of permuted-block randomization in clinical trials, Controlled Clinical Trials 9
/// (1988)). A pair that is measured again keeps its order, and the block its balance.
pub fn order(seed: u64, pair: u32) -> [Side; 2] {
    let word = mixed(seed, pair / 4);
    // As many as there are of each are far fewer than 64-bit numbers.
    let firsts = match word >> 63 {
        0 => TWO_BLOCKS[(word % TWO_BLOCKS.len() as u64) as usize],
        _ => ONE_BLOCK[(word % ONE_BLOCK.len() as u64) as usize],
    };
    match firsts[pair as usize % 4] {
        Side::A => [Side::A, Side::B],
        Side::B => [Side::B, Side::A],
    }
}

/// The seed that a run's layout gets.
pub fn layout_seed(seed: u64, pair: u32, attempt: u32, side: Side) -> u32 {
    let word = mixed(mixed(!seed, attempt), pair);
    match side {
        Side::A => word as u32,
        Side::B => (word >> 32) as u32,
    }
}

/// The order of the layouts in a round in which each of them is measured once (Fisher & Yates; Durstenfeld,
/// CACM 7 (1964)).
pub fn layout_order(seed: u64, round: u32, layouts: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..layouts).collect();
    for last in (1..order.len()).rev() {
        // There are far fewer layouts than 64-bit numbers, so that none is likelier to be seen.
        let word = mixed(mixed(seed.rotate_left(32), round), last as u32);
        order.swap(last, (word % (last as u64 + 1)) as usize);
    }
    order
}

/// The seed of a layout that is measured by itself, which no pair has.
pub fn seed_of_layout(seed: u64, layout: u32) -> u32 {
    layout_seed(seed, layout, u32::MAX, Side::A)
}

/// The pair's number of a stream that the seed begins.
fn mixed(seed: u64, pair: u32) -> u64 {
    let word = seed.wrapping_add(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(u64::from(pair) + 1));
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_splitmix64() {
        // The reference implementation's first numbers from the seed 1234567.
        assert_eq!(
            [mixed(1_234_567, 0), mixed(1_234_567, 1)],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]
        );
    }

    #[test]
    fn orders_and_layouts_depend_on_the_seed() {
        let first = |seed: u64| (0..1000).map(move |pair| order(seed, pair)[0]).collect::<Vec<Side>>();
        assert_ne!(first(1), first(2));
        assert_ne!(layout_seed(1, 0, 0, Side::A), layout_seed(1, 1, 0, Side::A));
        assert_ne!(layout_seed(1, 0, 0, Side::A), layout_seed(1, 0, 0, Side::B));
        assert_ne!(layout_seed(1, 0, 0, Side::A), seed_of_layout(1, 0));
        let [one, other] = order(1, u32::MAX);
        assert_ne!(one, other);
    }

    #[test]
    fn both_sides_are_first_equally_often_in_every_block() {
        for seed in 0..200 {
            let mut lead = 0i32;
            for pair in 0..40 {
                lead += if order(seed, pair)[0] == Side::A { 1 } else { -1 };
                assert!(lead.abs() <= 2, "seed {seed}, pair {pair}: {lead}");
                assert!(pair % 4 != 3 || lead == 0, "seed {seed}, pair {pair}: {lead}");
            }
        }
    }

    #[test]
    fn no_place_in_a_block_favours_a_side_and_neighbours_are_alike_as_often_as_blocks_make_them() {
        let word = |seed: u64, pair: u32| order(seed, pair)[0] == Side::A;
        let often = |of: &dyn Fn(u64) -> bool| (0..20_000).filter(|seed| of(*seed)).count() as f64 / 20_000.0;
        for pair in 0..8 {
            let share = often(&|seed| word(seed, pair));
            assert!((share - 0.5).abs() < 0.015, "pair {pair}: {share}");
        }
        // Half the blocks are of four pairs, of which a third begins with two alike.
        let alike = often(&|seed| word(seed, 0) == word(seed, 1));
        assert!((alike - 1.0 / 6.0).abs() < 0.015, "{alike}");
    }

    #[test]
    fn each_round_has_all_layouts_in_an_order_of_its_own() {
        let rounds: Vec<Vec<u32>> = (0..20).map(|round| layout_order(3, round, 10)).collect();
        for round in &rounds {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..10).collect::<Vec<u32>>());
        }
        let firsts: std::collections::BTreeSet<u32> = rounds.iter().map(|round| round[0]).collect();
        assert!(firsts.len() > 5, "{firsts:?}");
        assert_eq!(layout_order(3, 0, 1), [0]);
    }
}
