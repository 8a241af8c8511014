//! Edits ELF files by their structure, so that fuzzing gets past the headers: bytes and a seed → other bytes.
//!
//! In: any bytes, best an ELF64 little-endian file for x86-64 or AArch64. Out: the same with one to four [`Edit`]s. What is
//! there is read leniently, by code of its own: mutations must not depend on the parser that they test. Nothing here panics,
//! whatever the bytes are, and the same seed gives the same result.
//!
//! | module | what is in it |
//! |---|---|
//! | `random` | numbers that repeat from run to run |
//! | `field` | fields of a file: read, write, and values that often matter |
//! | `file` | where the parts of an ELF file are |
//! | `bench` | a file while it is edited |
//! | `instruction` | tables of instructions that deburr looks for |
//! | `header`, `symbol`, `relocation`, `frame`, `debug`, `table`, `code` | the edits of one kind of part |
//! | `edit` | all edits, by name |
//! | `cross` | sections of one file in another |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing))]

mod bench;
mod code;
mod cross;
mod debug;
mod edit;
mod field;
mod file;
mod frame;
mod header;
mod instruction;
mod random;
mod relocation;
mod symbol;
mod table;

pub use cross::crossover;
pub use edit::{Edit, apply, mutate};
pub use random::Sequence;
