//! Patch stage: what may stand in the place of a load-exclusive/store-exclusive sequence.
//!
//! In: the words around a load-exclusive. Out: a [`Proposal`]: the words to replace, and replacements to try, the likeliest
//! first. Nothing here has to be right: each is proven before it is taken. All keep the sequence's arithmetic, which runs again
//! behind the atomic on the same inputs. The status register is the scratch register: it is never live into a sequence. The
//! plain replacements leave 0 in it, as the sequence does, so that no register needs to be dead; the lossy ones leave other
//! values in registers that often are.

mod longer;
mod pair;

pub(crate) use longer::{measure, propose_longer, retrying};

use crate::semantics::encode::{self, NOP, Prepare};
use crate::semantics::{
    Change, Field, Insn, Logic, Operand, Reference, Register, Shift, Test, Width, ZERO, decode,
};
use std::fmt;

/// Words of a body; compilers write at most five.
const BODY: usize = 16;
/// Words looked at behind the store-exclusive, up to the test of its status.
const TAIL: usize = 4;

/// What to replace, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// How many words to replace, the load-exclusive being the first.
    pub(crate) length: usize,
    /// Words in their place, each as many.
    pub(crate) candidates: Vec<Vec<u32>>,
    /// More such, which leave other values in registers that are often dead.
    pub(crate) lossy: Vec<Vec<u32>>,
    /// What is compared with, or the operand, where that is a register.
    pub(crate) operand: Option<Register>,
    /// Whether LSE ignores the operand's higher bits, where the sequence may not.
    pub(crate) is_narrow: bool,
    /// Where it goes on after a failed comparison, in words from the load-exclusive.
    pub(crate) ways_out: Vec<i64>,
}

/// Why there is nothing to propose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoShape {
    /// A pair of registers, which `casp` takes only as an even one and the next.
    Pair,
    /// A pair of registers that is stored back as it was loaded.
    StoresBack,
    /// The store-exclusive does not follow the load-exclusive in a short run of words.
    Apart,
    /// An access, a call or an instruction that is not understood, between the exclusives.
    Body,
    /// A branch inside, that does not leave.
    BranchInside,
    /// What is stored is not what one LSE instruction makes of what was loaded.
    Operation,
    /// The address register is overwritten on the way.
    Base,
    /// The replacement is longer.
    NoRoom,
}

impl fmt::Display for NoShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoShape::Pair => {
                "two registers: they are no pairs as casp needs them, and there is no room to move them"
            }
            NoShape::StoresBack => {
                "two registers, stored back as they were loaded: casp need not store, and then orders less"
            }
            NoShape::Apart => "the store-exclusive does not follow the load-exclusive closely",
            NoShape::Body => {
                "a memory access, a call, a barrier or an unknown instruction between the exclusives"
            }
            NoShape::BranchInside => "a branch inside the sequence",
            NoShape::Operation => "no LSE instruction computes what is stored",
            NoShape::Base => "the address register is overwritten on the way",
            NoShape::NoRoom => "the replacement is longer than the sequence",
        })
    }
}

/// What a replacement does to the status register.
#[derive(Clone, Copy)]
enum Status {
    /// 0 in it, and flags as of a comparison with 0.
    Zero { flags: bool },
    /// Nothing more.
    Left,
}

/// An instruction between the exclusives.
#[derive(Clone, Copy)]
struct Step {
    insn: Insn,
    word: u32,
    /// Where a branch leads, in words from the load-exclusive.
    to: Option<i64>,
}

/// A sequence as compilers lay it out: the load-exclusive, a body, the store-exclusive, and what tests its status.
struct Sequence<'a> {
    words: &'a [u32],
    /// Index of the store-exclusive.
    store: usize,
    /// One past its last word.
    end: usize,
    /// Both orders together.
    reference: Reference,
    old: Register,
    new: Register,
    /// Of a pair of registers the second ones, loaded and stored.
    high: Option<[Register; 2]>,
    status: Register,
    body: Vec<Step>,
    /// Words behind the store-exclusive that have nothing to do with its status.
    tail: Vec<u32>,
    /// Whether the status is compared with 0, so that flags tell of it.
    compares_status: bool,
    /// Where it goes on, if not behind its end.
    goes_to: Option<i64>,
}

/// The one access of a replacement, and what stands before it.
struct Atomic {
    /// Instructions of the body that run before it instead of behind it: none, or all.
    hoists: bool,
    setup: Option<u32>,
    word: u32,
    /// The register that only has to be right in its low bits if it is known to be extended.
    operand: Option<Register>,
}

/// What may replace the sequence that begins with the load-exclusive `words[0]`.
///
/// # Errors
/// [`NoShape`], where it is none of the shapes that are understood.
pub(crate) fn propose(words: &[u32]) -> Result<Proposal, NoShape> {
    if pair::stores_back(words) {
        return Err(NoShape::StoresBack);
    }
    let sequence = Sequence::read(words)?;
    if let Some(high) = sequence.high {
        return pair::propose(&sequence, high);
    }
    let exit = sequence.body.iter().position(|step| step.to.is_some());
    let atomics = match exit {
        Some(at) => sequence.compare_and_swaps(at),
        None => sequence.updates(),
    };
    if atomics.is_empty() {
        return Err(NoShape::Operation);
    }
    let candidates: Vec<Vec<u32>> = atomics.iter().flat_map(|atomic| sequence.assemble(atomic)).collect();
    let lossy: Vec<Vec<u32>> = exit.map_or_else(Vec::new, |exit| sequence.making_new_first(exit));
    if candidates.is_empty() && lossy.is_empty() {
        return Err(NoShape::NoRoom);
    }
    let operand = atomics.iter().find_map(|atomic| atomic.operand);
    Ok(Proposal {
        length: sequence.end,
        candidates,
        lossy,
        operand,
        is_narrow: sequence.reference.bits < 32,
        ways_out: sequence.body.iter().filter_map(|step| step.to).collect(),
    })
}

impl Sequence<'_> {
    fn read(words: &[u32]) -> Result<Sequence<'_>, NoShape> {
        let word_at = |at: usize| words.get(at).copied().ok_or(NoShape::Apart);
        let (reference, old, second) = match decode(word_at(0)?) {
            Ok(Insn::LoadExclusive { reference, rt }) => (reference, rt, None),
            Ok(Insn::LoadExclusivePair { reference, rt: [rt, second] }) => (reference, rt, Some(second)),
            _ => return Err(NoShape::Body),
        };
        let (mut body, mut at) = (Vec::new(), 1);
        let (stored, status, new, second_new) = loop {
            if at > BODY {
                return Err(NoShape::Apart);
            }
            let word = word_at(at)?;
            match decode(word) {
                Ok(Insn::StoreExclusive { reference, rs, rt }) => break (reference, rs, rt, None),
                Ok(Insn::StoreExclusivePair { reference, rs, rt: [rt, second] }) => {
                    break (reference, rs, rt, Some(second));
                }
                Ok(Insn::LoadExclusive { .. } | Insn::LoadExclusivePair { .. }) => {
                    return Err(NoShape::Apart);
                }
                Ok(Insn::Barrier(_) | Insn::ClearExclusive) | Err(_) => return Err(NoShape::Body),
                Ok(Insn::Branch { test: Test::Always, .. }) => return Err(NoShape::BranchInside),
                Ok(Insn::Branch { offset, .. }) => {
                    let (step, next) = way_out(words, at, offset).ok_or(NoShape::BranchInside)?;
                    body.push(step);
                    at = next;
                    continue;
                }
                Ok(insn) => body.push(Step { insn, word, to: None }),
            }
            at += 1;
        };
        let high = second.zip(second_new).map(|(old, new)| [old, new]);
        let is_partner = high.is_some() || second.is_none() && second_new.is_none();
        if !is_partner || (stored.bits, stored.base) != (reference.bits, reference.base) {
            return Err(NoShape::Apart);
        }
        let overwrites_base = |step: &Step| step.insn.destination() == Some(reference.base);
        if [Some(old), second].contains(&Some(reference.base)) || body.iter().any(overwrites_base) {
            return Err(NoShape::Base);
        }
        let reference = Reference { acquire: reference.acquire, release: stored.release, ..reference };
        let mut sequence = Sequence {
            words,
            store: at,
            end: at + 1,
            reference,
            old,
            new,
            high,
            status,
            body,
            tail: Vec::new(),
            compares_status: false,
            goes_to: None,
        };
        sequence.find_end();
        let stays_inside = |to: i64| to > 0 && to < sequence.end as i64;
        match sequence.body.iter().filter_map(|step| step.to).any(stays_inside) {
            true => Err(NoShape::BranchInside),
            false => Ok(sequence),
        }
    }

    /// Takes in what tests the status, and what lies between.
    fn find_end(&mut self) {
        let mut tail = Vec::new();
        for at in self.store + 1..=self.store + TAIL {
            let Some(&word) = self.words.get(at) else { return };
            let Ok(insn) = decode(word) else { return };
            match insn {
                Insn::Branch { test: Test::Bits { rt, from: 0, bits: 32.., set }, offset }
                    if rt == self.status =>
                {
                    (self.tail, self.end) = (tail, at + 1);
                    if !set {
                        self.goes_to = Some(at as i64 + offset);
                        // `b` back to the load-exclusive: its place is free.
                        let next = self.words.get(at + 1).map(|&word| decode(word));
                        if matches!(next, Some(Ok(Insn::Branch { test: Test::Always, .. }))) {
                            self.end += 1;
                        }
                    }
                    return;
                }
                Insn::AddSubtract {
                    subtract: true,
                    flags: true,
                    rd: ZERO,
                    rn,
                    operand: Operand::Value(0) | Operand::Shifted(ZERO, ..),
                    ..
                } if rn == self.status => {
                    (self.tail, self.end, self.compares_status) = (tail, at + 1, true);
                    return;
                }
                Insn::Branch { .. } => return,
                _ if insn.destination().is_none() || insn.reads(self.status) => return,
                _ if insn.destination() == Some(self.status) => return,
                _ => tail.push(word),
            }
        }
    }

    fn width(&self) -> Width {
        Width(self.reference.bits.max(32))
    }

    /// Whether a register holds the loaded value at an index of the body, or what an extension made of it.
    fn is_old(&self, register: Register, before: usize) -> bool {
        match self.made_by(register, before) {
            None => register == self.old,
            Some((at, Insn::Bitfield { rn, immr: 0, .. })) => self.is_old(*rn, at),
            Some((
                at,
                Insn::Logical {
                    logic: Logic::And,
                    flags: false,
                    rn,
                    operand: Operand::Value(0xff | 0xffff | 0xffff_ffff),
                    ..
                },
            )) => self.is_old(*rn, at),
            Some(_) => false,
        }
    }

    /// The last instruction of the body before an index that writes a register.
    fn made_by(&self, register: Register, before: usize) -> Option<(usize, &Insn)> {
        let body = self.body.get(..before)?.iter().map(|step| &step.insn).enumerate();
        body.rev().find(|(_, insn)| insn.destination() == Some(register) && register != ZERO)
    }

    /// For a sequence that leaves by the branch `exit` of its body where the loaded value is not as expected.
    fn compare_and_swaps(&self, exit: usize) -> Vec<Atomic> {
        let Some(expected) = self.expected(exit) else { return Vec::new() };
        let word = encode::compare_and_swap(self.reference, self.old, self.new);
        let operand = expected.register();
        let atomic = |setup: u32| Atomic { hoists: false, setup: Some(setup), word, operand };
        self.setups(expected).map(atomic).collect()
    }

    /// Instructions that bring what is compared with to where the loaded value comes.
    fn setups(&self, expected: Operand) -> impl Iterator<Item = u32> {
        let operands = operands(expected, self.reference.bits).into_iter();
        operands.filter_map(|operand| encode::prepare(Prepare::AsIs, self.width(), self.old, operand))
    }

    /// For a compare-and-swap whose new value is made between the exclusives: it has to be made before, where nothing may
    /// need what it overwrites.
    fn making_new_first(&self, exit: usize) -> Vec<Vec<u32>> {
        let Some(expected) = self.expected(exit) else { return Vec::new() };
        let (Some(before), Some(making)) = (self.body.get(..=exit), self.body.get(exit + 1..)) else {
            return Vec::new();
        };
        let is_made = making.iter().any(|step| step.insn.destination() == Some(self.new));
        if !is_made || making.iter().any(|step| step.insn.reads(self.old) || step.to.is_some()) {
            return Vec::new();
        }
        let words = || making.iter().map(|step| step.word);
        let again: Vec<Step> = before.iter().chain(making).copied().collect();
        let cas = |new| encode::compare_and_swap(self.reference, self.old, new);
        let zero = Status::Zero { flags: false };
        let mut found = Vec::new();
        for setup in self.setups(expected) {
            if self.new != self.old {
                let last = [setup, cas(self.new)];
                found.push(self.finish(words().chain(last).collect(), before, zero));
            }
            // In the status register, and again in its own place.
            if let [Step { word, .. }] = making {
                let first = vec![word & !31 | u32::from(self.status.0 & 31), setup, cas(self.status)];
                found.push(self.finish(first.clone(), &again, zero));
                found.push(self.finish(first, &again, Status::Left));
            }
            // Over what it is compared with, which the status register then keeps for the comparison.
            let overwritten = expected
                .register()
                .filter(|&register| making.iter().any(|step| step.insn.destination() == Some(register)));
            if let Some(register) = overwritten.filter(|_| self.new != self.old) {
                let kept = encode::copy(Width(64), self.status, register);
                let first = [kept, setup].into_iter().chain(words()).chain([cas(self.new)]).collect();
                let compared = before.iter().map(|step| match step.insn {
                    Insn::AddSubtract {
                        operand: Operand::Shifted(..) | Operand::Extended { .. }, ..
                    } => Step { word: encode::with_source(step.word, register, self.status), ..*step },
                    _ => *step,
                });
                found.push(self.finish(first, &compared.collect::<Vec<_>>(), Status::Left));
            }
        }
        found.into_iter().flatten().collect()
    }

    /// A whole replacement: what comes up to the access, the steps behind it, and what becomes of the status register.
    fn finish(&self, first: Vec<u32>, steps: &[Step], status: Status) -> Option<Vec<u32>> {
        let mut new = first;
        for step in steps {
            new.push(match step.to {
                Some(to) => encode::retargeted(step.word, to - new.len() as i64)?,
                None => step.word,
            });
        }
        match status {
            Status::Zero { flags } => new.push(encode::zero(self.status, flags)),
            Status::Left => {}
        }
        new.extend(&self.tail);
        if let Some(to) = self.goes_to.filter(|&to| to != self.end as i64) {
            new.push(encode::branch(to - new.len() as i64)?);
        }
        if new.len() > self.end {
            return None;
        }
        new.resize(self.end, NOP);
        Some(new)
    }

    /// What the loaded value is compared with.
    fn expected(&self, exit: usize) -> Option<Operand> {
        const NOT_EQUAL: u8 = 1;
        match &self.body.get(exit)?.insn {
            Insn::Branch { test: Test::Bits { rt, from: 0, bits, set: true }, .. }
                if *bits >= self.width().0 =>
            {
                if self.is_old(*rt, exit) {
                    return Some(Operand::Value(0));
                }
                let (at, insn) = self.made_by(*rt, exit)?;
                match *insn {
                    Insn::Logical { logic: Logic::Xor, invert: false, rn, operand, .. } => {
                        self.other(rn, operand, at)
                    }
                    Insn::AddSubtract { subtract: true, rn, operand, .. } => self.other(rn, operand, at),
                    _ => None,
                }
            }
            Insn::Branch { test: Test::Condition(NOT_EQUAL), .. } => {
                let mut before = self.body.get(..exit)?.iter().map(|step| &step.insn).enumerate().rev();
                let (at, insn) = before.find(|(_, insn)| insn.sets_flags())?;
                match *insn {
                    Insn::AddSubtract { subtract: true, rn, operand, .. } => self.other(rn, operand, at),
                    Insn::AddSubtract { subtract: false, rn, operand: Operand::Value(value), .. } => {
                        self.is_old(rn, at).then_some(Operand::Value(value.wrapping_neg()))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Of two operands the one that is not the loaded value.
    fn other(&self, rn: Register, operand: Operand, at: usize) -> Option<Operand> {
        match operand {
            _ if self.is_old(rn, at) => Some(operand),
            Operand::Shifted(rm, Shift::Left, 0) if self.is_old(rm, at) => {
                Some(Operand::Shifted(rn, Shift::Left, 0))
            }
            Operand::Extended { rm, by: 0, .. } if self.is_old(rm, at) => {
                Some(Operand::Shifted(rn, Shift::Left, 0))
            }
            _ => None,
        }
    }

    /// For a sequence that always stores.
    fn updates(&self) -> Vec<Atomic> {
        let plain = |register: Register| Operand::Shifted(register, Shift::Left, 0);
        let Some((at, insn)) = self.maker(self.new, self.body.len()) else {
            return match self.new == self.old {
                true => self.update(Change::Add, plain(ZERO), Prepare::AsIs, false),
                false => self.update(Change::Swap, plain(self.new), Prepare::AsIs, false),
            };
        };
        let made = match *insn {
            Insn::AddSubtract { subtract, rn, operand, .. } => {
                let prepare = if subtract { Prepare::Negate } else { Prepare::AsIs };
                let other = if subtract && !self.is_old(rn, at) { None } else { self.other(rn, operand, at) };
                other.map(|other| self.update(Change::Add, other, prepare, false))
            }
            // `mvn`: all bits change.
            Insn::Logical {
                logic: Logic::Or,
                invert: true,
                rn: ZERO,
                operand: Operand::Shifted(rm, Shift::Left, 0),
                ..
            } if self.is_old(rm, at) => {
                Some(self.update(Change::Xor, Operand::Value(u64::MAX), Prepare::AsIs, false))
            }
            Insn::Logical { logic, invert, rn, operand, .. } => {
                let other = match invert && logic != Logic::Xor && !self.is_old(rn, at) {
                    true => None,
                    false => self.other(rn, operand, at),
                };
                let (change, inverts) = match logic {
                    Logic::And => (Change::Clear, !invert),
                    Logic::Or => (Change::Set, invert),
                    Logic::Xor => (Change::Xor, invert),
                };
                let prepare = if inverts { Prepare::Invert } else { Prepare::AsIs };
                other.map(|other| self.update(change, other, prepare, false))
            }
            Insn::Select { rn, rm, .. } => {
                let other = if self.is_old(rn, at) { rm } else { rn };
                let signs = [true, false].into_iter();
                let changes =
                    signs.flat_map(|signed| [Change::Maximum { signed }, Change::Minimum { signed }]);
                Some(
                    changes
                        .flat_map(|change| self.update(change, plain(other), Prepare::AsIs, false))
                        .collect(),
                )
            }
            _ => None,
        };
        let hoisted = || match self.depends_on_old() {
            true => Vec::new(),
            false => self.update(Change::Swap, plain(self.new), Prepare::AsIs, true),
        };
        made.filter(|made: &Vec<Atomic>| !made.is_empty()).unwrap_or_else(hoisted)
    }

    /// The instruction that makes what is stored, extensions aside.
    fn maker(&self, register: Register, before: usize) -> Option<(usize, &Insn)> {
        let (at, insn) = self.made_by(register, before)?;
        match insn {
            Insn::Bitfield { field: Field::Unsigned | Field::Signed, rn, immr: 0, imms, .. }
                if imms + 1 >= self.reference.bits && !self.is_old(*rn, at) =>
            {
                self.maker(*rn, at)
            }
            _ => Some((at, insn)),
        }
    }

    fn depends_on_old(&self) -> bool {
        self.body.iter().any(|Step { insn, .. }| insn.reads(self.old) || insn.destination() == Some(self.old))
    }

    fn update(&self, change: Change, operand: Operand, prepare: Prepare, hoists: bool) -> Vec<Atomic> {
        // The zero register would be no load.
        let rt = if self.old == ZERO { self.status } else { self.old };
        let low = operand.register();
        let direct = operands(operand, self.reference.bits).into_iter().find_map(|operand| match operand {
            Operand::Shifted(register, Shift::Left, 0) if prepare == Prepare::AsIs => Some(register),
            _ => None,
        });
        let made = |setup, rs| Atomic {
            hoists,
            setup,
            word: encode::update(change, self.reference, rs, rt),
            operand: low,
        };
        if let Some(rs) = direct {
            return vec![made(None, rs)];
        }
        let scratch = operands(operand, self.reference.bits)
            .into_iter()
            .filter_map(|operand| encode::prepare(prepare, self.width(), self.status, operand));
        scratch.map(|word| made(Some(word), self.status)).collect()
    }

    /// The words of a replacement; several where it is not clear what has to become of the flags.
    fn assemble(&self, atomic: &Atomic) -> Vec<Vec<u32>> {
        let finishes: &[bool] = if self.compares_status { &[false, true] } else { &[false] };
        finishes.iter().filter_map(|&flags| self.assemble_one(atomic, flags)).collect()
    }

    fn assemble_one(&self, atomic: &Atomic, flags: bool) -> Option<Vec<u32>> {
        let access = atomic.setup.into_iter().chain([atomic.word]);
        match atomic.hoists {
            true => {
                let first = self.body.iter().map(|step| step.word).chain(access).collect();
                self.finish(first, &[], Status::Zero { flags })
            }
            false => self.finish(access.collect(), &self.body, Status::Zero { flags }),
        }
    }
}

/// Whether a sequence writes a register and may then go back, to its own start or before that. Behind the store-exclusive
/// it only goes back where that failed.
pub(crate) fn goes_back_with_another(words: &[u32], register: Register) -> bool {
    let mut is_written = false;
    for (&word, at) in words.iter().zip(0_i64..) {
        match decode(word) {
            Ok(Insn::StoreExclusive { .. } | Insn::StoreExclusivePair { .. }) => break,
            Ok(Insn::Branch { offset, .. }) if is_written && at + offset <= 0 => return true,
            Ok(Insn::LoadExclusive { rt, .. }) => is_written |= rt == register,
            Ok(Insn::LoadExclusivePair { rt, .. }) => is_written |= rt.contains(&register),
            Ok(insn) => is_written |= insn.destination() == Some(register),
            Err(_) => return true,
        }
    }
    false
}

/// Where branches among some words lead, in words from the first.
pub(crate) fn exits(words: &[u32]) -> impl Iterator<Item = i64> {
    words.iter().zip(0_i64..).filter_map(|(&word, at)| match decode(word) {
        Ok(Insn::Branch { offset, .. }) => Some(at + offset),
        _ => None,
    })
}

/// The registers that some words write: bit n is xn.
pub(crate) fn written(words: &[u32]) -> u32 {
    let registers = words.iter().filter_map(|&word| decode(word).ok()).flat_map(|insn| match insn {
        Insn::LoadExclusive { rt, .. } | Insn::Update { rt, .. } => [Some(rt), None],
        Insn::StoreExclusive { rs, .. }
        | Insn::StoreExclusivePair { rs, .. }
        | Insn::CompareAndSwap { rs, .. } => [Some(rs), None],
        Insn::LoadExclusivePair { rt: pair, .. } | Insn::CompareAndSwapPair { rs: pair, .. } => {
            pair.map(Some)
        }
        insn => [insn.destination(), None],
    });
    let registers = registers.flatten();
    registers.filter(|register| register.0 < 31).fold(0, |all, register| all | 1 << register.0)
}

/// The branch at an index of the words as a way out, and the index where the body goes on. gcc and clang also write the
/// opposite branch over the way out: `cbz old, on; clrex; b out; on:`.
fn way_out(words: &[u32], at: usize, offset: i64) -> Option<(Step, usize)> {
    let word = *words.get(at)?;
    let to = at as i64 + offset;
    let between = usize::try_from(to).ok().and_then(|to| words.get(at + 1..to)).unwrap_or_default();
    let (word, out, next) = match between.iter().map(|&word| decode(word)).collect::<Vec<_>>()[..] {
        [Ok(Insn::Branch { test: Test::Always, offset })] => {
            (encode::inverted(word)?, at as i64 + 1 + offset, at + 2)
        }
        [Ok(Insn::ClearExclusive), Ok(Insn::Branch { test: Test::Always, offset })] => {
            (encode::inverted(word)?, at as i64 + 2 + offset, at + 3)
        }
        _ => (word, to, at + 1),
    };
    Some((Step { insn: decode(word).ok()?, word, to: Some(out) }, next))
}

/// An operand, and where its extension goes beyond the bits that count, the register itself first.
fn operands(operand: Operand, bits: usize) -> Vec<Operand> {
    match operand {
        Operand::Extended { rm, bits: extended, by: 0, .. } if extended >= bits => {
            vec![Operand::Shifted(rm, Shift::Left, 0), operand]
        }
        _ => vec![operand],
    }
}
