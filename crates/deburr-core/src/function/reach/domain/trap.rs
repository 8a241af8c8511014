//! What happens where the CPU lacks an instruction, on a path through the program.

/// What happens where the CPU lacks an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Trap {
    /// The program ends.
    #[default]
    Deadly,
    /// It comes into a handler.
    Caught,
    /// The handler comes back to here.
    Survived,
}
