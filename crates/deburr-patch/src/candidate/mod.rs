//! Patch stage: what may take the place of a finding's instructions.
//!
//! In: a file, as a [`View`]. Out: for every finding of one kind its [`Candidates`], or why there are none. A
//! candidate need not be right: [`crate::prove()`] decides, or where the pattern is fixed its own reasoning.
//!
//! | file | from | to |
//! |---|---|---|
//! | `sequence` | a load-exclusive/store-exclusive sequence | candidates in its place and in added space |
//! | `exclusive/` | the instructions of such a sequence | replacements to try |
//! | `trampoline` | a replacement that is too long for its place | instructions for it and for added space, and back |
//! | `call` | the call of an outlined helper | the helper's LSE instruction |
//! | `hint` | `yield` in a loop that waits | `isb` or `sb` |
//! | `frame` | the epilogue of a small frame of Go's | the two loads of Go 1.24 |
//! | `barrier` | a barrier next to an atomic that is one itself | `nop` |
//! | `pattern` | a fixed pattern | the one candidate of it |
//! | `proposal` | | the types |

pub(crate) mod barrier;
pub(crate) mod call;
pub(crate) mod exclusive;
pub(crate) mod frame;
pub(crate) mod hint;
mod pattern;
mod proposal;
pub(crate) mod sequence;
pub(crate) mod trampoline;

pub(crate) use proposal::{Basis, Candidate, Candidates, NoCandidates, Proposed, View};
