//! Runs functions a second time, with flags in structures of unknown place and in arguments taken for what they may be.

use crate::address::{CodeOffset, Extent};
use crate::function::reach::domain::value::Value;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::learnt::Learnt;
use crate::function::reach::learn::run::run;
use crate::function::reach::learn::sources::{informs, place_of, pointers_to, referrers_to};
use crate::function::reach::machine::effects::{Use, UseKind};
use crate::function::reach::machine::memory::{Argument, initial};
use std::collections::{BTreeMap, BTreeSet};

/// Of some functions those that may learn something when they run a second time. The source is a flag in a structure of
/// unknown place or in an argument, or a word that was not followed to its readers.
pub(crate) fn worth_running_again(
    file: &View<'_, '_>,
    learnt: &Learnt,
    functions: &BTreeSet<CodeOffset>,
) -> BTreeSet<CodeOffset> {
    let facts = || learnt.facts.values();
    let given = facts().flat_map(|facts| &facts.arguments).chain(&learnt.flags);
    let given: BTreeSet<CodeOffset> = given.map(|(to, _)| *to).collect();
    let fields = flags_in_structures(file, learnt);
    // Those that were not followed to their readers.
    let mut readers = readers_of(file, learnt, |word| !informs(file, word));
    readers.extend(file.callers_of(&learnt.accessors));
    let reads_field = |start: CodeOffset| {
        let graph = file.program.function_from(start).and_then(|function| file.graph(function));
        graph.is_some_and(|graph| {
            let mut operands =
                graph.blocks.iter().flat_map(|block| &block.insns).filter_map(|insn| insn.memory);
            operands.any(|memory| memory.read && !memory.is_static && fields.contains(&memory.displacement))
        })
    };
    let is_worth = |start: &CodeOffset| {
        given.contains(start) || readers.contains(start) || !fields.is_empty() && reads_field(*start)
    };
    functions.iter().copied().filter(is_worth).collect()
}

/// The functions that refer to some of the words of known meaning, by what these hold.
fn readers_of(
    file: &View<'_, '_>,
    learnt: &Learnt,
    is_meant: impl Fn(&Value) -> bool,
) -> BTreeSet<CodeOffset> {
    let words = learnt.memory.words.iter().filter(|(_, word)| is_meant(word));
    let mut words: Vec<Extent> = words.filter_map(|(&(at, width), _)| place_of(file, at, width)).collect();
    // Also through the GOT.
    words.extend(pointers_to(file, &words));
    referrers_to(file, &words)
}

/// Learns which small functions return what such a word says: `hw_features()`, whose callers test bits of it.
pub(crate) fn learn_accessors(file: &View<'_, '_>, learnt: &mut Learnt) {
    /// Maximum of bytes of such a function.
    const SMALL: u32 = 128;
    let is_new = |start: &CodeOffset| {
        let function = file.program.function_from(*start);
        function.is_some_and(|function| function.end - function.start <= SMALL)
            && !learnt.summaries.returns.contains_key(start)
            && !learnt.summaries.inlined.contains(start)
            && !file.is_resolver(*start)
    };
    let is_lost = |word: &Value| word.discriminates(true) && !word.discriminates(false);
    let small = readers_of(file, learnt, is_lost).into_iter().filter(is_new).collect();
    let ran = run(file, &learnt.summaries, &learnt.memory, &small);
    let informing = ran.iter().filter(|(_, facts)| facts.returned.discriminates(true));
    learnt.accessors = informing.map(|(start, _)| *start).collect();
    learnt.summaries.returns.extend(learnt.accessors.iter().map(|&start| (start, Value::Tainted)));
}

/// Offsets in structures of unknown place at which a flag may be that says what the CPU has: those that some function sets
/// after a check, and where a constant structure begins that is returned after a check, as FFmpeg's `av_crc_get_table`
/// returns a table.
fn flags_in_structures(file: &View<'_, '_>, learnt: &Learnt) -> BTreeSet<i64> {
    let set = learnt.facts.values().flat_map(|facts| facts.fields.iter().copied());
    let mut used = learnt.facts.values().flat_map(|facts| &facts.uses);
    let is_flagged = |used: &Use| {
        let data = file.linkage.data_at(used.address).filter(|data| data.is_constant);
        used.kind == UseKind::Returned
            && !used.proof.is_empty()
            && data.is_some()
            && file.linkage.cell(used.address).is_none()
            && matches!(initial(file.linkage, used.address.0, 4), Some(1..=0xff))
    };
    set.chain(used.any(is_flagged).then_some(0)).collect()
}

/// Runs functions on paths without a check again. Flags in structures of unknown place, and those that callers give
/// them, are taken for what they may be: set after a check. `new`: those that did not run so before.
pub(crate) fn run_again(
    file: &View<'_, '_>,
    learnt: &mut Learnt,
    functions: &BTreeSet<CodeOffset>,
    new: &BTreeSet<CodeOffset>,
) {
    /// Maximum of calls that a flag is followed through.
    const CALLS: u32 = 12;
    let mut due = new.clone();
    for _ in 0..CALLS {
        if due.is_empty() {
            break;
        }
        let mut arguments = BTreeMap::<_, BTreeSet<_>>::new();
        let given = learnt.facts.values().flat_map(|facts| &facts.arguments);
        for &(callee, argument) in given.chain(&learnt.flags) {
            arguments.entry(callee).or_default().insert(argument);
        }
        let grown = arguments.iter().filter(|&(start, now)| learnt.memory.arguments.get(start) != Some(now));
        due.extend(grown.map(|(start, _)| *start).filter(|start| functions.contains(start)));
        learnt.memory.arguments = arguments;
        learnt.memory.fields = flags_in_structures(file, learnt);
        learnt.facts.extend(run(file, &learnt.summaries, &learnt.memory, &due));
        let given = learnt.facts.values().flat_map(|facts| &facts.arguments);
        let is_new = |&&(callee, argument): &&(CodeOffset, Argument)| {
            let known = learnt.memory.arguments.get(&callee);
            functions.contains(&callee) && known.is_none_or(|known| !known.contains(&argument))
        };
        due = given.filter(is_new).map(|&(callee, _)| callee).collect();
    }
}
