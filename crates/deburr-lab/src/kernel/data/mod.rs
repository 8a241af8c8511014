//! Kernels whose memory is more than a cell: pieces of memory, and functions that read one after the other.

pub(super) mod function;
