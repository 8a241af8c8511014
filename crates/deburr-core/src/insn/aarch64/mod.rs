//! A64, the instruction set of AArch64: decoding, and the sweep over code.
//!
//! In: words of code. Out: [`super::Insn`] ([`decode`]), events and counts ([`sweep`]). The encodings follow the Arm
//! Architecture Reference Manual (DDI 0487), chapter C4; the definitions of instructions and their feature sets come
//! from disarm64, whose types stay in this module.

mod access;
mod arithmetic;
mod facts;
mod features;
mod named;
mod operands;
mod plain;
mod reload;
mod reserved;
mod summary;
mod sweep;
mod text;
mod vector;

#[cfg(test)]
mod tests;

pub use arithmetic::arithmetic;
pub use facts::decode;
#[doc(hidden)]
pub use plain::{Disagreement, check_prefilter};
pub use reload::loads_in_place;
pub use sweep::sweep;
pub use text::disassemble;
pub use vector::vector_use;

use super::{FeatureGroup, Reg, RegSet};
use deburr_cpu::FeatureSet;

/// How many feature groups there are.
pub fn feature_group_count() -> usize {
    features::GROUPS.len()
}

/// The features of a group.
pub fn features_of(group: FeatureGroup) -> FeatureSet {
    features::GROUPS.get(usize::from(group.0)).copied().unwrap_or_default()
}

/// The bits `high` to `low` of a word.
const fn bits(word: u32, high: u32, low: u32) -> u32 {
    (word >> low) & (u32::MAX >> (31 - (high - low)))
}

/// The bits `high` to `low` of a word as a signed number.
const fn signed(word: u32, high: u32, low: u32) -> i64 {
    ((word << (31 - high)) as i32 >> (31 - high + low)) as i64
}

/// The displacement of a direct branch in bytes, by the width and place of its field: [`Branch26`] and so on.
///
/// [`Branch26`]: summary::Control::Branch26
const fn displacement(word: u32, control: summary::Control) -> i64 {
    use summary::Control as C;
    4 * match control {
        C::Jump26 | C::Call26 => signed(word, 25, 0),
        C::Branch19 => signed(word, 23, 5),
        C::Branch14 => signed(word, 18, 5),
        C::Branch9 => signed(word, 13, 5),
        _ => 0,
    }
}

/// The displacement of `adr`.
const fn adr_displacement(word: u32) -> i64 {
    signed(word, 23, 5) << 2 | bits(word, 30, 29) as i64
}

/// The page displacement of `adrp` in bytes.
const fn adrp_displacement(word: u32) -> i64 {
    adr_displacement(word) << 12
}

/// The vectors and predicates, which a change of the streaming mode and a system call clear, or clear in part.
fn registers_of_sve() -> RegSet {
    let vectors = (0..32).map(Reg::vector).fold(RegSet::EMPTY, RegSet::with);
    (0..16).map(Reg::mask).fold(vectors, RegSet::with)
}
