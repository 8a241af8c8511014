//! CRC-32C (Castagnoli) of a buffer: by tables, by the instruction, and by carry-less multiplication.
//!
//! [`buffer`] is the definition, [`kernel`] the kernel, `table`, `instruction` and `fold` its variants.

mod buffer;
mod fold;
mod instruction;
pub(super) mod kernel;
mod table;
