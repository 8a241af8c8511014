//! Patch stage: what is proposed for one sequence.

use crate::semantics::Register;

/// What to replace, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replacements {
    /// How many instructions to replace, the load-exclusive being the first.
    pub(crate) length: usize,
    /// Instructions in their place, each as many.
    pub(crate) exact: Vec<Vec<u32>>,
    /// More such, which leave other values in registers that are often dead.
    pub(crate) lossy: Vec<Vec<u32>>,
    /// What is compared with, or the operand, where that is a register.
    pub(crate) operand: Option<Register>,
    /// Whether LSE ignores the operand's higher bits, where the sequence may not.
    pub(crate) is_narrow: bool,
    /// Where it goes on after a failed comparison, in instructions from the load-exclusive.
    pub(crate) exits: Vec<i64>,
}
