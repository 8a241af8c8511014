//! Where the parts of an ELF file are: bytes → [`File`].
//!
//! Only what is in the file is kept; a field that contradicts another is no fault. Follows the gABI, "ELF Header", "Section
//! Header", "Program Header".

use crate::field::{read, read_size};

pub(crate) const HEADER: usize = 64;
pub(crate) const E_TYPE: usize = 16;
pub(crate) const E_MACHINE: usize = 18;
pub(crate) const E_ENTRY: usize = 24;
pub(crate) const E_PHOFF: usize = 32;
pub(crate) const E_SHOFF: usize = 40;
pub(crate) const E_PHNUM: usize = 56;
pub(crate) const E_SHNUM: usize = 60;
pub(crate) const E_SHSTRNDX: usize = 62;

pub(crate) const PHDR: usize = 56;
pub(crate) const SHDR: usize = 64;
pub(crate) const SYMBOL: usize = 24;
pub(crate) const RELA: usize = 24;
pub(crate) const DYNAMIC: usize = 16;

pub(crate) const SHT_PROGBITS: u64 = 1;
pub(crate) const SHT_SYMTAB: u64 = 2;
pub(crate) const SHT_STRTAB: u64 = 3;
pub(crate) const SHT_RELA: u64 = 4;
pub(crate) const SHT_DYNAMIC: u64 = 6;
pub(crate) const SHT_NOTE: u64 = 7;
pub(crate) const SHT_NOBITS: u64 = 8;
pub(crate) const SHT_DYNSYM: u64 = 11;
pub(crate) const SHT_INIT_ARRAY: u64 = 14;
pub(crate) const SHT_PREINIT_ARRAY: u64 = 16;
pub(crate) const SHF_ALLOC: u64 = 2;
pub(crate) const SHF_EXECINSTR: u64 = 4;
const PT_DYNAMIC: u64 = 2;
const EM_X86_64: u64 = 62;
const ET_REL: u64 = 1;

/// Headers beyond these are left alone: real seeds have fewer, and mutating must stay quick.
const MOST_SECTIONS: usize = 200;
const MOST_SEGMENTS: usize = 40;

/// The instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arch {
    X86_64,
    Aarch64,
}

/// A run of bytes in the file, and the address that the file states for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) at: usize,
    pub(crate) size: usize,
    pub(crate) svma: u64,
}

impl Part {
    pub(crate) const fn end(self) -> usize {
        self.at.saturating_add(self.size)
    }
}

/// A section that is in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section {
    pub(crate) kind: u64,
    pub(crate) flags: u64,
    /// Where the name's section says it is called so.
    pub(crate) name: usize,
    pub(crate) part: Part,
}

/// A file's parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct File {
    pub(crate) arch: Option<Arch>,
    pub(crate) is_relocatable: bool,
    /// The section headers.
    pub(crate) section_headers: Part,
    /// The program headers.
    pub(crate) segment_headers: Part,
    pub(crate) sections: Vec<Section>,
    /// `PT_DYNAMIC`.
    dynamic: Part,
    /// Executable sections, or without sections executable segments.
    pub(crate) code: Vec<Part>,
}

/// A run clipped to the file.
fn part(bytes: &[u8], at: usize, size: usize, svma: u64) -> Option<Part> {
    let size = size.min(bytes.len().checked_sub(at)?);
    (size > 0).then_some(Part { at, size, svma })
}

impl File {
    pub(crate) fn parse(bytes: &[u8]) -> File {
        if !bytes.starts_with(b"\x7fELF") || bytes.len() < HEADER {
            return File::default();
        }
        let is_x86 = read(bytes, E_MACHINE, 2) == EM_X86_64;
        let headers = |offset, number, entry: usize, most: usize| {
            let count = read_size(bytes, number, 2).min(most);
            part(bytes, read_size(bytes, offset, 8), count.saturating_mul(entry), 0).unwrap_or_default()
        };
        let mut file = File {
            arch: Some(if is_x86 { Arch::X86_64 } else { Arch::Aarch64 }),
            is_relocatable: read(bytes, E_TYPE, 2) == ET_REL,
            section_headers: headers(E_SHOFF, E_SHNUM, SHDR, MOST_SECTIONS),
            segment_headers: headers(E_PHOFF, E_PHNUM, PHDR, MOST_SEGMENTS),
            ..File::default()
        };
        let names = read_size(bytes, E_SHSTRNDX, 2).saturating_mul(SHDR);
        let names = read_size(bytes, file.section_headers.at.saturating_add(names).saturating_add(24), 8);
        file.sections = file
            .headers_of(file.section_headers, SHDR)
            .filter_map(|header| section(bytes, header, names))
            .collect();
        let is_code = |section: &&Section| section.flags & SHF_EXECINSTR != 0 && section.kind == SHT_PROGBITS;
        file.code = file.sections.iter().filter(is_code).map(|section| section.part).collect();
        for header in file.headers_of(file.segment_headers, PHDR) {
            let field = |offset: usize| read_size(bytes, header.saturating_add(offset), 8);
            let Some(part) = part(bytes, field(8), field(32), field(16) as u64) else { continue };
            match (read(bytes, header, 4), read(bytes, header.saturating_add(4), 4)) {
                (PT_DYNAMIC, _) => file.dynamic = part,
                (1, flags) if flags & 1 != 0 && file.sections.is_empty() => file.code.push(part),
                _ => {}
            }
        }
        file
    }

    /// Where the entries of a table begin that are wholly in it.
    pub(crate) fn headers_of(&self, table: Part, entry: usize) -> impl Iterator<Item = usize> + use<> {
        (0..table.size / entry.max(1)).map(move |index| table.at + index * entry)
    }

    /// The parts of some kinds of sections.
    pub(crate) fn of_kind<'a>(&'a self, kinds: &'a [u64]) -> impl Iterator<Item = Part> + 'a {
        self.sections.iter().filter(|section| kinds.contains(&section.kind)).map(|section| section.part)
    }

    /// The parts of the sections of a name.
    pub(crate) fn named<'a>(&'a self, bytes: &'a [u8], name: &'a [u8]) -> impl Iterator<Item = Part> + 'a {
        let is_named = move |section: &&Section| {
            bytes.get(section.name..).is_some_and(|text| {
                text.strip_prefix(name).is_some_and(|rest| rest.first().is_none_or(|&byte| byte == 0))
            })
        };
        self.sections.iter().filter(is_named).map(|section| section.part)
    }

    /// The dynamic section.
    pub(crate) fn dynamic(&self) -> Option<Part> {
        self.of_kind(&[SHT_DYNAMIC]).next().or((self.dynamic.size > 0).then_some(self.dynamic))
    }
}

fn section(bytes: &[u8], header: usize, names: usize) -> Option<Section> {
    let field = |offset: usize| read(bytes, header.saturating_add(offset), 8);
    let kind = read(bytes, header.saturating_add(4), 4);
    if kind == 0 || kind == SHT_NOBITS {
        return None;
    }
    let size = |value| usize::try_from(value).unwrap_or(usize::MAX);
    Some(Section {
        kind,
        flags: field(8),
        name: names.saturating_add(read_size(bytes, header, 4)),
        part: part(bytes, size(field(24)), size(field(32)), field(16))?,
    })
}
