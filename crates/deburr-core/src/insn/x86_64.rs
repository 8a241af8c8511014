//! Placeholder.

use super::sweep::{CodeOffset, Interest, Sweep};
use super::{FeatureGroup, Insn};
use crate::address::Svma;
use deburr_cpu::FeatureSet;

/// How many feature groups there are.
pub fn feature_group_count() -> usize {
    1
}

/// The features of a group.
pub fn features_of(_group: FeatureGroup) -> FeatureSet {
    FeatureSet::EMPTY
}

/// Decodes the first instruction of `code`.
pub fn decode(_code: &[u8], _svma: Svma) -> Option<Insn> {
    None
}

/// Sweeps one unit. `code` reaches from the unit's start, at offset `at`, to the next place where an
/// instruction is known to begin; instructions that begin at or after `length` bytes are left to the caller's next
/// call. An instruction that does not fit into `code` is undecodable. Returns where the last one ended.
pub fn sweep(
    code: &[u8],
    length: usize,
    at: CodeOffset,
    _interest: &Interest,
    _sweep: &mut Sweep,
) -> CodeOffset {
    at + code.len().min(length) as CodeOffset
}
