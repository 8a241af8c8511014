//! Where more debug information can be found. Follows GDB's manual, "Separate Debug Files".

use super::elf::{Elf, SHT_SYMTAB, build_id, u32_at};
use super::model::Kind;

/// The separate debug file that would add symbols or lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedDebugFile {
    /// Its build-id, as lower-case hexadecimal digits.
    pub build_id: Option<String>,
    /// The name in `.gnu_debuglink`, and the CRC-32 of that file's contents.
    pub debuglink: Option<(String, u32)>,
}

/// Says which separate debug file an ELF file points to, if it lacks a `.symtab` of its own. Reads headers only.
pub fn wanted_debug_file(bytes: &[u8]) -> Option<WantedDebugFile> {
    let elf = Elf::parse(bytes).ok()?;
    let has_symbols = elf.sections.iter().any(|section| section.kind == SHT_SYMTAB && section.size > 24);
    if has_symbols || elf.kind == Kind::Relocatable {
        return None;
    }
    let wanted = WantedDebugFile { build_id: build_id(&elf), debuglink: debuglink(&elf) };
    (wanted.build_id.is_some() || wanted.debuglink.is_some()).then_some(wanted)
}

fn debuglink(elf: &Elf<'_>) -> Option<(String, u32)> {
    let link = elf.section_data(".gnu_debuglink")?;
    let name = link.split(|&byte| byte == 0).next().filter(|name| !name.is_empty())?;
    let crc = u32_at(link, name.len().checked_add(4)? & !3)?;
    Some((deburr_text::plain(name)?.to_owned(), crc))
}

/// The name in an ELF file's `.gnu_debuglink`, and the CRC-32 of that file's contents.
pub fn debuglink_of(bytes: &[u8]) -> Option<(String, u32)> {
    debuglink(&Elf::parse(bytes).ok()?)
}

/// The build-id of an ELF file, in hexadecimal digits. Reads headers and the note.
pub fn build_id_of(bytes: &[u8]) -> Option<String> {
    build_id(&Elf::parse(bytes).ok()?)
}

/// The CRC-32 that `.gnu_debuglink` states of the whole debug file.
pub fn debuglink_crc(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}
