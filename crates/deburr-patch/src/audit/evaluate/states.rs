//! Patch stage, audit, evaluate: the states that both sides run from.
//!
//! In: what the operations of both sides read and which constants they have. Out: one [`World`] after another, the same in
//! every run. A random value never equals another one by chance. So values are drawn from a pool of one to four, with
//! repetition, and each may be changed a little: cut to a size, a bit flipped, a constant of the code added. States of the
//! first kind have nothing but values at the ends of each size.

use super::operation::Operation;
use super::program::Program;
use super::question::Known;
use super::values::{low, signed};

/// Failed tries before the one that succeeds.
pub(crate) const MAX_TRIES: usize = 2;
/// Values that plain loads read.
pub(crate) const MAX_LOADS: usize = 4;

/// What a run meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct World {
    /// The general registers, then the stack pointer.
    pub(crate) registers: [u64; 32],
    /// N, Z, C, V in bits 3 to 0.
    pub(crate) flags: u8,
    /// What memory holds where a try succeeds, the low 8 bytes first.
    pub(crate) memory: [u64; 2],
    /// What it holds in the tries before: another observer writes between them.
    pub(crate) earlier: [[u64; 2]; MAX_TRIES],
    /// What plain loads read in these tries, before another observer writes.
    pub(crate) guesses: [u64; MAX_TRIES],
    /// How many tries fail.
    pub(crate) failures: usize,
    /// What is in the registers that a failed try has written, by number; `None`: what it has written.
    pub(crate) garbage: Option<[u64; 32]>,
    /// What plain loads read, in their order.
    pub(crate) loads: [u64; MAX_LOADS],
}

/// Numbers that are the same in every run: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 32) as usize % end.max(1)
    }

    fn pick<T: Copy>(&mut self, from: &[T], other: T) -> T {
        let index = self.below(from.len());
        from.get(index).copied().unwrap_or(other)
    }
}

const SIZES: [u32; 4] = [8, 16, 32, 64];

/// What a state has a value for.
#[derive(Clone, Copy)]
enum Input {
    Register(usize),
    Memory(usize),
}

/// The states of one evaluation.
pub(crate) struct States {
    random: Random,
    world: World,
    /// Registers that an operation names: the others cannot change.
    named: Vec<usize>,
    /// What the boundary states set: what is computed with before anything else is in it.
    inputs: Vec<Input>,
    /// Values at the ends of the sizes that are accessed.
    ends: Vec<u64>,
    /// Constants of the code, and those next to them.
    constants: Vec<u64>,
    known: Vec<Known>,
    /// Whether a side has failed tries of its own, with registers that they write.
    retries: bool,
    count: u64,
}

impl States {
    pub(crate) fn new(sides: [&Program; 2], known: &[Known]) -> States {
        let operations = || sides.into_iter().flat_map(|side| &side.operations);
        let numbers = |set: u64| (0..32_usize).filter(move |number| set >> number & 1 != 0);
        let all = |part: fn(&Operation) -> u64| operations().fold(0, |all, operation| all | part(operation));
        let read = sides.into_iter().fold(0, |all, side| all | read_first(&side.operations));
        let mut inputs: Vec<Input> = numbers(read).map(Input::Register).collect();
        let cells = if accessed(operations()).contains(&128) { 2 } else { 1 };
        inputs.extend((0..cells).map(Input::Memory));
        let mut random = Random(0x6465_6275_7272);
        let mut constants: Vec<u64> = operations().filter_map(Operation::constant).collect();
        constants.sort_unstable();
        constants.dedup();
        let mut ends = vec![0, 1, u64::MAX, 1 << 63];
        for bits in accessed(operations()).into_iter().map(|bits| bits.min(64)) {
            ends.extend([1 << (bits - 1), low(u64::MAX, bits), low(u64::MAX, bits) >> 1]);
        }
        ends.sort_unstable();
        ends.dedup();
        let world = World {
            registers: std::array::from_fn(|_| random.next()),
            flags: 0,
            memory: [0; 2],
            earlier: [[0; 2]; MAX_TRIES],
            guesses: [0; MAX_TRIES],
            failures: 0,
            garbage: None,
            loads: [0; MAX_LOADS],
        };
        let named = all(Operation::inputs) | all(Operation::outputs) | all(Operation::bases);
        let (named, known) = (numbers(named).collect(), known.to_vec());
        let retries = operations().any(|operation| matches!(operation, Operation::Guess { .. }));
        States { random, world, named, inputs, ends, constants, known, retries, count: 0 }
    }

    /// How many states have values at the ends in what is read and in memory.
    pub(crate) fn boundary(&self) -> u64 {
        (self.ends.len() as u64).saturating_pow(self.inputs.len() as u32)
    }

    /// The next state with values at the ends, of so many in all: each of them where these are all, and else some that are
    /// spread over them.
    pub(crate) fn next_boundary(&mut self, wanted: u64) -> &World {
        let all = self.boundary();
        let radix = self.ends.len().max(1) as u64;
        // A step that has no divisor in common with their number visits none of them twice.
        let mut step = if all > wanted { all / wanted.max(1) } else { 1 };
        while (2..=radix).any(|divisor| radix.is_multiple_of(divisor) && step.is_multiple_of(divisor)) {
            step += 1;
        }
        let mut code = self.count.wrapping_mul(step) % all.max(1);
        self.count += 1;
        self.draw();
        for input in &self.inputs {
            let slot = match *input {
                Input::Register(number) => self.world.registers.get_mut(number),
                Input::Memory(half) => self.world.memory.get_mut(half),
            };
            if let (Some(slot), Some(value)) = (slot, self.ends.get((code % radix) as usize)) {
                *slot = *value;
            }
            code /= radix;
        }
        self.narrow()
    }

    /// The next state with values from a pool.
    pub(crate) fn next_random(&mut self) -> &World {
        self.draw();
        self.narrow()
    }

    fn draw(&mut self) {
        let pool: [u64; 4] = std::array::from_fn(|_| self.fresh());
        let pool = pool.get(..1 + self.random.below(4)).unwrap_or(&[]);
        for index in 0..self.named.len() {
            let value = self.value(pool);
            let number = self.named.get(index).copied().unwrap_or(0);
            if let Some(register) = self.world.registers.get_mut(number) {
                *register = value;
            }
        }
        self.world.flags = (self.random.next() >> 60) as u8;
        self.world.memory = self.cell(pool);
        self.world.earlier = std::array::from_fn(|_| self.cell(pool));
        self.world.guesses = std::array::from_fn(|_| self.value(pool));
        self.world.loads = std::array::from_fn(|_| self.value(pool));
        // In half of the states no try fails.
        let failures = 1 + self.random.below(2 * MAX_TRIES);
        self.world.failures = if failures > MAX_TRIES { 0 } else { failures };
        self.world.garbage = match self.retries && self.random.below(2) == 0 {
            true => Some(std::array::from_fn(|_| self.random.next())),
            false => None,
        };
    }

    /// Leaves what is known of registers true.
    fn narrow(&mut self) -> &World {
        for Known { register, zero_from } in &self.known {
            if let Some(register) = self.world.registers.get_mut(usize::from(*register)) {
                *register = if *zero_from == 0 { 0 } else { low(*register, u32::from(*zero_from)) };
            }
        }
        &self.world
    }

    /// A value for the pool.
    fn fresh(&mut self) -> u64 {
        match self.random.below(8) {
            0 => self.random.pick(&self.ends, 0),
            1 => self.random.pick(&[0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000], 0),
            2 => self.random.pick(&self.constants, 0),
            3 => {
                let constant = self.random.pick(&self.constants, 0);
                self.changed(constant)
            }
            4 => self.random.next() >> self.random.below(64),
            _ => self.random.next(),
        }
    }

    /// A value of the pool, often as it is.
    fn value(&mut self, pool: &[u64]) -> u64 {
        let value = self.random.pick(pool, 0);
        let bits = self.random.pick(&SIZES, 64);
        match self.random.below(8) {
            0 => low(value, bits),
            1 => self.changed(value),
            2 => low(self.changed(value), bits),
            _ => value,
        }
    }

    /// What memory holds: one value, or two of 8 or 4 bytes.
    fn cell(&mut self, pool: &[u64]) -> [u64; 2] {
        let (first, second) = (self.value(pool), self.value(pool));
        match self.random.below(4) {
            0 => [low(first, 32) | second << 32, self.value(pool)],
            _ => [first, second],
        }
    }

    /// A value close to another one.
    fn changed(&mut self, value: u64) -> u64 {
        let constant = self.random.pick(&self.constants, 1);
        let bits = self.random.pick(&SIZES, 64);
        match self.random.below(12) {
            0 => value.wrapping_add(1),
            1 => value.wrapping_sub(1),
            2 => value ^ 1 << self.random.below(64),
            3 => !value,
            4 => value.wrapping_neg(),
            5 => value.wrapping_add(constant),
            6 => value.wrapping_sub(constant),
            7 => value ^ constant,
            8 => value & constant,
            9 => value | constant,
            10 => signed(value, bits).cast_unsigned(),
            _ => value.rotate_left(self.random.below(64) as u32),
        }
    }
}

/// Registers that operations, one after another, compute with before any writes them.
fn read_first(operations: &[Operation]) -> u64 {
    let (mut read, mut written) = (0, 0);
    for operation in operations {
        read |= operation.inputs() & !written;
        written |= operation.outputs();
    }
    read
}

/// Bits of the accesses.
fn accessed<'o>(operations: impl Iterator<Item = &'o Operation>) -> Vec<u32> {
    let bits = operations.filter_map(|operation| match operation {
        Operation::LoadExclusive { access, .. }
        | Operation::Update { access, .. }
        | Operation::CompareSwap { access, .. } => Some(access.bits),
        _ => None,
    });
    let mut bits: Vec<u32> = bits.collect();
    bits.sort_unstable();
    bits.dedup();
    bits
}
