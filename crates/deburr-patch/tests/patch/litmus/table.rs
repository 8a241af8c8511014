//! The table of right pairs as functions: each sequence and its replacement in the same surroundings.

use super::shape::{Exit, to};
use super::state::address;
use super::surroundings::{Function, RET, Surroundings, X, after, own_registers};
use crate::pairs::PAIRS;

/// A pair in surroundings.
pub(super) struct Listed {
    pub(super) name: &'static str,
    pub(super) old: Function,
    pub(super) new: Vec<u32>,
    /// The size of its location, as of a shape.
    pub(super) size: u32,
}

/// Whether the word is a load-exclusive or a store-exclusive.
fn is_exclusive(word: u32) -> bool {
    word & 0x3f80_0000 == 0x0800_0000 && (word & 1 << 21 == 0 || word >> 31 == 1)
}

pub(super) fn listed(around: &Surroundings) -> Vec<Listed> {
    let pairs = PAIRS.iter().map(|pair| {
        let words = |sequence: &[(u32, &str)]| sequence.iter().map(|(word, _)| *word).collect::<Vec<u32>>();
        let (old, new) = (words(pair.old), words(pair.new));
        let find = |bit: u32| old.iter().copied().find(|&word| is_exclusive(word) && word >> 22 & 1 == bit);
        let (load, store) = (find(1).expect("a load-exclusive"), find(0).expect("a store-exclusive"));
        let is_pair = load & 1 << 21 != 0;
        let size = if is_pair { 4 } else { load >> 30 };
        // Nothing but what is stored differs from zero where values are compared.
        let compares = pair.name.contains("compare-and-swap");
        let mut registers: Vec<(u32, u64)> =
            (0..19).map(|register| (register, u64::from(!compares))).collect();
        if compares {
            registers.push((store & 31, 7));
        }
        if old[0] == 0xaa00_03e2 {
            registers.push((0, address(X)));
        }
        registers.push((load >> 5 & 31, address(X)));
        registers.extend(own_registers());
        // Values of its own at the start, and what memory held in x20 at the end.
        let copy = if load & 31 == 31 { 0xd503_201f } else { 0xaa00_03f4 | (load & 31) << 16 };
        let after = after(size, around);
        let exit = match around.exit {
            Exit::Joins => old.len(),
            Exit::Skips => old.len() + after.len() + 2,
        };
        let rest = [&[copy], &after[..], &[RET, copy, RET]].concat();
        let (old, new) = (left(old, exit), left(new, exit));
        let old = Function { words: [&old[..], &rest].concat(), site: 0, registers };
        Listed { name: pair.name, old, new, size }
    });
    pairs.collect()
}

/// With every branch that leaves going to the exit.
fn left(words: Vec<u32>, exit: usize) -> Vec<u32> {
    let length = words.len() as i32;
    let each = words.iter().zip(0_i32..).map(|(&word, at)| {
        let distance = if word & 0xfc00_0000 == 0x1400_0000 {
            (word << 6) as i32 >> 6
        } else if word & 0x7e00_0000 == 0x3400_0000 || word & 0xff00_0010 == 0x5400_0000 {
            (word << 8) as i32 >> 13
        } else {
            return word;
        };
        let is_inside = (0..=length).contains(&(at + distance));
        if is_inside { word } else { to(word, exit as i32 - at) }
    });
    each.collect()
}
