//! Reach: which code above a level the program can get to without having asked the CPU first.
//!
//! In: an image, its linkage and its functions. Out: for each function that needs more than a given level, a
//! [`Verdict`] with its evidence. Works in three steps: [`learn`] finds which words of memory and which functions tell
//! what the CPU has, by running the functions that ask it on abstract values ([`interpret`]); [`edges`] collects every
//! way into the functions of interest, with what is proven where each begins; [`verdict`] follows them from the roots.
//!
//! A way counts as *certain* if control takes it (a call, a jump, the loader's call of an entry or of what a resolver
//! returns, a call through a word that the function was stored in), and as a *pointer* if the function's address only
//! goes somewhere: taking an address is not calling it.

mod domain;
pub(crate) mod file;
mod learn;
mod machine;
mod verdict;

pub use domain::proof::Proof;
pub use file::knowledge::Knowledge;
pub use verdict::checks::Checks;
pub use verdict::evidence::{Guard, Step, Verdict};
pub use verdict::kind::{GuardKind, Reach};
pub use verdict::needed::{features_of, most_needing};
