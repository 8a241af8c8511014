//! The bounds of this room.

/// Bytes of a function, with what it calls that is small itself, up to which it is evaluated even beside the question: what it returns
/// is then known, and no time is won by not looking.
pub(super) const SMALL: u32 = 1024;

/// Bytes behind an address that a function makes which asks the CPU: what it keeps there is taken to be no longer. Where no symbol
/// says where an object ends, the next ones look like a part of it.
pub(super) const SMALL_OBJECT: u64 = 8;

/// The same where a symbol says that it is one object, and of a function that may read what others keep.
pub(super) const LARGE_OBJECT: u64 = 256;
