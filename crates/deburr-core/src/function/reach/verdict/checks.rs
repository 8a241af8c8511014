//! What is known of a file's run-time checks, before functions are judged by them.

use crate::address::{CodeOffset, Svma};
use crate::function::reach::file::names;
use crate::function::reach::learn::facts::FactsByFunction;
use crate::function::reach::observe::guardable::Guardable;
use crate::function::reach::verdict::node::{Entries, IncomingEdge, Node, Source, leads_to};
use crate::function::reach::verdict::presumed::by_name::ByName;
use crate::function::reach::verdict::refusal::Refusal;
use crate::function::reach::verdict::settled::LastSettled;
use crate::function::reach::verdict::unconditional::Unconditional;
use crate::function::reach::verdict::unknown::cause::Cause;
use deburr_cpu::{Arch, FeatureSet};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// All edges into the nodes of interest.
#[derive(Debug, Default)]
pub(crate) struct IncomingEdges {
    pub into: BTreeMap<Node, Vec<IncomingEdge>>,
    /// Of functions that others jump into the middle of: each entry, the function's start among them, and the code that
    /// can run after it.
    pub entries: Entries,
    /// Functions that control reaches before anything has queried the CPU: each has an edge from a root, and no others.
    pub unconditional: Unconditional,
    /// Functions that an address or an offset leads to, with why nothing more is known where the edges lead nowhere: the
    /// word of data, or the instruction that makes the address.
    pub pointed: BTreeMap<CodeOffset, (Cause, Svma)>,
    /// What follows from the edges, once that was requested. Valid for as long as they are what they are.
    pub settled: LastSettled,
}

impl IncomingEdges {
    /// The word or the instruction that leads to a function, and what it is.
    pub(crate) fn pointed_to(&self, node: Node) -> Option<(Cause, Svma)> {
        match node {
            Node::Function(start) => self.pointed.get(&start).copied(),
            Node::Data(_) => None,
        }
    }

    /// The entries of a function, each with the code that can run after it; `None` for all of it.
    pub(crate) fn entries_of(
        &self,
        start: CodeOffset,
    ) -> impl Iterator<Item = (CodeOffset, Option<&[Range<CodeOffset>]>)> {
        let entries = self.entries.get(&start);
        let only = entries.is_none().then_some((start, None));
        let several = entries.into_iter().flatten().map(|(entry, ranges)| (*entry, Some(ranges.as_slice())));
        several.chain(only)
    }

    /// The entries of a function from which an instruction can run.
    pub(crate) fn entries_to(&self, start: CodeOffset, at: CodeOffset) -> impl Iterator<Item = CodeOffset> {
        self.entries_of(start).filter(move |(_, ranges)| leads_to(*ranges, at)).map(|(entry, _)| entry)
    }
}

/// What is known of a file's run-time checks, before functions are judged by them.
#[derive(Debug, Default)]
pub struct Checks {
    pub(crate) edges: IncomingEdges,
    pub(crate) facts: FactsByFunction,
    /// What is known if some words of unknown origin are what they are presumed to be.
    pub presumption: Option<Box<Presumption>>,
    /// What names say of the functions that they belong to.
    pub(crate) by_name: ByName,
    /// Which features a check of the file could be about.
    pub(crate) guardable: Guardable,
    /// Whether the file queries the CPU at all, or another file that did.
    pub(crate) any: bool,
    /// The functions that know of the CPU what a function of another file returns, by where they begin, with its name.
    pub(crate) imported: BTreeMap<CodeOffset, Arc<str>>,
    /// The functions that call one of the file's own which reports the CPU by its name, with that name.
    pub(crate) named: BTreeMap<CodeOffset, Arc<str>>,
    /// Where control enters the file.
    pub(crate) roots: BTreeMap<CodeOffset, Source>,
    /// What the program refuses to start without.
    pub refusal: Option<Refusal>,
}

impl Checks {
    /// The features that some test in the file, or some flag that it keeps, stands for.
    pub fn tested(&self) -> FeatureSet {
        self.facts.values().fold(FeatureSet::EMPTY, |all, facts| all.union(facts.tested()))
    }

    /// Whether what an imported function or object of this name says of the CPU is known, or its name says that it reports
    /// it.
    pub fn answers(name: &str) -> bool {
        names::answers(name) || names::reports_cpu(name) || name.starts_with("__cpu_")
    }

    /// The features that the program refuses to start without, and machines with no more than some features lack.
    pub(crate) fn refused(&self, arch: Arch, having: FeatureSet) -> FeatureSet {
        self.refusal.as_ref().map_or(FeatureSet::EMPTY, |refusal| refusal.missing(arch, having))
    }

    /// How many unknown functions use no more than their names say, and how many functions more, where names are believed.
    pub fn name_agreements(&self) -> (u32, u32) {
        (self.by_name.agreements, self.by_name.contradictions)
    }
}

/// Something that holds an answer of the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// What a function returns.
    Returned(CodeOffset),
    /// The word at an address.
    Word(u64),
}

/// A word that is presumed to be a copy of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// Where it is.
    pub place: Place,
    /// Functions that are chosen by a bit which stands for all that they use.
    pub agreements: u32,
    /// Those among them that use the very feature which the bit stands for.
    pub apt: u32,
    /// Functions that are chosen by one which does not.
    pub contradictions: u32,
}

/// Where such a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// So many bytes from the start of some structure.
    Field(i64),
    /// An argument, the first is 0.
    Argument(u8),
}

/// What is known if some words are what they are presumed to be.
#[derive(Debug)]
pub struct Presumption {
    /// Where the vocabulary is from.
    pub origin: Origin,
    /// The words that are presumed to be copies of it.
    pub copies: Vec<Copy>,
    pub(crate) checks: Checks,
}
