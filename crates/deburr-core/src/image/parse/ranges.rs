//! Which addresses are code.

use crate::address::{Extent, Svma};
use std::ops::Range;

/// Which addresses are code: the extents of [`Image::code`], by address.
#[derive(Debug, Clone, Default)]
pub(crate) struct CodeRanges {
    extents: Vec<Extent>,
    /// The longest of them, which nearly all addresses of code are in.
    longest: Extent,
}

impl CodeRanges {
    /// From extents by address, without overlap.
    pub(crate) fn new(extents: Vec<Extent>) -> CodeRanges {
        let longest = extents.iter().copied().max_by_key(|extent| extent.len()).unwrap_or_default();
        CodeRanges { extents, longest }
    }

    pub(crate) fn contains(&self, svma: u64) -> bool {
        self.extent_of(svma).is_some()
    }

    /// From the first address of code to the end of the last.
    pub(crate) fn bounds(&self) -> Range<u64> {
        let ends = self.extents.first().zip(self.extents.last());
        ends.map_or(0..0, |(first, last)| first.start.0..last.end.0)
    }

    pub(crate) fn extent_of(&self, svma: u64) -> Option<Extent> {
        if self.longest.contains(Svma(svma)) {
            return Some(self.longest);
        }
        if !self.bounds().contains(&svma) {
            return None;
        }
        let after = self.extents.partition_point(|extent| extent.start.0 <= svma);
        self.extents.get(after.checked_sub(1)?).copied().filter(|extent| extent.contains(Svma(svma)))
    }
}
