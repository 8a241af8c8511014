//! The headers of an ELF file: bytes → [`Elf`], the raw view that the rest of this stage reads from.
//!
//! In: the bytes of a file. Out: its sections and segments, with their bytes found on demand, so that only the
//! pages that are read are touched. Every field is read unaligned, because an archive places its members
//! at even offsets only. Counts are checked against the file's length before anything is allocated.
//! Follows the gABI, chapters "ELF Header", "Sections" and "Program Loading".

use super::{Error, Kind};
use crate::address::{Extent, Svma};
use deburr_cpu::Arch;
use std::ops::Range;

pub(super) const SHT_PROGBITS: u32 = 1;
pub(super) const SHT_SYMTAB: u32 = 2;
pub(super) const SHT_RELA: u32 = 4;
pub(super) const SHT_NOTE: u32 = 7;
pub(super) const SHT_NOBITS: u32 = 8;
pub(super) const SHT_DYNSYM: u32 = 11;
pub(super) const SHT_INIT_ARRAY: u32 = 14;
pub(super) const SHT_FINI_ARRAY: u32 = 15;
pub(super) const SHT_PREINIT_ARRAY: u32 = 16;
pub(super) const SHT_SYMTAB_SHNDX: u32 = 18;
pub(super) const SHF_WRITE: u64 = 1;
pub(super) const SHF_ALLOC: u64 = 2;
pub(super) const SHF_EXECINSTR: u64 = 4;
pub(super) const SHF_TLS: u64 = 0x400;
pub(super) const SHF_COMPRESSED: u64 = 0x800;
pub(super) const DT_FLAGS: u64 = 30;
pub(super) const PT_LOAD: u32 = 1;
pub(super) const PT_DYNAMIC: u32 = 2;
pub(super) const PT_INTERP: u32 = 3;
pub(super) const PT_NOTE: u32 = 4;
pub(super) const PT_PHDR: u32 = 6;
pub(super) const PT_TLS: u32 = 7;
pub(super) const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
pub(super) const PT_GNU_RELRO: u32 = 0x6474_e552;
pub(super) const PF_X: u32 = 1;
pub(super) const PF_W: u32 = 2;
pub(super) const PF_R: u32 = 4;
const SECTION_HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
/// Maximum number of faults of one kind that are reported one by one.
const FAULT_LIMIT: usize = 8;

/// The little-endian 16-bit number at an offset.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

/// The little-endian 32-bit number at an offset.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The little-endian 64-bit number at an offset.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// The bytes of a range given in 64 bits, if all of them are there.
pub(super) fn range_of(bytes: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let end = offset.checked_add(length)?;
    bytes.get(usize::try_from(offset).ok()?..usize::try_from(end).ok()?)
}

/// The string that begins at an offset and ends before the next zero byte.
pub(super) fn string_at(strings: &[u8], at: u64) -> Option<&[u8]> {
    let rest = strings.get(usize::try_from(at).ok()?..)?;
    memchr::memchr(0, rest).map_or(Some(rest), |end| rest.get(..end))
}

/// A section header.
#[derive(Debug, Clone)]
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    pub(super) kind: u32,
    pub(super) flags: u64,
    /// `sh_addr`; in a relocatable object the address that [`Elf::parse`] gave it.
    pub(super) svma: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) align: u64,
}

impl Section<'_> {
    pub(super) fn is_alloc(&self) -> bool {
        self.flags & SHF_ALLOC != 0
    }

    pub(super) fn is_executable(&self) -> bool {
        self.is_alloc() && self.flags & SHF_EXECINSTR != 0
    }

    pub(super) fn extent(&self) -> Extent {
        Extent::sized(Svma(self.svma), self.size)
    }
}

/// A program header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub(super) kind: u32,
    pub(super) flags: u32,
    pub(super) offset: u64,
    pub(super) svma: u64,
    pub(super) file_size: u64,
    pub(super) memory_size: u64,
    pub(super) alignment: u64,
}

/// The headers of an ELF file for an instruction set that deburr knows.
#[derive(Debug, Clone)]
pub(super) struct Elf<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) arch: Arch,
    pub(super) kind: Kind,
    /// `ET_EXEC`: loaded where it says, so that its data holds whole addresses.
    pub(super) is_fixed: bool,
    pub(super) entry: u64,
    pub(super) sections: Vec<Section<'a>>,
    pub(super) segments: Vec<Segment>,
    pub(super) faults: Vec<String>,
}

fn malformed(offset: u64, expected: &str) -> Error {
    Error::Malformed { offset, expected: expected.to_owned() }
}

/// Why a file of this class, byte order and machine is not for deburr.
fn unsupported_machine(is_64: bool, is_little: bool, machine: u16) -> Option<String> {
    let order = if is_little { "" } else { "big-endian " };
    let what = match (machine, is_64) {
        (62 | 183, true) if is_little => return None,
        (183, true) => "big-endian AArch64 ELF".to_owned(),
        (183, false) => format!("{order}AArch64 ILP32 ELF"),
        (62, false) => "x32 ELF".to_owned(),
        (3 | 6, _) => "32-bit x86 ELF".to_owned(),
        (40, _) => format!("{order}32-bit Arm ELF"),
        (243, true) => "64-bit RISC-V ELF".to_owned(),
        (243, false) => "32-bit RISC-V ELF".to_owned(),
        (20, _) => "32-bit PowerPC ELF".to_owned(),
        (21, _) => format!("{}64-bit PowerPC ELF", if is_little { "little-endian " } else { order }),
        (22, _) => "IBM Z ELF".to_owned(),
        (8 | 10, _) => "MIPS ELF".to_owned(),
        (2 | 18 | 43, _) => "SPARC ELF".to_owned(),
        (258, _) => "LoongArch ELF".to_owned(),
        (247, _) => "BPF ELF".to_owned(),
        (190, _) => "CUDA ELF".to_owned(),
        (224, _) => "AMD GPU ELF".to_owned(),
        _ => format!("{order}ELF for machine {machine}"),
    };
    Some(what)
}

/// What a file that is no ELF file begins with.
fn not_elf(bytes: &[u8]) -> &'static str {
    match bytes {
        [b'M', b'Z', ..] => "PE file (not an ELF file)",
        [0xcf | 0xce, 0xfa, 0xed, 0xfe, ..] | [0xca, 0xfe, 0xba, 0xbe, ..] => "Mach-O file (not an ELF file)",
        [b'#', b'!', ..] => "script (not an ELF file)",
        [b'!', b'<', b'a', b'r', b'c', b'h', b'>', ..] => "static library (not an ELF file)",
        [b'!', b'<', b't', b'h', b'i', b'n', b'>', ..] => "thin archive (not an ELF file)",
        [0x7f, b'E', b'L', b'F', ..] => "truncated ELF header",
        [] => "empty file",
        _ => "not an ELF file",
    }
}

impl<'a> Elf<'a> {
    /// Reads the headers.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Elf<'a>, Error> {
        if bytes.get(..4) != Some(b"\x7fELF") {
            return Err(Error::Unsupported(not_elf(bytes).to_owned()));
        }
        let (Some(&class), Some(&order)) = (bytes.get(4), bytes.get(5)) else {
            return Err(malformed(4, "the class and byte order of an ELF file"));
        };
        let word = |at: usize| match bytes.get(at..at.saturating_add(2)) {
            Some(&[a, b]) if order == 2 => Some(u16::from_be_bytes([a, b])),
            Some(&[a, b]) => Some(u16::from_le_bytes([a, b])),
            _ => None,
        };
        let (Some(file_type), Some(machine)) = (word(16), word(18)) else {
            return Err(malformed(16, "the type and machine of an ELF file"));
        };
        if !matches!(class, 1 | 2) || !matches!(order, 1 | 2) {
            return Err(malformed(4, "ELF class 1 or 2 and byte order 1 or 2"));
        }
        if let Some(what) = unsupported_machine(class == 2, order == 1, machine) {
            return Err(Error::Unsupported(what));
        }
        match file_type {
            1..=3 => {}
            4 => return Err(Error::Unsupported("core dump".to_owned())),
            other => return Err(Error::Unsupported(format!("ELF file of type {other:#x}"))),
        }
        if bytes.len() < 64 {
            return Err(malformed(bytes.len() as u64, "an ELF header of 64 bytes"));
        }
        let mut elf = Elf {
            bytes,
            arch: if machine == 62 { Arch::X86_64 } else { Arch::Aarch64 },
            kind: if file_type == 1 { Kind::Relocatable } else { Kind::SharedObject },
            is_fixed: file_type == 2,
            entry: u64_at(bytes, 24).unwrap_or(0),
            sections: Vec::new(),
            segments: Vec::new(),
            faults: Vec::new(),
        };
        elf.read_sections();
        elf.read_segments();
        elf.check_ends();
        let is_bare = elf.sections.is_empty() && elf.segments.is_empty();
        if let Some(fault) = elf.faults.first().filter(|_| is_bare) {
            return Err(malformed(32, &format!("headers that can be read ({fault})")));
        }
        if elf.kind == Kind::Relocatable {
            elf.lay_out_sections();
        } else if elf.is_fixed || elf.segments.iter().any(|segment| segment.kind == PT_INTERP) || elf.is_pie()
        {
            elf.kind = Kind::Executable;
        }
        Ok(elf)
    }

    /// The bytes of a header table at an offset, with so many entries of a stated size; a fault where it is not there
    /// or of another format.
    fn header_table(
        &mut self,
        what: &str,
        (offset, count, stated): (u64, u64, u16),
        size: usize,
    ) -> Option<&'a [u8]> {
        let table = count.checked_mul(size as u64).and_then(|length| range_of(self.bytes, offset, length));
        let is_stated = usize::from(stated) == size;
        if !is_stated {
            let field = if what == "section" { 58 } else { 54 };
            self.faults.push(format!(
                "file offset {field:#x}: expected {what} headers of {size} bytes, found {stated}: left out"
            ));
        } else if table.is_none() {
            self.faults.push(format!(
                "file offset {offset:#x}: expected {count} {what} headers, but the file ends at {:#x}: left out",
                self.bytes.len()
            ));
        }
        table.filter(|_| is_stated)
    }

    /// Says what the headers place past the end of the file, as in one that was cut short. Executable sections
    /// and segments are left to the caller that reads them.
    fn check_ends(&mut self) {
        let length = self.bytes.len() as u64;
        // What has no bytes in the file may be anywhere: a segment of zeros often is past its end.
        let is_cut =
            |offset: u64, size: u64| size > 0 && offset.checked_add(size).is_none_or(|end| end > length);
        let fault = |what: String, offset: u64, size: u64| {
            format!(
                "file offset {offset:#x}: expected {what} of {size} bytes, but the file ends at {length:#x}"
            )
        };
        let loaded =
            self.segments.iter().enumerate().filter(|(_, s)| s.kind == PT_LOAD && s.flags & PF_X == 0);
        let segments = loaded
            .filter(|(_, s)| is_cut(s.offset, s.file_size))
            .map(|(index, s)| fault(format!("segment {index}"), s.offset, s.file_size));
        let sections = self
            .sections
            .iter()
            .filter(|s| s.kind != 0 && s.kind != SHT_NOBITS && !s.is_executable() && is_cut(s.offset, s.size))
            .map(|s| fault(format!("section {}", s.name), s.offset, s.size));
        let found: Vec<String> = segments.chain(sections).take(FAULT_LIMIT).collect();
        self.faults.extend(found);
    }

    fn read_sections(&mut self) {
        let bytes = self.bytes;
        let offset = u64_at(bytes, 40).unwrap_or(0);
        let entry_size = u16_at(bytes, 58).unwrap_or(0);
        if offset == 0 {
            return;
        }
        let Ok(start) = usize::try_from(offset) else { return };
        // With 0xff00 sections or more, the first header holds the counts (gABI, "Sections").
        let first = |field: usize| start.checked_add(field).and_then(|at| u64_at(bytes, at));
        let count = match u64::from(u16_at(bytes, 60).unwrap_or(0)) {
            0 => first(32).unwrap_or(0),
            count => count,
        };
        let names = match u16_at(bytes, 62) {
            Some(0xffff) => start.checked_add(40).and_then(|at| u32_at(bytes, at)).unwrap_or(0),
            index => u32::from(index.unwrap_or(0)),
        };
        let Some(table) = self.header_table("section", (offset, count, entry_size), SECTION_HEADER) else {
            return;
        };
        let header = |entry: &[u8]| {
            Some(Section {
                name: "",
                kind: u32_at(entry, 4)?,
                flags: u64_at(entry, 8)?,
                svma: u64_at(entry, 16)?,
                offset: u64_at(entry, 24)?,
                size: u64_at(entry, 32)?,
                link: u32_at(entry, 40)?,
                info: u32_at(entry, 44)?,
                align: u64_at(entry, 48)?,
            })
        };
        let strings = usize::try_from(names)
            .ok()
            .and_then(|index| table.chunks_exact(SECTION_HEADER).nth(index))
            .and_then(header)
            .and_then(|section| range_of(bytes, section.offset, section.size));
        if strings.is_none() && !table.is_empty() {
            self.faults.push(format!(
                "file offset {offset:#x}: expected the names of sections in section {names} of {count}"
            ));
        }
        let strings = strings.unwrap_or(&[]);
        self.sections = table
            .chunks_exact(SECTION_HEADER)
            .filter_map(|entry| {
                let name = string_at(strings, u64::from(u32_at(entry, 0)?)).unwrap_or(b"");
                // A name that goes on for kilobytes is no name, and every section could have it.
                let name = name.get(..name.len().min(256)).unwrap_or(b"");
                Some(Section { name: deburr_text::plain(name).unwrap_or("?"), ..header(entry)? })
            })
            .collect();
    }

    fn read_segments(&mut self) {
        let bytes = self.bytes;
        let offset = u64_at(bytes, 32).unwrap_or(0);
        let count = match u16_at(bytes, 56) {
            Some(0xffff) => self.sections.first().map_or(0, |section| u64::from(section.info)),
            count => u64::from(count.unwrap_or(0)),
        };
        if offset == 0 || count == 0 {
            return;
        }
        let entry_size = u16_at(bytes, 54).unwrap_or(0);
        let Some(table) = self.header_table("program", (offset, count, entry_size), PROGRAM_HEADER) else {
            return;
        };
        self.segments = table
            .chunks_exact(PROGRAM_HEADER)
            .filter_map(|entry| {
                Some(Segment {
                    kind: u32_at(entry, 0)?,
                    flags: u32_at(entry, 4)?,
                    offset: u64_at(entry, 8)?,
                    svma: u64_at(entry, 16)?,
                    file_size: u64_at(entry, 32)?,
                    memory_size: u64_at(entry, 40)?,
                    alignment: u64_at(entry, 48)?,
                })
            })
            .collect();
    }

    /// Gives the sections of a relocatable object, which all begin at 0, addresses of their own: the executable
    /// ones first, so that code is contiguous.
    fn lay_out_sections(&mut self) {
        let mut next = 0u64;
        for executable in [true, false] {
            for section in self.sections.iter_mut().filter(|section| section.is_executable() == executable) {
                let align = section.align.clamp(4, 1 << 21);
                let align = if align.is_power_of_two() { align } else { 4 };
                next = next.saturating_add(align - 1) & !(align - 1);
                section.svma = next;
                // One byte apart: a symbol at the end of one section must not fall into the next.
                next = next.saturating_add(section.size).saturating_add(1);
            }
        }
    }

    /// Whether `DT_FLAGS_1` has `DF_1_PIE`: a static PIE has no interpreter.
    fn is_pie(&self) -> bool {
        self.dynamic().any(|(tag, value)| tag == 0x6fff_fffb && value & 0x0800_0000 != 0)
    }

    /// The bytes of a section in the file; empty for `SHT_NOBITS`, `None` where it reaches past the end.
    pub(super) fn data(&self, section: &Section<'_>) -> Option<&'a [u8]> {
        if section.kind == SHT_NOBITS {
            Some(&[])
        } else {
            range_of(self.bytes, section.offset, section.size)
        }
    }

    pub(super) fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }

    pub(super) fn section_data(&self, name: &str) -> Option<&'a [u8]> {
        self.data(self.section(name)?)
    }

    /// The bytes that the file holds from an address on, to the end of its segment or section.
    pub(super) fn bytes_at(&self, svma: u64) -> Option<&'a [u8]> {
        let slice = |start: u64, offset: u64, size: u64| {
            let into = svma.checked_sub(start).filter(|&into| into < size)?;
            range_of(self.bytes, offset.checked_add(into)?, size.checked_sub(into)?)
        };
        if self.kind == Kind::Relocatable {
            self.sections
                .iter()
                .filter(|section| section.is_alloc() && section.kind != SHT_NOBITS)
                .find_map(|section| slice(section.svma, section.offset, section.size))
        } else {
            self.segments
                .iter()
                .filter(|segment| segment.kind == PT_LOAD)
                .find_map(|segment| slice(segment.svma, segment.offset, segment.file_size))
        }
    }

    /// `length` bytes from an address on.
    pub(super) fn bytes_of(&self, svma: u64, length: u64) -> Option<&'a [u8]> {
        self.bytes_at(svma)?.get(..usize::try_from(length).ok()?)
    }

    /// The dynamic section's tags and values, up to `DT_NULL`.
    pub(super) fn dynamic(&self) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        let segment = self.segments.iter().find(|segment| segment.kind == PT_DYNAMIC);
        let table = segment
            .and_then(|segment| range_of(self.bytes, segment.offset, segment.file_size))
            .or_else(|| self.section_data(".dynamic"))
            .unwrap_or(&[]);
        table
            .chunks_exact(16)
            .map_while(|entry| Some((u64_at(entry, 0)?, u64_at(entry, 8)?)))
            .take_while(|&(tag, _)| tag != 0)
    }

    /// The value of the first entry of a tag in the dynamic section.
    pub(super) fn dynamic_value(&self, tag: u64) -> Option<u64> {
        self.dynamic().find(|&(found, _)| found == tag).map(|(_, value)| value)
    }

    /// Where the headers end in the segment that begins with them at an address.
    pub(super) fn headers_end(&self, svma: u64) -> u64 {
        let headers = (self.segments.len() as u64).saturating_mul(PROGRAM_HEADER as u64).saturating_add(64);
        svma.saturating_add(headers)
    }

    /// Where the notes after the headers end, in the segment that begins with them.
    pub(super) fn notes_end(&self, segment: Extent) -> u64 {
        let notes =
            self.segments.iter().filter(|note| note.kind == PT_NOTE && segment.contains(Svma(note.svma)));
        let ends = notes.map(|note| note.svma.saturating_add(note.file_size));
        let mut end = ends.max().unwrap_or(0).max(self.headers_end(segment.start.0));
        // Go's linker describes its own note alone, and leaves out the GNU build-id after it.
        while let Some(note) =
            self.bytes_of(end, 16).filter(|note| u32_at(note, 0) == Some(4) && note.ends_with(b"GNU\0"))
        {
            let description = u64::from(u32_at(note, 4).unwrap_or(0));
            end = end.saturating_add(16).saturating_add(description).saturating_add(3) & !3;
        }
        end.saturating_add(7) & !7
    }

    /// Descriptors of the notes of an owner and type.
    pub(super) fn notes(&self, owner: &[u8], wanted: u32) -> Vec<&'a [u8]> {
        self.note_ranges(owner, wanted).into_iter().filter_map(|range| self.bytes.get(range)).collect()
    }

    /// Where in the file these descriptors are: in note sections, and where none of those is loaded in segments.
    pub(super) fn note_ranges(&self, owner: &[u8], wanted: u32) -> Vec<Range<usize>> {
        let sections = || self.sections.iter().filter(|section| section.kind == SHT_NOTE);
        let mut areas: Vec<(u64, u64, u64)> =
            sections().map(|section| (section.offset, section.size, section.align)).collect();
        if !sections().any(Section::is_alloc) {
            let segments = self.segments.iter().filter(|segment| segment.kind == PT_NOTE);
            areas.extend(segments.map(|segment| (segment.offset, segment.file_size, 4)));
        }
        let mut found = Vec::new();
        for (offset, size, align) in areas {
            let Some(area) = range_of(self.bytes, offset, size) else { continue };
            let align = if align == 8 { 8 } else { 4 };
            let mut at = 0;
            while let Some((description, kind, name, next)) = note(area, at, align) {
                if kind == wanted && name == owner {
                    // The area is in the file, so its offset is one in memory.
                    let start = offset as usize;
                    found.push(start + description.start..start + description.end);
                }
                at = next;
            }
        }
        found
    }
}

/// Where the description is, type, owner, and where the next note begins.
type Note<'a> = (Range<usize>, u32, &'a [u8], usize);

/// The note at an offset in an area.
fn note(area: &[u8], at: usize, align: usize) -> Option<Note<'_>> {
    let rest = area.get(at..)?;
    let name_size = usize::try_from(u32_at(rest, 0)?).ok()?;
    let size = usize::try_from(u32_at(rest, 4)?).ok()?;
    let kind = u32_at(rest, 8)?;
    let name = rest.get(12..12usize.checked_add(name_size)?)?;
    let start = 12usize.checked_add(name_size)?.checked_next_multiple_of(align.max(1))?;
    let end = start.checked_add(size)?;
    rest.get(start..end)?;
    let next = end.checked_next_multiple_of(align.max(1))?;
    // Go counts its padding as part of the name.
    let name = name.split(|&byte| byte == 0).next().unwrap_or(name);
    Some((at.checked_add(start)?..at.checked_add(end)?, kind, name, at.checked_add(next)?))
}

/// The build-id, in lower-case hexadecimal digits.
pub(super) fn build_id(elf: &Elf<'_>) -> Option<String> {
    let id = *elf.notes(b"GNU", 3).first()?;
    let id = id.get(..id.len().min(64)).filter(|id| !id.is_empty())?;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}
