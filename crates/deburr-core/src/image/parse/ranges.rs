//! Which addresses are code.

use crate::address::{Extent, Svma};
use std::ops::Range;

/// Which addresses are code: the extents of [`Image::code`], by address.
#[derive(Debug, Clone, Default)]
pub(crate) struct CodeRanges(pub(crate) Vec<Extent>);

impl CodeRanges {
    pub(crate) fn contains(&self, svma: u64) -> bool {
        self.extent_of(svma).is_some()
    }

    /// From the first address of code to the end of the last.
    pub(crate) fn bounds(&self) -> Range<u64> {
        let ends = self.0.first().zip(self.0.last());
        ends.map_or(0..0, |(first, last)| first.start.0..last.end.0)
    }

    pub(crate) fn extent_of(&self, svma: u64) -> Option<Extent> {
        let after = self.0.partition_point(|extent| extent.start.0 <= svma);
        self.0.get(after.checked_sub(1)?).copied().filter(|extent| extent.contains(Svma(svma)))
    }
}
