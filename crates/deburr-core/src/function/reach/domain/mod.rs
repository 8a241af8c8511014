//! The abstract domain: what is known of a value, of a place in the program, of all registers and the frame.
//!
//! A [`value::Value`] stands for a set of numbers, each with the [`proof::Proof`] that the CPU has some features
//! wherever that number comes out; it is the abstraction. `join` is the lattice's least upper bound, ⊤ is `Unknown`, or
//! `Tainted` where what was lost came from the CPU. `widen` makes chains of loops end. `laws` tests the soundness of
//! every operation: what it makes of two values allows each number that it makes of their numbers. Cousot and Cousot,
//! *Abstract interpretation: a unified lattice model*, POPL 1977; Miné, *Tutorial on static inference of numeric
//! invariants*, 2017, sections 2 and 3.

pub(crate) mod bits;
pub(crate) mod doubts;
pub(crate) mod lanes;
#[cfg(test)]
mod laws;
pub(crate) mod proof;
pub(crate) mod state;
pub(crate) mod subject;
pub(crate) mod told;
pub(crate) mod trap;
pub(crate) mod value;
