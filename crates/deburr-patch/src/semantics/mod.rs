//! Patch stage: what A64 instructions do, as operations on values.
//!
//! | file | from | to |
//! |---|---|---|
//! | `insn` | | the operations and what they are made of |
//! | `decode` | an instruction | its operation |
//! | `encode` | operations | instructions |
//! | `effects` | a sequence | where it is left, what it writes |
//! | `cause` | | why an instruction can be no part of a proof |

mod cause;
mod decode;
pub(crate) mod effects;
pub(crate) mod encode;
mod insn;

pub use cause::Cause;
pub(crate) use decode::{decode, plain_load};
pub(crate) use insn::{
    AtomicOp, Field, Insn, Logic, Operand, Reference, Register, SP, Shift, Step, Test, Width, ZERO,
};

/// The immediate of a logical instruction; `None` where its fields stand for none.
pub(crate) fn bitmask(word: u32) -> Option<u64> {
    decode::bitmask(word, decode::width(word))
}
