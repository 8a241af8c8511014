//! Which words of memory, and which functions, tell what the CPU has.
//!
//! In: the words known by name. Out: the same with all words that the file itself writes answers of the CPU to, and
//! [`Facts`] of every function that tests one. Goes round until nothing new is found: a word written from another
//! word, a function that returns a third.

use crate::address::CodeOffset;
use crate::address::Svma;
use crate::function::reach::domain::value::Value;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::facts::FactsByFunction;
use crate::function::reach::learn::learnt::{Learnt, readers};
use crate::function::reach::learn::run::run;
use crate::function::reach::learn::sources::{
    callers_by_name, callers_by_pointer, extend_by_callers, extend_by_readers, is_pointer, query_functions,
    trap_functions,
};
use crate::function::reach::learn::words::{overlaps_any, told_words, updated_words};
use crate::function::reach::machine::effects::Facts;
use crate::function::reach::machine::memory::{Memory, initial};
use crate::function::reach::machine::summaries::Summaries;
use std::collections::{BTreeMap, BTreeSet};

/// Rounds at most; words that still change then count as doubtful.
const ROUNDS: u32 = 16;
/// Rounds after which all have their turn whose inputs have changed.
const TURNS: u32 = 4;
/// Bytes of a function at most that is run inside its callers.
const INSIDE: u32 = 4096;
/// Bytes of one at most that only calls such a function, and how many calls away.
const INSIDE_CALLER: u32 = 512;
const INSIDE_CALLS: u32 = 2;

/// Runs the functions that ask the CPU, those that read what these write, and so on.
pub(crate) fn learn(file: &View<'_, '_>, known: Memory, takers: &BTreeSet<CodeOffset>) -> Learnt {
    let mut summaries = Summaries::default();
    let queries = query_functions(file);
    for function in &queries {
        if function.end - function.start <= INSIDE {
            let depends = file.takes_arguments(function);
            if depends { &mut summaries.inlined } else { &mut summaries.context_free }.insert(function.start);
        }
    }
    for _ in 0..INSIDE_CALLS {
        let callers = file.callers_of(&summaries.inlined.iter().copied().collect());
        let is_small = |start: &CodeOffset| {
            let function = file.program.function_from(*start);
            function.is_some_and(|function| {
                function.end - function.start <= INSIDE_CALLER && file.takes_arguments(function)
            })
        };
        let callers: Vec<CodeOffset> = callers.into_iter().filter(is_small).collect();
        summaries.inlined.extend(callers);
    }
    let mut subjects: BTreeSet<CodeOffset> = queries.iter().map(|function| function.start).collect();
    subjects.extend(callers_by_name(file, |name| file.answers(name)));
    subjects.extend(trap_functions(file));
    subjects.extend(callers_by_pointer(file, &summaries));
    subjects.extend(file.callers_of(&summaries.inlined.union(&summaries.context_free).copied().collect()));
    // What these lose sight of still comes from the CPU; what others make of it is not followed.
    let askers = subjects.clone();
    subjects.extend(file.resolvers.iter().copied());
    subjects.extend(takers);
    let mut asked: BTreeSet<(u64, u8)> = BTreeSet::new();
    let mut memory = known.clone();
    let mut facts = FactsByFunction::new();
    extend_by_readers(file, &mut subjects, &mut asked, &memory);
    // All subjects first, then those whose inputs have changed.
    let mut due = subjects.clone();
    let mut waiting: BTreeSet<CodeOffset> = BTreeSet::new();
    let mut late: BTreeSet<CodeOffset> = BTreeSet::new();
    // How often words were told and then no more, and those that came back more than once: these go round for ever.
    let mut dropped: BTreeMap<(u64, u8), u32> = BTreeMap::new();
    let mut doubtful: BTreeSet<(u64, u8)> = BTreeSet::new();
    for round in 0..ROUNDS {
        facts.extend(run(file, &summaries, &memory, &due));
        let mut next = known.clone();
        let updated = updated_words(&facts);
        let told = told_words(file, &facts, &askers);
        doubtful.extend(told.keys().filter(|place| dropped.get(place).is_some_and(|&count| count > 1)));
        for place in &doubtful {
            next.words.entry(*place).or_insert(Value::Tainted);
        }
        for ((at, width), value) in told {
            // A word that is written from itself as well must not start with what is lost of it.
            let is_new = !memory.words.contains_key(&(at, width))
                && updated.contains(&(at, width))
                && !is_pointer(file, &value);
            let start = || Value::constant(initial(file.linkage, at, width).unwrap_or(0));
            next.words.entry((at, width)).or_insert(if is_new { start() } else { value });
        }
        for place in memory.words.keys().filter(|place| !next.words.contains_key(place)) {
            *dropped.entry(*place).or_default() += 1;
        }
        if round + 1 == ROUNDS {
            for (place, value) in &mut next.words {
                if memory.words.get(place) != Some(value) {
                    *value = Value::Tainted;
                }
            }
        }
        let returns: BTreeMap<CodeOffset, Value> = (facts.iter())
            .filter(|(start, facts)| {
                let is_asker = askers.contains(start);
                facts.returned.discriminates(is_asker) || is_asker && is_place(file, &facts.returned)
            })
            .filter(|(start, _)| !file.is_resolver(**start) && !summaries.inlined.contains(*start))
            .map(|(start, facts)| (*start, facts.returned.clone()))
            .collect();
        let before = subjects.clone();
        extend_by_callers(file, &summaries, &mut subjects, &returns);
        extend_by_readers(file, &mut subjects, &mut asked, &next);
        waiting.extend(subjects.difference(&before));
        // What is chosen as a pointer tells nobody how to choose: who reads it runs again when all else is settled.
        let has_pointer = |place: &(u64, u8)| {
            let values = [memory.words.get(place), next.words.get(place)];
            values.into_iter().flatten().any(|word| is_pointer(file, word))
        };
        let (pointers, words) = changed(&memory.words, &next.words).into_iter().partition(has_pointer);
        waiting.extend(outdated(file, &facts, &words, &changed(&summaries.returns, &returns)));
        late.extend(outdated(file, &facts, &pointers, &BTreeSet::new()));
        // What others depend on first: until it is settled, they would only run in vain. They may have a part in it,
        // though, and so have their turns as well.
        let tells = |start: &CodeOffset| {
            let stores = facts.get(start).map(|facts| facts.stores.as_slice()).unwrap_or_default();
            let is_told = stores.iter().any(|stored| {
                let word = next.words.get(&(stored.at, stored.width));
                word.is_some_and(|word| !is_pointer(file, word))
            });
            is_told || returns.contains_key(start)
        };
        due = waiting.iter().copied().filter(tells).collect();
        if due.is_empty() || round % TURNS == TURNS - 1 || round + TURNS >= ROUNDS {
            due = std::mem::take(&mut waiting);
        } else {
            waiting.retain(|start| !due.contains(start));
        }
        summaries.returns = returns;
        memory = next;
        if due.is_empty() {
            break;
        }
    }
    // What still changes counts as doubtful.
    due.extend(waiting.into_iter().chain(late));
    facts.extend(run(file, &summaries, &memory, &due));
    let any = !queries.is_empty()
        || !memory.words.is_empty()
        || !summaries.returns.is_empty()
        || file.asks_others();
    Learnt { readers: readers(file, &facts), facts, memory, summaries, any }
}

/// Whether a value is the address of something in the file: of a structure with answers of the CPU.
fn is_place(file: &View<'_, '_>, value: &Value) -> bool {
    value.as_constant().is_some_and(|at| file.is_place(Svma(at)))
}

/// The keys at which two maps differ.
fn changed<K: Ord + Copy, V: PartialEq>(before: &BTreeMap<K, V>, after: &BTreeMap<K, V>) -> BTreeSet<K> {
    let gone = before.keys().filter(|key| !after.contains_key(key));
    let new = after.iter().filter(|(key, value)| before.get(key) != Some(value)).map(|(key, _)| key);
    gone.chain(new).copied().collect()
}

/// The functions that have loaded a word, or called a function, of which something else is known now.
fn outdated(
    file: &View<'_, '_>,
    facts: &FactsByFunction,
    words: &BTreeSet<(u64, u8)>,
    callees: &BTreeSet<CodeOffset>,
) -> BTreeSet<CodeOffset> {
    let is_outdated = |facts: &Facts| {
        let has_changed = |&place: &(u64, u8)| overlaps_any(words, place);
        facts.inputs.words.iter().any(has_changed) || !facts.inputs.callees.is_disjoint(callees)
    };
    let outdated = facts.iter().filter(|(_, facts)| is_outdated(facts));
    outdated.filter_map(|(entry, _)| Some(file.whole_at(*entry)?.start)).collect()
}
