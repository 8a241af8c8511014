//! Which instructions refer to given places in data.
//!
//! In: ranges of addresses. Out: each instruction that makes or accesses an address in one of them. The sweep does not
//! record these, since nearly every function refers to data and few places are ever requested. [`Candidates`] has the
//! places in code whose bytes may refer to data, by the data; only those that may refer to what is requested are
//! decoded.

use crate::address::CodeOffset;
use crate::address::{Extent, Svma};
use crate::function::reach::file::grouped::{Grouped, Groups};
use crate::function::reach::file::pc_relative::{adr, literal, literal_of, relative_to_itself};
use crate::function::{Function, Program};
use crate::image::linkage::ReferenceTarget;
use crate::image::{Image, Kind, Linkage};
use crate::insn::aarch64::adrp_page;
use crate::insn::{self, Class, Insn, Modifier, Operation, Reg};
use deburr_cpu::Arch;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, OnceLock, PoisonError};

/// How an instruction refers to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
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
pub(crate) struct DataReference {
    /// The place.
    pub to: Svma,
    /// The instruction.
    pub from: Svma,
    /// What it does there.
    pub access: Access,
}

/// Bytes of code that one thread searches at a time.
const CHUNK: usize = 1 << 20;

/// What was found so far.
#[derive(Debug, Default)]
struct Found {
    /// The requested ranges.
    searched: BTreeSet<Extent>,
    /// The references to places in them, sorted: each once, however many ranges it is in.
    references: Vec<DataReference>,
}

/// Which code refers to which data, as far as it was requested.
#[derive(Debug, Default)]
pub(crate) struct References {
    /// Which code may refer to data, from the first request on.
    candidates: OnceLock<Candidates>,
    found: Mutex<Found>,
}

impl References {
    /// Finds the references to places in the given ranges, sorted by place.
    pub(crate) fn to(
        &self,
        file: (&Image<'_>, &Linkage<'_>, &Program),
        ranges: &[Extent],
    ) -> Vec<DataReference> {
        let requested: BTreeSet<Extent> = ranges.iter().copied().filter(|range| !range.is_empty()).collect();
        // Threads that search for references work elsewhere meanwhile: they must not hold a lock.
        let found = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let new: BTreeSet<Extent> = requested.difference(&found().searched).copied().collect();
        if !new.is_empty() {
            let references = self.search(file, &merged(&new));
            let mut found = found();
            found.searched.extend(new);
            found.references.extend(references);
            // Stable, because it is quick on two sorted runs.
            found.references.sort();
            found.references.dedup();
        }
        let found = found();
        let start = |at: Svma| found.references.partition_point(|reference| reference.to < at);
        let here =
            |range: Extent| found.references.get(start(range.start)..start(range.end)).unwrap_or_default();
        merged(&requested).into_iter().flat_map(here).copied().collect()
    }

    /// Searches for the references to places in some ranges, sorted and disjoint.
    fn search(
        &self,
        (image, linkage, program): (&Image<'_>, &Linkage<'_>, &Program),
        ranges: &[Extent],
    ) -> Vec<DataReference> {
        let is_wanted = |svma: Svma| overlaps(ranges, Extent::sized(svma, 1));
        let candidates = self.candidates.get_or_init(|| Candidates::of(image, linkage, program));
        let likely = candidates.near(image, linkage, ranges);
        decoded(image, program, likely, &is_wanted)
    }
}

/// Finds the references to places in some ranges, sorted and disjoint, by one pass over all code: for places that
/// nothing else requests, constants among them. In relocatable objects the relocations show them.
pub(crate) fn search_once(
    image: &Image<'_>,
    linkage: &Linkage<'_>,
    program: &Program,
    ranges: &[Extent],
) -> Vec<DataReference> {
    let is_wanted = |svma: Svma| overlaps(ranges, Extent::sized(svma, 1));
    if image.kind == Kind::Relocatable {
        let here = linkage.references.iter().filter_map(|reference| match reference.to {
            ReferenceTarget::Here(to) if is_wanted(to) => {
                Some(DataReference { to, from: reference.at, access: Access::Address })
            }
            _ => None,
        });
        return here.collect();
    }
    let is_fixed = is_fixed(image, linkage);
    let start = ranges.first().map_or(Svma(0), |range| range.start);
    let range = Extent { start, end: ranges.last().map_or(start, |range| range.end) };
    let likely = chunks(image).flat_map_iter(|(bytes, start)| {
        let mut likely = Vec::new();
        let first = image.code_offset(start).unwrap_or_default();
        let mut note = |at: u32, to: Svma, beyond: u64| {
            // The first test is the cheaper one, and settles nearly all.
            let to = Extent::sized(to, beyond);
            if to.overlaps(range) && overlaps(ranges, to) {
                likely.push(first.saturating_add(at));
            }
        };
        match image.arch {
            Arch::X86_64 => relative(bytes, start, &mut |at, to| note(at, to, IMMEDIATE + 1)),
            Arch::Aarch64 => {
                let is_near = |reached: Extent| reached.overlaps(range);
                pages(image, bytes, start, is_near, &mut |at, to, is_exact| {
                    note(at, to, if is_exact { 1 } else { BEYOND_PAGE });
                });
            }
        }
        if is_fixed {
            absolute(bytes, range, &mut |at, to| note(at, to, 1));
        }
        likely
    });
    let likely = likely.filter(|&at| image.arch != Arch::Aarch64 || may_reach(image, at, ranges));
    decoded(image, program, likely.collect(), &is_wanted)
}

/// The references of code to places that are wanted, by decoding it around the places that may refer to them.
fn decoded(
    image: &Image<'_>,
    program: &Program,
    mut likely: Vec<CodeOffset>,
    is_wanted: &(impl Fn(Svma) -> bool + Sync),
) -> Vec<DataReference> {
    likely.par_sort_unstable();
    likely.dedup();
    let mut by_function: BTreeMap<CodeOffset, (Function, Vec<Svma>)> = BTreeMap::new();
    for at in likely {
        if let Some(function) = program.function_at(at) {
            let (_, places) = by_function.entry(function.start).or_insert((*function, Vec::new()));
            places.push(image.svma(at));
        }
    }
    let functions: Vec<(Function, Vec<Svma>)> = by_function.into_values().collect();
    let mut found: Vec<DataReference> = functions
        .par_iter()
        .flat_map_iter(|(function, places)| references_of(image, function, places, is_wanted))
        .collect();
    found.par_sort_unstable();
    found.dedup();
    found
}

/// Whether instructions may hold whole addresses: those of a file at a fixed place, unless Go's compiler made them all.
pub(crate) fn is_fixed(image: &Image<'_>, linkage: &Linkage<'_>) -> bool {
    let is_go = image.build.is_go && image.build.compilers.is_empty();
    image.arch == Arch::X86_64 && linkage.is_fixed && !is_go
}

fn merged(ranges: &BTreeSet<Extent>) -> Vec<Extent> {
    let mut merged: Vec<Extent> = Vec::new();
    for &range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// The code in pieces, each with where it begins; a piece reaches a little into the next.
fn chunks<'a>(image: &'a Image<'_>) -> impl ParallelIterator<Item = (&'a [u8], Svma)> {
    image.code.par_iter().flat_map(|code| {
        (0..code.bytes.len()).into_par_iter().step_by(CHUNK).map(|from| {
            let until = from.saturating_add(CHUNK + 8).min(code.bytes.len());
            (code.bytes.get(from..until).unwrap_or_default(), code.extent.start.offset(from as i64))
        })
    })
}

/// Places in code that may refer to data, by the data. Of x86-64 these are four bytes that may be the displacement or
/// the address in an instruction (nothing says where instructions begin). Of AArch64 they are `adrp`, `adr` and literal
/// loads.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// By what they refer to, without how far beyond that they may reach.
    near: Index,
    /// Of AArch64 those that load from one place and lose the page: most are loads of pointers, from few pages.
    exact: Index,
}

/// Places in code by the group of addresses that they refer to.
#[derive(Debug, Default)]
struct Index {
    groups: Groups,
    places: Grouped<CodeOffset>,
}

impl Index {
    fn of(groups: Groups, count: usize, found: impl Iterator<Item = Candidate> + Clone) -> Index {
        let places = found.map(|candidate| (groups.of(candidate.to), candidate.at));
        Index { groups, places: Grouped::of(count, places) }
    }

    /// Those that refer to one of some ranges, or to some bytes before.
    fn within<'i>(&'i self, ranges: &[Extent], before: u64) -> Vec<&'i [CodeOffset]> {
        let mut found = Vec::new();
        let mut next = 0;
        for range in ranges {
            let last = self.groups.of(range.end.offset(-1));
            let first = self.groups.of(Svma(range.start.0.saturating_sub(before))).max(next);
            if first <= last {
                found.push(self.places.within(first..=last));
            }
            next = next.max(last.saturating_add(1));
        }
        found
    }
}

/// A place in code that may refer to data.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    at: CodeOffset,
    to: Svma,
    /// Whether it refers to nothing but that address.
    is_exact: bool,
}

/// Bytes from the page of an `adrp` on that code reaches from there: the page, and structures that begin in it.
const BEYOND_PAGE: u64 = 0x2000;
/// Maximum of bytes of an immediate after a displacement, which counts from the instruction's end.
const IMMEDIATE: u64 = 4;
/// Bytes of the widest register.
const WIDEST: u64 = 16;

impl Candidates {
    /// Collects those that lead to what can change, to what the loader fills in, to pointers, or, where instructions
    /// hold whole addresses, to functions.
    fn of(image: &Image<'_>, linkage: &Linkage<'_>, program: &Program) -> Candidates {
        let wanted = Wanted::of(image, linkage, program);
        let found: Vec<Vec<Candidate>> = chunks(image)
            .map(|(bytes, start)| {
                let mut found = Vec::new();
                let first = image.code_offset(start).unwrap_or_default();
                let mut note = |at: u32, to: Svma, is_exact: bool| {
                    let candidate = Candidate { at: first.saturating_add(at), to, is_exact };
                    found.extend(wanted.contains(to).then_some(candidate));
                };
                match image.arch {
                    Arch::X86_64 => relative(bytes, start, &mut |at, to| note(at, to, false)),
                    Arch::Aarch64 => pages(image, bytes, start, |_| true, &mut note),
                }
                if is_fixed(image, linkage) {
                    absolute(bytes, wanted.range, &mut |at, to| note(at, to, false));
                }
                found
            })
            .collect();
        let found = |is_exact: bool| {
            found.iter().flatten().copied().filter(move |candidate| candidate.is_exact == is_exact)
        };
        let small = Groups::over(wanted.range, Wanted::PARTS);
        let count = if found(true).next().is_some() { small.of(wanted.range.end) + 1 } else { 0 };
        let near = Index::of(wanted.groups, wanted.parts.len(), found(false));
        Candidates { near, exact: Index::of(small, count, found(true)) }
    }

    /// Those that may refer to one of some ranges, sorted and disjoint.
    fn near(&self, image: &Image<'_>, linkage: &Linkage<'_>, ranges: &[Extent]) -> Vec<CodeOffset> {
        let before = match image.arch {
            Arch::X86_64 => IMMEDIATE,
            Arch::Aarch64 => BEYOND_PAGE,
        };
        let mut near = self.near.within(ranges, before);
        near.extend(self.exact.within(ranges, WIDEST));
        // Of a group few places matter.
        let is_fixed = is_fixed(image, linkage);
        let matters = |at: &CodeOffset| match image.arch {
            Arch::X86_64 => may_refer(image, *at, is_fixed, ranges),
            Arch::Aarch64 => may_reach(image, *at, ranges),
        };
        near.par_iter().flat_map(|places| places.par_iter().copied().filter(matters)).collect()
    }
}

/// Whether four bytes of x86-64 code refer to one of some ranges, taken for a displacement or for an address.
fn may_refer(image: &Image<'_>, at: CodeOffset, is_fixed: bool, ranges: &[Extent]) -> bool {
    let here = image.svma(at);
    let Some(bytes) = image.bytes_at(here).and_then(<[u8]>::first_chunk::<4>) else { return false };
    let is_near = |from: Svma, beyond: u64| overlaps(ranges, Extent::sized(from, beyond + 1));
    is_near(here.offset(4 + i64::from(i32::from_le_bytes(*bytes))), IMMEDIATE)
        || is_fixed && is_near(Svma(u32::from_le_bytes(*bytes).into()), 0)
}

/// Whether one of some sorted ranges shares bytes with another.
fn overlaps(ranges: &[Extent], other: Extent) -> bool {
    let after = ranges.partition_point(|range| range.end <= other.start);
    ranges.get(after).is_some_and(|range| range.start < other.end)
}

/// Whether code that begins with an `adrp`, or that is another reference of AArch64, may refer to one of some ranges.
/// What is made of the page is followed in order of address, as far as single instructions show it without being
/// decoded.
fn may_reach(image: &Image<'_>, at: CodeOffset, ranges: &[Extent]) -> bool {
    /// Maximum of instructions that are followed.
    const NEAR: usize = 48;
    /// Bytes before and after an address that a structure there has.
    const STRUCTURE: (i64, i64) = (256, 0x1000);
    /// The last register that a callee may change.
    const CLOBBERED: u32 = 18;
    let here = image.svma(at);
    let Some((words, _)) = image.bytes_at(here).map(<[u8]>::as_chunks::<4>) else { return false };
    let mut words = words.iter().map(|word| u32::from_le_bytes(*word));
    let Some(first) = words.next() else { return false };
    let Some(page) = adrp_page(first, here) else { return true };
    let register = first & 31;
    let structure =
        |place: Svma| Extent { start: place.offset(-STRUCTURE.0), end: place.offset(STRUCTURE.1) };
    // What the register holds, and what code may reach from there by instructions that are not distinguished here.
    let (mut base, mut beyond) = (page, Extent::sized(page, BEYOND_PAGE));
    for word in words.take(NEAR) {
        let [dst, src, second] = [0, 5, 16].map(|field| word >> field & 31 == register);
        let immediate = i64::from(word >> 10 & 0xfff);
        let is_replaced = match word {
            _ if word & 0x3b00_0000 == 0x3900_0000 => {
                // Loads and stores of [register, immediate].
                let (is_vector, is_store) = (word & 1 << 26 != 0, word & 0x00c0_0000 == 0);
                let scale = if is_vector && word & 0x0080_0000 != 0 { 4 } else { word >> 30 };
                if src && overlaps(ranges, Extent::sized(base.offset(immediate << scale), WIDEST)) {
                    return true;
                }
                dst && !is_store && !is_vector
            }
            // add
            _ if word & 0xffc0_0000 == 0x9100_0000 && src => {
                let place = base.offset(immediate);
                let reached = if dst { Extent::sized(place, 1) } else { structure(place) };
                if overlaps(ranges, reached) {
                    return true;
                }
                if dst {
                    (base, beyond) = (place, structure(place));
                }
                false
            }
            // b, b.cond; cbz, tbz.
            _ if word & 0xfc00_0000 == 0x1400_0000 || word & 0xff00_0000 == 0x5400_0000 => false,
            _ if word & 0x7c00_0000 == 0x3400_0000 => false,
            // bl, blr.
            _ if word & 0xfc00_0000 == 0x9400_0000 || word & 0xffff_fc1f == 0xd63f_0000 => {
                register <= CLOBBERED
            }
            // adr, adrp; movz, movn, movk.
            _ if word & 0x1f00_0000 == 0x1000_0000 || word & 0x1f80_0000 == 0x1280_0000 => dst,
            // Arithmetic with immediates.
            _ if word & 0x1c00_0000 == 0x1000_0000 && !src => dst,
            // Arithmetic with registers.
            _ if word & 0x0e00_0000 == 0x0a00_0000 && !src && !second => dst,
            _ if dst || src || second => return overlaps(ranges, beyond),
            _ => false,
        };
        if is_replaced {
            return false;
        }
    }
    overlaps(ranges, beyond)
}

/// The addresses that references to are searched for.
struct Wanted {
    /// Where all of them are.
    range: Extent,
    groups: Groups,
    /// By group, which of its parts are of interest.
    parts: Vec<u64>,
}

impl Wanted {
    /// Parts of a group, as a power of two: bytes, where groups are smallest.
    const PARTS: u32 = u64::BITS.ilog2();

    fn of(image: &Image<'_>, linkage: &Linkage<'_>, program: &Program) -> Wanted {
        let changing = linkage.data.iter().filter(|data| !data.is_constant).map(|data| data.extent);
        let imported = linkage.imports.iter().map(|import| import.at);
        let resolved = linkage.resolved.iter().map(|cell| cell.at);
        let cells = linkage.cells.iter().map(|cell| cell.at).chain(resolved).chain(imported);
        let data = || changing.clone().chain(cells.clone().map(|at| Extent::sized(at, 8)));
        let functions = program.functions().iter().filter(|_| is_fixed(image, linkage));
        let entries = functions.map(|function| image.svma(function.start));
        let places = || data().chain(entries.clone().map(|start| Extent::sized(start, 1)));
        let start = places().map(|place| place.start).min().unwrap_or(Svma(0));
        let end = places().map(|place| place.end).max().unwrap_or(start);
        let least_bits = match image.arch {
            Arch::X86_64 => Wanted::PARTS,
            // What an `adrp` names.
            Arch::Aarch64 => 12,
        };
        let range = Extent { start, end };
        let groups = Groups::over(range, least_bits);
        let mut parts = vec![0; groups.of(end) + 1];
        for place in data() {
            let range = groups.of(place.start)..=groups.of(place.end.offset(-1));
            parts.get_mut(range).into_iter().flatten().for_each(|parts| *parts = u64::MAX);
        }
        for start in entries {
            if let Some(parts) = parts.get_mut(groups.of(start)) {
                *parts |= 1 << Wanted::part(groups, start);
            }
        }
        Wanted { range, groups, parts }
    }

    /// The part of its group that an address is in.
    fn part(groups: Groups, at: Svma) -> u32 {
        (at.0 >> (groups.bits - Wanted::PARTS)) as u32 % u64::BITS
    }

    /// Whether an address is of interest.
    fn contains(&self, at: Svma) -> bool {
        let parts = (at.0 >= self.groups.base).then(|| self.parts.get(self.groups.of(at))).flatten();
        parts.is_some_and(|parts| parts >> Wanted::part(self.groups, at) & 1 != 0)
    }
}

/// What four bytes after a ModRM byte for an address relative to the instruction pointer would refer to, without the
/// length of an immediate after them.
fn relative(bytes: &[u8], start: Svma, note: &mut impl FnMut(u32, Svma)) {
    /// The same byte eight times.
    const EACH: u64 = 0x0101_0101_0101_0101;
    let mut note_after = |before: u32| {
        let at = before + 1;
        let bytes = bytes.get(at as usize..).and_then(<[u8]>::first_chunk::<4>);
        if let Some(displacement) = bytes {
            let displacement = i64::from(i32::from_le_bytes(*displacement));
            note(at, start.offset(i64::from(at) + 4 + displacement));
        }
    };
    let (groups, rest) = bytes.as_chunks::<8>();
    for (first, group) in (0..).step_by(8).zip(groups) {
        // Zero where a byte is such a ModRM byte; then the highest bit of each byte shows it.
        let other = u64::from_le_bytes(*group) & (0xc7 * EACH) ^ (0x05 * EACH);
        let mut hits = !(((other & (0x7f * EACH)) + 0x7f * EACH) | other) & (0x80 * EACH);
        while hits != 0 {
            note_after(first + hits.trailing_zeros() / 8);
            hits &= hits - 1;
        }
    }
    for (at, _) in ((groups.len() as u32 * 8)..).zip(rest).filter(|&(_, byte)| byte & 0xc7 == 0x05) {
        note_after(at);
    }
}

/// Four bytes that may be an address in a range, as it is.
fn absolute(bytes: &[u8], range: Extent, note: &mut impl FnMut(u32, Svma)) {
    let Ok(start) = u32::try_from(range.start.0) else { return };
    let length = u32::try_from(range.len()).unwrap_or(u32::MAX);
    for (at, value) in (0..).zip(bytes.windows(4).filter_map(<[u8]>::first_chunk)) {
        let value = u32::from_le_bytes(*value);
        if value.wrapping_sub(start) < length {
            note(at, Svma(value.into()));
        }
    }
}

/// What `adrp`, `adr` and literal loads refer to, and whether to that alone: of an `adrp` mostly the page. A literal
/// that holds a distance from itself refers to what is there.
/// `is_near`: whether what an `adrp` names, or what is loaded from there, is of interest.
fn pages(
    image: &Image<'_>,
    bytes: &[u8],
    start: Svma,
    is_near: impl Fn(Extent) -> bool,
    note: &mut impl FnMut(u32, Svma, bool),
) {
    /// Bytes from a page on that one load reaches: 4,096 times those of a pointer.
    const LOADED: u64 = 0x8000;
    let (words, _) = bytes.as_chunks::<4>();
    for (index, bytes) in words.iter().enumerate() {
        let word = u32::from_le_bytes(*bytes);
        // Nearly all instructions are none of them.
        if word & 0x1f00_0000 != 0x1000_0000 && word & 0x3b00_0000 != 0x1800_0000 {
            continue;
        }
        let at = (index * 4) as u32;
        let here = start.offset(at.into());
        if let Some(page) = adrp_page(word, here) {
            if !is_near(Extent::sized(page, LOADED)) {
                continue;
            }
            let loaded = loaded_only(word & 31, words.get(index + 1..).unwrap_or_default());
            note(at, page.offset(loaded.unwrap_or(0)), loaded.is_some());
        } else if let Some(made) = adr(word, here) {
            note(at, made, false);
        } else if let Some(literal) = literal_of(word, here) {
            note(at, literal, false);
            if let Some((other, to)) = relative_to_itself(image, words, (index, here)) {
                note(at, to, false);
                note((other * 4) as u32, to, false);
            }
        }
    }
}

/// The offset of a load from the page in a register. The load must be the first use of the register and replace it, as
/// what loads a pointer does, with no branch before it.
fn loaded_only(register: u32, words: &[[u8; 4]]) -> Option<i64> {
    /// Maximum of instructions up to the load.
    const NEAR: usize = 8;
    for word in words.iter().take(NEAR).map(|word| u32::from_le_bytes(*word)) {
        let [dst, src, second] = [0, 5, 16].map(|field| word >> field & 31 == register);
        // ldr x, [x, immediate]
        if word & 0xffc0_0000 == 0xf940_0000 && dst && src {
            return Some(i64::from(word >> 10 & 0xfff) << 3);
        }
        let is_branch = word & 0x1c00_0000 == 0x1400_0000;
        if dst || src || second || is_branch {
            return None;
        }
    }
    None
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
    match image.arch {
        Arch::X86_64 => {
            let insns = insn::x86_64::decode_holding(code, extent.start, likely);
            let none = BTreeMap::new();
            insns.iter().flat_map(|insn| referred(insn, &none)).filter(|found| is_wanted(found.to)).collect()
        }
        Arch::Aarch64 => followed(image, (code, extent.start), likely, is_wanted),
    }
}

/// The references of AArch64 code that begins at `start`, whose addresses are made in two steps, the first at one of
/// the likely places: decodes only what uses their registers.
fn followed(
    image: &Image<'_>,
    (code, start): (&[u8], Svma),
    likely: &[Svma],
    is_wanted: &impl Fn(Svma) -> bool,
) -> Vec<DataReference> {
    let mut found = Vec::new();
    let mut pages: BTreeMap<Reg, i64> = BTreeMap::new();
    // The registers in `pages`.
    let mut tracked = 0u32;
    let mut due = likely.iter().copied().peekable();
    let first = likely.first().and_then(|first| usize::try_from(first.since(start)? / 4).ok());
    let (words, _) = code.as_chunks::<4>();
    let places = (0i64..).step_by(4).map(|at| start.offset(at));
    for (bytes, svma) in words.iter().zip(places).skip(first.unwrap_or(usize::MAX)) {
        if tracked == 0 && due.peek().is_none() {
            break;
        }
        let word = u32::from_le_bytes(*bytes);
        let is_likely = due.next_if_eq(&svma).is_some();
        let is_used = [0, 5, 16].into_iter().any(|field| tracked >> (word >> field & 31) & 1 != 0);
        let Some(insn) = (is_likely || is_used).then(|| insn::decode(Arch::Aarch64, bytes, svma)).flatten()
        else {
            continue;
        };
        found.extend(referred(&insn, &pages).filter(|found| is_wanted(found.to)));
        follow(image, &insn, &mut pages);
        if !is_likely && let Some(dst) = insn.dst.filter(|_| insn.operation == Operation::Address) {
            pages.remove(&dst);
        }
        tracked = pages.keys().filter_map(|reg| reg.index()).fold(0, |mask, index| mask | 1 << index);
    }
    found
}

/// The places that an instruction refers to: by its memory operand, and by an immediate. One that stores the address of
/// a function has both.
fn referred(insn: &Insn, pages: &BTreeMap<Reg, i64>) -> impl Iterator<Item = DataReference> + use<> {
    let from = insn.svma;
    let accessed = accessed(insn, pages).map(|(to, access)| DataReference { to, from, access });
    let made = made(insn, pages).map(|to| DataReference { to, from, access: Access::Address });
    accessed.into_iter().chain(made)
}

/// The place of the memory operand, and what is done there.
fn accessed(insn: &Insn, pages: &BTreeMap<Reg, i64>) -> Option<(Svma, Access)> {
    let memory = insn.memory?;
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
    Some((Svma(at as u64), access))
}

/// The address that an instruction makes.
fn made(insn: &Insn, pages: &BTreeMap<Reg, i64>) -> Option<Svma> {
    let made = match insn.operation {
        // What `lea` makes is its memory operand.
        Operation::Address if insn.memory.is_none() => insn.imm?,
        Operation::Add if insn.memory.is_none() => sum(insn, pages)?,
        Operation::Move | Operation::Push | Operation::Compare => insn.imm?,
        _ if insn.class == Class::Store => insn.imm?,
        _ => return None,
    };
    Some(Svma(made as u64))
}

/// What an `add` makes of an address and an immediate, or of an address and a distance.
fn sum(insn: &Insn, pages: &BTreeMap<Reg, i64>) -> Option<i64> {
    let base = pages.get(&insn.src[0]?)?;
    let beyond = match insn.imm {
        Some(imm) => imm,
        None if insn.modifier == Some(Modifier::NONE) => *pages.get(&insn.src[1]?)?,
        None => return None,
    };
    Some(base.wrapping_add(beyond))
}

/// Follows the addresses that `adrp` and `add` make, and literals.
fn follow(image: &Image<'_>, insn: &Insn, pages: &mut BTreeMap<Reg, i64>) {
    let Some(dst) = insn.dst else { return };
    let made = match insn.operation {
        Operation::Address => insn.imm,
        Operation::Add => sum(insn, pages),
        Operation::Other if insn.class == Class::Load => {
            let loaded = insn.memory.filter(|memory| memory.is_static && memory.size == 8);
            let value = loaded.and_then(|memory| literal(image, Svma(memory.displacement as u64), 8));
            value.map(|value| value as i64)
        }
        Operation::Move => insn.src[0].and_then(|from| pages.get(&from)).copied(),
        _ => None,
    };
    match made {
        Some(made) => drop(pages.insert(dst, made)),
        None => drop(pages.remove(&dst)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_overlap_where_they_share_a_byte() {
        let ranges = [Extent::sized(Svma(16), 8), Extent::sized(Svma(64), 1)];
        let shares = |from: u64, length: u64| overlaps(&ranges, Extent::sized(Svma(from), length));
        assert!(shares(23, 1) && shares(0, 17) && shares(60, 100) && shares(64, 1));
        assert!(!shares(24, 40) && !shares(0, 16) && !shares(65, 9));
    }

    #[test]
    fn modrm_bytes_are_found_at_every_place() {
        // `lea rax, [rip + displacement]` after more and more padding.
        for before in 0..20usize {
            let mut code = vec![0x90; before];
            code.extend([0x48, 0x8d, 0x05, 0x10, 0, 0, 0]);
            code.resize(code.len() + 9 - before % 8, 0x90);
            let mut found = Vec::new();
            relative(&code, Svma(0x1000), &mut |at, to| found.push((at as usize, to)));
            assert_eq!(found, [(before + 3, Svma(0x1000 + before as u64 + 7 + 0x10))]);
        }
    }
}
