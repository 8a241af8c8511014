//! Addresses → source files and lines, from DWARF.
//!
//! In: a file that has `.debug_line`, and an address. Out: the file and line that the compiler assigned to it.
//! Units are parsed as they are requested. Follows DWARF 5, section 6.2.

use super::elf::{Elf, SHF_COMPRESSED};
use super::parse::debug::{DebugSection, limit};
use super::{Image, Kind};
use crate::address::Svma;
use gimli::{EndianArcSlice, EndianSlice, LittleEndian, SectionId};
use std::sync::Arc;

/// Where a place in code comes from.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub struct SourceLocation {
    /// Path as the compiler wrote it.
    pub file: String,
    /// Line, from 1; 0 where the compiler assigned none.
    pub line: u32,
}

/// A context over bytes of the file, or over bytes made from it (decompressed, relocated).
enum Context<'a> {
    Borrowed(addr2line::Context<EndianSlice<'a, LittleEndian>>),
    Owned(addr2line::Context<EndianArcSlice<LittleEndian>>),
}

/// Debug sections: bytes of the file, or made from it.
pub(super) enum Sections<'a> {
    Borrowed(Box<gimli::Dwarf<EndianSlice<'a, LittleEndian>>>),
    Owned(Box<gimli::Dwarf<EndianArcSlice<LittleEndian>>>),
}

/// What nobody here reads: where variables are, and macros. They would be decompressed for nothing.
const NOT_READ: [SectionId; 4] =
    [SectionId::DebugLoc, SectionId::DebugLocLists, SectionId::DebugMacinfo, SectionId::DebugMacro];

impl<'a> Sections<'a> {
    /// Those of the debug file, or without one of the binary itself; `None` where it lacks the one that is needed, or has
    /// no units.
    pub(super) fn of(image: &Image<'a>, needed: &str) -> Option<Sections<'a>> {
        let limit_bytes = limit(image.bytes) as u64;
        let elf = Elf::parse(image.debug_file.unwrap_or(image.bytes)).ok()?;
        if DebugSection::length(&elf, needed) == 0 || DebugSection::length(&elf, ".debug_info") == 0 {
            return None;
        }
        let is_debug = |name: &str| name.starts_with(".debug_");
        let is_changed = elf.kind == Kind::Relocatable
            || elf
                .sections
                .iter()
                .any(|section| is_debug(section.name) && section.flags & SHF_COMPRESSED != 0);
        if !is_changed {
            let dwarf = gimli::Dwarf::load(|id| -> Result<_, gimli::Error> {
                let bytes = elf.section(id.name()).filter(|section| section.kind != super::elf::SHT_NOBITS);
                Ok(EndianSlice::new(bytes.and_then(|section| elf.data(section)).unwrap_or(&[]), LittleEndian))
            });
            return Some(Sections::Borrowed(Box::new(dwarf.ok()?)));
        }
        let mut left = limit_bytes;
        let dwarf = gimli::Dwarf::load(|id| -> Result<_, gimli::Error> {
            let length = DebugSection::length(&elf, id.name());
            let is_wanted = length <= left && !NOT_READ.contains(&id);
            let bytes = if is_wanted { DebugSection::find(&elf, id.name(), left) } else { None };
            let bytes: Arc<[u8]> = bytes.map_or_else(|| Arc::from([]), |bytes| Arc::from(bytes.into_owned()));
            left = left.saturating_sub(bytes.len() as u64);
            Ok(EndianArcSlice::new(bytes, LittleEndian))
        });
        Some(Sections::Owned(Box::new(dwarf.ok()?)))
    }
}

/// The line table of a file.
pub struct SourceLines<'a>(Context<'a>);

impl std::fmt::Debug for SourceLines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SourceLines")
    }
}

impl<'a> SourceLines<'a> {
    /// Reads the debug file, or without one the binary itself. The memory for decompressed and relocated sections is
    /// bounded in proportion to the binary; a section beyond it counts as missing. `None` without line tables.
    pub fn of(image: &Image<'a>) -> Option<SourceLines<'a>> {
        Some(SourceLines(match Sections::of(image, ".debug_line")? {
            Sections::Borrowed(dwarf) => Context::Borrowed(addr2line::Context::from_dwarf(*dwarf).ok()?),
            Sections::Owned(dwarf) => Context::Owned(addr2line::Context::from_dwarf(*dwarf).ok()?),
        }))
    }

    /// The file and line of an address.
    pub fn find(&self, svma: Svma) -> Option<SourceLocation> {
        fn place(location: Option<addr2line::Location<'_>>) -> Option<SourceLocation> {
            let location = location?;
            Some(SourceLocation {
                file: deburr_text::shown(location.file?.as_bytes()).into_owned(),
                line: location.line.unwrap_or(0),
            })
        }
        match &self.0 {
            Context::Borrowed(context) => place(context.find_location(svma.0).ok()?),
            Context::Owned(context) => place(context.find_location(svma.0).ok()?),
        }
    }
}
