//! The shape of a function that computes in loops: what survives when a compiler turns its loops into vector code.
//!
//! In: the loops that the sweep noted. Out: a [`Shape`] for each function with such a loop: the kinds of work that its
//! loops do, on vectors and on single numbers, and its rare constants. Two functions of one name and one shape come
//! from one source, and so do two with one shape that load the same table.

use crate::address::CodeOffset;
use crate::address::{Extent, Svma};
use crate::function::{Function, Program};
use crate::image::{Image, Kind};
use crate::insn::arithmetic;
use crate::insn::arithmetic::{Arithmetic, Work};
use crate::insn::{self, Insn, Operation, Reg};
use deburr_cpu::{Arch, FeatureSet};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Kinds of work, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkSet(u32);

impl WorkSet {
    /// The set without work.
    pub const EMPTY: WorkSet = WorkSet(0);

    /// The set of one kind.
    const fn of(done: Arithmetic, work: Work) -> WorkSet {
        let first = match (done.is_float, done.is_double) {
            (false, _) => 0,
            (true, false) => 10,
            (true, true) => 20,
        };
        WorkSet(1 << (work as u32 + first))
    }

    /// All kinds of both sets.
    #[must_use]
    pub const fn union(self, other: WorkSet) -> WorkSet {
        WorkSet(self.0 | other.0)
    }

    /// Whether all kinds of `other` are in this set.
    pub const fn covers(self, other: WorkSet) -> bool {
        other.0 & !self.0 == 0
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The kinds on floating-point numbers.
    #[must_use]
    pub const fn floats(self) -> WorkSet {
        WorkSet(self.0 & 0x3fff_fc00)
    }

    /// What an instruction does, as far as a compiler keeps it: a fused multiply-add counts as both. What it may change
    /// for something else (logic, comparisons, conversions, integer additions and shifts) is left out.
    fn kept(done: Arithmetic) -> WorkSet {
        let of = |work| WorkSet::of(done, work);
        match (done.work, done.is_float) {
            (Work::Multiply, _) | (Work::Add | Work::Divide | Work::Root, true) => of(done.work),
            (Work::MultiplyAdd, true) => of(Work::Multiply).union(of(Work::Add)),
            (Work::MultiplyAdd, false) => of(Work::Multiply),
            _ => WorkSet::EMPTY,
        }
    }
}

/// The shape of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The function's name as the file has it, without the suffixes of clones; `None` where it has none.
    pub name: Option<Arc<str>>,
    /// Whether it had such a suffix.
    pub is_clone: bool,
    /// Its first loop that computes on vectors, or where there is none its first that computes.
    pub at: Svma,
    /// That loop's address as other tools show it, and in relocatable objects its section.
    pub address: u64,
    /// See `address`.
    pub section: Option<Arc<str>>,
    /// Bits of the widest vectors that its loops compute on; 0: none.
    pub bits: u16,
    /// The work of its loops on vectors.
    pub on_vectors: WorkSet,
    /// The work of its loops on single numbers.
    pub on_numbers: WorkSet,
    /// The features that its loops need.
    pub features: FeatureSet,
    /// Constants that few functions have, sorted: immediates, and what it loads from read-only data.
    pub constants: Box<[u64]>,
    /// The numbers of 32 bits in what it loads by 16 bytes or more from read-only data, sorted: as of a table that it
    /// copies, or keeps in vectors. Repeated numbers and small ones are left out.
    pub table: Box<[u64]>,
}

/// Numbers up to this may be offsets, sizes or characters.
const SMALL: u64 = 1 << 20;
/// Functions longer than this are left out: they are no kernels.
const LONGEST: u32 = 16 * 1024;
/// Maximum number of constants that a shape holds.
const MOST: usize = 40;
/// So many numbers of a table identify a function by themselves; several checksums start with the same eight numbers of
/// 64 bits.
pub const DISTINCTIVE: usize = 20;

/// The shapes of all functions that compute in loops and that something distinguishes from others, by address.
pub fn shapes(image: &Image<'_>, program: &Program) -> Vec<Shape> {
    let mut loops: Vec<(usize, Range<CodeOffset>)> = Vec::new();
    for noted in program.computing_loops() {
        if let Some(index) = program.index_at(noted.from) {
            loops.push((index, noted.to..noted.from + 1));
        }
    }
    loops.sort_unstable_by_key(|(index, range)| (*index, range.start));
    let by_function: Vec<&[(usize, Range<CodeOffset>)]> = loops.chunk_by(|a, b| a.0 == b.0).collect();
    let shapes = by_function.into_par_iter().filter_map(|loops| {
        let function = program.functions().get(loops.first()?.0)?;
        let name = program.name(function, image);
        let ranges: Vec<Range<CodeOffset>> = loops.iter().map(|(_, range)| range.clone()).collect();
        let is_kernel = function.end - function.start <= LONGEST && !function.is_part();
        is_kernel.then(|| Reader::new(image, function).read(name, &ranges))?
    });
    shapes.collect()
}

/// What reads one function.
struct Reader<'a> {
    image: &'a Image<'a>,
    extent: Extent,
    /// By register of AArch64: the page or the constant in the making that it holds.
    partial: [Option<u64>; 32],
    constants: Vec<u64>,
    table: Vec<u64>,
}

impl<'a> Reader<'a> {
    fn new(image: &'a Image<'a>, function: &Function) -> Reader<'a> {
        let extent = function.extent(image);
        Reader { image, extent, partial: [None; 32], constants: Vec::new(), table: Vec::new() }
    }

    fn read(mut self, name: Option<&str>, loops: &[Range<CodeOffset>]) -> Option<Shape> {
        let code = self.image.bytes_at(self.extent.start)?;
        let mut shape = Shape {
            name: name.map(|name| without_suffix(name).into()),
            is_clone: name.is_some_and(|name| without_suffix(name) != name),
            at: self.image.svma(loops.first()?.start),
            address: 0,
            section: None,
            bits: 0,
            on_vectors: WorkSet::EMPTY,
            on_numbers: WorkSet::EMPTY,
            features: FeatureSet::EMPTY,
            constants: Box::default(),
            table: Box::default(),
        };
        let mut at = self.extent.start;
        while at < self.extent.end {
            let here = code.get(usize::try_from(at.since(self.extent.start)?).ok()?..)?;
            let Some(insn) = insn::decode(self.image.arch, here, at) else {
                at = at.offset(if self.image.arch == Arch::Aarch64 { 4 } else { 1 });
                continue;
            };
            let offset = self.image.code_offset(at)?;
            let around = loops.iter().find(|range| range.contains(&offset));
            if let Some(range) = around {
                shape.features = shape.features.union(insn::features_of(self.image.arch, insn.features));
                if let Some(done) = arithmetic(self.image.arch, here) {
                    let is_first = done.is_vector() && shape.bits == 0;
                    shape.at = if is_first { self.image.svma(range.start) } else { shape.at };
                    shape.bits = shape.bits.max(done.bits);
                    let kinds = if done.is_vector() { &mut shape.on_vectors } else { &mut shape.on_numbers };
                    *kinds = kinds.union(WorkSet::kept(done));
                }
            }
            self.take_constants(&insn, here);
            at = insn.next();
        }
        shape.constants = sorted(self.constants);
        shape.table = sorted(self.table);
        let is_distinct = shape.table.len() >= DISTINCTIVE;
        // Vectors multiply by a constant with shifts and additions where they have no multiplication.
        let is_kernel = match shape.bits {
            0 => !shape.on_numbers.is_empty(),
            _ => is_distinct || !shape.on_vectors.is_empty(),
        };
        let (section, address) = self.image.place(shape.at);
        shape.address = address;
        shape.section = section.filter(|_| self.image.kind == Kind::Relocatable).map(Arc::from);
        (is_kernel && (is_distinct || shape.name.is_some())).then_some(shape)
    }

    /// Notes the constants of one instruction.
    fn take_constants(&mut self, insn: &Insn, code: &[u8]) {
        // `add x0, x0, :lo12:…` after `adrp`.
        let base = insn.src[0].and_then(Reg::index).and_then(|index| self.partial.get(index).copied()?);
        let completes_address = insn.operation == Operation::Add && base.is_some();
        let place = self.literal(insn, code);
        let read = insn.memory.filter(|memory| memory.read && self.image.kind != Kind::Relocatable);
        if let Some((memory, at)) = read.zip(place) {
            let bytes = self.image.constant(at, u64::from(memory.size));
            let found = bytes.into_iter().flat_map(lanes).filter(|value| is_rare(*value));
            let known = self.constants.len();
            self.constants.extend(found);
            let new = self.constants.get(known..).unwrap_or_default();
            // One number is repeated, or it is no load of several.
            if new.len() > 1 {
                self.table.extend(new.iter().filter(|value| **value > SMALL && !is_counting(**value)));
            }
        }
        let moves_stack = insn.dst == Some(Reg::SP)
            || (self.image.arch == Arch::X86_64 && insn.dst.is_some_and(is_x86_frame));
        let is_number = !matches!(
            insn.operation,
            Operation::Address | Operation::MoveKeep | Operation::ReadSystemRegister
        ) && insn.flow.target().is_none()
            && !completes_address
            && !moves_stack;
        if let Some(value) = insn.imm.filter(|_| is_number && !self.is_address(insn.imm)) {
            self.constants.extend(Some(whole(value)).filter(|value| is_rare(*value)));
        }
    }

    /// Whether a number may be an address of the file.
    fn is_address(&self, value: Option<i64>) -> bool {
        const AROUND: u64 = 1 << 28;
        let base = self.image.code_base.0;
        let value = value.map_or(0, |value| value as u64);
        base > 0xffff && value >= base && value - base < AROUND
    }

    /// Follows what AArch64 makes in two instructions: `adrp` and a load, `mov` and `movk`. The address that a load
    /// reads, where it is known.
    fn literal(&mut self, insn: &Insn, code: &[u8]) -> Option<Svma> {
        let memory = insn.memory;
        if self.image.arch == Arch::X86_64 {
            return memory.filter(|memory| memory.is_static).map(|memory| Svma(memory.displacement as u64));
        }
        let word = u32::from_le_bytes(*code.first_chunk::<4>()?);
        let known =
            |reg: Option<Reg>| reg.and_then(Reg::index).and_then(|index| self.partial.get(index).copied()?);
        let at = memory.and_then(|memory| match memory.is_static {
            true => Some(Svma(memory.displacement as u64)),
            false if memory.index.is_some() || memory.write_back => None,
            false => known(memory.base).map(|page| Svma(page).offset(memory.displacement)),
        });
        let value = match insn.operation {
            Operation::Address | Operation::Move => insn.imm.map(|value| value as u64),
            Operation::Add if insn.src[1].is_none() => {
                known(insn.src[0]).zip(insn.imm).map(|(page, low)| page.wrapping_add_signed(low))
            }
            // movk x0, #imm16, lsl #shift
            _ if word & 0x7f80_0000 == 0x7280_0000 => {
                let shift = 16 * (word >> 21 & 3);
                // What `mov` left is a part of the number.
                let part = known(insn.dst);
                self.constants.retain(|value| Some(*value) != part);
                let value = part.map(|low| low & !(0xffff << shift) | u64::from(word >> 5 & 0xffff) << shift);
                self.constants.extend(value.filter(|value| is_rare(*value)));
                value
            }
            _ => None,
        };
        for reg in insn.writes.general() {
            if let Some(slot) = reg.index().and_then(|index| self.partial.get_mut(index)) {
                *slot = value.filter(|_| insn.dst == Some(reg));
            }
        }
        at
    }
}

/// `rsp` and `rbp`.
fn is_x86_frame(base: Reg) -> bool {
    matches!(base.index(), Some(4 | 5))
}

/// The name without what compilers append to clones: `.constprop.0`, `.isra.0`.
fn without_suffix(name: &str) -> &str {
    match name.split_once('.') {
        Some((plain, _)) if !plain.is_empty() => plain,
        _ => name,
    }
}

/// A 32-bit constant is the same whether an instruction extends it by its sign or not.
fn whole(value: i64) -> u64 {
    i32::try_from(value).map_or(value as u64, |value| u64::from(value as u32))
}

/// The numbers in a vector of constants: the one that all lanes repeat, or else those of 32 bits.
fn lanes(bytes: &[u8]) -> Vec<u64> {
    let mut part = bytes;
    while part.len() > 4 {
        let (low, high) = part.split_at(part.len() / 2);
        if low != high {
            break;
        }
        part = low;
    }
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
    if part.len() <= 8 { vec![word(part)] } else { part.chunks(4).map(word).collect() }
}

/// Whether few functions have a constant: no small number, no mask, no power of two, no simple fraction.
fn is_rare(value: u64) -> bool {
    let signed = if value >> 32 == 0 { i64::from(value as u32 as i32) } else { value as i64 };
    let size = signed.unsigned_abs();
    let is_round =
        size.is_power_of_two() || size.wrapping_add(1).is_power_of_two() || (size - 1).is_power_of_two();
    let is_fraction = value.trailing_zeros() >= if value >> 32 == 0 { 20 } else { 48 };
    size > 255 && !is_round && !is_fraction
}

/// Whether the bytes of a number of 32 bits count, as in the indices of a shuffle.
fn is_counting(value: u64) -> bool {
    let bytes = (value as u32).to_le_bytes();
    bytes
        .windows(2)
        .all(|pair| matches!(pair, [a, b] if b.wrapping_sub(*a) == bytes[1].wrapping_sub(bytes[0])))
}

fn sorted<T: Ord>(mut values: Vec<T>) -> Box<[T]> {
    values.sort_unstable();
    values.dedup();
    values.truncate(MOST);
    values.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_that_few_functions_have_are_distinguished_from_masks_and_simple_fractions() {
        assert!(is_rare(16_777_619)); // FNV's prime
        assert!(is_rare(u64::from(0.299f32.to_bits())));
        assert!(is_rare(std::f64::consts::PI.to_bits()));
        for common in [0, 255, 0x8000_0000, 0xffff_ffff, 0x7fff_ffff, 1 << 40, u64::MAX] {
            assert!(!is_rare(common), "{common:#x}");
        }
        assert!(!is_rare(u64::from(0.75f32.to_bits())) && !is_rare(2.5f64.to_bits()));
    }

    #[test]
    fn a_vector_of_one_repeated_number_is_that_number() {
        assert_eq!(lanes(&[0x93, 1, 0, 1, 0x93, 1, 0, 1, 0x93, 1, 0, 1, 0x93, 1, 0, 1]), [16_777_619]);
        assert_eq!(lanes(&[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]), [1, 2, 3, 4]);
    }

    #[test]
    fn indices_count_and_checksums_do_not() {
        assert!(is_counting(0x0302_0100) && is_counting(0x1f1e_1d1c) && is_counting(0x0c0d_0e0f));
        assert!(!is_counting(0x0100_0193) && !is_counting(0x6a09_e667));
    }

    #[test]
    fn the_suffix_of_a_clone_is_no_part_of_the_name() {
        assert_eq!(without_suffix("sum.constprop.0"), "sum");
        assert_eq!(without_suffix(".hidden"), ".hidden");
    }
}
