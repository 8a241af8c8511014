//! `mfence` of x86-64 where a locked instruction would order as much.
//!
//! In: the marks of a sweep. Out: [`Fence`]s, each with the store right before it. Intel SDM volume 3, "Memory Ordering in
//! P6 and More Recent Processor Families": nothing passes a locked instruction. Non-temporal accesses, flushes of cache
//! lines and the time-stamp counter have rules of their own: a function with one of these keeps its fences.

use crate::address::{Extent, Svma};
use crate::function::Program;
use crate::function::atomics::is_mfence;
use crate::function::block::{Graph, RecentGraph};
use crate::image::Image;
use crate::insn::{self, Class, ClassSet, Insn};
use deburr_cpu::{Arch, Feature};
use std::collections::BTreeSet;

/// The classes that a sweep must mark for [`fences`].
pub const WANTS: ClassSet = ClassSet::of(&[Class::Barrier, Class::FenceOrdered]);

/// An `mfence` that a locked instruction could replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// The fence.
    pub at: Svma,
    /// The fence, and the store if there is one.
    pub extent: Extent,
    /// Bytes that a general register or a constant is stored in right before it: `xchg` does both. `None` where there is no
    /// such store.
    pub stored: Option<u16>,
}

/// Such fences, by address. Programs of the Linux kernel have none: they order accesses to devices.
pub fn fences(image: &Image<'_>, program: &Program) -> Vec<Fence> {
    if image.arch != Arch::X86_64 || image.build.is_linux_kernel {
        return Vec::new();
    }
    let (mut fences, mut kept) = (Vec::new(), BTreeSet::new());
    for mark in program.marks() {
        match mark.class {
            Class::Barrier if is_mfence(image, image.svma(mark.at)) => fences.push(mark.at),
            Class::Barrier | Class::FenceOrdered => kept.extend(program.whole_index_at(mark.at)),
            _ => {}
        }
    }
    fences.retain(|&at| program.whole_index_at(at).is_some_and(|function| !kept.contains(&function)));
    let mut recent = RecentGraph::default();
    let fences = fences.into_iter().filter_map(|at| {
        let (_, graph, &does_more) = recent.around(image, program, at, accesses_memory)?;
        // What a function orders that does nothing else is in its callers.
        does_more.then(|| fence(graph, image.svma(at)))?
    });
    fences.collect()
}

fn accesses_memory(graph: &Graph) -> bool {
    let accesses = |insn: &Insn| insn.memory.is_some_and(|memory| memory.read || memory.write);
    graph.blocks.iter().flat_map(|block| &block.insns).any(accesses)
}

/// The fence at an address.
fn fence(graph: &Graph, at: Svma) -> Option<Fence> {
    let (block, index) = graph.find(at)?;
    let insns = &graph.blocks.get(block)?.insns;
    let store =
        index.checked_sub(1).and_then(|before| insns.get(before)).filter(|insn| is_exchangeable(insn));
    let start = store.map_or(at, |store| store.svma);
    let stored = store.and_then(|store| store.memory).map(|memory| memory.size);
    Some(Fence { at, extent: Extent { start, end: insns.get(index)?.next() }, stored })
}

/// Whether `xchg` can do what a store does: from a general register, or a constant, which takes a free one. Not
/// `movbe`, which reverses bytes.
fn is_exchangeable(insn: &Insn) -> bool {
    let is_general = insn.src[0].is_some_and(|reg| reg.general_number().is_some()) || insn.imm.is_some();
    let reverses = insn::features_of(Arch::X86_64, insn.features).contains(Feature::MOVBE);
    insn.class == Class::Store && is_general && !reverses
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_exchanged(code: &[u8]) -> bool {
        crate::insn::decode(Arch::X86_64, code, Svma(0)).is_some_and(|insn| is_exchangeable(&insn))
    }

    #[test]
    fn stores_of_general_registers_and_constants_can_be_exchanges() {
        assert!(is_exchanged(&[0x48, 0x89, 0x07])); // mov [rdi], rax
        assert!(is_exchanged(&[0xc6, 0x07, 0x01])); // mov byte ptr [rdi], 1
        assert!(!is_exchanged(&[0x66, 0x0f, 0xd6, 0x07])); // movq [rdi], xmm0
        assert!(!is_exchanged(&[0x0f, 0x38, 0xf1, 0x07])); // movbe [rdi], eax
        assert!(!is_exchanged(&[0x48, 0x8b, 0x07])); // mov rax, [rdi]
        assert!(!is_exchanged(&[0x83, 0x07, 0x01])); // add dword ptr [rdi], 1
    }
}
