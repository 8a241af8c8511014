//! Addresses, told apart by type.

use core::fmt;

/// A stated virtual memory address: an address as the file states it, before any load bias. In a
/// relocatable object, whose sections all begin at 0, it lies in the layout that [`crate::image::Image`]
/// gives to the sections; `Image::place` turns it into a section and an offset.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Svma(pub u64);

impl Svma {
    /// The address `bytes` further on; wraps as the CPU's address arithmetic does.
    pub const fn offset(self, bytes: i64) -> Svma {
        Svma(self.0.wrapping_add_signed(bytes))
    }

    /// The distance from `start` in bytes, if this address does not lie before it.
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

    /// Whether the address lies in the range.
    pub const fn contains(self, svma: Svma) -> bool {
        self.start.0 <= svma.0 && svma.0 < self.end.0
    }

    /// Whether the two ranges share an address.
    pub const fn overlaps(self, other: Extent) -> bool {
        self.start.0 < other.end.0 && other.start.0 < self.end.0
    }
}
