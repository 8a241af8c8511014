//! Runs functions of a file, on all threads.

use crate::address::CodeOffset;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::facts::FactsByFunction;
use crate::function::reach::machine::interpret::interpret;
use crate::function::reach::machine::memory::Memory;
use crate::function::reach::machine::summaries::Summaries;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Runs all subjects, from every entry.
pub(crate) fn run(
    file: &View<'_, '_>,
    summaries: &Summaries,
    memory: &Memory,
    subjects: &BTreeSet<CodeOffset>,
) -> FactsByFunction {
    let entries = |start: CodeOffset| {
        let inner = file.incoming.inner.get(&start).into_iter().flatten().copied();
        inner.filter(move |&entry| entry != start).chain([start]).map(move |entry| (start, entry))
    };
    let entries: Vec<(CodeOffset, CodeOffset)> = subjects.iter().flat_map(|&start| entries(start)).collect();
    let run = |&(start, entry): &(CodeOffset, CodeOffset)| {
        let facts = interpret(file, summaries, memory, file.program.function_from(start)?, entry)?;
        Some((entry, Arc::new(facts)))
    };
    entries.par_iter().filter_map(run).collect()
}
