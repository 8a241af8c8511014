//! From the bytes of a binary to a report on its machine code.
//!
//! ```text
//! bytes ──▶ Image ──▶ Function { Insn, Block, Loop } ──▶ Finding ──▶ Report
//!           image/     insn/   function/                 rule/       report
//! ```
//!
//! [`check()`] is that line. Each stage takes what the stage before it made and knows nothing of the stages
//! after it. The crate opens no file, reads no clock and prints nothing: where it needs another file
//! (separate debug information), [`wanted_debug_file`] says which, and the caller brings its bytes.
//!
//! # Checking a file
//!
//! ```
//! use deburr_core::{Request, check};
//!
//! // An object for AArch64; from anywhere, for instance `std::fs::read`.
//! let bytes = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/llsc_loop/hit-cas.o"));
//!
//! let report = check(bytes, &Request::default())?;
//! assert_eq!(report.level, "armv8.0-a");
//! let finding = &report.findings[0];
//! assert_eq!(finding.rule, "llsc-loop");
//! println!("{}: {}", finding.svma, finding.message);
//!
//! // What could be better, given machines of Armv8.1, by some rules only; features and levels are `deburr-cpu`'s.
//! let target = deburr_cpu::level_named("armv8.1-a").map(|level| level.features);
//! let request = Request { target, rules: Some(&["outlined-atomic"]), ..Request::default() };
//! assert!(check(bytes, &request)?.findings.is_empty());
//! # Ok::<(), deburr_core::Error>(())
//! ```
//!
//! Bytes that cannot be read are an [`Error`], which says what is wrong and where:
//!
//! ```
//! let error = deburr_core::check(b"\x7fELF", &deburr_core::Request::default()).unwrap_err();
//! println!("{error}");
//! ```
//!
//! [`compare()`] shows what differs between two builds, [`listing()`] the code at a place, [`annotate()`] that of
//! findings, and [`entered()`] what a run did. [`learn`] and
//! [`Request::foreign`] carry what one shared library knows of the CPU to the files that need it. [`rule::RULES`] lists
//! the rules. What a [`Report`] serialises to, and is read back from, is the JSON that `deburr check --format json`
//! prints under `files`.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

pub mod address;
pub mod advice;
pub mod benchmark;
mod budget;
pub mod check;
mod danger;
pub mod diff;
mod engine;
pub mod entered;
pub mod finding;
mod guards;
pub mod listing;
pub mod pattern;
pub mod profile;
#[doc(hidden)]
pub mod provenance;
mod reach;
pub mod remedy;
pub mod report;
pub mod request;
pub mod rule;
mod siblings;

// The stages below: for `deburr-patch`, which goes on from them, and for tests. They change with every version.
#[doc(hidden)]
pub mod front;
#[doc(hidden)]
pub mod function;
#[doc(hidden)]
pub mod idiom;
#[doc(hidden)]
pub mod image;
#[doc(hidden)]
pub mod insn;

pub use address::Svma;
pub use budget::default_budget;
pub use check::{across, check, learn};
pub use danger::StatedClaim;
pub use diff::{compare, inspect, inspect_with_code};
pub use entered::{RunFacts, entered};
pub use function::reach::{Families, Knowledge, NameParts};
pub use image::{Error, wanted_debug_file};
pub use listing::{ListingPlace, Shown, View, annotate, listing};
pub use profile::Samples;
pub use report::Report;
pub use request::{Request, StatedGuard};
pub use siblings::families;
