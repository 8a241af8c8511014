//! Patch stage: one path through a sequence, as the condition under which it is taken and what it leaves.
//!
//! In: the initial state, one for both sequences. Out: a [`Path`], whose registers, flags and access are
//! literals of the graph. It ends where it leaves the sequence; a branch on what is not constant makes two of
//! one.

use super::bits::{FALSE, Graph, Lit, TRUE, Word};
use super::dependence::Dependence;
use super::given::Given;
use crate::semantics::{Reference, Register, Width};

/// What is accessed on each path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum AccessKind {
    /// One location, by the exclusives or by one single-copy atomic.
    Atomic,
    /// The same in the two arms of a choice at run time, of which such a CPU takes the atomic already: what only
    /// the exclusives order, nobody relies on.
    Chosen,
    /// One location, by the exclusives or by a plain load and a compare-and-swap, again until that succeeds.
    Retry,
    /// Any, by plain loads in one order: the loads of both sequences read the same, the first what the first
    /// does.
    Loads,
}

/// What an access reads or stores: of 16 bytes the low 8 first, of fewer these and nothing.
pub(crate) type Value = [Word; 2];

/// What both sequences start from.
#[derive(Clone)]
pub(crate) struct Initial {
    /// The general registers, then SP.
    pub(crate) registers: [Word; 32],
    /// N, Z, C, V.
    pub(crate) flags: [Lit; 4],
    /// What memory holds at the address of the access, the low 8 bytes first.
    pub(crate) cell: Value,
    /// What the plain loads read.
    pub(crate) loads: Vec<Word>,
    /// What the plain load before a compare-and-swap reads.
    pub(crate) guess: Word,
    /// Whether any state may be the first, so that it may be that of coming back.
    pub(crate) is_any: bool,
}

impl Initial {
    pub(crate) fn new(graph: &mut Graph, given: &[Given], loads: usize) -> Initial {
        let mut initial = Initial {
            registers: std::array::from_fn(|_| graph.input_word()),
            cell: std::array::from_fn(|_| graph.input_word()),
            loads: (0..loads).map(|_| graph.input_word()).collect(),
            flags: std::array::from_fn(|_| graph.input()),
            guess: Word::ZERO,
            is_any: given.is_empty(),
        };
        for Given { register, zero_from } in given {
            if let Some(word) = initial.registers.get_mut(usize::from(*register)) {
                *word = word.low(usize::from(*zero_from));
            }
        }
        initial
    }
}

/// The one access of a path.
#[derive(Clone)]
pub(crate) struct Access {
    pub(crate) address: Word,
    pub(crate) bits: usize,
    pub(crate) acquire: bool,
    /// Only where something is stored.
    pub(crate) release: bool,
    pub(crate) stored: bool,
    /// What memory holds after it.
    pub(crate) value: Value,
}

#[derive(Clone)]
pub(crate) struct Path {
    /// When it is taken.
    pub(crate) condition: Lit,
    pub(crate) registers: [Word; 32],
    pub(crate) flags: [Lit; 4],
    pub(crate) dependence: Dependence,
    pub(crate) access: Option<Access>,
    /// The addresses of the plain loads, in their order.
    pub(crate) loads: Vec<Word>,
    /// Address and bits of the plain load before a compare-and-swap.
    pub(crate) guess: Option<(Word, usize)>,
    /// Whether it is the path of a compare-and-swap that found something else.
    pub(crate) fails: bool,
    /// Options of the barriers before and after the access.
    pub(crate) before: Vec<u8>,
    pub(crate) after: Vec<u8>,
    /// The next instruction; beyond the sequence, where it was left. In instructions from the first.
    pub(crate) at: i64,
    /// What the condition is made of.
    pub(crate) assumed: Vec<Lit>,
    pub(crate) visited: u64,
    /// Whether the monitor of a load-exclusive is armed.
    pub(crate) armed: bool,
}

/// The paths through a sequence, and how many store-exclusives are on them.
pub(crate) struct Paths {
    pub(crate) paths: Vec<Path>,
    pub(crate) stores: usize,
}

impl Path {
    /// From the first instruction, of which nothing has run.
    pub(crate) fn start(initial: &Initial) -> Path {
        Path {
            condition: TRUE,
            registers: initial.registers,
            flags: initial.flags,
            dependence: Dependence::start(),
            access: None,
            loads: Vec::new(),
            guess: None,
            fails: false,
            before: Vec::new(),
            after: Vec::new(),
            at: 0,
            assumed: Vec::new(),
            visited: 0,
            armed: false,
        }
    }

    /// Whether it has come back to the first instruction after the access. What follows is what both
    /// sequences do from any state, this one too: it leaves the sequence there as anywhere else.
    pub(crate) fn is_back(&self, initial: &Initial) -> bool {
        self.at == 0 && self.access.is_some() && initial.is_any
    }

    /// Whether whatever follows is ordered after the load: it acquires, or a barrier for loads or for all
    /// accesses follows.
    pub(crate) fn orders_what_follows(&self) -> bool {
        self.access.as_ref().is_some_and(|access| access.acquire)
            || self.after.iter().any(|option| option & 1 != 0)
    }

    pub(crate) fn read(&self, register: Register, width: Width) -> Word {
        self.registers.get(usize::from(register.0)).map_or(Word::ZERO, |word| word.low(width.0))
    }

    /// The high bits become zero; the zero register takes nothing.
    pub(crate) fn write(&mut self, register: Register, value: Word, width: Width) {
        if let Some(slot) = self.registers.get_mut(usize::from(register.0)) {
            *slot = value.low(width.0);
        }
    }

    pub(crate) fn read_pair(&self, pair: [Register; 2], reference: Reference) -> Value {
        let half = reference.bits / 2;
        let [low, high] = pair.map(|register| self.read(register, Width(half)));
        match half {
            64 => [low, high],
            _ => [Word::of(|bit| if bit < half { low.bit(bit) } else { high.bit(bit - half) }), Word::ZERO],
        }
    }

    pub(crate) fn write_pair(&mut self, pair: [Register; 2], [low, high]: Value, reference: Reference) {
        let half = reference.bits / 2;
        let halves = if half == 64 { [low, high] } else { [low, low.shifted_right(half)] };
        for (register, value) in pair.into_iter().zip(halves) {
            self.write(register, value, Width(half));
        }
    }

    pub(crate) fn assume(&mut self, graph: &mut Graph, lit: Lit) {
        self.condition = graph.and(self.condition, lit);
        self.assumed.push(lit);
    }

    /// Goes on where `lit` holds; the other path, where both are possible. `None` and unchanged: `lit` never
    /// holds.
    pub(crate) fn split(&mut self, graph: &mut Graph, lit: Lit) -> (bool, Option<Path>) {
        if lit == TRUE || self.assumed.contains(&lit) {
            return (true, None);
        }
        if lit == FALSE || self.assumed.contains(&!lit) {
            return (false, None);
        }
        let mut other = self.clone();
        other.assume(graph, !lit);
        self.assume(graph, lit);
        (true, Some(other))
    }
}
