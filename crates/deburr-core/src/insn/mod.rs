//! One instruction, as facts: what it is, what it reads and writes, where it goes, what it needs.
//!
//! In: the bytes of code. Out: [`Insn`] for callers that need all facts of one instruction (`decode`), and
//! [`sweep::Sweep`] for the one linear pass over everything. This module is the only user of the decoders
//! (iced-x86, disarm64); their types do not leave it.

pub mod aarch64;
pub mod arithmetic;
mod class;
mod decode;
mod instruction;
pub(crate) mod lifted;
pub(crate) mod operations;
mod register;
mod rounds;
pub mod sweep;
pub mod text;
pub mod vector;
pub mod x86_64;

pub use class::{Class, ClassSet};
#[cfg(test)]
pub(crate) use decode::decode_hex;
pub use decode::{
    arithmetic, decode, disassemble, false_dependency, feature_group_count, features_of, in_streaming_mode,
    loads_in_place, step, streaming_change, sweep_unit, vector_argument, vector_use,
};
pub use instruction::{
    Condition, FeatureGroup, Flow, Insn, Lanes, Memory, Modifier, Operation, Ordering, Step,
};
pub use register::{Reg, RegSet};
