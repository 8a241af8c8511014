//! Basic blocks: the control-flow graph of one function, built when a rule needs it.

use super::{Function, Program};
use crate::address::CodeOffset;
use crate::address::{Extent, Svma};
use crate::image::Image;
use crate::insn::{self, Class, Flow, Insn};
use deburr_cpu::Arch;
use std::sync::OnceLock;

/// A run of instructions that is entered only at the top and left only at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// Its instructions, at least one.
    pub insns: Vec<Insn>,
    /// Indices of the blocks that may run next, within the function.
    pub successors: Vec<usize>,
    /// Indices of the blocks that it may run after, within the function.
    pub predecessors: Vec<usize>,
}

impl Block {
    /// Where it begins.
    pub fn start(&self) -> Svma {
        self.insns.first().map_or(Svma(0), |insn| insn.svma)
    }

    /// Whether it does nothing: bytes between functions or before the target of a jump.
    pub(super) fn is_padding(&self) -> bool {
        self.insns.iter().all(|insn| insn.class == Class::Hint)
    }

    /// Its last instruction.
    pub fn last(&self) -> Option<&Insn> {
        self.insns.last()
    }
}

/// The control-flow graph of one function.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// Its blocks, by address; the first is the entry.
    pub blocks: Vec<Block>,
    /// In which order they run, filled on first use.
    order: OnceLock<Order>,
}

/// In which order the blocks of a graph run.
#[derive(Debug, Clone, Default)]
struct Order {
    orphans: Vec<usize>,
    /// By block.
    ranks: Vec<usize>,
}

/// Maximum number of bytes of a function that a graph is built for; of a longer run of code, a window around a place is
/// built.
pub(crate) const LARGEST: u64 = 1 << 20;
/// Bytes before and after the place, where the function is longer.
const WINDOW: u64 = 16 * 1024;
/// Instructions that are decoded before they are put into blocks, at a time.
const PIECE: usize = 2048;

impl Graph {
    /// Builds the graph of the function that holds `around`. Of a function larger than 1 MiB it covers 16 KiB on
    /// either side.
    pub fn of(image: &Image<'_>, program: &Program, function: &Function, around: Svma) -> Graph {
        Graph::of_insns(decode_all(image, program, window(function.extent(image), around)))
    }

    /// Builds the graph of a run of code that belongs to no function.
    pub(crate) fn of_extent(image: &Image<'_>, program: &Program, extent: Extent) -> Graph {
        let end = extent.end.min(Svma(extent.start.0.saturating_add(WINDOW)));
        Graph::of_insns(decode_all(image, program, Extent { end, ..extent }))
    }

    /// Builds the graph of a function and its parts, however large. `entered`: where jumps through tables lead. It takes no steps of the
    /// budget.
    pub(crate) fn whole(image: &Image<'_>, program: &Program, parts: &[Function], entered: &[Svma]) -> Graph {
        let mut extents: Vec<Extent> = parts.iter().map(|part| part.extent(image)).collect();
        extents.sort_unstable();
        // Whoever runs it takes the steps: which of two threads builds the graph that both keep is chance.
        let is_limited = !program.budget().has_any();
        let insns = extents.into_iter().filter(|_| !is_limited).flat_map(|it| decode_run(image, program, it));
        Graph::of_entered(insns, entered)
    }

    /// Builds the graph of instructions in order of address.
    pub fn of_insns(insns: Vec<Insn>) -> Graph {
        Graph::of_entered(insns.into_iter(), &[])
    }

    fn of_entered(mut insns: impl Iterator<Item = Insn>, entered: &[Svma]) -> Graph {
        // In pieces, which go when their blocks are made: a function may be most of a file.
        let piece =
            || Some(insns.by_ref().take(PIECE).collect::<Vec<Insn>>()).filter(|piece| !piece.is_empty());
        let pieces: Vec<Vec<Insn>> = std::iter::from_fn(piece).collect();
        let mut leaders: Vec<Svma> =
            pieces.iter().flatten().filter_map(|insn| insn.flow.inner_target()).collect();
        leaders.extend(entered);
        leaders.sort_unstable();
        let mut due = leaders.iter().copied().peekable();
        let mut lengths: Vec<usize> = Vec::new();
        let mut ended = true;
        let mut next = Svma(0);
        for insn in pieces.iter().flatten() {
            while due.next_if(|&leader| leader < insn.svma).is_some() {}
            let is_new = ended || insn.svma != next || due.peek() == Some(&insn.svma);
            ended = insn.flow.ends_block();
            next = insn.next();
            match lengths.last_mut() {
                Some(length) if !is_new => *length += 1,
                _ => lengths.push(1),
            }
        }
        let mut insns = pieces.into_iter().flatten();
        let block = |length| {
            let mut own = Vec::with_capacity(length);
            own.extend(insns.by_ref().take(length));
            Block { insns: own, ..Block::default() }
        };
        let mut blocks: Vec<Block> = lengths.into_iter().map(block).collect();
        let starts: Vec<Svma> = blocks.iter().map(Block::start).collect();
        for block in &mut blocks {
            if let Some(last) = block.insns.last() {
                let target = last.flow.inner_target();
                let next = last.flow.falls_through().then(|| last.next());
                block.successors = [next, target]
                    .into_iter()
                    .flatten()
                    .filter_map(|svma| starts.binary_search(&svma).ok())
                    .collect();
                block.successors.dedup();
            }
        }
        let mut graph = Graph { blocks, ..Graph::default() };
        graph.link_back();
        graph
    }

    /// Fills in the predecessors from the successors.
    pub(super) fn link_back(&mut self) {
        for from in 0..self.blocks.len() {
            let successors = self.blocks.get(from).map(|block| block.successors.clone()).unwrap_or_default();
            for to in successors {
                if let Some(block) = self.blocks.get_mut(to) {
                    block.predecessors.push(from);
                }
            }
        }
    }

    /// As [`Paths::orphans`].
    pub(super) fn orphans(&self) -> &[usize] {
        &self.order().orphans
    }

    /// A block's place in an order in which, loops aside, each block comes after those that it runs after.
    pub(super) fn rank(&self, block: usize) -> usize {
        self.order().ranks.get(block).copied().unwrap_or(usize::MAX)
    }

    fn order(&self) -> &Order {
        self.order.get_or_init(|| {
            let orphans = find_orphans(self);
            let mut seen = vec![false; self.blocks.len()];
            let mut ranks = vec![0; self.blocks.len()];
            let mut next = 0..;
            let mut indirect = orphans.as_slice();
            // What only a callee that throws leads to comes last.
            for entry in 0..self.blocks.len() {
                let mut reached = Vec::new();
                self.visit(entry, &mut indirect, &mut seen, &mut reached);
                for (block, number) in reached.into_iter().rev().zip(&mut next) {
                    if let Some(rank) = ranks.get_mut(block) {
                        *rank = number;
                    }
                }
            }
            Order { orphans, ranks }
        })
    }

    /// Appends the unseen blocks reached from `entry`, in postorder. `indirect`: where indirect jumps lead, without those that one
    /// has led to already: they are seen, and not looked at again for each jump.
    pub(super) fn visit(
        &self,
        entry: usize,
        indirect: &mut &[usize],
        seen: &mut [bool],
        postorder: &mut Vec<usize>,
    ) {
        let mut see = |block: usize| seen.get_mut(block).is_some_and(|seen| !std::mem::replace(seen, true));
        let successors =
            |block: usize| self.blocks.get(block).into_iter().flat_map(|block| &block.successors);
        let mut path: Vec<_> = see(entry).then(|| (entry, successors(entry))).into_iter().collect();
        while let Some((block, successors_left)) = path.last_mut() {
            let direct = successors_left.next();
            let is_indirect = direct.is_none() && self.is_indirect(*block);
            match if is_indirect { indirect.split_off_first() } else { direct } {
                Some(&next) => path.extend(see(next).then(|| (next, successors(next)))),
                None => {
                    postorder.push(*block);
                    path.pop();
                }
            }
        }
    }

    /// The block and the index in it of the instruction at an address.
    pub fn find(&self, svma: Svma) -> Option<(usize, usize)> {
        let block = self.blocks.partition_point(|block| block.start() <= svma).checked_sub(1)?;
        let insns = &self.blocks.get(block)?.insns;
        Some((block, insns.binary_search_by_key(&svma, |insn| insn.svma).ok()?))
    }
}

/// The graph of the function around one place after another, and what `T` says of it: built once for places that are neighbours, or a function
/// with many of them would take the square of its length.
#[derive(Default)]
pub(crate) struct RecentGraph<T>(Option<(Function, Graph, T)>);

impl<T> RecentGraph<T> {
    /// The function that holds a place, its graph, and what `learn` makes of that. `None` where no function is.
    pub(crate) fn around(
        &mut self,
        image: &Image<'_>,
        program: &Program,
        at: CodeOffset,
        learn: impl FnOnce(&Graph) -> T,
    ) -> Option<(&Function, &Graph, &T)> {
        self.of(image, program, *program.function_at(at)?, image.svma(at), learn)
    }

    /// The same of a function that is known, around an address in it.
    pub(crate) fn of(
        &mut self,
        image: &Image<'_>,
        program: &Program,
        function: Function,
        svma: Svma,
        learn: impl FnOnce(&Graph) -> T,
    ) -> Option<(&Function, &Graph, &T)> {
        let is_it = |(of, graph, _): &(Function, Graph, T)| *of == function && graph.find(svma).is_some();
        if !self.0.as_ref().is_some_and(is_it) {
            let graph = Graph::of(image, program, &function, svma);
            let learnt = learn(&graph);
            self.0 = Some((function, graph, learnt));
        }
        self.0.as_ref().map(|(function, graph, learnt)| (function, graph, learnt))
    }
}

/// The blocks of a function as nodes that control moves between.
pub(super) trait Paths {
    /// How many blocks there are; they are numbered by address, and the first is the entry.
    fn count(&self) -> usize;
    /// The blocks that may run next.
    fn successors(&self, block: usize) -> &[usize];
    /// Whether a block of the function leads to it.
    fn is_entered(&self, block: usize) -> bool;
    /// Whether it does nothing: bytes between functions or before the target of a jump.
    fn is_padding(&self, block: usize) -> bool;
    /// Whether an indirect jump ends it.
    fn is_indirect(&self, block: usize) -> bool;
    /// The blocks that nothing in the function goes to, except the first: what an indirect jump leads to, and what runs
    /// when a callee throws. Padding is among them where nothing else leads to what it seems to fall into.
    fn orphans(&self) -> &[usize];
}

impl Paths for Graph {
    fn count(&self) -> usize {
        self.blocks.len()
    }

    fn successors(&self, block: usize) -> &[usize] {
        self.blocks.get(block).map(|block| block.successors.as_slice()).unwrap_or_default()
    }

    fn is_entered(&self, block: usize) -> bool {
        self.blocks.get(block).is_some_and(|block| !block.predecessors.is_empty())
    }

    fn is_padding(&self, block: usize) -> bool {
        self.blocks.get(block).is_some_and(Block::is_padding)
    }

    fn is_indirect(&self, block: usize) -> bool {
        self.blocks.get(block).and_then(Block::last).is_some_and(|last| last.flow == Flow::IndirectJump)
    }

    fn orphans(&self) -> &[usize] {
        &self.order().orphans
    }
}

/// The orphans, as [`Paths::orphans`] has them.
pub(super) fn find_orphans(paths: &impl Paths) -> Vec<usize> {
    let unentered = (1..paths.count()).filter(|&block| !paths.is_entered(block));
    let (padding, mut orphans): (Vec<usize>, Vec<usize>) =
        unentered.partition(|&block| paths.is_padding(block));
    if !padding.is_empty() {
        let mut reached = vec![false; paths.count()];
        let mut pending: Vec<usize> = orphans.iter().copied().chain([0]).collect();
        while let Some(block) = pending.pop() {
            if let Some(mark) = reached.get_mut(block).filter(|mark| !**mark) {
                *mark = true;
                pending.extend(paths.successors(block));
            }
        }
        let leads_on =
            |block: &usize| paths.successors(*block).iter().any(|&to| reached.get(to) == Some(&false));
        orphans.extend(padding.into_iter().filter(leads_on));
        orphans.sort_unstable();
    }
    orphans
}

/// What is read of a function: all of it, or of a large one what is near a place.
pub(super) fn window(extent: Extent, around: Svma) -> Extent {
    if extent.len() <= LARGEST {
        return extent;
    }
    let low = Svma(around.0.saturating_sub(WINDOW) & !3).max(extent.start);
    Extent { start: low, end: Svma(around.0.saturating_add(WINDOW)).min(extent.end) }
}

/// Every instruction of a range, without its data; undecodable bytes are passed over. None where the budget is spent.
fn decode_all(image: &Image<'_>, program: &Program, extent: Extent) -> Vec<Insn> {
    if !program.budget().has_any() {
        return Vec::new();
    }
    let insns: Vec<Insn> = decode_run(image, program, extent).collect();
    program.budget().take(insns.len());
    insns
}

/// Decodes every instruction of a range, one by one, as [`decode_all`] does.
pub(crate) fn decode_run<'a>(
    image: &Image<'a>,
    program: &'a Program,
    extent: Extent,
) -> impl Iterator<Item = Insn> + use<'a> {
    let decode = |arch, code: &[u8], svma| insn::decode(arch, code, svma).map(|insn| (insn.length, insn));
    run_of(image, program, extent, decode).map(|(_, insn)| insn)
}

/// Decodes the first instruction of some code: its length in bytes, and what is wanted of it.
type Decode<I> = fn(Arch, &[u8], Svma) -> Option<(u8, I)>;

/// Every instruction of a range with its address, as `decode` has it, without data; undecodable bytes are passed over.
pub(super) fn run_of<'a, I>(
    image: &Image<'a>,
    program: &'a Program,
    extent: Extent,
    decode: Decode<I>,
) -> impl Iterator<Item = (Svma, I)> + use<'a, I> {
    let (arch, base) = (image.arch, image.code_base);
    let code = image.bytes_at(extent.start).unwrap_or_default();
    let offset = move |at: Svma| at.since(base).and_then(|offset| CodeOffset::try_from(offset).ok());
    let mut data = program.data_from(offset(extent.start)).peekable();
    let mut at = extent.start;
    std::iter::from_fn(move || {
        while at < extent.end {
            let from = usize::try_from(at.since(extent.start)?).ok()?;
            let rest = code.get(from..).filter(|rest| !rest.is_empty())?;
            let offset = offset(at);
            while data.next_if(|run| offset.is_some_and(|at| run.end <= at)).is_some() {}
            let is_data = data.peek().is_some_and(|run| offset.is_some_and(|at| run.start <= at));
            match decode(arch, rest, at).filter(|_| !is_data) {
                Some((length, insn)) => {
                    let here = at;
                    at = at.offset(length.into());
                    return Some((here, insn));
                }
                None => at = at.offset(if arch == Arch::Aarch64 { 4 } else { 1 }),
            }
        }
        None
    })
}
