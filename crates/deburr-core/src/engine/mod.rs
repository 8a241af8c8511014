//! The engine: what every analysis by fixpoint is made of.
//!
//! In: equations over a lattice. Out: their least solution, or where the budget ended. [`domain`] is the lattice, [`solver`]
//! the one worklist; `laws` enumerates small instances of a domain and tests the laws of a lattice on them. [`dominators`] finds the
//! dominators of any graph, and [`sorted`] has the small maps that states are made of. Chaotic iteration after Cousot and Cousot
//! (POPL 1977), with priorities (Bourdoncle, FMPA 1993).

pub(crate) mod domain;
pub(crate) mod dominators;
#[cfg(test)]
pub(crate) mod laws;
#[cfg(test)]
pub(crate) mod random;
pub(crate) mod solver;
pub(crate) mod sorted;
