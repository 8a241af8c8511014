//! Addresses that stand for the symbols of other files, so that a value can be one.

/// Addresses that stand for other files' symbols: no file states addresses up there.
const FOREIGN: u64 = 0x7f00_0000_0000_0000;

/// The space that each of them has.
const FOREIGN_SIZE: u64 = 1 << 24;

/// The address that stands for the symbol of the n-th import.
pub(crate) fn foreign(import: usize) -> u64 {
    FOREIGN + (import as u64) * FOREIGN_SIZE
}

/// The index of the import that an address stands for, and the offset from it.
pub(crate) fn import_of(address: u64) -> Option<(usize, u64)> {
    let from = address.checked_sub(FOREIGN)?;
    Some(((from / FOREIGN_SIZE) as usize, from % FOREIGN_SIZE))
}
