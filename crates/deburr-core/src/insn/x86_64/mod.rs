//! x86-64: the instructions of 64-bit mode, decoded with iced-x86.
//!
//! In: the bytes of code. Out: [`Insn`](crate::insn::Insn) with all its facts (`facts`), one linear pass (`sweep`), and
//! the CPU features that each instruction needs (`features`). They follow the Intel SDM volume 2 and the AMD APM
//! volumes 3 to 5. The decoder's options are its defaults: current Intel and AMD processors, no retired encodings, and
//! MPX as the no-operation that it is on processors without it.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod arithmetic;
mod check;
mod class;
mod decoder;
mod facts;
mod features;
mod lanes;
mod operations;
mod quick;
mod reload;
mod sweep;
#[cfg(test)]
mod tests;
mod text;
mod vector;

pub use arithmetic::{arithmetic, false_dependency};
pub use check::{Disagreement, check_everywhere, check_opcodes, check_sweep};
pub use facts::{decode, decode_holding, step};
pub use features::{feature_group_count, features_of};
pub(crate) use operations::{lift, mentions};
pub use quick::quick_table;
pub use reload::loads_in_place;
pub use sweep::sweep;
pub use text::disassemble;
pub use vector::{vector_argument, vector_use};
