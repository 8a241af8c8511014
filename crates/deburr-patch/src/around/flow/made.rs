//! Patch stage: the addresses that code makes.
//!
//! In: instructions in a row. Out: every address that they make from constants: by `adr`, by `adrp`, `movz` and literals with what is added,
//! subtracted, shifted, multiplied or combined by bits, through moves between registers, and by offsets that are loaded from a known place.
//!
//! The method is constant propagation with sets of values, forward over branches within the row; loops are followed once. It finds
//! more than there is rather than less: memory that may be written to holds what the file has there.

use super::edges;
use crate::semantics;
use deburr_core::address::Svma;
use deburr_core::image::{Image, Linkage, Loaded};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// Constants that one register may have; more are forgotten, oldest first.
const MAX_VALUES: usize = 8;
/// The zero register, or the stack pointer.
const ZERO: u8 = 31;

/// A constant that a register may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Constant {
    register: u8,
    value: u64,
    kind: Kind,
}

/// Where a constant came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    /// `adrp` alone.
    Page,
    Address,
}

impl Kind {
    /// Of a result of two constants.
    fn with(self, other: Kind) -> Kind {
        if self == Kind::Number && other == Kind::Number { Kind::Number } else { Kind::Address }
    }
}

/// What registers hold at a place.
#[derive(Debug, Clone, Default)]
struct State(Vec<Constant>);

impl State {
    fn of(&self, register: u8) -> impl Iterator<Item = (u64, Kind)> + '_ {
        let zero = (register == ZERO).then_some((0, Kind::Number));
        let held = self.0.iter().filter(move |held| held.register == register && register != ZERO);
        zero.into_iter().chain(held.map(|held| (held.value, held.kind)))
    }

    fn clear(&mut self, register: u8) {
        self.0.retain(|held| held.register != register);
    }

    fn set(&mut self, register: u8, values: impl IntoIterator<Item = (u64, Kind)>) {
        self.clear(register);
        if register == ZERO {
            return;
        }
        for (value, kind) in values.into_iter().take(MAX_VALUES) {
            self.add(Constant { register, value, kind });
        }
    }

    fn add(&mut self, constant: Constant) {
        if self.0.contains(&constant) {
            return;
        }
        let same = |held: &&Constant| held.register == constant.register;
        if self.0.iter().filter(same).count() >= MAX_VALUES
            && let Some(first) = self.0.iter().position(|held| same(&held))
        {
            self.0.remove(first);
        }
        self.0.push(constant);
    }

    fn join(&mut self, other: &State) {
        for &constant in &other.0 {
            self.add(constant);
        }
    }

    /// What a call leaves: x19 to x29 (AAPCS64, "General-purpose Registers").
    fn call(&mut self) {
        self.0.retain(|held| (19..30).contains(&held.register));
    }
}

/// Reads the addresses that instructions in a row make.
pub(crate) struct Maker<'i, 'a> {
    image: &'i Image<'a>,
    /// The state that branches bring to places further on, and in the second pass to places before.
    at_labels: FxHashMap<u64, State>,
    state: State,
}

impl<'i, 'a> Maker<'i, 'a> {
    pub(crate) fn new(image: &'i Image<'a>) -> Maker<'i, 'a> {
        Maker { image, at_labels: FxHashMap::default(), state: State::default() }
    }

    /// Hands out each address that instructions make, with the last of the instructions; twice where a loop is followed.
    pub(crate) fn read(&mut self, start: Svma, words: &[[u8; 4]], mut found: impl FnMut(Svma, Svma)) {
        for _ in 0..2 {
            self.state = State::default();
            let mut is_back = false;
            let mut at = start;
            for word in words {
                let word = u32::from_le_bytes(*word);
                if !self.at_labels.is_empty()
                    && let Some(state) = self.at_labels.remove(&at.0)
                {
                    self.state.join(&state);
                }
                is_back |= self.step(at, word, &mut found);
                at = at.offset(4);
            }
            if !is_back {
                break;
            }
        }
        self.at_labels.clear();
    }

    /// Takes an instruction; whether it goes back with something.
    fn step(&mut self, at: Svma, word: u32, found: &mut impl FnMut(Svma, Svma)) -> bool {
        let group = word >> 25 & 15;
        // Vectors write no general register but by a few moves, which no address goes through.
        if group & 7 == 7 {
            return false;
        }
        if group & 14 == 10 {
            return self.branch(at, word);
        }
        if self.state.0.is_empty() && !matches!(group, 8 | 9 | 12 | 13) && group & 5 != 4 {
            return false;
        }
        let to = (word & 31) as u8;
        let values: Vec<(u64, Kind)> = match group {
            8 | 9 => self.of_immediate(at, word),
            5 | 13 => self.of_registers(word),
            _ => {
                self.access(at, word);
                return false;
            }
        };
        // A result of addition or subtraction with 31 is the stack pointer, or flags alone.
        for &(value, kind) in &values {
            if kind == Kind::Address || kind == Kind::Number && self.image.is_fixed {
                found(at, Svma(value));
            }
        }
        self.state.set(to, values);
        false
    }

    /// Brings the state to where a branch goes.
    fn branch(&mut self, at: Svma, word: u32) -> bool {
        let mut is_back = false;
        if edges::is_call(word) || edges::is_indirect_call(word) {
            self.state.call();
        } else if let Some(distance) = edges::distance(word)
            && !self.state.0.is_empty()
        {
            let state = &self.state;
            self.at_labels.entry(at.offset(distance).0).or_default().join(state);
            is_back = distance < 0;
        }
        if !edges::falls_through(word) {
            self.state.0.clear();
        }
        is_back
    }

    /// Addresses, additions, moves, logic and bit fields with an immediate.
    fn of_immediate(&self, at: Svma, word: u32) -> Vec<(u64, Kind)> {
        let (from, is_wide) = ((word >> 5 & 31) as u8, word >> 31 == 1);
        let trim = |value: u64| if is_wide { value } else { value & 0xffff_ffff };
        match word >> 23 & 7 {
            0 | 1 => {
                let distance = edges::address_distance(word);
                match is_wide {
                    false => vec![(at.offset(distance).0, Kind::Address)],
                    true => {
                        let page = Svma(at.0 & !0xfff).offset(distance << 12);
                        vec![(page.0, Kind::Page)]
                    }
                }
            }
            2 if from != ZERO => {
                let by = u64::from(word >> 10 & 0xfff) << (12 * (word >> 22 & 1));
                let by = if word >> 30 & 1 == 1 { by.wrapping_neg() } else { by };
                let sum = |(value, kind): (u64, Kind)| (trim(value.wrapping_add(by)), kind.with(kind));
                self.state.of(from).map(sum).collect()
            }
            4 => {
                let Some(mask) = semantics::bitmask(word) else { return Vec::new() };
                let combine = |(value, kind): (u64, Kind)| {
                    let value = match word >> 29 & 3 {
                        1 => value | mask,
                        2 => value ^ mask,
                        _ => value & mask,
                    };
                    (trim(value), kind.with(kind))
                };
                self.state.of(from).map(combine).collect()
            }
            5 => {
                let (part, shift) = (u64::from(word >> 5 & 0xffff), 16 * (word >> 21 & 3));
                match word >> 29 & 3 {
                    0 => vec![(trim(!(part << shift)), Kind::Number)],
                    2 => vec![(part << shift, Kind::Number)],
                    _ => {
                        let keep = |(value, kind): (u64, Kind)| {
                            (value & !(0xffff << shift) | part << shift, kind.with(kind))
                        };
                        self.state.of((word & 31) as u8).map(keep).collect()
                    }
                }
            }
            6 => {
                let (right, left) = (word >> 16 & 63, word >> 10 & 63);
                let is_signed = word >> 29 & 3 == 0;
                let width = if is_wide { 64 } else { 32 };
                let field = |(value, kind): (u64, Kind)| {
                    let length = if left >= right { left - right + 1 } else { left + 1 };
                    let low = if left >= right { value >> right } else { value };
                    let high = low << (64 - length.min(64));
                    let value = match is_signed {
                        true => (high.cast_signed() >> (64 - length)).cast_unsigned(),
                        false => high >> (64 - length),
                    };
                    let value =
                        if left >= right { value } else { value << (u32::wrapping_sub(width, right) & 63) };
                    (trim(value), kind.with(kind))
                };
                self.state.of(from).map(field).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Logic, additions, selections and multiplications of registers.
    fn of_registers(&self, word: u32) -> Vec<(u64, Kind)> {
        let (left, right) = ((word >> 5 & 31) as u8, (word >> 16 & 31) as u8);
        let is_wide = word >> 31 == 1;
        let trim = |value: u64| if is_wide { value } else { value & 0xffff_ffff };
        let shifted = |value: u64| {
            let by = word >> 10 & 63;
            match word >> 22 & 3 {
                0 => value << by,
                1 => trim(value) >> by,
                2 => (value.cast_signed() >> by).cast_unsigned(),
                _ => value.rotate_right(by),
            }
        };
        let both = |modified: &dyn Fn(u64) -> u64, combine: &dyn Fn(u64, u64) -> u64| {
            let mut found = Vec::new();
            for (one, kind) in self.state.of(left) {
                for (other, other_kind) in self.state.of(right) {
                    found.push((trim(combine(one, modified(other))), kind.with(other_kind)));
                }
            }
            found
        };
        let is_minus = word >> 30 & 1 == 1;
        let add = |one: u64, other: u64| {
            if is_minus { one.wrapping_sub(other) } else { one.wrapping_add(other) }
        };
        match word >> 21 & 0xff {
            // Logic of a shifted register, negated or not.
            kind if kind & 0xf8 == 0x50 => {
                let is_negated = word >> 21 & 1 == 1;
                let modified = |value: u64| if is_negated { !shifted(value) } else { shifted(value) };
                both(&modified, &|one, other| match word >> 29 & 3 {
                    1 => one | other,
                    2 => one ^ other,
                    _ => one & other,
                })
            }
            kind if kind & 0xf9 == 0x58 => both(&shifted, &add),
            kind if kind & 0xf9 == 0x59 => {
                let extended = |value: u64| {
                    let bits = 8 << (word >> 13 & 3);
                    let high = value << (64 - bits);
                    let value = match word >> 15 & 1 {
                        1 => (high.cast_signed() >> (64 - bits)).cast_unsigned(),
                        _ => high >> (64 - bits),
                    };
                    value << (word >> 10 & 7)
                };
                both(&extended, &add)
            }
            0xd4 => {
                let either = [left, right].into_iter().filter(|&register| register != ZERO);
                either.flat_map(|register| self.state.of(register).collect::<Vec<_>>()).collect()
            }
            // madd, msub
            0xd8 => {
                let third = (word >> 10 & 31) as u8;
                let products = both(&|value| value, &u64::wrapping_mul);
                let is_minus = word >> 15 & 1 == 1;
                let sums = self.state.of(third).flat_map(|(start, kind)| {
                    products.iter().map(move |&(product, other)| {
                        let by = if is_minus { product.wrapping_neg() } else { product };
                        (trim(start.wrapping_add(by)), kind.with(other))
                    })
                });
                sums.collect()
            }
            _ => Vec::new(),
        }
    }

    /// Loads a number from a known place, and forgets what another access writes.
    fn access(&mut self, at: Svma, word: u32) {
        let (to, from) = ((word & 31) as u8, (word >> 5 & 31) as u8);
        let (size, opcode) = (word >> 30, word >> 22 & 3);
        let is_vector = word >> 26 & 1 == 1;
        let is_pair = word & 0x3a00_0000 == 0x2800_0000;
        let is_literal = word & 0x3b00_0000 == 0x1800_0000;
        let is_scaled = word & 0x3b00_0000 == 0x3900_0000;
        let is_single = word & 0x3b00_0000 == 0x3800_0000;
        let is_near = is_single && word & 0x0020_0000 == 0;
        let of_nine = i64::from((word << 11).cast_signed() >> 23);
        if is_vector {
            // Only the base may change.
        } else if is_literal {
            let place = at.offset(edges::address_distance(word) & !3);
            let (size, is_signed) = if size == 1 { (8, false) } else { (4, size == 2) };
            let value = number(&self.image.loaded, place, size, is_signed);
            if word >> 30 != 3 {
                self.state.set(to, value.map(|value| (value, Kind::Number)));
            }
        } else if is_pair {
            if opcode & 1 == 1 {
                self.state.clear(to);
                self.state.clear((word >> 10 & 31) as u8);
            }
        } else if (is_scaled || is_near) && opcode != 0 {
            // Before the base changes.
            let distance = match (is_scaled, word >> 10 & 3) {
                (true, _) => i64::from((word >> 10 & 0xfff) << size),
                (false, 1) => 0,
                (false, _) => of_nine,
            };
            let places = self.state.of(from).filter(|&(_, kind)| kind != Kind::Number);
            let places: Vec<Svma> = places.map(|(base, _)| Svma(base).offset(distance)).collect();
            let values = places.into_iter().filter_map(|place| {
                let value = number(&self.image.loaded, place, 1 << size, opcode > 1)?;
                Some((if opcode == 3 { value & 0xffff_ffff } else { value }, Kind::Number))
            });
            let values: Vec<(u64, Kind)> = values.collect();
            self.state.set(to, values);
        } else if is_single && (opcode != 0 || word & 0x0020_0c00 == 0x0020_0000) {
            // With an index, or an atomic.
            self.state.clear(to);
        } else if word & 0x3f00_0000 == 0x0800_0000 {
            // Exclusives and compare-and-swaps: the status or the compared register, and what is loaded.
            self.state.clear((word >> 16 & 31) as u8);
            if opcode & 1 == 1 {
                self.state.clear(to);
                self.state.clear((word >> 10 & 31) as u8);
            }
        }
        let moved = match word >> 10 & 1 == 1 && is_near {
            true => Some(of_nine),
            false => {
                let scale = if is_vector { size + 2 } else { 2 + (size >> 1) };
                let by = i64::from((word << 10).cast_signed() >> 25) << scale;
                (is_pair && word >> 23 & 1 == 1).then_some(by)
            }
        };
        if let Some(by) = moved {
            let values: Vec<_> =
                self.state.of(from).map(|(value, kind)| (value.wrapping_add_signed(by), kind)).collect();
            self.state.set(from, values);
        }
    }
}

/// The number of so many bytes that a file has at a place.
fn number(loaded: &[Loaded<'_>], place: Svma, size: usize, is_signed: bool) -> Option<u64> {
    let run = loaded.iter().find(|run| run.extent.contains(place))?;
    let from = usize::try_from(place.since(run.extent.start)?).ok()?;
    let bytes = run.bytes.get(from..from.checked_add(size)?)?;
    let value = bytes.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    let unused = 64 - 8 * size as u32;
    Some(if is_signed { ((value << unused).cast_signed() >> unused).cast_unsigned() } else { value })
}

/// Code in pieces, each with the instructions before it that its addresses may begin with.
pub(crate) fn pieces<'a>(image: &Image<'a>) -> Vec<(Svma, &'a [[u8; 4]])> {
    /// Instructions of a piece, and those before it.
    const PIECE: usize = 1 << 16;
    const BEFORE: usize = 512;
    let pieces = image.code.iter().flat_map(|code| {
        let words = code.bytes.as_chunks::<4>().0;
        (0..words.len().div_ceil(PIECE)).map(move |piece| {
            let (first, end) = (piece * PIECE, ((piece + 1) * PIECE).min(words.len()));
            let from = first.saturating_sub(BEFORE);
            let at = code.extent.start.offset(4 * from as i64);
            (at, words.get(from..end).unwrap_or_default())
        })
    });
    pieces.collect()
}

/// All addresses that code makes or that relocations have, sorted.
pub(crate) fn addresses_named(image: &Image<'_>) -> Vec<u64> {
    let found = pieces(image).into_par_iter().flat_map_iter(|(start, words)| {
        let mut found = Vec::new();
        Maker::new(image).read(start, words, |_, to| found.push(to.0));
        found
    });
    let mut found: Vec<u64> = found.collect();
    found.extend(Linkage::parse(image).cells.iter().map(|cell| cell.to.0));
    found.par_sort_unstable();
    found.dedup();
    found
}
