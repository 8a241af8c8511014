//! Samples by address: what a profile calls places → addresses of the file.
//!
//! In: [`Samples`] and the file. Out: [`Located`]. An offset in the file is an address by the section that it is in, a name by
//! the symbols. What is not in the file's code, or has a name that several functions have, is counted as lost.

use super::samples::{CountedCall, SamplePlace, Samples};
use crate::address::{Extent, Svma};
use crate::image::{self, Image, SymbolKind};
use std::collections::BTreeMap;

/// Where a sample is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    Instruction(Svma),
    /// Somewhere in the function that begins there.
    Function(Svma),
}

/// A branch from one address to another, and how often; or an edge of a call chain, and how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arc {
    pub(super) to: Svma,
    pub(super) from: Svma,
    pub(super) count: u64,
}

/// The samples of one file by address.
#[derive(Debug, Default)]
pub(super) struct Located {
    /// Sorted, with the sum of all weights before each.
    weights: Vec<(Svma, u64)>,
    /// Of functions, where no instruction is known.
    functions: BTreeMap<Svma, u64>,
    /// By leaf: from the return address.
    pub(super) edges: Vec<Arc>,
    /// By target.
    pub(super) branches: Vec<Arc>,
    /// By target.
    pub(super) calls: Vec<Arc>,
    /// The weight of what is at a place of the file.
    pub(super) placed: u64,
    /// The weight of what is at none.
    pub(super) lost: u64,
}

impl Located {
    pub(super) fn of(samples: &Samples, image: &Image<'_>) -> Located {
        let names = Names::of(samples, image);
        let at = |place: &SamplePlace| at(place, image, &names);
        let address = |place: &SamplePlace| match at(place)? {
            At::Instruction(svma) | At::Function(svma) => Some(svma),
        };
        let mut located = Located::default();
        let mut leaves: BTreeMap<Svma, u64> = BTreeMap::new();
        for (place, weight) in &samples.leaves {
            let found = at(place);
            let sum = match found {
                Some(At::Instruction(svma)) => leaves.entry(svma).or_default(),
                Some(At::Function(svma)) => located.functions.entry(svma).or_default(),
                None => &mut located.lost,
            };
            *sum = sum.saturating_add(*weight);
            if found.is_some() {
                located.placed = located.placed.saturating_add(*weight);
            }
        }
        let mut sum = 0u64;
        located.weights = leaves
            .into_iter()
            .map(|(svma, weight)| {
                let before = sum;
                sum = sum.saturating_add(weight);
                (svma, before)
            })
            .collect();
        // So that every weight is the difference of two sums.
        located.weights.push((Svma(u64::MAX), sum));
        let edge = |leaf: &SamplePlace, caller: &SamplePlace, count: u64| {
            Some(Arc { to: address(leaf)?, from: address(caller)?, count })
        };
        let of_call = |call: &CountedCall| edge(&call.to, &call.from, call.count);
        located.edges = samples.edges.iter().filter_map(|it| edge(&it.leaf, &it.caller, it.weight)).collect();
        located.branches = samples.branches.iter().filter_map(of_call).collect();
        located.calls = samples.calls.iter().filter_map(of_call).collect();
        located.edges.sort_unstable();
        located.branches.sort_unstable();
        located.calls.sort_unstable();
        located
    }

    /// The weight of the instructions in a range.
    pub(super) fn within(&self, extent: Extent) -> u64 {
        let before = |end: Svma| {
            let index = self.weights.partition_point(|(svma, _)| *svma < end);
            self.weights.get(index).map_or(0, |(_, sum)| *sum)
        };
        before(extent.end).saturating_sub(before(extent.start))
    }

    /// The heaviest instruction in a range, and its weight.
    pub(super) fn heaviest(&self, extent: Extent) -> Option<(Svma, u64)> {
        let from = self.weights.partition_point(|(svma, _)| *svma < extent.start);
        let pairs = self.weights.get(from..).unwrap_or_default().windows(2);
        let weights = pairs.map_while(|pair| match pair {
            [(svma, before), (_, after)] if *svma < extent.end => {
                Some((*svma, after.saturating_sub(*before)))
            }
            _ => None,
        });
        weights.max_by_key(|(svma, weight)| (*weight, std::cmp::Reverse(*svma)))
    }

    /// The weight of what is only known to be in the function that begins at an address.
    pub(super) fn of_function(&self, start: Svma) -> u64 {
        self.functions.get(&start).copied().unwrap_or(0)
    }
}

/// The arcs, sorted by target, whose target is in a range.
pub(super) fn into(arcs: &[Arc], extent: Extent) -> &[Arc] {
    let from = arcs.partition_point(|arc| arc.to < extent.start);
    let rest = arcs.get(from..).unwrap_or_default();
    rest.get(..rest.partition_point(|arc| arc.to < extent.end)).unwrap_or_default()
}

fn at(place: &SamplePlace, image: &Image<'_>, names: &Names) -> Option<At> {
    let in_code = |svma: Svma| image.code_offset(svma).is_some().then_some(svma);
    match place {
        SamplePlace::FileOffset(offset) => svma_of(image, *offset).map(At::Instruction),
        SamplePlace::Svma(svma) => in_code(Svma(*svma)).map(At::Instruction),
        SamplePlace::Symbol { name, offset } => {
            let start = names.find(name)?;
            match offset {
                Some(offset) => in_code(Svma(start.0.wrapping_add(*offset))).map(At::Instruction),
                None => Some(At::Function(start)),
            }
        }
    }
}

/// The address of a byte of code by its offset in the file.
fn svma_of(image: &Image<'_>, offset: u64) -> Option<Svma> {
    image.code.iter().find_map(|code| {
        let within = offset.checked_sub(code.file_offset)?;
        (within < code.bytes.len() as u64).then(|| Svma(code.extent.start.0 + within))
    })
}

/// The functions that samples name, by name.
struct Names<'s>(BTreeMap<&'s str, Option<Svma>>);

impl<'s> Names<'s> {
    fn of(samples: &'s Samples, image: &Image<'_>) -> Names<'s> {
        let calls = samples.branches.iter().chain(&samples.calls).flat_map(|call| [&call.from, &call.to]);
        let edges = samples.edges.iter().flat_map(|edge| [&edge.leaf, &edge.caller]);
        let places = samples.leaves.iter().map(|(place, _)| place).chain(edges).chain(calls);
        let names = places.filter_map(|place| match place {
            SamplePlace::Symbol { name, .. } => Some(&**name),
            _ => None,
        });
        let mut found: BTreeMap<&str, Vec<Svma>> = names.map(|name| (name, Vec::new())).collect();
        if found.is_empty() {
            return Names(BTreeMap::new());
        }
        let functions = || {
            let is_function = |kind| matches!(kind, SymbolKind::Function | SymbolKind::IfuncResolver);
            image.symbols.iter().filter(move |symbol| is_function(symbol.kind))
        };
        for symbol in functions() {
            if let Some(places) = found.get_mut(&*symbol.name) {
                places.push(symbol.svma);
            }
        }
        // Profilers demangle.
        if found.values().any(Vec::is_empty) {
            let unknown: Vec<&str> =
                found.iter().filter(|(_, places)| places.is_empty()).map(|(name, _)| *name).collect();
            for symbol in functions() {
                let name = image::demangle(&symbol.name);
                if let Ok(index) = unknown.binary_search(&&*name)
                    && let Some(places) = unknown.get(index).and_then(|name| found.get_mut(name))
                {
                    places.push(symbol.svma);
                }
            }
        }
        let only = found.into_iter().map(|(name, mut places)| {
            places.sort_unstable();
            places.dedup();
            (name, <[Svma; 1]>::try_from(places).ok().map(|[only]| only))
        });
        Names(only.collect())
    }

    fn find(&self, name: &str) -> Option<Svma> {
        self.0.get(name).copied().flatten()
    }
}
