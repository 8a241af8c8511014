//! Patch stage: what comes of a proof.
//!
//! In: nothing; these are the answers of `query`. Out: a [`Proof`] with what is worth knowing of the access,
//! or a [`Refusal`], which names the first thing that differs and a [`State`] in which it does.

use crate::semantics::Cause;
use std::fmt;

/// What was shown: on every path through both sequences one access, and the same of everything else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proof {
    /// Bytes of the access: 1, 2, 4, 8 or 16.
    pub size: u8,
    /// Whether the old sequence loads with acquire semantics; so does the new one.
    pub acquire: bool,
    /// Whether the old sequence stores with release semantics; so does the new one.
    pub release: bool,
    /// Whether folding left something to the solver.
    pub searched: bool,
}

/// One of the two sequences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// As it is: load-exclusive and store-exclusive.
    Old,
    /// What is to replace it: one single-copy atomic.
    New,
}

/// What differs between the two sequences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Difference {
    /// Where the sequence is left.
    Exit,
    /// The address of the access, or of a plain load.
    Address,
    /// How many plain loads there are.
    Loads,
    /// The size of the access.
    Size,
    /// Whether anything is stored.
    Stored,
    /// What memory holds afterwards.
    Memory,
    /// The old sequence acquires, the new one does not.
    Acquire,
    /// The old sequence releases, the new one does not.
    Release,
    /// The barriers before or after the access.
    Barriers,
    /// A general register, 0 to 30.
    Register(u8),
    /// The stack pointer.
    StackPointer,
    /// N, Z, C or V.
    Flags,
    /// What a general register, 0 to 30, is computed from: an access by it is ordered after the load no longer.
    Dependency(u8),
    /// What the flags are computed from.
    FlagsDependency,
    /// What branches depend on: a store after them is ordered after the load no longer.
    ControlDependency,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Difference::Exit => f.write_str("where they are left"),
            Difference::Address => f.write_str("the address of the access"),
            Difference::Loads => f.write_str("the number of loads"),
            Difference::Size => f.write_str("the size of the access"),
            Difference::Stored => f.write_str("whether they store"),
            Difference::Memory => f.write_str("what memory holds afterwards"),
            Difference::Acquire => f.write_str("acquire semantics"),
            Difference::Release => f.write_str("release semantics"),
            Difference::Barriers => f.write_str("the barriers"),
            Difference::Register(number) => write!(f, "x{number}"),
            Difference::StackPointer => f.write_str("the stack pointer"),
            Difference::Flags => f.write_str("the flags"),
            Difference::Dependency(number) => {
                write!(f, "what x{number} is computed from, which orders accesses by it")
            }
            Difference::FlagsDependency => {
                f.write_str("what the flags are computed from, which orders accesses by them")
            }
            Difference::ControlDependency => {
                f.write_str("what their branches depend on, which orders the stores after them")
            }
        }
    }
}

/// A state in which both sequences begin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// x0 to x30.
    pub registers: [u64; 31],
    /// The stack pointer.
    pub sp: u64,
    /// N, Z, C, V in bits 3 to 0.
    pub nzcv: u8,
    /// What memory holds at the address of the access, low bits first.
    pub memory: u128,
    /// What the plain loads read, the first first; two of them may contradict each other where they read the
    /// same place.
    pub loads: Vec<u64>,
}

/// Why the replacement is not proven. All of them mean: leave the code as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// The two are empty or not equally long.
    Length,
    /// More instructions, paths through them or nodes than the prover takes.
    TooLarge,
    /// An instruction that a proof cannot hold.
    Instruction {
        /// Where it is.
        side: Side,
        /// Its index in instructions.
        index: usize,
        /// What is wrong with it.
        cause: Cause,
    },
    /// A path through a sequence accesses no memory.
    NoAccess {
        /// Which sequence.
        side: Side,
    },
    /// The paths through the old sequence have so many store-exclusives, instead of one.
    StoreExclusives(usize),
    /// The sequences differ, first of all in this.
    Different {
        /// In what.
        difference: Difference,
        /// Where it shows.
        state: Box<State>,
    },
    /// A compare-and-swap that fails does not lead back to the first instruction, with all that is read from
    /// there on as it was.
    Retry,
    /// The solver's bound was reached.
    Undecided,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Refusal::Length => write!(f, "the sequences are empty or not equally long"),
            Refusal::TooLarge => write!(f, "the sequences are too large"),
            Refusal::Instruction { side, index, cause } => {
                let side = if *side == Side::Old { "old" } else { "new" };
                write!(f, "word {index} of the {side} sequence: {cause}")
            }
            Refusal::NoAccess { side: Side::Old } => {
                write!(f, "the old sequence can be passed without an access")
            }
            Refusal::NoAccess { side: Side::New } => {
                write!(f, "the new sequence can be passed without an access")
            }
            Refusal::StoreExclusives(count) => write!(f, "{count} store-exclusives instead of one"),
            Refusal::Different { difference, .. } => write!(f, "the sequences differ in {difference}"),
            Refusal::Retry => write!(f, "a retry does not begin as the first try did"),
            Refusal::Undecided => write!(f, "not decided within the bound"),
        }
    }
}

impl std::error::Error for Refusal {}
