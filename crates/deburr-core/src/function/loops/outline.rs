//! Whether an instruction of a function is in a loop of it, by where control goes alone.
//!
//! It has the blocks of [`Graph::of`](crate::function::block::Graph::of) at a fraction of the cost: of an instruction it
//! takes the length and the flow. One pass over the function, and one over its blocks for all queries.

use super::cyclic::cyclic;
use crate::address::Svma;
use crate::function::block::{Paths, find_orphans, run_of, window};
use crate::function::{Function, Program};
use crate::image::Image;
use crate::insn::{self, Flow, Step};
use std::sync::OnceLock;

/// A run of instructions that is entered only at the top and left only at the end.
#[derive(Debug, Clone)]
struct Piece {
    start: Svma,
    /// Where the next instruction is after the last one, and where that goes.
    next: Svma,
    flow: Flow,
    is_padding: bool,
    is_entered: bool,
    successors: [usize; 2],
    count: usize,
}

/// The blocks of one function.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outline {
    /// Where its instructions begin.
    insns: Vec<Svma>,
    pieces: Vec<Piece>,
    orphans: OnceLock<Vec<usize>>,
    /// By block: whether it is on a cycle.
    cyclic: OnceLock<Vec<bool>>,
}

impl Outline {
    /// Reads the function that holds `around`; of a large one a window.
    pub(crate) fn of(image: &Image<'_>, program: &Program, function: &Function, around: Svma) -> Outline {
        let extent = window(function.extent(image), around);
        let decode = |arch, code: &[u8], svma| insn::step(arch, code, svma).map(|step| (step.length, step));
        let steps: Vec<(Svma, Step)> = run_of(image, program, extent, decode).collect();
        Outline::of_steps(&steps)
    }

    fn of_steps(steps: &[(Svma, Step)]) -> Outline {
        let mut leaders: Vec<Svma> = steps.iter().filter_map(|(_, step)| step.flow.inner_target()).collect();
        leaders.sort_unstable();
        let mut due = leaders.iter().copied().peekable();
        let mut pieces: Vec<Piece> = Vec::new();
        let mut is_ended = true;
        for &(svma, Step { length, flow, is_hint }) in steps {
            while due.next_if(|&leader| leader < svma).is_some() {}
            let is_leader = due.peek() == Some(&svma);
            let next = svma.offset(length.into());
            match pieces.last_mut().filter(|piece| !is_ended && piece.next == svma && !is_leader) {
                Some(piece) => {
                    (piece.next, piece.flow) = (next, flow);
                    piece.is_padding &= is_hint;
                }
                None => pieces.push(Piece {
                    start: svma,
                    next,
                    flow,
                    is_padding: is_hint,
                    is_entered: false,
                    successors: [0; 2],
                    count: 0,
                }),
            }
            is_ended = flow.ends_block();
        }
        let mut outline =
            Outline { insns: steps.iter().map(|(svma, _)| *svma).collect(), pieces, ..Outline::default() };
        outline.link();
        outline
    }

    fn link(&mut self) {
        for index in 0..self.pieces.len() {
            let Some(&Piece { next, flow, .. }) = self.pieces.get(index) else { continue };
            let next = flow.falls_through().then_some(next);
            for to in [next, flow.inner_target()].into_iter().flatten() {
                let Ok(to) = self.pieces.binary_search_by_key(&to, |piece| piece.start) else { continue };
                if let Some(piece) = self.pieces.get_mut(to) {
                    piece.is_entered = true;
                }
                if let Some(piece) = self.pieces.get_mut(index)
                    && let Some(slot) = piece.successors.get_mut(piece.count)
                {
                    *slot = to;
                    piece.count += 1;
                }
            }
        }
    }

    /// Whether control can come back to the instruction at an address; `None` if none begins there.
    pub(crate) fn comes_back(&self, svma: Svma) -> Option<bool> {
        self.insns.binary_search(&svma).ok()?;
        let home = self.pieces.partition_point(|piece| piece.start <= svma).checked_sub(1)?;
        self.cyclic.get_or_init(|| cyclic(self)).get(home).copied()
    }
}

impl Paths for Outline {
    fn count(&self) -> usize {
        self.pieces.len()
    }

    fn successors(&self, block: usize) -> &[usize] {
        let piece = self.pieces.get(block);
        piece.and_then(|piece| piece.successors.get(..piece.count)).unwrap_or_default()
    }

    fn is_entered(&self, block: usize) -> bool {
        self.pieces.get(block).is_some_and(|piece| piece.is_entered)
    }

    fn is_padding(&self, block: usize) -> bool {
        self.pieces.get(block).is_some_and(|piece| piece.is_padding)
    }

    fn is_indirect(&self, block: usize) -> bool {
        self.pieces.get(block).is_some_and(|piece| piece.flow == Flow::IndirectJump)
    }

    fn orphans(&self) -> &[usize] {
        self.orphans.get_or_init(|| find_orphans(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::block::Graph;
    use crate::insn::Insn;
    use deburr_cpu::Arch;

    /// Every instruction of some code, as one of the two decoders has it, with its length.
    fn all<I>(
        arch: Arch,
        code: &[u8],
        decode: impl Fn(Arch, &[u8], Svma) -> Option<(u8, I)>,
    ) -> Vec<(Svma, I)> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < code.len() {
            match decode(arch, &code[at..], Svma(at as u64)) {
                Some((length, insn)) => {
                    found.push((Svma(at as u64), insn));
                    at += usize::from(length);
                }
                None => at += if arch == Arch::Aarch64 { 4 } else { 1 },
            }
        }
        found
    }

    fn agrees(arch: Arch, code: &[u8]) -> usize {
        let insns =
            all(arch, code, |arch, code, at| insn::decode(arch, code, at).map(|insn| (insn.length, insn)));
        let steps =
            all(arch, code, |arch, code, at| insn::step(arch, code, at).map(|step| (step.length, step)));
        let graph = Graph::of_insns(insns.iter().map(|(_, insn)| *insn).collect::<Vec<Insn>>());
        let outline = Outline::of_steps(&steps);
        let mut back = 0;
        for at in 0..code.len() as u64 {
            let of_graph = cyclic(&graph);
            let expected = graph.find(Svma(at)).map(|(block, _)| of_graph[block]);
            assert_eq!(outline.comes_back(Svma(at)), expected, "{arch}: {code:02x?} at {at}");
            back += usize::from(expected == Some(true));
        }
        back
    }

    #[test]
    fn it_finds_the_loops_that_the_graph_has() {
        let mut state = 1u32;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        };
        let (mut x86_64, mut aarch64) = (0, 0);
        for _ in 0..2000 {
            let pieces: Vec<Vec<u8>> = (0..random() % 24)
                .map(|_| {
                    let near = random() as u8 % 32;
                    match random() % 9 {
                        0 => vec![0x74, near.wrapping_sub(20)],
                        1 => vec![0xeb, near.wrapping_sub(20)],
                        2 => vec![0xff, 0xe0],
                        3 => vec![0x90],
                        4 => vec![0xc3],
                        5 => vec![0xe8, near, 0, 0, 0],
                        6 => vec![0x0f, 0x1f, 0x40, 0],
                        7 => vec![0x06],
                        _ => vec![0x48, 0x89, 0xc3],
                    }
                })
                .collect();
            x86_64 += agrees(Arch::X86_64, &pieces.concat());
            let words: Vec<[u8; 4]> = (0..random() % 24)
                .map(|_| {
                    let back = (random() % 16).wrapping_sub(10);
                    let word = match random() % 9 {
                        0 => 0x5400_0000 | (back & 0x7ffff) << 5,
                        1 => 0x1400_0000 | back & 0x3ff_ffff,
                        2 => 0x3600_0000 | (back & 0x3fff) << 5,
                        3 => 0xd61f_0200,
                        4 => 0xd65f_03c0,
                        5 => 0xd503_201f,
                        6 => 0x9400_0000 | back & 0x3ff_ffff,
                        7 => 0,
                        _ => 0xaa01_03e0,
                    };
                    word.to_le_bytes()
                })
                .collect();
            aarch64 += agrees(Arch::Aarch64, words.as_flattened());
        }
        assert!(x86_64 > 1000 && aarch64 > 1000, "{x86_64} {aarch64}");
    }
}
