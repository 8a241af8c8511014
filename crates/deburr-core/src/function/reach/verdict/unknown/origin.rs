//! The nearest reason why a function is unknown.
//!
//! In: the edges into a node, and how each node is approached. Out: [`Because`]. A breadth-first search backwards: calls
//! lead on to the caller; a test that was not followed, a pointer, a caller in another file end it. It explains a verdict
//! and never changes one.

use crate::address::{CodeOffset, Svma};
use crate::function::Program;
use crate::function::reach::verdict::checks::Checks;
use crate::function::reach::verdict::kind::GuardKind;
use crate::function::reach::verdict::node::{IncomingEdge, Node, Source};
use crate::function::reach::verdict::unknown::cause::{Because, Cause};
use crate::image::Image;
use deburr_cpu::FeatureSet;
use std::collections::{BTreeSet, VecDeque};

/// What is known of how a node is reached, as far as a reason depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approach {
    /// Nothing reaches it.
    Never,
    /// Some path to it has no test that was not followed.
    Open,
    /// Every path to it has such a test.
    Doubted,
}

/// The search for the reason of one file's verdicts.
pub(crate) struct Origins<'o, 'a> {
    pub checks: &'o Checks,
    pub image: &'o Image<'a>,
    pub program: &'o Program,
    pub approach: &'o dyn Fn(Node) -> Approach,
}

/// What one edge says.
enum Step {
    Reason(Because),
    /// The reason where no test before it is found.
    Fallback(Because, Option<Node>),
    Onward(Node),
    Nothing,
}

impl Origins<'_, '_> {
    /// The nearest reason on the paths to the function that is entered there. `missing`: what is to be proven.
    /// `is_certain`: whether only control flow matters.
    pub(crate) fn because(&self, entry: CodeOffset, missing: FeatureSet, is_certain: bool) -> Because {
        let first = Node::Function(entry);
        let mut pending = VecDeque::from([first]);
        let mut seen = BTreeSet::from([first]);
        let mut fallback: Option<Because> = None;
        while let Some(node) = pending.pop_front() {
            let edges = self.checks.edges.into.get(&node).map(Vec::as_slice).unwrap_or_default();
            let (outer, inner): (Vec<_>, Vec<_>) = edges
                .iter()
                .filter(|edge| (edge.is_certain || !is_certain) && self.is_taken(edge, missing))
                .partition(|edge| matches!(edge.from, Source::Export { .. }));
            if edges.is_empty()
                && let Some((cause, at)) = self.checks.edges.pointed_to(node)
            {
                fallback.get_or_insert(Because::at(cause, at));
            }
            // What the file does itself explains more than that others may call it.
            let outer = outer.into_iter().filter(|_| !is_certain);
            for edge in inner.into_iter().chain(outer) {
                let next = match self.step(node, edge) {
                    Step::Reason(because) => return because,
                    Step::Fallback(because, next) => {
                        fallback.get_or_insert(because);
                        next
                    }
                    Step::Onward(next) => Some(next),
                    Step::Nothing => None,
                };
                pending.extend(next.filter(|next| seen.insert(*next)));
            }
            // Beyond a pointer only a test that is on all paths to it says more.
            if fallback.is_some() {
                pending.retain(|next| (self.approach)(*next) == Approach::Doubted);
            }
        }
        fallback.unwrap_or(Because::of_file(Cause::LimitOfAnalysis))
    }

    /// The reason where a test in the function itself was not followed.
    pub(crate) fn test_before(&self, entry: CodeOffset, at: CodeOffset) -> Because {
        self.test(entry, at, self.image.svma(at))
    }

    /// Whether a path with something unproven takes the edge.
    fn is_taken(&self, edge: &IncomingEdge, missing: FeatureSet) -> bool {
        let is_reached = match edge.from {
            Source::Node(from) => (self.approach)(from) != Approach::Never,
            Source::Root | Source::Export { .. } => true,
            Source::Offer { .. } => false,
        };
        is_reached && !missing.is_subset(edge.proof.features)
    }

    fn step(&self, node: Node, edge: &IncomingEdge) -> Step {
        match edge.from {
            Source::Node(Node::Function(from)) if edge.proof.is_doubtful => {
                let leaving = self.image.code_offset(edge.at);
                Step::Reason(self.test(from, leaving.unwrap_or(from), edge.at))
            }
            Source::Node(from) if edge.is_certain => Step::Onward(from),
            Source::Node(Node::Function(from)) => {
                let next =
                    Some(Node::Function(from)).filter(|&from| (self.approach)(from) == Approach::Doubted);
                match (node, edge.is_loose) {
                    _ if self.import_of(from).is_some() && edge.kind == GuardKind::Pointer => {
                        Step::Reason(self.elsewhere(from, Because::at(Cause::PointerStored, edge.at)))
                    }
                    (Node::Data(object), _) => {
                        let table = Because::at(Cause::PointerTable, Svma(object));
                        Step::Fallback(Because { referrer: Some(edge.at), ..table }, next)
                    }
                    (_, true) => Step::Fallback(Because::at(Cause::AddressEscapes, edge.at), next),
                    (_, false) => Step::Fallback(Because::at(Cause::PointerStored, edge.at), next),
                }
            }
            // The table's own edges say who refers to it.
            Source::Node(table @ Node::Data(_)) => Step::Onward(table),
            Source::Offer { .. } => Step::Nothing,
            Source::Export { .. } => Step::Fallback(Because::at(Cause::ExportedBesideChecks, edge.at), None),
            Source::Root => match node {
                _ if edge.is_certain => Step::Nothing,
                Node::Data(object) if edge.kind == GuardKind::Table => {
                    Step::Fallback(Because::at(Cause::PointerTable, Svma(object)), None)
                }
                Node::Function(start) if edge.at != self.image.svma(start) => {
                    Step::Fallback(Because::at(Cause::NoFunctionBounds, edge.at), None)
                }
                Node::Data(object) if edge.at.0 != object => {
                    Step::Fallback(Because::at(Cause::NoFunctionBounds, edge.at), None)
                }
                _ => Step::Fallback(Because::of_file(Cause::LimitOfAnalysis), None),
            },
        }
    }

    /// A test in the function entered at `entry`, on the path to `at`.
    fn test(&self, entry: CodeOffset, at: CodeOffset, otherwise: Svma) -> Because {
        let block = self.checks.facts.get(&entry).and_then(|facts| facts.leaving(at));
        let because = match block {
            Some(block) if block.is_cut => Because::of_file(Cause::LimitOfAnalysis),
            _ => Because::at(Cause::UnknownTest, block.and_then(|block| block.doubt).unwrap_or(otherwise)),
        };
        self.elsewhere(entry, because)
    }

    /// The same, where the function has its knowledge from another file, or from a function that is known by its name.
    fn elsewhere(&self, entry: CodeOffset, because: Because) -> Because {
        let imported = self.import_of(entry).map(|name| (Cause::AnotherFile, name));
        let named = || Some((Cause::NamedQuery, self.checks.named.get(&self.start_of(entry)?)?));
        match imported.or_else(named) {
            Some((cause, name)) => Because { cause, import: Some(name.clone()), ..because },
            None => because,
        }
    }

    fn import_of(&self, entry: CodeOffset) -> Option<&std::sync::Arc<str>> {
        self.checks.imported.get(&self.start_of(entry)?)
    }

    fn start_of(&self, entry: CodeOffset) -> Option<CodeOffset> {
        Some(self.program.whole(self.program.function_at(entry)?).start)
    }
}
