//! Verdicts: which functions are dead on every CPU that lacks what they need.
//!
//! In: the file with its roots, and today's verdicts. Out: those verdicts, where the evaluation knows better. A function is
//! *guarded* if its instructions are dead in M⁻(g) for each feature g that they need, and one of them is live where all answers
//! are open. It is *required* if they are live on a known CPU without g, by calls and by branches that are decided or that the
//! input decides.

mod id_registers;
mod judge;
mod limits;

pub(crate) use id_registers::unchecked_reads;
pub(crate) use judge::Evaluation;
