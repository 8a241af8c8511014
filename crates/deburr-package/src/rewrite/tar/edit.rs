//! The interface between a tar stream and its editor, and what is known of a member before its bytes are.
//!
//! An editor sees every member in order, and gets the bytes of those that it wants. It knows nothing of
//! headers.

use crate::rewrite::error::Made;

/// A member, without its bytes.
pub(crate) struct Member {
    pub(crate) name: Vec<u8>,
    /// The file that a hard link names; `None` for all else.
    pub(crate) twin: Option<Vec<u8>>,
    /// Bytes of a regular file; `None` for all else.
    pub(crate) size: Option<u64>,
    /// Whether it is a regular file with holes, which its header lists.
    pub(crate) is_sparse: bool,
    /// Whether its header holds a hash or a signature of its bytes.
    pub(crate) is_signed: bool,
}

/// Who changes members.
pub(crate) trait Edit {
    /// Whether a member's bytes are wanted; called for each, in order. `first`: [`crate::rewrite::job::PEEK`]
    /// of a regular file's bytes.
    fn wants(&mut self, member: &Member, first: &[u8]) -> Made<bool>;

    /// What a member whose bytes were wanted shall hold, and whether that is new.
    fn edit(&mut self, member: &Member, bytes: Vec<u8>) -> Made<(Vec<u8>, bool)>;

    /// Parts of names and what replaces them, each pair of equal length.
    fn renamed(&self) -> &[(String, String)] {
        &[]
    }
}
