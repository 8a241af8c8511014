//! What is live on a model: the blocks that control comes to, from the roots.
//!
//! Roots are what the loader calls, what other files may call, and every address of code that was handed out. A shared object's
//! exported data may be read and written by others.

use crate::address::{CodeOffset, Svma};
use crate::engine::solver::{NodeId, Outcome};
use crate::function::reach::Source;
use crate::image::Kind;
use crate::reach::cpu::Model;
use crate::reach::demand::Demand;
use crate::reach::evaluate::run::{Certainty, Run};
use crate::reach::memory::Escape;
use crate::reach::memory::file::File;
use crate::reach::value::pool::{Places, Pool};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Maximum of bytes of a block: 64 instructions of 15.
const LONGEST_BLOCK: u64 = 960;

/// Objects that C++ compilers export with each class: only code that makes or tests objects of the class refers to them.
const CLASS_DATA: [&str; 4] = ["_ZTV", "_ZTT", "_ZTI", "_ZTS"];

/// A block that control comes to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LiveBlock {
    pub start: u64,
    pub end: u64,
    pub function: u64,
    pub certainty: Certainty,
    /// The block that control came from first, by its place among all; `None` for roots.
    pub parent: Option<NodeId>,
}

/// What is live on a model.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// By node, in the order in which they were reached.
    blocks: Vec<LiveBlock>,
    /// The same by address.
    by_start: Vec<NodeId>,
    /// Whether the program handles the signal of an instruction that the CPU does not have.
    pub handles_illegal: bool,
}

impl Live {
    pub(crate) fn block(&self, node: NodeId) -> Option<&LiveBlock> {
        self.blocks.get(node as usize)
    }

    /// The surest block that an instruction is in, by its place among all.
    pub(crate) fn at(&self, address: u64) -> Option<NodeId> {
        let start = |node: &NodeId| self.block(*node).map_or(0, |block| block.start);
        let after = self.by_start.partition_point(|node| start(node) <= address);
        let before = self.by_start.get(..after).unwrap_or_default().iter().rev();
        let near = before.take_while(|node| start(node).saturating_add(LONGEST_BLOCK) > address);
        let here = near.filter(|node| self.block(**node).is_some_and(|block| address < block.end));
        here.copied().max_by_key(|node| self.block(*node).map(|block| block.certainty))
    }
}

/// Whether a root is one on a model: what has chosen the code for the CPU does not enter it without.
fn enters(source: &Source, model: &Model) -> Option<Certainty> {
    match source {
        Source::Root | Source::Export { is_interface: true } => Some(Certainty::Certain),
        Source::Export { is_interface: false } => Some(Certainty::Doubtful),
        Source::Offer { features } => model.may_have(*features).then_some(Certainty::Doubtful),
        Source::Node(_) => None,
    }
}

/// Evaluates the whole program on a model. Returns what is live, if the budget was enough, and what it cost.
pub(crate) fn evaluate(
    file: &File<'_, '_>,
    (places, demand): (&Places, &Demand),
    roots: &BTreeMap<CodeOffset, Source>,
    model: Model,
    budget: u64,
) -> (Option<Live>, u64) {
    let mut run = Run::new(file, demand, Pool::new(places.clone()), model);
    for resolved in &file.linkage.resolved {
        run.resolved_word(file.address(resolved.resolver), file.address(resolved.at));
    }
    let resolvers: FxHashSet<Svma> = file.resolvers().collect();
    for (&start, source) in roots {
        let Some(certainty) = enters(source, &model) else { continue };
        let address = file.address(file.image.svma(start));
        let context = match resolvers.contains(&file.image.svma(start)) {
            true => run.resolver(address),
            false => run.root(address, certainty, &[]),
        };
        // Callers from other files get what they return, and the loader hands them what a resolver returns.
        let is_called = !matches!(source, Source::Root) || resolvers.contains(&file.image.svma(start));
        if let Some(context) = context.filter(|_| is_called) {
            run.returns_outside(context);
        }
    }
    if file.image.kind == Kind::SharedObject {
        for object in &file.linkage.exported_objects {
            let is_class_data = CLASS_DATA.iter().any(|prefix| object.name.starts_with(prefix));
            let escape = if is_class_data { Escape::Lost } else { Escape::Foreign };
            run.escape_address(file.address(object.extent.start), escape);
        }
    }
    let (outcome, cost) = run.solve(budget);
    let is_settled = matches!(outcome, Outcome::Settled);
    if is_settled {
        run.settle_certainty();
    }
    (is_settled.then(|| live(&run)), cost)
}

fn live(run: &Run<'_, '_, '_>) -> Live {
    let block = |node: &crate::reach::evaluate::run::Node| LiveBlock {
        start: node.at,
        end: run.file.block(node.at).end.0,
        function: run.contexts.get(node.context as usize).map_or(0, |it| it.function),
        certainty: node.certainty,
        parent: node.parent,
    };
    let blocks: Vec<LiveBlock> = run.nodes.iter().map(block).collect();
    let mut by_start: Vec<NodeId> = (0..blocks.len() as NodeId).collect();
    by_start.sort_by_key(|node| blocks.get(*node as usize).map_or(0, |block| block.start));
    Live { blocks, by_start, handles_illegal: run.handles_illegal }
}
