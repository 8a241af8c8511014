//! Which function a finding is in: by the places of the functions' parts.

use deburr_core::listing::FunctionSize;
use deburr_core::report::Hex;

/// The code of some functions, by address.
pub(crate) struct Places<'f> {
    /// Section, first address, the address after the last, and which function.
    parts: Vec<(Option<&'f str>, u64, u64, usize)>,
}

impl<'f> Places<'f> {
    pub(crate) fn of(sizes: &'f [FunctionSize]) -> Places<'f> {
        let parts = sizes.iter().enumerate().flat_map(|(index, size)| {
            let part = move |part: &'f deburr_core::listing::CodePart| {
                let (start, section) = (part.svma.0, part.section.as_deref());
                (section, start, start.saturating_add(part.size), index)
            };
            size.parts.iter().map(part)
        });
        let mut parts: Vec<_> = parts.collect();
        parts.sort_unstable();
        Places { parts }
    }

    /// The function at an address, by its number.
    pub(crate) fn at(&self, section: Option<&str>, svma: Hex) -> Option<usize> {
        let after = self.parts.partition_point(|&(other, start, ..)| (other, start) <= (section, svma.0));
        let &(other, _, end, index) = self.parts.get(after.checked_sub(1)?)?;
        (other == section && svma.0 < end).then_some(index)
    }
}
