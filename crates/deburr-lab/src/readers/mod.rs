//! What benchmark programs print → numbers by name.
//!
//! In: the text of one program's report, or of several of its reports one after the other, as
//! `for i in …; do pgbench …; done >> a.txt` leaves them. Out: a [`Measurement`] for each metric, its values
//! in the order in which they were measured where the program keeps that. No file is opened here, and nothing
//! is guessed: what is cut off, is no number, or is said twice in one report, is refused with its line or
//! field.
//!
//! Names are `[SUBJECT:]METRIC[:pPERCENTILE]`: `tps`, `SET:latency:p99`, `BM_Sort/64:real_time`. Times are in
//! seconds and sizes in bytes, whatever unit a program prints, so that reports of different scales compare.
//! Go's names end in its own unit: `Encode-8:sec/op`.
//!
//! What profilers write is read in [`profile`], from a stream, since it may be larger than memory.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![forbid(unsafe_code)]

mod error;
mod format;
mod gathered;
mod json;
mod measurement;
mod metrics;
pub mod profile;
mod program;
mod quantity;

pub use error::{ReadError, ReportPlace};
pub use format::Format;
pub use measurement::Measurement;
pub use program::{read, sniff, written};
