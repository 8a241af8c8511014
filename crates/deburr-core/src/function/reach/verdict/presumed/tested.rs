//! What the code of a function tests: which bits of which words of unknown origin, and which numbers it compares them with.
//!
//! In: a function's graph. Out: [`Tested`]. A dataflow analysis of which words may be in which register: cheap enough to
//! say where it is worth interpreting a function with words presumed. Of registers, the frame and branches it is a
//! may-analysis. What goes through vector registers or other memory locations is not followed.

use crate::address::Svma;
use crate::function::block::{Block, Graph};
use crate::function::reach::domain::bits::positions;
use crate::function::reach::domain::state::stack_pointer;
use crate::function::reach::domain::value::mask_of;
use crate::function::reach::file::abi;
use crate::function::reach::machine::memory::Presumed;
use crate::function::reach::verdict::checks::Place;
use crate::function::reach::verdict::presumed::test::Test;
use crate::function::reach::verdict::presumed::vocabulary::Vocabulary;
use crate::insn::{Condition, Flow, Insn, Memory, Operation, Reg};
use deburr_cpu::Arch;
use std::collections::{BTreeMap, BTreeSet};

/// General registers, and one for all of the frame.
const HOLDERS: usize = 33;
const FRAME: usize = 32;
/// Arguments whose tests are searched for.
const ARGUMENTS: usize = 4;
/// Groups of reads that are distinguished.
const GROUPS: usize = 128 - ARGUMENTS;

/// A read of a field of a structure of unknown place.
#[derive(Debug, Clone)]
pub(crate) struct Read {
    /// The instruction.
    pub svma: Svma,
    /// The offset in the structure, and the size in bytes.
    pub field: (i64, u8),
    /// What is tested of it.
    pub tests: BTreeSet<Test>,
}

impl Read {
    /// The word of a width in bytes that it reads all or some bytes of, and what is tested of that word.
    pub(crate) fn of_word(&self, width: u8) -> Option<(i64, impl Iterator<Item = Test>)> {
        let (at, size) = self.field;
        let start = Presumed { width, ..Presumed::default() }.word_at(at, size)?;
        let bytes = u32::try_from(at - start).ok()?;
        Some((start, self.tests.iter().filter_map(move |test| test.shifted(bytes))))
    }
}

/// What a function tests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tested {
    /// The reads of fields of structures of unknown place.
    pub reads: Vec<Read>,
    /// Of each argument.
    pub arguments: Vec<BTreeSet<Test>>,
}

impl Tested {
    /// Of the function that is entered at `entry`, as far as its tests are informative.
    pub(crate) fn of(
        graph: &Graph,
        (arch, entry): (Arch, Svma),
        is_informative: &dyn Fn(Test) -> bool,
    ) -> Tested {
        let search = Search::new(graph, arch, is_informative);
        if search.tests.is_empty() {
            return Tested::default();
        }
        let Search { reads, mut found, .. } = search.run(entry);
        let groups = found.split_off(ARGUMENTS.min(found.len()));
        let reads = (0..).zip(reads).filter_map(|(number, (svma, field))| {
            let tests = groups.get(number % GROUPS).filter(|tests| !tests.is_empty())?;
            Some(Read { svma, field, tests: tests.clone() })
        });
        Tested { reads: reads.collect(), arguments: found }
    }

    /// The reads of presumed words whose tests can show what a vocabulary's word means.
    pub(crate) fn informative_reads<'o>(
        &'o self,
        presumed: &'o Presumed,
        vocabulary: &'o Vocabulary,
    ) -> impl Iterator<Item = Svma> + 'o {
        let is_informative = |read: &&Read| {
            read.of_word(presumed.width).is_some_and(|(at, mut tests)| {
                presumed.fields.contains_key(&at) && tests.any(|test| vocabulary.is_shown_by(test))
            })
        };
        self.reads.iter().filter(is_informative).map(|read| read.svma)
    }

    /// Whether a test of an argument can.
    pub(crate) fn tests_argument(&self, number: u8, vocabulary: &Vocabulary) -> bool {
        let tests = self.arguments.get(usize::from(number));
        tests.into_iter().flatten().any(|test| vocabulary.is_shown_by(*test))
    }

    /// The tests of words of a width in bytes.
    pub(crate) fn tests(&self, width: u8) -> impl Iterator<Item = (Place, Test)> {
        let words = self.reads.iter().filter_map(move |read| read.of_word(width));
        let fields = words.flat_map(|(at, tests)| tests.map(move |test| (Place::Field(at), test)));
        let arguments = (0u8..).zip(&self.arguments);
        let arguments = arguments
            .flat_map(|(number, tests)| tests.iter().map(move |test| (Place::Argument(number), *test)));
        fields.chain(arguments)
    }
}

/// Which words may be in each register and in the frame, one bit each.
type Held = [u128; HOLDERS];

/// The search for what becomes of words.
struct Search<'g> {
    graph: &'g Graph,
    arch: Arch,
    /// The reads of fields, by address. In turns they have the bits above those of the arguments.
    reads: Vec<(Svma, (i64, u8))>,
    /// The instructions that test something worth knowing.
    tests: BTreeMap<Svma, Vec<Test>>,
    /// What is tested of each argument, then of each group of reads.
    found: Vec<BTreeSet<Test>>,
}

/// Adds what is held elsewhere; whether that is new.
fn merge(known: &mut Held, here: &Held) -> bool {
    let mut is_new = false;
    for (known, here) in known.iter_mut().zip(here) {
        is_new |= here & !*known != 0;
        *known |= here;
    }
    is_new
}

impl Search<'_> {
    fn new<'g>(graph: &'g Graph, arch: Arch, is_informative: &dyn Fn(Test) -> bool) -> Search<'g> {
        let constants = constants(graph);
        let (mut reads, mut tests) = (Vec::new(), BTreeMap::new());
        for block in &graph.blocks {
            let by_sign = tests_sign(block);
            for insn in &block.insns {
                reads.extend(field(insn, arch).map(|field| (insn.svma, field)));
                let mut of_insn = tests_of(insn, block, by_sign, &constants);
                of_insn.retain(|test| is_informative(*test));
                if !of_insn.is_empty() {
                    tests.insert(insn.svma, of_insn);
                }
            }
        }
        reads.sort_unstable();
        Search { graph, arch, reads, tests, found: vec![BTreeSet::new(); ARGUMENTS + GROUPS] }
    }

    /// Follows the words from block to block until nothing new is found.
    fn run(mut self, entry: Svma) -> Self {
        let graph = self.graph;
        // A part of the function may be before its entry. Other entries know of no arguments.
        let first = graph.find(entry).map(|(first, _)| first);
        let mut held: Vec<Held> = vec![[0; HOLDERS]; graph.blocks.len()];
        for (bit, reg) in abi::arguments(self.arch).iter().take(ARGUMENTS).enumerate() {
            let first = first.and_then(|first| held.get_mut(first));
            if let Some(held) = first.and_then(|first| first.get_mut(reg.index()?)) {
                *held = 1 << bit;
            }
        }
        // What indirect jumps hold, all of them together: any may lead to any orphan.
        let (orphans, mut through_tables) = (graph.orphans(), [0; HOLDERS]);
        let mut is_table_due = false;
        let mut pending: BTreeSet<(usize, usize)> =
            (0..graph.blocks.len()).map(|block| (graph.rank(block), block)).collect();
        loop {
            let Some((_, index)) = pending.pop_first() else {
                if !std::mem::take(&mut is_table_due) {
                    break;
                }
                let due = orphans.iter().filter(|orphan| {
                    held.get_mut(**orphan).is_some_and(|known| merge(known, &through_tables))
                });
                pending.extend(due.map(|&orphan| (graph.rank(orphan), orphan)));
                continue;
            };
            let (Some(block), Some(state)) = (graph.blocks.get(index), held.get(index)) else { continue };
            let mut state = *state;
            for insn in &block.insns {
                self.step(insn, &mut state);
            }
            if block.last().is_some_and(|last| last.flow == Flow::IndirectJump) {
                is_table_due |= merge(&mut through_tables, &state);
            }
            for &next in &block.successors {
                if held.get_mut(next).is_some_and(|known| merge(known, &state)) {
                    pending.insert((graph.rank(next), next));
                }
            }
        }
        self
    }

    fn step(&mut self, insn: &Insn, state: &mut Held) {
        let read = field(insn, self.arch).map(|field| (insn.svma, field));
        let read = read.and_then(|read| self.reads.binary_search(&read).ok());
        let mut words = read.map_or(0, |number| 1u128 << (ARGUMENTS + number % GROUPS));
        let registers = insn.src.into_iter().flatten().filter_map(Reg::index);
        words |= registers.filter_map(|index| state.get(index)).fold(0, |words, held| words | held);
        let frame = insn.memory.filter(|memory| is_frame(memory, self.arch));
        if frame.is_some_and(|memory| memory.read) {
            words |= state.get(FRAME).copied().unwrap_or_default();
        }
        if let Some(tests) = self.tests.get(&insn.svma).filter(|_| words != 0) {
            let halves = [(0, words as u64), (64, (words >> 64) as u64)];
            let numbers =
                halves.into_iter().flat_map(|(from, half)| positions(half).map(move |bit| from + bit));
            for number in numbers {
                if let Some(found) = self.found.get_mut(usize::from(number)) {
                    found.extend(tests);
                }
            }
        }
        match insn.flow {
            Flow::Call(_) | Flow::IndirectCall => {
                for index in abi::clobbered(self.arch, false).iter().filter_map(|reg| reg.index()) {
                    if let Some(held) = state.get_mut(index) {
                        *held = 0;
                    }
                }
            }
            _ => {
                for index in insn.writes.general().filter_map(Reg::index) {
                    if let Some(held) = state.get_mut(index) {
                        *held = 0;
                    }
                }
                if let Some(held) = insn.dst.and_then(Reg::index).and_then(|index| state.get_mut(index)) {
                    *held = words;
                }
                let frame = frame.filter(|memory| memory.write).and_then(|_| state.get_mut(FRAME));
                if let Some(frame) = frame {
                    *frame |= words;
                }
            }
        }
    }
}

/// What an instruction of a block tests. `by_sign`: whether the block goes by the sign of a number.
fn tests_of(insn: &Insn, block: &Block, by_sign: bool, constants: &Constants) -> Vec<Test> {
    let imm = insn.imm.map(|imm| imm as u64);
    let width = if insn.width == 0 { 8 } else { insn.width };
    let top = || mask_of(width) ^ (mask_of(width) >> 1);
    let bit = |bit: u64| u32::try_from(bit).ok().and_then(|bit| 1u64.checked_shl(bit)).map(Test::Bits);
    match (insn.operation, imm) {
        (Operation::Test | Operation::And, Some(mask)) => vec![Test::Bits(mask & mask_of(width))],
        (Operation::Test | Operation::And | Operation::AndNot, None) => {
            let registers = insn.src.into_iter().flatten().chain(insn.dst).filter_map(Reg::index);
            let constants = registers.filter_map(|index| constants.get(index)).flatten();
            let masks = constants.map(|mask| Test::Bits(mask & mask_of(width)));
            masks.chain(by_sign.then(|| Test::Bits(top()))).collect()
        }
        (Operation::BitTest | Operation::BranchBit, Some(number)) => bit(number).into_iter().collect(),
        (Operation::BitTest, None) => {
            let registers = insn.src.into_iter().flatten().filter_map(Reg::index);
            let constants = registers.filter_map(|index| constants.get(index)).flatten();
            constants.filter_map(|number| bit(*number)).collect()
        }
        (Operation::ExtractBits, Some(range)) => bit(range & 0xff).into_iter().collect(),
        (Operation::ShiftRight | Operation::ShiftRightSigned, Some(count)) => {
            let masks =
                masked_later(insn, block).filter_map(|mask| mask.checked_shl(u32::try_from(count).ok()?));
            masks.map(Test::Bits).collect()
        }
        (Operation::ShiftLeft, Some(count)) if by_sign => {
            (u64::from(width) * 8).checked_sub(1 + count).and_then(bit).into_iter().collect()
        }
        (Operation::Compare | Operation::Sub, Some(number)) => {
            let sign = by_sign.then(|| Test::Bits(top()));
            [Test::Number(number & mask_of(width))].into_iter().chain(sign).collect()
        }
        (Operation::BranchZero, _) => vec![Test::Number(0)],
        _ => Vec::new(),
    }
}

/// The constants that a function puts in each register.
type Constants = Vec<BTreeSet<u64>>;

fn constants(graph: &Graph) -> Constants {
    let mut constants = vec![BTreeSet::new(); HOLDERS];
    for insn in graph.blocks.iter().flat_map(|block| &block.insns) {
        let to = insn.dst.and_then(Reg::index).and_then(|index| constants.get_mut(index));
        if let (Operation::Move, Some(imm), Some(to)) = (insn.operation, insn.imm, to) {
            to.insert(imm as u64);
        }
    }
    constants
}

/// The masks that what an instruction makes is tested with later in its block.
fn masked_later(insn: &Insn, block: &Block) -> impl Iterator<Item = u64> {
    let (svma, made) = (insn.svma, insn.dst);
    let later = block.insns.iter().filter(move |later| later.svma > svma && later.src.contains(&made));
    later.filter_map(|later| {
        let mask = later.imm? as u64;
        match later.operation {
            Operation::And | Operation::Test => Some(mask),
            Operation::BranchBit | Operation::BitTest => 1u64.checked_shl(u32::try_from(mask).ok()?),
            _ => None,
        }
    })
}

/// Whether something in a block goes by the sign of a number.
fn tests_sign(block: &Block) -> bool {
    use Condition as C;
    let is_sign = |condition: Condition| {
        matches!(
            condition,
            C::Negative | C::NotNegative | C::SignedLess | C::SignedGreaterEqual | C::SignedGreater
        )
    };
    block.insns.iter().any(|insn| insn.condition.is_some_and(is_sign))
}

/// The field that an instruction reads.
fn field(insn: &Insn, arch: Arch) -> Option<(i64, u8)> {
    let is_field = |memory: &Memory| memory.base.is_some() && memory.index.is_none() && !memory.is_static;
    let memory = insn.memory.filter(|memory| memory.read && is_field(memory))?;
    let size = u8::try_from(memory.size).ok().filter(|size| *size <= 8)?;
    (!is_frame(&memory, arch)).then_some((memory.displacement, size))
}

fn is_frame(memory: &Memory, arch: Arch) -> bool {
    let frame_pointer = match arch {
        Arch::X86_64 => Reg::general(5),
        Arch::Aarch64 => Reg::FRAME,
    };
    memory.base == Some(stack_pointer(arch)) || memory.base == Some(frame_pointer) && memory.displacement < 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insn::{decode, decode_hex};

    /// The offset and size of a field, and its tests.
    type FieldTests = ((i64, u8), Vec<Test>);

    /// What some x86-64 code tests: of each read its field and tests, and of each argument.
    fn tested(hex: &str) -> (Vec<FieldTests>, Vec<Vec<Test>>) {
        let insns = decode_hex(Arch::X86_64, hex, Svma(0x1000));
        let tested = Tested::of(&Graph::of_insns(insns), (Arch::X86_64, Svma(0x1000)), &|_| true);
        let list = |tests: BTreeSet<Test>| tests.into_iter().collect();
        let reads = tested.reads.into_iter().map(|read| (read.field, list(read.tests))).collect();
        (reads, tested.arguments.into_iter().map(list).collect())
    }

    #[test]
    fn a_word_is_followed_from_the_read_to_the_test() {
        // mov eax, [rdi+8]; mov [rsp-4], eax; mov ecx, [rsp-4]; jmp +0; test cl, 4; ret
        let (reads, arguments) = tested("8b 47 08 89 44 24 fc 8b 4c 24 fc eb 00 f6 c1 04 c3");
        assert_eq!(reads, [((8, 4), vec![Test::Bits(4)])]);
        assert!(arguments.iter().all(Vec::is_empty), "an address is no word that is tested");
        // bt dword [rdi], 5; ret
        assert_eq!(tested("0f ba 27 05 c3").0, [((0, 4), vec![Test::Bits(32)])]);
        // mov eax, [rdi]; shr eax, 7; and eax, 1; ret
        let bits = tested("8b 07 c1 e8 07 83 e0 01 c3").0;
        assert!(bits[0].1.contains(&Test::Bits(128)), "{bits:?}");
        // cmp byte [rdi+3], 0; js +0; ret: the sign is bit 7.
        let sign = tested("80 7f 03 00 78 00 c3").0;
        assert_eq!(sign, [((3, 1), vec![Test::Bits(0x80), Test::Number(0)])]);
    }

    #[test]
    fn an_argument_is_followed_until_a_call_may_change_it() {
        // mov ebx, esi; call +0; test ebx, 0x200; test edi, 0x400; ret
        let (_, arguments) = tested("89 f3 e8 00 00 00 00 f7 c3 00 02 00 00 f7 c7 00 04 00 00 c3");
        assert_eq!(arguments, [vec![], vec![Test::Bits(0x200)], vec![], vec![]]);
    }

    #[test]
    fn an_entry_may_have_a_part_of_its_function_before_it() {
        let part = [0xc3]; // ret
        let entry = [0xf6, 0xc1, 4, 0xc3]; // test cl, 4; ret
        let insns = [decode(Arch::X86_64, &part, Svma(0x800)), decode(Arch::X86_64, &entry, Svma(0x1000))];
        let graph = Graph::of_insns(insns.into_iter().flatten().collect());
        let tested = Tested::of(&graph, (Arch::X86_64, Svma(0x1000)), &|_| true);
        assert_eq!(tested.arguments[3], BTreeSet::from([Test::Bits(4)]));
    }

    #[test]
    fn what_a_read_overwrites_is_not_tested_before_it() {
        // mov eax, [rdi]; mov eax, [rdi+4]; test al, 1; ret
        assert_eq!(tested("8b 07 8b 47 04 a8 01 c3").0, [((4, 4), vec![Test::Bits(1)])]);
    }
}
