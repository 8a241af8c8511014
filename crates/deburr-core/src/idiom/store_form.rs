//! Store forms of LSE atomics in short loops: `stadd`, `stset`, … with nothing before them that brings the line.
//!
//! In: the LSE atomics that a sweep marked. Out: [`StoreForm`]s. A store form is `ld<op>` with the zero register as its
//! destination and without acquire (Arm ARM, C6.2, "STADD"): nothing waits for its result, and a core may have it executed
//! far, in a shared cache. A prefetch for write (`prfm pst…`) before it brings the line.

use crate::address::{Extent, Svma};
use crate::function::Program;
use crate::function::block::{Block, Graph, RecentGraph};
use crate::image::Image;
use crate::insn::text::Syntax;
use crate::insn::{self, Class, ClassSet, Flow, Insn, Memory, Operation, Reg};
use deburr_cpu::Arch;
use std::collections::BTreeMap;

/// The classes that a sweep must mark for [`store_forms`].
pub const WANTS: ClassSet = ClassSet::of(&[Class::LseAtomic]);
/// Maximum number of instructions of the path from a store form back to it.
const LONGEST: usize = 64;
/// Bytes of a cache line.
const LINE: u64 = 64;

/// A store form in a loop, with no prefetch for write of its line before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreForm {
    /// The instruction.
    pub at: Svma,
    /// What it is called: `stadd`, `stsetlb`, …
    pub mnemonic: String,
    /// Bytes accessed.
    pub size: u16,
    /// Instructions of the shortest loop around it.
    pub instructions: usize,
}

/// Such store forms, by address. A loop with a call or a system call is none: it does something else meanwhile.
pub fn store_forms(image: &Image<'_>, program: &Program) -> Vec<StoreForm> {
    if image.arch != Arch::Aarch64 {
        return Vec::new();
    }
    let marks = program.marks().filter(|mark| mark.class == Class::LseAtomic);
    let mut recent = RecentGraph::default();
    let forms = marks.filter_map(|mark| {
        let word = image.word_at(image.svma(mark.at)).filter(|&word| is_store_form(word))?;
        let is_write = |insn: &Insn| image.word_at(insn.svma).is_some_and(is_prefetch_for_write);
        let prefetches = |insn: &Insn| insn.operation == Operation::Prefetch && is_write(insn);
        let prefetched = |graph: &Graph| Prefetched::in_all(graph.blocks.iter(), &prefetches);
        let (_, graph, prefetched) = recent.around(image, program, mark.at, prefetched)?;
        store_form(image, graph, prefetched, &prefetches, (image.svma(mark.at), word))
    });
    forms.collect()
}

/// How many prefetches for write some blocks have, by what they are relative to; `None` where that is not known.
#[derive(Debug, Default)]
struct Prefetched(BTreeMap<Option<Option<Reg>>, usize>);

impl Prefetched {
    fn in_all<'g>(blocks: impl Iterator<Item = &'g Block>, prefetches: &dyn Fn(&Insn) -> bool) -> Prefetched {
        let mut counts = BTreeMap::new();
        for insn in blocks.flat_map(|block| &block.insns).filter(|insn| prefetches(insn)) {
            *counts.entry(insn.memory.map(|memory| memory.base)).or_default() += 1;
        }
        Prefetched(counts)
    }

    /// Those that may be relative to a register.
    fn of(&self, base: Option<Reg>) -> usize {
        [None, Some(base)].iter().filter_map(|base| self.0.get(base)).sum()
    }
}

fn store_form(
    image: &Image<'_>,
    graph: &Graph,
    prefetched: &Prefetched,
    prefetches: &dyn Fn(&Insn) -> bool,
    (at, word): (Svma, u32),
) -> Option<StoreForm> {
    let instructions = unprepared(graph, prefetched, prefetches, at)?;
    let text = insn::disassemble(image.arch, &word.to_le_bytes(), at, Syntax::default())?;
    let mnemonic = text.split_whitespace().next()?.to_owned();
    let (block, index) = graph.find(at)?;
    let size = graph.blocks.get(block)?.insns.get(index)?.memory?.size;
    Some(StoreForm { at, mnemonic, size, instructions })
}

/// Where a store form is.
impl StoreForm {
    /// Its four bytes.
    pub fn extent(&self) -> Extent {
        Extent::sized(self.at, 4)
    }
}

/// `stadd`, `stclr`, `steor`, `stset`, `stsmax`, `stsmin`, `stumax`, `stumin`, of all sizes, with release or without.
const fn is_store_form(word: u32) -> bool {
    // size 111 000 A=0 R Rs o3=0 opc 00 Rn Rt=31
    word & 0x3fa0_8c1f == 0x3820_001f
}

/// `prfm pst…`: of a prefetch, bits 4 and 3 say what for.
const fn is_prefetch_for_write(word: u32) -> bool {
    word & 0x18 == 0x10
}

/// The instructions of the shortest loop around a store form; `None` where it is in none, or prefetched for.
/// `prefetched`: in the whole graph.
fn unprepared(
    graph: &Graph,
    prefetched: &Prefetched,
    prefetches: &dyn Fn(&Insn) -> bool,
    at: Svma,
) -> Option<usize> {
    let (home, index) = graph.find(at)?;
    let goes_elsewhere = |insn: &Insn| {
        matches!(insn.flow, Flow::Call(_) | Flow::IndirectCall) || insn.class == Class::SystemCall
    };
    let around = graph.back_to(home, LONGEST, goes_elsewhere)?;
    let blocks = || around.iter().filter_map(|&block| graph.blocks.get(block));
    let all: Vec<&Insn> = blocks().flat_map(|block| &block.insns).collect();
    let store = *all.get(index)?;
    // One iteration: what comes after the store form, and then what comes before it.
    let mut iteration = all.clone();
    iteration.rotate_left(index + 1);
    let base = store.memory?.base;
    let is_prefetched_elsewhere = prefetched.of(base) > Prefetched::in_all(blocks(), prefetches).of(base);
    let is_prepared = is_prefetched_elsewhere || is_prefetched(&iteration, store.memory?, prefetches);
    (!is_prepared).then_some(all.len())
}

/// Whether one of the instructions of an iteration prefetches, for write, what is in the line of `memory` at its end.
fn is_prefetched(iteration: &[&Insn], memory: Memory, prefetches: impl Fn(&Insn) -> bool) -> bool {
    let mut values = Values::default();
    let mut wanted = Vec::new();
    for insn in iteration {
        if prefetches(insn) {
            match insn.memory.and_then(|memory| values.address(&memory)) {
                Some(address) => wanted.push(address),
                // It may be anywhere.
                None => return true,
            }
        }
        values.step(insn);
    }
    let Some((origin, offset)) = values.address(&memory) else { return false };
    wanted.iter().any(|(from, at)| *from == origin && at.abs_diff(offset) < LINE)
}

/// What a value is counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// What a register held at first.
    Register(Reg),
    /// What an instruction made of it, by its address.
    Made(Svma),
    /// A system register, such as the thread's pointer, by its number.
    System(i64),
    /// Nothing: an address that is known.
    Fixed,
}

/// A value: what it is counted from, and by how much.
type Value = (Origin, i64);

/// What general registers hold, as far as moves and additions of constants go.
#[derive(Default)]
struct Values(BTreeMap<Reg, Value>);

impl Values {
    fn of(&self, register: Reg) -> Value {
        self.0.get(&register).copied().unwrap_or((Origin::Register(register), 0))
    }

    /// The address of a memory operand; `None` with an index.
    fn address(&self, memory: &Memory) -> Option<Value> {
        if memory.is_static {
            return Some((Origin::Fixed, memory.displacement));
        }
        let (origin, offset) = self.of(memory.base.filter(|_| memory.index.is_none())?);
        Some((origin, offset.wrapping_add(memory.displacement)))
    }

    fn step(&mut self, insn: &Insn) {
        let made = self.made(insn);
        for register in insn.writes.general() {
            self.0.insert(register, (Origin::Made(insn.svma), 0));
        }
        if let (Some(register), Some(value)) = (insn.dst, made) {
            self.0.insert(register, value);
        }
    }

    /// What an instruction leaves in its destination, where that is a known value and a constant.
    fn made(&self, insn: &Insn) -> Option<Value> {
        let source = || match insn.src {
            [Some(source), None, None] if insn.width == 8 && !insn.modified => Some(self.of(source)),
            _ => None,
        };
        let plus = |imm: i64| source().map(|(origin, offset)| (origin, offset.wrapping_add(imm)));
        match (insn.operation, insn.imm) {
            (Operation::Address, Some(address)) => Some((Origin::Fixed, address)),
            (Operation::ReadSystemRegister, Some(register)) => Some((Origin::System(register), 0)),
            (Operation::Add, Some(imm)) => plus(imm),
            (Operation::Sub, Some(imm)) => plus(imm.wrapping_neg()),
            (Operation::Move, None) => source(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn::decode;

    /// The instructions of the loop around the first store form of some code.
    fn found(words: &[u32]) -> Option<usize> {
        let at = |index: usize| Svma(0x1000 + 4 * index as u64);
        let insns = words
            .iter()
            .enumerate()
            .filter_map(|(index, word)| decode(Arch::Aarch64, &word.to_le_bytes(), at(index)));
        let graph = Graph::of_insns(insns.collect());
        let word = |insn: &Insn| words[(insn.svma.0 as usize - 0x1000) / 4];
        let store = words.iter().position(|&word| is_store_form(word))?;
        let prefetches =
            |insn: &Insn| insn.operation == Operation::Prefetch && is_prefetch_for_write(word(insn));
        let prefetched = Prefetched::in_all(graph.blocks.iter(), &prefetches);
        unprepared(&graph, &prefetched, &prefetches, at(store))
    }

    const STADD: u32 = 0xb825001f; // stadd w5, [x0]
    const NEXT: [u32; 2] = [0xf1000421, 0x54ffffa1]; // subs x1, x1, #1; b.ne #-12

    #[test]
    fn store_forms_are_those_without_a_result_and_without_acquire() {
        for (word, name) in [
            (0xb825001f, "stadd"),
            (0xf865001f, "staddl"),
            (0x3825101f, "stclrb"),
            (0x7825201f, "steorh"),
            (0xb825301f, "stset"),
            (0xb825401f, "stsmax"),
            (0xb825501f, "stsmin"),
            (0xb825601f, "stumax"),
            (0xf865701f, "stuminl"),
        ] {
            assert!(is_store_form(word), "{name}");
            let text = insn::disassemble(Arch::Aarch64, &u32::to_le_bytes(word), Svma(0), Syntax::default());
            assert_eq!(text.unwrap().split_whitespace().next(), Some(name));
        }
        // ldadd w5, w6, [x0]; ldadda w5, wzr, [x0]; swp w5, wzr, [x0]; str w5, [x0, x5]
        for word in [0xb8250006, 0xb8a5001f, 0xb825801f, 0xb8256805] {
            assert!(!is_store_form(word), "{word:#x}");
        }
    }

    #[test]
    fn a_store_form_in_a_loop_is_found_and_one_outside_is_not() {
        assert_eq!(found(&[0xd503201f, STADD, NEXT[0], NEXT[1]]), Some(4)); // nop
        assert_eq!(found(&[STADD, 0xd65f03c0]), None); // ret
        assert_eq!(found(&[0x94000010, STADD, NEXT[0], NEXT[1]]), None, "a call in the loop"); // bl #64
    }

    #[test]
    fn a_prefetch_for_write_of_the_same_line_prepares_it() {
        for prefetch in [
            0xf9800010, // prfm pstl1keep, [x0]
            0xf9800411, // prfm pstl1strm, [x0, #8]
            0xf8a16810, // prfm pstl1keep, [x0, x1]
        ] {
            assert_eq!(found(&[prefetch, STADD, NEXT[0], NEXT[1]]), None, "{prefetch:#x}");
            assert_eq!(found(&[prefetch, 0xd503201f, STADD, NEXT[0], NEXT[1]]), None, "before the loop");
        }
        for prefetch in [
            0xf9800000, // prfm pldl1keep, [x0]
            0xf9802010, // prfm pstl1keep, [x0, #64]
            0xf9800050, // prfm pstl1keep, [x2]
        ] {
            assert_eq!(found(&[prefetch, STADD, NEXT[0], NEXT[1]]), Some(4), "{prefetch:#x}");
        }
    }

    #[test]
    fn an_address_is_followed_through_moves_and_additions_of_constants() {
        let prefetch = 0xf9800850; // prfm pstl1keep, [x2, #16]
        let back = 0x54ffff61; // b.ne #-20
        let with =
            |first: u32, second: u32| found(&[0xd503201f, first, prefetch, second, STADD, NEXT[0], back]);
        let (copy, add) = (0xaa0003e2, 0x91004040); // mov x2, x0; add x0, x2, #16
        assert_eq!(with(copy, add), None);
        assert_eq!(with(copy, 0x91014040), Some(6)); // add x0, x2, #80
        assert_eq!(with(copy, 0x8b010040), Some(6)); // add x0, x2, x1
        assert_eq!(with(0xd53bd042, add), None, "the thread's pointer"); // mrs x2, tpidr_el0
    }
}
