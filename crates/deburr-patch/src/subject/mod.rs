//! Patch stage: a change as plan and audit see it, and what the audit has against one.
//!
//! In: nothing; these types are the audit's interface. The plan makes a [`Subject`] of each site, `verify` of each difference of
//! two files. The audit answers with [`Contradiction`]s, and knows nothing of how a change was found.
//!
//! | file | what |
//! |---|---|
//! | `concern` | what speaks against a change |
//! | `fact` | in what its instructions differ from those of the original |

mod concern;
mod fact;

pub use concern::{Concern, Contradiction};
pub use fact::Fact;

use deburr_core::address::{Extent, Svma};

/// A change as the audit sees it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// What it rewrites; `None`: nothing that is known.
    pub kind: Option<RewriteKind>,
    /// The address of its first instruction.
    pub at: Svma,
    /// The instructions of the original.
    pub old: &'a [u32],
    /// Those in their place, as many.
    pub new: &'a [u32],
    /// Instructions in added space that the first of the new ones branches to.
    pub trampoline: Option<&'a Trampoline>,
}

/// What a change rewrites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewriteKind {
    /// A load-exclusive/store-exclusive sequence, to an LSE instruction.
    Sequence,
    /// The call of an outlined helper, to the helper's LSE instruction.
    Call,
    /// `yield`, to `isb` or `sb`.
    Hint,
    /// The epilogue of a small frame of Go's, to that of Go 1.24.
    Frame,
    /// A barrier next to an atomic, to nothing.
    Barrier,
}

/// Instructions in added space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trampoline {
    /// The address of the first.
    pub at: Svma,
    /// The instructions.
    pub words: Vec<u32>,
}

impl Trampoline {
    /// Where they are.
    pub fn extent(&self) -> Extent {
        Extent::sized(self.at, (self.words.len() as u64).saturating_mul(4))
    }
}
