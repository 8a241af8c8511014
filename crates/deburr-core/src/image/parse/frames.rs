//! Unwind tables → the ranges that frame description entries cover.
//!
//! In: `.eh_frame`, found by name or through `PT_GNU_EH_FRAME`; `.debug_frame` where there is none, also of the debug
//! file. Out: a [`FrameRange`] per entry, by address. Only the instructions up to the first advance are read. They say
//! whether the frame is already set up when the code begins, as it is in a part (`.cold`) that the compiler split off.
//! A part of a function without a frame looks like a function of its own here. The work is linear: entries as compilers
//! write them are read here, the others by gimli. Follows the LSB, "Exception Frames",
//! DWARF 5 section 6.4, and the AArch64 DWARF supplement.

use super::debug::DebugSection;
use super::landing_pads::Table;
use super::ranges::CodeRanges;
use super::relocated::relocated;
use crate::address::{Extent, Svma};
use crate::image::elf::{Elf, PT_GNU_EH_FRAME, SHT_NOBITS, Section};
use crate::image::sorted::sort_by_address_and_self;
use crate::image::{Code, FrameRange, Kind};
use deburr_cpu::Arch;
use gimli::{
    BaseAddresses, CallFrameInstruction, CommonInformationEntry, DebugFrame, DwEhPe, EhFrame, EndianSlice,
    LittleEndian, UnwindOffset, UnwindSection,
};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Compressed `.debug_frame` sections larger than this are left out.
const DEBUG_FRAME_LIMIT: u64 = 256 << 20;

/// Where the canonical frame address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cfa {
    Unknown,
    Register(u16, i64),
    Expression,
}

/// What the first row says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FirstRow {
    cfa: Cfa,
    saves_registers: bool,
}

/// Runs the instructions up to the first advance.
fn first_row<'a, S: UnwindSection<Bytes<'a>>>(
    mut instructions: gimli::CallFrameInstructionIter<'_, Bytes<'a>>,
    data_alignment: i64,
    start: FirstRow,
    _section: &S,
) -> gimli::Result<FirstRow> {
    let mut row = start;
    while let Some(instruction) = instructions.next()? {
        match instruction {
            CallFrameInstruction::SetLoc { .. } | CallFrameInstruction::AdvanceLoc { .. } => break,
            CallFrameInstruction::DefCfa { register, offset } => {
                row.cfa = Cfa::Register(register.0, offset.cast_signed());
            }
            CallFrameInstruction::DefCfaSf { register, factored_offset } => {
                row.cfa = Cfa::Register(register.0, factored_offset.wrapping_mul(data_alignment));
            }
            CallFrameInstruction::DefCfaRegister { register } => {
                if let Cfa::Register(_, offset) = row.cfa {
                    row.cfa = Cfa::Register(register.0, offset);
                }
            }
            CallFrameInstruction::DefCfaOffset { offset } => {
                if let Cfa::Register(register, _) = row.cfa {
                    row.cfa = Cfa::Register(register, offset.cast_signed());
                }
            }
            CallFrameInstruction::DefCfaOffsetSf { factored_offset } => {
                if let Cfa::Register(register, _) = row.cfa {
                    row.cfa = Cfa::Register(register, factored_offset.wrapping_mul(data_alignment));
                }
            }
            CallFrameInstruction::DefCfaExpression { .. } => row.cfa = Cfa::Expression,
            CallFrameInstruction::Offset { .. }
            | CallFrameInstruction::OffsetExtendedSf { .. }
            | CallFrameInstruction::ValOffset { .. }
            | CallFrameInstruction::ValOffsetSf { .. }
            | CallFrameInstruction::Register { .. }
            | CallFrameInstruction::Expression { .. }
            | CallFrameInstruction::ValExpression { .. } => row.saves_registers = true,
            // `undefined` appears at the entry point, and a signed return address says nothing about the frame.
            _ => {}
        }
    }
    Ok(row)
}

/// A common information entry and the row that its own instructions make.
struct Cie<'a> {
    entry: CommonInformationEntry<Bytes<'a>>,
    row: FirstRow,
}

impl Cie<'_> {
    /// Whether its descriptions have addresses of 4 bytes, relative to themselves, as nearly all have.
    fn is_plain(&self) -> bool {
        const RELATIVE: DwEhPe = DwEhPe(0x1b);
        self.entry.fde_address_encoding() == Some(RELATIVE)
            && self.entry.lsda_encoding().is_none_or(|encoding| encoding == RELATIVE)
    }
}

/// The common information entries met so far, by offset; `None` where one is malformed. There are few.
#[derive(Default)]
struct Cies<'a>(BTreeMap<usize, Option<Cie<'a>>>);

impl<'a> Cies<'a> {
    fn get(&mut self, offset: usize, read: impl FnOnce() -> Option<Cie<'a>>) -> Option<&Cie<'a>> {
        self.0.entry(offset).or_insert_with(read).as_ref()
    }
}

/// What a frame description entry says.
#[derive(Clone, Copy)]
struct Description {
    extent: Extent,
    is_part: bool,
    /// Whether it names an exception table, and where that is, if it says so directly.
    table: Option<Option<u64>>,
}

/// Reads the entries at the given offsets of a section, in parallel, in shards: a large program has hundreds of
/// thousands.
fn entries<'a, S>(
    section: &S,
    bases: &BaseAddresses,
    (what, offsets): (&str, &[usize]),
    faults: &mut Vec<String>,
) -> Vec<Vec<Description>>
where
    S: UnwindSection<Bytes<'a>> + Sync,
    S::Offset: UnwindOffset<usize> + From<usize>,
{
    const SHARD: usize = 8192;
    let shards: Vec<(Vec<Description>, u64)> = offsets
        .par_chunks(SHARD)
        .map(|offsets| {
            let mut cies = Cies::default();
            let mut found = Vec::with_capacity(offsets.len());
            let mut failed = 0;
            for &offset in offsets {
                let read = plain_entry(section, bases, offset, &mut cies);
                match read.or_else(|| entry(section, bases, offset, &mut cies)) {
                    Some(range) => found.push(range),
                    None => failed += 1,
                }
            }
            (found, failed)
        })
        .collect();
    let failed: u64 = shards.iter().map(|(_, failed)| failed).sum();
    if failed > 0 {
        faults.push(format!("{what}: {failed} entries are malformed: left out"));
    }
    shards.into_iter().map(|(found, _)| found).collect()
}

/// What the description at an offset of `.eh_frame` says, if it has the form that compilers write: short, with a plain
/// common entry, and without a frame that is set up. `None` leaves it to [`entry`].
fn plain_entry<'a, S>(
    section: &S,
    bases: &BaseAddresses,
    offset: usize,
    cies: &mut Cies<'a>,
) -> Option<Description>
where
    S: UnwindSection<Bytes<'a>>,
    S::Offset: UnwindOffset<usize> + From<usize>,
{
    let svma = bases.eh_frame.section?;
    let (length, rest) = section.section().slice().get(offset..)?.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length);
    // From here on a 64-bit length follows, or none is defined.
    if length >= 0xffff_fff0 {
        return None;
    }
    let (back, rest) = rest.get(..length as usize)?.split_first_chunk::<4>()?;
    let cie_offset = offset.checked_add(4)?.checked_sub(u32::from_le_bytes(*back) as usize)?;
    let cie = cies.get(cie_offset, || cie(section, bases, S::Offset::from(cie_offset)).ok())?;
    if !cie.is_plain() {
        return None;
    }
    let (start, rest) = rest.split_first_chunk::<4>()?;
    let (extent, rest) = rest.split_first_chunk::<4>()?;
    let (&[augmentation], rest) = rest.split_first_chunk::<1>()?;
    let (augmentation, instructions) =
        rest.split_at_checked(augmentation.into()).filter(|_| augmentation < 0x80)?;
    // The first that is no `DW_CFA_nop` advances the address, so that the frame is that of the common entry.
    let first = instructions.iter().find(|&&opcode| opcode != 0);
    if first.is_some_and(|&opcode| opcode >> 6 != 1 && !matches!(opcode, 1..=4)) {
        return None;
    }
    let relative = |bytes: &[u8; 4], at: u64| {
        let distance = i32::from_le_bytes(*bytes);
        svma.wrapping_add(offset as u64).wrapping_add(at).wrapping_add_signed(distance.into())
    };
    let table = match cie.entry.lsda_encoding() {
        Some(_) => Some(Some(relative(augmentation.first_chunk()?, 17))),
        None => None,
    };
    let length = i64::from(i32::from_le_bytes(*extent)).cast_unsigned();
    let extent = Extent::sized(Svma(relative(start, 8)), length);
    Some(Description { extent, is_part: false, table: table.filter(|at| *at != Some(0)) })
}

/// What the description at an offset says; `None` where it is malformed.
fn entry<'a, S>(section: &S, bases: &BaseAddresses, offset: usize, cies: &mut Cies<'a>) -> Option<Description>
where
    S: UnwindSection<Bytes<'a>>,
    S::Offset: UnwindOffset<usize> + From<usize>,
{
    let partial = section.partial_fde_from_offset(bases, S::Offset::from(offset)).ok()?;
    let cie_offset = partial.cie_offset();
    let cie = cies.get(UnwindOffset::into(cie_offset), || cie(section, bases, cie_offset).ok())?;
    let fde = partial.parse(|_, _, _| Ok(cie.entry.clone())).ok()?;
    let instructions = fde.instructions(section, bases);
    let row = first_row(instructions, cie.entry.data_alignment_factor(), cie.row, section);
    let is_part = row.is_ok_and(|row| row != cie.row) && !cie.entry.is_signal_trampoline();
    let table = fde.lsda().map(|pointer| match pointer {
        gimli::Pointer::Direct(at) => Some(at),
        gimli::Pointer::Indirect(_) => None,
    });
    let extent = Extent::sized(Svma(fde.initial_address()), fde.len());
    Some(Description { extent, is_part, table: table.filter(|at| *at != Some(0)) })
}

fn cie<'a, S>(section: &S, bases: &BaseAddresses, offset: S::Offset) -> gimli::Result<Cie<'a>>
where
    S: UnwindSection<Bytes<'a>>,
    S::Offset: UnwindOffset<usize>,
{
    let entry = section.cie_from_offset(bases, offset)?;
    let start = FirstRow { cfa: Cfa::Unknown, saves_registers: false };
    let instructions = entry.instructions(section, bases);
    let row = first_row(instructions, entry.data_alignment_factor(), start, section)?;
    Ok(Cie { entry, row: FirstRow { saves_registers: false, ..row } })
}

/// Offsets of the frame description entries of a section, recognised by their lengths and by the field that is
/// `cie_id` in a common information entry.
fn description_offsets(bytes: &[u8], cie_id: u32, what: &str, faults: &mut Vec<String>) -> Vec<usize> {
    /// In place of a length: a 64-bit length follows.
    const WIDE: u32 = 0xffff_ffff;
    let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let wide = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let mut offsets = Vec::new();
    let mut at = 0usize;
    while at < bytes.len() {
        let (length, header) = match word(at) {
            Some(0) if cie_id == 0 => break,
            Some(WIDE) => (wide(at.saturating_add(4)), 12),
            length => (length.map(u64::from), 4),
        };
        let body = at.saturating_add(header);
        let end = length.and_then(|length| body.checked_add(usize::try_from(length).ok()?));
        let Some(end) = end.filter(|&end| end <= bytes.len()) else {
            faults
                .push(format!("{what}: the entry at offset {at:#x} reaches past the end: the rest left out"));
            break;
        };
        // Of `.debug_frame`'s 64-bit identifier the low half is enough to distinguish them.
        if end > body && word(body) != Some(cie_id) {
            offsets.push(at);
        }
        at = end;
    }
    offsets
}

fn vendor(arch: Arch) -> gimli::Vendor {
    if arch == Arch::Aarch64 { gimli::Vendor::AArch64 } else { gimli::Vendor::Default }
}

fn eh_frame(bytes: &[u8], svma: u64, arch: Arch, faults: &mut Vec<String>) -> Vec<Vec<Description>> {
    let mut section = EhFrame::new(bytes, LittleEndian);
    section.set_address_size(8);
    section.set_vendor(vendor(arch));
    let bases = BaseAddresses::default().set_eh_frame(svma);
    let offsets = description_offsets(bytes, 0, ".eh_frame", faults);
    entries(&section, &bases, (".eh_frame", &offsets), faults)
}

/// Where `.eh_frame` is without section headers: `PT_GNU_EH_FRAME` leads to `.eh_frame_hdr`, which points to it.
fn by_segment<'a>(elf: &Elf<'a>) -> Option<(u64, &'a [u8])> {
    let segment = elf.segments.iter().find(|segment| segment.kind == PT_GNU_EH_FRAME)?;
    let header = elf.bytes_of(segment.svma, segment.file_size)?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(segment.svma);
    let header = gimli::EhFrameHdr::new(header, LittleEndian).parse(&bases, 8).ok()?;
    let svma = match header.eh_frame_ptr() {
        gimli::Pointer::Direct(svma) => svma,
        gimli::Pointer::Indirect(_) => return None,
    };
    Some((svma, elf.bytes_at(svma)?))
}

/// The unwind sections, with the addresses that they are relative to.
fn unwind_sections<'a>(elf: &Elf<'a>) -> Vec<(u64, Cow<'a, [u8]>)> {
    let named = |section: &&Section<'a>| section.name == ".eh_frame" && section.kind != SHT_NOBITS;
    // Objects may have one per group; a hostile file, sixty thousand over the same bytes.
    let sections: Vec<&Section<'a>> = elf.sections.iter().filter(named).take(4096).collect();
    let mut left = elf.bytes.len();
    let mut found = Vec::new();
    for section in sections {
        let Some(bytes) = elf.data(section) else { continue };
        let Some(rest) = left.checked_sub(bytes.len()) else { break };
        left = rest;
        let bytes = if elf.kind == Kind::Relocatable {
            Cow::Owned(relocated(elf, section, bytes))
        } else {
            Cow::Borrowed(bytes)
        };
        found.push((section.svma, bytes));
    }
    if found.is_empty() {
        found.extend(by_segment(elf).map(|(svma, bytes)| (svma, Cow::Borrowed(bytes))));
    }
    found
}

/// First addresses of all entries, where the extent of the code is not known yet.
pub(crate) fn starts(elf: &Elf<'_>) -> Vec<u64> {
    let mut found = Vec::new();
    // `read` goes through them again, and reports the faults.
    let mut faults = Vec::new();
    for (svma, bytes) in unwind_sections(elf) {
        let ranges = eh_frame(&bytes, svma, elf.arch, &mut faults);
        found.extend(ranges.iter().flatten().map(|description| description.extent.start.0));
    }
    found
}

/// Reads the ranges of all entries that are in code, and where their exception tables are.
pub(crate) fn read(
    elf: &Elf<'_>,
    debug_file: Option<&[u8]>,
    code: &[Code<'_>],
    ranges: &CodeRanges,
) -> (Vec<FrameRange>, Vec<Table>, Vec<String>) {
    let mut faults = Vec::new();
    let mut frames: Vec<FrameRange> = Vec::new();
    let mut tables = Vec::new();
    let plt: Vec<Extent> =
        code.iter().filter(|code| code.name.contains("plt")).map(|code| code.extent).collect();
    let add = |frames: &mut Vec<FrameRange>, extent: Extent, is_part: bool| {
        let Some(code) = ranges.extent_of(extent.start.0).filter(|_| !extent.is_empty()) else { return };
        // The linker's own entry for a procedure linkage table begins after a push.
        let is_part = is_part && !plt.iter().any(|plt| plt.contains(extent.start));
        frames.push(FrameRange { extent: Extent { end: extent.end.min(code.end), ..extent }, is_part });
    };
    for (svma, bytes) in unwind_sections(elf) {
        let found = eh_frame(&bytes, svma, elf.arch, &mut faults);
        frames.reserve(found.iter().map(Vec::len).sum());
        for Description { extent, is_part, table } in found.into_iter().flatten() {
            add(&mut frames, extent, is_part);
            tables.extend(table.map(|at| Table { function: extent, at }));
        }
    }
    if frames.is_empty() {
        let other = debug_file
            .and_then(|bytes| Elf::parse(bytes).ok())
            .filter(|other| other.arch == elf.arch && other.kind != Kind::Relocatable);
        for file in [Some(elf), other.as_ref()].into_iter().flatten() {
            let mut add = |extent: Extent, is_part: bool| {
                let Some(code) = ranges.extent_of(extent.start.0).filter(|_| !extent.is_empty()) else {
                    return;
                };
                frames
                    .push(FrameRange { extent: Extent { end: extent.end.min(code.end), ..extent }, is_part });
            };
            let Some(bytes) = DebugSection::find(file, ".debug_frame", DEBUG_FRAME_LIMIT) else { continue };
            let mut section = DebugFrame::new(&bytes, LittleEndian);
            section.set_address_size(8);
            section.set_vendor(vendor(elf.arch));
            let offsets = description_offsets(&bytes, 0xffff_ffff, ".debug_frame", &mut faults);
            for Description { extent, is_part, .. } in
                entries(&section, &BaseAddresses::default(), (".debug_frame", &offsets), &mut faults)
                    .into_iter()
                    .flatten()
            {
                add(extent, is_part);
            }
            if !frames.is_empty() {
                break;
            }
        }
    }
    sort_by_address_and_self(&mut frames, |frame| frame.extent.start);
    frames.dedup_by_key(|frame| frame.extent);
    frames.shrink_to_fit();
    (frames, tables, faults)
}
