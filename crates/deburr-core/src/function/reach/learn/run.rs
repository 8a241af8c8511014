//! Runs functions of a file, on all threads.

use crate::address::CodeOffset;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::facts::FactsByFunction;
use crate::function::reach::machine::effects::Facts;
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
    let run = |&(start, entry): &(CodeOffset, CodeOffset)| {
        Some((entry, run_from(file, summaries, memory, start, entry)?))
    };
    entries(file, subjects).par_iter().filter_map(run).collect()
}

/// All entries of some functions, each after where its function begins.
pub(crate) fn entries(
    file: &View<'_, '_>,
    functions: &BTreeSet<CodeOffset>,
) -> Vec<(CodeOffset, CodeOffset)> {
    let entries = |&start: &CodeOffset| {
        let inner = file.incoming.inner.get(&start).into_iter().flatten().copied();
        inner.filter(move |&entry| entry != start).chain([start]).map(move |entry| (start, entry))
    };
    functions.iter().flat_map(entries).collect()
}

/// Runs a function from one entry.
pub(crate) fn run_from(
    file: &View<'_, '_>,
    summaries: &Summaries,
    memory: &Memory,
    start: CodeOffset,
    entry: CodeOffset,
) -> Option<Arc<Facts>> {
    let function = file.program.function_from(start)?;
    interpret(file, summaries, memory, function, entry).map(Arc::new)
}
