//! Patch stage: what may take the place of a load-exclusive/store-exclusive sequence.
//!
//! In: the instructions from a load-exclusive on. Out: [`Replacements`]: how many instructions to replace,
//! and by what, the likeliest first. Nothing here has to be right: each replacement is proven before it is
//! taken. All keep the sequence's arithmetic, which runs again after the atomic on the same inputs. The
//! scratch register is the status register, which is never live into a sequence. The exact replacements leave
//! 0 in it, as the sequence does, so that no register needs to be dead; the lossy ones leave other values in
//! registers that often are.
//!
//! | file | from | to |
//! |---|---|---|
//! | `sequence` | instructions | a sequence: load, body, store, status |
//! | `update` | a sequence that always stores | the LSE instructions that compute the same |
//! | `compare_and_swap` | a sequence that may leave before the store | `cas`, and what sets it up |
//! | `atomic` | a sequence and its LSE instruction | whole replacements |
//! | `pair` | a sequence of two registers | replacements with `casp` |
//! | `longer` | a sequence | replacements for added space, of any length |
//! | `replacements`, `no_shape` | | what is proposed, and why nothing is |

mod atomic;
mod compare_and_swap;
mod longer;
mod pair;
mod replacements;
mod sequence;
mod update;

use crate::site::NoShape;
pub(crate) use longer::{measure, propose_longer, retrying};
pub(crate) use replacements::Replacements;

use sequence::Sequence;

/// What may replace the sequence that begins with the load-exclusive `words[0]`.
///
/// # Errors
/// [`NoShape`], where it is none of the shapes that are understood.
pub(crate) fn propose(words: &[u32]) -> Result<Replacements, NoShape> {
    if pair::stores_back(words) {
        return Err(NoShape::StoresBack);
    }
    let sequence = Sequence::read(words)?;
    if let Some(high) = sequence.high {
        return pair::propose(&sequence, high);
    }
    let exit = sequence.body.iter().position(|step| step.to.is_some());
    let atomics = match exit {
        Some(at) => sequence.compare_and_swaps(at),
        None => sequence.updates(),
    };
    if atomics.is_empty() {
        return Err(NoShape::Operation);
    }
    let exact: Vec<Vec<u32>> = atomics.iter().flat_map(|atomic| sequence.assemble(atomic)).collect();
    let lossy: Vec<Vec<u32>> = exit.map_or_else(Vec::new, |exit| sequence.making_new_first(exit));
    if exact.is_empty() && lossy.is_empty() {
        return Err(NoShape::NoRoom);
    }
    let operand = atomics.iter().find_map(|atomic| atomic.operand);
    Ok(Replacements {
        length: sequence.end,
        exact,
        lossy,
        operand,
        is_narrow: sequence.reference.bits < 32,
        exits: sequence.body.iter().filter_map(|step| step.to).collect(),
    })
}
