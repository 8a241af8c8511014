//! Patch stage: a short sequence → all paths through it, by symbolic execution.
//!
//! In: operations, and the initial state. Out: [`Paths`]. A branch on what is not constant makes two paths of
//! one; so does a compare-and-swap, whose two outcomes are the two paths of the loop that it replaces. The
//! status of a store-exclusive is 0, the one assumption of the proof, so that the edge back to the
//! load-exclusive is never taken.

use super::bits::{FALSE, Graph, Lit, Sum, TRUE, Word};
use super::path::{Access, AccessKind, Initial, Path, Paths, Value};
use super::refusal::{Refusal, Side};
use super::search::{Answer, search};
use crate::semantics::{
    AtomicOp, Cause, Field, Insn, Logic, Operand, Reference, Register, Shift, Step, Test, Width, ZERO,
};

/// Instructions of a sequence; a bit set of them is 64 bits.
pub(crate) const LONGEST: usize = 64;
/// Paths through a sequence; a compare-and-swap has two.
const MOST_PATHS: usize = 16;

pub(crate) fn run(
    graph: &mut Graph,
    initial: &Initial,
    steps: &[Step],
    side: Side,
    kind: AccessKind,
) -> Result<Paths, Refusal> {
    let (mut waiting, mut paths, mut stores) = (vec![Path::start(initial)], Vec::new(), 0_u64);
    while let Some(mut path) = waiting.pop() {
        let inside = usize::try_from(path.at).ok().filter(|_| !path.is_back(initial));
        let Some((index, step)) = inside.and_then(|at| Some((at, *steps.get(at)?))) else {
            paths.push(path);
            continue;
        };
        let mut machine = Machine { graph, initial, side, kind };
        match machine.step(&mut path, index, step) {
            Ok(other) => {
                let is_store =
                    matches!(step, Ok(Insn::StoreExclusive { .. } | Insn::StoreExclusivePair { .. }));
                stores |= u64::from(is_store) << index;
                waiting.extend(other);
                waiting.push(path);
            }
            // What no state reaches refuses nothing.
            Err(_) if matches!(search(graph, path.condition), Answer::Never) => {}
            Err(cause) => return Err(Refusal::Instruction { side, index, cause }),
        }
        if graph.full() || waiting.len() + paths.len() > MOST_PATHS {
            return Err(Refusal::TooLarge);
        }
    }
    Ok(Paths { paths, stores: stores.count_ones() as usize })
}

struct Machine<'a> {
    graph: &'a mut Graph,
    initial: &'a Initial,
    side: Side,
    kind: AccessKind,
}

impl Machine<'_> {
    /// One instruction; the second path, where there are two from here on.
    fn step(&mut self, path: &mut Path, index: usize, step: Step) -> Result<Option<Path>, Cause> {
        let here = 1_u64.checked_shl(index as u32).unwrap_or(0);
        if path.visited & here != 0 {
            return Err(Cause::Endless);
        }
        path.visited |= here;
        path.at += 1;
        let insn = step?;
        path.dependence.follow(&insn);
        match insn {
            Insn::Branch { test, offset } => {
                let lit = self.test(path, test);
                let (taken, other) = path.split(self.graph, lit);
                if taken {
                    path.at += offset - 1;
                }
                return Ok(other);
            }
            Insn::CompareAndSwap { reference, rs, rt } => {
                if rs == ZERO {
                    return Err(Cause::ZeroDestination);
                }
                let width = Width(reference.bits);
                let [expected, value] = [rs, rt].map(|register| [path.read(register, width), Word::ZERO]);
                // It succeeds where memory holds what was loaded before, and nowhere else.
                let loaded = Some((path.read(reference.base, Width(64)), reference.bits));
                let is_guess = path.guess == loaded && expected[0] == self.initial.guess.low(reference.bits);
                if self.guesses() && !is_guess {
                    return Err(Cause::Unpaired);
                }
                self.begin(path, reference, Side::New)?;
                path.write(rs, self.loaded(reference)[0], Width(64));
                return Ok(self.compare_and_swap(path, reference, expected, value));
            }
            Insn::CompareAndSwapPair { reference, rs, rt } => {
                if self.guesses() {
                    return Err(Cause::Access);
                }
                let [expected, value] = [rs, rt].map(|pair| path.read_pair(pair, reference));
                self.begin(path, reference, Side::New)?;
                path.write_pair(rs, self.loaded(reference), reference);
                return Ok(self.compare_and_swap(path, reference, expected, value));
            }
            Insn::LoadExclusive { reference, rt } => {
                self.begin(path, reference, Side::Old)?;
                path.armed = true;
                path.write(rt, self.loaded(reference)[0], Width(64));
            }
            Insn::LoadExclusivePair { reference, rt } => {
                self.begin(path, reference, Side::Old)?;
                path.armed = true;
                path.write_pair(rt, self.loaded(reference), reference);
            }
            Insn::StoreExclusive { reference, rs, rt } => {
                let value = [path.read(rt, Width(reference.bits)), Word::ZERO];
                self.store_exclusive(path, reference, rs, value)?;
            }
            Insn::StoreExclusivePair { reference, rs, rt } => {
                let value = path.read_pair(rt, reference);
                self.store_exclusive(path, reference, rs, value)?;
            }
            Insn::Update { reference, change, rs, rt } => self.update(path, reference, change, rs, rt)?,
            Insn::Barrier(_) if self.kind == AccessKind::Loads || self.guesses() => {
                return Err(Cause::Barrier);
            }
            Insn::ClearExclusive if self.kind == AccessKind::Loads => return Err(Cause::Access),
            Insn::Barrier(option) if path.access.is_none() => path.before.push(option),
            Insn::Barrier(option) => path.after.push(option),
            Insn::ClearExclusive => path.armed = false,
            Insn::Guess { bits, rt, base } => {
                if !self.guesses() || path.access.is_some() || path.guess.is_some() {
                    return Err(Cause::Access);
                }
                path.guess = Some((path.read(base, Width(64)), bits));
                path.write(rt, self.initial.guess.low(bits), Width(64));
            }
            Insn::Load { rt, base, offset } => self.load(path, rt, base, offset)?,
            Insn::LoadAndAdd { rt, base, by } => {
                let moved = self.offset(path, base, by);
                self.load(path, rt, base, 0)?;
                path.write(base, moved, Width(64));
            }
            // Its base is SP, which no load writes.
            Insn::LoadPair { rt, second, base, offset } => {
                self.load(path, rt, base, offset)?;
                self.load(path, second, base, offset + 8)?;
            }
            insn => self.compute(path, insn),
        }
        Ok(None)
    }

    /// Whether the sequence tries a compare-and-swap until it succeeds.
    fn guesses(&self) -> bool {
        self.kind == AccessKind::Retry && self.side == Side::New
    }

    /// What only registers and flags take part in.
    fn compute(&mut self, path: &mut Path, insn: Insn) {
        match insn {
            Insn::Move { width, rd, value } => path.write(rd, Word::constant(value), width),
            Insn::Keep { width, rd, at, value } => {
                let (old, value) = (path.read(rd, width), Word::constant(value));
                let kept = Word::of(|bit| if bit / 16 == at / 16 { value.bit(bit) } else { old.bit(bit) });
                path.write(rd, kept, width);
            }
            Insn::AddSubtract { width, subtract, flags, rd, rn, operand } => {
                let (a, b) = (path.read(rn, width), operand_value(path, operand, width));
                let (sum, nzcv) = self.add(&a, &b, subtract, width);
                path.write(rd, sum, width);
                if flags {
                    path.flags = nzcv;
                }
            }
            Insn::Logical { width, logic, invert, flags, rd, rn, operand } => {
                let (a, b) = (path.read(rn, width), operand_value(path, operand, width));
                let b = if invert { b.complement().low(width.0) } else { b };
                let value = match logic {
                    Logic::And => self.graph.and_words(&a, &b),
                    Logic::Or => self.graph.or_words(&a, &b),
                    Logic::Xor => self.graph.xor_words(&a, &b),
                };
                path.write(rd, value, width);
                if flags {
                    path.flags = [value.bit(width.0 - 1), self.graph.is_zero(&value), FALSE, FALSE];
                }
            }
            Insn::Bitfield { width, field, rd, rn, immr, imms } => {
                let (from, into) = (path.read(rn, width), path.read(rd, width));
                path.write(rd, bitfield(&from, &into, field, width, immr, imms), width);
            }
            Insn::Extract { width, rd, rn, rm, lsb } => {
                let (high, low) = (path.read(rn, width), path.read(rm, width));
                let value = Word::of(|bit| {
                    if bit + lsb < width.0 { low.bit(bit + lsb) } else { high.bit(bit + lsb - width.0) }
                });
                path.write(rd, value, width);
            }
            Insn::ShiftBy { width, shift, rd, rn, rm } => {
                let (mut value, by) = (path.read(rn, width), path.read(rm, width));
                for stage in (0..6).filter(|stage| 1 << stage < width.0) {
                    let moved = shifted(&value, shift, 1 << stage, width);
                    value = self.graph.choose_word(by.bit(stage), &moved, &value);
                }
                path.write(rd, value, width);
            }
            Insn::MultiplyAdd { width, subtract, rd, rn, rm, ra } => {
                let (a, b, c) = (path.read(rn, width), path.read(rm, width), path.read(ra, width));
                let product = self.graph.product(&a, &b, width.0);
                let (value, _) = self.add(&c, &product, subtract, width);
                path.write(rd, value, width);
            }
            Insn::Select { width, condition, invert, increment, rd, rn, rm } => {
                let holds = self.condition(path, condition);
                let (then, other) = (path.read(rn, width), path.read(rm, width));
                let other = if invert { other.complement().low(width.0) } else { other };
                let other = match increment {
                    true => self.graph.sum(&other, &Word::constant(1), FALSE, width.0).word,
                    false => other,
                };
                let value = self.graph.choose_word(holds, &then, &other);
                path.write(rd, value, width);
            }
            Insn::Compare { width, subtract, condition, nzcv, rn, operand } => {
                let holds = self.condition(path, condition);
                let (a, b) = (path.read(rn, width), operand_value(path, operand, width));
                let (_, [n, z, c, v]) = self.add(&a, &b, subtract, width);
                let stated = |bit: u8| Lit::constant(nzcv >> bit & 1 != 0);
                path.flags = [(n, 3), (z, 2), (c, 1), (v, 0)]
                    .map(|(flag, bit)| self.graph.choose(holds, flag, stated(bit)));
            }
            // No registers and no flags: `step` has them.
            _ => {}
        }
    }

    /// A sum or difference, and its flags.
    fn add(&mut self, a: &Word, b: &Word, subtract: bool, width: Width) -> (Word, [Lit; 4]) {
        let second = if subtract { b.complement() } else { *b };
        let Sum { word, carry, overflow } = self.graph.sum(a, &second, Lit::constant(subtract), width.0);
        // A difference is zero where its operands are equal: the same literal as in a compare-and-swap.
        let zero = if subtract { self.graph.equal(a, b) } else { self.graph.is_zero(&word) };
        (word, [word.bit(width.0 - 1), zero, carry, overflow])
    }

    fn condition(&mut self, path: &Path, condition: u8) -> Lit {
        let [n, z, c, v] = path.flags;
        let less = self.graph.xor(n, v);
        let holds = match condition >> 1 {
            0 => z,
            1 => c,
            2 => n,
            3 => v,
            4 => self.graph.and(c, !z),
            5 => !less,
            6 => self.graph.and(!z, !less),
            _ => return TRUE,
        };
        if condition & 1 != 0 { !holds } else { holds }
    }

    fn test(&mut self, path: &Path, test: Test) -> Lit {
        match test {
            Test::Always => TRUE,
            Test::Condition(condition) => self.condition(path, condition),
            Test::Bits { rt, from, bits, set } => {
                let tested = path.read(rt, Width(64)).shifted_right(from).low(bits);
                let zero = self.graph.is_zero(&tested);
                if set { !zero } else { zero }
            }
        }
    }

    fn offset(&mut self, path: &Path, base: Register, by: i64) -> Word {
        let by = Word::constant(by.cast_unsigned());
        self.graph.sum(&path.read(base, Width(64)), &by, FALSE, 64).word
    }

    fn load(&mut self, path: &mut Path, rt: Register, base: Register, offset: i64) -> Result<(), Cause> {
        if self.kind != AccessKind::Loads {
            return Err(Cause::Access);
        }
        let value = self.initial.loads.get(path.loads.len()).copied().ok_or(Cause::Access)?;
        let address = self.offset(path, base, offset);
        path.loads.push(address);
        path.write(rt, value, Width(64));
        Ok(())
    }

    fn loaded(&self, reference: Reference) -> Value {
        let [low, high] = self.initial.cell;
        if reference.bits > 64 { [low, high] } else { [low.low(reference.bits), Word::ZERO] }
    }

    /// The access as far as it has only loaded. Each side has its own kind, and one of them.
    fn begin(&mut self, path: &mut Path, reference: Reference, of: Side) -> Result<(), Cause> {
        if path.access.is_some() || self.side != of || self.kind == AccessKind::Loads {
            return Err(Cause::Access);
        }
        path.access = Some(Access {
            address: path.read(reference.base, Width(64)),
            bits: reference.bits,
            acquire: reference.acquire,
            release: false,
            stored: false,
            value: self.loaded(reference),
        });
        Ok(())
    }

    fn store_exclusive(
        &mut self,
        path: &mut Path,
        reference: Reference,
        rs: Register,
        value: Value,
    ) -> Result<(), Cause> {
        let address = path.read(reference.base, Width(64));
        let Some(access) = path.access.as_mut().filter(|_| path.armed) else { return Err(Cause::Unpaired) };
        if access.address != address || access.bits != reference.bits {
            return Err(Cause::Unpaired);
        }
        if !path.after.is_empty() {
            return Err(Cause::Barrier);
        }
        (access.stored, access.release, access.value) = (true, reference.release, value);
        path.armed = false;
        path.write(rs, Word::ZERO, Width(32));
        Ok(())
    }

    fn update(
        &mut self,
        path: &mut Path,
        reference: Reference,
        change: AtomicOp,
        rs: Register,
        rt: Register,
    ) -> Result<(), Cause> {
        if rt == ZERO {
            return Err(Cause::ZeroDestination);
        }
        if self.guesses() {
            return Err(Cause::Access);
        }
        let bits = reference.bits;
        let (cell, operand) = (self.loaded(reference)[0], path.read(rs, Width(bits)));
        self.begin(path, reference, Side::New)?;
        let graph = &mut *self.graph;
        let value = match change {
            AtomicOp::Swap => operand,
            AtomicOp::Add => graph.sum(&cell, &operand, FALSE, bits).word,
            AtomicOp::Clear => graph.and_words(&cell, &operand.complement()),
            AtomicOp::Xor => graph.xor_words(&cell, &operand),
            AtomicOp::Set => graph.or_words(&cell, &operand),
            AtomicOp::Maximum { signed } => {
                let less = less(graph, &cell, &operand, bits, signed);
                graph.choose_word(less, &operand, &cell)
            }
            AtomicOp::Minimum { signed } => {
                let less = less(graph, &cell, &operand, bits, signed);
                graph.choose_word(less, &cell, &operand)
            }
        };
        if let Some(access) = &mut path.access {
            (access.stored, access.release) = (true, reference.release);
            access.value = [value.low(bits), Word::ZERO];
        }
        path.write(rt, cell, Width(64));
        Ok(())
    }

    /// What follows the load: the two paths.
    fn compare_and_swap(
        &mut self,
        path: &mut Path,
        reference: Reference,
        expected: Value,
        value: Value,
    ) -> Option<Path> {
        let [low, high] = self.loaded(reference);
        let (low, high) = (self.graph.equal(&low, &expected[0]), self.graph.equal(&high, &expected[1]));
        let equal = self.graph.and(low, high);
        let (stores, mut other) = path.split(self.graph, equal);
        path.fails = !stores;
        if let Some(other) = &mut other {
            other.fails = true;
        }
        if let Some(access) = path.access.as_mut().filter(|_| stores) {
            (access.stored, access.release, access.value) = (true, reference.release, value);
        }
        other
    }
}

/// As a compiler compares them: bytes and halfwords extended to words.
fn less(graph: &mut Graph, a: &Word, b: &Word, bits: usize, signed: bool) -> Lit {
    let extended = |word: &Word| if signed { word.sign_extended(bits) } else { word.low(bits) };
    graph.less(&extended(a), &extended(b), bits.max(32), signed)
}

fn operand_value(path: &Path, operand: Operand, width: Width) -> Word {
    match operand {
        Operand::Value(value) => Word::constant(value).low(width.0),
        Operand::Shifted(rm, shift, by) => shifted(&path.read(rm, width), shift, by, width),
        Operand::Extended { rm, bits, signed, by } => {
            let value = path.read(rm, Width(64));
            let extended = if signed { value.sign_extended(bits) } else { value.low(bits) };
            extended.shifted_left(by).low(width.0)
        }
    }
}

/// `value` has zeros above `width`.
fn shifted(value: &Word, shift: Shift, by: usize, width: Width) -> Word {
    match shift {
        Shift::Left => value.shifted_left(by).low(width.0),
        Shift::Right => value.shifted_right(by),
        Shift::Arithmetic => Word::of(|bit| value.bit((bit + by).min(width.0 - 1))).low(width.0),
        Shift::Rotate => value.rotated_right(by, width.0),
    }
}

/// `sbfm`, `bfm`, `ubfm` (C6.2): the bits `immr..=imms` moved down, or `0..=imms` moved up to `width - immr`.
fn bitfield(from: &Word, into: &Word, field: Field, width: Width, immr: usize, imms: usize) -> Word {
    let (length, at, taken) = match imms.checked_sub(immr) {
        Some(more) => (more + 1, 0, from.shifted_right(immr)),
        None => (imms + 1, width.0 - immr, *from),
    };
    match field {
        Field::Unsigned => taken.low(length).shifted_left(at),
        Field::Signed => taken.sign_extended(length).shifted_left(at),
        Field::Insert => Word::of(|bit| match bit.checked_sub(at) {
            Some(offset) if offset < length => taken.bit(offset),
            _ => into.bit(bit),
        }),
    }
}
