//! The prover that remembers: it answers as the one that does not, whatever the registers and the exits are
//! called.

use crate::pairs::PAIRS;
use crate::states::Random;
use crate::wrong::WRONG;
use crate::{Reason, agree_in, reason, words};
use deburr_patch::{
    Cause, Dead, Difference, Given, Proof, Prover, Refusal, prove, prove_given, prove_loads, prove_with,
};
use std::collections::HashSet;

/// Where register numbers are in an instruction of the pairs, by its mnemonic: the lowest bit of each.
///
/// Written from the Arm ARM's tables once more: nothing comes from the library.
pub(crate) fn fields(word: u32) -> &'static [u32] {
    match word {
        _ if word & 0x7c00_0000 == 0x1400_0000 || word >> 24 == 0x54 => &[],
        _ if word >> 25 == 0x6a => &[],
        _ if word & 0x7c00_0000 == 0x3400_0000 => &[0], // cbz, tbz
        _ if word >> 25 == 0x6b => &[5],                // br, blr, ret
        _ if word & 0x1f80_0000 == 0x1280_0000 => &[0], // movz, movk
        _ if word & 0x1c00_0000 == 0x1000_0000 => &[0, 5], // add, and, ubfm with immediates
        _ if word & 0x1f00_0000 == 0x1b00_0000 => &[0, 5, 10, 16], // madd
        _ if word & 0x1fe0_0800 == 0x1a40_0800 => &[5], // ccmp, immediate
        _ if word & 0x1fe0_0000 == 0x1a40_0000 => &[5, 16], // ccmp
        _ if word & 0x3fff_7c00 == 0x085f_7c00 => &[0, 5], // ldxr
        _ if word & 0xbfff_0000 == 0x887f_0000 => &[0, 5, 10], // ldxp
        _ if word & 0xbfe0_0000 == 0x8820_0000 => &[0, 5, 10, 16], // stxp
        _ => &[0, 5, 16],
    }
}

/// With x0 to x30 through a table; what is 31 stays.
fn renamed(words: &[u32], table: &[u32; 31]) -> Vec<u32> {
    let field = |word: u32, at: &u32| {
        let name = table.get((word >> at & 31) as usize).copied().unwrap_or(31);
        word & !(31 << at) | name << at
    };
    words.iter().map(|word| fields(*word).iter().fold(*word, field)).collect()
}

fn bijection(random: &mut Random) -> [u32; 31] {
    let mut table = std::array::from_fn(|number| number as u32);
    for last in (1..31).rev() {
        table.swap(last, (random.next() % (last as u64 + 1)) as usize);
    }
    table
}

/// For some instructions: of `casp` each pair remains one.
fn bijection_for(random: &mut Random, words: &[u32]) -> [u32; 31] {
    let table = bijection(random);
    if !words.iter().any(|word| word & 0xbfa0_7c00 == 0x0820_7c00) {
        return table;
    }
    let pairs: Vec<u32> = table.into_iter().filter(|name| *name < 15).collect();
    std::array::from_fn(|number| pairs.get(number / 2).map_or(30, |pair| 2 * pair + number as u32 % 2))
}

/// Whether two answers to one query are the same, except for the state and which of several differences is
/// shown.
fn same(first: &Result<Proof, Refusal>, second: &Result<Proof, Refusal>) -> bool {
    match (first, second) {
        (Err(Refusal::Different { .. }), Err(Refusal::Different { .. })) => true,
        _ => first == second,
    }
}

fn all_pairs() -> impl Iterator<Item = (&'static str, Vec<u32>, Vec<u32>)> {
    let pairs = PAIRS.iter().map(|pair| (pair.name, pair.old, pair.new));
    let wrong = WRONG.iter().map(|wrong| (wrong.name, wrong.old, wrong.new));
    pairs.chain(wrong).map(|(name, old, new)| (name, words(old), words(new)))
}

#[test]
fn renamed_pairs_get_the_answer_of_the_first() {
    let prover = Prover::default();
    let mut random = Random(5);
    for (name, old, new) in all_pairs() {
        for round in 0..24 {
            let table = if round == 0 {
                std::array::from_fn(|number| number as u32)
            } else {
                bijection_for(&mut random, &new)
            };
            let (old, new) = (renamed(&old, &table), renamed(&new, &table));
            let before = prover.templates();
            let (alone, remembered) = (prove(&old, &new), prover.prove(&old, &new));
            assert!(same(&alone, &remembered), "{name}, {table:?}: {alone:?}, {remembered:?}");
            assert!(round == 0 || prover.templates() == before, "{name}, {table:?}: not known again");
            if let Err(Refusal::Different { state, .. }) = &remembered {
                assert!(!agree_in(&old, &new, state), "{name}, {table:?}: {state:x?}");
            }
        }
    }
    assert!(prover.templates() > 80, "{}", prover.templates());
}

/// The refusals of `wrong.rs` are in the pair's own registers.
#[test]
fn a_remembered_refusal_names_the_register_of_the_pair() {
    let prover = Prover::default();
    let mut random = Random(6);
    let mut seen = 0;
    for wrong in WRONG.iter() {
        let Reason::Different(Difference::Register(number)) = wrong.refusal else { continue };
        for _ in 0..8 {
            let table = bijection_for(&mut random, &words(wrong.new));
            let (old, new) = (renamed(&words(wrong.old), &table), renamed(&words(wrong.new), &table));
            let refusal = prover.prove(&old, &new).expect_err(wrong.name);
            let expected = Reason::Different(Difference::Register(table[usize::from(number)] as u8));
            assert_eq!(reason(&refusal), expected, "{}", wrong.name);
            seen += 1;
        }
    }
    assert!(seen >= 40, "{seen}");
}

#[test]
fn registers_that_become_equal_are_another_template() {
    let prover = Prover::default();
    let (mut asked, mut changed) = (0, 0);
    for (name, old, new) in all_pairs() {
        let first = prover.prove(&old, &new);
        for (from, to) in (0..12_u32).flat_map(|from| (0..12).chain([31]).map(move |to| (from, to))) {
            let table: [u32; 31] =
                std::array::from_fn(|number| if number as u32 == from { to } else { number as u32 });
            let (old, new) = (renamed(&old, &table), renamed(&new, &table));
            let (alone, remembered) = (prove(&old, &new), prover.prove(&old, &new));
            assert!(same(&alone, &remembered), "{name}, {from} is {to}: {alone:?}, {remembered:?}");
            asked += 1;
            changed += usize::from(!same(&first, &remembered));
        }
    }
    assert!(asked > 10_000 && changed > 800, "{changed} of {asked}");
}

/// The new value in the old value's register: right for an addition, wrong for a compare-and-swap.
#[test]
fn the_sum_in_the_old_values_register_is_not_confused_with_the_sum_beside_it() {
    let prover = Prover::default();
    let add = |o: u32, n: u32| {
        let body = 0x0b01_0000 | o << 5 | n; // add wN, wO, w1
        (
            [0x885f_fc40 | o, body, 0x8804_fc40 | n, 0x35ff_ffa4], // ldaxr wO, [x2]; stlxr w4, wN, [x2]; cbnz w4
            [0xb8e1_0040 | o, body, 0x2a1f_03e4, 0xd503_201f],     // ldaddal w1, wO, [x2]; mov w4, wzr; nop
        )
    };
    for (o, n) in [(0, 3), (3, 3), (3, 0), (0, 0)] {
        let (old, new) = add(o, n);
        assert!(prover.prove(&old, &new).is_ok(), "{o} {n}");
    }
    assert_eq!(prover.templates(), 2);
    // Old as with two registers, new as with one, and vice versa.
    for (o, n) in [(0, 3), (3, 3)] {
        let (old, new) = (add(o, n).0, add(3 - o, n).1);
        assert!(prover.prove(&old, &new).is_err() && prove(&old, &new).is_err(), "{o} {n}");
    }
    assert_eq!(prover.templates(), 4);
}

#[test]
fn the_stack_pointer_and_the_zero_register_are_no_other_registers() {
    let prover = Prover::default();
    let swap = |base: u32, value: u32| {
        (
            [0x885f_fc08 | base << 5, 0x8809_fc00 | base << 5 | value, 0x35ff_ffc9], // ldaxr w8; stlxr w9; cbnz w9
            [0xb8e0_8008 | value << 16 | base << 5, 0x2a1f_03e9, 0xd503_201f], // swpal; mov w9, wzr; nop
        )
    };
    for (base, value) in [(0, 1), (31, 1), (0, 31), (31, 31)] {
        let (old, new) = swap(base, value);
        assert!(prover.prove(&old, &new).is_ok(), "{base} {value}");
    }
    assert_eq!(prover.templates(), 4);
    for (old, new) in
        [(swap(0, 1).0, swap(31, 1).1), (swap(31, 1).0, swap(0, 1).1), (swap(0, 31).0, swap(0, 1).1)]
    {
        assert!(same(&prover.prove(&old, &new), &prove(&old, &new)) && prove(&old, &new).is_err());
    }
}

/// A compare-and-swap that leaves to `failed` and to `stored`, in instructions from its first.
fn two_exits(failed: [i32; 2], stored: [i32; 2]) -> ([u32; 6], [u32; 6]) {
    let conditional = |from: i32, to: i32| 0x5400_0001 | (((to - from) as u32) & 0x7_ffff) << 5; // b.ne
    let always = |from: i32, to: i32| 0x1400_0000 | ((to - from) as u32) & 0x3ff_ffff; // b
    (
        // ldaxr w3, [x0]; cmp w3, w1; b.ne; stlxr w4, w2, [x0]; cbnz w4, #-16; b
        [0x885f_fc03, 0x6b01_007f, conditional(2, failed[0]), 0x8804_fc02, 0x35ff_ff84, always(5, stored[0])],
        // mov w3, w1; casal w3, w2, [x0]; cmp w3, w1; b.ne; mov w4, wzr; b
        [0x2a01_03e3, 0x88e3_fc02, 0x6b01_007f, conditional(3, failed[1]), 0x2a1f_03e4, always(5, stored[1])],
    )
}

#[test]
fn exits_are_known_by_which_are_the_same_only() {
    let prover = Prover::default();
    let mut random = Random(9);
    const FAR: [i32; 10] = [6, 7, 8, 20, -1, -2, -30, 1000, 250_000, -250_000];
    for _ in 0..2_000 {
        let [failed, stored] = [(); 2].map(|()| [(); 2].map(|()| FAR[(random.next() % 10) as usize]));
        let (old, new) = two_exits(failed, stored);
        let (alone, remembered) = (prove(&old, &new), prover.prove(&old, &new));
        assert!(same(&alone, &remembered), "{failed:?} {stored:?}: {alone:?}, {remembered:?}");
        assert_eq!(
            remembered.is_ok(),
            failed[0] == failed[1] && stored[0] == stored[1],
            "{failed:?} {stored:?}"
        );
    }
    // Four exits, each of which may be the next place, in as many patterns as a set of five has partitions.
    assert!(prover.templates() <= 52, "{}", prover.templates());
    let right = Prover::default();
    for (failed, stored) in FAR.iter().flat_map(|failed| FAR.map(|stored| (*failed, stored))) {
        let (old, new) = two_exits([failed; 2], [stored; 2]);
        assert!(right.prove(&old, &new).is_ok());
    }
    // Both after it, one, the other, both elsewhere, and both at one place elsewhere.
    assert_eq!(right.templates(), 5);
}

#[test]
fn a_branch_inside_is_no_exit() {
    let prover = Prover::default();
    for to in -3..9 {
        let (old, new) = two_exits([to; 2], [20; 2]);
        let (alone, remembered) = (prove(&old, &new), prover.prove(&old, &new));
        assert!(same(&alone, &remembered), "{to}: {alone:?}, {remembered:?}");
    }
}

/// `ldaxr w0, [x2]; cbnz w0, F; mov w3, #1; stlxr w4, w3, [x2]; cbnz w4, #-16` and the new value made before:
/// `mov w3, #1; mov w0, wzr; casal w0, w3, [x2]; cbnz w0, F; mov w4, wzr`.
pub(crate) fn made_between(exit: u32) -> ([u32; 5], [u32; 5]) {
    (
        [0x885f_fc40, 0x3500_0000 | (exit - 1) << 5, 0x5280_0023, 0x8804_fc43, 0x35ff_ff84],
        [0x5280_0023, 0x2a1f_03e0, 0x88e0_fc43, 0x3500_0000 | (exit - 3) << 5, 0x2a1f_03e4],
    )
}

#[test]
fn a_register_that_is_dead_at_an_exit_is_not_compared_there() {
    let prover = Prover::default();
    let (old, new) = made_between(20);
    let w3 = |exit: i64| Dead { exit, registers: 1 << 3 };
    let cases = [
        (vec![], false),
        (vec![w3(20)], true),
        (vec![w3(5)], false),
        (vec![w3(21), w3(5)], false),
        (vec![w3(5), w3(20)], true),
        (vec![Dead { exit: 20, registers: 1 << 4 }], false),
        (vec![Dead { exit: 20, registers: 1 << 4 }, w3(20)], true),
        (vec![Dead { exit: 20, registers: u32::MAX }], true),
    ];
    for (dead, expected) in cases {
        for answer in [prove_with(&old, &new, &[], &dead), prover.prove_with(&old, &new, &[], &dead)] {
            let answer = answer.map(|_| ()).map_err(|refusal| reason(&refusal));
            let expected = if expected { Ok(()) } else { Err(Reason::Different(Difference::Register(3))) };
            assert_eq!(answer, expected, "{dead:?}");
        }
    }
    // SP is never dead, nor is anything else but registers.
    let moved = [new[0], new[1], new[2], new[3], 0x9100_43ff]; // add sp, sp, #16
    let all = [20, 5].map(|exit| Dead { exit, registers: u32::MAX });
    let refused = prove_with(&old, &moved, &[], &all).map_err(|refusal| reason(&refusal));
    assert_eq!(refused, Err(Reason::Different(Difference::StackPointer)));
}

#[test]
fn dead_registers_belong_to_the_template() {
    let prover = Prover::default();
    let mut random = Random(14);
    for round in 0..500 {
        let (old, new) = made_between(6 + (random.next() % 40) as u32);
        let exit = i64::from(new[3] >> 5 & 0xff) + 3;
        let table = bijection(&mut random);
        let (old, new) = (renamed(&old, &table), renamed(&new, &table));
        let drawn = random.next() as u32 & random.next() as u32;
        let dead = [Dead { exit, registers: drawn }, Dead { exit: 5, registers: random.next() as u32 }];
        let (alone, remembered) =
            (prove_with(&old, &new, &[], &dead), prover.prove_with(&old, &new, &[], &dead));
        assert!(same(&alone, &remembered), "round {round}: {alone:?}, {remembered:?}");
        assert_eq!(remembered.is_ok(), drawn >> table[3] & 1 != 0, "round {round}");
    }
    // Four registers, dead or not, at two exits.
    assert!(prover.templates() <= 256, "{}", prover.templates());
}

/// The byte compare-and-swap that is right only if w1 is a byte.
#[test]
fn what_is_given_belongs_to_the_template() {
    const NAME: &str = "byte compare-and-swap of an expected value that may be wide";
    let wrong = WRONG.iter().find(|wrong| wrong.name == NAME).expect(NAME);
    let (old, new) = (words(wrong.old), words(wrong.new));
    let given = |register: u8, zero_from: u8| Given { register, zero_from };
    let cases = [
        (vec![], false),
        (vec![given(1, 8)], true),
        (vec![given(1, 5)], true),
        (vec![given(1, 9)], false),
        (vec![given(1, 200)], false),
        (vec![given(2, 8)], false),
        (vec![given(2, 8), given(1, 8)], true),
        (vec![given(1, 32), given(1, 8)], true),
        (vec![given(31, 8), given(17, 8), given(255, 8)], false),
    ];
    let prover = Prover::default();
    let mut random = Random(21);
    for (given, expected) in cases {
        for _ in 0..8 {
            let table = bijection(&mut random);
            let (old, new) = (renamed(&old, &table), renamed(&new, &table));
            let named = |given: &Given| {
                let register =
                    table.get(usize::from(given.register)).map_or(given.register, |name| *name as u8);
                Given { register, ..*given }
            };
            let given: Vec<Given> = given.iter().map(named).collect();
            let (alone, remembered) =
                (prove_given(&old, &new, &given), prover.prove_given(&old, &new, &given));
            assert!(same(&alone, &remembered), "{given:?}: {alone:?}, {remembered:?}");
            assert_eq!(remembered.is_ok(), expected, "{given:?}");
            if let Err(Refusal::Different { state, .. }) = &remembered {
                assert!(!agree_in(&old, &new, state), "{given:?}: {state:x?}");
                let holds = |given: &Given| match state.registers.get(usize::from(given.register)) {
                    Some(value) if given.zero_from < 64 => value >> given.zero_from == 0,
                    _ => true,
                };
                let told = given
                    .iter()
                    .filter(|given| [1, 2].map(|at| table[at]).contains(&u32::from(given.register)));
                assert!(told.clone().all(holds), "{given:?}: {state:x?}");
            }
        }
    }
    // The cases less the two that say nothing.
    assert_eq!(prover.templates(), 7);
}

/// An edge back to the first instruction is an exit, except for what is known at the first instruction or
/// dead after the last.
#[test]
fn nothing_is_known_or_dead_on_the_way_back() {
    let prover = Prover::default();
    // ldaxr w2, [x0]; cbnz w2, #-4; mov w5, #1; stxr w3, w5, [x0]; cbnz w3, #-16
    let old = [0x885f_fc02, 0x35ff_ffe2, 0x5280_0025, 0x8803_7c05, 0x35ff_ff83];
    // mov w5, #1; mov w2, wzr; casa w2, w5, [x0]; cbnz w2, #-12; mov w3, wzr
    let hoisted = [0x5280_0025, 0x2a1f_03e2, 0x88e2_7c05, 0x35ff_ffa2, 0x2a1f_03e3];
    // The same with the new value made in the status, and again after the branch.
    let late = [0x5280_0023, 0x2a1f_03e2, 0x88e2_7c03, 0x35ff_ffa2, 0x2a1f_03e3];
    let all = [0, 5].map(|exit| Dead { exit, registers: u32::MAX });
    for (new, register) in [(hoisted, 5), (late, 3)] {
        for dead in [&[][..], &all] {
            let (alone, remembered) =
                (prove_with(&old, &new, &[], dead), prover.prove_with(&old, &new, &[], dead));
            assert!(same(&alone, &remembered), "{alone:?}, {remembered:?}");
            let refused = alone.map_err(|refusal| reason(&refusal));
            assert_eq!(refused, Err(Reason::Different(Difference::Register(register))));
        }
    }
    // ldaxr w2, [x0]; cbnz w2, #-4; stxr w3, w1, [x0]; cbnz w3, #-12 against
    // mov w2, wzr; casa w2, w1, [x0]; cbnz w2, #-8; mov w3, wzr
    let old = [0x885f_fc02, 0x35ff_ffe2, 0x8803_7c01, 0x35ff_ffa3];
    let new = [0x2a1f_03e2, 0x88e2_7c01, 0x35ff_ffc2, 0x2a1f_03e3];
    for (given, expected) in [(2, Some(Reason::Old(0, Cause::Endless))), (9, None)] {
        let given = [Given { register: given, zero_from: 1 }];
        for answer in [prove_given(&old, &new, &given), prover.prove_given(&old, &new, &given)] {
            assert_eq!(answer.err().map(|refusal| reason(&refusal)), expected, "{given:?}");
        }
    }
}

#[test]
fn loads_and_atomics_are_remembered_apart() {
    let prover = Prover::default();
    // ldp x29, x30, [sp, #-8]; add sp, sp, #48 by ldur x29, [sp, #-8]; ldr x30, [sp], #48
    let (old, new) = ([0xa97f_fbfd, 0x9100_c3ff], [0xf85f_83fd, 0xf843_07fe]);
    for _ in 0..2 {
        assert_eq!(prover.prove_loads(&old, &new), prove_loads(&old, &new));
        assert_eq!(prover.prove(&old, &new), prove(&old, &new));
    }
    assert!(prover.prove_loads(&old, &new).is_ok() && prover.prove(&old, &new).is_err());
    assert_eq!(prover.templates(), 2);
}

/// Few of the tests' pairs are one except for their names.
#[test]
fn threads_share_one_prover() {
    let prover = Prover::default();
    let pairs: Vec<_> = all_pairs().collect();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (prover, pairs) = (&prover, &pairs);
            scope.spawn(move || {
                let mut random = Random(seed);
                for (name, old, new) in pairs {
                    let table = bijection_for(&mut random, new);
                    let (old, new) = (renamed(old, &table), renamed(new, &table));
                    assert!(same(&prover.prove(&old, &new), &prove(&old, &new)), "{name}");
                }
            });
        }
    });
    let alone = Prover::default();
    pairs.iter().for_each(|(_, old, new)| drop(alone.prove(old, new)));
    assert_eq!(prover.templates(), alone.templates());
    let distinct: HashSet<_> = pairs.iter().map(|(_, old, new)| (old, new)).collect();
    assert!(
        alone.templates() <= distinct.len() && alone.templates() + 8 > distinct.len(),
        "{}",
        alone.templates()
    );
}
