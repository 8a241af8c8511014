//! Patch stage: where indirect jumps go.
//!
//! In: an image and its program. Out: [`Indirect`]: the targets of every `br`, `blr` and `ret` that computes
//! them: from an address made in code, a table of 1-, 2- or 4-byte offsets from an address (switch statements;
//! DDI 0487 has no such thing, gcc's and clang's back ends do), or a table of 4-byte addresses; and the jumps
//! whose targets stay unknown, with the places whose address they may begin with. Where a jump takes a whole
//! pointer from memory, from its caller or from a callee, its targets are what points to code, which `entries`
//! collects; where it adds a constant to such a pointer, they are that far from what points to code.
//!
//! The method is a backward slice: from a register at a jump back to all instructions that may have written
//! it last, on every path, and on from what those read. What is not understood makes the jump unknown, never
//! a guess.

use super::derived::{Body, Line};
use super::edges::{self, Edges};
use super::made::{Maker, addresses_named};
use super::returns::Returns;
use super::slots::stores_to;
use deburr_core::address::CodeOffset;
use deburr_core::address::Svma;
use deburr_core::function::Program;
use deburr_core::image::Image;
use deburr_core::insn::{self, Class, Condition, Insn, Memory, Modifier, Operation, Reg};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::sync::OnceLock;

/// Places that the slices of one jump may visit.
const BUDGET: usize = 4096;
/// Writes that a slice goes back through, one from another.
const DEPTH: usize = 16;
/// Values that a register may have.
const VALUES: usize = 16;
/// Times that jumps are resolved, each time with the edges of those that were resolved before.
const ROUNDS: usize = 16;
/// Instructions before a load from a table among which its bound is looked for.
const BOUND_WITHIN: usize = 64;

/// Where indirect jumps and calls go.
#[derive(Debug, Default)]
pub(crate) struct Indirect {
    /// Known targets, each after its jump, sorted.
    targets: Vec<(CodeOffset, CodeOffset)>,
    /// Jumps of which some target is not known, by address.
    pub(crate) unknown: Vec<CodeOffset>,
    /// Places in code whose address a jump of unknown target may begin with, each with the jump.
    pub(crate) bases: Vec<(CodeOffset, CodeOffset)>,
    /// Constants that jumps add to whole pointers, in bytes, each with a jump.
    pub(crate) distances: Vec<(i64, Svma)>,
}

/// An indirect jump, or a call or return like it.
#[derive(Debug)]
struct Jump {
    at: CodeOffset,
    word: u32,
    /// The index of its function.
    home: Option<usize>,
    targets: Targets,
}

impl Jump {
    /// Where it is known to go: target and source.
    fn edges(&self) -> impl Iterator<Item = (CodeOffset, CodeOffset)> + '_ {
        self.targets.known.iter().map(|&to| (to, self.at))
    }
}

/// What is known of where a jump goes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Targets {
    known: Vec<CodeOffset>,
    /// Whether there may be others.
    is_open: bool,
    /// Places whose address they may begin with.
    bases: Vec<u64>,
    /// Constants that are added to a whole pointer.
    distances: Vec<i64>,
}

impl Indirect {
    /// Resolves all indirect jumps of a file, and returns them with all known edges.
    pub(crate) fn resolve(
        image: &Image<'_>,
        program: &Program,
        returns: &Returns,
        pointed_to: &[CodeOffset],
        named: &OnceLock<Vec<u64>>,
    ) -> (Indirect, Edges) {
        let mut edges = Edges::find(image, program);
        let mut jumps: Vec<Jump> = Indirect::jumps(image, program);
        // What follows the label of one switch statement may need what was before that statement. In the end each jump goes where it goes by
        // the edges of all that are resolved; those of others may be missing, but then all of their function is unknown.
        let mut changed: FxHashSet<Option<usize>> = jumps.iter().map(|jump| jump.home).collect();
        for _ in 0..ROUNDS {
            let mut pending: FxHashMap<usize, Vec<CodeOffset>> = FxHashMap::default();
            for jump in jumps.iter().filter(|jump| jump.targets.is_open && edges::is_indirect_jump(jump.word))
            {
                pending.entry(jump.home.unwrap_or(usize::MAX)).or_default().push(jump.at);
            }
            let context = Context { image, program, returns, edges: &edges, named, pending, pointed_to };
            changed = Indirect::resolve_again(&context, &mut jumps, &changed);
            if changed.is_empty() {
                break;
            }
            edges.set_indirect(image, program, jumps.iter().flat_map(Jump::edges).collect());
        }
        // What does not settle is not known.
        for jump in jumps.iter_mut().filter(|jump| changed.contains(&jump.home)) {
            jump.targets.is_open = true;
        }
        (Indirect::of(image, &jumps), edges)
    }

    /// What the jumps together say.
    fn of(image: &Image<'_>, jumps: &[Jump]) -> Indirect {
        let mut found = Indirect::default();
        let open: FxHashSet<Option<usize>> =
            jumps.iter().filter(|jump| jump.targets.is_open).map(|jump| jump.home).collect();
        for Jump { at, home, targets, .. } in jumps {
            found.targets.extend(targets.known.iter().map(|&to| (*at, to)));
            found.distances.extend(targets.distances.iter().map(|&by| (by, image.svma(*at))));
            if open.contains(home) {
                let bases = targets.bases.iter().filter_map(|&base| image.code_offset(Svma(base)));
                found.bases.extend(bases.map(|base| (base, *at)));
            }
            found.unknown.extend(targets.is_open.then_some(*at));
        }
        found.targets.sort_unstable();
        found.targets.dedup();
        found.bases.sort_unstable();
        found.bases.dedup_by_key(|&mut (base, _)| base);
        found.distances.sort_unstable();
        found.distances.dedup_by_key(|&mut (distance, _)| distance);
        found
    }

    /// All indirect jumps and calls outside of procedure linkage tables, with their instructions; also the returns of functions
    /// that compute where they return to.
    fn jumps(image: &Image<'_>, program: &Program) -> Vec<Jump> {
        let mut jumps: Vec<Jump> = Vec::new();
        let is_linked =
            |at: CodeOffset, word: u32| edges::computes_return(word).then(|| program.whole_index_at(at));
        let mut returning: FxHashSet<Option<usize>> = FxHashSet::default();
        for code in &image.code {
            let words = code.bytes.as_chunks::<4>().0.par_iter().enumerate();
            returning.par_extend(words.filter_map(|(index, word)| {
                is_linked(code.at + 4 * index as u32, u32::from_le_bytes(*word))
            }));
        }
        for code in image.code.iter().filter(|code| !code.name.starts_with(".plt")) {
            let words = code.bytes.as_chunks::<4>().0.par_iter().enumerate();
            jumps.par_extend(words.filter_map(|(index, word)| {
                let (at, word) = (code.at + 4 * index as u32, u32::from_le_bytes(*word));
                let is_jump = edges::is_indirect_jump(word)
                    || edges::is_indirect_call(word)
                    || edges::is_return(word) && returning.contains(&program.whole_index_at(at));
                let targets = Targets { is_open: true, ..Targets::default() };
                (is_jump && !program.is_data(at)).then(|| Jump {
                    at,
                    word,
                    home: program.whole_index_at(at),
                    targets,
                })
            }));
        }
        jumps
    }

    /// Resolves the jumps of some functions, and returns the functions in which a jump goes elsewhere than before, or comes to another place.
    fn resolve_again(
        context: &Context<'_, '_>,
        jumps: &mut [Jump],
        homes: &FxHashSet<Option<usize>>,
    ) -> FxHashSet<Option<usize>> {
        let resolved: Vec<(&mut Jump, Targets)> = jumps
            .par_iter_mut()
            .filter(|jump| homes.contains(&jump.home))
            .map(|jump| {
                let mut slice = Slice { context, left: BUDGET };
                let targets = slice.targets(jump.at, (jump.word >> 5 & 31) as u8);
                (jump, targets)
            })
            .collect();
        let mut changed = FxHashSet::default();
        for (jump, targets) in resolved {
            if targets != jump.targets {
                let places = jump.targets.known.iter().chain(&targets.known);
                changed.extend(places.map(|&to| context.program.whole_index_at(to)));
                changed.insert(jump.home);
                jump.targets = targets;
            }
        }
        changed
    }

    /// The known targets of a jump, each after the jump.
    pub(crate) fn from(&self, jump: CodeOffset) -> &[(CodeOffset, CodeOffset)] {
        let from = self.targets.partition_point(|&(other, _)| other < jump);
        let rest = self.targets.get(from..).unwrap_or_default();
        rest.get(..rest.partition_point(|&(other, _)| other == jump)).unwrap_or_default()
    }
}

/// What a register may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Value {
    /// Always this.
    Constant(u64),
    /// This, with something unknown added or combined.
    From(u64),
    /// An element of a table.
    Element(Table),
    /// An address plus or minus a shifted element of a table.
    Sum { base: u64, element: Table, shift: u8, is_minus: bool },
    /// A whole pointer, from memory, the caller or a callee, plus a constant in bytes.
    Pointer(i64),
    /// Such a pointer, with something unknown added or combined.
    Scattered,
    /// Anything but what begins with an address.
    Unknown,
}

/// Elements in constant memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Table {
    at: u64,
    size: u8,
    is_signed: bool,
    /// How many there are; `None` where nothing says so.
    count: Option<u32>,
    /// How many there are at most, by the size of the index.
    limit: u32,
}

/// How many values an index has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// A comparison or a mask says so.
    Stated(u32),
    /// Its size allows for so many: a `match` over all variants of an enumeration compares nothing.
    BySize(u32),
}

impl Table {
    /// Its elements, extended; `None` where their number or bytes are not known.
    fn elements(self, image: &Image<'_>) -> Option<Vec<u64>> {
        let length = u64::from(self.count?) * u64::from(self.size);
        let bytes = match image.bytes_at(Svma(self.at)) {
            Some(code) => code.get(..usize::try_from(length).ok()?)?,
            None => self.loaded(image, length)?,
        };
        let element = |bytes: &[u8]| {
            let value = bytes.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
            let unused = 64 - 8 * u32::from(self.size);
            if self.is_signed { ((value << unused).cast_signed() >> unused).cast_unsigned() } else { value }
        };
        Some(bytes.chunks_exact(usize::from(self.size)).map(element).collect())
    }

    /// What the file has in the place of its first bytes, constant or not.
    fn loaded<'a>(self, image: &Image<'a>, length: u64) -> Option<&'a [u8]> {
        let run = image.loaded.iter().find(|run| run.extent.contains(Svma(self.at)))?;
        let from = usize::try_from(Svma(self.at).since(run.extent.start)?).ok()?;
        run.bytes.get(from..from.checked_add(usize::try_from(length).ok()?)?)
    }

    /// Whether the program may change it.
    fn is_writable(self, image: &Image<'_>) -> bool {
        let at = Svma(self.at);
        let is_writable = image.loaded.iter().any(|run| run.is_writable && run.extent.contains(at));
        is_writable && image.constant(at, 1).is_none()
    }
}

/// What slices go through.
struct Context<'s, 'a> {
    image: &'s Image<'a>,
    program: &'s Program,
    returns: &'s Returns,
    edges: &'s Edges,
    /// All addresses that code makes, sorted; computed where they are needed.
    named: &'s OnceLock<Vec<u64>>,
    /// The indirect jumps of each function whose targets are not known.
    pending: FxHashMap<usize, Vec<CodeOffset>>,
    /// Places whose address a relocation, the loader or code has, sorted.
    pointed_to: &'s [CodeOffset],
}

/// A backward slice from one jump.
struct Slice<'s, 'a> {
    context: &'s Context<'s, 'a>,
    /// Places that it may still visit.
    left: usize,
}

impl Slice<'_, '_> {
    /// Where a jump through x`register` goes, except whole pointers.
    fn targets(&mut self, jump: CodeOffset, register: u8) -> Targets {
        let image = self.context.image;
        let mut targets = Targets::default();
        for value in self.values(jump, Reg::general(register), 0) {
            match value {
                Value::Pointer(0) => {}
                Value::Pointer(distance) => targets.distances.push(distance),
                Value::Constant(to) => {
                    targets.bases.push(to);
                    targets.known.extend(image.code_offset(Svma(to)));
                }
                Value::Element(table) if table.size == 8 => {}
                Value::Element(table) if table.size == 4 => {
                    let to = |to: u64| image.code_offset(Svma(to));
                    targets.is_open |= table.is_writable(image);
                    match table.elements(image) {
                        Some(elements) => targets.known.extend(elements.into_iter().filter_map(to)),
                        None => targets.is_open = true,
                    }
                }
                Value::Sum { base, element, shift, is_minus } => {
                    let to = |offset: u64| {
                        let offset = offset << shift;
                        let to = if is_minus { base.wrapping_sub(offset) } else { base.wrapping_add(offset) };
                        image.code_offset(Svma(to))
                    };
                    let known = match element.elements(image) {
                        Some(elements) => Some(elements.into_iter().filter_map(to).collect()),
                        None => self.unbounded(jump, element, to),
                    };
                    targets.is_open |= known.is_none() || element.is_writable(image);
                    targets.bases.push(base);
                    targets.known.extend(known.unwrap_or_default());
                }
                Value::From(base) => {
                    targets.is_open = true;
                    targets.bases.push(base);
                }
                Value::Scattered => {
                    targets.is_open = true;
                    targets.bases.extend(self.made_near(jump));
                }
                Value::Element(_) | Value::Unknown => targets.is_open = true,
            }
        }
        targets.known.sort_unstable();
        targets.known.dedup();
        targets.bases.sort_unstable();
        targets.bases.dedup();
        targets.distances.sort_unstable();
        targets.distances.dedup();
        targets
    }

    /// The addresses that the function of a jump makes: a pointer from its frame may be one.
    fn made_near(&self, jump: CodeOffset) -> Vec<u64> {
        let Context { image, program, .. } = self.context;
        let Some(function) = program.function_at(jump).map(|function| program.whole(function)) else {
            return Vec::new();
        };
        let extent = function.extent(image);
        let words = image.bytes_at(extent.start).unwrap_or_default();
        let words = words.get(..extent.len() as usize).unwrap_or_default().as_chunks::<4>().0;
        let mut found = Vec::new();
        Maker::new(image).read(extent.start, words, |_, to| found.push(to.0));
        found
    }

    /// The targets that a table of offsets has whose end nothing states: it ends at the next address that code makes, or where so many
    /// elements lead elsewhere than to the jump's own function that it must have ended. `None`: it seems to have no end.
    fn unbounded(
        &self,
        jump: CodeOffset,
        element: Table,
        to: impl Fn(u64) -> Option<CodeOffset>,
    ) -> Option<Vec<CodeOffset>> {
        /// Elements that lead elsewhere, one after another, and elements in all.
        const ELSEWHERE: usize = 64;
        const MOST: u64 = 1 << 16;
        let Context { image, program, .. } = self.context;
        let home = program.whole_index_at(jump).filter(|_| element.count.is_none())?;
        let size = u64::from(element.size);
        let most = match size {
            1 | 2 => {
                let named = self.context.named.get_or_init(|| addresses_named(image));
                let next = named.get(named.partition_point(|&named| named <= element.at)).copied();
                let length = next.unwrap_or(u64::MAX) - element.at;
                (length / size).min(u64::from(element.limit))
            }
            4 => MOST,
            _ => return None,
        };
        let (mut found, mut elsewhere) = (Vec::new(), 0);
        for index in 0..most {
            let at = element.at.wrapping_add(size * index);
            let Some(value) = (Table { at, count: Some(1), ..element }).elements(image) else {
                return Some(found);
            };
            let target = value.first().and_then(|&value| to(value));
            match target.filter(|&target| program.whole_index_at(target) == Some(home)) {
                Some(target) => {
                    found.push(target);
                    elsewhere = 0;
                }
                None => elsewhere += 1,
            }
            if elsewhere > ELSEWHERE {
                return Some(found);
            }
        }
        (size < 4).then_some(found)
    }

    /// What a register may hold before the instruction at a place.
    fn values(&mut self, at: CodeOffset, register: Reg, depth: usize) -> Vec<Value> {
        if depth > DEPTH {
            return vec![Value::Scattered];
        }
        let mut values: Vec<Value> = Vec::new();
        for write in self.writes(at, register) {
            let found = match write {
                Write::By(insn) => self.results(&insn, register, depth + 1),
                Write::Elsewhere => vec![Value::Pointer(0)],
                Write::Lost => vec![Value::Scattered],
            };
            for value in found {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            if values.len() > VALUES {
                return combined(self.context.image, values);
            }
        }
        values
    }

    /// What may have written a register last before the instruction at a place.
    fn writes(&mut self, at: CodeOffset, register: Reg) -> Vec<Write> {
        let mut found = Vec::new();
        let (mut pending, mut seen) = (vec![at], FxHashSet::from_iter([at]));
        while let Some(at) = pending.pop() {
            let Some(left) = self.left.checked_sub(1) else { return vec![Write::Lost] };
            self.left = left;
            let mut before: Vec<CodeOffset> = Vec::new();
            let mut is_entry =
                self.context.program.function_from(at).is_some_and(|function| !function.is_part());
            for from in self.context.edges.sources(at) {
                match edges::is_call(self.word(from).unwrap_or_default()) {
                    true => is_entry = true,
                    false => before.push(from),
                }
            }
            let previous = at.checked_sub(4);
            before.extend(previous.filter(|&at| self.context.returns.falls_through(self.context.image, at)));
            if is_entry {
                found.push(Write::Elsewhere);
            }
            if before.is_empty() && !is_entry {
                before = self.before_orphan(at);
                if before.is_empty() {
                    found.push(Write::Lost);
                }
            }
            for from in before {
                match self.decode(from) {
                    None => found.push(Write::Lost),
                    Some(insn) if calls(&insn) && is_clobbered_by_calls(register) => {
                        found.push(Write::Elsewhere);
                    }
                    Some(insn) if !calls(&insn) && insn.writes.contains(register) => {
                        found.push(Write::By(insn));
                    }
                    Some(_) if seen.insert(from) => pending.push(from),
                    Some(_) => {}
                }
            }
        }
        found
    }

    /// What control comes from to a place that no branch leads to: the calls whose landing pad it is, or the indirect jumps of its function
    /// whose targets are not known yet; nothing, where something else may have its address.
    fn before_orphan(&self, at: CodeOffset) -> Vec<CodeOffset> {
        let Context { image, program, pointed_to, pending, .. } = self.context;
        let svma = image.svma(at);
        if image.landing_pads.binary_search(&svma).is_ok() {
            let mut calls = Vec::new();
            for (extent, _) in image.call_sites.iter().filter(|&&(_, pad)| pad == svma) {
                let Some(start) = image.code_offset(extent.start) else { return Vec::new() };
                let words = start.words_until(start + extent.len() as u32);
                calls.extend(words.filter(|&at| {
                    self.word(at).is_some_and(|word| edges::is_call(word) || edges::is_indirect_call(word))
                }));
            }
            return calls;
        }
        if pointed_to.binary_search(&at).is_ok() {
            return Vec::new();
        }
        program.whole_index_at(at).and_then(|function| pending.get(&function)).cloned().unwrap_or_default()
    }

    /// What an instruction may write to a register.
    fn results(&mut self, insn: &Insn, register: Reg, depth: usize) -> Vec<Value> {
        let at = CodeOffset::try_from(insn.svma.since(self.context.image.code_base).unwrap_or(u64::MAX));
        let Ok(at) = at else { return vec![Value::Unknown] };
        if let Some(memory) = insn.memory.filter(|memory| memory.read) {
            return self.loaded(insn, memory, register, at, depth);
        }
        if insn.dst != Some(register) {
            return vec![Value::Scattered];
        }
        let source = |index: usize| insn.src.get(index).copied().flatten();
        match (insn.operation, insn.imm) {
            (Operation::Address, Some(address)) => vec![Value::Constant(address.cast_unsigned())],
            (Operation::Move, Some(value)) => vec![Value::Constant(value.cast_unsigned())],
            (Operation::Move, None) => match source(0) {
                Some(source) if insn.width == 8 => self.values(at, source, depth),
                Some(source) => self.extended(at, source, (4, false), depth),
                None => vec![Value::Constant(0)],
            },
            (Operation::MoveKeep, Some(part)) => {
                let (part, shift) = (part.cast_unsigned() & 0xffff, part.cast_unsigned() >> 20 << 4);
                let keep = |value| match value {
                    Value::Constant(value) => Value::Constant(value & !(0xffff << shift) | part << shift),
                    value => lost(self.context.image, value),
                };
                let values = source(0).map_or_else(Vec::new, |source| self.values(at, source, depth));
                values.into_iter().map(keep).collect()
            }
            (Operation::Extend, Some(bytes)) => match source(0) {
                Some(source) => self.extended(at, source, (bytes as u8, insn.is_signed), depth),
                None => vec![Value::Unknown],
            },
            (Operation::Add | Operation::Sub, _) if insn.width == 8 => {
                let is_minus = insn.operation == Operation::Sub;
                let left =
                    source(0).map_or_else(|| vec![Value::Constant(0)], |it| self.values(at, it, depth));
                let (right, modifier) = match (insn.imm, source(1)) {
                    (Some(imm), _) => (vec![Value::Constant(imm.cast_unsigned())], Some(Modifier::NONE)),
                    (None, Some(source)) => (self.values(at, source, depth), insn.modifier),
                    (None, None) => (vec![Value::Constant(0)], Some(Modifier::NONE)),
                };
                let both = left.iter().flat_map(|&left| right.iter().map(move |&right| (left, right)));
                both.map(|(left, right)| sum(self.context.image, left, right, modifier, is_minus)).collect()
            }
            (Operation::Select, _) if insn.width == 8 && insn.condition.is_some() => {
                let either = [source(0), source(1)].into_iter().flatten();
                either.flat_map(|source| self.values(at, source, depth)).collect()
            }
            _ => {
                let sources = insn.src.iter().flatten();
                let values = sources.flat_map(|&source| self.values(at, source, depth)).collect();
                combined(self.context.image, values)
            }
        }
    }

    /// What a register's low bytes may hold, extended.
    fn extended(
        &mut self,
        at: CodeOffset,
        source: Reg,
        (bytes, is_signed): (u8, bool),
        depth: usize,
    ) -> Vec<Value> {
        let image = self.context.image;
        let extend = |value| match value {
            Value::Constant(value) if bytes == 4 && !is_signed => Value::Constant(value & 0xffff_ffff),
            // Wider than the element, it changes nothing that was extended by zeros.
            Value::Element(table) if table.size < bytes && !table.is_signed => Value::Element(table),
            Value::Element(table) if table.size == bytes => Value::Element(Table { is_signed, ..table }),
            value => lost(image, value),
        };
        self.values(at, source, depth).into_iter().map(extend).collect()
    }

    /// What a load may bring to a register.
    fn loaded(
        &mut self,
        insn: &Insn,
        memory: Memory,
        register: Reg,
        at: CodeOffset,
        depth: usize,
    ) -> Vec<Value> {
        let is_base = memory.write_back && memory.base == Some(register);
        if is_base || insn.class != Class::Load || insn.dst != Some(register) {
            // The second of a pair, an exclusive, an atomic: whole registers.
            let is_whole = !is_base && insn.width == 8;
            return vec![if is_whole { Value::Pointer(0) } else { Value::Unknown }];
        }
        if memory.size == 8 && depth == 1 {
            // Pointers are found wherever they are.
            return vec![Value::Pointer(0)];
        }
        if memory.size == 8
            && memory.index.is_none()
            && let Some(base @ (Reg::SP | Reg::FRAME)) = memory.base
            && let Some(values) = self.spilled(at, base, memory.displacement, depth)
        {
            return values;
        }
        let size = memory.size as u8;
        let is_signed = insn.is_signed;
        let one = |at: u64| Table { at, size, is_signed, count: Some(1), limit: 1 };
        if memory.is_static {
            return vec![Value::Element(one(memory.displacement.cast_unsigned()))];
        }
        let bases = memory.base.map_or_else(Vec::new, |base| self.values(at, base, depth));
        // After the access the base changes; before it does, the displacement counts.
        let displacement = memory.displacement;
        let (count, limit) = match memory.index.and_then(|index| self.bound(at, index, memory.index_as)) {
            Some(Bound::Stated(count)) => (Some(count), count),
            Some(Bound::BySize(limit)) => (None, limit),
            None => (None, 1 << 16),
        };
        let whole = if size >= 8 { Value::Pointer(0) } else { Value::Unknown };
        let element = |base| match (base, memory.index) {
            _ if size > 8 => whole,
            (Value::Constant(base), None) => Value::Element(one(base.wrapping_add_signed(displacement))),
            (Value::Constant(base), Some(_)) if 1 << memory.index_as.shift == size => {
                Value::Element(Table { count, limit, ..one(base) })
            }
            _ => whole,
        };
        let elements: Vec<Value> = bases.into_iter().map(element).collect();
        // Pointers are found wherever they are.
        if size >= 8 && elements.contains(&whole) { vec![Value::Pointer(0)] } else { elements }
    }

    /// What a slot of the frame holds, where the last stores on all paths to a load put constants there.
    fn spilled(
        &mut self,
        load: CodeOffset,
        base: Reg,
        displacement: i64,
        depth: usize,
    ) -> Option<Vec<Value>> {
        /// Instructions of a function whose frame is looked at.
        const LONGEST: u64 = 1 << 17;
        let Context { image, program, .. } = self.context;
        let function = program.whole(program.function_at(load)?).extent(image);
        let (start, end) = (image.code_offset(function.start)?, image.code_offset(function.end.offset(-4))?);
        if function.len() > LONGEST {
            return None;
        }
        let lines = start
            .words_until(end + 4)
            .map(|at| Some(Line { at, word: self.word(at)?, insn: self.decode(at)? }));
        let lines: Option<Vec<Line>> = lines.collect();
        let lines = lines?;
        let place = |at: CodeOffset| Some((at.0.checked_sub(start.0)? / 4) as usize);
        let jumps = self.context.edges.range(start..end + 4).iter().filter_map(|&(to, from)| {
            let from = place(from).filter(|&from| {
                lines.get(from).is_some_and(|line| line.insn.flow == insn::Flow::IndirectJump)
            })?;
            Some((from, place(to)?))
        });
        let jumps: Vec<(usize, usize)> = jumps.collect();
        let body = Body { lines: &lines, jumps: &jumps, landing_pads: &image.landing_pads };
        let stores = stores_to(&body, base, displacement)?;
        let kept = self.left;
        let mut found = Vec::new();
        for store in self.last_of(load, start..end + 4, &stores)? {
            let (_, register) = *stores.iter().find(|(at, _)| *at == store)?;
            found.extend(self.values(store, register, depth));
        }
        // What is not understood costs the slice nothing.
        self.left = kept;
        let is_constant = |value: &Value| matches!(value, Value::Constant(_));
        found.sort_unstable();
        found.dedup();
        (found.len() <= VALUES && found.iter().all(is_constant)).then_some(found)
    }

    /// Which stores come last on the paths to a place, where every path has one and stays in a run of code.
    fn last_of(
        &self,
        at: CodeOffset,
        run: Range<CodeOffset>,
        stores: &[(CodeOffset, Reg)],
    ) -> Option<Vec<CodeOffset>> {
        let (mut found, mut pending, mut seen) = (Vec::new(), vec![at], FxHashSet::from_iter([at]));
        while let Some(at) = pending.pop() {
            let fallen = at.checked_sub(4);
            let fallen = fallen.filter(|&at| self.context.returns.falls_through(self.context.image, at));
            let mut before: Vec<CodeOffset> = self.context.edges.sources(at).chain(fallen).collect();
            if before.is_empty() {
                before = self.before_orphan(at);
            }
            let is_entered = |from: &CodeOffset| {
                !run.contains(from) || Some(*from) != fallen && self.word(*from).is_none_or(edges::is_call)
            };
            if before.is_empty() || seen.len() > BUDGET || before.iter().any(is_entered) {
                return None;
            }
            for from in before {
                if stores.iter().any(|(store, _)| *store == from) {
                    found.push(from);
                } else if seen.insert(from) {
                    pending.push(from);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Some(found)
    }

    /// How many values an index has, from what its writer or the comparison before the load says.
    fn bound(&self, load: CodeOffset, index: Reg, index_as: Modifier) -> Option<Bound> {
        if index_as.is_signed {
            return None;
        }
        // How many values the register's low `bytes` have, once a comparison said so.
        let mut compared: Option<u32> = None;
        let mut holds: Option<Condition> = None;
        let (mut at, mut index, mut needs_word) = (load, index, index_as.bytes < 8);
        for _ in 0..BOUND_WITHIN {
            let (before, condition) = self.only_before(at)?;
            if condition.is_some() {
                holds = condition;
            }
            let insn = self.decode(before)?;
            let is_index = insn.src.first() == Some(&Some(index));
            if let (Operation::Compare, Some(imm), Some(condition), true) =
                (insn.operation, insn.imm, holds, is_index)
            {
                let most = match condition {
                    Condition::UnsignedLessEqual => u32::try_from(imm).ok()?.checked_add(1),
                    Condition::UnsignedLess => u32::try_from(imm).ok(),
                    _ => None,
                };
                if most.is_some() && (insn.width == 8 || needs_word) {
                    return most.map(Bound::Stated);
                }
                compared = most;
            }
            if insn.writes.contains(Reg::FLAGS) {
                holds = None;
            }
            if insn.writes.contains(index) {
                // The low word was compared, and this writer leaves no more.
                let is_loaded = insn.memory.is_none_or(|memory| memory.read);
                let is_word = insn.width == 4 && is_loaded && insn.dst == Some(index);
                if let Some(count) = compared.filter(|_| is_word) {
                    return Some(Bound::Stated(count));
                }
                let imm = insn.imm.map(i64::cast_unsigned);
                match (insn.operation, imm, insn.src) {
                    (Operation::And, Some(mask @ (0xff | 0xffff)), _) => {
                        return Some(Bound::BySize(mask as u32 + 1));
                    }
                    (Operation::And, Some(mask), _) if mask < 1 << 16 => {
                        return Some(Bound::Stated(mask as u32 + 1));
                    }
                    (Operation::ExtractBits, Some(field), _) if matches!(field >> 8, 8 | 16) => {
                        return Some(Bound::BySize(1 << (field >> 8)));
                    }
                    (Operation::ExtractBits, Some(field), _) if field >> 8 < 16 => {
                        return Some(Bound::Stated(1 << (field >> 8)));
                    }
                    (Operation::Extend, Some(bytes @ (1 | 2)), _)
                        if !insn.is_signed && insn.memory.is_none() =>
                    {
                        return self.narrower(before, insn.src, 1 << (8 * bytes));
                    }
                    (Operation::Extend | Operation::Move, None | Some(4), [Some(source), ..])
                        if insn.memory.is_none() && !insn.is_signed =>
                    {
                        needs_word |= insn.width == 4;
                        index = source;
                    }
                    _ => {
                        let loads = insn.memory.filter(|memory| memory.read && insn.dst == Some(index))?;
                        return (loads.size <= 2 && !insn.is_signed)
                            .then(|| Bound::BySize(1 << (8 * loads.size)));
                    }
                }
            }
            at = before;
        }
        None
    }

    /// The bound of what was extended from a narrow register: by a comparison before, or all that its bytes
    /// hold.
    fn narrower(&self, at: CodeOffset, source: [Option<Reg>; 3], all: u32) -> Option<Bound> {
        let modifier = Modifier { bytes: 4, ..Modifier::NONE };
        let before = source.first().copied().flatten().and_then(|index| self.bound(at, index, modifier));
        Some(match before {
            Some(Bound::Stated(count)) => Bound::Stated(count.min(all)),
            _ => Bound::BySize(all),
        })
    }

    /// The one place that control comes from, and the condition that holds on that path where it is a branch.
    fn only_before(&self, at: CodeOffset) -> Option<(CodeOffset, Option<Condition>)> {
        let mut into = self.context.edges.sources(at);
        let previous =
            at.checked_sub(4).filter(|&at| self.context.returns.falls_through(self.context.image, at));
        match (previous, into.next(), into.next()) {
            (Some(previous), None, None) => {
                let insn = self.decode(previous)?;
                let is_branch = insn.operation == Operation::BranchCondition;
                Some((previous, insn.condition.filter(|_| is_branch).and_then(opposite)))
            }
            (None, Some(from), None) => {
                let insn = self.decode(from)?;
                (!calls(&insn)).then_some(())?;
                let is_branch = insn.operation == Operation::BranchCondition;
                Some((from, insn.condition.filter(|_| is_branch)))
            }
            _ => None,
        }
    }

    fn word(&self, at: CodeOffset) -> Option<u32> {
        self.context.image.word_at(self.context.image.svma(at))
    }

    fn decode(&self, at: CodeOffset) -> Option<Insn> {
        let image = self.context.image;
        let at = image.svma(at);
        insn::decode(image.arch, image.bytes_at(at)?, at)
    }
}

/// What may have written a register last.
enum Write {
    /// An instruction.
    By(Insn),
    /// The caller, or a callee.
    Elsewhere,
    /// Nobody knows.
    Lost,
}

fn calls(insn: &Insn) -> bool {
    matches!(insn.flow, insn::Flow::Call(_) | insn::Flow::IndirectCall)
}

/// x0 to x18, and x30: AAPCS64, "General-purpose Registers".
fn is_clobbered_by_calls(register: Reg) -> bool {
    register.general_number().is_none_or(|number| number < 19 || number == 30)
}

const fn opposite(condition: Condition) -> Option<Condition> {
    match condition {
        Condition::UnsignedGreater => Some(Condition::UnsignedLessEqual),
        Condition::UnsignedGreaterEqual => Some(Condition::UnsignedLess),
        _ => None,
    }
}

/// `left + right` or `left - right`, where the right one is modified first.
fn sum(image: &Image<'_>, left: Value, right: Value, modifier: Option<Modifier>, is_minus: bool) -> Value {
    let either = || combined(image, vec![left, right]).first().copied().unwrap_or(Value::Unknown);
    let Some(modifier) = modifier else { return either() };
    let signed = |value: u64| if is_minus { value.wrapping_neg() } else { value };
    match (left, right) {
        (Value::Constant(left), Value::Constant(right)) if modifier.bytes == 8 => {
            Value::Constant(left.wrapping_add(signed(right << modifier.shift)))
        }
        (Value::Pointer(distance), Value::Constant(right))
            if modifier.bytes == 8 && !is_address(image, right) =>
        {
            Value::Pointer(distance.wrapping_add_unsigned(signed(right << modifier.shift)))
        }
        // A pointer in a known place.
        (Value::Element(table), Value::Constant(by)) | (Value::Constant(by), Value::Element(table))
            if table.size == 8 && modifier.bytes == 8 && !is_address(image, by) =>
        {
            Value::Pointer(i64::from_ne_bytes(signed(by << modifier.shift).to_ne_bytes()))
        }
        (Value::Constant(base), Value::Element(table)) => {
            let is_signed = if table.size < modifier.bytes { table.is_signed } else { modifier.is_signed };
            // A narrower part of an element is none.
            if modifier.bytes < table.size {
                return either();
            }
            // An element that was extended by its sign, and then by zeros from a word, is neither.
            if table.is_signed && table.size < modifier.bytes && modifier.bytes < 8 && !modifier.is_signed {
                return either();
            }
            let element =
                Table { is_signed: if modifier.bytes == 8 { table.is_signed } else { is_signed }, ..table };
            Value::Sum { base, element, shift: modifier.shift, is_minus }
        }
        (Value::Element(table), Value::Constant(base)) if modifier == Modifier::NONE && !is_minus => {
            Value::Sum { base, element: table, shift: 0, is_minus: false }
        }
        _ => either(),
    }
}

/// Whether a constant is an address in the file, and not a number: headers are at the lowest.
fn is_address(image: &Image<'_>, value: u64) -> bool {
    const LOWEST: u64 = 1 << 12;
    let is_in_code = || image.code_at(Svma(value)).is_some();
    is_in_code() || value >= LOWEST && image.loaded.iter().any(|run| run.extent.contains(Svma(value)))
}

/// What is left of a value that something unknown is added to or combined with.
fn lost(image: &Image<'_>, value: Value) -> Value {
    match value {
        Value::Constant(base) | Value::From(base) | Value::Sum { base, .. } if is_address(image, base) => {
            Value::From(base)
        }
        Value::Pointer(_) | Value::Scattered => Value::Scattered,
        _ => Value::Unknown,
    }
}

/// What is left of values of which one or several make a result: the addresses that it may begin with; without any, a pointer.
fn combined(image: &Image<'_>, values: Vec<Value>) -> Vec<Value> {
    let mut found: Vec<Value> = values.into_iter().map(|value| lost(image, value)).collect();
    found.sort_unstable();
    found.dedup();
    if found.iter().any(|value| matches!(value, Value::From(_))) {
        found.retain(|value| matches!(value, Value::From(_)));
    } else if found.contains(&Value::Scattered) {
        found = vec![Value::Scattered];
    }
    found
}
