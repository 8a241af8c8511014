//! What was learnt of a file, for the verdicts and for other files.

use crate::address::{CodeOffset, Extent, Svma};
use crate::function::reach::file::references::Access;
use crate::function::reach::file::view::View;
use crate::function::reach::learn::facts::FactsByFunction;
use crate::function::reach::machine::effects::UseKind;
use crate::function::reach::machine::memory::{Argument, Memory};
use crate::function::reach::machine::summaries::Summaries;
use std::collections::{BTreeMap, BTreeSet};

/// What was learnt.
#[derive(Default)]
pub(crate) struct Learnt {
    pub facts: FactsByFunction,
    /// The words of known meaning.
    pub memory: Memory,
    /// What stands for calls.
    pub summaries: Summaries,
    /// Words that hold addresses, and the functions that read or call through them.
    pub readers: BTreeMap<u64, Vec<(Svma, Access)>>,
    /// Arguments that choose, of unknown origin: see [`flags`](crate::function::reach::learn::flags).
    pub flags: BTreeSet<(CodeOffset, Argument)>,
    /// Small functions that return what a word says that was not followed.
    pub accessors: BTreeSet<CodeOffset>,
    /// Whether anything queries the CPU.
    pub any: bool,
}

/// What reads, or calls through, the words that addresses of code are stored in.
pub(crate) fn readers(file: &View<'_, '_>, facts: &FactsByFunction) -> BTreeMap<u64, Vec<(Svma, Access)>> {
    let stored = facts.values().flat_map(|facts| &facts.uses).filter_map(|used| match used.kind {
        UseKind::Stored(at) => Some(at),
        _ => None,
    });
    let stored: BTreeSet<u64> = stored.collect();
    let ranges: Vec<Extent> = stored.iter().map(|&at| Extent::sized(Svma(at), 1)).collect();
    let mut readers: BTreeMap<u64, Vec<(Svma, Access)>> = BTreeMap::new();
    for reference in file.references_to(&ranges) {
        readers.entry(reference.to.0).or_default().push((reference.from, reference.access));
    }
    readers
}
