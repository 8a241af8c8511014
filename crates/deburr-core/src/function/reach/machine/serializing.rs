//! `cpuid` as a barrier: it serializes (SDM volume 3, *Serializing Instructions*), and programs run it for that alone, in
//! front of `rdtsc` or after they have changed code. Whoever does so drops the answer, and learns nothing of the CPU.
//!
//! In: the graph of a function, and a `cpuid` in it. Out: whether it is a barrier only. Linear in the graph, for each of the
//! few sets of registers that hold the answer.

use crate::address::Svma;
use crate::function::block::Graph;
use crate::function::reach::domain::state::stack_pointer;
use crate::function::reach::file::abi;
use crate::insn::{Flow, Insn, Operation, Reg, RegSet};
use deburr_cpu::Arch;

const EAX: Reg = Reg::general(0);
/// What `cpuid` writes.
const ANSWER: [Reg; 4] = [EAX, Reg::general(1), Reg::general(2), Reg::general(3)];

/// Where the answer still is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Answer {
    held: RegSet,
    /// Whether nothing has been done since but to compute: then `eax` may be what the function returns.
    is_fresh: bool,
}

impl Answer {
    const NOWHERE: Answer = Answer { held: RegSet::EMPTY, is_fresh: false };

    fn union(self, other: Answer) -> Answer {
        Answer { held: self.held.union(other.held), is_fresh: self.is_fresh || other.is_fresh }
    }

    /// After an instruction; `None` if that reads it.
    ///
    /// A call may be given `rcx` or `rdx`, which does not count: the maker's name begins in `ebx`, which is no argument. A
    /// function that has changed memory or called another one since is none that only returns the highest leaf.
    fn after(self, insn: &Insn) -> Option<Answer> {
        let is_read = match insn.flow {
            Flow::Call(_) => false,
            Flow::Return => self.is_fresh && self.held.contains(EAX),
            Flow::IndirectJump => self.held != RegSet::EMPTY,
            _ => self.held.intersection(insn.reads) != RegSet::EMPTY,
        };
        let is_call = matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall);
        let base = insn.memory.filter(|memory| memory.write).map(|memory| memory.base);
        let acts = is_call || base.is_some_and(|base| base != Some(stack_pointer(Arch::X86_64)));
        let written = if is_call { abi::clobbered(Arch::X86_64, false) } else { &[] };
        let written = written.iter().fold(insn.writes, |all, reg| all.with(*reg));
        (!is_read).then(|| Answer { held: self.held.minus(written), is_fresh: self.is_fresh && !acts })
    }

    fn after_all(self, insns: &[Insn]) -> Option<Answer> {
        insns.iter().try_fold(self, Answer::after)
    }
}

/// Whether the instruction at `at` is `cpuid` of leaf 0, the highest leaf and the maker's name, and nothing reads what it
/// answers.
pub(crate) fn is_serializing_only(graph: &Graph, at: Svma) -> bool {
    let Some((index, number)) = graph.find(at) else { return false };
    let Some(block) = graph.blocks.get(index) else { return false };
    let (before, from) = block.insns.split_at(number.min(block.insns.len()));
    let Some((query, after)) = from.split_first() else { return false };
    if query.operation != Operation::CpuId || !is_leaf_zero(before) {
        return false;
    }
    let held = ANSWER.iter().fold(RegSet::EMPTY, |all, reg| all.with(*reg));
    let Some(answer) = (Answer { held, is_fresh: true }).after_all(after) else { return false };
    // By block, where the answer is on some path to it.
    let mut known = vec![Answer::NOWHERE; graph.blocks.len()];
    let mut pending: Vec<(usize, Answer)> = block.successors.iter().map(|&next| (next, answer)).collect();
    while let Some((index, answer)) = pending.pop() {
        let (Some(block), Some(known)) = (graph.blocks.get(index), known.get_mut(index)) else { continue };
        let all = known.union(answer);
        if *known == all || all.held == RegSet::EMPTY {
            continue;
        }
        *known = all;
        let Some(answer) = all.after_all(&block.insns) else { return false };
        pending.extend(block.successors.iter().map(|&next| (next, answer)));
    }
    true
}

/// Whether instructions leave zero in `eax`.
fn is_leaf_zero(before: &[Insn]) -> bool {
    let last = before.iter().rev().find(|insn| insn.writes.contains(EAX));
    last.is_some_and(|insn| {
        // xor eax, eax: it reads nothing.
        let is_zeroing = insn.operation == Operation::Xor && insn.reads == RegSet::EMPTY;
        let is_zero = insn.operation == Operation::Move && insn.imm == Some(0) && insn.width >= 4;
        insn.dst == Some(EAX) && insn.memory.is_none() && (is_zeroing || is_zero)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn::decode_hex;

    /// Whether the first `cpuid` of some x86-64 code is a fence.
    fn serializes_only(hex: &str) -> bool {
        let insns = decode_hex(Arch::X86_64, hex, Svma(0x1000));
        let query = insns.iter().find(|insn| insn.operation == Operation::CpuId).unwrap().svma;
        is_serializing_only(&Graph::of_insns(insns), query)
    }

    #[test]
    fn an_answer_that_is_overwritten_on_every_path_is_dropped() {
        // xor eax, eax; cpuid; rdtsc; shl rdx, 32; or rax, rdx; pop rbx; ret
        assert!(serializes_only("31 c0 0f a2 0f 31 48 c1 e2 20 48 09 d0 5b c3"));
        // mov eax, 0; cpuid; mov eax, esi; pop rbx; ret
        assert!(serializes_only("b8 00 00 00 00 0f a2 89 f0 5b c3"));
        // xor eax, eax; cpuid; jz +2; xor eax, eax; call +0; ret
        assert!(serializes_only("31 c0 0f a2 74 02 31 c0 e8 00 00 00 00 c3"));
    }

    #[test]
    fn a_function_that_changes_memory_returns_no_leaf() {
        // xor eax, eax; cpuid; mov [rdi], rsi; ret
        assert!(serializes_only("31 c0 0f a2 48 89 37 c3"));
        // xor eax, eax; cpuid; mov [rsp-8], rsi; ret: nothing outside the frame.
        assert!(!serializes_only("31 c0 0f a2 48 89 74 24 f8 c3"));
    }

    #[test]
    fn an_answer_that_is_read_on_some_path_is_none() {
        // xor eax, eax; cpuid; ret: the highest leaf is returned.
        assert!(!serializes_only("31 c0 0f a2 c3"));
        // xor eax, eax; cpuid; mov [rdi], ebx; ret: the maker's name.
        assert!(!serializes_only("31 c0 0f a2 89 1f c3"));
        // xor eax, eax; cpuid; test esi, esi; jz +4; xor eax, eax; ret; nop; cmp edx, 1; ret
        assert!(!serializes_only("31 c0 0f a2 85 f6 74 04 31 c0 c3 90 83 fa 01 c3"));
        // xor eax, eax; cpuid; jmp rsi: whoever is there may read it.
        assert!(!serializes_only("31 c0 0f a2 ff e6"));
    }

    #[test]
    fn other_leaves_are_queries() {
        // mov eax, 7; cpuid; rdtsc; pop rbx; xor ecx, ecx; ret
        assert!(!serializes_only("b8 07 00 00 00 0f a2 0f 31 5b 31 c9 c3"));
        // cpuid of what the caller wants.
        assert!(!serializes_only("89 f8 0f a2 0f 31 5b 31 c9 c3"));
    }
}
