//! Small functions that are chosen at run time for one instruction's sake: what a compiler would inline, could it
//! take the instruction for granted.
//!
//! In: the verdicts on functions above the first level. Out: [`Leaf`]. Only scalar instructions count: of vector code
//! the choice is among whole loops, which calls hardly slow down.

use crate::address::{Extent, Svma};
use crate::function::block::Graph;
use crate::function::loops::natural_loops;
use crate::function::reach::file::references::{Access, search_once};
use crate::function::reach::{Guard, GuardKind, Reach, Verdict};
use crate::function::{Function, Program};
use crate::image::{Image, Kind, Linkage, SymbolKind, SymbolOrigin};
use crate::insn::sweep::Edge;
use crate::insn::{self, Class, Flow, Insn, Operation};
use deburr_cpu::{Feature, FeatureSet};

/// Maximum number of instructions of a leaf: as many as a CRC of a buffer takes, by words and by bytes.
const LARGEST: usize = 40;
/// Maximum number of loops of a leaf.
const LOOPS: usize = 2;
/// Features of scalar instructions.
pub const SCALAR: FeatureSet = FeatureSet::of(&[
    Feature::POPCNT,
    Feature::SSE4_2,
    Feature::LZCNT,
    Feature::BMI1,
    Feature::BMI2,
    Feature::MOVBE,
    Feature::ADX,
    Feature::FEAT_CRC32,
    Feature::FEAT_CSSC,
]);

/// A small function that is reached through a choice.
#[derive(Debug, Clone, Copy)]
pub struct Leaf<'v> {
    /// Its verdict.
    pub verdict: &'v Verdict,
    /// The choice.
    pub guard: Guard,
    /// Its instructions.
    pub instructions: usize,
    /// Places that call what the pointer holds or load it, where the pointer is known.
    pub uses: Option<u64>,
}

/// The leaves that need nothing beyond some features, by address.
pub fn leaves<'v>(
    image: &Image<'_>,
    program: &Program,
    verdicts: &'v [Verdict],
    there: FeatureSet,
) -> Vec<Leaf<'v>> {
    let found = verdicts.iter().filter_map(|verdict| {
        let guard = verdict.guard.filter(|_| verdict.reach == Reach::Guarded)?;
        let is_fit = verdict.features.is_subset(there.intersection(SCALAR));
        let is_chosen = match guard.kind {
            GuardKind::Pointer | GuardKind::Table => true,
            // What is exported is called by other files, where nothing can be put inline.
            GuardKind::Ifunc => !is_exported_ifunc(image, program, guard.svma),
            GuardKind::Branch | GuardKind::Stated | GuardKind::Name => false,
        };
        let function = program.function_from(verdict.start).filter(|_| is_fit && is_chosen)?;
        let instructions = leaf_length(image, program, function)?;
        // Called directly it is a part of something larger that is chosen.
        let is_caller = |edge: &Edge| edge.to == function.start && !function.contains(edge.from);
        if program.calls().chain(program.jumps()).any(|edge| is_caller(&edge)) {
            return None;
        }
        Some(Leaf { verdict, guard, instructions, uses: None })
    });
    found.collect()
}

/// Counts the places that use the pointers of leaves.
pub fn count_uses(image: &Image<'_>, linkage: &Linkage<'_>, program: &Program, leaves: &mut [Leaf<'_>]) {
    let pointer = |leaf: &Leaf<'_>| pointer_set(image, program, leaf.guard);
    let pointers: Vec<Option<Svma>> = leaves.iter().map(pointer).collect();
    let mut ranges: Vec<Extent> = pointers.iter().flatten().map(|&at| Extent::sized(at, 8)).collect();
    ranges.sort_unstable();
    ranges.dedup();
    // In objects the linker fills pointers in.
    if ranges.is_empty() || image.kind == Kind::Relocatable {
        return;
    }
    let references = search_once(image, linkage, program, &ranges);
    for (leaf, pointer) in leaves.iter_mut().zip(pointers) {
        let is_use = |access| matches!(access, Access::Call | Access::Read);
        leaf.uses = pointer.map(|pointer| {
            references.iter().filter(|it| it.to == pointer && is_use(it.access)).count() as u64
        });
    }
}

/// Whether the resolver that holds an address is of a symbol that other files see.
fn is_exported_ifunc(image: &Image<'_>, program: &Program, within: Svma) -> bool {
    let function = image.code_offset(within).and_then(|at| program.function_at(at));
    let Some(function) = function else { return false };
    let resolver = image.svma(program.whole(function).start);
    let named = image.symbols.iter().filter(|symbol| symbol.svma == resolver);
    let mut named = named.filter(|symbol| symbol.kind == SymbolKind::IfuncResolver);
    named.any(|symbol| {
        symbol.is_global && (symbol.origin == SymbolOrigin::Dynsym || image.kind == Kind::Relocatable)
    })
}

/// The length of a function that calls nothing, has few loops and no vector registers; `None` of others.
fn leaf_length(image: &Image<'_>, program: &Program, function: &Function) -> Option<usize> {
    let extent = function.extent(image);
    if extent.len() > 15 * LARGEST as u64 {
        return None;
    }
    let graph = Graph::of(image, program, function, extent.start);
    let insns: Vec<&Insn> = graph.blocks.iter().flat_map(|block| &block.insns).collect();
    let count = insns.iter().filter(|insn| insn.class != Class::Hint).count();
    let is_vector =
        |insn: &Insn| (0..32).any(|n| insn.reads.union(insn.writes).contains(insn::Reg::vector(n)));
    let leaves = insns.iter().any(|insn| match insn.flow {
        Flow::Call(_) | Flow::IndirectCall | Flow::IndirectJump => true,
        Flow::Jump(to) | Flow::Branch(to) => !extent.contains(to),
        _ => false,
    });
    let is_small = count <= LARGEST && natural_loops(&graph).count() <= LOOPS;
    (is_small && !leaves && !insns.iter().any(|insn| is_vector(insn))).then_some(count)
}

/// The place in data that a pointer is kept in: what the guard's instruction stores to, if it is one place for the
/// whole file.
fn pointer_set(image: &Image<'_>, program: &Program, guard: Guard) -> Option<Svma> {
    let function = program.function_at(image.code_offset(guard.svma)?)?;
    let graph = Graph::of(image, program, function, guard.svma);
    let (block, index) = graph.find(guard.svma)?;
    let (before, from) = graph.blocks.get(block)?.insns.split_at_checked(index)?;
    let memory = from.first()?.memory.filter(|memory| memory.write && memory.index.is_none())?;
    if memory.is_static {
        return Some(Svma(memory.displacement as u64));
    }
    // adrp x1, pointer; str x0, [x1, #:lo12:pointer]
    let page = before.iter().rev().find(|insn| insn.dst == memory.base)?;
    let page = page.imm.filter(|_| page.operation == Operation::Address)?;
    Some(Svma(page.wrapping_add(memory.displacement) as u64))
}
