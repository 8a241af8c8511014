//! Which instructions refer to given places in data.
//!
//! In: ranges of addresses. Out: each instruction that makes or accesses an address in one of them. The sweep does not
//! record these, since nearly every function refers to data and few places are ever asked for: here the encoded
//! displacements are compared first, and only functions with a likely one are decoded.

use super::World;
use crate::address::{Extent, Svma};
use crate::function::Function;
use crate::image::{Image, Kind};
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
    let mut likely: Vec<CodeOffset> = image
        .code
        .par_iter()
        .flat_map_iter(|code| {
            code.bytes.chunks(CHUNK).zip((0..).step_by(CHUNK)).map(move |(_, from)| (code, from))
        })
        .flat_map_iter(|(code, from)| {
            let until = (from + CHUNK + 8).min(code.bytes.len());
            let bytes = code.bytes.get(from..until).unwrap_or_default();
            let start = code.extent.start.offset(from as i64);
            match image.arch {
                Arch::X86_64 => likely_x86_64(image, bytes, start, &is_wanted),
                Arch::Aarch64 => likely_aarch64(bytes, start, &ranges),
            }
        })
        .filter_map(|svma| image.code_offset(svma))
        .collect();
    likely.par_sort_unstable();
    let mut functions: Vec<Function> =
        likely.iter().filter_map(|&at| world.program.function_at(at).copied()).collect();
    functions.dedup();
    let mut found: Vec<DataReference> =
        functions.par_iter().flat_map_iter(|function| references_of(image, function, &is_wanted)).collect();
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

/// Places that may be inside an instruction with a wanted address: a ModRM byte for an address relative to the
/// instruction pointer, with a displacement that fits; in code at a fixed place also the address itself.
fn likely_x86_64(
    image: &Image<'_>,
    bytes: &[u8],
    start: Svma,
    is_wanted: &impl Fn(Svma) -> bool,
) -> Vec<Svma> {
    let is_fixed = is_fixed(image);
    let mut found = Vec::new();
    for (at, window) in bytes.windows(5).enumerate() {
        let &[before, a, b, c, d] = window else { continue };
        let displacement = i32::from_le_bytes([a, b, c, d]);
        let here = || start.offset(at as i64 + 1);
        if before & 0xc7 == 0x05 {
            let next = here().offset(4 + i64::from(displacement));
            // After the displacement an immediate of 0, 1, 2 or 4 bytes may stand.
            if [0, 1, 2, 4].into_iter().any(|imm| is_wanted(next.offset(imm))) {
                found.push(here());
            }
        }
        if is_fixed && displacement > 0 && is_wanted(Svma(displacement as u64)) {
            found.push(here());
        }
    }
    found
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

/// The references of one function.
fn references_of(
    image: &Image<'_>,
    function: &Function,
    is_wanted: &impl Fn(Svma) -> bool,
) -> Vec<DataReference> {
    let extent = function.extent(image);
    let mut found = Vec::new();
    let Some(code) = image.bytes_at(extent.start) else { return found };
    let mut at = extent.start;
    // AArch64 makes an address in two steps.
    let mut pages: BTreeMap<Reg, i64> = BTreeMap::new();
    while at < extent.end {
        let rest = at.since(extent.start).and_then(|from| code.get(usize::try_from(from).ok()?..));
        let Some(rest) = rest.filter(|rest| !rest.is_empty()) else { break };
        let Some(insn) = insn::decode(image.arch, rest, at) else {
            at = at.offset(if image.arch == Arch::Aarch64 { 4 } else { 1 });
            continue;
        };
        at = insn.next();
        if let Some((to, access)) = reference(&insn, &pages)
            && is_wanted(to)
        {
            found.push(DataReference { to, from: insn.svma, access });
        }
        if image.arch == Arch::Aarch64 {
            follow(&insn, &mut pages);
        }
    }
    found
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
