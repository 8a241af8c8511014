//! What a call of a function leaves as it was, as far as the function's own instructions show.
//!
//! In: a small function that is not run inside its callers. Out: whether it comes back, and the registers that it
//! writes. Compilers that see a callee keep values in registers that it leaves alone, whatever the procedure call
//! standard says (gcc's `-fipa-ra`).

use crate::address::Svma;
use crate::function::block::Graph;
use crate::function::reach::file::abi;
use crate::function::reach::file::names;
use crate::insn::{Class, Flow, Insn, Operation, Reg, RegSet};
use deburr_cpu::Arch;

/// Maximum of bytes of a function that is analysed.
pub(crate) const SMALL: u32 = 512;

/// What a call of a function does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Callee {
    /// Whether it may come back.
    pub returns: bool,
    /// The registers that it may change; `None`: all that the procedure call standard lets it.
    pub writes: Option<RegSet>,
    /// Whether what the registers for arguments hold is for it.
    pub takes_arguments: bool,
    /// The registers for arguments that it, or what it calls, may read as its caller left them.
    pub takes: RegSet,
    /// The constant that it returns, where it does nothing else: a check that was compiled to answer no.
    pub constant: Option<u64>,
}

impl Callee {
    pub(crate) const UNKNOWN: Callee =
        Callee { returns: true, writes: None, takes_arguments: true, takes: RegSet::ALL, constant: None };

    /// Of a small function. `graph`: its own; `start`: where it begins; `name_of`: names of functions, as far as they
    /// are informative; `writes_of`: the registers that a function may change which this one calls, if that is known;
    /// `is_go`: whether Go made the file, which passes arguments otherwise.
    pub(crate) fn of<'n>(
        arch: Arch,
        graph: &Graph,
        start: Svma,
        name_of: impl Fn(Svma) -> Option<&'n str>,
        writes_of: impl Fn(Svma) -> Option<RegSet>,
        is_go: bool,
    ) -> Callee {
        // A part of the function may be before it.
        let Some((first, _)) = graph.find(start) else { return Callee::UNKNOWN };
        let mut seen = vec![false; graph.blocks.len()];
        let mut pending = vec![first];
        let (mut returns, mut writes) = (false, Some(RegSet::EMPTY));
        while let Some(index) = pending.pop() {
            let Some(block) = graph.blocks.get(index) else { continue };
            match seen.get_mut(index) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            let mut ends = false;
            for insn in &block.insns {
                writes = writes.map(|all| all.union(insn.writes));
                match insn.flow {
                    Flow::Call(to) if name_of(to).is_some_and(names::does_not_return) => {
                        ends = true;
                        break;
                    }
                    Flow::Call(to) => writes = writes.and_then(|all| Some(all.union(writes_of(to)?))),
                    Flow::IndirectCall => writes = None,
                    Flow::Return => returns = true,
                    Flow::IndirectJump => return Callee::UNKNOWN,
                    Flow::Jump(to) if name_of(to).is_some_and(names::reads_environment) => {
                        (returns, writes) = (true, None);
                    }
                    Flow::Jump(to) | Flow::Branch(to) if graph.find(to).is_none() => return Callee::UNKNOWN,
                    _ => {}
                }
            }
            if !ends {
                pending.extend(&block.successors);
            }
        }
        let takes_arguments = is_go || reads_arguments(arch, graph, first);
        let takes = if is_go { RegSet::ALL } else { arguments_read(arch, graph, first, name_of) };
        let constant = graph.blocks.get(first).and_then(|block| constant(&block.insns));
        Callee { returns, writes, takes_arguments, takes, constant }
    }
}

/// The constant that code returns which does nothing else, but for a landing pad of branches (`endbr64`, `bti`).
fn constant(insns: &[Insn]) -> Option<u64> {
    let is_hint =
        |insn: &&Insn| insn.flow == Flow::Next && insn.writes == RegSet::EMPTY && insn.memory.is_none();
    let mut insns = insns.iter().skip_while(is_hint);
    let (set, back) = (insns.next()?, insns.next()?);
    let is_zeroed = set.operation == Operation::Xor
        && set.src[0] == set.src[1]
        && set.imm.is_none()
        && set.memory.is_none();
    let is_moved = set.operation == Operation::Move && set.src[0].is_none() && set.memory.is_none();
    let imm = if is_zeroed { Some(0) } else { set.imm.filter(|_| is_moved) };
    (set.dst == Some(Reg::general(0)) && set.width >= 4 && back.flow == Flow::Return).then_some(())?;
    Some(imm? as u64 & if set.width == 4 { 0xffff_ffff } else { u64::MAX })
}

/// The registers for arguments that are read, or passed on to a call, before they are written, from a block on.
fn arguments_read<'n>(
    arch: Arch,
    graph: &Graph,
    first: usize,
    name_of: impl Fn(Svma) -> Option<&'n str>,
) -> RegSet {
    let mut read = RegSet::EMPTY;
    each_unwritten(arch, graph, first, |insn, unwritten| {
        let passed = match insn.flow {
            Flow::Call(to) | Flow::Jump(to) if name_of(to).is_some_and(names::reads_environment) => 1,
            Flow::Jump(to) | Flow::Branch(to) if graph.find(to).is_some() => 0,
            Flow::Call(_) | Flow::IndirectCall | Flow::Jump(_) | Flow::Branch(_) | Flow::IndirectJump => {
                usize::MAX
            }
            _ => 0,
        };
        let registers = abi::arguments(arch).iter().enumerate();
        let is_read = |&(number, reg): &(usize, &Reg)| number < passed || insn.reads.contains(*reg);
        read = registers
            .filter(is_read)
            .fold(RegSet::EMPTY, |all, (_, reg)| all.with(*reg))
            .intersection(unwritten)
            .union(read);
        false
    });
    read
}

/// Whether a register for arguments is read before it is written, from a block on.
pub(crate) fn reads_arguments(arch: Arch, graph: &Graph, first: usize) -> bool {
    each_unwritten(arch, graph, first, |insn, unwritten| {
        let is_zeroed = insn.operation == Operation::Xor && insn.src[0] == insn.src[1];
        // Few leaves have subleaves, and compilers that see so leave `ecx` as it is.
        let is_query = insn.class == Class::FeatureQuery;
        let reads = |reg: &Reg| insn.reads.contains(*reg) && unwritten.contains(*reg);
        !is_zeroed && !is_query && abi::arguments(arch).iter().any(reads)
    })
}

/// Visits the instructions from a block on, each with the registers that some path to it has not written. Returns whether
/// `is_met` was, at which it ends.
fn each_unwritten(
    arch: Arch,
    graph: &Graph,
    first: usize,
    mut is_met: impl FnMut(&Insn, RegSet) -> bool,
) -> bool {
    // By block, the registers that every path to it has written.
    let mut written: Vec<Option<RegSet>> = vec![None; graph.blocks.len()];
    let mut pending = vec![(first, RegSet::EMPTY)];
    while let Some((index, before)) = pending.pop() {
        let (Some(block), Some(known)) = (graph.blocks.get(index), written.get_mut(index)) else { continue };
        let mut now = known.map_or(before, |known| known.intersection(before));
        if *known == Some(now) {
            continue;
        }
        *known = Some(now);
        for insn in &block.insns {
            if is_met(insn, RegSet::ALL.minus(now)) {
                return true;
            }
            now = now.union(insn.writes);
            if matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall) {
                now = abi::clobbered(arch, false).iter().fold(now, |now, reg| now.with(*reg));
            }
        }
        pending.extend(block.successors.iter().map(|&next| (next, now)));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn;

    fn constant_of(arch: Arch, code: &[u8]) -> Option<u64> {
        let mut insns = Vec::new();
        let mut at = 0;
        while let Some(insn) = code.get(at..).filter(|code| !code.is_empty()) {
            let insn = insn::decode(arch, insn, Svma(at as u64))?;
            at = insn.next().0 as usize;
            insns.push(insn);
        }
        constant(&insns)
    }

    #[test]
    fn a_function_that_only_returns_a_constant_is_known() {
        let x86_64 = |code: &[u8]| constant_of(Arch::X86_64, code);
        assert_eq!(x86_64(&[0x31, 0xc0, 0xc3]), Some(0)); // xor eax, eax; ret
        assert_eq!(x86_64(&[0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 7, 0, 0, 0, 0xc3]), Some(7)); // endbr64; mov eax, 7; ret
        assert_eq!(x86_64(&[0x31, 0xc9, 0xc3]), None); // xor ecx, ecx; ret
        assert_eq!(x86_64(&[0x31, 0xc8, 0xc3]), None); // xor eax, ecx; ret
        assert_eq!(x86_64(&[0x83, 0xf0, 1, 0xc3]), None); // xor eax, 1; ret
        assert_eq!(x86_64(&[0x8b, 0x07, 0xc3]), None); // mov eax, [rdi]; ret
        assert_eq!(x86_64(&[0x89, 0xf8, 0xc3]), None); // mov eax, edi; ret
        assert_eq!(x86_64(&[0xb0, 1, 0xc3]), None); // mov al, 1; ret
        assert_eq!(x86_64(&[0x31, 0xc0, 0xff, 0xe1]), None); // xor eax, eax; jmp rcx
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let aarch64 = |code: &[u32]| constant_of(Arch::Aarch64, &words(code));
        assert_eq!(aarch64(&[0x52800000, 0xd65f03c0]), Some(0)); // mov w0, #0; ret
        assert_eq!(aarch64(&[0xd503245f, 0x52800020, 0xd65f03c0]), Some(1)); // bti c; mov w0, #1; ret
        assert_eq!(aarch64(&[0x52800021, 0xd65f03c0]), None); // mov w1, #1; ret
        assert_eq!(aarch64(&[0x2a0103e0, 0xd65f03c0]), None); // mov w0, w1; ret
        assert_eq!(aarch64(&[0x2a1f03e0, 0xd65f03c0]), None); // mov w0, wzr; ret: no immediate
    }
}
