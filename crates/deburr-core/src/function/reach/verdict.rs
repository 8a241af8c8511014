//! Follows the ways from the roots and judges each function.
//!
//! In: [`Checks`]. Out: one [`Verdict`] for each function that needs more than what is permitted.

use super::Checks;
use super::edges::{Node, Source, Way};
use super::kind::{GuardKind, Reach};
use super::proof::Proof;
use crate::address::Svma;
use crate::function::Program;
use crate::image::Image;
use crate::insn;
use crate::insn::sweep::CodeOffset;
use deburr_cpu::{Feature, FeatureSet};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// Features that a program can use only after the operating system has handed it something to use them on: a
/// protection key. That comes before any instruction, in a system call of the caller.
const GRANTED: FeatureSet = FeatureSet::of(&[Feature::PKU]);

/// The check in front of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// What kind of check it is.
    pub kind: GuardKind,
    /// The branch, or where the guarded way begins.
    pub svma: Svma,
    /// Features that it proves.
    pub features: FeatureSet,
}

/// A step of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The function or the data.
    pub svma: Svma,
    /// Whether it is a function.
    pub is_function: bool,
}

/// What is found of one function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Where the function begins.
    pub start: CodeOffset,
    /// Whether the program reaches it without a check.
    pub reach: Reach,
    /// Features that its instructions of this verdict need and that nothing has proven; where it is guarded or
    /// unreached, all that they need. Of a required one, those of its under-guarded instructions too.
    pub features: FeatureSet,
    /// Features that its guarded instructions need, whatever the verdict.
    pub guarded: FeatureSet,
    /// The first instruction of this verdict.
    pub at: CodeOffset,
    /// Its instructions beyond what is permitted.
    pub instructions: u64,
    /// From a root to the function; empty unless a way without a sufficient check is known.
    pub path: Vec<Step>,
    /// The check, if there is one.
    pub guard: Option<Guard>,
}

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
        let both = |a: FeatureSet, b: FeatureSet| a.minus(a.minus(b));
        Known { proven: both(self.proven, other.proven), possible: both(self.possible, other.possible) }
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
}

impl Entry {
    /// The same, where the user states that some features are there whenever the node is reached.
    fn stating(self, features: FeatureSet) -> Entry {
        let told = |known: Known| Known {
            proven: known.proven.union(features),
            possible: known.possible.union(features),
        };
        let bare = self.bare.then(Known::root);
        let checked = match (self.checked, bare) {
            (Some(checked), Some(bare)) => Some(checked.meet(bare)),
            (checked, bare) => checked.or(bare),
        };
        Entry { certain: self.certain.map(told), checked: checked.map(told), bare: false }
    }
}

/// Judges every function that needs features beyond the permitted ones.
pub(super) fn judge(
    checks: &Checks,
    image: &Image<'_>,
    program: &Program,
    (permitted, stated): (FeatureSet, &HashMap<CodeOffset, FeatureSet>),
) -> Vec<Verdict> {
    let all: FeatureSet = Feature::all().collect();
    let entries = entries(checks, all, permitted, stated);
    let judge = Judge { checks, image, permitted, all, stated, entries };
    let mut hits: BTreeMap<CodeOffset, Vec<(CodeOffset, FeatureSet)>> = BTreeMap::new();
    for (function, run) in program.hits_by_function() {
        for hit in run {
            let needs = insn::features_of(image.arch, hit.group).minus(permitted);
            if !needs.is_empty() {
                let start = function.map_or(hit.at, |function| program.whole(function).start);
                hits.entry(start).or_default().push((hit.at, needs));
            }
        }
    }
    hits.into_iter().map(|(start, hits)| judge.function(start, &hits)).collect()
}

/// What is known where each node begins: the greatest solution, reached by going on from the roots.
fn entries(
    checks: &Checks,
    all: FeatureSet,
    permitted: FeatureSet,
    stated: &HashMap<CodeOffset, FeatureSet>,
) -> HashMap<Node, Entry> {
    let ways = &checks.ways.into;
    let mut followers: HashMap<Node, Vec<Node>> = HashMap::new();
    for (&to, ways) in ways {
        for way in ways {
            if let Source::Node(from) = way.from {
                followers.entry(from).or_default().push(to);
            }
        }
    }
    let mut entries: HashMap<Node, Entry> = HashMap::new();
    let mut pending: BTreeSet<Node> = ways.keys().copied().collect();
    while let Some(node) = pending.pop_first() {
        let into = ways.get(&node).map(Vec::as_slice).unwrap_or_default();
        let mut entry = entry(&entries, into, all, permitted);
        if let Node::Function(start) = node
            && let Some(&features) = stated.get(&start)
        {
            entry = entry.stating(features);
        }
        if entries.get(&node).copied().unwrap_or_default() != entry {
            entries.insert(node, entry);
            pending.extend(followers.get(&node).into_iter().flatten().copied());
        }
    }
    entries
}

fn entry(entries: &HashMap<Node, Entry>, ways: &[Way], all: FeatureSet, permitted: FeatureSet) -> Entry {
    let mut entry = Entry::default();
    let join = |known: &mut Option<Known>, other: Known| {
        *known = Some(known.map_or(other, |known| known.meet(other)));
    };
    for way in ways {
        let from = match way.from {
            Source::Root => Entry { certain: Some(Known::root()), ..Entry::default() },
            Source::Node(node) => entries.get(&node).copied().unwrap_or_default(),
        };
        let known = match (from.certain, from.checked, from.bare) {
            (Some(known), ..) => known,
            (None, Some(known), _) => known,
            (None, None, true) => Known::root(),
            (None, None, false) => continue,
        };
        let known = known.after(way.proof, all);
        if way.is_certain && from.certain.is_some() {
            join(&mut entry.certain, known);
        } else if known.possible.is_subset(permitted) {
            entry.bare = true;
        } else {
            join(&mut entry.checked, known);
        }
    }
    entry
}

struct Judge<'j, 'a> {
    checks: &'j Checks,
    image: &'j Image<'a>,
    permitted: FeatureSet,
    all: FeatureSet,
    stated: &'j HashMap<CodeOffset, FeatureSet>,
    entries: HashMap<Node, Entry>,
}

impl Judge<'_, '_> {
    fn function(&self, start: CodeOffset, hits: &[(CodeOffset, FeatureSet)]) -> Verdict {
        let entry = self.entries.get(&Node::Function(start)).copied().unwrap_or_default();
        let facts = self.checks.facts.get(&start);
        let mut worst: Option<(Reach, CodeOffset, FeatureSet)> = None;
        let mut by_severity = [FeatureSet::EMPTY; 5];
        let mut local = None;
        for &(at, needs) in hits {
            let block = facts.and_then(|facts| facts.at(at));
            let proof = match block.map(|block| block.proof) {
                Some(None) => continue,
                Some(Some(proof)) => proof,
                None => Proof::EMPTY,
            };
            let (reach, missing) = self.hit(entry, proof, needs);
            if local.is_none() && !proof.features.is_subset(self.permitted) {
                local = Some(Guard {
                    kind: GuardKind::Branch,
                    svma: block.and_then(|block| block.check).unwrap_or(self.image.svma(at)),
                    features: proof.features.minus(self.permitted),
                });
            }
            if let Some(features) = by_severity.get_mut(usize::from(severity(reach))) {
                *features = features.union(missing);
            }
            if worst.is_none_or(|(known, ..)| severity(reach) > severity(known)) {
                worst = Some((reach, at, missing));
            }
        }
        let first = hits.first().copied().unwrap_or((start, FeatureSet::EMPTY));
        let [unreached, guarded, unknown, under, required] = by_severity;
        // The path is that of the instruction that the verdict points at.
        let (reach, at, missing) = worst.unwrap_or((Reach::Unreached, first.0, first.1));
        let features = match reach {
            Reach::Required => required.union(under),
            Reach::UnderGuarded => under,
            Reach::Unknown => unknown,
            Reach::Guarded => guarded,
            Reach::Unreached => unreached.union(missing),
        };
        let path = match reach {
            Reach::Required | Reach::UnderGuarded => self.path(start, missing),
            _ => Vec::new(),
        };
        let guard = match reach {
            Reach::Guarded => {
                let local_suffices = local.is_some_and(|local| features.is_subset(local.features));
                let outside =
                    if local_suffices { None } else { self.guard(start, features, FeatureSet::EMPTY) };
                match outside {
                    // A check in front of the function that proves all of it says more than one inside that does not.
                    Some(outside) if features.is_subset(outside.features) => Some(outside),
                    outside => local.or(outside),
                }
            }
            Reach::UnderGuarded => local
                .filter(|local| !missing.is_subset(local.features))
                .or_else(|| self.guard(start, FeatureSet::EMPTY, missing)),
            _ => None,
        };
        let instructions = hits.len() as u64;
        Verdict { start, reach, features, guarded, at, instructions, path, guard }
    }

    /// Judges one instruction: its reach, and the features that are not proven.
    fn hit(&self, entry: Entry, proof: Proof, needs: FeatureSet) -> (Reach, FeatureSet) {
        let here = |known: Known| known.after(proof, self.all);
        match (entry.certain, entry.checked, entry.bare) {
            (Some(known), ..) => {
                let known = here(known);
                let missing = needs.minus(known.proven);
                let reach = if missing.is_empty() {
                    return (Reach::Guarded, needs);
                } else if needs.is_subset(known.possible) || missing.is_subset(GRANTED) {
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
                } else if self.checks.any || proof.is_doubtful || missing.is_subset(GRANTED) {
                    (Reach::Unknown, missing)
                } else {
                    // Nothing in the file asks the CPU, so whoever calls through the address has not either.
                    (Reach::Required, missing)
                }
            }
            (None, None, false) => (Reach::Unreached, needs),
        }
    }

    fn ways(&self, node: Node) -> &[Way] {
        self.checks.ways.into.get(&node).map(Vec::as_slice).unwrap_or_default()
    }

    fn step(&self, node: Node) -> Step {
        match node {
            Node::Function(start) => Step { svma: self.image.svma(start), is_function: true },
            Node::Data(at) => Step { svma: Svma(at), is_function: false },
        }
    }

    /// A shortest path from a root on which the features stay unproven.
    fn path(&self, start: CodeOffset, missing: FeatureSet) -> Vec<Step> {
        let first = Node::Function(start);
        let is_certain = self.entries.get(&first).is_some_and(|entry| entry.certain.is_some());
        let mut toward: HashMap<Node, Node> = HashMap::new();
        let mut pending = VecDeque::from([first]);
        let mut seen: BTreeSet<Node> = BTreeSet::from([first]);
        while let Some(node) = pending.pop_front() {
            for way in self.ways(node) {
                let proves = way.proof.is_doubtful || missing.is_subset(way.proof.features);
                if proves || is_certain && !way.is_certain {
                    continue;
                }
                match way.from {
                    Source::Root => {
                        let mut path = vec![self.step(node)];
                        let mut at = node;
                        while let Some(&next) = toward.get(&at) {
                            path.push(self.step(next));
                            at = next;
                        }
                        return path;
                    }
                    Source::Node(from) => {
                        if seen.insert(from) {
                            toward.insert(from, node);
                            pending.push_back(from);
                        }
                    }
                }
            }
        }
        Vec::new()
    }

    /// The nearest check that proves all of some features, else the nearest, among the ways to a function on which
    /// others, if any are given, stay unproven.
    fn guard(&self, start: CodeOffset, needed: FeatureSet, unproven: FeatureSet) -> Option<Guard> {
        let mut nearest = None;
        let first = Node::Function(start);
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
            for way in self.ways(node) {
                if !unproven.is_empty() && unproven.is_subset(way.proof.features) {
                    continue;
                }
                let features = way.proof.features.minus(self.permitted);
                if !features.is_empty() {
                    let guard = Guard { kind: way.kind, svma: way.check.unwrap_or(way.at), features };
                    if needed.is_subset(features) {
                        return Some(guard);
                    }
                    nearest = nearest.or(Some(guard));
                }
                if let Source::Node(from) = way.from
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
        Reach::Unknown => 2,
        Reach::UnderGuarded => 3,
        Reach::Required => 4,
    }
}
