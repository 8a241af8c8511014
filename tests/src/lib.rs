//! deburr on real input: what its findings are held against, and how the input is made.
//!
//! The tests are a package of their own, because they need three parties that no other crate should depend on: the command
//! itself ([`command`]), a second opinion that shares no code with `deburr-core` ([`oracle`]), and real input: programs
//! compiled here ([`toolchain`], [`languages`], [`catalogue`]) and packages of the distribution ([`package`]). What is
//! rewritten goes through all stages at once ([`rewrite`]). A tool or a package that cannot be had fails the test with one
//! line that names it; nothing is skipped.

pub mod campaign;
pub mod catalogue;
pub mod command;
pub mod compare;
pub mod cpu_time;
pub mod languages;
pub mod mutation;
pub mod oracle;
pub mod package;
pub mod reach;
pub mod rewrite;
pub mod toolchain;
