//! Patch stage: a second opinion on whether what is around a change allows it.
//!
//! In: an image and the changes of its code, from a plan or from a patched file. Out: the [`Contradiction`]s.
//! The plan has had the same questions; this room answers them from the instructions again. It shares no code
//! with the plan, neither the prover nor the decoders' operands: one oversight does not pass both. A test of the
//! repository holds it to that; what it is given and what it answers are the types of `subject`. It errs towards
//! "no": a needless contradiction costs one site.
//!
//! | file | from | to |
//! |---|---|---|
//! | `fields` | an instruction | where it goes on, the registers it may name |
//! | `computed` | code | the addresses it computes |
//! | `graph` | a file | all direct control flow and all entries |
//! | `tables` | jumps through registers | their targets |
//! | `frame` | a slot of a frame | whether another address may lead there |
//! | `registers` | a register at a place | who may read it, what it certainly holds |
//! | `evaluate` | two sequences | what differs between them, by running both on values |
//! | `exclusives` | a change of exclusives | the registers that must be dead |
//! | `monitors` | a file | the places where an armed monitor matters |
//! | `barriers` | a barrier | what it is for |
//! | `helpers` | a called function | the instruction that does the same |

mod barriers;
mod computed;
mod evaluate;
mod exclusives;
mod fields;
mod frame;
mod graph;
mod helpers;
mod monitors;
mod registers;
mod tables;

pub use evaluate::{Effort, Known, Manner, Need, evaluate};

use crate::subject::{Concern, Contradiction, Fact, RewriteKind, Subject};
use barriers::Neighbour;
use deburr_core::address::CodeOffset;
use deburr_core::address::{Extent, Svma};
use deburr_core::image::Image;
use deburr_cpu::{Feature, FeatureSet};
use evaluate::{Evaluator, Program};
use fields::Flow;
use graph::Graph;
use helpers::{Helpers, NoHelper};
use monitors::Monitors;
use rayon::prelude::*;
use registers::After;
use tables::Jumps;

const YIELD: u32 = 0xd503_203f;
const ISB: u32 = 0xd503_3fdf;
/// No hint: undefined without FEAT_SB.
const SB: u32 = 0xd503_30ff;
const DMB_ISH: u32 = 0xd503_3bbf;
const RET: u32 = 0xd65f_03c0;
/// x16, which a helper leaves its flag in, and x30, which a call leaves its return address in. x15 and x17 a
/// helper leaves alone where there is LSE.
const CALLED: [u8; 2] = [16, 30];

/// What speaks against changes of an image, by address; for each change no more than the first. `target`: what
/// every machine is stated to have.
pub fn audit(image: &Image<'_>, target: FeatureSet, subjects: &[Subject<'_>]) -> Vec<Contradiction> {
    if subjects.is_empty() {
        return Vec::new();
    }
    let file = File::of(image, target, subjects);
    let judged = subjects.par_iter().filter_map(|subject| {
        let concern = file.judge(subject).err()?;
        Some(Contradiction { at: subject.at, concern })
    });
    let mut found: Vec<Contradiction> = judged.collect();
    found.sort_unstable();
    found
}

/// All that is known of a file.
struct File<'a> {
    graph: Graph<'a>,
    evaluator: Evaluator,
    /// What every machine has that it runs on.
    target: FeatureSet,
    jumps: Jumps,
    monitors: Monitors,
    helpers: Helpers,
    /// An instruction that only a barrier orders.
    ordered: Option<CodeOffset>,
}

impl<'a> File<'a> {
    fn of(image: &'a Image<'a>, target: FeatureSet, subjects: &[Subject<'_>]) -> File<'a> {
        let evaluator = Evaluator::default();
        let mut graph = Graph::of(image);
        // A jump may be found to come from another one's target.
        let first = Jumps::of(&graph);
        graph.add_jumps(&first.tables);
        let jumps = if first.tables.is_empty() { first } else { Jumps::of(&graph) };
        let leaves = |subject: &Subject<'_>| {
            subject.kind == Some(RewriteKind::Sequence) && !exclusives::branches(subject.old).is_empty()
        };
        let monitors = match subjects.iter().any(leaves) {
            true => Monitors::of(&graph),
            false => Monitors::default(),
        };
        let calls = subjects.iter().filter(|subject| subject.kind == Some(RewriteKind::Call));
        let callees = calls.filter_map(|subject| graph.at(called(subject)?)).collect();
        let helpers = Helpers::of(&graph, &evaluator, callees);
        let has_barriers = subjects.iter().any(|subject| subject.kind == Some(RewriteKind::Barrier));
        let ordered =
            has_barriers.then(|| barriers::ordered_by_barriers_alone(&graph)).into_iter().flatten().next();
        File { graph, evaluator, target, jumps, monitors, helpers, ordered }
    }

    fn judge(&self, subject: &Subject<'_>) -> Result<(), Concern> {
        let image = self.graph.image;
        let extent = Extent::sized(subject.at, 4 * subject.old.len() as u64);
        if image.writable_code.iter().any(|writable| writable.overlaps(extent)) {
            return Err(Concern::Writable);
        }
        if let Some(described) = self.graph.described().iter().find(|it| it.extent.overlaps(extent)) {
            return Err(Concern::Described(described.extent.start));
        }
        let at = self.graph.at(subject.at).ok_or(Concern::Instructions)?;
        let is_there = (0..).zip(subject.old).all(|(index, word)| {
            self.graph.offset(at, 4 * index).and_then(|at| self.graph.word(at)) == Some(*word)
        });
        if !is_there || subject.old.len() != subject.new.len() {
            return Err(Concern::Instructions);
        }
        match subject.kind {
            Some(RewriteKind::Sequence) => self.exclusives(subject, at),
            Some(RewriteKind::Call) => self.call(subject, at),
            Some(RewriteKind::Barrier) => self.barrier(subject, at),
            Some(RewriteKind::Frame) => {
                self.closed(at, subject.old.len(), at)?;
                self.frame(subject).map_err(Concern::Differs)
            }
            Some(RewriteKind::Hint) => match (subject.old, subject.new) {
                ([YIELD], [ISB]) => Ok(()),
                ([YIELD], [SB]) if self.target.contains(Feature::FEAT_SB) => Ok(()),
                ([YIELD], [SB]) => Err(Concern::Undefined),
                _ => Err(Concern::Instructions),
            },
            None => Err(Concern::Instructions),
        }
    }

    /// Whether control comes to the instructions after the one at `start` only from it, up to so many;
    /// branches among them may.
    fn closed(&self, start: CodeOffset, count: usize, from: CodeOffset) -> Result<(), Concern> {
        let end = start.saturating_add(4 * count as u32);
        let svma = |at: CodeOffset| self.graph.svma(at);
        if let Some((to, from)) =
            self.graph.sources_into(from, end).find(|(_, from)| !(start..end).contains(from))
        {
            return Err(Concern::BranchInto { from: svma(from), to: svma(to) });
        }
        let entry = self.graph.entry_in(from, end).or_else(|| self.jumps.target_in(from, end));
        if let Some(entry) = entry {
            return Err(Concern::EntryAt(svma(entry)));
        }
        if let Some(jump) = self.jumps.unresolved_around(start) {
            return Err(Concern::UnresolvedJump(svma(jump)));
        }
        let tables = &self.graph.image.unread_tables;
        let after = tables.partition_point(|function| function.start <= svma(start));
        let before = after.checked_sub(1).and_then(|index| tables.get(index));
        match before.is_some_and(|function| function.contains(svma(start))) {
            true => Err(Concern::ExceptionTable),
            false => Ok(()),
        }
    }

    /// Whether nobody reads a register after a place.
    fn unread(
        &self,
        from: CodeOffset,
        within: CodeOffset,
        register: u8,
        after: After,
    ) -> Result<(), Concern> {
        match registers::reader(&self.graph, &self.jumps, from, within, register, after) {
            Some(reader) => Err(Concern::Register { register, reader: self.graph.svma(reader) }),
            None => Ok(()),
        }
    }

    fn exclusives(&self, subject: &Subject<'_>, at: CodeOffset) -> Result<(), Concern> {
        self.closed(at, subject.old.len(), at)?;
        for exit in exclusives::branches(subject.old) {
            let place = self.graph.offset(at, 4 * exit).ok_or(Concern::Instructions)?;
            if self.monitors.matter(place) {
                return Err(Concern::Monitor { exit: self.graph.svma(place) });
            }
        }
        let needs = exclusives::needs(&self.graph, &self.evaluator, subject, at).map_err(Concern::Differs)?;
        for Need { exit, registers } in needs {
            let place = self.graph.offset(at, 4 * exit).ok_or(Concern::Instructions)?;
            for register in (0..31).filter(|number| registers >> number & 1 != 0) {
                self.unread(place, at, register, After::Sequence)?;
            }
        }
        Ok(())
    }

    /// Plain loads leave all registers alike.
    fn frame(&self, subject: &Subject<'_>) -> Result<(), Fact> {
        let length = subject.old.len();
        let programs = [Program::new(subject.old, 0, length)?, Program::new(subject.new, 0, length)?];
        let needs = self.evaluator.evaluate(programs, Manner::Loads, &[], length)?;
        if needs.is_empty() { Ok(()) } else { Err(Fact::Loaded) }
    }

    fn call(&self, subject: &Subject<'_>, at: CodeOffset) -> Result<(), Concern> {
        let callee = called(subject).and_then(|callee| self.graph.at(callee)).ok_or(Concern::NoHelper)?;
        let lse = self.helpers.instruction(callee).map_err(|why| match why {
            NoHelper::Shape => Concern::NoHelper,
            NoHelper::Flag(flag) => Concern::HelperFlag(flag),
            NoHelper::Fallback => Concern::HelperFallback,
            NoHelper::Name => Concern::HelperName,
        })?;
        match (subject.old, subject.new) {
            ([bl], [new]) if *new == lse && matches!(fields::flow(*bl), Flow::Call(_)) => {
                let next = self.graph.offset(at, 4).ok_or(Concern::Instructions)?;
                CALLED.into_iter().try_for_each(|register| self.unread(next, at, register, After::Call))
            }
            // A jump to a helper, and padding.
            ([b, fields::NOP], [new, RET]) if *new == lse && matches!(fields::flow(*b), Flow::Jump(_)) => {
                self.closed(at, 2, at)
            }
            _ => Err(Concern::Instructions),
        }
    }

    fn barrier(&self, subject: &Subject<'_>, at: CodeOffset) -> Result<(), Concern> {
        if (subject.old, subject.new) != (&[DMB_ISH], &[fields::NOP]) {
            return Err(Concern::Instructions);
        }
        if let Some(ordered) = self.ordered {
            return Err(Concern::Ordered(self.graph.svma(ordered)));
        }
        match barriers::neighbour(&self.graph, at).ok_or(Concern::NoAtomic)? {
            Neighbour::After => Ok(()),
            Neighbour::Before => {
                let atomic = self.graph.offset(at, -4).ok_or(Concern::NoAtomic)?;
                self.closed(atomic, 2, atomic)
            }
        }
    }
}

/// Where a call or jump goes.
fn called(subject: &Subject<'_>) -> Option<Svma> {
    match fields::flow(*subject.old.first()?) {
        Flow::Call(bytes) | Flow::Jump(bytes) => Some(subject.at.offset(bytes)),
        _ => None,
    }
}
