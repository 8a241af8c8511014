//! A thread, and the state that it is in on its way.
//!
//! A value knows what it depends on; the events so far are in program order. [`super::thread`] runs the instructions.

use super::event::{Dependency, Event};

/// Locations, and how far they are apart.
pub(super) const LOCATIONS: usize = 3;
pub(super) const FIRST_LOCATION: u64 = 0x10_0000;
const APART: u64 = 0x1000;

/// The address of a location.
pub(super) fn address(location: usize) -> u64 {
    FIRST_LOCATION + location as u64 * APART
}

/// Instructions from an address on.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub(super) at: u64,
    pub(super) words: Vec<u32>,
}

/// A thread: begins at its first segment's first instruction, ends at `ret`.
#[derive(Debug, Clone)]
pub(super) struct Thread {
    pub(super) code: Vec<Segment>,
    /// Values of registers at the start; the others are 1. 31 is the stack pointer.
    pub(super) registers: Vec<(u32, u64)>,
}

/// What is left out of the runs: those with more tries than that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Limits {
    /// Store-exclusives that fail.
    pub(super) failures: u32,
    /// Branches back.
    pub(super) back: u32,
    /// Whether a compare-and-swap that fails may write back what it read, which the architecture leaves open.
    pub(super) writes_back: bool,
}

/// No store-exclusive fails. One branch back is what a loop has that is entered in its middle, or a compare-and-swap that is
/// tried twice.
pub(super) const ONCE: Limits = Limits { failures: 0, back: 1, writes_back: false };
/// The same where a compare-and-swap that fails may also write.
pub(super) const WRITING_BACK: Limits = Limits { writes_back: true, ..ONCE };
/// One store-exclusive fails.
pub(super) const ONE_FAILURE: Limits = Limits { failures: 1, back: 2, writes_back: false };

/// A value, and what it depends on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Value {
    pub(super) bits: u64,
    pub(super) dependency: Dependency,
}

#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) pc: u64,
    pub(super) registers: [Value; 31],
    sp: Value,
    /// N, Z, C, V from bit 3 down.
    pub(super) flags: Value,
    pub(super) control: Dependency,
    /// The read of the last load-exclusive, and its location.
    pub(super) monitor: Option<(usize, usize)>,
    pub(super) events: Vec<Event>,
    pub(super) left: Limits,
    pub(super) steps: u32,
}

impl State {
    pub(super) fn start(thread: &Thread, limits: Limits) -> State {
        let one = Value { bits: 1, ..Value::default() };
        let mut state = State {
            pc: thread.code[0].at,
            registers: [one; 31],
            sp: one,
            flags: Value::default(),
            control: Dependency::default(),
            monitor: None,
            events: Vec::new(),
            left: limits,
            steps: 0,
        };
        for &(register, bits) in &thread.registers {
            match register {
                31 => state.sp.bits = bits,
                register => state.registers[register as usize].bits = bits,
            }
        }
        state
    }

    pub(super) fn register(&self, number: u32) -> Value {
        self.registers.get(number as usize).copied().unwrap_or_default()
    }

    pub(super) fn set(&mut self, number: u32, value: Value) {
        if let Some(register) = self.registers.get_mut(number as usize) {
            *register = value;
        }
    }

    pub(super) fn base(&self, number: u32) -> Value {
        if number == 31 { self.sp } else { self.register(number) }
    }

    pub(super) fn push(&mut self, event: Event) -> usize {
        self.events.push(event);
        self.events.len() - 1
    }
}

/// A field of a word.
pub(super) fn field(word: u32, low: u32, bits: u32) -> u32 {
    word >> low & ((1 << bits) - 1)
}

/// A field with a sign.
pub(super) fn signed(word: u32, low: u32, bits: u32) -> i64 {
    i64::from((word << (32 - low - bits)) as i32 >> (32 - bits))
}

pub(super) fn location(address: u64) -> usize {
    let location = address.wrapping_sub(FIRST_LOCATION) / APART;
    assert!(location < LOCATIONS as u64 && address.is_multiple_of(APART), "access at {address:#x}");
    location as usize
}
