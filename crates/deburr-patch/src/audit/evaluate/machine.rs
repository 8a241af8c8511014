//! Patch stage, audit, evaluate: one side, run from one state.
//!
//! In: a [`Program`] and a [`World`]. Out: a [`Run`]: what it accessed in memory, what it leaves in registers and flags,
//! where it is left, and what it ordered; or the [`Fact`] that makes it unfit to be compared. A store-exclusive and a
//! compare-and-swap after a plain load fail as often as the world says, and memory holds something else after each time.
//! Control that comes back to the first instruction after the access has left: what follows is another run, from another
//! state.

use super::operation::{Access, Compute, Field, Held, Operation, Place, Right, Set, Test};
use super::order::{Order, Sources};
use super::program::Program;
use super::question::Manner;
use super::states::{MAX_TRIES, World};
use super::values::{bitfield, changed, compute, holds, low, shifted, signed, width};
use crate::subject::Fact;

/// Which code it is: each has its own accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// With exclusives, which fail as often as the world says if they are to.
    Old {
        may_fail: bool,
    },
    New,
}

/// The one access that counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Done {
    pub(crate) address: u64,
    pub(crate) bits: u32,
    pub(crate) acquires: bool,
    pub(crate) releases: bool,
    /// What memory held.
    pub(crate) found: [u64; 2],
    pub(crate) stored: Option<[u64; 2]>,
}

/// What a run leaves.
#[derive(Clone)]
pub(crate) struct Run {
    /// The general registers, then the stack pointer.
    pub(crate) registers: [u64; 32],
    pub(crate) flags: u8,
    pub(crate) order: Order,
    pub(crate) access: Option<Done>,
    /// Options of the barriers before the access and after it, 5 bits each, the last lowest.
    pub(crate) before: u64,
    pub(crate) after: u64,
    /// Addresses of plain loads.
    pub(crate) loads: Vec<u64>,
    pub(crate) leaves_to: Place,
    /// Whether it leaves after a store-exclusive that failed.
    pub(crate) gave_up: bool,
    /// Registers that a failed try has written, and the last one has not.
    pub(crate) left_over: Set,
}

impl Run {
    /// Whether it leaves to its own first instruction.
    pub(crate) fn is_back(&self) -> bool {
        matches!(self.leaves_to, Place::Inside(0) | Place::At(0))
    }

    /// Whether whatever follows is ordered after what was loaded: it acquires, or a barrier for loads or for all accesses
    /// follows.
    pub(crate) fn orders_what_follows(&self) -> bool {
        let options = (0..12).map(|index| self.after >> (5 * index) & 31);
        self.access.is_some_and(|access| access.acquires) || options.into_iter().any(|it| it & 1 != 0)
    }
}

/// What all runs of one side have been through, by instruction.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Seen {
    /// Branches, selections and conditional comparisons that turn on something, and compare-and-swaps.
    decides: u64,
    taken: u64,
    not_taken: u64,
    /// Store-exclusives.
    pub(crate) stores: u64,
}

impl Seen {
    /// Whether every decision was taken and not taken.
    pub(crate) fn is_complete(&self) -> bool {
        self.decides & !(self.taken & self.not_taken) == 0
    }

    fn decide(&mut self, index: usize, is_taken: bool) {
        let here = 1_u64.checked_shl(index as u32).unwrap_or(0);
        self.decides |= here;
        *(if is_taken { &mut self.taken } else { &mut self.not_taken }) |= here;
    }
}

pub(crate) struct Machine<'a> {
    world: &'a World,
    side: Side,
    manner: Manner,
    /// Whether this side tries a compare-and-swap after a plain load.
    retries: bool,
    seen: &'a mut Seen,
    run: Run,
    /// Tries that failed.
    failed: usize,
    /// Instructions of this try, and registers that it has written.
    visited: u64,
    written: Set,
    has_written_flags: bool,
    /// Address, bits and value of the plain load of this try.
    guess: Option<(u64, u32, u64)>,
    is_armed: bool,
    /// Whether the compare-and-swap of this try found something else.
    differs: bool,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(world: &'a World, side: Side, manner: Manner, seen: &'a mut Seen) -> Machine<'a> {
        Machine {
            world,
            side,
            manner,
            retries: false,
            seen,
            run: Run {
                registers: world.registers,
                flags: world.flags,
                order: Order::new(),
                access: None,
                before: 0,
                after: 0,
                loads: Vec::new(),
                leaves_to: Place::End,
                gave_up: false,
                left_over: 0,
            },
            failed: 0,
            visited: 0,
            written: 0,
            has_written_flags: false,
            guess: None,
            is_armed: false,
            differs: false,
        }
    }

    pub(crate) fn run(mut self, program: &Program) -> Result<Run, Fact> {
        self.retries = self.side == Side::New
            && self.manner.may_retry()
            && program.has(|operation| matches!(operation, Operation::Guess { .. }));
        let mut at = Place::Inside(0);
        loop {
            if matches!(at, Place::Inside(0) | Place::At(0)) && self.run.access.is_some() {
                if self.retries && self.differs {
                    self.try_again()?;
                    at = Place::Inside(0);
                } else if !self.run.gave_up {
                    break;
                }
            }
            let Place::Inside(index) = at else { break };
            let Some(operation) = program.operations.get(index) else { return Err(Fact::Exit) };
            let next = match index + 1 < program.operations.len() {
                true => Place::Inside(index + 1),
                false => program.next,
            };
            at = self.step(index, operation)?.unwrap_or(next);
        }
        if self.retries && self.differs {
            return Err(Fact::Retry);
        }
        self.run.left_over &= !self.written;
        self.run.leaves_to = at;
        Ok(self.run)
    }

    /// One instruction; where it goes, if not to the next one.
    fn step(&mut self, index: usize, operation: &Operation) -> Result<Option<Place>, Fact> {
        let here = 1_u64.checked_shl(index as u32).unwrap_or(0);
        if let Operation::LoadExclusive { .. } = operation
            && self.run.gave_up
        {
            // The next try.
            (self.run.access, self.run.gave_up, self.run.after) = (None, false, 0);
            self.run.left_over |= self.written;
            (self.visited, self.written) = (0, 0);
        }
        if self.visited & here != 0 {
            return Err(Fact::Endless);
        }
        self.visited |= here;
        let turns_on = self.run.order.sources(operation.inputs(), operation.reads_flags());
        let goes_to = match operation {
            Operation::Branch { test, to } => self.branch(index, *test, turns_on).then_some(*to),
            _ => {
                self.act(index, operation)?;
                None
            }
        };
        self.run.order.follow(operation);
        self.written |= operation.outputs();
        self.has_written_flags |= operation.writes_flags();
        Ok(goes_to)
    }

    fn branch(&mut self, index: usize, test: Test, turns_on: Sources) -> bool {
        let is_taken = match test {
            Test::Always => return true,
            Test::Condition(condition) => holds(condition, self.run.flags),
            Test::Bits { from, mask, is_set } => (self.read(from) & mask != 0) == is_set,
        };
        // What turns on nothing, as the status after success does, always goes the same way.
        if !turns_on.is_empty() {
            self.seen.decide(index, is_taken);
        }
        is_taken
    }

    fn act(&mut self, index: usize, operation: &Operation) -> Result<(), Fact> {
        match *operation {
            Operation::LoadExclusive { access, to } => {
                self.begin(access, true)?;
                self.is_armed = true;
                self.write_held(to, self.found(access.bits), access.bits);
            }
            Operation::StoreExclusive { access, status, from } => {
                self.store_exclusive(index, access, status, from)?;
            }
            Operation::Update { access, change, with, to } => {
                if self.retries {
                    return Err(Fact::Instruction);
                }
                let operand = self.read(with);
                self.begin(access, false)?;
                let found = self.found(access.bits);
                self.store([changed(change, found[0], operand, access.bits), 0], access.releases);
                self.write(to, found[0]);
            }
            Operation::CompareSwap { access, expected, from } => {
                self.compare_and_swap(index, access, expected, from)?;
            }
            Operation::Barrier(option) => self.barrier(option)?,
            Operation::ClearExclusive if self.manner == Manner::Loads => return Err(Fact::Instruction),
            Operation::ClearExclusive => self.is_armed = false,
            Operation::Guess { bits, to, base } => {
                if !self.retries || self.run.access.is_some() || self.guess.is_some() {
                    return Err(Fact::Instruction);
                }
                let found = match self.world.guesses.get(self.failed).filter(|_| self.is_failing()) {
                    Some(value) => low(*value, bits),
                    None => low(self.world.memory[0], bits),
                };
                self.guess = Some((self.read(base), bits, found));
                self.write(to, found);
            }
            Operation::Load { to, base, offset, moves } => {
                let address = self.read(base);
                let value = self.load(address.wrapping_add_signed(offset))?;
                self.write(to, value);
                if moves != 0 {
                    self.write(base, address.wrapping_add_signed(moves));
                }
            }
            Operation::LoadTwo { to: [first, second], offset } => {
                let address = self.read(super::operation::SP).wrapping_add_signed(offset);
                let values = [self.load(address)?, self.load(address.wrapping_add(8))?];
                self.write(first, values[0]);
                self.write(second, values[1]);
            }
            Operation::Select { condition, .. } | Operation::CompareIf { condition, .. } => {
                // Conditions 14 and 15 always hold.
                if condition < 14 && !self.run.order.flags.is_empty() {
                    self.seen.decide(index, holds(condition, self.run.flags));
                }
                self.calculate(operation);
            }
            _ => self.calculate(operation),
        }
        Ok(())
    }

    /// What takes part in registers and flags only.
    fn calculate(&mut self, operation: &Operation) {
        match *operation {
            Operation::Constant { to, value } => self.write(to, value),
            Operation::Keep { is_wide, to, at, value } => {
                let kept = self.read(to) & !(0xffff << at) | value;
                self.write(to, low(kept, width(is_wide)));
            }
            Operation::Compute { compute: by, is_wide, sets_flags, to, left, right } => {
                let (value, flags) = compute(by, self.read(left), self.right(right, is_wide), is_wide);
                self.write(to, value);
                if sets_flags {
                    self.run.flags = flags;
                }
            }
            Operation::Multiply { is_wide, subtracts, to, left, right, with } => {
                let product = self.read(left).wrapping_mul(self.read(right));
                let with = self.read(with);
                let value = if subtracts { with.wrapping_sub(product) } else { with.wrapping_add(product) };
                self.write(to, low(value, width(is_wide)));
            }
            Operation::Bitfield { field, is_wide, to, from, rotate, last } => {
                let into = if field == Field::Insert { self.read(to) } else { 0 };
                self.write(to, bitfield(field, self.read(from), into, (rotate, last), is_wide));
            }
            Operation::Extract { is_wide, to, high, low: below, at } => {
                let (width, high) = (width(is_wide), self.read(high));
                let below = low(self.read(below), width) >> at;
                let above = if at == 0 { 0 } else { high << (width - at) };
                self.write(to, low(above | below, width));
            }
            Operation::Select { is_wide, condition, inverts, increments, to, left, right } => {
                let right = if inverts { !self.read(right) } else { self.read(right) };
                let other = right.wrapping_add(u64::from(increments));
                let value = if holds(condition, self.run.flags) { self.read(left) } else { other };
                self.write(to, low(value, width(is_wide)));
            }
            Operation::CompareIf { is_wide, subtracts, condition, otherwise, left, right } => {
                let by = if subtracts { Compute::Subtract } else { Compute::Add };
                let (_, flags) = compute(by, self.read(left), self.right(right, is_wide), is_wide);
                self.run.flags = if holds(condition, self.run.flags) { flags } else { otherwise };
            }
            // No registers and no flags.
            _ => {}
        }
    }

    fn right(&self, right: Right, is_wide: bool) -> u64 {
        match right {
            Right::Value(value) => value,
            Right::Shifted { from, shift, by } => shifted(self.read(from), shift, by, is_wide),
            Right::Extended { from, bits, is_signed, by } => {
                let value = self.read(from);
                let value = if is_signed { signed(value, bits).cast_unsigned() } else { low(value, bits) };
                value << by
            }
        }
    }

    /// The zero register is not among the registers.
    fn read(&self, register: u8) -> u64 {
        self.run.registers.get(usize::from(register)).copied().unwrap_or(0)
    }

    fn write(&mut self, register: u8, value: u64) {
        if let Some(register) = self.run.registers.get_mut(usize::from(register)) {
            *register = value;
        }
    }

    fn read_held(&self, held: Held, bits: u32) -> [u64; 2] {
        match held.high {
            None => [low(self.read(held.low), bits), 0],
            Some(high) if bits == 64 => [low(self.read(held.low), 32) | self.read(high) << 32, 0],
            Some(high) => [self.read(held.low), self.read(high)],
        }
    }

    fn write_held(&mut self, held: Held, value: [u64; 2], bits: u32) {
        match held.high {
            None => self.write(held.low, value[0]),
            Some(high) if bits == 64 => {
                self.write(held.low, low(value[0], 32));
                self.write(high, value[0] >> 32);
            }
            Some(high) => {
                self.write(held.low, value[0]);
                self.write(high, value[1]);
            }
        }
    }

    /// Whether this try is one that fails.
    fn is_failing(&self) -> bool {
        self.failed < self.world.failures.min(MAX_TRIES)
    }

    /// What memory holds in this try.
    fn found(&self, bits: u32) -> [u64; 2] {
        let may_fail = self.retries || self.side == Side::Old { may_fail: true };
        let earlier = self.world.earlier.get(self.failed).filter(|_| may_fail && self.is_failing());
        let [first, second] = *earlier.unwrap_or(&self.world.memory);
        if bits > 64 { [first, second] } else { [low(first, bits), 0] }
    }

    /// The access as far as it has only loaded. Each side has its own kind, and one of them.
    fn begin(&mut self, access: Access, is_exclusive: bool) -> Result<(), Fact> {
        let is_own = is_exclusive == matches!(self.side, Side::Old { .. });
        if self.run.access.is_some() || !is_own || self.manner == Manner::Loads {
            return Err(Fact::Instruction);
        }
        self.run.access = Some(Done {
            address: self.read(access.base),
            bits: access.bits,
            acquires: access.acquires,
            releases: false,
            found: self.found(access.bits),
            stored: None,
        });
        Ok(())
    }

    fn store(&mut self, value: [u64; 2], releases: bool) {
        if let Some(access) = &mut self.run.access {
            (access.stored, access.releases) = (Some(value), releases);
        }
    }

    fn store_exclusive(&mut self, index: usize, access: Access, status: u8, from: Held) -> Result<(), Fact> {
        let (address, value) = (self.read(access.base), self.read_held(from, access.bits));
        let loaded = self.run.access.filter(|_| self.is_armed);
        if loaded.is_none_or(|loaded| (loaded.address, loaded.bits) != (address, access.bits)) {
            return Err(Fact::Monitor);
        }
        if self.run.after != 0 {
            return Err(Fact::Barrier);
        }
        self.seen.stores |= 1_u64.checked_shl(index as u32).unwrap_or(0);
        self.is_armed = false;
        let fails = self.side == Side::Old { may_fail: true } && self.is_failing();
        self.write(status, u64::from(fails));
        if fails {
            self.run.gave_up = true;
            self.failed += 1;
            self.visited = 0;
        } else {
            self.store(value, access.releases);
        }
        Ok(())
    }

    fn compare_and_swap(
        &mut self,
        index: usize,
        access: Access,
        expected: Held,
        from: Held,
    ) -> Result<(), Fact> {
        let wanted = self.read_held(expected, access.bits);
        let value = self.read_held(from, access.bits);
        if self.retries {
            // All that was loaded is compared, at its address.
            let guess = (self.read(access.base), access.bits, wanted[0]);
            if self.guess != Some(guess) || expected.high.is_some() {
                return Err(Fact::Monitor);
            }
        }
        self.begin(access, false)?;
        let found = self.found(access.bits);
        self.differs = found != wanted;
        self.seen.decide(index, !self.differs);
        if !self.differs {
            self.store(value, access.releases);
        }
        self.write_held(expected, found, access.bits);
        Ok(())
    }

    /// Back at the first instruction with a compare-and-swap that found something else.
    fn try_again(&mut self) -> Result<(), Fact> {
        if !self.is_failing() || self.run.before != 0 || self.run.after != 0 {
            return Err(Fact::Retry);
        }
        self.failed += 1;
        if let Some(garbage) = &self.world.garbage {
            let written = |number: usize| self.written >> number & 1 != 0;
            for (number, (register, garbage)) in self.run.registers.iter_mut().zip(garbage).enumerate() {
                *register = if written(number) { *garbage } else { *register };
            }
            if self.has_written_flags {
                self.run.flags = (garbage[0] & 15) as u8;
            }
        }
        // What the failed try orders is not counted.
        self.run.order = Order::new();
        (self.run.access, self.guess, self.differs) = (None, None, false);
        (self.visited, self.written, self.has_written_flags) = (0, 0, false);
        Ok(())
    }

    fn barrier(&mut self, option: u8) -> Result<(), Fact> {
        if self.manner == Manner::Arms {
            return Ok(());
        }
        let slot = if self.run.access.is_none() { &mut self.run.before } else { &mut self.run.after };
        if self.manner == Manner::Loads || self.retries || *slot >> 59 != 0 {
            return Err(Fact::Barrier);
        }
        *slot = *slot << 5 | 16 | u64::from(option);
        Ok(())
    }

    fn load(&mut self, address: u64) -> Result<u64, Fact> {
        if self.manner != Manner::Loads {
            return Err(Fact::Instruction);
        }
        let value = self.world.loads.get(self.run.loads.len()).copied().ok_or(Fact::Loads)?;
        self.run.loads.push(address);
        Ok(value)
    }
}
