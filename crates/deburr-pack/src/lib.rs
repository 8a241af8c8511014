//! Builds a program at several instruction-set levels, checks what came out, and lays the variants out so that one of
//! them is chosen at start.
//!
//! In: a build command ([`build`](mod@build)), or installed trees. Out: trees of variants with a record of them
//! ([`record`]), and a tree to install ([`install`](mod@install)), with rules of security modules ([`policy`](mod@policy)), or
//! Python wheels ([`wheel`]). This is the only place that runs compilers.

pub mod abi;
pub mod assemble;
pub mod build;
pub mod check;
pub mod demand;
pub mod install;
pub mod policy;
pub mod ranking;
pub mod record;
pub mod same;
pub mod status;
pub mod wheel;
