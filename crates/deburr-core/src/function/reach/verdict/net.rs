//! What is known of the CPU where each node begins: follows the edges from the roots, until nothing changes.
//!
//! In: [`IncomingEdges`]. Out: [`Settled`], an [`Entry`] by node. Edges are kept in flat arrays, in both directions, by
//! dense numbers of nodes. What is known and what is proven repeats, and is kept once, as are edges into a node of many
//! that show the same. One iteration costs as much as there are edges. A node is visited again only after one that it
//! depends on has changed. Edges from nodes of which the same is known mostly count once (neighbours in order of source).

use crate::function::reach::domain::proof::Proof;
use crate::function::reach::verdict::checks::{Checks, IncomingEdges};
use crate::function::reach::verdict::node::{IncomingEdge, Node, Source, Stated};
use crate::function::reach::verdict::settled::{Entry, Known, Knowns, NONE, Numbered, Settled};
use deburr_cpu::FeatureSet;
use rustc_hash::FxHashMap;
use std::collections::{BTreeSet, VecDeque};
use std::sync::OnceLock;

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

/// What is known where each node begins.
///
/// An exported function that the file reaches itself, and only after checks, is what the check chooses. It is exported
/// for another part of the same project, whose callers have to query the CPU as well. Such functions are found from
/// outside inwards: those that nothing in the file reaches are certainly for others.
pub(super) fn settle(checks: &Checks, permitted: FeatureSet, stated: &Stated) -> Settled {
    let mut net = Net::of(&checks.edges, permitted, stated);
    let mut pending = net.exports(&checks.edges);
    let calls = |is_sure: bool| if is_sure { Callers::Any } else { Callers::Doubtful };
    let mut entries: Vec<Numbered> = Vec::new();
    for iteration in 0..3 {
        let known = std::mem::take(&mut entries);
        let is_reached =
            |node: usize| known.get(node).is_some_and(|entry: &Numbered| *entry != Numbered::default());
        // The order matters only where some are roots.
        if iteration == 1 && (checks.any || !pending.iter().any(|&(_, is_interface)| is_interface)) {
            entries = known;
            continue;
        }
        let (outer, inner): (Vec<_>, Vec<_>) = pending.into_iter().partition(|&(node, _)| match iteration {
            0 => net.inside(node).next().is_none(),
            1 => !is_reached(node) && net.inside(node).any(|edge| edge.is_certain && edge.is_bare),
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
        entries = if iteration > 0 && outer.is_empty() { known } else { net.entries() };
    }
    // A pointer to it goes somewhere without a check. Where the file queries the CPU at all, that is likely after a
    // choice.
    let mut is_changed = false;
    for (node, is_interface) in pending {
        let entry = entries.get(node).copied().unwrap_or_default();
        if is_interface && entry.certain == NONE && entry.checked == NONE {
            is_changed = true;
            if let Some(callers) = net.callers.get_mut(node) {
                *callers = calls(!checks.any);
            }
        }
    }
    if is_changed {
        entries = net.entries();
    }
    // What leads to an address may be out of sight.
    let mut is_lost = false;
    for ((node, entry), lost) in net.nodes.iter().zip(&entries).zip(&mut net.lost) {
        *lost = *entry == Numbered::default() && checks.edges.pointed_to(*node).is_some();
        is_lost |= *lost;
    }
    if is_lost {
        // Control flow does not depend on it.
        entries
            .iter_mut()
            .for_each(|entry| *entry = Numbered { certain: entry.certain, ..Numbered::default() });
        net.follow_addresses(&mut entries);
    }
    let numbered = net.nodes.iter().zip(&net.callers);
    let roots = numbered.filter(|(_, callers)| **callers == Callers::Any).map(|(node, _)| *node).collect();
    Settled { nodes: net.nodes, entries, knowns: net.knowns, roots, hits: OnceLock::new() }
}

/// What is known where each node begins to which only callers lead that have chosen a function by its name.
pub(super) fn settle_offers(checks: &Checks, permitted: FeatureSet, stated: &Stated) -> Settled {
    let mut net = Net::of(&checks.edges, permitted, stated);
    net.follows_offers = true;
    let is_offered = |number: &usize| net.edges_into(*number).iter().any(|edge| edge.source == OFFER);
    let offered = (0..net.nodes.len()).filter(is_offered);
    let roots: BTreeSet<Node> = offered.filter_map(|number| net.nodes.get(number).copied()).collect();
    let entries = if roots.is_empty() { Vec::new() } else { net.entries() };
    Settled { nodes: net.nodes, entries, knowns: net.knowns, roots, hits: OnceLock::new() }
}

/// The number of the loader, as the source of an edge.
const ROOT: u32 = u32::MAX - 1;
/// That of callers in other files.
const EXPORT: u32 = u32::MAX - 2;
/// That of callers in other files that have chosen a function by its name.
const OFFER: u32 = u32::MAX - 3;

/// An edge, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    /// The number of the node that it begins in, [`ROOT`], [`EXPORT`], or [`NONE`] for a node that nothing leads to.
    source: u32,
    /// Place in the list of proofs.
    proof: u32,
    is_certain: bool,
    is_loose: bool,
    /// Whether it proves nothing.
    is_bare: bool,
}

/// The edges, by numbers of nodes.
struct Net<'n> {
    nodes: Vec<Node>,
    /// By the node that they lead to; of each node the first.
    edges: Vec<Edge>,
    firsts: Vec<u32>,
    /// The nodes that each node has edges to; of each node the first.
    followers: Vec<u32>,
    first_followers: Vec<u32>,
    proofs: Vec<Proof>,
    knowns: Knowns,
    /// Of each node.
    callers: Vec<Callers>,
    /// Whether an address leads to it, and no edge.
    lost: Vec<bool>,
    permitted: FeatureSet,
    stated: &'n Stated,
    /// Whether only what is offered is entered, or only what is not.
    follows_offers: bool,
}

/// Visits of a node after which its entry only grows: an address after a check hides one without, so that on a cycle the two
/// can alternate indefinitely (s2c of klauspost/compress v1.17.9 by GOAMD64=v3).
const MAX_FREE_VISITS: u32 = 64;
/// Maximum of edges into a node whose sorting costs more than it saves.
const FEW: usize = 16;

impl<'n> Net<'n> {
    fn of(edges: &IncomingEdges, permitted: FeatureSet, stated: &'n Stated) -> Net<'n> {
        let nodes: Vec<Node> = edges.into.keys().copied().collect();
        let number: FxHashMap<Node, u32> = nodes.iter().copied().zip(0..).collect();
        let mut numbers: FxHashMap<(FeatureSet, bool), u32> = FxHashMap::default();
        let mut proofs = Vec::new();
        let (mut flat, mut firsts) = (Vec::new(), vec![0]);
        let mut counts = vec![0u32; nodes.len() + 1];
        let mut here = Vec::new();
        for edges in edges.into.values() {
            for edge in edges {
                let source = match edge.from {
                    Source::Root => ROOT,
                    Source::Export { .. } => EXPORT,
                    Source::Offer { .. } => OFFER,
                    Source::Node(node) => number.get(&node).copied().unwrap_or(NONE),
                };
                let IncomingEdge { proof, is_certain, is_loose, .. } = *edge;
                let proof = *numbers.entry((proof.features, proof.is_doubtful)).or_insert_with(|| {
                    proofs.push(proof);
                    proofs.len() as u32 - 1
                });
                let is_bare = edge.proof.is_empty();
                here.push(Edge { source, proof, is_certain, is_loose, is_bare });
            }
            if here.len() > FEW {
                // Several that show the same count once.
                here.sort_unstable();
                here.dedup();
            }
            for edge in &here {
                if let Some(count) = counts.get_mut(edge.source as usize) {
                    *count += 1;
                }
            }
            flat.append(&mut here);
            firsts.push(flat.len() as u32);
        }
        let (followers, first_followers) = followers(&flat, &firsts, counts);
        let (callers, lost) = (vec![Callers::None; nodes.len()], vec![false; nodes.len()]);
        let knowns = Knowns::default();
        Net {
            nodes,
            edges: flat,
            firsts,
            followers,
            first_followers,
            proofs,
            knowns,
            callers,
            lost,
            permitted,
            stated,
            follows_offers: false,
        }
    }

    fn edges_into(&self, node: usize) -> &[Edge] {
        slice_of(&self.edges, &self.firsts, node)
    }

    /// The edges into a node, without those from nodes that nothing leads to yet, and without most of those that add
    /// nothing to the one before.
    fn effective<'s>(&'s self, node: usize, entries: &'s [Numbered]) -> impl Iterator<Item = &'s Edge> {
        let mut last = None;
        self.edges_into(node).iter().filter(move |edge| {
            let Some(&from) = entries.get(edge.source as usize) else { return true };
            let this = Some((from, edge.proof, edge.is_certain, edge.is_loose));
            from != Numbered::default() && std::mem::replace(&mut last, this) != this
        })
    }

    /// The proof of an edge, and the entry that it begins in.
    fn beginning(&self, edge: &Edge, node: usize, entries: &[Numbered]) -> (Proof, Entry) {
        let proof = self.proofs.get(edge.proof as usize).copied().unwrap_or(Proof::EMPTY);
        let root = Entry { certain: Some(Known::root()), ..Entry::default() };
        let entry = match edge.source {
            ROOT | OFFER if (edge.source == OFFER) != self.follows_offers => Entry::default(),
            ROOT | OFFER => root,
            EXPORT => match self.callers.get(node).copied().unwrap_or_default() {
                Callers::None => Entry::default(),
                Callers::Doubtful => Entry { doubtful: true, ..Entry::default() },
                Callers::Any => root,
            },
            source => self.knowns.entry(entries.get(source as usize).copied().unwrap_or_default()),
        };
        (proof, entry)
    }

    /// Computes each node's entry from those that lead to it, until nothing changes. Ends: an entry that has changed too often
    /// only grows from then on, and the entries are a finite lattice.
    fn settle(
        &mut self,
        entries: &mut [Numbered],
        entry: impl Fn(&Net<'_>, usize, &[Numbered]) -> Option<Entry>,
    ) {
        let mut pending: VecDeque<u32> = (0..self.nodes.len() as u32).collect();
        let mut is_pending = vec![true; self.nodes.len()];
        let mut visits = vec![0u32; self.nodes.len()];
        while let Some(number) = pending.pop_front() {
            let node = number as usize;
            if let Some(mark) = is_pending.get_mut(node) {
                *mark = false;
            }
            let Some(new) = entry(self, node, entries) else { continue };
            let mut new = self.stating(node, new);
            if let Some(visits) = visits.get_mut(node) {
                *visits += 1;
                if *visits > MAX_FREE_VISITS {
                    new = new.join(self.knowns.entry(entries.get(node).copied().unwrap_or_default()));
                }
            }
            let new = self.knowns.numbered(new);
            let Some(known) = entries.get_mut(node).filter(|known| **known != new) else { continue };
            *known = new;
            for &follower in slice_of(&self.followers, &self.first_followers, node) {
                if let Some(mark) = is_pending.get_mut(follower as usize).filter(|mark| !**mark) {
                    *mark = true;
                    pending.push_back(follower);
                }
            }
        }
    }

    /// An entry with what the user states of its node.
    fn stating(&self, node: usize, entry: Entry) -> Entry {
        match self.nodes.get(node) {
            Some(Node::Function(start)) if !self.stated.is_empty() => {
                self.stated.get(start).map_or(entry, |&features| entry.stating(features))
            }
            _ => entry,
        }
    }

    /// What is known where each node begins: the greatest solution, reached by going on from the roots. Control flow
    /// first, since it does not depend on where addresses go.
    fn entries(&mut self) -> Vec<Numbered> {
        let mut entries = vec![Numbered::default(); self.nodes.len()];
        self.settle(&mut entries, |net, node, entries| {
            let mut known: Option<Known> = None;
            for edge in net.effective(node, entries).filter(|edge| edge.is_certain) {
                let (proof, from) = net.beginning(edge, node, entries);
                if let Some(from) = from.certain {
                    let from = from.after(proof);
                    known = Some(known.map_or(from, |known| known.meet(from)));
                }
                // Nothing is below it.
                if known == Some(Known::root()) {
                    break;
                }
            }
            Some(Entry { certain: known, ..Entry::default() })
        });
        self.follow_addresses(&mut entries);
        entries
    }

    /// How the nodes are reached that control flow alone does not lead to.
    fn follow_addresses(&mut self, entries: &mut [Numbered]) {
        self.settle(entries, |net, node, entries| {
            if entries.get(node).is_none_or(|own| own.certain != NONE) {
                return None;
            }
            let mut entry = Entry::default();
            if net.lost.get(node) == Some(&true) {
                entry.doubtful = true;
                return Some(entry);
            }
            for edge in net.effective(node, entries) {
                let (proof, from) = net.beginning(edge, node, entries);
                let known = match (from.certain.or(from.checked), from.bare || from.doubtful) {
                    (Some(known), _) => known,
                    (None, true) => Known::root(),
                    (None, false) => continue,
                };
                let is_doubtful = from.certain.is_none() && from.checked.is_none() && !from.bare;
                let known = known.after(proof);
                if known.possible.is_subset(net.permitted) {
                    entry.bare |= !is_doubtful && !edge.is_loose;
                    entry.doubtful |= is_doubtful || edge.is_loose;
                } else {
                    entry.checked = Some(entry.checked.map_or(known, |checked| checked.meet(known)));
                }
            }
            Some(entry)
        });
    }

    /// The exported functions, by number, with whether others are meant to call them.
    fn exports(&self, edges: &IncomingEdges) -> Vec<(usize, bool)> {
        let exported = |edges: &[IncomingEdge]| {
            edges.iter().find_map(|edge| match edge.from {
                Source::Export { is_interface } => Some(is_interface),
                _ => None,
            })
        };
        let numbered = edges.into.values().enumerate();
        numbered.filter_map(|(node, edges)| Some((node, exported(edges)?))).collect()
    }

    /// The edges into a node that begin elsewhere in the file.
    fn inside(&self, node: usize) -> impl Iterator<Item = &Edge> {
        let is_inside =
            move |edge: &&Edge| !matches!(edge.source, ROOT | EXPORT | OFFER) && edge.source as usize != node;
        self.edges_into(node).iter().filter(is_inside)
    }
}

/// The nodes that each node has edges to, from the edges into each. `counts`: how many begin in each.
fn followers(edges: &[Edge], firsts: &[u32], counts: Vec<u32>) -> (Vec<u32>, Vec<u32>) {
    let mut next = 0;
    let mut places: Vec<u32> = Vec::with_capacity(counts.len());
    for count in counts {
        places.push(next);
        next += count;
    }
    let first_followers = places.clone();
    let mut followers = vec![0; next as usize];
    for node in 0..firsts.len().saturating_sub(1) {
        for edge in slice_of(edges, firsts, node) {
            let Some(place) = places.get_mut(edge.source as usize) else { continue };
            if let Some(follower) = followers.get_mut(*place as usize) {
                *follower = node as u32;
            }
            *place += 1;
        }
    }
    (followers, first_followers)
}

/// What a list has of one node, where `firsts` says at which place the part of each begins.
fn slice_of<'s, T>(list: &'s [T], firsts: &[u32], node: usize) -> &'s [T] {
    let place = |node: usize| firsts.get(node).map(|&first| first as usize);
    place(node).zip(place(node + 1)).and_then(|(first, end)| list.get(first..end)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::CodeOffset;
    use crate::address::Svma;
    use crate::function::reach::verdict::kind::GuardKind;

    /// A cycle of pointers through some functions.
    fn cycle(length: u32) -> IncomingEdges {
        let node = |number: u32| Node::Function(CodeOffset(number));
        let pointer = |number: u32| IncomingEdge {
            from: Source::Node(node((number + length - 1) % length)),
            at: Svma(number.into()),
            proof: Proof::EMPTY,
            is_certain: false,
            is_loose: false,
            kind: GuardKind::Branch,
            check: None,
        };
        let into = (0..length).map(|number| (node(number), vec![pointer(number)])).collect();
        IncomingEdges { into, ..IncomingEdges::default() }
    }

    /// Each node says the opposite of what the one before says, which has no solution on an odd cycle.
    fn opposite(node: usize, entries: &[Numbered]) -> Entry {
        let before = entries.get((node + 2) % 3).copied().unwrap_or_default();
        Entry { bare: !before.bare, doubtful: before.bare, ..Entry::default() }
    }

    #[test]
    fn entries_that_alternate_on_a_cycle_end_above_what_leads_to_them() {
        let (edges, stated) = (cycle(3), Stated::default());
        let mut net = Net::of(&edges, FeatureSet::EMPTY, &stated);
        let mut entries = vec![Numbered::default(); 3];
        net.settle(&mut entries, |_, node, entries| Some(opposite(node, entries)));
        for (node, &entry) in entries.iter().enumerate() {
            let entry = net.knowns.entry(entry);
            assert_eq!(entry.join(opposite(node, &entries)), entry);
        }
    }

    #[test]
    fn a_join_is_an_upper_bound_of_both() {
        let features = [FeatureSet::EMPTY, FeatureSet::ALL];
        let known = features.map(|proven| Some(Known { proven, possible: proven }));
        let knowns = || [None].into_iter().chain(known);
        let flags = [false, true];
        let entries: Vec<Entry> = knowns()
            .flat_map(|certain| knowns().map(move |checked| (certain, checked)))
            .flat_map(|(certain, checked)| {
                flags.map(|bare| Entry { certain, checked, bare, ..Entry::default() })
            })
            .flat_map(|entry| flags.map(|doubtful| Entry { doubtful, ..entry }))
            .collect();
        for &left in &entries {
            assert_eq!(left.join(left), left);
            for &right in &entries {
                let join = left.join(right);
                assert_eq!(join, right.join(left));
                assert_eq!(join.join(left), join);
                assert_eq!(join.join(right), join);
            }
        }
    }
}
