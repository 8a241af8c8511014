//! Patch stage, audit: a change as the audit sees it.
//!
//! It has nothing of how the change was found: the plan makes one of each site, `verify` of each difference
//! of two files.

use crate::candidate::trampoline::Trampoline;
use deburr_core::address::Svma;

/// A change as the audit sees it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The id of the rule that it is for.
    pub rule: &'a str,
    /// The address of its first instruction.
    pub at: Svma,
    /// The instructions of the original.
    pub old: &'a [u32],
    /// Those in their place, as many.
    pub new: &'a [u32],
    /// Instructions in added space that the first of the new ones branches to.
    pub trampoline: Option<&'a Trampoline>,
}
