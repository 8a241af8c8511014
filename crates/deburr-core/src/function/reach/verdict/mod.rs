//! Verdicts: whether the program gets to code above a level without having queried the CPU.
//!
//! [`slice`] goes back from that code (a backward slice), as far as something is unproven and not [`unconditional`]ly
//! reachable. [`edges`] says what is proven on each edge. [`net`] follows the edges from the roots, as a greatest
//! fixpoint: what is proven at a function is what every path to it has proven. [`presumed`] says what would be known if
//! words of unknown origin held what their tests suggest. Weiser, *Program slicing*, ICSE 1981.

pub(crate) mod checks;
mod edges;
pub(crate) mod evidence;
mod find;
mod judge;
pub(crate) mod kind;
pub(crate) mod needed;
mod net;
pub(crate) mod node;
pub(crate) mod offered;
pub(crate) mod presumed;
pub(crate) mod refusal;
mod settled;
mod slice;
mod unconditional;
pub(crate) mod unknown;
mod unwinder;
