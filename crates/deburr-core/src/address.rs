//! Addresses, distinguished by type.

use core::fmt;
use core::num::TryFromIntError;
use core::ops::{Add, AddAssign, Sub, SubAssign};

/// A stated virtual memory address: an address as the file states it, before any load bias. In a
/// relocatable object, whose sections all begin at 0, it is in the layout that [`crate::image::Image`]
/// gives to the sections; `Image::place` turns it into a section and an offset.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Svma(pub u64);

impl Svma {
    /// The address `bytes` further on; wraps as the CPU's address arithmetic does.
    pub const fn offset(self, bytes: i64) -> Svma {
        Svma(self.0.wrapping_add_signed(bytes))
    }

    /// The distance from `start` in bytes, if this address is not before it.
    pub const fn since(self, start: Svma) -> Option<u64> {
        self.0.checked_sub(start.0)
    }
}

impl fmt::Display for Svma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for Svma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A half-open range of addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Extent {
    /// The first address.
    pub start: Svma,
    /// The address after the last.
    pub end: Svma,
}

impl Extent {
    /// From a start and a length in bytes, which saturates at the end of the address space.
    pub const fn sized(start: Svma, length: u64) -> Extent {
        Extent { start, end: Svma(start.0.saturating_add(length)) }
    }

    /// The length in bytes.
    pub const fn len(self) -> u64 {
        self.end.0.saturating_sub(self.start.0)
    }

    /// Whether the range holds no address.
    pub const fn is_empty(self) -> bool {
        self.end.0 <= self.start.0
    }

    /// Whether the address is in the range.
    pub const fn contains(self, svma: Svma) -> bool {
        self.start.0 <= svma.0 && svma.0 < self.end.0
    }

    /// Whether the two ranges share an address.
    pub const fn overlaps(self, other: Extent) -> bool {
        self.start.0 < other.end.0 && other.start.0 < self.end.0
    }
}

/// A position in code: bytes from [`crate::image::Image::code_base`]. Code spans less than 4 GiB.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CodeOffset(pub u32);

impl CodeOffset {
    /// The offset of the first byte of code.
    pub const ZERO: CodeOffset = CodeOffset(0);
    /// Beyond all code.
    pub const MAX: CodeOffset = CodeOffset(u32::MAX);

    /// The offset `bytes` further on; the last one where that is beyond 4 GiB.
    #[must_use]
    #[inline]
    pub const fn saturating_add(self, bytes: u32) -> CodeOffset {
        CodeOffset(self.0.saturating_add(bytes))
    }

    /// The offset `bytes` before; the first one where there is none.
    #[must_use]
    #[inline]
    pub const fn saturating_sub(self, bytes: u32) -> CodeOffset {
        CodeOffset(self.0.saturating_sub(bytes))
    }

    /// The offset `bytes` further on, if it is below 4 GiB.
    #[inline]
    pub fn checked_add(self, bytes: u32) -> Option<CodeOffset> {
        self.0.checked_add(bytes).map(CodeOffset)
    }

    /// The offset `bytes` before, if there is one.
    #[inline]
    pub fn checked_sub(self, bytes: u32) -> Option<CodeOffset> {
        self.0.checked_sub(bytes).map(CodeOffset)
    }

    /// The offset `bytes` further on, in 32 bits as they come.
    #[must_use]
    #[inline]
    pub const fn wrapping_add(self, bytes: u32) -> CodeOffset {
        CodeOffset(self.0.wrapping_add(bytes))
    }

    /// This offset and each fourth after it: where A64 instructions are, from one on.
    #[inline]
    pub fn words(self) -> impl Iterator<Item = CodeOffset> + Clone {
        (self.0..).step_by(4).map(CodeOffset)
    }

    /// As [`CodeOffset::words`], those before `end`.
    #[inline]
    pub fn words_until(
        self,
        end: CodeOffset,
    ) -> impl DoubleEndedIterator<Item = CodeOffset> + ExactSizeIterator + Clone {
        (self.0..end.0).step_by(4).map(CodeOffset)
    }

    /// The distance from `start` in bytes, if this offset is not before it.
    #[inline]
    pub fn since(self, start: CodeOffset) -> Option<u32> {
        self.0.checked_sub(start.0)
    }
}

impl Add<u32> for CodeOffset {
    type Output = CodeOffset;

    #[inline]
    fn add(self, bytes: u32) -> CodeOffset {
        CodeOffset(self.0 + bytes)
    }
}

impl AddAssign<u32> for CodeOffset {
    #[inline]
    fn add_assign(&mut self, bytes: u32) {
        self.0 += bytes;
    }
}

impl SubAssign<u32> for CodeOffset {
    #[inline]
    fn sub_assign(&mut self, bytes: u32) {
        self.0 -= bytes;
    }
}

impl Sub<u32> for CodeOffset {
    type Output = CodeOffset;

    #[inline]
    fn sub(self, bytes: u32) -> CodeOffset {
        CodeOffset(self.0 - bytes)
    }
}

/// The distance in bytes.
impl Sub for CodeOffset {
    type Output = u32;

    #[inline]
    fn sub(self, start: CodeOffset) -> u32 {
        self.0 - start.0
    }
}

impl From<CodeOffset> for u64 {
    #[inline]
    fn from(at: CodeOffset) -> u64 {
        u64::from(at.0)
    }
}

impl From<CodeOffset> for i64 {
    #[inline]
    fn from(at: CodeOffset) -> i64 {
        i64::from(at.0)
    }
}

impl TryFrom<u64> for CodeOffset {
    type Error = TryFromIntError;

    #[inline]
    fn try_from(bytes: u64) -> Result<CodeOffset, TryFromIntError> {
        u32::try_from(bytes).map(CodeOffset)
    }
}

impl fmt::Debug for CodeOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{:#x}", self.0)
    }
}
