//! A file → its sections of debug information; and which separate file holds them (GDB's manual, "Separate Debug Files").
//!
//! In: the bytes of an ELF file. Out: the sections for gimli, or why there are none.

use super::limits::MAX_SECTION_BYTES;
use deburr_core::image::{build_id_of, debug_section, debuglink_crc};
use gimli::{DwarfSections, SectionId};
use std::borrow::Cow;

/// The sections of debug information of a file.
pub(super) type Sections<'a> = DwarfSections<Cow<'a, [u8]>>;

/// Reads the sections; `None` where there is no `.debug_info`.
///
/// # Errors
/// Why they cannot be read.
pub(super) fn sections(bytes: &[u8]) -> Result<Option<Sections<'_>>, String> {
    let read = |name: &str| debug_section(bytes, name, MAX_SECTION_BYTES).map_err(|error| error.to_string());
    if read(".zdebug_info")?.is_some_and(|section| !section.is_empty()) {
        return Err(
            "its debug information is compressed in the old form of GNU; build with -gz=zlib".to_owned()
        );
    }
    if read(SectionId::DebugInfo.name())?.is_none_or(|section| section.is_empty()) {
        return Ok(None);
    }
    DwarfSections::load(|id| Ok(read(id.name())?.unwrap_or_default())).map(Some)
}

/// Whether a debug file is that of a file: by the build ID, or where there is none by the checksum of the link.
pub(crate) fn is_debug_file_of(debug: &[u8], file: &[u8], checksum: u32) -> bool {
    match (build_id_of(file), build_id_of(debug)) {
        (Some(wanted), Some(found)) => wanted == found,
        _ => debuglink_crc(debug) == checksum,
    }
}
