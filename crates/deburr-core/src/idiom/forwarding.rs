//! Store-to-load forwarding that cannot work: loads whose bytes come from several recent stores, or from a store and
//! what was in memory before.
//!
//! In: the code of each function, in a straight line. Out: [`BlockedLoad`]s. Addresses are compared, never guessed:
//! both accesses count from one value of one register (through copies and constant additions), with the same index, and
//! nothing between them transfers control elsewhere. What other stores may have done to the same bytes is not known.

use crate::address::{Extent, Svma};
use crate::function::{Program, block};
use crate::image::Image;
use crate::insn::{Class, ClassSet, Flow, Insn, Memory, Modifier, Operation, Reg};
use deburr_cpu::Arch;
use rayon::prelude::*;
use std::collections::VecDeque;

/// Maximum number of instructions between a store and a load: later, the store has probably left for the cache.
pub const WINDOW: u32 = 24;
/// x86-64's stack pointer.
const RSP: Reg = Reg::general(4);
/// Maximum number of bytes of an access; wider ones (`fxsave`, `xsave`) are no single loads and stores.
const WIDEST: u16 = 64;

/// A load that no store can be forwarded to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedLoad {
    /// The instruction that loads.
    pub load: Extent,
    /// Bytes that one register, or the operation, gets.
    pub size: u16,
    /// The stores that wrote them, by address.
    pub stores: Vec<Supplier>,
    /// Bytes that none of them wrote.
    pub older_bytes: u16,
    /// Whether there are two stores, and each wrote one half.
    pub is_halves: bool,
    /// Instructions from the last of the stores to the load.
    pub distance: u32,
}

/// A store that wrote some of the bytes of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Supplier {
    /// The instruction that stores.
    pub at: Svma,
    /// Bytes that it writes.
    pub size: u16,
}

/// All such loads, by address, at most one for a store; not those in parts of functions (`.cold`).
pub fn blocked_loads(image: &Image<'_>, program: &Program) -> Vec<BlockedLoad> {
    let whole = program.functions().par_iter().filter(|function| !function.is_part());
    let found = whole.flat_map_iter(|function| {
        let insns = block::decode_run(image, program, function.extent(image));
        blocked_in(image.arch, insns)
    });
    found.collect()
}

/// The blocked loads among instructions in order of address.
fn blocked_in(arch: Arch, insns: impl Iterator<Item = Insn>) -> Vec<BlockedLoad> {
    let mut line = Line::new(arch);
    let mut next = None;
    let mut found = Vec::new();
    for insn in insns {
        if next != Some(insn.svma) {
            line = Line::new(arch);
        }
        found.extend(line.step(&insn));
        next = insn.flow.falls_through().then(|| insn.next());
    }
    found
}

/// A value that an address counts from, by number; the same number is the same value.
type Origin = u32;

/// Where an access is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// The base's origin; `None` for a static address.
    base: Option<Origin>,
    index: Option<(Origin, i64, Modifier)>,
    /// Bytes from there.
    start: i64,
}

#[derive(Debug, Clone, Copy)]
struct Store {
    at: Svma,
    place: Place,
    size: u16,
    /// The number of the instruction.
    number: u32,
    /// Whether a load that it blocks was found.
    is_reported: bool,
}

/// What is known on a straight line of code.
struct Line {
    arch: Arch,
    /// By general register: the value that it counts from, and by how many bytes it is beyond it.
    values: [(Origin, i64); 32],
    origins: Origin,
    /// The last ones, oldest first.
    stores: VecDeque<Store>,
    number: u32,
}

/// What waits for stores, works past them, or may store anywhere.
const SEPARATES: ClassSet = ClassSet::of(&[
    Class::LoadExclusive,
    Class::StoreExclusive,
    Class::LseAtomic,
    Class::LockedAtomic,
    Class::Barrier,
    Class::InstructionBarrier,
    Class::SystemCall,
]);

impl Line {
    fn new(arch: Arch) -> Line {
        let values = std::array::from_fn(|number| (number as Origin, 0));
        Line { arch, values, origins: 32, stores: VecDeque::new(), number: 0 }
    }

    fn step(&mut self, insn: &Insn) -> Option<BlockedLoad> {
        self.number += 1;
        while self.stores.front().is_some_and(|store| store.number + WINDOW < self.number) {
            self.stores.pop_front();
        }
        let mut found = None;
        if separates(self.arch, insn) {
            self.stores.clear();
        } else {
            found = self.load(insn);
            self.store(insn);
        }
        if matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall) {
            *self = Line { number: self.number, ..Line::new(self.arch) };
        } else {
            self.update(insn);
        }
        found
    }

    /// The bytes that an instruction reads, piece by piece: each register of a pair is a load of its own.
    fn load(&mut self, insn: &Insn) -> Option<BlockedLoad> {
        if insn.operation == Operation::Pop {
            let place = Place { base: Some(self.stack().0), index: None, start: self.stack().1 };
            return self.blocked(insn, place, insn.width.into());
        }
        let memory = insn.memory.filter(|memory| memory.read && memory.size <= WIDEST)?;
        let place = self.place(&memory)?;
        let pieces = if self.arch == Arch::Aarch64 { registers_loaded(insn, &memory) } else { 1 };
        let size = memory.size / pieces;
        (0..pieces).find_map(|piece| {
            let start = place.start.wrapping_add(i64::from(piece * size));
            self.blocked(insn, Place { start, ..place }, size)
        })
    }

    fn store(&mut self, insn: &Insn) {
        let (at, number, is_reported) = (insn.svma, self.number, false);
        if let Some(memory) = insn.memory.filter(|memory| memory.write)
            && let Some(place) = self.place(&memory)
        {
            self.stores.push_back(Store { at, place, size: memory.size, number, is_reported });
        }
        if insn.operation == Operation::Push {
            let (base, offset) = self.stack();
            let start = offset.wrapping_sub(insn.width.into());
            let place = Place { base: Some(base), index: None, start };
            self.stores.push_back(Store { at, place, size: insn.width.into(), number, is_reported });
        }
    }

    /// Whether a load of so many bytes is blocked by the stores so far. Of several loads that one store blocks, only
    /// the first waits for long.
    fn blocked(&mut self, insn: &Insn, place: Place, size: u16) -> Option<BlockedLoad> {
        let mut missing = bytes_mask(0, size.into());
        let mut suppliers: Vec<(usize, Store, u64)> = Vec::new();
        for (index, store) in self.stores.iter().enumerate().rev() {
            let is_same = store.place.base == place.base && store.place.index == place.index;
            let from = store.place.start.wrapping_sub(place.start);
            if !is_same || from <= -i64::from(WIDEST) || from >= i64::from(size) {
                continue;
            }
            let written = missing & bytes_mask(from, from + i64::from(store.size));
            if written != 0 {
                suppliers.push((index, *store, written));
                missing &= !written;
            }
        }
        let (_, last, _) = suppliers.first()?;
        let is_forwarded = suppliers.len() == 1 && missing == 0;
        if is_forwarded || suppliers.iter().any(|(_, store, _)| store.is_reported) {
            return None;
        }
        let half = bytes_mask(0, i64::from(size) / 2);
        let is_half = |written: u64| written == half || written == half << (size / 2);
        let is_halves = missing == 0 && suppliers.len() == 2 && suppliers.iter().all(|s| is_half(s.2));
        let distance = self.number - last.number;
        for (index, ..) in &suppliers {
            if let Some(store) = self.stores.get_mut(*index) {
                store.is_reported = true;
            }
        }
        let stores = suppliers.iter().rev().map(|(_, store, _)| Supplier { at: store.at, size: store.size });
        Some(BlockedLoad {
            load: Extent { start: insn.svma, end: insn.next() },
            size,
            stores: stores.collect(),
            older_bytes: missing.count_ones() as u16,
            is_halves,
            distance,
        })
    }

    /// Where an access is; `None` where that cannot be compared, as in a thread's segment.
    fn place(&self, memory: &Memory) -> Option<Place> {
        let mut start = memory.displacement;
        let base = match memory.base {
            Some(base) => {
                let (origin, offset) = self.value(base)?;
                start = start.wrapping_add(offset);
                Some(origin)
            }
            None if memory.is_static => None,
            None => return None,
        };
        let index = match memory.index {
            Some(index) => {
                let (origin, offset) = self.value(index)?;
                Some((origin, offset, memory.index_as))
            }
            None => None,
        };
        Some(Place { base, index, start })
    }

    fn value(&self, reg: Reg) -> Option<(Origin, i64)> {
        self.values.get(reg.index()?).copied()
    }

    fn stack(&self) -> (Origin, i64) {
        self.value(RSP).unwrap_or_default()
    }

    /// Gives the registers that an instruction writes their new values.
    fn update(&mut self, insn: &Insn) {
        let known = self.sum(insn);
        for reg in insn.writes.general() {
            self.origins += 1;
            let value = match known {
                Some((target, value)) if target == reg => value,
                _ => (self.origins, 0),
            };
            if let Some(slot) = reg.index().and_then(|index| self.values.get_mut(index)) {
                *slot = value;
            }
        }
    }

    /// The register that gets another's value and a constant, and that value.
    fn sum(&self, insn: &Insn) -> Option<(Reg, (Origin, i64))> {
        let moved = |reg: Reg, by: i64| {
            let (origin, offset) = self.value(reg)?;
            Some((origin, offset.wrapping_add(by)))
        };
        let by_stack = match insn.operation {
            Operation::Push => Some(-i64::from(insn.width)),
            Operation::Pop if insn.dst != Some(RSP) => Some(i64::from(insn.width)),
            _ => None,
        };
        if let Some(by) = by_stack {
            return Some((RSP, moved(RSP, by)?));
        }
        if let Some(memory) = insn.memory {
            let base = memory.base?;
            return match insn.operation {
                // lea
                Operation::EffectiveAddress if memory.index.is_none() && insn.width == 8 => {
                    Some((insn.dst?, moved(base, memory.displacement)?))
                }
                // Pre-indexed; by how much a post-indexed access moves its base is not recorded.
                _ if memory.write_back && memory.displacement != 0 => {
                    Some((base, moved(base, memory.displacement)?))
                }
                _ => None,
            };
        }
        if insn.width != 8 || insn.modified {
            return None;
        }
        let source = insn.src.first().copied().flatten()?;
        let by = match (insn.operation, insn.imm) {
            (Operation::Move, None) => 0,
            (Operation::Add, Some(imm)) => imm,
            (Operation::Sub, Some(imm)) => imm.checked_neg()?,
            _ => return None,
        };
        Some((insn.dst?, moved(source, by)?))
    }
}

/// Whether what is before an instruction says nothing about loads after it.
fn separates(arch: Arch, insn: &Insn) -> bool {
    // Which bytes a masked access touches is not known, nor how many a repeated or scalable one does. Of string
    // instructions one operand alone is recorded.
    let is_unclear = |memory: Memory| {
        let is_access = memory.read || memory.write;
        let is_masked = (0..16).any(|number| insn.reads.contains(Reg::mask(number)));
        let is_string = memory.write_back && arch == Arch::X86_64;
        is_access && (memory.size == 0 || is_masked) || memory.write && (memory.size > WIDEST || is_string)
    };
    SEPARATES.contains(insn.class) || insn.memory.is_some_and(is_unclear)
}

/// How many registers a load of A64 fills one after another from memory.
fn registers_loaded(insn: &Insn, memory: &Memory) -> u16 {
    let written = insn.writes;
    let general = written.general().filter(|reg| !memory.write_back || Some(*reg) != memory.base).count();
    let vector = (0..32).filter(|&number| written.contains(Reg::vector(number))).count();
    u16::try_from(general + vector).unwrap_or(1).max(1)
}

/// A mask of the bytes from `from` to `to`, as far as they are among the first 64.
fn bytes_mask(from: i64, to: i64) -> u64 {
    let below = |end: i64| match u32::try_from(end) {
        Err(_) if end < 0 => 0,
        Ok(end) if end < 64 => (1u64 << end) - 1,
        _ => u64::MAX,
    };
    below(to) & !below(from)
}
