//! Arguments that choose between functions, and whose origin is not followed.
//!
//! In: functions on paths without a check. Out: their arguments that some caller gives as zero, and none as another
//! number: `decode(…, use_bmi2)`, called with 0 where nobody has queried the CPU, and elsewhere with what an object says.
//! What is entered only where such an argument is not zero is not known to be entered without a check.

use crate::address::CodeOffset;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::learnt::Learnt;
use crate::function::reach::learn::run::run;
use crate::function::reach::machine::memory::{Argument, Memory};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum of callers of a function that is looked at, and of all that are run.
const FEW: usize = 16;
const CALLERS: usize = 256;

/// The arguments of some functions that their callers give as zero, and never as another number.
pub(crate) fn flags(
    file: &View<'_, '_>,
    learnt: &Learnt,
    functions: &BTreeSet<CodeOffset>,
) -> BTreeSet<(CodeOffset, Argument)> {
    let mut callers: BTreeSet<CodeOffset> = BTreeSet::new();
    let mut callees: BTreeSet<CodeOffset> = BTreeSet::new();
    for &callee in functions {
        let of_callee = file.callers_of(&BTreeSet::from([callee]));
        if of_callee.len() <= FEW && callers.len() < CALLERS {
            callees.insert(callee);
            callers.extend(of_callee);
        }
    }
    let memory = Memory { records_constants: true, ..learnt.memory.clone() };
    let facts = run(file, &learnt.summaries, &memory, &callers);
    let mut is_zero: BTreeMap<(CodeOffset, Argument), bool> = BTreeMap::new();
    for &(callee, argument, zero) in facts.values().flat_map(|facts| &facts.constants) {
        if callees.contains(&callee) {
            *is_zero.entry((callee, argument)).or_insert(true) &= zero;
        }
    }
    is_zero.into_iter().filter(|(_, zero)| *zero).map(|(flag, _)| flag).collect()
}
