//! The patch stage: what a finding's code may be replaced by, and whether the two are the same.
//!
//! ```text
//! bytes ──▶ plan ──▶ apply ──▶ patched bytes ──▶ verify
//!                                  └──▶ revert ──▶ bytes
//! ```
//!
//! [`prove()`] is the gate: two sequences of A64 instructions at one place in, a [`Proof`] or a [`Refusal`]
//! out. The old sequence holds a load-exclusive and a store-exclusive, the new one a single-copy atomic of
//! FEAT_LSE. They are compared over every initial value of the 31 general registers, SP, NZCV and the memory
//! cell. One thing is assumed: that a store-exclusive eventually succeeds. `docs/explanation/patch.md` follows one
//! example through all stages, and says what no proof shows.
//!
//! | module | from | to |
//! |---|---|---|
//! | `rewrite` | a rule | the function that proposes candidates for its findings |
//! | `candidate` | findings | instructions that may take the place of theirs |
//! | `semantics` | instructions | operations, each checked to be allocated |
//! | `prove` | two sequences | whether they do the same, from every state |
//! | `around` | the file around a site | what speaks against writing there, which registers are dead |
//! | `unfit` | a file | whether it must stay as it is |
//! | `request`, `plan`, `site` | a file | all sites, each proven, and what is refused |
//! | `subject` | | a change as plan and audit see it, and what the audit answers |
//! | `audit` | a file, changes | what speaks against them, by another line of reasoning |
//! | `apply` | a file, a plan | the file with the plan's instructions and a note of what it was before |
//! | `edited`, `header`, `note`, `change` | | a file with edits, the fields of its header, what it says of itself, one change |
//! | `revert` | a patched file | the original |
//! | `difference` | both | the changes, if nothing else differs |
//! | `verify` | both | the same changes, proven again |
//! | `assumptions` | | what no proof shows |

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
mod subject;
mod unfit;
mod verify;

pub use apply::{ApplyError, ApplyOptions, apply, edit, obstacle};
pub use around::{Detail, Obstacle};
pub use assumptions::ASSUMPTIONS;
pub use audit::{Effort, Known, Manner, Need, audit, evaluate};
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
pub use request::{Pause, PlanError, PlanRequest};
pub use revert::{RevertError, revert};
pub use rewrite::RULES;
pub use semantics::Cause;
pub use site::{NoShape, Plan, Reason, Refused, Site};
pub use subject::{Concern, Contradiction, Fact, RewriteKind, Subject, Trampoline};
pub use unfit::Unfit;
pub use verify::{Verified, VerifyError, verify, verify_releasing};
