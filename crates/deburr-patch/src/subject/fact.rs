//! Patch stage: in what new instructions differ from those that they replace, when both run on the same values.

use std::fmt;

/// What is not the same, or makes the two unfit to be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Fact {
    /// Where control goes.
    Exit,
    /// The address of an access.
    Address,
    /// The size of the access.
    Size,
    /// Whether anything is stored.
    Stored,
    /// What memory holds afterwards.
    Memory,
    /// The old instructions acquire, the new ones do not.
    Acquire,
    /// The old instructions release, the new ones do not.
    Release,
    /// The barriers, or one where none may be.
    Barrier,
    /// How many plain loads there are.
    Loads,
    /// What plain loads leave in registers.
    Loaded,
    /// The stack pointer.
    StackPointer,
    /// The flags.
    Flags,
    /// What branches turn on, which orders the stores after them.
    ControlDependency,
    /// What the flags are computed from, which orders accesses by them.
    FlagsDependency,
    /// What a try after a failed one does.
    Retry,
    /// An instruction is not understood, or an access is not the one that belongs there.
    Instruction,
    /// There are too many instructions, or none.
    TooLong,
    /// An instruction runs twice in one try.
    Endless,
    /// They may be passed without an access.
    NoAccess,
    /// A store-exclusive without its load-exclusive, or a compare-and-swap without the load before it.
    Monitor,
    /// Not one store-exclusive.
    Stores,
    /// No state that was tried makes some decision go one of its ways.
    Untried,
}

impl Fact {
    /// In words.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Fact::Exit => "the new instructions go elsewhere than the old ones",
            Fact::Address => "the new instructions access another address",
            Fact::Size => "the new instructions access another number of bytes",
            Fact::Stored => "only the old or only the new instructions store",
            Fact::Memory => "the new instructions store another value",
            Fact::Acquire => "the new instructions lose acquire semantics",
            Fact::Release => "the new instructions lose release semantics",
            Fact::Barrier => "the barriers around the access are not the same",
            Fact::Loads => "the number of loads is not the same",
            Fact::Loaded => "the loads leave other values in registers",
            Fact::StackPointer => "the new instructions leave another stack pointer",
            Fact::Flags => "the new instructions leave other flags",
            Fact::ControlDependency => "the new instructions lose a branch that orders what follows",
            Fact::FlagsDependency => "the flags lose a dependency that orders what follows",
            Fact::Retry => "a try after a failed one does not do what the first one does",
            Fact::Instruction => "an instruction of the change is not one that the second check evaluates",
            Fact::TooLong => "the second check evaluates 1 to 64 instructions",
            Fact::Endless => "an instruction of the change runs twice in one try",
            Fact::NoAccess => "a path through the instructions does not access memory",
            Fact::Monitor => "an access is not paired with the load before it",
            Fact::Stores => "the old instructions do not have one store-exclusive",
            Fact::Untried => "no values were found that make a decision in the change go both ways",
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
