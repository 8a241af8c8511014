//! Which words of memory, and which functions, tell what the CPU has.
//!
//! In: the words known by name. Out: the same with all words that the file itself writes answers of the CPU to, and
//! [`Facts`] of every function that tests one. Goes round until nothing new is found: a word written from another
//! word, a function that returns a third.

use super::World;
use super::callee::takes_arguments;
use super::interpret::{Facts, FactsByFunction, interpret, stored_words};
use super::memory::{Argument, Memory, initial};
use super::proof::Proof;
use super::references::{Access, references_to};
use super::trap;
use super::value::Value;
use crate::address::CodeOffset;
use crate::address::{Extent, Svma};
use crate::function::Function;
use crate::insn::Class;
use rayon::prelude::*;
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

/// What was learnt.
pub(super) struct Learnt {
    pub facts: FactsByFunction,
    /// The words of known meaning.
    pub memory: Memory,
    /// Words that hold addresses, and the functions that read or call through them.
    pub readers: BTreeMap<u64, Vec<(Svma, Access)>>,
    /// Whether anything asks the CPU.
    pub any: bool,
}

impl Learnt {
    /// Whether functions that were not run may find more: flags in structures of unknown place or in arguments, or words
    /// that were not followed to those who read them.
    pub(super) fn leaves_open(&self, world: &World<'_, '_>) -> bool {
        self.facts.values().any(|facts| !facts.fields.is_empty() || !facts.arguments.is_empty())
            || self.memory.words.values().any(|word| !informs(world, word))
    }
}

/// Runs the functions that ask the CPU, those that read what these write, and so on.
pub(super) fn learn(world: &mut World<'_, '_>, known: Memory, takers: &BTreeSet<CodeOffset>) -> Learnt {
    let queries = query_functions(world);
    for function in &queries {
        if function.end - function.start <= INSIDE {
            let depends = takes_arguments(world, function);
            if depends { &mut world.inside } else { &mut world.alone }.insert(function.start);
        }
    }
    for _ in 0..INSIDE_CALLS {
        let callers = world.incoming.callers_of(world, &world.inside.iter().copied().collect());
        let is_small = |start: &CodeOffset| {
            let function = world.program.function_from(*start);
            function.is_some_and(|function| {
                function.end - function.start <= INSIDE_CALLER && takes_arguments(world, function)
            })
        };
        let callers: Vec<CodeOffset> = callers.into_iter().filter(is_small).collect();
        world.inside.extend(callers);
    }
    let mut subjects: BTreeSet<CodeOffset> = queries.iter().map(|function| function.start).collect();
    subjects.extend(callers_by_name(world, |name| world.answers(name)));
    subjects.extend(trap::functions(world));
    subjects.extend(callers_by_pointer(world));
    subjects.extend(world.incoming.callers_of(world, &world.inside.union(&world.alone).copied().collect()));
    // What these lose sight of still comes from the CPU; what others make of it is not followed.
    let askers = subjects.clone();
    subjects.extend(world.resolvers.iter().copied());
    subjects.extend(takers);
    let mut asked: BTreeSet<(u64, u8)> = BTreeSet::new();
    let mut memory = known.clone();
    let mut facts = FactsByFunction::new();
    extend_by_readers(world, &mut subjects, &mut asked, &memory);
    // All subjects first, then those whose inputs have changed.
    let mut due = subjects.clone();
    let mut waiting: BTreeSet<CodeOffset> = BTreeSet::new();
    let mut late: BTreeSet<CodeOffset> = BTreeSet::new();
    // How often words were told and then no more, and those that came back more than once: these go round for ever.
    let mut dropped: BTreeMap<(u64, u8), u32> = BTreeMap::new();
    let mut doubtful: BTreeSet<(u64, u8)> = BTreeSet::new();
    for round in 0..ROUNDS {
        facts.extend(run(world, &memory, &due));
        let mut next = known.clone();
        let updated = updated_words(&facts);
        let told = told_words(world, &facts, &askers);
        doubtful.extend(told.keys().filter(|place| dropped.get(place).is_some_and(|&count| count > 1)));
        for place in &doubtful {
            next.words.entry(*place).or_insert(Value::Tainted);
        }
        for ((at, width), value) in told {
            // A word that is written from itself as well must not start with what is lost of it.
            let is_new = !memory.words.contains_key(&(at, width))
                && updated.contains(&(at, width))
                && !is_pointer(world, &value);
            let start = || Value::constant(initial(world.linkage, at, width).unwrap_or(0));
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
                facts.returned.discriminates(is_asker) || is_asker && is_place(world, &facts.returned)
            })
            .filter(|(start, _)| !world.is_resolver(**start) && !world.is_run_inside(**start))
            .map(|(start, facts)| (*start, facts.returned.clone()))
            .collect();
        let before = subjects.clone();
        extend_by_callers(world, &mut subjects, &returns);
        extend_by_readers(world, &mut subjects, &mut asked, &next);
        waiting.extend(subjects.difference(&before));
        // What is chosen as a pointer tells nobody how to choose: who reads it runs again when all else is settled.
        let has_pointer = |place: &(u64, u8)| {
            let values = [memory.words.get(place), next.words.get(place)];
            values.into_iter().flatten().any(|word| is_pointer(world, word))
        };
        let (pointers, words) = changed(&memory.words, &next.words).into_iter().partition(has_pointer);
        waiting.extend(outdated(world, &facts, &words, &changed(&world.returns, &returns)));
        late.extend(outdated(world, &facts, &pointers, &BTreeSet::new()));
        // What others depend on first: until it is settled, they would only run in vain. They may have a part in it,
        // though, and so have their turns as well.
        let tells = |start: &CodeOffset| {
            let stores = facts.get(start).map(|facts| facts.stores.as_slice()).unwrap_or_default();
            let is_told = stores.iter().any(|stored| {
                let word = next.words.get(&(stored.at, stored.width));
                word.is_some_and(|word| !is_pointer(world, word))
            });
            is_told || returns.contains_key(start)
        };
        due = waiting.iter().copied().filter(tells).collect();
        if due.is_empty() || round % TURNS == TURNS - 1 || round + TURNS >= ROUNDS {
            due = std::mem::take(&mut waiting);
        } else {
            waiting.retain(|start| !due.contains(start));
        }
        world.returns = returns;
        memory = next;
        if due.is_empty() {
            break;
        }
    }
    // What still changes counts as doubtful.
    due.extend(waiting.into_iter().chain(late));
    facts.extend(run(world, &memory, &due));
    let any =
        !queries.is_empty() || !memory.words.is_empty() || !world.returns.is_empty() || world.asks_others();
    Learnt { readers: readers(world, &facts), facts, memory, any }
}

/// Whether a value is the address of something in the file: of a structure with answers of the CPU.
fn is_place(world: &World<'_, '_>, value: &Value) -> bool {
    value.as_constant().is_some_and(|at| world.is_place(Svma(at)))
}

/// The keys at which two maps differ.
fn changed<K: Ord + Copy, V: PartialEq>(before: &BTreeMap<K, V>, after: &BTreeMap<K, V>) -> BTreeSet<K> {
    let gone = before.keys().filter(|key| !after.contains_key(key));
    let new = after.iter().filter(|(key, value)| before.get(key) != Some(value)).map(|(key, _)| key);
    gone.chain(new).copied().collect()
}

/// Whether a word shares bytes with one of some words.
fn overlaps_any(words: &BTreeSet<(u64, u8)>, (at, width): (u64, u8)) -> bool {
    let end = at.saturating_add(width.into());
    let mut near = words.range((at.saturating_sub(8), 0)..(end, 0));
    near.any(|&(from, other)| from.saturating_add(other.into()) > at)
}

/// The functions that have loaded a word, or called a function, of which something else is known now.
fn outdated(
    world: &World<'_, '_>,
    facts: &FactsByFunction,
    words: &BTreeSet<(u64, u8)>,
    callees: &BTreeSet<CodeOffset>,
) -> BTreeSet<CodeOffset> {
    let is_outdated = |facts: &Facts| {
        let has_changed = |&place: &(u64, u8)| overlaps_any(words, place);
        facts.inputs.words.iter().any(has_changed) || !facts.inputs.callees.is_disjoint(callees)
    };
    let outdated = facts.iter().filter(|(_, facts)| is_outdated(facts));
    outdated.filter_map(|(entry, _)| Some(world.whole_at(*entry)?.start)).collect()
}

/// Of some functions those that may learn something when they run a second time: from a flag in a structure of unknown
/// place or in an argument, or from a word that was not followed to those who read it.
pub(super) fn worth_a_look(
    world: &World<'_, '_>,
    learnt: &Learnt,
    functions: &BTreeSet<CodeOffset>,
) -> BTreeSet<CodeOffset> {
    let facts = || learnt.facts.values();
    let given: BTreeSet<CodeOffset> = facts().flat_map(|facts| &facts.arguments).map(|(to, _)| *to).collect();
    let fields: BTreeSet<i64> = facts().flat_map(|facts| facts.fields.iter().copied()).collect();
    let words = learnt.memory.words.iter().filter(|(_, word)| !informs(world, word));
    let words: Vec<Extent> = words.map(|(&(at, width), _)| Extent::sized(Svma(at), width.into())).collect();
    let readers = referrers_to(world, &words);
    let reads_field = |start: CodeOffset| {
        let graph = world.program.function_from(start).and_then(|function| world.graph(function));
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

/// Runs functions on ways without a check again, and takes flags in structures of unknown place, and those that callers
/// give them, for what they may be: set after a check. `new`: those that did not run so before.
pub(super) fn look_again(
    world: &World<'_, '_>,
    learnt: &mut Learnt,
    functions: &BTreeSet<CodeOffset>,
    new: &BTreeSet<CodeOffset>,
) {
    /// Calls at most that a flag is followed through.
    const CALLS: u32 = 12;
    let mut due = new.clone();
    for _ in 0..CALLS {
        if due.is_empty() {
            break;
        }
        let mut arguments = BTreeMap::<_, BTreeSet<_>>::new();
        for &(callee, argument) in learnt.facts.values().flat_map(|facts| &facts.arguments) {
            arguments.entry(callee).or_default().insert(argument);
        }
        let grown = arguments.iter().filter(|&(start, now)| learnt.memory.arguments.get(start) != Some(now));
        due.extend(grown.map(|(start, _)| *start).filter(|start| functions.contains(start)));
        learnt.memory.arguments = arguments;
        learnt.memory.fields = learnt.facts.values().flat_map(|facts| facts.fields.iter().copied()).collect();
        learnt.facts.extend(run(world, &learnt.memory, &due));
        let given = learnt.facts.values().flat_map(|facts| &facts.arguments);
        let is_new = |&&(callee, argument): &&(CodeOffset, Argument)| {
            let known = learnt.memory.arguments.get(&callee);
            functions.contains(&callee) && known.is_none_or(|known| !known.contains(&argument))
        };
        due = given.filter(is_new).map(|&(callee, _)| callee).collect();
    }
}

/// Functions with instructions that ask the CPU.
pub(super) fn query_functions(world: &World<'_, '_>) -> Vec<Function> {
    let marks = world.program.marks().filter(|mark| mark.class == Class::FeatureQuery);
    let mut functions: Vec<Function> = marks.filter_map(|mark| world.whole_at(mark.at).copied()).collect();
    functions.sort_unstable_by_key(|function| function.start);
    functions.dedup();
    functions
}

/// Functions that call one of some names that tell something.
pub(super) fn callers_by_name(
    world: &World<'_, '_>,
    is_meant: impl Fn(&str) -> bool,
) -> BTreeSet<CodeOffset> {
    let told = world.names.iter().filter(|(_, name)| is_meant(name));
    let told: BTreeSet<CodeOffset> = told.filter_map(|(svma, _)| world.image.code_offset(*svma)).collect();
    let mut callers = world.incoming.callers_of(world, &told);
    let cells = world.linkage.imports.iter().filter(|import| is_meant(import.name));
    let cells: Vec<Extent> = cells.map(|import| Extent::sized(import.at, 8)).collect();
    callers.extend(referrers_to(world, &cells));
    callers
}

/// Functions that read a pointer to one that is run inside its callers, and that nothing writes to: a pointer that is
/// written to leads to what was chosen.
fn callers_by_pointer(world: &World<'_, '_>) -> BTreeSet<CodeOffset> {
    let places = world.inside.iter().map(|&start| Extent::sized(world.image.svma(start), 1));
    let mut cells = pointers_to(world, &places.collect::<Vec<_>>());
    let written = references_to(world, &cells).into_iter();
    let written = written.filter(|reference| reference.access == Access::Write);
    let written: BTreeSet<Svma> = written.map(|reference| reference.to).collect();
    cells.retain(|cell| !written.contains(&cell.start));
    // Also through the GOT.
    cells.extend(pointers_to(world, &cells));
    referrers_to(world, &cells)
}

/// The cells that hold an address in one of some places.
fn pointers_to(world: &World<'_, '_>, places: &[Extent]) -> Vec<Extent> {
    let cells = places.iter().flat_map(|&place| world.incoming.cells_to(place));
    cells.map(|&(_, cell)| Extent::sized(cell, 8)).collect()
}

/// The functions that refer to some places in data.
fn referrers_to(world: &World<'_, '_>, places: &[Extent]) -> BTreeSet<CodeOffset> {
    let references = references_to(world, places).into_iter();
    references.filter_map(|reference| start_of(world, reference.from)).collect()
}

fn start_of(world: &World<'_, '_>, svma: Svma) -> Option<CodeOffset> {
    Some(world.whole_at(world.image.code_offset(svma)?)?.start)
}

fn extend_by_callers(
    world: &World<'_, '_>,
    subjects: &mut BTreeSet<CodeOffset>,
    returns: &BTreeMap<CodeOffset, Value>,
) {
    let telling: BTreeSet<CodeOffset> = returns.keys().chain(&world.inside).copied().collect();
    subjects.extend(world.incoming.callers_of(world, &telling));
}

/// Whether those who read a word learn what the CPU has. What a pointer to code leads to is known from those who store it,
/// and what is doubtful says no more than that: its readers are run when they stand on a way without a check.
fn informs(world: &World<'_, '_>, word: &Value) -> bool {
    word.discriminates(false) && !is_pointer(world, word)
}

/// Whether a word may hold an address of code.
fn is_pointer(world: &World<'_, '_>, word: &Value) -> bool {
    word.choices().iter().any(|&(value, _)| world.image.code_offset(Svma(value)).is_some())
}

/// Adds the functions that refer to the words of known meaning, also through the pointers in the GOT.
fn extend_by_readers(
    world: &World<'_, '_>,
    subjects: &mut BTreeSet<CodeOffset>,
    asked: &mut BTreeSet<(u64, u8)>,
    memory: &Memory,
) {
    let new = memory.words.iter().filter(|(place, value)| !asked.contains(*place) && informs(world, value));
    let new: Vec<(u64, u8)> = new.map(|(place, _)| *place).collect();
    let mut places: Vec<Extent> = Vec::new();
    for &(at, width) in &new {
        asked.insert((at, width));
        if let Some((import, _)) = super::memory::import_of(at) {
            places.extend(world.linkage.imports.get(import).map(|import| Extent::sized(import.at, 8)));
            continue;
        }
        places.push(Extent::sized(Svma(at), width.into()));
        // A structure is found by its start, too: by the object's, or by what points into it.
        let object = world.linkage.object_at(Svma(at)).map(|object| object.extent.start);
        places.extend(object.map(|start| Extent::sized(start, 1)));
    }
    places.extend(pointers_to(world, &places));
    subjects.extend(referrers_to(world, &places));
}

/// Runs all subjects, from every entry.
fn run(world: &World<'_, '_>, memory: &Memory, subjects: &BTreeSet<CodeOffset>) -> FactsByFunction {
    let entries = |start: CodeOffset| {
        let inner = world.incoming.inner.get(&start).into_iter().flatten().copied();
        inner.filter(move |&entry| entry != start).chain([start]).map(move |entry| (start, entry))
    };
    let entries: Vec<(CodeOffset, CodeOffset)> = subjects.iter().flat_map(|&start| entries(start)).collect();
    let run = |&(start, entry): &(CodeOffset, CodeOffset)| {
        Some((entry, interpret(world, memory, world.program.function_from(start)?, entry)?))
    };
    entries.par_iter().filter_map(run).collect()
}

/// The words to which something telling is stored, with what they hold at the start.
fn told_words(
    world: &World<'_, '_>,
    facts: &FactsByFunction,
    askers: &BTreeSet<CodeOffset>,
) -> BTreeMap<(u64, u8), Value> {
    let mut told = BTreeMap::new();
    let mut lost: Vec<(u64, u8)> = Vec::new();
    let by_askers =
        facts.iter().filter(|(start, _)| askers.contains(start)).flat_map(|(_, facts)| &facts.stores);
    let by_askers: BTreeSet<(u64, u8)> = by_askers.map(|stored| (stored.at, stored.width)).collect();
    for ((at, width), (value, cleared)) in stored_words(facts.values()) {
        if world.linkage.data_at(Svma(at)).is_none_or(|data| data.is_constant) {
            continue;
        }
        let may_be_tainted = by_askers.contains(&(at, width));
        let initial = initial(world.linkage, at, width).unwrap_or(0);
        let mut joined = value.join(&Value::constant(initial));
        if !joined.discriminates(false) && !cleared.is_empty() && initial == 0 {
            // Set for some reason or other, and cleared where the CPU lacks the feature.
            joined = Value::Unknown.under(Proof::of(cleared)).join(&Value::constant(0)).truncate(width);
        }
        // What a function that asks the CPU stores, and nobody knows what it is, may be the answer.
        if may_be_tainted && value.choices().is_empty() && !joined.is_telling() {
            lost.push((at, width));
        }
        if joined.discriminates(may_be_tainted) {
            told.insert((at, width), joined);
        }
    }
    for (at, width) in lost {
        let end = at.saturating_add(width.into());
        let is_told = told
            .keys()
            .any(|&(from, stored): &(u64, u8)| from < end && at < from.saturating_add(stored.into()));
        if !is_told {
            told.insert((at, width), Value::Tainted);
        }
    }
    told
}

/// The words that some function stores to and loads as well.
fn updated_words(facts: &FactsByFunction) -> BTreeSet<(u64, u8)> {
    let updated = facts.values().flat_map(|facts| {
        let stored: BTreeSet<(u64, u8)> =
            facts.stores.iter().map(|stored| (stored.at, stored.width)).collect();
        let is_loaded = |&place: &(u64, u8)| overlaps_any(&facts.inputs.words, place);
        stored.into_iter().filter(is_loaded).collect::<Vec<_>>()
    });
    updated.collect()
}

/// Who reads, or calls through, the words that addresses of code are stored in.
fn readers(world: &World<'_, '_>, facts: &FactsByFunction) -> BTreeMap<u64, Vec<(Svma, Access)>> {
    let stored = facts.values().flat_map(|facts| &facts.uses).filter_map(|used| match used.kind {
        super::interpret::UseKind::Stored(at) => Some(at),
        _ => None,
    });
    let stored: BTreeSet<u64> = stored.collect();
    let ranges: Vec<Extent> = stored.iter().map(|&at| Extent::sized(Svma(at), 1)).collect();
    let mut readers: BTreeMap<u64, Vec<(Svma, Access)>> = BTreeMap::new();
    for reference in references_to(world, &ranges) {
        readers.entry(reference.to.0).or_default().push((reference.from, reference.access));
    }
    readers
}
