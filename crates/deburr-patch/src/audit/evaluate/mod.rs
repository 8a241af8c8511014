//! Patch stage, audit: whether new instructions do what the old ones did, by running both on values.
//!
//! In: the instructions of both sides. Out: the registers in which they may differ, by exit, or the [`Fact`] that differs.
//! Nothing is proven here, as the plan has done that: this is a second reading of the same instructions, by tables and
//! arithmetic of its own, so that an oversight of the prover has to be made twice. Both sides run from one state; memory
//! is as the state says, and another observer changes it before each try that fails. There are thousands of states, of
//! values that meet often, and each decision of either side has to go both ways; otherwise the answer is no.
//!
//! | file | from | to |
//! |---|---|---|
//! | `table` | an instruction | an operation |
//! | `operation` | | the types of operations, and the registers that they name |
//! | `program` | instructions at their places | operations with targets |
//! | `states` | two programs | the states to run them from |
//! | `machine` | a program and a state | what it accesses and leaves |
//! | `values` | values | what arithmetic makes of them |
//! | `order` | the operations of a run | what each value comes from |
//! | `compare` | two runs | what differs |
//! | `evaluation` | two programs | what differs from any state that is tried |
//! | `question` | | what is asked, and the form of the answer |

mod compare;
mod evaluation;
mod machine;
mod operation;
mod order;
mod program;
mod question;
mod states;
mod table;
mod values;

pub(crate) use program::Program;
pub use question::{Effort, Known, Manner, Need};

use crate::subject::Fact;
use evaluation::{Answer, Evaluation};
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

/// Evaluations that are remembered; what comes after is evaluated each time.
const MAX_REMEMBERED: usize = 1 << 16;

/// Evaluates `new` against `old`, both from the same place on and of one length, and with exits counted from there.
///
/// # Errors
/// The first [`Fact`] that is not the same whatever registers are read.
///
/// ```
/// use deburr_patch::{Effort, Fact, Manner, Need, evaluate};
///
/// // ldaxr w0, [x2]; add w3, w0, w1; stlxr w4, w3, [x2]; cbnz w4, #-12
/// let old = [0x885ffc40, 0x0b010003, 0x8804fc43, 0x35ffffa4];
/// // ldaddal w1, w0, [x2]; add w3, w0, w1; mov w4, wzr; nop
/// let mut new = [0xb8e10040, 0x0b010003, 0x2a1f03e4, 0xd503201f];
/// let manner = Manner::Exclusives { may_retry: false };
/// let evaluated = |new: &[u32]| evaluate(&old, new, manner, &[], Effort::PLAN);
/// assert_eq!(evaluated(&new), Ok(vec![]));
/// // Without the status, nobody may read w4 after the last instruction.
/// new[2] = 0xd503201f;
/// assert_eq!(evaluated(&new), Ok(vec![Need { exit: 4, registers: 1 << 4 }]));
/// new[0] = 0xb8610040; // ldaddl w1, w0, [x2]
/// assert_eq!(evaluated(&new), Err(Fact::Acquire));
/// ```
pub fn evaluate(
    old: &[u32],
    new: &[u32],
    manner: Manner,
    known: &[Known],
    effort: Effort,
) -> Result<Vec<Need>, Fact> {
    let length = old.len();
    let programs = [Program::new(old, 0, length)?, Program::new(new, 0, length)?];
    let (evaluation, exits) = Evaluation::new(programs, manner, known);
    evaluation.answer(effort).map(|found| exits.restore(found, length))
}

/// Evaluates, and remembers what it found: real code has few sequences. Threads may share one.
#[derive(Default)]
pub(crate) struct Evaluator {
    known: RwLock<HashMap<Evaluation, Answer>>,
}

impl Evaluator {
    /// As [`evaluate`], from two programs that replace `length` instructions.
    pub(crate) fn evaluate(
        &self,
        programs: [Program; 2],
        manner: Manner,
        known: &[Known],
        length: usize,
    ) -> Result<Vec<Need>, Fact> {
        let (evaluation, exits) = Evaluation::new(programs, manner, known);
        let remembered = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&evaluation).cloned();
        let answer = remembered.unwrap_or_else(|| {
            let answer = evaluation.answer(Effort::PLAN);
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            if known.len() < MAX_REMEMBERED {
                known.insert(evaluation, answer.clone());
            }
            answer
        });
        answer.map(|found| exits.restore(found, length))
    }
}
