//! Reach: which code above a level the program can get to without having queried the CPU first, by abstract
//! interpretation.
//!
//! In: an image, its linkage and its functions. Out: for each function that needs more than a given level, a
//! [`Verdict`] with its evidence. Six rooms, each of which names only those before it:
//!
//! | room | what is in it |
//! |---|---|
//! | `domain` | the abstract domain: values with what they prove, states, join and widening |
//! | `file` | immutable look-ups: incoming edges, references, callees, names, what other files export |
//! | `machine` | the transfer function of one instruction, and of a function by a worklist; what queries answer |
//! | `learn` | the fixpoint over the file: which memory and which functions say what the CPU has |
//! | `observe` | what the file can know of the CPU at all: by its own tests, or by values from outside |
//! | `verdict` | the backward slice from code above the level, edges with proofs, the verdicts |
//!
//! An edge is *certain* if control takes it. That is a call, a jump, a call through a word that the function was stored
//! in, or the loader's call of an entry or of what a resolver returns. It is a *pointer* if the function's address only
//! goes somewhere: taking an address is not calling it.

mod domain;
pub(crate) mod file;
mod id_registers;
mod learn;
mod machine;
mod observe;
mod verdict;

pub use domain::proof::Proof;
pub use file::knowledge::Knowledge;
pub use id_registers::id_register_reads;
pub(crate) use id_registers::id_register_verdicts;
pub(crate) use observe::carriers::{is_started_by_kernel, names_description};
pub use verdict::checks::{Checks, Origin, Place, Presumption};
pub use verdict::evidence::{Contradiction, Gap, Guard, Step, Verdict};
pub use verdict::kind::{GuardKind, Reach};
pub use verdict::needed::{Need, endangered, endangered_by};
pub(crate) use verdict::node::Source;
pub use verdict::node::Stated;
pub use verdict::offered::Families;
pub use verdict::presumed::named::NameParts;
pub use verdict::refusal::Refusal;
pub use verdict::unknown::cause::{Because, Cause};
pub use verdict::unknown::group::{UnknownGroup, group_of, unknown_groups};
