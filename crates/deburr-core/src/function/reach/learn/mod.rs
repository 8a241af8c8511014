//! Learning: which words of memory and which functions say what the CPU has, as a least fixpoint.
//!
//! It begins with what is known by name ([`seeds`]) and with the functions that query the CPU ([`sources`]).
//! [`fixpoint`] runs them, collects the words that they store answers to and what they return, adds the functions that
//! read those, and goes on until nothing changes. [`again`] does a second, coarser pass; [`teach`] exports it to other
//! files.

pub(crate) mod again;
pub(crate) mod facts;
pub(crate) mod fixpoint;
pub(crate) mod flags;
mod glibc;
mod go;
pub(crate) mod learnt;
mod libgcc;
pub(super) mod run;
pub(crate) mod seeds;
pub(crate) mod sources;
mod teach;
mod words;
