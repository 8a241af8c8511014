//! Whether the program reads identification registers of AArch64 only where the kernel says that it may.
//!
//! In: an image, its linkage and its functions. Out: a [`Verdict`] of each function that reads one. This is the same
//! analysis with another subject: what it follows is HWCAP_CPUID, and what needs that is `mrs` of such a register.

use super::domain::subject::{READABLE, Subject};
use super::file::view::View;
use super::learn::seeds;
use super::machine::effects::Facts;
use super::machine::interpret::interpret;
use super::machine::memory::Memory;
use super::machine::summaries::Summaries;
use super::verdict::checks::Checks;
use super::verdict::evidence::Verdict;
use super::verdict::node::{Source, Stated};
use crate::address::{CodeOffset, Extent, Svma};
use crate::function::Program;
use crate::image::{Image, Kind, Linkage};
use crate::insn::sweep::FeatureHit;
use crate::insn::{self, Class, FeatureGroup, Flow, Operation, Reg};
use deburr_cpu::{Arch, Feature, FeatureSet};
use std::collections::BTreeMap;

/// Where the program reads identification registers, by address.
pub fn id_register_reads(image: &Image<'_>, program: &Program) -> Vec<CodeOffset> {
    if image.arch != Arch::Aarch64 {
        return Vec::new();
    }
    let queries = program.marks().filter(|mark| mark.class == Class::FeatureQuery);
    queries.map(|mark| mark.at).collect()
}

/// The reads of identification registers of a file where the earlier rules find one untested in its function and in a caller.
#[derive(Debug)]
pub(crate) struct IdRegisterReads {
    /// The program, with these reads as the instructions that need a feature.
    pub program: Program,
    /// What is entered from outside.
    pub roots: BTreeMap<CodeOffset, Source>,
    /// Of every function that has some, by address.
    pub verdicts: Vec<Verdict>,
}

/// Judges every function that reads identification registers; `None` if each read is tested.
pub(crate) fn id_register_verdicts(
    image: &Image<'_>,
    linkage: &Linkage<'_>,
    program: &Program,
) -> Option<IdRegisterReads> {
    let needed = FeatureSet::EMPTY.with(READABLE);
    let mut groups = (0u16..).map(FeatureGroup).take(insn::feature_group_count(image.arch));
    let group = groups.find(|group| insn::features_of(image.arch, *group) == needed)?;
    let program = program
        .with_hits(|mark| (mark.class == Class::FeatureQuery).then_some(FeatureHit { at: mark.at, group }));
    let mut file = View::new(image, linkage, &program, &[]);
    let is_object = image.kind == Kind::Relocatable;
    file.subject = Subject::IdRegisters { forgets_words: is_object, guesses: is_object };
    if are_checked(&file) {
        return None;
    }
    file.subject = Subject::IdRegisters { forgets_words: false, guesses: true };
    let stated = Stated::default();
    let checks = Checks::follow(&file, (&stated, false), None);
    let others = Feature::all().filter(|feature| *feature != READABLE).collect();
    let mut verdicts = checks.judge(image, &program, others, &stated);
    verdicts.retain(|verdict| !may_come_back(&file, verdict.start));
    Some(IdRegisterReads { program, roots: checks.roots, verdicts })
}

/// Whether a function stores the address of a place inside itself, as `__builtin_setjmp` does: a handler of SIGILL may come
/// back there (Valgrind tries its instructions so). If the function itself jumps there, it is a computed `goto`.
fn may_come_back(file: &View<'_, '_>, start: CodeOffset) -> bool {
    let Some(function) = file.program.function_from(start) else { return false };
    let Some(graph) = file.graph(function) else { return false };
    let extent = function.extent(file.image);
    let is_inside = |svma: Svma| extent.start < svma && svma < extent.end;
    let mut insns = graph.blocks.iter().flat_map(|block| &block.insns);
    if insns.any(|insn| insn.flow == Flow::IndirectJump) {
        return false;
    }
    graph.blocks.iter().any(|block| {
        let mut made: BTreeMap<Reg, Svma> = BTreeMap::new();
        block.insns.iter().any(|insn| {
            let stores = insn.class == Class::Store
                && insn.reads.general().any(|reg| made.get(&reg).is_some_and(|&to| is_inside(to)));
            let filled_in = file.image.addresses.binary_search_by_key(&insn.svma, |made| made.0).ok();
            let filled_in = filled_in.and_then(|at| file.image.addresses.get(at)).map(|made| made.1);
            let base = insn.src[0].and_then(|reg| made.get(&reg)).copied();
            let value = match (insn.operation, insn.imm, base) {
                _ if filled_in.is_some() => filled_in,
                (Operation::Address, Some(imm), _) => Some(Svma(imm as u64)),
                (Operation::Add, Some(imm), Some(base)) => Some(base.offset(imm)),
                _ => None,
            };
            for reg in insn.writes.general() {
                made.remove(&reg);
            }
            if let (Some(reg), Some(value)) = (insn.dst, value) {
                made.insert(reg, value);
            }
            stores
        })
    })
}

/// Whether each function that reads such registers tests before it does, by itself, or all its callers do: a cheap question
/// that most files answer, before the whole file is analysed.
fn are_checked(file: &View<'_, '_>) -> bool {
    let memory = seeds::known(file);
    let mut hits = file.program.hits_by_function();
    hits.all(|(function, run)| {
        let Some(function) = function.map(|function| file.program.whole(function)) else { return false };
        let proven = Proven::of(file, &memory, function.start);
        if run.iter().all(|hit| proven.at(hit.at)) {
            return true;
        }
        // Nothing but direct calls leads there.
        let is_open = file.is_resolver(function.start)
            || file.incoming.addresses_of(function.start).next().is_some()
            || !file.incoming.cells_to(Extent::sized(file.image.svma(function.start), 1)).is_empty()
            || file.incoming.inner.contains_key(&function.start)
            || is_entered_from_outside(file, function.start);
        let mut calls =
            file.incoming.edges_to(function.start..CodeOffset(function.start.0.saturating_add(1))).peekable();
        !is_open
            && calls.peek().is_some()
            && calls.all(|edge| {
                let caller = file.whole_at(edge.from);
                caller.is_some_and(|caller| Proven::of(file, &memory, caller.start).at(edge.from))
            })
    })
}

/// Whether the loader, or another file, may enter a function.
fn is_entered_from_outside(file: &View<'_, '_>, start: CodeOffset) -> bool {
    let is_here = |svma| file.image.code_offset(svma) == Some(start);
    file.image.kind == Kind::Relocatable
        || file.image.entries.iter().any(|&entry| is_here(entry))
        || file.linkage.named_exports.iter().any(|export| is_here(export.at))
}

/// What a function proves by itself.
struct Proven(Option<Facts>);

impl Proven {
    fn of(file: &View<'_, '_>, memory: &Memory, start: CodeOffset) -> Proven {
        let function = file.program.function_from(start);
        Proven(function.and_then(|function| interpret(file, &Summaries::default(), memory, function, start)))
    }

    /// Whether it has tested on every path to a place.
    fn at(&self, at: CodeOffset) -> bool {
        let block = self.0.as_ref().and_then(|facts| facts.at(at));
        block.and_then(|block| block.proof).is_some_and(|proof| proof.features.contains(READABLE))
    }
}
