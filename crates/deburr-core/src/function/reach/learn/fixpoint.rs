//! Which words of memory, and which functions, say what the CPU has. `Tainted` is ⊤ that carries taint.
//!
//! In: the words known by name. Out: the same with all words that the file itself writes answers of the CPU to, and
//! [`Facts`] of every function that tests one. Iterates until nothing new is found: a word written from another
//! word, a function that returns a third.

use crate::address::{CodeOffset, Extent, Svma};
use crate::function::Function;
use crate::function::reach::domain::value::Value;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::again::learn_accessors;
use crate::function::reach::learn::facts::FactsByFunction;
use crate::function::reach::learn::learnt::{Learnt, readers};
use crate::function::reach::learn::run::{entries, run_from};
use crate::function::reach::learn::sources::{
    callers_by_name, callers_by_pointer, extend_by_callers, extend_by_readers, is_pointer, learns,
    query_functions, trap_functions,
};
use crate::function::reach::learn::words::{informative_words, updated_words};
use crate::function::reach::machine::effects::Facts;
use crate::function::reach::machine::memory::{Memory, initial};
use crate::function::reach::machine::summaries::Summaries;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum of iterations; words that still change then count as doubtful.
const ITERATIONS: u32 = 16;
/// Iterations after which all have their turn whose inputs have changed.
const TURNS: u32 = 4;
/// Maximum of bytes of a function that is run inside its callers.
const INSIDE: u32 = 4096;
/// Maximum of bytes of one that only calls such a function, and how many calls away.
const INSIDE_CALLER: u32 = 512;
const INSIDE_CALLS: u32 = 2;
/// Maximum of bytes of one that fills a structure of its caller's.
const INSIDE_FILLER: u32 = 256;
/// Maximum of bytes of one that only says what the CPU has.
const INSIDE_ACCESSOR: u32 = 128;

/// Runs the functions that query the CPU, those that read what these write, and so on, until nothing new is found.
pub(crate) fn learn(file: &View<'_, '_>, known: Memory, takers: &BTreeSet<CodeOffset>) -> Learnt {
    let queries = query_functions(file);
    let mut fixpoint = Fixpoint::new(file, known, &queries, takers);
    // All subjects first, then those whose inputs have changed.
    let mut due = fixpoint.subjects.clone();
    for iteration in 0..ITERATIONS {
        fixpoint.run(&due);
        let memory = fixpoint.next_memory(iteration);
        let returns = fixpoint.informative_returns(&memory);
        due = fixpoint.next_due(iteration, &memory, &returns);
        fixpoint.summaries.returns = returns;
        fixpoint.memory = memory;
        if due.is_empty() || file.program.budget().is_spent() {
            break;
        }
    }
    // What still changes counts as doubtful.
    due.extend(fixpoint.waiting.iter().chain(&fixpoint.late));
    fixpoint.run(&due);
    let Fixpoint { summaries, memory, facts, .. } = fixpoint;
    let any = !queries.is_empty()
        || !memory.words.is_empty()
        || !summaries.returns.is_empty()
        || file.queries_others();
    let readers = readers(file, &facts);
    let mut learnt = Learnt { readers, facts, memory, summaries, any, ..Learnt::default() };
    learn_accessors(file, &mut learnt);
    learnt
}

/// What to do with functions that query the CPU, and with small ones that only call these.
fn summaries_of(file: &View<'_, '_>, queries: &[Function]) -> Summaries {
    let mut summaries = Summaries::default();
    for function in queries {
        if !learns(file, function) {
            summaries.serializing.insert(function.start);
        } else if function.end - function.start <= INSIDE {
            let depends = file.takes_arguments(function);
            if depends { &mut summaries.inlined } else { &mut summaries.context_free }.insert(function.start);
        }
    }
    for _ in 0..INSIDE_CALLS {
        let callers = file.callers_of(&summaries.inlined.iter().copied().collect());
        let callers: Vec<CodeOffset> =
            callers.into_iter().filter(|&start| is_small(file, start, INSIDE_CALLER)).collect();
        summaries.inlined.extend(callers);
    }
    summaries
}

/// Whether a function that is no query itself is worth running inside its callers: what it does depends on them.
fn is_small(file: &View<'_, '_>, start: CodeOffset, most: u32) -> bool {
    let function = file.program.function_from(start);
    function.is_some_and(|function| function.end - function.start <= most && file.takes_arguments(function))
}

/// The state of the iteration.
struct Fixpoint<'f, 'w, 'a> {
    file: &'f View<'w, 'a>,
    /// What is known by name, and stays.
    known: Memory,
    summaries: Summaries,
    /// The functions that are run.
    subjects: BTreeSet<CodeOffset>,
    /// Those that query the CPU, directly or through others. What is lost in these still comes from the CPU; what
    /// others make of it is not followed.
    queriers: BTreeSet<CodeOffset>,
    /// The words whose readers are among the subjects.
    followed: BTreeSet<(u64, u8)>,
    memory: Memory,
    facts: FactsByFunction,
    /// What runs from an entry have shown before, by that entry: what they read alternates while it settles.
    past: FxHashMap<CodeOffset, Vec<Arc<Facts>>>,
    /// Functions whose inputs have changed and that have not run since.
    waiting: BTreeSet<CodeOffset>,
    /// Those of which only a pointer has changed: they run when all else is settled.
    late: BTreeSet<CodeOffset>,
    /// How often words were informative and then no more.
    dropped: BTreeMap<(u64, u8), u32>,
    /// Words that came back more than once: these would alternate indefinitely.
    doubtful: BTreeSet<(u64, u8)>,
}

impl<'f, 'w, 'a> Fixpoint<'f, 'w, 'a> {
    fn new(
        file: &'f View<'w, 'a>,
        known: Memory,
        queries: &[Function],
        takers: &BTreeSet<CodeOffset>,
    ) -> Fixpoint<'f, 'w, 'a> {
        let summaries = summaries_of(file, queries);
        let mut subjects: BTreeSet<CodeOffset> = queries.iter().map(|function| function.start).collect();
        subjects.extend(callers_by_name(file, |name| file.answers(name)));
        subjects.extend(trap_functions(file));
        subjects.extend(callers_by_pointer(file, &summaries));
        let querying = summaries.inlined.union(&summaries.context_free).copied().collect();
        subjects.extend(file.callers_of(&querying));
        let mut queriers = subjects.clone();
        queriers.retain(|start| !summaries.serializing.contains(start));
        subjects.extend(file.resolvers.iter().copied());
        subjects.extend(file.reporters());
        subjects.extend(takers);
        let mut followed = BTreeSet::new();
        let memory = known.clone();
        extend_by_readers(file, &mut subjects, &mut followed, &memory);
        Fixpoint {
            file,
            known,
            summaries,
            subjects,
            queriers,
            followed,
            memory,
            facts: FactsByFunction::default(),
            past: FxHashMap::default(),
            waiting: BTreeSet::new(),
            late: BTreeSet::new(),
            dropped: BTreeMap::new(),
            doubtful: BTreeSet::new(),
        }
    }

    /// Runs functions. What one has shown of the same inputs it shows again.
    fn run(&mut self, due: &BTreeSet<CodeOffset>) {
        let run = |&(start, entry): &(CodeOffset, CodeOffset)| {
            let run = || run_from(self.file, &self.summaries, &self.memory, start, entry);
            Some((entry, self.shown(start, entry).or_else(run)?))
        };
        let facts: FactsByFunction = entries(self.file, due).par_iter().filter_map(run).collect();
        for (entry, now) in &facts {
            let Some(before) = self.facts.get(entry).filter(|before| !Arc::ptr_eq(before, now)) else {
                continue;
            };
            let past = self.past.entry(*entry).or_default();
            past.retain(|known| !Arc::ptr_eq(known, now));
            past.push(Arc::clone(before));
        }
        self.facts.extend(facts);
    }

    /// What a function, run from an entry, has shown of the inputs that it would have now: the last time, or before.
    fn shown(&self, start: CodeOffset, entry: CodeOffset) -> Option<Arc<Facts>> {
        let past = self.past.get(&entry).into_iter().flatten();
        let mut known = self.facts.get(&entry).into_iter().chain(past);
        let (linkage, summaries, memory) = (self.file.linkage, &self.summaries, &self.memory);
        let holds = |facts: &&Arc<Facts>| facts.inputs.hold(start, linkage, summaries, memory);
        known.find(holds).cloned()
    }

    /// The words of known meaning, by what the functions store now.
    fn next_memory(&mut self, iteration: u32) -> Memory {
        let mut next = self.known.clone();
        let updated = updated_words(&self.facts);
        let found = informative_words(self.file, &self.facts, &self.queriers);
        let dropped = &self.dropped;
        let is_back = |place: &&(u64, u8)| dropped.get(place).is_some_and(|&count| count > 1);
        self.doubtful.extend(found.keys().filter(is_back));
        for place in &self.doubtful {
            next.words.entry(*place).or_insert(Value::Tainted);
        }
        for ((at, width), value) in found {
            // A word that is written from itself as well must not start with what is lost of it.
            let is_new = !self.memory.words.contains_key(&(at, width))
                && updated.contains(&(at, width))
                && !is_pointer(self.file, &value);
            let start = || Value::constant(initial(self.file.linkage, at, width).unwrap_or(0));
            next.words.entry((at, width)).or_insert(if is_new { start() } else { value });
        }
        for place in self.memory.words.keys().filter(|place| !next.words.contains_key(place)) {
            *self.dropped.entry(*place).or_default() += 1;
        }
        if iteration + 1 == ITERATIONS {
            for (place, value) in &mut next.words {
                if self.memory.words.get(place) != Some(value) {
                    *value = Value::Tainted;
                }
            }
        }
        next
    }

    /// Informative values that functions return.
    fn informative_returns(&self, memory: &Memory) -> BTreeMap<CodeOffset, Value> {
        let informs = |start: &CodeOffset, facts: &Facts| {
            let is_querier = self.queriers.contains(start);
            let leads_to_answers = || {
                is_querier && is_place(self.file, &facts.returned)
                    || is_filled(self.file, memory, &facts.returned)
            };
            // Of functions that do not query the CPU themselves, only flags count whose origin is lost: sums, sizes and the
            // like depend on the CPU as well, and choose nothing.
            facts.returned.discriminates(is_querier) || facts.returned.is_tainted_flag() || leads_to_answers()
        };
        let informing = self.facts.iter().filter(|(start, facts)| informs(start, facts));
        let called = informing
            .filter(|(start, _)| !self.file.is_resolver(**start) && !self.summaries.inlined.contains(*start));
        let mut returns: BTreeMap<CodeOffset, Value> =
            called.map(|(start, facts)| (*start, facts.returned.clone())).collect();
        // How they learnt what their names promise was lost: in a table, or in what the user has set.
        let is_lost = |start: &CodeOffset| {
            let returned = self.facts.get(start).map(|facts| &facts.returned);
            returned.is_some_and(|returned| returned.as_constant().is_none() && *returned != Value::none())
                && !self.summaries.inlined.contains(start)
        };
        if !self.queriers.is_empty() {
            for start in self.file.reporters().iter().filter(|start| is_lost(start)) {
                returns.entry(*start).or_insert(Value::Tainted);
            }
        }
        returns
    }

    /// Small functions whose arguments decide what they say of the CPU, or where they store it, are run inside their
    /// callers from now on. Out: the new ones.
    fn inline_more(&mut self) -> BTreeSet<CodeOffset> {
        let (file, summaries) = (self.file, &self.summaries);
        let is_due = |start: &CodeOffset, facts: &Facts| {
            let is_due = !facts.fields.is_empty() && is_small(file, *start, INSIDE_FILLER)
                || facts.returned.is_informative() && is_small(file, *start, INSIDE_ACCESSOR);
            is_due
                && !summaries.inlined.contains(start)
                && !summaries.context_free.contains(start)
                && !file.is_resolver(*start)
        };
        let due = self.facts.iter().filter(|(start, facts)| is_due(start, facts));
        let due: BTreeSet<CodeOffset> = due.map(|(start, _)| *start).collect();
        self.summaries.inlined.extend(&due);
        due
    }

    /// The functions to run next, of those whose inputs change with the new memory and returned values.
    fn next_due(
        &mut self,
        iteration: u32,
        next: &Memory,
        returns: &BTreeMap<CodeOffset, Value>,
    ) -> BTreeSet<CodeOffset> {
        let file = self.file;
        let before = self.subjects.clone();
        let inlined = self.inline_more();
        self.waiting.extend(file.callers_of(&inlined));
        extend_by_callers(file, &self.summaries, &mut self.subjects, returns);
        extend_by_readers(file, &mut self.subjects, &mut self.followed, next);
        self.waiting.extend(self.subjects.difference(&before));
        // What is chosen as a pointer does not show how to choose: its readers run again when all else is settled.
        let has_pointer = |place: &(u64, u8)| {
            let values = [self.memory.words.get(place), next.words.get(place)];
            values.into_iter().flatten().any(|word| is_pointer(file, word))
        };
        let (pointers, words) = changed(&self.memory.words, &next.words).into_iter().partition(has_pointer);
        let callees = changed(&self.summaries.returns, returns);
        self.waiting.extend(outdated(file, &self.facts, &words, &callees));
        self.late.extend(outdated(file, &self.facts, &pointers, &BTreeSet::new()));
        // What others depend on first: until it is settled, they would only run needlessly. They may have a part in it,
        // though, and so have their turns as well.
        let informs = |start: &CodeOffset| {
            let stores = self.facts.get(start).map(|facts| facts.stores.as_slice()).unwrap_or_default();
            let is_informative = stores.iter().any(|stored| {
                let word = next.words.get(&(stored.at, stored.width));
                word.is_some_and(|word| !is_pointer(file, word))
            });
            is_informative || returns.contains_key(start)
        };
        let first: BTreeSet<CodeOffset> = self.waiting.iter().copied().filter(informs).collect();
        if first.is_empty() || iteration % TURNS == TURNS - 1 || iteration + TURNS >= ITERATIONS {
            return std::mem::take(&mut self.waiting);
        }
        self.waiting.retain(|start| !first.contains(start));
        first
    }
}

/// Whether a value is the address of something in the file: of a structure with answers of the CPU.
fn is_place(file: &View<'_, '_>, value: &Value) -> bool {
    value.as_constant().is_some_and(|at| file.is_place(Svma(at)))
}

/// Whether a value is the address of something that holds answers of the CPU, such as the one object of a class.
fn is_filled(file: &View<'_, '_>, memory: &Memory, value: &Value) -> bool {
    /// Bytes of an object that nothing names.
    const NEAR: u64 = 64;
    let Some(at) = value.as_constant().map(Svma).filter(|&at| file.is_place(at)) else { return false };
    let named = file.linkage.object_at(at).map(|object| object.extent);
    memory.informs_in(named.unwrap_or(Extent::sized(at, NEAR)))
}

/// The keys at which two maps differ.
fn changed<K: Ord + Copy, V: PartialEq>(before: &BTreeMap<K, V>, after: &BTreeMap<K, V>) -> BTreeSet<K> {
    let gone = before.keys().filter(|key| !after.contains_key(key));
    let new = after.iter().filter(|(key, value)| before.get(key) != Some(value)).map(|(key, _)| key);
    gone.chain(new).copied().collect()
}

/// The functions that have loaded a word, or called a function, of which something else is known now. Not those that only
/// asked whether a range of data informs.
fn outdated(
    file: &View<'_, '_>,
    facts: &FactsByFunction,
    words: &BTreeSet<(u64, u8)>,
    callees: &BTreeSet<CodeOffset>,
) -> BTreeSet<CodeOffset> {
    let is_outdated = |facts: &Facts| {
        words.iter().any(|&word| facts.inputs.loads(word))
            || facts.inputs.callees.keys().any(|callee| callees.contains(callee))
    };
    let outdated = facts.iter().filter(|(_, facts)| is_outdated(facts));
    outdated.filter_map(|(entry, _)| Some(file.whole_at(*entry)?.start)).collect()
}
