//! The prover: what it accepts agrees with a second interpreter ([`interpreter`]) and with the audit's evaluator ([`evaluated`]), what it refutes differs there. And what is written
//! ([`apply`], [`destination`], [`pause`]), what other threads see of it ([`litmus`]), and the page that explains both ([`page`]).

mod apply;
mod destination;
mod evaluated;
mod interpreter;
mod listing;
mod litmus;
mod loads;
mod mutants;
mod page;
mod pairs;
mod pause;
mod retrying;
mod smt;
mod states;
mod templates;
mod wrong;

use deburr_core::Svma;
use deburr_core::insn::disassemble;
use deburr_core::insn::text::Syntax;
use deburr_cpu::Arch;
use deburr_patch::{Cause, Difference, Refusal, Side, State, prove};
use interpreter::{Outcome, execute};
use pairs::PAIRS;
use states::{Random, states};

/// A sequence: instructions and their text, from address 0.
type Sequence = &'static [(u32, &'static str)];

/// A sequence and what may take its place.
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    pub(crate) old: Sequence,
    pub(crate) new: Sequence,
}

/// A sequence and what may not, and why.
pub(crate) struct Wrong {
    pub(crate) name: &'static str,
    pub(crate) refusal: Reason,
    pub(crate) old: Sequence,
    pub(crate) new: Sequence,
}

/// A refusal without its state.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    Different(Difference),
    Old(usize, Cause),
    New(usize, Cause),
    NoAccess(Side),
    StoreExclusives(usize),
    Other,
}

fn reason(refusal: &Refusal) -> Reason {
    match refusal {
        Refusal::Different { difference, .. } => Reason::Different(*difference),
        Refusal::Instruction { side: Side::Old, index, cause } => Reason::Old(*index, *cause),
        Refusal::Instruction { side: Side::New, index, cause } => Reason::New(*index, *cause),
        Refusal::NoAccess { side } => Reason::NoAccess(*side),
        Refusal::StoreExclusives(count) => Reason::StoreExclusives(*count),
        _ => Reason::Other,
    }
}

fn words(sequence: Sequence) -> Vec<u32> {
    sequence.iter().map(|(word, _)| *word).collect()
}

/// Whether the second outcome is what the first is, except for stronger order.
fn agree(old: &Outcome, new: &Outcome) -> bool {
    let rest = (old.exit, old.registers, old.nzcv, &old.barriers, &old.loads)
        == (new.exit, new.registers, new.nzcv, &new.barriers, &new.loads);
    let accesses = match (&old.access, &new.access) {
        (Some(old), Some(new)) => {
            (old.place, old.address, old.bits, old.stored) == (new.place, new.address, new.bits, new.stored)
                && (new.acquire || !old.acquire)
                && (new.release || !old.release)
        }
        (old, new) => old.is_none() && new.is_none(),
    };
    rest && accesses
}

/// Whether the interpreter gives the same for both in one state.
fn agree_in(old: &[u32], new: &[u32], state: &State) -> bool {
    match (execute(old, state), execute(new, state)) {
        (Ok(old), Ok(new)) => agree(&old, &new),
        _ => false,
    }
}

#[test]
fn instructions_are_what_the_text_next_to_them_says() {
    let pairs = PAIRS.iter().flat_map(|pair| [pair.old, pair.new]);
    let wrong = wrong::WRONG.iter().flat_map(|wrong| [wrong.old, wrong.new]);
    for (index, (word, text)) in pairs.chain(wrong).flat_map(|sequence| sequence.iter().enumerate()) {
        let svma = Svma(4 * index as u64);
        let decoded = disassemble(Arch::Aarch64, &word.to_le_bytes(), svma, Syntax::Att);
        assert_eq!(decoded.as_deref(), Some(*text), "{word:#010x}");
    }
}

#[test]
fn every_shape_is_proven_and_agrees_in_256_states() {
    let states = states(256);
    for Pair { name, old, new } in PAIRS.iter() {
        let (old, new) = (words(old), words(new));
        assert!(prove(&old, &new).is_ok(), "{name}: {:?}", prove(&old, &new));
        for state in &states {
            assert!(agree_in(&old, &new, state), "{name}: {state:x?}");
        }
    }
}

#[test]
fn a_wrong_rewrite_is_refused_with_the_right_reason() {
    let mut others = Vec::new();
    for Wrong { name, refusal, old, new } in wrong::WRONG.iter() {
        let (old, new) = (words(old), words(new));
        let refused = prove(&old, &new).expect_err(name);
        if reason(&refused) != *refusal {
            others.push(format!("{name}: {refused}, not {refusal:?}"));
        }
        if let Refusal::Different { state, .. } = &refused {
            assert!(!agree_in(&old, &new, state), "{name}: {state:x?}");
        }
    }
    assert!(others.is_empty(), "{others:#?}");
}

/// The instructions of a loop and of its replacement, by size (0 to 3: 1 to 8 bytes) and letters.
fn by_size_and_order(operation: &str, size: u32, old: [bool; 2], new: [bool; 2]) -> (Vec<u32>, Vec<u32>) {
    let letter = |set: bool, bit: u32| u32::from(set) << bit;
    let load = 0x085f_7c03 | size << 30 | letter(old[0], 15); // ldxr w3, [x0]
    let store = 0x0804_7c02 | size << 30 | letter(old[1], 15); // stxr w4, w2, [x0]
    let status = 0x2a1f_03e4; // mov w4, wzr
    let update = 0x3820_0003 | size << 30 | letter(new[0], 23) | letter(new[1], 22); // ldaddb w0, w3, [x0]
    let (wide, nop) = (letter(size == 3, 31), 0xd503_201f);
    match operation {
        "swap" => (
            vec![load, store, 0x35ff_ffc4], // cbnz w4, #-8
            vec![update | 2 << 16 | 8 << 12, status, nop],
        ),
        "add" => {
            let add = 0x0b01_0065 | wide; // add w5, w3, w1
            let store = store & !0x1f | 5; // stxr w4, w5, [x0]
            (vec![load, add, store, 0x35ff_ffa4], vec![update | 1 << 16, add, status, nop]) // cbnz w4, #-12
        }
        _ => {
            // cmp w3, w1, with uxtb or uxth below 4 bytes; b.ne #+16
            let compare = match size {
                0 => 0x6b21_007f,
                1 => 0x6b21_207f,
                _ => 0x6b01_007f | wide,
            };
            let swap = 0x08a3_7c02 | size << 30 | letter(new[0], 22) | letter(new[1], 15); // casb w3, w2, [x0]
            (
                vec![load, compare, 0x5400_0081, store, 0x35ff_ff84], // cbnz w4, #-16
                vec![0xaa01_03e3, swap, compare, 0x5400_0061, status], // mov x3, x1; b.ne #+12
            )
        }
    }
}

#[test]
fn every_size_and_order_is_proven_where_no_letter_is_lost() {
    const LETTERS: [[bool; 2]; 4] = [[false, false], [true, false], [false, true], [true, true]];
    let mut proven = 0;
    for operation in ["swap", "add", "compare-and-swap"] {
        for (size, old, new) in (0..4)
            .flat_map(|size| LETTERS.map(|old| (size, old)))
            .flat_map(|(size, old)| LETTERS.map(|new| (size, old, new)))
        {
            let (before, after) = by_size_and_order(operation, size, old, new);
            let result = prove(&before, &after);
            let place = format!("{operation}, size {size}, {old:?} by {new:?}: {result:?}");
            if old[0] && !new[0] {
                assert_eq!(
                    result.as_ref().map_err(reason),
                    Err(Reason::Different(Difference::Acquire)),
                    "{place}"
                );
            } else if old[1] && !new[1] {
                assert_eq!(
                    result.as_ref().map_err(reason),
                    Err(Reason::Different(Difference::Release)),
                    "{place}"
                );
            } else {
                let proof = result.expect(&place);
                assert_eq!(
                    (proof.size, proof.acquire, proof.release),
                    (1 << size, old[0], old[1]),
                    "{place}"
                );
                proven += 1;
            }
        }
    }
    assert_eq!(proven, 3 * 4 * 9);
}

/// Nothing else shows it: memory holds the same afterwards.
#[test]
fn what_is_stored_back_as_it_was_loaded_is_a_store() {
    // ldaxp x0, x1, [x2]; stlxp w4, x0, x1, [x2]; cbnz w4, #-8 against caspal x0, x1, x0, x1, [x2]; mov w4,
    // wzr; nop
    let (old, new) = ([0xc87f_8440, 0xc824_8440, 0x35ff_ffc4], [0x4860_fc40, 0x2a1f_03e4, 0xd503_201f]);
    let refused = prove(&old, &new).map_err(|refusal| reason(&refusal));
    assert_eq!(refused, Err(Reason::Different(Difference::Stored)));
}

#[test]
fn pairs_that_are_unpredictable_or_undefined_are_not_understood() {
    // ldaxp x0, x1, [x2]; stlxp w4, x6, x7, [x2]; cbnz w4, #-8 against casp
    let old = [0xc87f_8440, 0xc824_9c46, 0x35ff_ffc4];
    let new = [0x4860_fc46, 0xd503_201f, 0xd503_201f];
    assert!(matches!(prove(&old, &new), Err(Refusal::Different { .. })));
    // ldaxp x0, x0; ldaxp xzr, xzr; ldaxp with its unused field not of ones
    for load in [0xc87f_8040, 0xc87f_fc5f, 0xc87e_8440] {
        let refused = prove(&[load, old[1], old[2]], &new).map_err(|refusal| reason(&refusal));
        assert_eq!(refused, Err(Reason::Old(0, Cause::Access)), "{load:08x}");
    }
    // stlxp with the status in x6, x7 and x2: a value's, or the base
    for status in [6, 7, 2] {
        let store = old[1] & !(31 << 16) | status << 16;
        let refused = prove(&[old[0], store, old[2]], &new).map_err(|refusal| reason(&refusal));
        assert_eq!(refused, Err(Reason::Old(1, Cause::Access)), "{store:08x}");
    }
    // caspal of x1, of x5, of x30 and the zero register, and with an unused field not of ones
    for swap in [0x4861_fc46, 0x4860_fc45, 0x487e_fc46, 0x4860_fc5e, 0x4860_f846] {
        let refused = prove(&old, &[swap, new[1], new[2]]).map_err(|refusal| reason(&refusal));
        assert_eq!(refused, Err(Reason::New(0, Cause::Access)), "{swap:08x}");
    }
}

/// Whether the sequences differ only in what a processor may reorder, which no state shows.
fn is_of_order(difference: Difference) -> bool {
    matches!(
        difference,
        Difference::Dependency(_) | Difference::FlagsDependency | Difference::ControlDependency
    )
}

/// What became of mutants.
#[derive(Default)]
struct Count {
    mutants: usize,
    refuted: usize,
    refused: usize,
    equivalent: usize,
}

impl Count {
    /// Holds what the prover says against the interpreter, whichever it is.
    fn judge(&mut self, old: &[u32], new: &[u32], states: &[State], place: &str) {
        self.mutants += 1;
        match prove(old, new) {
            Ok(_) => {
                self.equivalent += 1;
                let apart = states.iter().find(|state| !agree_in(old, new, state));
                assert!(apart.is_none(), "{place}: accepted, and differs in {apart:x?}");
            }
            Err(Refusal::Different { difference, .. }) if is_of_order(difference) => {
                self.refuted += 1;
                let apart = states.iter().find(|state| !agree_in(old, new, state));
                assert!(apart.is_none(), "{place}: {difference}, and more differs in {apart:x?}");
            }
            Err(Refusal::Different { difference, state }) => {
                self.refuted += 1;
                assert!(!agree_in(old, new, &state), "{place}: {difference} does not differ in {state:x?}");
            }
            Err(Refusal::Undecided | Refusal::TooLarge) => panic!("{place}: undecided"),
            Err(_) => self.refused += 1,
        }
    }
}

#[test]
fn every_flipped_bit_is_refused_or_changes_nothing() {
    let states = states(256);
    let (mut telling, mut idle, mut before) = (Count::default(), Count::default(), Count::default());
    for Pair { name, old, new } in PAIRS.iter() {
        let (old_words, new_words) = (words(old), words(new));
        for (index, bit) in (0..new.len()).flat_map(|index| (0..32).map(move |bit| (index, bit))) {
            let place = format!("{name}: word {index}, bit {bit}");
            let mut mutant = new_words.clone();
            mutant[index] ^= 1 << bit;
            // Zero moved, or nothing done, has many encodings.
            let text = new[index].1;
            let count = if text == "nop" || text.starts_with("mov") && text.ends_with("zr") {
                &mut idle
            } else {
                &mut telling
            };
            count.judge(&old_words, &mutant, &states, &place);
            let mut mutant = old_words.clone();
            mutant[index] ^= 1 << bit;
            before.judge(&mutant, &new_words, &states, &place);
        }
    }
    for (count, of) in [(&telling, "telling"), (&idle, "idle"), (&before, "old")] {
        let Count { mutants, refuted, refused, equivalent } = count;
        println!(
            "{mutants} mutants of {of} words: {refuted} refuted, {refused} refused, {equivalent} equivalent"
        );
    }
    assert!(telling.mutants > 4_000 && before.mutants > 6_000);
    assert!(telling.equivalent * 25 < telling.mutants, "{} equivalent", telling.equivalent);
}

/// `mov` and three `movk` to a register.
fn constant(register: u32, value: u64) -> [u32; 4] {
    std::array::from_fn(|part| {
        let opcode = if part == 0 { 0xd280_0000 } else { 0xf280_0000 };
        opcode | (part as u32) << 21 | ((value >> (16 * part)) as u32 & 0xffff) << 5 | register
    })
}

/// N, Z, C and V to those given: `cmp xzr, xzr; ccmp xzr, #0, #nzcv, ne`.
fn flags(nzcv: u32) -> [u32; 2] {
    [0xeb1f_03ff, 0xfa40_1be0 | nzcv]
}

/// Fixed bits, and which of the others are drawn; x0 is written, x1, x2 and x3 are read.
pub(crate) const CLASSES: [(&str, u32, u32); 17] = [
    ("add and subtract, immediate", 0x1100_0020, 0xe07f_fc00),
    ("logical, immediate", 0x1200_0020, 0xe07f_fc00),
    ("move wide", 0x1280_0000, 0xe07f_ffe0),
    ("bitfield", 0x1300_0020, 0xe07f_fc00),
    ("extract", 0x1382_0020, 0x8040_fc00),
    ("logical, shifted", 0x0a02_0020, 0xe0e0_fc00),
    ("add and subtract, shifted", 0x0b02_0020, 0xe0c0_fc00),
    ("add and subtract, extended", 0x0b22_0020, 0xe0c0_fc00),
    ("compare if, register", 0x3a42_0020, 0xc000_f00f),
    ("compare if, immediate", 0x3a40_0820, 0xc01f_f00f),
    ("select", 0x1a82_0020, 0xe000_fc00),
    ("shift by a register", 0x1ac2_2020, 0x8000_0c00),
    ("multiply and add", 0x1b02_0c20, 0x8000_8000),
    ("one source", 0x5ac0_0020, 0x8000_fc00),
    ("two sources", 0x1ac2_0020, 0x8000_fc00),
    ("add with carry", 0x1a02_0020, 0xe000_fc00),
    ("anything", 0x1000_0020, 0xefff_fc00),
];

/// The prover reads an instruction on constants as the interpreter does, and refuses those that the latter
/// does not know.
#[test]
fn each_class_of_instruction_means_what_the_interpreter_says() {
    let mut random = Random(3);
    let (mut understood, mut refused) = (0, 0);
    for (name, fixed, drawn) in CLASSES {
        for _ in 0..400 {
            let word = fixed | random.next() as u32 & drawn;
            let mut state = State {
                registers: [0; 31],
                sp: 0,
                nzcv: (random.next() % 16) as u8,
                memory: 0,
                loads: Vec::new(),
            };
            let mut setup = Vec::new();
            for register in 0..4 {
                let value = random.value();
                state.registers[register] = value;
                setup.extend(constant(register as u32, value));
            }
            setup.extend(flags(u32::from(state.nzcv)));
            let result = execute(&[word], &state).ok();
            // Branches, barriers and accesses have tests of their own, and anything may read other registers.
            if result.as_ref().is_some_and(|outcome| {
                outcome.access.is_some() || !outcome.barriers.is_empty() || outcome.exit != 1
            }) || name == "anything" && result.is_some()
            {
                continue;
            }
            // ldxr w7, [x6]; stxr w8, w5, [x6]; cbnz w8, #-8 against swp w5, w7, [x6]; mov w8, wzr.
            let mut old: Vec<u32> = setup.iter().copied().chain([word]).collect();
            old.extend([0x885f_7cc7, 0x8808_7cc5, 0x35ff_ffc8]);
            let Some(outcome) = result else {
                refused += 1;
                let refusal = prove(&old, &old).map_err(|refusal| reason(&refusal));
                assert!(matches!(refusal, Err(Reason::Old(18, _))), "{name}: {word:#010x}: {refusal:?}");
                continue;
            };
            understood += 1;
            let mut new: Vec<u32> = setup.iter().copied().chain([0xb825_80c7, 0x2a1f_03e8]).collect();
            new.extend(constant(0, outcome.registers[0]));
            new.extend(flags(outcome.nzcv));
            old.resize(new.len(), 0xd503_201f);
            assert_eq!(prove(&old, &new).err(), None, "{name}: {word:#010x} {:x?}", &state.registers[..4]);
        }
    }
    println!("{understood} words understood, {refused} refused");
    assert!(understood > 3_000 && refused > 500, "{understood} understood, {refused} refused");
}

#[test]
fn any_words_get_an_answer() {
    assert_eq!(prove(&[], &[]), Err(Refusal::Length));
    assert_eq!(prove(&[0xd503_201f], &[]), Err(Refusal::Length));
    assert_eq!(prove(&[0; 65], &[0; 65]), Err(Refusal::TooLarge));
    let mut random = Random(11);
    for round in 0..20_000 {
        let length = 1 + (random.next() % 8) as usize;
        let mut sequence = || -> Vec<u32> { (0..length).map(|_| random.next() as u32).collect() };
        let (old, new) = (sequence(), sequence());
        assert!(prove(&old, &new).is_err(), "round {round}: {old:x?} {new:x?}");
    }
    // Words of real sequences in any order, so that branches, exclusives and atomics meet.
    let pool: Vec<u32> =
        PAIRS.iter().flat_map(|pair| pair.old.iter().chain(pair.new)).map(|(word, _)| *word).collect();
    let states = states(32);
    for _ in 0..20_000 {
        let length = 1 + (random.next() % 6) as usize;
        let mut sequence = || -> Vec<u32> {
            (0..length).map(|_| pool[(random.next() % pool.len() as u64) as usize]).collect()
        };
        let (old, new) = (sequence(), sequence());
        if prove(&old, &new).is_ok() {
            assert!(states.iter().all(|state| agree_in(&old, &new, state)), "{old:x?} {new:x?}");
        }
    }
}

#[test]
fn branches_far_out_of_the_sequence_are_exits() {
    // ldaxr w2, [x0]; stlxr w3, w1, [x0]; cbnz w3, #-8; b #-0x8000000 against
    // swpal w1, w2, [x0]; mov w3, wzr; nop; b #-0x8000000
    let old = [0x885f_fc02, 0x8803_fc01, 0x35ff_ffc3, 0x1600_0000];
    let new = [0xb8e1_8002, 0x2a1f_03e3, 0xd503_201f, 0x1600_0000];
    assert!(prove(&old, &new).is_ok());
    // With b #-4 for the nop, again and again.
    let near = [0xb8e1_8002, 0x2a1f_03e3, 0x17ff_ffff, 0x1600_0000];
    assert_eq!(prove(&old, &near).map_err(|refusal| reason(&refusal)), Err(Reason::New(1, Cause::Endless)));
}

/// Sequences made to take long: many paths, many multiplications, and products that only arithmetic shows to
/// be equal.
#[test]
fn what_takes_too_long_is_refused() {
    // cbz wN, #8
    let many_branches: Vec<u32> = (0..40).map(|register| 0x3400_0040 + register % 31).collect();
    assert_eq!(prove(&many_branches, &many_branches), Err(Refusal::TooLarge));
    let many_products = [0x9b01_7c00; 60]; // mul x0, x0, x1
    assert_eq!(prove(&many_products, &many_products), Err(Refusal::TooLarge));
    // mul x4, x1, x2; mul x4, x4, x3; ldxr w7, [x6]; stxr w8, w5, [x6]; cbnz w8, #-8 against
    // mul x4, x2, x3; mul x4, x1, x4; swp w5, w7, [x6]; mov w8, wzr; nop
    let old = [0x9b02_7c24, 0x9b03_7c84, 0x885f_7cc7, 0x8808_7cc5, 0x35ff_ffc8];
    let new = [0x9b03_7c44, 0x9b04_7c24, 0xb825_80c7, 0x2a1f_03e8, 0xd503_201f];
    assert_eq!(prove(&old, &new), Err(Refusal::Undecided));
}
