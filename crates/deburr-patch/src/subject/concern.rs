//! Patch stage: what the audit has against a change.

use super::fact::Fact;
use deburr_core::address::Svma;
use std::fmt;

/// What speaks against a change that the plan has nothing against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Contradiction {
    /// The first instruction of the change.
    pub at: Svma,
    /// What it is.
    pub concern: Concern,
}

/// What the second opinion found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Concern {
    /// A direct branch or call comes to an instruction inside.
    BranchInto {
        /// The branch.
        from: Svma,
        /// Where it goes.
        to: Svma,
    },
    /// A pointer, symbol, landing pad, table or computed address leads to an instruction inside.
    EntryAt(Svma),
    /// The function has a jump whose targets are not known.
    UnresolvedJump(Svma),
    /// The function's exception table is not understood.
    ExceptionTable,
    /// An instruction may read a register whose value changes.
    Register {
        /// Its number.
        register: u8,
        /// The instruction, or the last one that is seen.
        reader: Svma,
    },
    /// Run on the same values, the instructions do not do the same, whatever registers are read.
    Differs(Fact),
    /// An armed monitor may matter after a path that has not stored.
    Monitor {
        /// Where that path leaves.
        exit: Svma,
    },
    /// An instruction that only a barrier orders.
    Ordered(Svma),
    /// No atomic next to the barrier is one itself.
    NoAtomic,
    /// What is called is not written as a helper is.
    NoHelper,
    /// What the helper tests is not a byte that only a constructor writes, from AT_HWCAP.
    HelperFlag(Svma),
    /// The helper's arm for other CPUs does something else.
    HelperFallback,
    /// The helper's name says something else.
    HelperName,
    /// An instruction that CPUs of the target need not have.
    Undefined,
    /// The code may be written to.
    Writable,
    /// A table of the file tells others where its instructions are.
    Described(Svma),
    /// Not instructions that this rule replaces.
    Instructions,
}

impl Concern {
    /// What is doubted, without the place: many sites have one kind.
    pub fn kind(self) -> &'static str {
        match self {
            Concern::BranchInto { .. } => "a branch enters it",
            Concern::EntryAt(_) => "something other than a branch leads into it",
            Concern::UnresolvedJump(_) => "the targets of a jump in its function are not known",
            Concern::ExceptionTable => "the exception table of its function is not understood",
            Concern::Register { .. } => "a register whose value changes may be read",
            Concern::Differs(fact) => fact.text(),
            Concern::Monitor { .. } => "wfe or a store-exclusive may follow a path that leaves it",
            Concern::Ordered(_) => "only a barrier orders an instruction of the file",
            Concern::NoAtomic => "no atomic next to the barrier is one itself",
            Concern::NoHelper => "the function that is called is not written as a helper is",
            Concern::HelperFlag(_) => {
                "the helper's flag is not one that only a constructor writes, from AT_HWCAP"
            }
            Concern::HelperFallback => "the helper's other arm does something else",
            Concern::HelperName => "the helper's name says that it does something else",
            Concern::Undefined => "the target does not guarantee FEAT_SB, which sb needs",
            Concern::Writable => "the code may be written to",
            Concern::Described(_) => "a table of the file tells others where its instructions are",
            Concern::Instructions => "these are not the instructions that this rule replaces",
        }
    }

    /// The place that the doubt is about.
    pub fn place(self) -> Option<Svma> {
        match self {
            Concern::BranchInto { from: at, .. }
            | Concern::EntryAt(at)
            | Concern::UnresolvedJump(at)
            | Concern::Register { reader: at, .. }
            | Concern::Monitor { exit: at }
            | Concern::Ordered(at)
            | Concern::HelperFlag(at)
            | Concern::Described(at) => Some(at),
            _ => None,
        }
    }
}

impl fmt::Display for Concern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Concern::BranchInto { from, to } => write!(f, "the branch at {from} enters it at {to}"),
            Concern::EntryAt(at) => write!(f, "something other than a branch leads to {at} in it"),
            Concern::UnresolvedJump(at) => {
                write!(f, "the targets of the jump at {at} in its function are not known")
            }
            Concern::ExceptionTable => write!(f, "the exception table of its function is not understood"),
            Concern::Register { register, reader } => {
                write!(f, "the value of x{register} changes, which may be read at {reader}")
            }
            Concern::Differs(fact) => fact.fmt(f),
            Concern::Monitor { exit } => {
                write!(f, "wfe or a store-exclusive may follow the path that leaves to {exit}")
            }
            Concern::Ordered(at) => write!(f, "only a barrier orders the instruction at {at}"),
            Concern::NoAtomic => write!(f, "no atomic next to the barrier is one itself"),
            Concern::NoHelper => write!(f, "the function that is called is not written as a helper is"),
            Concern::HelperFlag(at) => {
                write!(
                    f,
                    "the helper's flag at {at} is not one that only a constructor writes, from AT_HWCAP"
                )
            }
            Concern::HelperFallback => {
                write!(f, "the helper's other arm does something else than its LSE instruction")
            }
            Concern::HelperName => write!(f, "the helper's name says that it does something else"),
            Concern::Undefined => write!(f, "the target does not guarantee FEAT_SB, which sb needs"),
            Concern::Described(at) => {
                write!(f, "a table of the file tells others of the instruction at {at}")
            }
            Concern::Writable => write!(f, "the code may be written to"),
            Concern::Instructions => write!(f, "not the instructions that this rule replaces"),
        }
    }
}
