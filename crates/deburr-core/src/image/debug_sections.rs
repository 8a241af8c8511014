//! How much of a file is debug information.
//!
//! In: the bytes of a file, of which headers are read. Out: bytes of its debug sections, as they are in the file.

use super::Error;
use super::elf::{Elf, SHT_NOBITS};

/// Beginnings of the names of sections that debuggers read, compressed ones and indices among them (DWARF 5, section 7.5.1; GDB's
/// manual, "Index Files"; stabs). `.gnu_debugdata` holds symbols for backtraces, and `.eh_frame` what exceptions need.
const NAMES: [&str; 4] = [".debug_", ".zdebug_", ".gdb_index", ".stab"];

/// The bytes of a file that are debug information: sections that are not loaded.
///
/// # Errors
/// [`Error`], where the file is not an ELF file that deburr reads.
pub fn debug_bytes(bytes: &[u8]) -> Result<u64, Error> {
    let elf = Elf::parse(bytes)?;
    let sections = elf.sections.iter().filter(|section| section.kind != SHT_NOBITS && !section.is_alloc());
    let sections = sections.filter(|section| NAMES.iter().any(|name| section.name.starts_with(name)));
    let length = bytes.len() as u64;
    // A hostile file may state more than it has, or the same bytes twice.
    Ok(sections.map(|section| section.size.min(length)).fold(0, u64::saturating_add).min(length))
}
