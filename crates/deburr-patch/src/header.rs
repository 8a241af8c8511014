//! Patch stage: the fields of an ELF header that a patched file has changed.
//!
//! In: the bytes of a file. Out: what its header says of the section headers, and back into a header. The
//! note keeps the original's. Follows the gABI, chapter "ELF Header".

use serde::{Deserialize, Serialize};

/// The fields of the ELF header that describe the section headers, by their names without `e_`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SectionFields {
    pub(crate) shoff: u64,
    pub(crate) shentsize: u16,
    pub(crate) shnum: u16,
    pub(crate) shstrndx: u16,
}

impl SectionFields {
    /// Those of a file; `None` where it is shorter than an ELF header.
    pub(crate) fn of(bytes: &[u8]) -> Option<SectionFields> {
        let half = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        Some(SectionFields {
            shoff: u64::from_le_bytes(bytes.get(40..48)?.try_into().ok()?),
            shentsize: half(58)?,
            shnum: half(60)?,
            shstrndx: half(62)?,
        })
    }

    /// Writes them; `None` where there is no room.
    pub(crate) fn put(self, bytes: &mut [u8]) -> Option<()> {
        put(bytes, 40, &self.shoff.to_le_bytes())?;
        put(bytes, 58, &self.shentsize.to_le_bytes())?;
        put(bytes, 60, &self.shnum.to_le_bytes())?;
        put(bytes, 62, &self.shstrndx.to_le_bytes())
    }
}

/// Writes bytes over others; `None` where there is no room.
pub(crate) fn put(bytes: &mut [u8], at: usize, what: &[u8]) -> Option<()> {
    bytes.get_mut(at..at.checked_add(what.len())?)?.copy_from_slice(what);
    Some(())
}
