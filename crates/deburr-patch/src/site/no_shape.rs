//! Patch stage: why nothing is proposed for a sequence.

use std::fmt;

/// Why there is nothing to propose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoShape {
    /// A pair of registers, which `casp` takes only as an even one and the next.
    Pair,
    /// A pair of registers that is stored back as it was loaded.
    StoresBack,
    /// The store-exclusive does not follow the load-exclusive in a short run of instructions.
    Apart,
    /// An access, a call or an instruction that is not understood, between the exclusives.
    Body,
    /// A branch inside, that does not leave.
    BranchInside,
    /// What is stored is not what one LSE instruction makes of what was loaded.
    Operation,
    /// The address register is overwritten in the body.
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
            NoShape::Base => "the address register is overwritten in between",
            NoShape::NoRoom => "the replacement is longer than the sequence",
        })
    }
}
