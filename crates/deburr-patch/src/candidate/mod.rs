//! Candidates: what could stand in the place of a sequence or of an instruction. In: instructions. Out: words, which need
//! not be right: [`crate::prove`] decides, or where the pattern is fixed its own reasoning.

pub(crate) mod exclusive;
pub(crate) mod lone;
pub(crate) mod trampoline;
