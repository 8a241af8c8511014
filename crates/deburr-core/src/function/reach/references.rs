//! Which instructions refer to given places in data.
//!
//! In: ranges of addresses. Out: each instruction that makes or accesses an address in one of them. The sweep does not
//! record these, since nearly every function refers to data and few places are ever asked for: here the encoded
//! displacements are compared first, and only functions with a likely one are decoded.

use super::World;
use crate::address::{Extent, Svma};
use crate::function::Function;
use crate::image::{Image, Kind, Linkage};
use crate::insn::sweep::CodeOffset;
use crate::insn::{self, Class, Insn, Operation, Reg};
use deburr_cpu::Arch;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// How an instruction refers to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Access {
    /// Makes its address.
    Address,
    /// Reads it.
    Read,
    /// Writes it, or reads and writes it.
    Write,
    /// Calls or jumps to what it holds.
    Call,
}

/// A reference from code to data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DataReference {
    /// The place.
    pub to: Svma,
    /// The instruction.
    pub from: Svma,
    /// What it does there.
    pub access: Access,
}

/// Bytes of code that one thread looks through at a time.
const CHUNK: usize = 1 << 20;

/// Finds the references to places in the given ranges, sorted by place.
pub(super) fn references_to(world: &World<'_, '_>, ranges: &[Extent]) -> Vec<DataReference> {
    let ranges = merged(ranges);
    let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return Vec::new() };
    let whole = Extent { start: first.start, end: last.end };
    let is_wanted = |svma: Svma| {
        whole.contains(svma) && {
            let after = ranges.partition_point(|range| range.start <= svma);
            after.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|range| range.contains(svma))
        }
    };
    let image = world.image;
    let mut likely: Vec<CodeOffset> = match image.arch {
        Arch::X86_64 => {
            let index = world.displacements.get_or_init(|| Displacements::of(image, world.linkage));
            let relative = ranges.par_iter().flat_map_iter(|range| index.near(*range));
            if is_fixed(image) {
                relative.chain(absolute(image, whole, &is_wanted)).collect()
            } else {
                relative.collect()
            }
        }
        Arch::Aarch64 => {
            let places = chunks(image).flat_map_iter(|(bytes, start)| likely_aarch64(bytes, start, &ranges));
            places.filter_map(|svma| image.code_offset(svma)).collect()
        }
    };
    likely.par_sort_unstable();
    likely.dedup();
    let mut by_function: BTreeMap<CodeOffset, (Function, Vec<Svma>)> = BTreeMap::new();
    for at in likely {
        if let Some(function) = world.program.function_at(at) {
            let (_, places) = by_function.entry(function.start).or_insert((*function, Vec::new()));
            places.push(image.svma(at));
        }
    }
    let functions: Vec<(Function, Vec<Svma>)> = by_function.into_values().collect();
    let mut found: Vec<DataReference> = functions
        .par_iter()
        .flat_map_iter(|(function, places)| references_of(image, function, places, &is_wanted))
        .collect();
    found.par_sort_unstable();
    found.dedup();
    found
}

/// Whether the file is loaded where it says and so low that instructions hold whole addresses.
pub(super) fn is_fixed(image: &Image<'_>) -> bool {
    /// Position-independent files begin at 0; linkers place others here or higher.
    const LOWEST: u64 = 0x1_0000;
    image.arch == Arch::X86_64
        && image.kind == Kind::Executable
        && (LOWEST..1 << 31).contains(&image.code_base.0)
}

fn merged(ranges: &[Extent]) -> Vec<Extent> {
    let mut sorted: Vec<Extent> = ranges.iter().copied().filter(|range| !range.is_empty()).collect();
    sorted.sort_unstable();
    let mut merged: Vec<Extent> = Vec::new();
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// The code in pieces, each with where it begins; a piece reaches a little into the next.
fn chunks<'a>(image: &'a Image<'_>) -> impl ParallelIterator<Item = (&'a [u8], Svma)> {
    image.code.par_iter().flat_map_iter(|code| {
        (0..code.bytes.len()).step_by(CHUNK).map(|from| {
            let until = from.saturating_add(CHUNK + 8).min(code.bytes.len());
            (code.bytes.get(from..until).unwrap_or_default(), code.extent.start.offset(from as i64))
        })
    })
}

/// Four bytes of code at a fixed place that may be a wanted address as it is.
fn absolute<'a>(
    image: &'a Image<'_>,
    whole: Extent,
    is_wanted: &'a (impl Fn(Svma) -> bool + Sync),
) -> impl ParallelIterator<Item = CodeOffset> {
    let places = chunks(image).flat_map_iter(move |(bytes, start)| {
        let values = bytes.windows(4).map(|window| <[u8; 4]>::try_from(window).map_or(0, u32::from_le_bytes));
        let places = values.zip((0i64..).map(move |at| start.offset(at)));
        places.filter(move |&(value, _)| whole.contains(Svma(value.into())) && is_wanted(Svma(value.into())))
    });
    places.filter_map(|(_, place)| image.code_offset(place))
}

/// What four bytes after a ModRM byte for an address relative to the instruction pointer would refer to: candidates,
/// since nothing says where instructions begin.
#[derive(Debug, Default)]
pub(super) struct Displacements {
    /// The address, but for the length of an immediate after the displacement, and where the bytes stand; sorted.
    by_target: Vec<(Svma, CodeOffset)>,
}

impl Displacements {
    /// Collects those that lead into the file.
    fn of(image: &Image<'_>, linkage: &Linkage<'_>) -> Displacements {
        let code = image.code.iter().map(|code| code.extent);
        let extents: Vec<Extent> = linkage.data.iter().map(|data| data.extent).chain(code).collect();
        let start = extents.iter().map(|extent| extent.start).min().unwrap_or(Svma(0));
        let file = Extent { start, end: extents.iter().map(|extent| extent.end).max().unwrap_or(start) };
        let places = chunks(image).flat_map_iter(|(bytes, start)| {
            let is_before = |&(_, before): &(usize, &u8)| before & 0xc7 == 0x05;
            bytes.iter().enumerate().filter(is_before).filter_map(move |(at, _)| {
                let displacement = bytes.get(at + 1..)?.first_chunk::<4>()?;
                let here = start.offset(at as i64 + 1);
                let target = here.offset(4 + i64::from(i32::from_le_bytes(*displacement)));
                file.contains(target).then_some((target, here))
            })
        });
        let mut by_target: Vec<(Svma, CodeOffset)> =
            places.filter_map(|(target, here)| Some((target, image.code_offset(here)?))).collect();
        by_target.par_sort_unstable();
        Displacements { by_target }
    }

    /// Where those stand that may refer to a range.
    fn near(&self, range: Extent) -> impl Iterator<Item = CodeOffset> {
        /// Bytes of an immediate after the displacement at most.
        const IMMEDIATE: u64 = 4;
        let first =
            self.by_target.partition_point(|place| place.0.0.saturating_add(IMMEDIATE) < range.start.0);
        let rest = self.by_target.get(first..).unwrap_or_default();
        rest.iter().take_while(move |place| place.0 < range.end).map(|place| place.1)
    }
}

/// `adrp` and `adr` of a page that has wanted places.
fn likely_aarch64(bytes: &[u8], start: Svma, ranges: &[Extent]) -> Vec<Svma> {
    let (words, _) = bytes.as_chunks::<4>();
    let mut found = Vec::new();
    for (word, at) in words.iter().zip((0i64..).step_by(4)) {
        let word = u32::from_le_bytes(*word);
        let is_page = word & 0x9f00_0000 == 0x9000_0000; // adrp
        let is_near = word & 0x9f00_0000 == 0x1000_0000 || word & 0x3b00_0000 == 0x1800_0000; // adr, ldr (literal)
        if !is_page && !is_near {
            continue;
        }
        let here = start.offset(at);
        let page = if is_page {
            let imm = (word >> 5 & 0x7_ffff) << 2 | word >> 29 & 3;
            let imm = i64::from((imm << 11) as i32 >> 11) << 12;
            Extent::sized(Svma(here.0 & !0xfff).offset(imm), 0x1_0000)
        } else {
            Extent { start: here.offset(-(1 << 20)), end: here.offset(1 << 20) }
        };
        let after = ranges.partition_point(|range| range.end <= page.start);
        if ranges.get(after).is_some_and(|range| range.start < page.end) {
            found.push(here);
        }
    }
    found
}

/// The references of one function that has some likely ones.
fn references_of(
    image: &Image<'_>,
    function: &Function,
    likely: &[Svma],
    is_wanted: &impl Fn(Svma) -> bool,
) -> Vec<DataReference> {
    let extent = function.extent(image);
    let length = usize::try_from(extent.len()).unwrap_or(usize::MAX);
    let code = image.bytes_at(extent.start).unwrap_or_default();
    let code = code.get(..length).unwrap_or(code);
    let is_x86 = image.arch == Arch::X86_64;
    let insns = match image.arch {
        Arch::X86_64 => insn::x86_64::decode_holding(code, extent.start, likely),
        Arch::Aarch64 => decode_from(code, extent.start, likely.first().copied().unwrap_or(extent.end)),
    };
    let mut found = Vec::new();
    // AArch64 makes an address in two steps.
    let mut pages: BTreeMap<Reg, i64> = BTreeMap::new();
    for insn in &insns {
        if let Some((to, access)) = reference(insn, &pages)
            && is_wanted(to)
        {
            found.push(DataReference { to, from: insn.svma, access });
        }
        if !is_x86 {
            follow(insn, &mut pages);
        }
    }
    found
}

/// Decodes AArch64 code that begins at `start`, from an address on.
fn decode_from(code: &[u8], start: Svma, from: Svma) -> Vec<Insn> {
    let skipped = from.since(start).and_then(|from| usize::try_from(from / 4).ok()).unwrap_or(usize::MAX);
    let (words, _) = code.as_chunks::<4>();
    let places = (0i64..).step_by(4).map(|at| start.offset(at));
    let words = words.iter().zip(places).skip(skipped);
    words.filter_map(|(word, svma)| insn::decode(Arch::Aarch64, word, svma)).collect()
}

/// The place that an instruction refers to.
fn reference(insn: &Insn, pages: &BTreeMap<Reg, i64>) -> Option<(Svma, Access)> {
    if let Some(memory) = insn.memory {
        let base = memory.base.and_then(|base| pages.get(&base)).copied();
        let at = match (memory.is_static, base) {
            (true, _) => memory.displacement,
            (false, Some(base)) if memory.index.is_none() => base.wrapping_add(memory.displacement),
            _ if memory.base.is_none() => memory.displacement,
            // A table at a fixed place, indexed.
            _ if memory.displacement > 0x1000 => memory.displacement,
            _ => return None,
        };
        let access = match (insn.flow, memory.write, memory.read) {
            (crate::insn::Flow::IndirectCall | crate::insn::Flow::IndirectJump, ..) => Access::Call,
            (_, true, _) => Access::Write,
            (_, false, true) => Access::Read,
            _ => Access::Address,
        };
        return Some((Svma(at as u64), access));
    }
    match insn.operation {
        Operation::Address => Some((Svma(insn.imm? as u64), Access::Address)),
        Operation::Add => {
            let base = pages.get(&insn.src[0]?)?;
            Some((Svma(base.wrapping_add(insn.imm?) as u64), Access::Address))
        }
        Operation::Move | Operation::Push | Operation::Compare => {
            Some((Svma(insn.imm? as u64), Access::Address))
        }
        _ if insn.class == Class::Store => Some((Svma(insn.imm? as u64), Access::Address)),
        _ => None,
    }
}

/// Follows the addresses that `adrp` and `add` make.
fn follow(insn: &Insn, pages: &mut BTreeMap<Reg, i64>) {
    let Some(dst) = insn.dst else { return };
    let made = match insn.operation {
        Operation::Address => insn.imm,
        Operation::Add => {
            insn.src[0].and_then(|base| pages.get(&base)).zip(insn.imm).map(|(base, imm)| base + imm)
        }
        Operation::Move => insn.src[0].and_then(|from| pages.get(&from)).copied(),
        _ => None,
    };
    match made {
        Some(made) => drop(pages.insert(dst, made)),
        None => drop(pages.remove(&dst)),
    }
}
