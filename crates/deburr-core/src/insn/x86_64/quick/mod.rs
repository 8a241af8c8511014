//! The sweep's own decoder: most instructions by table, without iced-x86.
//!
//! In: the 16 bytes from an instruction's start. Out: its length, its kind, where it goes and which place it names; or
//! nothing, and iced-x86 decodes it (`decode`). The table (`table`) is made from what iced-x86 says of each opcode
//! (`generate`); what is common in it is laid out for speed (`hot`). Encodings follow the Intel SDM volume 2, chapter 2
//! and appendix A.

mod decode;
mod entries;
mod generate;
mod hot;
mod layout;
mod table;
#[cfg(test)]
mod tests;
mod truth;

pub(super) use decode::{Quick, WINDOW, quick};
pub use generate::quick_table;
pub(super) use hot::{HOT, Hot, Kind};
pub(super) use truth::truth;
