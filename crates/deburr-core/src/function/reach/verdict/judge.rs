//! Follows the edges from the roots and judges each function.
//!
//! In: [`Checks`]. Out: one [`Verdict`] for each function that needs more than what is permitted.

use crate::address::{CodeOffset, Extent, Svma};
use crate::function::atomics::helper;
use crate::function::block::{Block, Graph, LARGEST};
use crate::function::reach::domain::proof::Proof;
use crate::function::reach::verdict::checks::{Checks, Presumption};
use crate::function::reach::verdict::evidence::{Contradiction, Gap, Guard, Step, Verdict, known_cpus};
use crate::function::reach::verdict::kind::{GuardKind, Reach};
use crate::function::reach::verdict::needed::cover;
use crate::function::reach::verdict::node::{IncomingEdge, Node, Source, leads_to};
use crate::function::reach::verdict::unknown::cause::{Because, Cause};
use crate::function::reach::verdict::unknown::origin::{Approach, Origins};
use crate::function::reach::verdict::unwinder;
use crate::function::{Function, Program};
use crate::image::Image;
use crate::insn::sweep::FeatureHit;
use crate::insn::{self, FeatureGroup};
use deburr_cpu::{Feature, FeatureSet};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque, hash_map};

/// Features that a program can use only after the operating system has handed it something to use them on: a
/// protection key, a shadow stack, tagged memory. That comes before any instruction, in a system call of the caller.
const GRANTED: FeatureSet = FeatureSet::of(&[Feature::PKU, Feature::CET_SS, Feature::FEAT_MTE]);

/// What outlined helpers of atomics use.
const LSE: FeatureSet = FeatureSet::of(&[Feature::FEAT_LSE]);

/// What is known of the CPU where a node begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    /// For certain.
    proven: FeatureSet,
    /// If each test that was not followed had proven everything.
    possible: FeatureSet,
}

impl Known {
    fn root() -> Known {
        Known { proven: FeatureSet::EMPTY, possible: FeatureSet::EMPTY }
    }

    fn after(self, proof: Proof, all: FeatureSet) -> Known {
        Known {
            proven: self.proven.union(proof.features),
            possible: if proof.is_doubtful { all } else { self.possible.union(proof.features) },
        }
    }

    fn meet(self, other: Known) -> Known {
        Known {
            proven: self.proven.intersection(other.proven),
            possible: self.possible.intersection(other.possible),
        }
    }
}

/// How a node is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Entry {
    /// By control flow alone.
    certain: Option<Known>,
    /// By an address that went somewhere after a check.
    checked: Option<Known>,
    /// By an address that went somewhere without one.
    bare: bool,
    /// By a caller in another file that may have queried the CPU, or by an address whose use is not followed.
    doubtful: bool,
}

impl Entry {
    /// The same, where the user states that some features are there whenever the node is reached.
    fn stating(self, features: FeatureSet) -> Entry {
        let stating = |known: Known| Known {
            proven: known.proven.union(features),
            possible: known.possible.union(features),
        };
        let bare = (self.bare || self.doubtful).then(Known::root);
        let checked = match (self.checked, bare) {
            (Some(checked), Some(bare)) => Some(checked.meet(bare)),
            (checked, bare) => checked.or(bare),
        };
        Entry { certain: self.certain.map(stating), checked: checked.map(stating), ..Entry::default() }
    }
}

/// Judges every function that needs features beyond the permitted ones.
pub(crate) fn judge(
    checks: &Checks,
    image: &Image<'_>,
    program: &Program,
    (permitted, stated): (FeatureSet, &HashMap<CodeOffset, FeatureSet>),
) -> Vec<Verdict> {
    let judge = Judge::of(checks, (image, program), permitted, stated);
    let mut decisive = Vec::new();
    let mut verdicts = Vec::new();
    for (start, hits) in judge.hits() {
        let assessment = judge.assess(start, &hits);
        decisive.push(assessment.worst);
        verdicts.push(judge.explained(assessment, start, &hits));
    }
    if let Some(presumption) = &checks.presumption {
        presume(presumption, (image, program), (permitted, stated), &mut verdicts);
    }
    checks.by_name.presume(image, &mut verdicts);
    cover(image.arch, &mut verdicts);
    for (verdict, decisive) in verdicts.iter_mut().zip(&decisive) {
        verdict.because = (verdict.reach == Reach::Unknown).then(|| judge.because(decisive));
    }
    verdicts
}

/// The functions that stay unknown, each with what of its needs is not proven.
pub(crate) fn unknown(
    checks: &Checks,
    (image, program): (&Image<'_>, &Program),
    (permitted, stated): (FeatureSet, &HashMap<CodeOffset, FeatureSet>),
) -> BTreeMap<CodeOffset, FeatureSet> {
    let judge = Judge::of(checks, (image, program), permitted, stated);
    let hits = judge.hits().into_iter();
    let mut verdicts: Vec<Verdict> =
        hits.map(|(start, hits)| judge.assess(start, &hits).verdict(start, &hits)).collect();
    cover(image.arch, &mut verdicts);
    let unknown = verdicts.into_iter().filter(|verdict| verdict.reach == Reach::Unknown);
    unknown.map(|verdict| (verdict.start, verdict.features)).collect()
}

/// Turns `unknown` into `presumed` where a check is before the function if some words are what they are presumed to be.
fn presume(
    presumption: &Presumption,
    (image, program): (&Image<'_>, &Program),
    (permitted, stated): (FeatureSet, &HashMap<CodeOffset, FeatureSet>),
    verdicts: &mut [Verdict],
) {
    let judge = Judge::of(&presumption.checks, (image, program), permitted, stated);
    let hits = judge.hits();
    for verdict in verdicts.iter_mut().filter(|verdict| verdict.reach == Reach::Unknown) {
        let Some(hits) = hits.get(&verdict.start) else { continue };
        let presumed = judge.assess(verdict.start, hits);
        if presumed.worst.reach == Reach::Guarded {
            verdict.reach = Reach::Presumed;
            verdict.guard = judge.explained(presumed, verdict.start, hits).guard;
        } else if verdict.contradiction.is_none() {
            let presumed = judge.explained(presumed, verdict.start, hits);
            let called = (presumed.reach == Reach::UnderGuarded).then(|| Contradiction {
                gaps: presumed.gaps.clone(),
                at: presumed.at,
                guard: presumed.guard,
                is_presumed: true,
            });
            let chosen = presumed.contradiction;
            verdict.contradiction = chosen.map(|it| Contradiction { is_presumed: true, ..it }).or(called);
        }
    }
}

/// The steps of a path to each function that is required or under-guarded.
pub(crate) fn unchecked_paths(
    checks: &Checks,
    image: &Image<'_>,
    program: &Program,
    permitted: FeatureSet,
) -> BTreeSet<Svma> {
    let stated = HashMap::new();
    let judge = Judge::of(checks, (image, program), permitted, &stated);
    let paths = judge.hits().into_iter().filter_map(|(start, hits)| {
        let worst = judge.assess(start, &hits).worst;
        worst.reach.is_unsafe().then(|| judge.path(worst.entry, worst.missing))
    });
    paths.flatten().map(|step| step.svma).collect()
}

/// Whether what was decoded as an instruction is amid letters: assembly often has its author's name after it.
fn is_text(image: &Image<'_>, at: Svma) -> bool {
    /// Letters in a row, the instruction among them.
    const LETTERS: usize = 20;
    let are_letters = |before: i64, count: usize| {
        let bytes = image.bytes_at(at.offset(-before)).and_then(|bytes| bytes.get(..count));
        bytes.is_some_and(|bytes| bytes.iter().all(|byte| matches!(byte, b' '..=b'~')))
    };
    are_letters(0, LETTERS - 16) && [0, 8, 16].into_iter().any(|before| are_letters(before, LETTERS))
}

/// What is made of an exported function's callers in other files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Callers {
    /// No unchecked caller: it is a choice of the file's own checks, or reached within the file anyway.
    #[default]
    None,
    /// Others may call it, and may have to query the CPU before.
    Doubtful,
    /// Others call it as they like.
    Any,
}

/// The edges, by number of node instead of by node.
struct Net<'c> {
    nodes: Vec<Node>,
    edges: Vec<&'c [IncomingEdge]>,
    /// Of each edge into each node, the number of the node that it begins in; `None` for a root.
    sources: Vec<Vec<Option<usize>>>,
    /// The nodes that each node has edges to.
    followers: Vec<Vec<usize>>,
    /// Of each node.
    callers: Vec<Callers>,
    /// The nodes that an address leads to, and no edge.
    lost: BTreeSet<usize>,
    all: FeatureSet,
}

impl<'c> Net<'c> {
    fn of(checks: &'c Checks, all: FeatureSet) -> Net<'c> {
        let into = &checks.edges.into;
        let nodes: Vec<Node> = into.keys().copied().collect();
        let number: HashMap<Node, usize> = nodes.iter().copied().zip(0..).collect();
        let edges: Vec<&[IncomingEdge]> = into.values().map(Vec::as_slice).collect();
        let mut followers: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        let mut sources = Vec::with_capacity(nodes.len());
        for (to, edges) in edges.iter().enumerate() {
            let of = |edge: &IncomingEdge| match edge.from {
                Source::Root | Source::Export { .. } => None,
                // A node that nothing leads to is never reached.
                Source::Node(node) => Some(number.get(&node).copied().unwrap_or(usize::MAX)),
            };
            let from: Vec<Option<usize>> = edges.iter().map(of).collect();
            for from in from.iter().flatten() {
                if let Some(followers) = followers.get_mut(*from)
                    && followers.last() != Some(&to)
                {
                    followers.push(to);
                }
            }
            sources.push(from);
        }
        let callers = vec![Callers::None; nodes.len()];
        Net { nodes, edges, sources, followers, callers, lost: BTreeSet::new(), all }
    }

    /// The edges into a node with the entries that they begin in.
    fn edges_into<'n>(
        &'n self,
        node: usize,
        entries: &'n [Entry],
    ) -> impl Iterator<Item = (&'c IncomingEdge, Entry)> + 'n {
        let edges = self.edges.get(node).copied().unwrap_or_default();
        let sources = self.sources.get(node).map(Vec::as_slice).unwrap_or_default();
        let root = Entry { certain: Some(Known::root()), ..Entry::default() };
        let outside = match self.callers.get(node).copied().unwrap_or_default() {
            Callers::None => Entry::default(),
            Callers::Doubtful => Entry { doubtful: true, ..Entry::default() },
            Callers::Any => root,
        };
        edges.iter().zip(sources).map(move |(edge, source)| {
            let entry = match (edge.from, source) {
                (Source::Export { .. }, _) => outside,
                (_, Some(source)) => entries.get(*source).copied().unwrap_or_default(),
                (_, None) => root,
            };
            (edge, entry)
        })
    }

    /// Computes each node's entry from those that lead to it, until nothing changes.
    fn settle(&self, entries: &mut [Entry], entry: impl Fn(usize, &[Entry]) -> Entry) {
        let mut pending: VecDeque<usize> = (0..self.nodes.len()).collect();
        let mut is_pending = vec![true; self.nodes.len()];
        while let Some(node) = pending.pop_front() {
            if let Some(mark) = is_pending.get_mut(node) {
                *mark = false;
            }
            let new = entry(node, entries);
            let Some(known) = entries.get_mut(node).filter(|known| **known != new) else { continue };
            *known = new;
            for &follower in self.followers.get(node).map(Vec::as_slice).unwrap_or_default() {
                if let Some(mark) = is_pending.get_mut(follower).filter(|mark| !**mark) {
                    *mark = true;
                    pending.push_back(follower);
                }
            }
        }
    }

    /// What is known where each node begins: the greatest solution, reached by going on from the roots. Control flow
    /// first, since it does not depend on where addresses go.
    fn entries(&self, permitted: FeatureSet, stated: &HashMap<CodeOffset, FeatureSet>) -> Vec<Entry> {
        let state = |node: usize, entry: Entry| match self.nodes.get(node) {
            Some(Node::Function(start)) => {
                stated.get(start).map_or(entry, |&features| entry.stating(features))
            }
            _ => entry,
        };
        let mut entries = vec![Entry::default(); self.nodes.len()];
        self.settle(&mut entries, |node, entries| {
            let certain = self.edges_into(node, entries).filter(|(edge, _)| edge.is_certain);
            let known = certain.filter_map(|(edge, from)| Some(from.certain?.after(edge.proof, self.all)));
            state(node, Entry { certain: known.reduce(Known::meet), ..Entry::default() })
        });
        self.settle(&mut entries, |node, entries| {
            let own = entries.get(node).copied().unwrap_or_default();
            if own.certain.is_some() {
                return own;
            }
            let mut entry = Entry::default();
            if self.lost.contains(&node) {
                entry.doubtful = true;
                return state(node, entry);
            }
            for (edge, from) in self.edges_into(node, entries) {
                let known = match from {
                    Entry { certain: Some(known), .. }
                    | Entry { certain: None, checked: Some(known), .. } => known,
                    Entry { certain: None, checked: None, bare, doubtful } if bare || doubtful => {
                        Known::root()
                    }
                    _ => continue,
                };
                let is_doubtful = from.certain.is_none() && from.checked.is_none() && !from.bare;
                let known = known.after(edge.proof, self.all);
                if known.possible.is_subset(permitted) {
                    entry.bare |= !is_doubtful && !edge.is_loose;
                    entry.doubtful |= is_doubtful || edge.is_loose;
                } else {
                    entry.checked = Some(entry.checked.map_or(known, |checked| checked.meet(known)));
                }
            }
            state(node, entry)
        });
        entries
    }

    /// The exported functions, by number, with whether others are meant to call them.
    fn exports(&self) -> Vec<(usize, bool)> {
        let exported = |edges: &[IncomingEdge]| {
            edges.iter().find_map(|edge| match edge.from {
                Source::Export { is_interface } => Some(is_interface),
                _ => None,
            })
        };
        let numbered = self.edges.iter().enumerate();
        numbered.filter_map(|(node, edges)| Some((node, exported(edges)?))).collect()
    }

    /// The edges into a node that begin elsewhere in the file.
    fn inside(&self, node: usize) -> impl Iterator<Item = &'c IncomingEdge> + '_ {
        let edges = self.edges.get(node).copied().unwrap_or_default();
        let sources = self.sources.get(node).map(Vec::as_slice).unwrap_or_default();
        let edges = edges.iter().zip(sources).filter(move |(_, from)| from.is_some_and(|from| from != node));
        edges.map(|(edge, _)| edge)
    }
}

/// What is known where each node begins, and the exported functions that others call as they like.
///
/// An exported function that the file reaches itself, and only after checks, is what the check chooses. It is exported
/// for another part of the same project, whose callers have to query the CPU as well. Such functions are found from
/// outside inwards: those that nothing in the file reaches are certainly for others.
fn entries(
    checks: &Checks,
    all: FeatureSet,
    permitted: FeatureSet,
    stated: &HashMap<CodeOffset, FeatureSet>,
) -> (HashMap<Node, Entry>, BTreeSet<Node>) {
    let mut net = Net::of(checks, all);
    let mut pending = net.exports();
    let calls = |is_sure: bool| if is_sure { Callers::Any } else { Callers::Doubtful };
    let mut entries = Vec::new();
    for iteration in 0..3 {
        let known = std::mem::take(&mut entries);
        let is_reached =
            |node: usize| known.get(node).is_some_and(|entry: &Entry| *entry != Entry::default());
        let is_called = |edge: &IncomingEdge| edge.is_certain && edge.proof.is_empty();
        // The order matters only where some are roots.
        if iteration == 1 && (checks.any || !pending.iter().any(|&(_, is_interface)| is_interface)) {
            entries = known;
            continue;
        }
        let (outer, inner): (Vec<_>, Vec<_>) = pending.into_iter().partition(|&(node, _)| match iteration {
            0 => net.inside(node).next().is_none(),
            1 => !is_reached(node) && net.inside(node).any(is_called),
            _ => !is_reached(node),
        });
        for &(node, is_interface) in &outer {
            // What the file uses itself may be for its own use alone, after a check that was not found.
            let is_chosen = iteration > 0 && checks.any;
            if let Some(callers) = net.callers.get_mut(node) {
                *callers = calls(is_interface && !is_chosen);
            }
        }
        pending = inner;
        entries = if iteration > 0 && outer.is_empty() { known } else { net.entries(permitted, stated) };
    }
    // A pointer to it goes somewhere without a check. Where the file queries the CPU at all, that is likely after a
    // choice.
    let mut is_changed = false;
    for (node, is_interface) in pending {
        let entry = entries.get(node).copied().unwrap_or_default();
        if is_interface && entry.certain.is_none() && entry.checked.is_none() {
            is_changed = true;
            if let Some(callers) = net.callers.get_mut(node) {
                *callers = calls(!checks.any);
            }
        }
    }
    if is_changed {
        entries = net.entries(permitted, stated);
    }
    // What leads to an address may be out of sight.
    let numbered = net.nodes.iter().zip(&entries).zip(0..);
    let lost = numbered.filter(|((node, entry), _)| {
        **entry == Entry::default() && checks.edges.pointed_to(**node).is_some()
    });
    net.lost = lost.map(|(_, number)| number).collect();
    if !net.lost.is_empty() {
        entries = net.entries(permitted, stated);
    }
    let numbered = net.nodes.iter().zip(&net.callers);
    let roots = numbered.filter(|(_, callers)| **callers == Callers::Any).map(|(node, _)| *node).collect();
    (net.nodes.iter().copied().zip(entries).collect(), roots)
}

/// By node, the one before it on a path from a root, and whether that calls it.
type Tree = HashMap<Node, Option<(Node, bool)>>;

/// An entry, and the part of the function that an instruction is in.
type EntryAndPart = (CodeOffset, Option<CodeOffset>);

struct Judge<'j, 'a> {
    checks: &'j Checks,
    image: &'j Image<'a>,
    program: &'j Program,
    permitted: FeatureSet,
    all: FeatureSet,
    /// By group of features, those that are not permitted.
    needs: Vec<FeatureSet>,
    stated: &'j HashMap<CodeOffset, FeatureSet>,
    entries: HashMap<Node, Entry>,
    /// The exported functions that others call as they like.
    roots: BTreeSet<Node>,
    /// By what stays unproven, and whether by control flow alone: the node before each on a shortest path.
    trees: RefCell<HashMap<(FeatureSet, bool), Tree>>,
    /// By entry, and by the part of the function that is asked for: the blocks that its branches lead to.
    led_to: RefCell<HashMap<EntryAndPart, Vec<Extent>>>,
    /// What known CPUs have.
    cpus: OnceCell<Vec<FeatureSet>>,
}

/// The instruction that decides what its function is.
#[derive(Debug, Clone, Copy)]
struct Decisive {
    reach: Reach,
    at: CodeOffset,
    missing: FeatureSet,
    /// The entry of the function that it is judged from.
    entry: CodeOffset,
}

/// What the instructions of one function come to.
struct Assessment {
    worst: Decisive,
    /// By severity, what the instructions of that verdict miss or need.
    by_severity: [FeatureSet; 5],
    /// Of the unsafe ones.
    gaps: BTreeSet<Gap>,
    /// Of what is chosen through pointers by a check that proves less: the instructions.
    chosen: Vec<(Gap, CodeOffset)>,
    /// The first check inside the function.
    local: Option<Guard>,
}

impl Assessment {
    /// The verdict, without what explains it: path, guard and cause.
    fn verdict(self, start: CodeOffset, hits: &[FeatureHit]) -> Verdict {
        let [unreached, guarded, unknown, under, required] = self.by_severity;
        let Decisive { reach, at, missing, .. } = self.worst;
        let features = match reach {
            Reach::Required => required.union(under),
            Reach::UnderGuarded => under,
            Reach::Unknown | Reach::Covered | Reach::Presumed => unknown,
            Reach::Guarded => guarded,
            Reach::Unreached => unreached.union(missing),
        };
        let (instructions, gaps) = (hits.len() as u64, self.gaps.into_iter().collect());
        Verdict {
            start,
            reach,
            features,
            guarded,
            at,
            instructions,
            path: Vec::new(),
            gaps,
            guard: None,
            contradiction: None,
            because: None,
        }
    }
}

impl<'j, 'a> Judge<'j, 'a> {
    fn of(
        checks: &'j Checks,
        (image, program): (&'j Image<'a>, &'j Program),
        permitted: FeatureSet,
        stated: &'j HashMap<CodeOffset, FeatureSet>,
    ) -> Judge<'j, 'a> {
        let all: FeatureSet = Feature::all().collect();
        let (entries, roots) = entries(checks, all, permitted, stated);
        let groups = (0..).map(FeatureGroup).take(insn::feature_group_count(image.arch));
        let needs = groups.map(|group| insn::features_of(image.arch, group).minus(permitted)).collect();
        let (trees, led_to, cpus) = (RefCell::default(), RefCell::default(), OnceCell::new());
        Judge { checks, image, program, permitted, all, needs, stated, entries, roots, trees, led_to, cpus }
    }

    /// The features that an instruction needs and that are not permitted.
    fn needs(&self, hit: &FeatureHit) -> FeatureSet {
        self.needs.get(usize::from(hit.group.0)).copied().unwrap_or_default()
    }

    /// By function, its instructions that need more than what is permitted.
    fn hits(&self) -> BTreeMap<CodeOffset, Vec<FeatureHit>> {
        let is_beyond =
            |hit: &FeatureHit| !self.needs(hit).is_empty() && !is_text(self.image, self.image.svma(hit.at));
        let mut hits: BTreeMap<CodeOffset, Vec<FeatureHit>> = BTreeMap::new();
        for (function, run) in self.program.hits_by_function() {
            let mut beyond = run.iter().copied().filter(is_beyond).peekable();
            if let Some(first) = beyond.peek() {
                let start = function.map_or(first.at, |function| self.program.whole(function).start);
                hits.entry(start).or_default().extend(beyond);
            }
        }
        hits
    }

    fn assess(&self, start: CodeOffset, hits: &[FeatureHit]) -> Assessment {
        let mut worst: Option<Decisive> = None;
        let mut by_severity = [FeatureSet::EMPTY; 5];
        let mut gaps = BTreeSet::new();
        let mut chosen = Vec::new();
        let mut local = None;
        for (entry, ranges) in self.checks.edges.entries_of(start) {
            let facts = self.checks.facts.get(&entry);
            let known = self.entries.get(&Node::Function(entry)).copied().unwrap_or_default();
            let mut last = None;
            for hit in hits.iter().filter(|hit| leads_to(ranges, hit.at)) {
                let (at, needs) = (hit.at, self.needs(hit));
                let block = facts.and_then(|facts| facts.at(at));
                // What needs the same in the same block is judged alike.
                let same = Some((hit.group, block.map(|block| block.start)));
                if last == same {
                    continue;
                }
                last = same;
                let proof = match block.map(|block| block.proof) {
                    // Only a test that never has this outcome shows that it is never reached. Where no branch leads it may
                    // be another function's.
                    Some(None) if self.is_led_to(entry, at) => continue,
                    Some(None) => Proof::doubt(true),
                    Some(Some(proof)) => proof,
                    None => Proof::EMPTY,
                };
                // Code that sets the byte that an outlined helper tests has queried the CPU: the helper is made for
                // nothing else.
                let svma = self.image.svma(at);
                let known_code = match needs == LSE {
                    true => helper::guard_of(self.image, svma),
                    false => unwinder::guard_of(self.image, self.program, svma),
                };
                let (reach, missing) = match known_code {
                    Some(svma) => {
                        // What follows in the same block is judged by itself.
                        last = None;
                        local = Some(Guard { kind: GuardKind::Branch, svma, features: needs });
                        (Reach::Guarded, needs)
                    }
                    None => self.hit(known, proof, needs),
                };
                if local.is_none() && !proof.features.is_subset(self.permitted) {
                    local = Some(Guard {
                        kind: GuardKind::Branch,
                        svma: block.and_then(|block| block.check).unwrap_or(self.image.svma(at)),
                        features: proof.features.minus(self.permitted),
                    });
                }
                if reach.is_unsafe() {
                    let proven = known.certain.unwrap_or(Known::root()).after(proof, self.all).proven;
                    gaps.insert(Gap { proven: proven.minus(self.permitted), missing });
                }
                if reach == Reach::Unknown && entry == start {
                    chosen.extend(self.chosen(known, proof, missing).map(|gap| (gap, at)));
                }
                if let Some(features) = by_severity.get_mut(usize::from(severity(reach))) {
                    *features = features.union(missing);
                }
                if worst.is_none_or(|known| severity(reach) > severity(known.reach)) {
                    worst = Some(Decisive { reach, at, missing, entry });
                }
            }
        }
        let first = hits.first().map(|hit| (hit.at, self.needs(hit)));
        let (at, missing) = first.unwrap_or((start, FeatureSet::EMPTY));
        let worst = worst.unwrap_or(Decisive { reach: Reach::Unreached, at, missing, entry: start });
        Assessment { worst, by_severity, gaps, chosen, local }
    }

    /// The verdict, with path, guard and contradiction.
    fn explained(&self, mut assessment: Assessment, start: CodeOffset, hits: &[FeatureHit]) -> Verdict {
        let chosen = std::mem::take(&mut assessment.chosen);
        let (worst, local) = (assessment.worst, assessment.local);
        let verdict = assessment.verdict(start, hits);
        // The path is that of the instruction that the verdict points at.
        let Decisive { reach, missing, entry, .. } = worst;
        let features = verdict.features;
        let path = if reach.is_unsafe() { self.path(entry, missing) } else { Vec::new() };
        let guard = match reach {
            Reach::Guarded => {
                let local_suffices = local.is_some_and(|local| features.is_subset(local.features));
                let outside =
                    if local_suffices { None } else { self.guard(entry, features, FeatureSet::EMPTY) };
                match outside {
                    // A check before the function that proves all of it says more than one inside that does not.
                    Some(outside) if features.is_subset(outside.features) => Some(outside),
                    outside => local.or(outside),
                }
            }
            Reach::UnderGuarded => local
                .filter(|local| !missing.is_subset(local.features))
                .or_else(|| self.guard(entry, FeatureSet::EMPTY, missing)),
            _ => None,
        };
        let contradiction = self.contradiction(start, chosen);
        Verdict { path, guard, contradiction, ..verdict }
    }

    /// What a check proves that an instruction's function is chosen by through a pointer, where that is not all it needs.
    fn chosen(&self, entry: Entry, proof: Proof, missing: FeatureSet) -> Option<Gap> {
        let known = entry.checked.filter(|_| entry.certain.is_none())?.after(proof, self.all);
        let proven = known.proven.minus(self.permitted);
        (!proven.is_empty() && !missing.is_subset(known.possible)).then_some(Gap { proven, missing })
    }

    /// The first of several that some known CPU falls into, of a function that each place which takes its address has a test
    /// for. Tables in data would do as well, but which of two tables an address is of, stripped files do not say.
    fn contradiction(&self, start: CodeOffset, mut chosen: Vec<(Gap, CodeOffset)>) -> Option<Contradiction> {
        let is_tested = |edge: &IncomingEdge| {
            let is_code = matches!(edge.from, Source::Node(Node::Function(_)));
            is_code && !edge.is_loose && !edge.proof.features.is_subset(self.permitted)
        };
        if chosen.is_empty() || !self.edges(Node::Function(start)).iter().all(is_tested) {
            return None;
        }
        let cpus = self.cpus.get_or_init(|| known_cpus(self.image.arch, self.permitted));
        chosen.retain(|(gap, _)| cpus.iter().any(|&has| gap.endangers(has)));
        // What follows may be another function, where nothing says where that begins.
        chosen.retain(|(_, at)| self.is_led_to(start, *at));
        let &(Gap { missing, .. }, at) = chosen.first()?;
        let guard = self.guard(start, FeatureSet::EMPTY, missing);
        chosen.sort_unstable();
        chosen.dedup_by_key(|(gap, _)| *gap);
        let gaps = chosen.into_iter().map(|(gap, _)| gap).collect();
        Some(Contradiction { gaps, at, guard, is_presumed: false })
    }

    /// Whether the branches of a function lead from an entry to an instruction, whatever they test. Not followed in functions
    /// that are too large.
    fn is_led_to(&self, entry: CodeOffset, at: CodeOffset) -> bool {
        let part = self.program.function_at(at);
        let mut led_to = self.led_to.borrow_mut();
        let extents = led_to.entry((entry, part.map(|part| part.start))).or_insert_with(|| {
            let whole = self.program.function_at(entry).map(|function| self.program.whole(function));
            let parts: BTreeMap<CodeOffset, Function> =
                whole.into_iter().chain(part).map(|part| (part.start, *part)).collect();
            let parts: Vec<Function> = parts.into_values().collect();
            if parts.iter().map(|part| part.extent(self.image).len()).sum::<u64>() > LARGEST {
                return Vec::new();
            }
            let graph = Graph::whole(self.image, self.program, &parts, &[]);
            let mut seen = vec![false; graph.blocks.len()];
            if let Some((first, _)) = graph.find(self.image.svma(entry)) {
                graph.visit(first, graph.orphans(), &mut seen, &mut Vec::new());
            }
            let blocks = graph.blocks.iter().zip(seen).filter(|(_, is_seen)| *is_seen);
            let extent = |block: &Block| Some(Extent { start: block.start(), end: block.last()?.next() });
            blocks.filter_map(|(block, _)| extent(block)).collect()
        });
        let svma = self.image.svma(at);
        let place = extents.partition_point(|extent| extent.end <= svma);
        extents.get(place).is_some_and(|extent| extent.start <= svma)
    }

    /// Judges one instruction: its reach, and the features that are not proven.
    fn hit(&self, entry: Entry, proof: Proof, needs: FeatureSet) -> (Reach, FeatureSet) {
        let here = |known: Known| known.after(proof, self.all);
        match (entry.certain, entry.checked, entry.bare || entry.doubtful) {
            (Some(known), ..) => {
                let known = here(known);
                let missing = needs.minus(known.proven);
                let reach = if missing.is_empty() {
                    return (Reach::Guarded, needs);
                } else if needs.is_subset(known.possible) || missing.is_subset(GRANTED) || self.is_go() {
                    Reach::Unknown
                } else if known.proven.is_subset(self.permitted) {
                    Reach::Required
                } else {
                    Reach::UnderGuarded
                };
                (reach, missing)
            }
            (None, Some(known), _) => {
                let missing = needs.minus(here(known).proven);
                if missing.is_empty() { (Reach::Guarded, needs) } else { (Reach::Unknown, missing) }
            }
            (None, None, true) => {
                let missing = needs.minus(here(Known::root()).proven);
                if missing.is_empty() {
                    (Reach::Guarded, needs)
                } else if self.checks.any || !entry.bare || proof.is_doubtful || missing.is_subset(GRANTED) {
                    (Reach::Unknown, missing)
                } else {
                    // Nothing in the file queries the CPU, so what calls through the address has not either.
                    (Reach::Required, missing)
                }
            }
            (None, None, false) => (Reach::Unreached, needs),
        }
    }

    /// Why an instruction is unknown.
    fn because(&self, decisive: &Decisive) -> Because {
        let &Decisive { at, missing, entry, .. } = decisive;
        let is_doubted = |known: Known| missing.is_subset(known.possible) && !missing.is_subset(known.proven);
        let approach = |node: Node| match self.entries.get(&node) {
            Some(entry) if *entry == Entry::default() => Approach::Never,
            Some(Entry { certain, checked, .. }) => match certain.or(*checked) {
                Some(known) if is_doubted(known) => Approach::Doubted,
                _ => Approach::Open,
            },
            None => Approach::Never,
        };
        let (checks, image, program) = (self.checks, self.image, self.program);
        let origins = Origins { checks, image, program, approach: &approach };
        let proof = checks.facts.get(&entry).and_then(|facts| facts.at(at)).and_then(|block| block.proof);
        if proof.is_some_and(|proof| proof.is_doubtful) {
            return origins.test_before(entry, at);
        }
        let certain = self.entries.get(&Node::Function(entry)).and_then(|known| known.certain);
        match certain {
            Some(known) if is_doubted(known) => origins.because(entry, missing, true),
            _ if missing.is_subset(GRANTED) => Because::of_file(Cause::GrantedBySystem),
            Some(_) if self.is_go() => Because::of_file(Cause::GoRuntime),
            Some(_) => Because::of_file(Cause::LimitOfAnalysis),
            None => origins.because(entry, missing, false),
        }
    }

    /// Whether Go made the file. Its run-time library keeps what it learns in words that are not followed.
    fn is_go(&self) -> bool {
        self.image.build.is_go && self.checks.any
    }

    fn edges(&self, node: Node) -> &[IncomingEdge] {
        self.checks.edges.into.get(&node).map(Vec::as_slice).unwrap_or_default()
    }

    fn step(&self, node: Node, is_stored: bool) -> Step {
        match node {
            Node::Function(start) => Step { svma: self.image.svma(start), is_function: true, is_stored },
            Node::Data(at) => Step { svma: Svma(at), is_function: false, is_stored },
        }
    }

    /// The functions on the path to an unconditionally reachable one.
    fn path_from_root(&self, node: Node) -> Vec<Step> {
        let Node::Function(start) = node else { return Vec::new() };
        let path = self.checks.edges.unconditional.path_to(self.program, start).into_iter();
        path.map(|start| self.step(Node::Function(start), false)).collect()
    }

    /// A shortest path from a root on which the features stay unproven.
    fn path(&self, entry: CodeOffset, missing: FeatureSet) -> Vec<Step> {
        let last = Node::Function(entry);
        let is_certain = self.entries.get(&last).is_some_and(|entry| entry.certain.is_some());
        let mut trees = self.trees.borrow_mut();
        let tree = trees.entry((missing, is_certain)).or_insert_with(|| self.tree(missing, is_certain));
        let mut path = Vec::new();
        let mut at = Some(last);
        while let Some(node) = at {
            let Some(&before) = tree.get(&node) else { return Vec::new() };
            path.push(self.step(node, before.is_some_and(|(_, is_called)| !is_called)));
            if before.is_none() {
                path.extend(self.path_from_root(node).into_iter().rev());
            }
            at = before.map(|(node, _)| node);
        }
        path.reverse();
        path
    }

    /// By node, the one before it on a shortest path from a root on which the features stay unproven.
    fn tree(&self, missing: FeatureSet, is_certain: bool) -> Tree {
        let is_open = |edge: &IncomingEdge| {
            let proves = edge.proof.is_doubtful || missing.is_subset(edge.proof.features);
            !proves && !edge.is_loose && (edge.is_certain || !is_certain)
        };
        let mut tree = Tree::new();
        let mut onward: HashMap<Node, Vec<(Node, bool)>> = HashMap::new();
        let mut pending = VecDeque::new();
        for (&to, edges) in &self.checks.edges.into {
            for edge in edges.iter().filter(|edge| is_open(edge)) {
                match edge.from {
                    Source::Export { .. } if !self.roots.contains(&to) => {}
                    Source::Root | Source::Export { .. } => {
                        if tree.insert(to, None).is_none() {
                            pending.push_back(to);
                        }
                    }
                    Source::Node(from) => onward.entry(from).or_default().push((to, edge.is_certain)),
                }
            }
        }
        while let Some(node) = pending.pop_front() {
            for &(next, is_called) in onward.get(&node).map(Vec::as_slice).unwrap_or_default() {
                if let hash_map::Entry::Vacant(place) = tree.entry(next) {
                    place.insert(Some((node, is_called)));
                    pending.push_back(next);
                }
            }
        }
        tree
    }

    /// The nearest check that proves all of some features, else the nearest, among the paths to a function on which
    /// others, if any are given, stay unproven.
    fn guard(&self, entry: CodeOffset, needed: FeatureSet, unproven: FeatureSet) -> Option<Guard> {
        let mut nearest = None;
        let first = Node::Function(entry);
        let mut pending = VecDeque::from([first]);
        let mut seen: BTreeSet<Node> = BTreeSet::from([first]);
        while let Some(node) = pending.pop_front() {
            if let Node::Function(at) = node
                && let Some(features) = self.stated.get(&at)
            {
                let features = features.minus(self.permitted);
                let guard = Guard { kind: GuardKind::Stated, svma: self.image.svma(at), features };
                if needed.is_subset(features) {
                    return Some(guard);
                }
                nearest = nearest.or(Some(guard));
            }
            for edge in self.edges(node) {
                if !unproven.is_empty() && unproven.is_subset(edge.proof.features) {
                    continue;
                }
                let features = edge.proof.features.minus(self.permitted);
                if !features.is_empty() {
                    let guard = Guard { kind: edge.kind, svma: edge.check.unwrap_or(edge.at), features };
                    if needed.is_subset(features) {
                        return Some(guard);
                    }
                    nearest = nearest.or(Some(guard));
                }
                if let Source::Node(from) = edge.from
                    && seen.insert(from)
                {
                    pending.push_back(from);
                }
            }
        }
        nearest
    }
}

/// Which of two instructions' verdicts is the function's.
const fn severity(reach: Reach) -> u8 {
    match reach {
        Reach::Unreached => 0,
        Reach::Guarded => 1,
        Reach::Unknown | Reach::Covered | Reach::Presumed => 2,
        Reach::UnderGuarded => 3,
        Reach::Required => 4,
    }
}
