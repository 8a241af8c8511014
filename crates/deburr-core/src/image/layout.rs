//! Where the parts of a file lie in it: bytes → [`Layout`], for those who write.
//!
//! In: the bytes of an ELF file, whole and without contradictions between its headers and its length: what a reader may
//! leave out, a writer may not. Out: what is executable, the section headers as they are, notes, where the last part ends.
//! Follows the gABI, chapters "ELF Header", "Sections" and "Program Header".

use super::Error;
use super::elf::{
    Elf, PF_X, PT_LOAD, SHF_COMPRESSED, SHT_NOBITS, SHT_PROGBITS, Section, range_of, u16_at, u64_at,
};
use crate::address::Svma;
use std::ops::Range;

const ELF_HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;
pub(crate) const SECTION_HEADER: u64 = 64;
const SHT_STRTAB: u32 = 3;

/// The file, by where its parts lie.
pub(crate) struct Layout<'a> {
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

/// The section that holds the names of the others.
pub(crate) enum Names<'a> {
    /// The file has none.
    Missing,
    /// Its index and its strings.
    Section(usize, &'a [u8]),
    /// It is loaded, compressed, or no string table, so that another cannot stand for it.
    Unusable,
}

impl<'a> Layout<'a> {
    /// Reads the headers.
    pub(crate) fn of(bytes: &'a [u8]) -> Result<Layout<'a>, Error> {
        let elf = Elf::parse(bytes)?;
        if let Some(fault) = elf.faults.first() {
            let expected = format!("headers that agree with the file ({fault})");
            return Err(Error::Malformed { offset: 0, expected });
        }
        let executable = elf.segments.iter().filter(|part| part.kind == PT_LOAD && part.flags & PF_X != 0);
        let segments = Runs::of(executable.map(|part| (part.svma, part.offset, part.file_size)));
        let executable = elf.sections.iter().filter(|part| part.is_executable() && part.kind == SHT_PROGBITS);
        let sections = Runs::of(executable.map(|part| (part.svma, part.offset, part.size)));
        let sections = elf.sections.iter().any(Section::is_alloc).then_some(sections);
        Ok(Layout { elf, segments, sections })
    }

    fn program_headers(&self) -> Range<u64> {
        let start = u64_at(self.elf.bytes, 32).unwrap_or(0);
        start..start.saturating_add((self.elf.segments.len() as u64).saturating_mul(PROGRAM_HEADER))
    }

    /// Whether these bytes of the file are loaded as code, the first of them at the address, and are no headers.
    pub(crate) fn is_code(&self, svma: Svma, file: &Range<u64>) -> bool {
        let headers = self.program_headers();
        let is_header = file.start < ELF_HEADER || file.start < headers.end && headers.start < file.end;
        let in_section = self.sections.as_ref().is_none_or(|sections| sections.hold(svma, file));
        !is_header && in_section && self.segments.hold(svma, file)
    }

    /// The section headers; empty where there are none.
    pub(crate) fn section_headers(&self) -> &'a [u8] {
        let size = (self.elf.sections.len() as u64).saturating_mul(SECTION_HEADER);
        u64_at(self.elf.bytes, 40).and_then(|start| range_of(self.elf.bytes, start, size)).unwrap_or(&[])
    }

    /// How many sections there are, where the ELF header has room for the number.
    pub(crate) fn section_count(&self) -> Option<u16> {
        let stated = u16_at(self.elf.bytes, 60)?;
        match self.elf.sections.len() {
            0 => Some(0),
            count => (usize::from(stated) == count).then_some(stated),
        }
    }

    /// The section that holds the names of the others.
    pub(crate) fn section_names(&self) -> Names<'a> {
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

    /// Where the descriptors of the notes of an owner and type lie.
    pub(crate) fn notes(&self, owner: &[u8], kind: u32) -> Vec<Range<usize>> {
        self.elf.note_ranges(owner, kind)
    }

    /// Where the build-id lies.
    pub(crate) fn build_id(&self) -> Option<Range<usize>> {
        self.notes(b"GNU", 3).into_iter().next().filter(|id| !id.is_empty())
    }

    /// Where the last part that the headers describe ends.
    pub(crate) fn end(&self) -> u64 {
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
