//! The dynamic section → which shared libraries a file needs, and where it says that they are.
//!
//! In: the bytes of a file, of which only headers and the dynamic section are read. Out: [`Needed`]. Follows the gABI,
//! "Dynamic Section" and "Shared Object Dependencies".

use crate::image::Error;
use crate::image::elf::{Elf, PT_INTERP, range_of, string_at};
use deburr_cpu::Arch;

const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_STRSZ: u64 = 10;
const DT_SONAME: u64 = 14;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
/// Maximum number of libraries; nobody links as many, and a hostile file could repeat one name without end.
const LIMIT: usize = 4096;

/// What a file requests from the loader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needed<'a> {
    /// The instruction set, which the libraries share.
    pub arch: Arch,
    /// The name under which other files need this one (`DT_SONAME`).
    pub soname: Option<&'a str>,
    /// The libraries, in their order (`DT_NEEDED`): names, or paths with a slash.
    pub libraries: Vec<&'a str>,
    /// Folders, parted by colons (`DT_RPATH`); they also hold for what the libraries need. `None` if there is a
    /// `DT_RUNPATH`, which replaces them.
    pub rpath: Option<&'a str>,
    /// Folders for this file's own libraries, parted by colons (`DT_RUNPATH`).
    pub runpath: Option<&'a str>,
}

/// The program that the system starts in order to load this one (`PT_INTERP`), where it names one: `/lib64/ld-linux-x86-64.so.2`.
pub fn interpreter(bytes: &[u8]) -> Option<&str> {
    let elf = Elf::parse(bytes).ok()?;
    let segment = elf.segments.iter().find(|segment| segment.kind == PT_INTERP)?;
    let text = range_of(bytes, segment.offset, segment.file_size).and_then(|text| string_at(text, 0))?;
    std::str::from_utf8(text).ok().filter(|text| !text.is_empty())
}

/// Reads what a file requests from the loader; nothing of a static program or a relocatable object.
///
/// # Errors
/// [`Error`], where the file is no ELF file that deburr reads.
pub fn needed(bytes: &[u8]) -> Result<Needed<'_>, Error> {
    let elf = Elf::parse(bytes)?;
    let strings = elf.dynamic_value(DT_STRTAB).zip(elf.dynamic_value(DT_STRSZ));
    let strings = strings.and_then(|(at, size)| elf.bytes_of(at, size)).unwrap_or(&[]);
    let text = |at: u64| {
        let text = string_at(strings, at).and_then(|text| std::str::from_utf8(text).ok());
        text.filter(|text| !text.is_empty())
    };
    let named = |tag: u64| elf.dynamic_value(tag).and_then(text);
    let libraries = elf.dynamic().filter(|&(tag, _)| tag == DT_NEEDED).take(LIMIT);
    let runpath = named(DT_RUNPATH);
    Ok(Needed {
        arch: elf.arch,
        soname: named(DT_SONAME),
        libraries: libraries.filter_map(|(_, at)| text(at)).collect(),
        rpath: named(DT_RPATH).filter(|_| runpath.is_none()),
        runpath,
    })
}
