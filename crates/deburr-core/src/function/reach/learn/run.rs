//! Runs functions of a file, on all threads.

use crate::address::CodeOffset;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::facts::FactsByFunction;
use crate::function::reach::machine::effects::Facts;
use crate::function::reach::machine::interpret::interpret;
use crate::function::reach::machine::memory::Memory;
use crate::function::reach::machine::summaries::Summaries;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What runs from an entry have shown, by that entry.
pub(crate) type Past = FxHashMap<CodeOffset, Vec<Arc<Facts>>>;

/// Runs all subjects, from every entry. What one has shown of the same inputs in the past it shows again.
pub(crate) fn run(
    file: &View<'_, '_>,
    summaries: &Summaries,
    memory: &Memory,
    subjects: &BTreeSet<CodeOffset>,
    past: &Past,
) -> FactsByFunction {
    let entries = |start: CodeOffset| {
        let inner = file.incoming.inner.get(&start).into_iter().flatten().copied();
        inner.filter(move |&entry| entry != start).chain([start]).map(move |entry| (start, entry))
    };
    let entries: Vec<(CodeOffset, CodeOffset)> = subjects.iter().flat_map(|&start| entries(start)).collect();
    let run = |&(start, entry): &(CodeOffset, CodeOffset)| {
        let mut known = past.get(&entry).into_iter().flatten();
        if let Some(facts) = known.find(|facts| facts.inputs.hold(file.linkage, summaries, memory)) {
            return Some((entry, Arc::clone(facts)));
        }
        let facts = interpret(file, summaries, memory, file.program.function_from(start)?, entry)?;
        Some((entry, Arc::new(facts)))
    };
    entries.par_iter().filter_map(run).collect()
}
