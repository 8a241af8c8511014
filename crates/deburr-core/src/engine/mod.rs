//! The engine: what every analysis by fixpoint is made of.
//!
//! In: equations over a lattice. Out: their least solution, or where the budget ended. [`domain`] is the lattice, [`solver`]
//! the one worklist, [`dominators`] are those of any graph; `laws` enumerates small instances of a domain and tests that it is one. Chaotic iteration after Cousot
//! and Cousot (POPL 1977), with priorities (Bourdoncle, FMPA 1993).

pub(crate) mod domain;
pub(crate) mod dominators;
#[cfg(test)]
pub(crate) mod laws;
pub(crate) mod solver;
