//! The bounds of this room.

/// Bytes of a function and of its small callees up to which it is evaluated although it is irrelevant: its result is then known, at the
/// cost of a few blocks. Allocators and accessors are smaller.
pub(super) const SMALL: u32 = 1024;

/// Bytes after an address that a function takes which leads to a query; it is assumed to keep its answer there. Without a symbol the end
/// of the object is not known, and with 16 bytes a static of Rust's standard library is read as a part of a program's `LazyLock`.
pub(super) const SMALL_OBJECT: u64 = 8;

/// The same with a symbol, and for a function that may read the answer.
pub(super) const LARGE_OBJECT: u64 = 256;
