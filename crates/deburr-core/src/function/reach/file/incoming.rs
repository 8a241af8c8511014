//! What leads where: direct control flow, addresses made in code and pointers in data, by their targets.
//!
//! In: the edges and references of a file in the order of where they begin. Out: [`Incoming`], the same by where they
//! lead. Pairs are kept as one number each: there are millions of them in a large file.

use crate::address::CodeOffset;
use crate::address::{Extent, Svma};
use crate::function::Program;
use crate::function::reach::file::grouped::Grouped;
use crate::image::{Image, Linkage, TransferTarget};
use crate::insn::sweep::{Edge, ReferenceKind};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A target in code and where it is referred to, in one number that sorts by target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Pair(u64);

impl Pair {
    const fn of(to: CodeOffset, from: CodeOffset) -> Pair {
        Pair((to.0 as u64) << 32 | from.0 as u64)
    }

    const fn edge(self) -> Edge {
        Edge { from: CodeOffset(self.0 as u32), to: CodeOffset((self.0 >> 32) as u32) }
    }
}

/// Control flow and addresses, by where they lead.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    /// Direct calls and jumps, by the pieces of code that they lead to.
    edges: Grouped<Pair>,
    /// Addresses made in code.
    addresses: Vec<Pair>,
    /// Contents and place of cells.
    cells: Vec<(Svma, Svma)>,
    /// Of functions that others jump into the middle of, the entries, the start among them.
    pub inner: BTreeMap<CodeOffset, BTreeSet<CodeOffset>>,
}

impl Incoming {
    /// Puts what a file has by where it leads.
    pub(crate) fn of(image: &Image<'_>, linkage: &Linkage<'_>, program: &Program) -> Incoming {
        let all = Extent { start: Svma(0), end: Svma(u64::MAX) };
        let edges = program.calls().chain(program.jumps()).chain(transfers(image, all));
        let made = program.references().filter(|reference| reference.kind == ReferenceKind::Address);
        let mut addresses: Vec<Pair> = made.map(|reference| Pair::of(reference.to, reference.from)).collect();
        let relocated = image.addresses.iter();
        addresses.extend(
            relocated
                .filter_map(|&(from, to)| Some(Pair::of(image.code_offset(to)?, image.code_offset(from)?))),
        );
        let mut cells: Vec<(Svma, Svma)> = linkage.cells.iter().map(|cell| (cell.to, cell.at)).collect();
        addresses.par_sort_unstable();
        let (edges, ()) = rayon::join(|| by_target(edges), || cells.par_sort_unstable());
        let mut incoming = Incoming { edges, addresses, cells, inner: BTreeMap::new() };
        incoming.inner = incoming.inner_entries(program);
        incoming
    }

    /// The entries of functions that others jump into the middle of.
    fn inner_entries(&self, program: &Program) -> BTreeMap<CodeOffset, BTreeSet<CodeOffset>> {
        let mut inner: BTreeMap<CodeOffset, BTreeSet<CodeOffset>> = BTreeMap::new();
        let whole = |at: CodeOffset| program.function_at(at).map(|function| program.whole(function).start);
        let entered = self.edges.all().par_iter().filter_map(|pair| {
            let Edge { from, to } = pair.edge();
            let callee = whole(to).filter(|&callee| callee != to)?;
            let is_outside = whole(from).is_some_and(|caller| caller != callee);
            is_outside.then_some((callee, to))
        });
        for (callee, to) in entered.collect::<Vec<_>>() {
            inner.entry(callee).or_insert_with(|| BTreeSet::from([callee])).insert(to);
        }
        inner
    }

    /// Direct calls and jumps to places in a range.
    pub(crate) fn edges_to(&self, range: Range<CodeOffset>) -> impl Iterator<Item = Edge> {
        let near = self.edges.within(group_of(range.start)..=group_of(range.end));
        near.iter().map(|pair| pair.edge()).filter(move |edge| range.contains(&edge.to))
    }

    /// Where the address of a place in code is made.
    pub(crate) fn addresses_of(&self, place: CodeOffset) -> impl Iterator<Item = CodeOffset> {
        in_range(&self.addresses, place, place.saturating_add(1)).map(|edge| edge.from)
    }

    /// Whether something other than a direct call or jump to its start enters a piece of code: a jump into its middle, or an address of it
    /// that code makes or a cell holds.
    pub(crate) fn is_entered_otherwise(&self, image: &Image<'_>, code: Range<CodeOffset>) -> bool {
        let extent = Extent { start: image.svma(code.start), end: image.svma(code.end) };
        let mut into_middle = self.edges_to(code.start.saturating_add(1)..code.end);
        into_middle.any(|edge| !code.contains(&edge.from))
            || in_range(&self.addresses, code.start, code.end).next().is_some()
            || !self.cells_to(extent).is_empty()
    }

    /// What cells hold that is in a range, and the cells.
    pub(crate) fn cells_to(&self, range: Extent) -> &[(Svma, Svma)] {
        within(&self.cells, range.start, range.end)
    }
}

/// The piece of code that an edge leads to.
const fn group_of(to: CodeOffset) -> usize {
    /// The size of the pieces, as a power of two.
    const BITS: u32 = 12;
    (to.0 >> BITS) as usize
}

/// Edges by the pieces of code that they lead to.
fn by_target(edges: impl Iterator<Item = Edge> + Clone) -> Grouped<Pair> {
    let groups = edges.clone().map(|edge| group_of(edge.to) + 1).max().unwrap_or(0);
    Grouped::of(groups, edges.map(|edge| (group_of(edge.to), Pair::of(edge.to, edge.from))))
}

/// The pairs whose first is in a range.
fn within<T: Copy + Ord, U>(pairs: &[(T, U)], from: T, to: T) -> &[(T, U)] {
    let first = pairs.partition_point(|pair| pair.0 < from);
    let last = pairs.partition_point(|pair| pair.0 < to);
    pairs.get(first..last).unwrap_or_default()
}

/// The pairs that lead into a range.
fn in_range(pairs: &[Pair], from: CodeOffset, to: CodeOffset) -> impl Iterator<Item = Edge> {
    let first = pairs.partition_point(|pair| pair.edge().to < from);
    let rest = pairs.get(first..).unwrap_or_default().iter().map(|pair| pair.edge());
    rest.take_while(move |edge| edge.to < to)
}

/// The calls and jumps in a range of code that relocations lead to other code of the file.
pub(crate) fn transfers(image: &Image<'_>, range: Extent) -> impl Iterator<Item = Edge> + Clone {
    let first = image.transfers.partition_point(|transfer| transfer.from < range.start);
    let rest = image.transfers.get(first..).unwrap_or_default().iter();
    let here = rest.take_while(move |transfer| transfer.from < range.end);
    here.filter_map(|transfer| match transfer.to {
        TransferTarget::Here(to) => {
            Some(Edge { from: image.code_offset(transfer.from)?, to: image.code_offset(to)? })
        }
        TransferTarget::Elsewhere(_) => None,
    })
}
