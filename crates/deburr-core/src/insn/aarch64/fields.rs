//! Fields of an A64 instruction word, and the displacements that they hold.

use crate::address::Svma;

/// The bits `high` to `low` of a word.
#[inline]
pub(super) const fn bits(word: u32, high: u32, low: u32) -> u32 {
    (word >> low) & (u32::MAX >> (31 - (high - low)))
}

/// The bits `high` to `low` of a word as a signed number.
#[inline]
pub(super) const fn signed(word: u32, high: u32, low: u32) -> i64 {
    ((word << (31 - high)) as i32 >> (31 - high + low)) as i64
}

/// The displacement of `adr`.
#[inline]
pub(super) const fn adr_displacement(word: u32) -> i64 {
    signed(word, 23, 5) << 2 | bits(word, 30, 29) as i64
}

/// The page displacement of `adrp` in bytes.
#[inline]
pub(super) const fn adrp_displacement(word: u32) -> i64 {
    adr_displacement(word) << 12
}

/// The page that a word loads the address of, if it is an `adrp`. Inlined, since programs are searched for it word by word.
#[inline]
pub(crate) fn adrp_page(word: u32, at: Svma) -> Option<Svma> {
    (word & 0x9f00_0000 == 0x9000_0000).then(|| Svma(at.0 & !0xfff).offset(adrp_displacement(word)))
}
