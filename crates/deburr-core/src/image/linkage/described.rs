//! A file → the instructions whose addresses it tells to others, which act when control is there.
//!
//! In: the sections, notes and pointers of a file. Out: [`Described`], by address. Restartable sequences (Linux, `rseq(2)`) are found by the
//! form of their descriptors in any data; exception tables and patchable entries by the sections that the Linux kernel and
//! compilers use; probes by SystemTap's notes. A section whose name is a C identifier is a table of the program's
//! own, which finds it by `__start_` and `__stop_`: what leads from there into code is described too.

use super::model::{Data, Linkage};
use crate::address::{Extent, Svma};
use crate::image::elf::{Elf, SHT_PROGBITS, Section, u32_at, u64_at};
use crate::image::{Image, Kind};
use std::collections::BTreeMap;

/// Bytes of an instruction.
const WORD: u64 = 4;
/// `nop`
const NOP: u32 = 0xd503_201f;

/// Instructions of AArch64 that somebody else knows by their addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Described {
    /// Where they are.
    pub extent: Extent,
    /// What knows them.
    pub by: Describer,
}

/// What knows instructions by their addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Describer {
    /// The kernel: it goes to the abort handler where it interrupts them (`struct rseq_cs`).
    RestartableSequence,
    /// A handler of faults (`__ex_table`).
    ExceptionTable,
    /// A tracer that reads registers there (`.note.stapsdt`).
    Probe,
    /// What writes other instructions there while the program runs (`__patchable_function_entries`).
    Patch,
    /// A table of the program's own, in a section that has a name in C.
    OwnTable,
}

/// The instructions of a linked file for AArch64 that it tells to others, by address. A table that does not have the form that its
/// name says leads nowhere.
pub fn described(image: &Image<'_>) -> Vec<Described> {
    let Ok(elf) = Elf::parse(image.bytes) else { return Vec::new() };
    if elf.kind == Kind::Relocatable {
        return Vec::new();
    }
    let linkage = Linkage::parse(image);
    let pointers: BTreeMap<u64, u64> = linkage.cells.iter().map(|cell| (cell.at.0, cell.to.0)).collect();
    let mut finder = Finder { image, elf: &elf, pointers, found: Vec::new() };
    finder.add_restartable(&linkage.data);
    finder.add_probes();
    for section in elf.sections.iter().filter(|section| section.is_alloc() && section.kind == SHT_PROGBITS) {
        match section.name {
            "__ex_table" => finder.add_exceptions(section),
            "__patchable_function_entries" => finder.add_patchable(section),
            name if is_identifier(name) && !section.is_executable() => finder.add_own(section),
            _ => {}
        }
    }
    let mut found = finder.found;
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether the linker makes `__start_` and `__stop_` symbols for a section of this name.
fn is_identifier(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(is_part) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

struct Finder<'f, 'a> {
    image: &'f Image<'a>,
    elf: &'f Elf<'a>,
    /// What is in each cell that holds an address.
    pointers: BTreeMap<u64, u64>,
    found: Vec<Described>,
}

impl Finder<'_, '_> {
    fn is_code(&self, at: u64) -> bool {
        at.is_multiple_of(WORD) && self.image.code_at(Svma(at)).is_some()
    }

    /// Adds as many bytes of code from an address on.
    fn add(&mut self, start: u64, size: u64, by: Describer) {
        if size > 0 && self.is_code(start) {
            self.found.push(Described { extent: Extent::sized(Svma(start), size), by });
        }
    }

    /// A 64-bit address in data, relocated or not.
    fn pointer(&self, at: u64) -> Option<u64> {
        let value = || u64_at(self.elf.bytes_of(at, 8)?, 0);
        self.pointers.get(&at).copied().or_else(value)
    }

    /// Where a 32-bit offset from its own place leads.
    fn relative(&self, at: u64) -> Option<u64> {
        let offset = u32_at(self.elf.bytes_of(at, 4)?, 0)?.cast_signed();
        Some(at.wrapping_add_signed(i64::from(offset)))
    }

    /// `struct rseq_cs`: version and flags, 32 bits each, then start, length and abort handler, 64 bits each.
    fn add_restartable(&mut self, data: &[Data<'_>]) {
        /// Bytes of a sequence; they are short, as they start over whenever they are interrupted.
        const MAX_LENGTH: u64 = 1 << 16;
        /// Flags that the kernel knows.
        const FLAGS: u32 = 7;
        let mut starts: Vec<u64> = self.pointers.keys().filter_map(|at| at.checked_sub(8)).collect();
        if self.elf.is_fixed {
            let runs =
                data.iter().map(|run| (run.extent.start.0.next_multiple_of(8), run.bytes.len() as u64));
            starts
                .extend(runs.flat_map(|(start, length)| (0..length / 8).map(move |index| start + 8 * index)));
        }
        for start in starts {
            let Some(head) = self.elf.bytes_of(start, 32) else { continue };
            let version = u32_at(head, 0);
            let is_known = version == Some(0) && u32_at(head, 4).is_some_and(|flags| flags <= FLAGS);
            let length = u64_at(head, 16).filter(|length| (1..=MAX_LENGTH).contains(length));
            let (Some(length), true) = (length, is_known && !self.pointers.contains_key(&(start + 16)))
            else {
                continue;
            };
            let (Some(from), Some(abort)) = (self.pointer(start + 8), self.pointer(start + 24)) else {
                continue;
            };
            if self.is_code(from) && self.is_code(abort) && length.is_multiple_of(WORD) {
                self.add(from, length, Describer::RestartableSequence);
            }
        }
    }

    /// Notes of type 3 by `stapsdt`: where the probe is and where `.stapsdt.base` was linked, 64 bits each.
    fn add_probes(&mut self) {
        let base = self.elf.section(".stapsdt.base").map(|section| section.svma);
        for note in self.elf.notes(b"stapsdt", 3) {
            let (Some(at), Some(linked)) = (u64_at(note, 0), u64_at(note, 8)) else { continue };
            let moved = base.filter(|_| linked != 0).map_or(0, |base| base.wrapping_sub(linked));
            self.add(at.wrapping_add(moved), WORD, Describer::Probe);
        }
    }

    /// Entries of 12 bytes (offsets to the instruction and to its fixup, type and data) or, before Linux 5.17, of 8: two offsets into
    /// code, one after the other.
    fn add_exceptions(&mut self, section: &Section<'_>) {
        for at in (section.svma..section.svma.saturating_add(section.size)).step_by(4) {
            let places = [self.relative(at), self.relative(at.saturating_add(4))];
            if let [Some(insn), Some(fixup)] = places
                && self.is_code(insn)
                && self.is_code(fixup)
            {
                self.add(insn, WORD, Describer::ExceptionTable);
                self.add(fixup, WORD, Describer::ExceptionTable);
            }
        }
    }

    /// Addresses of runs of `nop` (`-fpatchable-function-entry`).
    fn add_patchable(&mut self, section: &Section<'_>) {
        for at in (section.svma..section.svma.saturating_add(section.size)).step_by(8) {
            let Some(start) = self.pointer(at) else { continue };
            let words = (0..).map(|index| self.image.word_at(Svma(start.saturating_add(WORD * index))));
            let nops = words.take_while(|word| *word == Some(NOP)).count() as u64;
            self.add(start, WORD * nops.max(1), Describer::Patch);
        }
    }

    /// Whatever leads into code: pointers, and 32-bit offsets from their own places.
    fn add_own(&mut self, section: &Section<'_>) {
        let end = section.svma.saturating_add(section.size);
        let pointers: Vec<u64> = self.pointers.range(section.svma..end).map(|(_, to)| *to).collect();
        let offsets = (section.svma.next_multiple_of(4)..end).step_by(4).filter_map(|at| self.relative(at));
        let offsets: Vec<u64> = offsets.collect();
        for to in pointers.into_iter().chain(offsets) {
            self.add(to, WORD, Describer::OwnTable);
        }
    }
}
