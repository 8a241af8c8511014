//! The code of one function, or around a place in it → [`Listing`].

use super::file::File;
use super::model::{Candidate, Edge, Line, Listing, Target, View, Within};
use crate::Svma;
use crate::address::Extent;
use crate::function::Function;
use crate::function::atomics::exclusive_runs;
use crate::function::block::{Graph, LARGEST};
use crate::function::loops::natural_loops;
use crate::image::{self, Image, Kind, SourceLines, TransferTarget};
use crate::insn::disassemble;
use crate::insn::{self, Insn};
use crate::report::{Hex, PlacedFinding, place_of};
use deburr_cpu::FeatureSet;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A function with more instructions is shown in part, unless all of it is requested.
const FEW: usize = 200;
/// Instructions shown on either side, where the user did not say how many.
const AROUND: usize = 20;

/// A function, or code that belongs to none.
pub(super) enum Region {
    Function {
        whole: Function,
        /// With its split-off parts, by address.
        parts: Vec<Function>,
    },
    Loose(Extent),
}

/// The part of a file that is shown.
pub(super) struct Part<'f> {
    pub(super) file: File<'f>,
    pub(super) function: Region,
    pub(super) focus: Option<Svma>,
    pub(super) view: View,
    pub(super) permitted: FeatureSet,
}

impl Part<'_> {
    /// `about`: findings, of which those about its instructions are shown.
    pub(super) fn listing(&self, about: Vec<PlacedFinding>, lines: Option<&SourceLines<'_>>) -> Listing {
        let image = self.file.image;
        let graph = self.graph();
        let insns: Vec<&Insn> = graph.blocks.iter().flat_map(|block| &block.insns).collect();
        let mut findings = self.findings(about, &insns);
        let shown = self.window(&insns, &findings);
        let loops = loops_by_insn(&graph, image);
        let exclusive = exclusive_by_insn(&graph);
        let mut listed = Vec::with_capacity(shown.len());
        let mut last: Option<usize> = None;
        for &index in &shown {
            let Some(insn) = insns.get(index) else { continue };
            let skipped = index - last.map_or(0, |last| last + 1);
            let before = index.checked_sub(1).and_then(|before| insns.get(before));
            let (section, svma) = place_of(image, insn.svma);
            let code = image.bytes_at(insn.svma).and_then(|code| code.get(..usize::from(insn.length)));
            let code = code.unwrap_or_default();
            let features = insn::features_of(image.arch, insn.features).minus(self.permitted);
            listed.push(Line {
                svma,
                section,
                skipped,
                after_gap: before.is_some_and(|before| before.next() != insn.svma),
                bytes: code.iter().map(|byte| format!("{byte:02x}")).collect(),
                text: disassemble(image.arch, code, Svma(svma.0), self.view.syntax).unwrap_or_default(),
                target: self.target_of(insn),
                loops: loops.get(&insn.svma).cloned().unwrap_or_default(),
                exclusive: exclusive.get(&insn.svma).copied(),
                features: features.iter().map(deburr_cpu::Feature::name).collect(),
                source: lines.and_then(|lines| lines.find(insn.svma)),
                findings: findings.remove(&index).unwrap_or_default(),
                share: None,
            });
            last = Some(index);
        }
        let function = match &self.function {
            Region::Function { whole, parts } => self.file.candidate(whole, parts),
            Region::Loose(extent) => {
                let (section, svma) = place_of(image, extent.start);
                Candidate { name: None, svma, section, size: extent.len() }
            }
        };
        Listing {
            path: String::new(),
            arch: image.arch.name(),
            function,
            compiled: None,
            runtime: None,
            instructions: insns.len(),
            skipped_after: insns.len() - last.map_or(0, |last| last + 1),
            insns: listed,
        }
    }

    fn graph(&self) -> Graph {
        let File { image, program } = self.file;
        match &self.function {
            Region::Loose(extent) => {
                let from = self.focus.unwrap_or(extent.start);
                // Where nothing says at which byte an instruction begins, it is the one requested.
                Graph::of_extent(image, program, Extent { start: from, end: extent.end })
            }
            Region::Function { whole: function, parts } => {
                let length: u64 = parts.iter().map(|part| part.extent(image).len()).sum();
                if length <= LARGEST {
                    Graph::whole(image, program, parts, &[])
                } else {
                    let start = image.svma(function.start);
                    Graph::of(image, program, function, self.focus.unwrap_or(start))
                }
            }
        }
    }

    /// The findings about the instructions, by the instruction's index.
    fn findings(&self, about: Vec<PlacedFinding>, insns: &[&Insn]) -> BTreeMap<usize, Vec<PlacedFinding>> {
        let image = self.file.image;
        let mut found: BTreeMap<usize, Vec<PlacedFinding>> = BTreeMap::new();
        let mut by_place: HashMap<(Option<Arc<str>>, Hex), Vec<PlacedFinding>> = HashMap::new();
        for finding in about {
            by_place.entry((finding.section.clone(), finding.svma)).or_default().push(finding);
        }
        for (index, insn) in insns.iter().enumerate() {
            if let Some(here) = by_place.remove(&place_of(image, insn.svma)) {
                found.insert(index, here);
            }
        }
        found
    }

    /// The instructions to show, by index, in order: around the place, or around the findings of a long function.
    fn window(&self, insns: &[&Insn], findings: &BTreeMap<usize, Vec<PlacedFinding>>) -> Vec<usize> {
        let focus =
            self.focus.map(|focus| insns.partition_point(|insn| insn.svma <= focus).saturating_sub(1));
        let is_all = self.view.whole || self.view.context.is_none() && insns.len() <= FEW;
        if is_all {
            return (0..insns.len()).collect();
        }
        let around = self.view.context.unwrap_or(AROUND);
        let centres: Vec<usize> = match focus {
            Some(focus) => vec![focus],
            None if findings.is_empty() => vec![around],
            None => findings.keys().copied().collect(),
        };
        let mut shown = BTreeSet::new();
        for centre in centres {
            let end = centre.saturating_add(around).saturating_add(1).min(insns.len());
            shown.extend(centre.saturating_sub(around)..end);
        }
        shown.into_iter().collect()
    }

    fn target_of(&self, insn: &Insn) -> Option<Target> {
        let image = self.file.image;
        let filled_in = image.transfers.binary_search_by_key(&insn.svma, |transfer| transfer.from);
        if let Some(transfer) = filled_in.ok().and_then(|at| image.transfers.get(at)) {
            return Some(match transfer.to {
                TransferTarget::Here(svma) => self.file.target(svma, true),
                TransferTarget::Elsewhere(name) => Target {
                    svma: None,
                    section: None,
                    name: Some(image::demangle(name)),
                    offset: 0,
                    is_transfer: true,
                },
            });
        }
        if let Some(target) = insn.flow.target() {
            return Some(self.file.target(target, true));
        }
        let address = image.addresses.binary_search_by_key(&insn.svma, |(from, _)| *from);
        if let Some((_, to)) = address.ok().and_then(|at| image.addresses.get(at)) {
            return Some(self.file.target(*to, false));
        }
        // In an object the linker still has to fill in the rest.
        let is_final = image.kind != Kind::Relocatable;
        let made = (insn.operation == insn::Operation::Address).then_some(insn.imm).flatten();
        let accessed = insn.memory.filter(|memory| memory.is_static).map(|memory| memory.displacement);
        let address = made.or(accessed).filter(|_| is_final)?;
        Some(self.file.target(Svma(address.cast_unsigned()), false))
    }
}

/// The loops around each instruction that is in one, the outermost first.
fn loops_by_insn(graph: &Graph, image: &Image<'_>) -> HashMap<Svma, Vec<Within>> {
    let mut loops = natural_loops(graph).all();
    loops.sort_by_key(|around| std::cmp::Reverse(around.blocks.len()));
    let mut found: HashMap<Svma, Vec<Within>> = HashMap::new();
    for around in loops {
        let Some(header) = graph.blocks.get(around.header) else { continue };
        let header = place_of(image, header.start()).1;
        let blocks = around.blocks.iter().filter_map(|&block| graph.blocks.get(block));
        let insns: Vec<Svma> = blocks.flat_map(|block| &block.insns).map(|insn| insn.svma).collect();
        for (edge, svma) in edges(&insns) {
            found.entry(svma).or_default().push(Within { header, edge });
        }
    }
    found
}

/// Where instructions are in the exclusive sequences; of two that share an instruction the first counts.
fn exclusive_by_insn(graph: &Graph) -> HashMap<Svma, Edge> {
    let mut found = HashMap::new();
    for run in exclusive_runs(graph) {
        for (edge, svma) in edges(&run) {
            found.entry(svma).or_insert(edge);
        }
    }
    found
}

fn edges(run: &[Svma]) -> impl Iterator<Item = (Edge, Svma)> {
    let last = run.len().saturating_sub(1);
    run.iter().enumerate().map(move |(index, &svma)| {
        let edge = match index {
            0 if last == 0 => Edge::Only,
            0 => Edge::First,
            n if n == last => Edge::Last,
            _ => Edge::Inside,
        };
        (edge, svma)
    })
}
