//! The bounds of this room.

/// Maximum of numbers that a value lists by themselves. Detectors keep levels, kinds and masks of fewer; with 8 instead of 16
/// two of 40 test programs lose a table's index.
pub(crate) const MAX_NUMBERS: usize = 16;

/// The same of a value that a loop keeps raising, after which it becomes an interval.
pub(crate) const MAX_NUMBERS_WIDENED: usize = 4;

/// The same of addresses of code. Jump tables and tables of functions have up to some hundred.
pub(crate) const MAX_TARGETS: usize = 256;

/// The same of a set that is made at once, such as all words of a table.
pub(crate) const MAX_TABLE: usize = 600;

/// Maximum of objects that an address with an unknown offset may be in.
pub(crate) const MAX_OBJECTS: usize = 32;

/// Maximum of numbers that a value is compared with one by one: the levels that a detector answers with, as in `min(wanted, detected)`.
pub(crate) const MAX_COMPARED: usize = 8;

/// Maximum of pairs of numbers that an operation is worked out for one by one.
pub(crate) const MAX_PAIRS: usize = 1024;

/// Maximum of numbers of an interval that are worked out one by one: a byte.
pub(crate) const MAX_ENUMERATED: u64 = 256;

/// Maximum of numbers that an operation leaves as a list, where none is an address.
pub(crate) const MAX_RESULTS: usize = 32;
