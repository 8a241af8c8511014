//! Where in a file its parts are: bytes → [`Layout`], for those who write.
//!
//! In: the bytes of an ELF file, whole and without contradictions between its headers and its length: what a reader may
//! leave out, a writer may not. Out: what is executable, the section headers as they are, notes, where the last part
//! ends. Follows the gABI, chapters "ELF Header", "Sections" and "Program Header".

use super::Error;
use super::elf::{
    Elf, PF_R, PF_X, PT_LOAD, PT_PHDR, SHF_COMPRESSED, SHT_NOBITS, SHT_PROGBITS, Section, range_of, u16_at,
    u32_at, u64_at,
};
use crate::address::Svma;
use std::fmt;
use std::ops::Range;

const ELF_HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;
/// The length of `Elf64_Shdr` in bytes.
pub const SECTION_HEADER: u64 = 64;
const SHT_STRTAB: u32 = 3;
/// The largest page; segments are in pages of their own.
const PAGE: u64 = 1 << 16;
/// The smallest page.
const SMALLEST_PAGE: u64 = 1 << 12;
/// What code in added space is aligned to.
const CODE_ALIGNMENT: u64 = 16;
/// Bytes that a file may grow by for nothing but the right offset.
const PADDING: u64 = 64 << 20;

/// The file, by where its parts are.
pub struct Layout<'a> {
    elf: Elf<'a>,
    segments: Runs,
    /// Where no section is loaded, the segments alone count, as in an [`super::Image`].
    sections: Option<Runs>,
}

/// Bytes of the file that are loaded, by what their address is more than their offset, then by offset; none touch.
struct Runs(Vec<Run>);

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    bias: u64,
    start: u64,
    end: u64,
}

impl Runs {
    /// From addresses, offsets and sizes.
    fn of(parts: impl Iterator<Item = (u64, u64, u64)>) -> Runs {
        let run = |(svma, offset, size): (u64, u64, u64)| {
            Some(Run { bias: svma.wrapping_sub(offset), start: offset, end: offset.checked_add(size)? })
        };
        let mut runs: Vec<Run> = parts.filter_map(run).collect();
        runs.sort_unstable();
        runs.dedup_by(|next, last| {
            let joins = next.bias == last.bias && next.start <= last.end;
            if joins {
                last.end = last.end.max(next.end);
            }
            joins
        });
        Runs(runs)
    }

    fn hold(&self, svma: Svma, file: &Range<u64>) -> bool {
        let bias = svma.0.wrapping_sub(file.start);
        let after = self.0.partition_point(|run| (run.bias, run.start) <= (bias, file.start));
        let run = after.checked_sub(1).and_then(|index| self.0.get(index));
        run.is_some_and(|run| run.bias == bias && file.end <= run.end)
    }
}

/// Space for code at the end of a file, in a segment of its own. It ends with the program headers, which are one more
/// than before, and nothing before them moves. (They do not come first: llvm-strip and llvm-objcopy take what begins
/// where the headers do for a part of these.)
///
/// Linux before 5.18 shows a program where its program headers are: at the address of the first segment plus their
/// offset. The loaders of glibc and musl compute the same for themselves. So what an address is more than its offset is
/// the same here as in the first segment. That may take padding, as much as the file has of zeroed data and no bytes
/// for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Where the segment begins in the file.
    file_offset: u64,
    bias: u64,
    alignment: u64,
    /// Program headers before and after.
    headers: u16,
}

/// Why no code can be added to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum NoSpace {
    /// There are no sections that are loaded, so that nothing would distinguish the added code from data.
    Sections,
    /// The program headers have no room for another, or nothing is loaded.
    Headers,
    /// No address is left above all others, or addresses and file offsets differ by no multiple of a page.
    Addresses,
    /// The file would have to be padded with more than 64 MiB.
    Padding,
}

impl fmt::Display for NoSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoSpace::Sections => "no section is loaded",
            NoSpace::Headers => "no program header can be added",
            NoSpace::Addresses => "no address is free after the last segment",
            NoSpace::Padding => "more than 64 MiB of padding",
        })
    }
}

impl Room {
    /// The first address, which is one for code.
    pub fn code(&self) -> Svma {
        // The space was found to be there, so this is no overflow.
        Svma(self.bias.wrapping_add(self.file_offset))
    }

    /// Where a run of code begins that follows another's end.
    pub fn after(end: Svma) -> Option<Svma> {
        end.0.checked_next_multiple_of(CODE_ALIGNMENT).map(Svma)
    }

    /// Where an address of the segment is in the file.
    pub fn file_offset_of(&self, at: Svma) -> u64 {
        at.0.wrapping_sub(self.bias)
    }

    /// How many program headers there are with the new one.
    pub fn header_count(&self) -> u16 {
        self.headers
    }
}

/// The section that holds the names of the others.
pub enum Names<'a> {
    /// The file has none.
    Missing,
    /// Its index and its strings.
    Section(usize, &'a [u8]),
    /// It is loaded, compressed, or no string table, so that another cannot replace it.
    Unusable,
}

impl<'a> Layout<'a> {
    /// Reads the headers.
    pub fn of(bytes: &'a [u8]) -> Result<Layout<'a>, Error> {
        let elf = Elf::parse(bytes)?;
        if let Some(fault) = elf.faults.first() {
            let expected = format!("headers that agree with the file ({fault})");
            return Err(Error::Malformed { offset: 0, expected });
        }
        let executable = elf.segments.iter().filter(|part| part.kind == PT_LOAD && part.flags & PF_X != 0);
        let segments = Runs::of(executable.map(|part| (part.svma, part.offset, part.file_size)));
        let code = elf.sections.iter().filter(|part| part.is_executable() && part.kind == SHT_PROGBITS);
        let runs = Runs::of(code.map(|part| (part.svma, part.offset, part.size)));
        let sections = elf.sections.iter().any(Section::is_alloc).then_some(runs);
        Ok(Layout { elf, segments, sections })
    }

    fn program_headers(&self) -> Range<u64> {
        let start = u64_at(self.elf.bytes, 32).unwrap_or(0);
        start..start.saturating_add((self.elf.segments.len() as u64).saturating_mul(PROGRAM_HEADER))
    }

    /// Where code can be added.
    pub fn room(&self) -> Result<Room, NoSpace> {
        if self.sections.is_none() {
            return Err(NoSpace::Sections);
        }
        let stated = u16_at(self.elf.bytes, 56).filter(|count| *count < 0xfffe);
        let headers = stated.filter(|count| usize::from(*count) == self.elf.segments.len());
        let headers = headers.ok_or(NoSpace::Headers)? + 1;
        let mut loaded = self.elf.segments.iter().filter(|segment| segment.kind == PT_LOAD);
        let first = loaded.next().ok_or(NoSpace::Headers)?;
        let bias = first.svma.checked_sub(first.offset).filter(|bias| bias.is_multiple_of(SMALLEST_PAGE));
        let bias = bias.ok_or(NoSpace::Addresses)?;
        let alignment = 1 << bias.trailing_zeros().min(PAGE.trailing_zeros());
        let mut ends = self.elf.segments.iter().map(|segment| segment.svma.checked_add(segment.memory_size));
        let end = ends.try_fold(0, |last, end| Some(end?.max(last)));
        let free = end.and_then(|end: u64| end.checked_next_multiple_of(PAGE));
        let length = self.elf.bytes.len() as u64;
        let after = length.checked_next_multiple_of(CODE_ALIGNMENT).and_then(|end| bias.checked_add(end));
        // A quarter of all addresses is the kernel's; the rest leaves sums far from an overflow.
        let start = free.zip(after).map(|(free, after)| free.max(after)).filter(|at| *at < 3 << 62);
        let start = start.ok_or(NoSpace::Addresses)?;
        let file_offset = start.checked_sub(bias).ok_or(NoSpace::Addresses)?;
        if file_offset.saturating_sub(length) > PADDING {
            return Err(NoSpace::Padding);
        }
        Ok(Room { file_offset, bias, alignment, headers })
    }

    /// The program headers with one more, for a segment of so many bytes of code and them; and where they are in the
    /// file.
    pub fn headers_with(&self, room: &Room, code: u64) -> Option<(u64, Vec<u8>)> {
        let table = self.program_headers();
        let mut headers =
            range_of(self.elf.bytes, table.start, table.end.checked_sub(table.start)?)?.to_vec();
        let length = headers.len() as u64 + PROGRAM_HEADER;
        let start = room.file_offset.checked_add(code)?.checked_next_multiple_of(8)?;
        let end = start.checked_add(length)?;
        room.bias.checked_add(end)?;
        let header = |kind: u32, flags: u32, file: Range<u64>, alignment: u64| -> Vec<u8> {
            let (svma, size) = (file.start.wrapping_add(room.bias), file.end.saturating_sub(file.start));
            let fields = [file.start, svma, svma, size, size, alignment];
            let words = [kind, flags].into_iter().flat_map(u32::to_le_bytes);
            words.chain(fields.into_iter().flat_map(u64::to_le_bytes)).collect()
        };
        for entry in headers.chunks_exact_mut(PROGRAM_HEADER as usize) {
            if u32_at(entry, 0) == Some(PT_PHDR) {
                entry.copy_from_slice(&header(PT_PHDR, u32_at(entry, 4)?, start..end, u64_at(entry, 48)?));
            }
        }
        headers.extend(header(PT_LOAD, PF_R | PF_X, room.file_offset..end, room.alignment));
        Some((start, headers))
    }

    /// Whether these bytes of the file are loaded as code, the first of them at the address, and are no headers.
    pub fn is_code(&self, svma: Svma, file: &Range<u64>) -> bool {
        let headers = self.program_headers();
        let is_header = file.start < ELF_HEADER || file.start < headers.end && headers.start < file.end;
        let in_section = self.sections.as_ref().is_none_or(|sections| sections.hold(svma, file));
        !is_header && in_section && self.segments.hold(svma, file)
    }

    /// The section headers; empty where there are none.
    pub fn section_headers(&self) -> &'a [u8] {
        let size = (self.elf.sections.len() as u64).saturating_mul(SECTION_HEADER);
        u64_at(self.elf.bytes, 40).and_then(|start| range_of(self.elf.bytes, start, size)).unwrap_or(&[])
    }

    /// How many sections there are, where the ELF header has room for the number.
    pub fn section_count(&self) -> Option<u16> {
        let stated = u16_at(self.elf.bytes, 60)?;
        match self.elf.sections.len() {
            0 => Some(0),
            count => (usize::from(stated) == count).then_some(stated),
        }
    }

    /// The section that holds the names of the others.
    pub fn section_names(&self) -> Names<'a> {
        let index = usize::from(u16_at(self.elf.bytes, 62).unwrap_or(0));
        if self.elf.sections.is_empty() || index == 0 {
            return Names::Missing;
        }
        let plain = |section: &&Section<'_>| {
            section.kind == SHT_STRTAB && !section.is_alloc() && section.flags & SHF_COMPRESSED == 0
        };
        let section = self.elf.sections.get(index).filter(plain);
        match section.and_then(|section| self.elf.data(section)) {
            Some(strings) => Names::Section(index, strings),
            None => Names::Unusable,
        }
    }

    /// Where the descriptors of the notes of an owner and type are.
    pub fn notes(&self, owner: &[u8], kind: u32) -> Vec<Range<usize>> {
        self.elf.note_ranges(owner, kind)
    }

    /// Where the build-id is.
    pub fn build_id(&self) -> Option<Range<usize>> {
        self.notes(b"GNU", 3).into_iter().next().filter(|id| !id.is_empty())
    }

    /// Where the last part that the headers describe ends.
    pub fn end(&self) -> u64 {
        let in_file = |section: &&Section<'_>| section.kind != 0 && section.kind != SHT_NOBITS;
        let sections = self.elf.sections.iter().filter(in_file).map(|part| (part.offset, part.size));
        let segments = self.elf.segments.iter().map(|part| (part.offset, part.file_size));
        let headers = self.section_headers();
        let start = u64_at(self.elf.bytes, 40).filter(|_| !headers.is_empty()).unwrap_or(0);
        let ends = sections.chain(segments).chain([(start, headers.len() as u64)]);
        let end = ends.map(|(offset, size)| offset.saturating_add(size)).max();
        end.unwrap_or(0).max(self.program_headers().end).max(ELF_HEADER)
    }
}
