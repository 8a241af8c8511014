//! Which addresses are code.

use crate::address::{Extent, Svma};

/// Which addresses are code: the extents of [`Image::code`], by address.
#[derive(Debug, Clone, Default)]
pub(crate) struct CodeRanges(pub(crate) Vec<Extent>);

impl CodeRanges {
    pub(crate) fn contains(&self, svma: u64) -> bool {
        self.extent_of(svma).is_some()
    }

    pub(crate) fn extent_of(&self, svma: u64) -> Option<Extent> {
        let after = self.0.partition_point(|extent| extent.start.0 <= svma);
        self.0.get(after.checked_sub(1)?).copied().filter(|extent| extent.contains(Svma(svma)))
    }
}
