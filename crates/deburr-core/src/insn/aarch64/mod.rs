//! A64, the instruction set of AArch64: decoding, and the sweep over code.
//!
//! In: words of code. Out: [`super::Insn`] (`decode`), events and counts (`sweep`). The encodings follow the Arm
//! Architecture Reference Manual (DDI 0487), chapter C4; the definitions of instructions and their feature sets come
//! from disarm64, whose types stay in this module.

mod arithmetic;
mod facts;
mod features;
mod fields;
mod operations;
mod plain;
mod reload;
mod reserved;
mod streaming;
mod summary;
mod sweep;
mod text;
mod vector;

#[cfg(test)]
mod tests;

pub use arithmetic::arithmetic;
pub use facts::{decode, step};
pub use features::{feature_group_count, features_of};
pub(crate) use fields::adrp_page;
pub(crate) use operations::{lift, mentions};
#[doc(hidden)]
pub use plain::{Disagreement, check_prefilter};
pub use reload::loads_in_place;
pub use streaming::{in_streaming_mode, streaming_change};
pub use sweep::sweep;
pub use text::disassemble;
pub use vector::vector_use;
