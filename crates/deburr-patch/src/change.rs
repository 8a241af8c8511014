//! Patch stage: one change of a file's code, as the files themselves have it.
//!
//! `apply` and the note write it, `difference` reads it from two files. Of a [`Site`](crate::Site) it has
//! what is written, and nothing of why.

use crate::subject::Trampoline;
use deburr_core::address::Svma;
use std::sync::Arc;

/// Instructions that took the place of others.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The id of a rule, as the patched file has it.
    pub rule: Arc<str>,
    /// The address of the first instruction.
    pub at: Svma,
    /// Where that instruction is in the file, in bytes.
    pub file_offset: u64,
    /// The instructions of the original.
    pub old: Vec<u32>,
    /// The instructions in their place, as many.
    pub new: Vec<u32>,
    /// Instructions in added space that the first of the new ones branches to.
    pub trampoline: Option<Trampoline>,
}
