//! Patch stage: what is to be written over what.
//!
//! In: a file's findings. Out: a [`Plan`], each [`Site`] of which was proven, and for every place that is left as it is
//! the reason. Nothing here writes; `apply` does.

use crate::address::Svma;

/// Words that take the place of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The id of the rule whose finding goes away.
    pub rule: &'static str,
    /// The address of the first word.
    pub at: Svma,
    /// Where that word lies in the file, in bytes.
    pub file_offset: u64,
    /// The words as they are.
    pub old: Vec<u32>,
    /// The words in their place, as many.
    pub new: Vec<u32>,
}

/// All that is to be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// By address, without overlap.
    pub sites: Vec<Site>,
}
