//! Weights: samples by address → shares of functions and findings.
//!
//! In: [`Samples`], the file, and findings. Out: a [`Weight`] for each finding, and the share of each function. Without precise
//! samples the time of an instruction shows on the one after it (37 to 72 % of it, in published profiles of `lock cmpxchg` and
//! `isb`), so that instruction counts as well. A finding that is a call is about what it calls: a helper's samples are given back
//! to the calls of it, by the return addresses in call chains where there are such, or else in the proportion of recorded
//! branches, or of counted calls.

use super::located::{Arc, Located, into};
use super::region;
use super::samples::Samples;
use super::weight::{Share, WeighedBy, Weight};
use crate::address::{CodeOffset, Extent, Svma};
use crate::finding::Finding;
use crate::function::{Function, Program};
use crate::image::Image;
use crate::insn;
use crate::insn::sweep::Edge;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// The most bytes of an instruction.
const LONGEST: u64 = 15;

/// The weights of one file.
pub(crate) struct Weighing<'s, 'i, 'a> {
    samples: &'s Samples,
    image: &'i Image<'a>,
    program: &'i Program,
    located: Located,
    /// By whole function, its parts included.
    by_function: BTreeMap<CodeOffset, u64>,
}

/// What a finding took.
pub(crate) struct Weighed {
    pub(crate) weight: Weight,
    /// Where it is about a function that others call: the calls that it took most for, the heaviest first.
    pub(crate) callers: Vec<(Svma, Weight)>,
}

/// What calls of one function took: by the address of the call.
struct GivenBack {
    by: WeighedBy,
    weights: BTreeMap<Svma, u64>,
}

/// The calls of one helper.
struct Sites<'e> {
    /// By address.
    all: &'e [Edge],
    by_function: FxHashMap<CodeOffset, Vec<Edge>>,
}

impl Sites<'_> {
    /// Those in a whole function, by where that begins.
    fn of_function(&self, start: CodeOffset) -> &[Edge] {
        self.by_function.get(&start).map(Vec::as_slice).unwrap_or_default()
    }
}

impl<'s, 'i, 'a> Weighing<'s, 'i, 'a> {
    pub(crate) fn of(
        samples: &'s Samples,
        image: &'i Image<'a>,
        program: &'i Program,
    ) -> Weighing<'s, 'i, 'a> {
        let located = Located::of(samples, image);
        let mut weighing = Weighing { samples, image, program, located, by_function: BTreeMap::new() };
        for function in program.functions() {
            let weight = weighing.weight_of(function);
            if weight > 0 {
                let sum = weighing.by_function.entry(program.whole(function).start).or_default();
                *sum = sum.saturating_add(weight);
            }
        }
        weighing
    }

    /// What is weighed by.
    pub(crate) fn samples(&self) -> &'s Samples {
        self.samples
    }

    /// The share of what is at places of the file, and of what the profile places in the file, but not at any.
    pub(crate) fn placed(&self) -> (Share, Share) {
        (self.share(self.located.placed), self.share(self.located.lost))
    }

    fn share(&self, weight: u64) -> Share {
        Share::of(weight, self.samples.total)
    }

    /// The share of each whole function that has samples, the heaviest first.
    pub(crate) fn functions(&self) -> Vec<(CodeOffset, Share)> {
        let mut functions: Vec<(CodeOffset, u64)> =
            self.by_function.iter().map(|(start, weight)| (*start, *weight)).collect();
        functions.sort_by_key(|(start, weight)| (std::cmp::Reverse(*weight), *start));
        functions.into_iter().map(|(start, weight)| (start, self.share(weight))).collect()
    }

    /// The share of the instructions in a range.
    pub(crate) fn of_extent(&self, extent: Extent) -> Share {
        self.share(self.located.within(extent))
    }

    /// The instruction in a range that took most, and its weight.
    pub(crate) fn heaviest_in(&self, extent: Extent) -> Option<(Svma, u64)> {
        self.located.heaviest(extent)
    }

    /// The share of the whole function that begins at an address, with its parts.
    pub(crate) fn of_function(&self, start: Svma) -> Share {
        let at = self.image.code_offset(start);
        let whole = at.and_then(|at| self.program.function_at(at)).map(|it| self.program.whole(it).start);
        let weight = whole.and_then(|whole| self.by_function.get(&whole)).copied().unwrap_or(0);
        self.share(weight)
    }

    fn weight_of(&self, function: &Function) -> u64 {
        let extent = function.extent(self.image);
        self.located.within(extent).saturating_add(self.located.of_function(extent.start))
    }

    /// The weight of each of some findings.
    pub(crate) fn findings(&self, findings: &[Finding]) -> Vec<Weighed> {
        let calls = self.calls_of(findings);
        let helper = |finding: &Finding| region::helper(finding, self.image, self.program);
        let mut helpers: BTreeSet<CodeOffset> = calls.values().copied().collect();
        helpers.extend(findings.iter().filter_map(helper));
        let sites = self.sites_of(&helpers);
        let given: BTreeMap<CodeOffset, GivenBack> = sites
            .iter()
            .filter_map(|(helper, sites)| Some((*helper, self.give_back(*helper, sites)?)))
            .collect();
        let weighed = |finding: &Finding| {
            let ranges = region::region(finding, self.image, self.program, self.samples.skids);
            let own = ranges.iter().fold(0u64, |sum, range| sum.saturating_add(self.located.within(*range)));
            let back = calls.get(&finding.at).and_then(|helper| given.get(helper));
            let part = back.and_then(|back| back.weights.get(&finding.at)).copied().unwrap_or(0);
            let of_helper = helper(finding);
            let only_function = of_helper.or_else(|| self.function_around(finding.at));
            let whole = only_function.map_or(0, |start| self.located.of_function(self.image.svma(start)));
            let by = match back {
                Some(back) => back.by,
                None if whole > own && of_helper.is_none() => WeighedBy::Function,
                None => WeighedBy::Code,
            };
            let share = self.share(own.saturating_add(part).saturating_add(whole));
            let callers = of_helper.and_then(|start| given.get(&start)).map(|back| self.heaviest(back));
            Weighed { weight: Weight { share, by }, callers: callers.unwrap_or_default() }
        };
        findings.iter().map(weighed).collect()
    }

    fn function_around(&self, svma: Svma) -> Option<CodeOffset> {
        let function = self.program.function_at(self.image.code_offset(svma)?)?;
        Some(self.program.whole(function).start)
    }

    /// The calls that take most.
    fn heaviest(&self, given: &GivenBack) -> Vec<(Svma, Weight)> {
        /// Maximum of calls that are listed.
        const LISTED: usize = 10;
        let mut all: Vec<(Svma, u64)> = given
            .weights
            .iter()
            .filter(|(_, weight)| **weight > 0)
            .map(|(at, weight)| (*at, *weight))
            .collect();
        all.sort_by_key(|(at, weight)| (std::cmp::Reverse(*weight), *at));
        all.truncate(LISTED);
        all.into_iter().map(|(at, weight)| (at, Weight { share: self.share(weight), by: given.by })).collect()
    }

    /// Of the findings that are a call or a jump to a function, and no more code than that: which function.
    fn calls_of(&self, findings: &[Finding]) -> FxHashMap<Svma, CodeOffset> {
        let alone = findings
            .iter()
            .filter(|finding| finding.extent.start == finding.at && finding.extent.len() <= LONGEST);
        let mut due: Vec<Svma> = alone.map(|finding| finding.at).collect();
        due.sort_unstable();
        let edges = self.program.calls().chain(self.program.jumps());
        let of_finding = edges.filter_map(|edge| {
            let from = self.image.svma(edge.from);
            due.binary_search(&from).is_ok().then_some((from, edge.to))
        });
        if due.is_empty() { FxHashMap::default() } else { of_finding.collect() }
    }

    /// All calls of, and jumps to, some functions: those that are no findings have their part, too.
    fn sites_of(&self, helpers: &BTreeSet<CodeOffset>) -> BTreeMap<CodeOffset, Vec<Edge>> {
        let mut sites: BTreeMap<CodeOffset, Vec<Edge>> =
            helpers.iter().map(|&helper| (helper, Vec::new())).collect();
        if !sites.is_empty() {
            for edge in self.program.calls().chain(self.program.jumps()) {
                if let Some(sites) = sites.get_mut(&edge.to) {
                    sites.push(edge);
                }
            }
        }
        for sites in sites.values_mut() {
            sites.sort_unstable_by_key(|edge| edge.from);
        }
        sites
    }

    /// What a helper took, by its calls; `None` where nothing says who called it.
    fn give_back(&self, helper: CodeOffset, sites: &[Edge]) -> Option<GivenBack> {
        let function = self.program.function_from(helper)?;
        let total = self.weight_of(function);
        let sites = &Sites { all: sites, by_function: self.by_function_of(sites) };
        let chains = into(&self.located.edges, function.extent(self.image));
        if !chains.is_empty() {
            return Some(GivenBack { by: WeighedBy::CallChains, weights: self.by_chains(chains, sites) });
        }
        let start = Extent::sized(self.image.svma(helper), 1);
        let counted = [
            (WeighedBy::Branches, into(&self.located.branches, start)),
            (WeighedBy::CallCounts, into(&self.located.calls, start)),
        ];
        let (by, counts) = counted.into_iter().find(|(_, counts)| !counts.is_empty())?;
        Some(GivenBack { by, weights: self.in_proportion(total, counts, sites) })
    }

    /// By the return addresses in call chains. A helper that sets up no frame hides its caller from chains by frame pointers: what
    /// they name is a call of the function that it was called in. Then its calls there share the weight.
    fn by_chains(&self, chains: &[Arc], sites: &Sites<'_>) -> BTreeMap<Svma, u64> {
        let mut weights: BTreeMap<Svma, u64> = BTreeMap::new();
        for chain in chains {
            let Some(back) = self.image.code_offset(chain.from) else { continue };
            // Profilers name the return address, or a byte of the call.
            let before = sites.all.partition_point(|site| site.from < back);
            let call = before.checked_sub(1).and_then(|index| sites.all.get(index));
            let call =
                call.filter(|site| back.0 - site.from.0 <= LONGEST as u32 && self.ends_call(**site, back));
            let all: &[Edge] = match call {
                Some(site) => std::slice::from_ref(site),
                None => self.sites_in_callee(back, sites),
            };
            let count = all.len() as u64;
            for (number, site) in (0u64..).zip(all) {
                let part = chain.count / count + u64::from(number < chain.count % count);
                let sum = weights.entry(self.image.svma(site.from)).or_default();
                *sum = sum.saturating_add(part);
            }
        }
        weights
    }

    /// Whether an offset is in a call, or right after it.
    fn ends_call(&self, site: Edge, back: CodeOffset) -> bool {
        let at = self.image.svma(site.from);
        let insn = self.image.bytes_at(at).and_then(|bytes| insn::decode(self.image.arch, bytes, at));
        insn.is_some_and(|insn| self.image.svma(back) <= insn.next())
    }

    /// The calls of a helper in the function that was called before a return address.
    fn sites_in_callee<'e>(&self, back: CodeOffset, sites: &'e Sites<'_>) -> &'e [Edge] {
        let from = back.saturating_sub(LONGEST as u32);
        let called = self.program.edges_from(from..back);
        let last = called.filter(|edge| self.ends_call(*edge, back)).last();
        let callee = last.and_then(|edge| self.program.function_at(edge.to));
        callee.map_or(&[], |callee| sites.of_function(self.program.whole(callee).start))
    }

    /// The calls of a helper by the whole function that they are in.
    fn by_function_of(&self, sites: &[Edge]) -> FxHashMap<CodeOffset, Vec<Edge>> {
        let mut by_function: FxHashMap<CodeOffset, Vec<Edge>> = FxHashMap::default();
        for site in sites {
            if let Some(function) = self.program.function_at(site.from) {
                by_function.entry(self.program.whole(function).start).or_default().push(*site);
            }
        }
        by_function
    }

    /// In the proportion of counts. A count that names only the calling function counts for all its calls.
    fn in_proportion(&self, total: u64, counts: &[Arc], sites: &Sites<'_>) -> BTreeMap<Svma, u64> {
        let all: u128 = counts.iter().map(|count| u128::from(count.count)).sum();
        let mut weights: BTreeMap<Svma, u64> = BTreeMap::new();
        for count in counts {
            let part = (u128::from(total) * u128::from(count.count)).checked_div(all).unwrap_or(0);
            let part = u64::try_from(part).unwrap_or(u64::MAX);
            let Some(at) = self.image.code_offset(count.from) else { continue };
            let callers: &[Edge] = match sites.all.binary_search_by_key(&at, |site| site.from) {
                Ok(index) => sites.all.get(index..=index).unwrap_or_default(),
                Err(_) => sites.of_function(at),
            };
            for caller in callers {
                let sum = weights.entry(self.image.svma(caller.from)).or_default();
                *sum = sum.saturating_add(part / callers.len() as u64);
            }
        }
        weights
    }
}
