//! The patch stage: what a finding's code may be replaced by, and whether the two are the same.
//!
//! ```text
//! bytes ──▶ plan ──▶ apply ──▶ patched bytes ──▶ verify
//!                                  └──▶ revert ──▶ bytes
//! ```
//!
//! [`prove`] is the gate: two sequences of A64 words at one place in, a [`Proof`] or a [`Refusal`] out. The
//! old one holds a load-exclusive and a store-exclusive, the new one a single-copy atomic of FEAT_LSE, of one
//! register or of two; they are compared over every initial value of the 31 general registers, SP, NZCV and
//! the memory cell. One thing is assumed, that a store-exclusive eventually succeeds. So the new code is the
//! old one restricted to those of its executions in which it does, with the two exclusives drawn together
//! into one access: every new behaviour is an old one (Arm ARM, B2.3 and B2.9). What a pair loads is one
//! access where its store succeeds and two otherwise (B2.2.1); `casp` is always one, as the two may be.
//!
//! A sequence that stores back what it loaded, so that a pair is read at once, is no load: that store is in
//! the order of all stores to the place, and what comes before it is ordered before the next of them. A
//! `casp` that fails is only a load, so such sequences are refused.
//!
//! | module | from | to |
//! |---|---|---|
//! | `semantics` | words | operations, each checked to be allocated |
//! | `bits` | operations on values | an and-inverter graph, in which what is computed alike is one literal |
//! | `run` | operations | the ways through the sequence |
//! | `prove` | the ways of both | what differs, as literals |
//! | `search` | a literal | never, a state, or undecided |
//! | `templates` | many pairs | their proofs, each kind of pair proven once |
//! | `exclusive` | the words of a sequence | words that may stand in their place; its `pair` those for two registers |
//! | `trampoline` | words too long for their place | words for it and for added space, and back |
//! | `lone` | findings on single instructions | words in their place, by fixed patterns |
//! | `around` | the file around a site | what speaks against writing there, which registers are dead |
//! | `unfit` | a file | whether it must stay as it is |
//! | `plan` | a file | all sites, each proven, and what is refused |
//! | `audit` | a file, changes | what speaks against them, by another line of reasoning |
//! | `apply` | a file, a plan | the file with the plan's words and a note of what it was before |
//! | `revert` | a patched file | the original |
//! | `difference` | both | the words that differ, if nothing else does |
//! | `verify` | both | the same differences, proven again |
//! | `note` | | what a patched file says of itself |
//! | `assumptions` | | what no proof shows |
//!
//! [`prove_loads`] is the same gate for plain loads, of which both sequences have the same in the same order,
//! and [`prove_retrying`] for a compare-and-swap that is tried again where it fails.
//!
//! # Why this engine
//!
//! The new code runs the old code's arithmetic on the same inputs, so that nearly all there is to compare is
//! one literal already, and equality costs nothing. An SMT solver would bring a C++ library or a process for
//! the few cases left: the flags of a compare that is known to find equality, a minimum of bytes written with
//! `csel`. Those go to a CDCL solver in Rust (`batsat`, MiniSat's algorithm; MIT; one small dependency;
//! varisat is older, splr's licence none of ours), which counts its decisions and gives up: undecided is
//! refused. The solver is trusted for "no state differs" only; a state that it finds is evaluated again in
//! the graph. The tests ask an SMT solver the same questions, in words of their own.
//!
//! # What is not compared, and is the plan's to see to
//!
//! That nothing enters the sequence but at its first word. What follows a way out that has not stored yet: a
//! store-exclusive there would find no monitor armed. `wfe` and `sevl` outside of the sequence. The state
//! when the access itself faults, where the new code may have written its scratch register already. By which
//! dependency a value reaches a register: one that is the same by its bits is the same. Registers that are
//! dead behind the sequence are compared like the others, unless [`prove_with`] is told of them.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod apply;
mod around;
mod assumptions;
mod audit;
mod candidate;
mod change;
mod difference;
mod edited;
mod header;
mod note;
mod plan;
mod prove;
mod request;
mod revert;
mod rewrite;
mod semantics;
mod site;
mod unfit;
mod verify;

pub use apply::{ApplyError, ApplyOptions, apply, edit, obstacle};
pub use around::{Detail, Obstacle};
pub use assumptions::ASSUMPTIONS;
pub use audit::{Concern, Contradiction, Subject, audit};
pub use candidate::exclusive::NoShape;
pub use candidate::trampoline::Trampoline;
pub use change::Change;
pub use deburr_core::image::layout::NoSpace;
pub use difference::{DifferenceError, difference};
pub use edited::Edited;
pub use note::NoteError;
pub use plan::plan;
pub use prove::{
    Dead, Difference, Given, Proof, Prover, Refusal, Side, State, prove, prove_given, prove_loads,
    prove_retrying, prove_with,
};
pub use request::{PlanError, PlanRequest};
pub use revert::{RevertError, revert};
pub use rewrite::RULES;
pub use semantics::Cause;
pub use site::{Plan, Reason, Refused, Site};
pub use unfit::Unfit;
pub use verify::{Verified, VerifyError, verify, verify_releasing};
