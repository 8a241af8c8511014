//! Look-ups in the file: what leads where, what refers to what, what a call does, what names mean. Nothing here is
//! learnt, and nothing changes while the analysis runs.

pub(crate) mod abi;
mod auxv;
pub(crate) mod callee;
pub(crate) mod foreign;
mod getauxval;
pub(crate) mod grouped;
pub(crate) mod incoming;
pub(crate) mod knowledge;
pub(crate) mod names;
pub(crate) mod pc_relative;
pub(crate) mod references;
pub(crate) mod relative;
pub(crate) mod view;
