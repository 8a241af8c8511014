//! Compare-and-swaps that are tried until they succeed: what the prover takes, and what it must not.

use crate::{Reason, reason};
use deburr_patch::{Cause, Dead, Difference, Prover, Refusal, Side, prove, prove_retrying};

const NOP: u32 = 0xd503201f;

/// nand, as gcc writes it.
pub(crate) const NAND: [u32; 5] = [
    0x885f7c02, // ldxr  w2, [x0]
    0x0a010043, // and   w3, w2, w1
    0x2a2303e3, // mvn   w3, w3
    0x88047c03, // stxr  w4, w3, [x0]
    0x35ffff84, // cbnz  w4, #-16
];
/// What depends on what was loaded is computed once more from what the access loaded.
pub(crate) const RETRY: [u32; 11] = [
    0xb9400002, // ldr   w2, [x0]
    0x0a010043, // and   w3, w2, w1
    0x2a2303e3, // mvn   w3, w3
    0x2a0203e4, // mov   w4, w2
    0x88a47c03, // cas   w4, w3, [x0]
    0x4a040042, // eor   w2, w2, w4
    0x35ffff42, // cbnz  w2, #-24
    0x2a0403e2, // mov   w2, w4
    0x2a1f03e4, // mov   w4, wzr
    0x0a010043, // and   w3, w2, w1
    0x2a2303e3, // mvn   w3, w3
];

/// Filled up with `nop`.
pub(crate) fn filled(words: &[u32]) -> Vec<u32> {
    let mut words = words.to_vec();
    words.resize(12, NOP);
    words
}

fn refusal(old: &[u32], new: &[u32]) -> Refusal {
    prove_retrying(&filled(old), &filled(new), &[]).expect_err("a wrong replacement")
}

/// With some instructions changed.
fn with(words: &[u32], changes: &[(usize, u32)]) -> Vec<u32> {
    let mut words = words.to_vec();
    for &(at, word) in changes {
        words[at] = word;
    }
    words
}

/// By size (0 to 3: 1 to 8 bytes), and whether it acquires (1) and releases (2).
pub(crate) fn nand_by_size_and_order(size: u32, order: u32) -> ([u32; 5], [u32; 11]) {
    let (acquire, release) = (order & 1, order >> 1);
    let wide = u32::from(size == 3) << 31;
    let sized = |word: u32| word & 0x3fff_ffff | size << 30;
    let old = [
        sized(NAND[0]) | acquire << 15,
        NAND[1] | wide,
        NAND[2] | wide,
        sized(NAND[3]) | release << 15,
        NAND[4],
    ];
    let mut new = RETRY;
    for at in [1, 2, 3, 5, 6, 7, 9, 10] {
        new[at] |= wide;
    }
    (new[0], new[4]) = (sized(new[0]), sized(RETRY[4]) | acquire << 22 | release << 15);
    (old, new)
}

#[test]
fn what_no_lse_instruction_computes_is_proven_of_every_size_and_order() {
    for (size, order) in (0..4_u32).flat_map(|size| (0..4_u32).map(move |order| (size, order))) {
        let (acquire, release) = (order & 1, order >> 1);
        let (old, new) = nand_by_size_and_order(size, order);
        let cas = new[4];
        let proof = prove_retrying(&filled(&old), &filled(&new), &[]);
        let proof = proof.unwrap_or_else(|refusal| panic!("size {size}, order {order}: {refusal}"));
        assert_eq!((proof.size, proof.acquire, proof.release), (1 << size, acquire == 1, release == 1));
        if acquire == 1 {
            let weaker = with(&new, &[(4, cas & !(1 << 22))]);
            assert_eq!(reason(&refusal(&old, &weaker)), Reason::Different(Difference::Acquire));
        }
        if release == 1 {
            let weaker = with(&new, &[(4, cas & !(1 << 15))]);
            assert_eq!(reason(&refusal(&old, &weaker)), Reason::Different(Difference::Release));
        }
        // It is no replacement where nothing may be tried again.
        assert!(prove(&filled(&old), &filled(&new)).is_err());
    }
}

/// `eor w2, w2, w4` is 0 where the guess was right, and what was computed from the guess is the same; but the
/// guess was read by another load.
#[test]
fn what_is_computed_from_the_guess_alone_depends_on_the_access_no_longer() {
    for (order, is_ordered) in [(0, false), (1, true), (2, false), (3, true)] {
        let (old, new) = nand_by_size_and_order(2, order);
        let proven = prove_retrying(&filled(&old), &filled(&new[..9]), &[]);
        assert_eq!(proven.is_ok(), is_ordered, "{order}");
        if let Err(refusal) = proven {
            assert_eq!(reason(&refusal), Reason::Different(Difference::Dependency(3)));
        }
        let dead = [Dead { exit: 12, registers: 1 << 3 }];
        assert!(prove_retrying(&filled(&old), &filled(&new[..9]), &dead).is_ok(), "{order}");
    }
}

#[test]
fn a_multiplication_costs_no_search() {
    // ldxr w2, [x0]; madd w3, w2, w1, w5; stxr w4, w3, [x0]; cbnz w4, #-12
    let old = [0x885f7c02, 0x1b011443, 0x88047c03, 0x35ffffa4];
    // cbnz w2, #-20 and the body once more
    let new = [RETRY[0], old[1], RETRY[3], RETRY[4], RETRY[5], 0x35ffff62, RETRY[7], old[1], RETRY[8]];
    let proof = prove_retrying(&filled(&old), &filled(&new), &[]).expect("the same");
    assert!(!proof.searched);
}

#[test]
fn a_scratch_register_must_be_dead() {
    // ldxr w2, [x0]; and w2, w2, w1; mvn w2, w2; stxr w4, w2, [x0]; cbnz w4, #-16
    let old = [0x885f7c02, 0x0a010042, 0x2a2203e2, 0x88047c02, 0x35ffff84];
    let new = [
        0xb9400010, // ldr   w16, [x0]
        0x2a1003e2, // mov   w2, w16
        0x0a010042, // and   w2, w2, w1
        0x2a2203e2, // mvn   w2, w2
        0x2a1003e4, // mov   w4, w16
        0x88a47c02, // cas   w4, w2, [x0]
        0x4a040210, // eor   w16, w16, w4
        0x35ffff30, // cbnz  w16, #-28
        0x2a0403e2, // mov   w2, w4
        0x0a010042, // and   w2, w2, w1
        0x2a2203e2, // mvn   w2, w2
        0x2a1f03e4, // mov   w4, wzr
    ];
    let dead = |registers| [Dead { exit: 12, registers }];
    assert_eq!(reason(&refusal(&old, &new)), Reason::Different(Difference::Register(16)));
    assert!(prove_retrying(&filled(&old), &new, &dead(1 << 16)).is_ok());
    assert!(prove_retrying(&filled(&old), &new, &dead(1 << 17)).is_err());
    let prover = Prover::default();
    assert!(prover.prove_retrying(&filled(&old), &new, &dead(1 << 16)).is_ok());
    assert!(prover.prove_retrying(&filled(&old), &new, &[]).is_err());
}

#[test]
fn a_wrong_retry_is_refused_with_the_right_reason() {
    let retry = |changes: &[(usize, u32)]| reason(&refusal(&NAND, &with(&RETRY, changes)));
    let new = |at, cause| Reason::New(at, cause);
    assert!(prove_retrying(&filled(&NAND), &filled(&RETRY), &[]).is_ok());
    assert_eq!(retry(&[(0, 0x39400002)]), new(4, Cause::Unpaired)); // ldrb w2, [x0]
    assert_eq!(retry(&[(0, 0xf9400002)]), new(4, Cause::Unpaired)); // ldr x2, [x0]
    assert_eq!(retry(&[(0, 0xb9400022)]), new(4, Cause::Unpaired)); // ldr w2, [x1]
    assert_eq!(retry(&[(0, 0xb9400402)]), new(0, Cause::Access)); // ldr w2, [x0, #4]
    assert_eq!(retry(&[(3, 0x2a0303e4)]), new(4, Cause::Unpaired)); // mov w4, w3
    assert_eq!(retry(&[(3, 0x12003c44)]), new(4, Cause::Unpaired)); // and w4, w2, #0xffff
    assert_eq!(retry(&[(1, 0xb9400003)]), new(1, Cause::Access)); // ldr w3, [x0]
    assert_eq!(retry(&[(3, 0xd5033bbf)]), new(3, Cause::Barrier)); // dmb ish
    assert_eq!(retry(&[(4, 0xb8208043)]), new(4, Cause::Access)); // swp w0, w3, [x2]
    assert_eq!(retry(&[(4, 0x88a47c02)]), Reason::Different(Difference::Memory)); // cas w4, w2, [x0]
    assert_eq!(retry(&[(7, NOP)]), Reason::Different(Difference::Register(2)));
    assert_eq!(retry(&[(8, NOP)]), Reason::Different(Difference::Register(4)));
    // Left whatever the compare-and-swap found; back to the second instruction only.
    for branch in [NOP, 0x35000042] {
        assert_eq!(refusal(&NAND, &with(&RETRY, &[(6, branch)])), Refusal::Retry, "{branch:08x}");
    }
    assert_eq!(retry(&[(6, 0x35ffff62)]), new(1, Cause::Endless)); // cbnz w2, #-20
    // Back where it succeeded: that is nowhere.
    assert_ne!(retry(&[(6, 0x34ffff42)]), Reason::Different(Difference::Memory)); // cbz w2, #-24
    // With a load it does not come before: nothing was guessed.
    assert_eq!(retry(&[(0, NOP)]), new(4, Cause::Unpaired));
}

/// `ldxr w2, [x0]; add w5, w5, w2; stxr w4, w5, [x0]; cbnz w4, #-12`: the sum grows with each try, here as
/// there, but in the proof the old loop is passed once.
pub(crate) fn growing_sum() -> ([u32; 4], [u32; 8]) {
    let old = [0x885f7c02, 0x0b0200a5, 0x88047c05, 0x35ffffa4];
    (old, [RETRY[0], old[1], RETRY[3], 0x88a47c05, RETRY[5], 0x35ffff62, RETRY[7], RETRY[8]])
}

/// `ldxr w2, [x0]; cset w3, eq; cmp w2, w1; stxr w4, w3, [x0]; cbnz w4, #-16`: flags that the first
/// instruction of the body reads, and its last one sets.
pub(crate) fn flags_of_the_last_try() -> ([u32; 5], [u32; 9]) {
    let old = [0x885f7c02, 0x1a9f17e3, 0x6b01005f, 0x88047c03, 0x35ffff84];
    (old, [RETRY[0], old[1], old[2], RETRY[3], RETRY[4], RETRY[5], RETRY[6], RETRY[7], RETRY[8]])
}

#[test]
fn what_a_failed_try_changes_is_not_read_by_the_next() {
    let (old, new) = growing_sum();
    let refused = refusal(&old, &new);
    assert!(matches!(refused, Refusal::Different { .. }), "{refused}");
    let (old, new) = flags_of_the_last_try();
    let refused = refusal(&old, &new);
    assert!(matches!(refused, Refusal::Different { .. }), "{refused}");
    // Set before they are read it is the same.
    let swapped = |words: &[u32]| with(words, &[(1, old[2]), (2, old[1])]);
    let again = [swapped(&new), vec![old[2], old[1]]].concat();
    assert!(prove_retrying(&filled(&swapped(&old)), &filled(&again), &[]).is_ok());
}

#[test]
fn every_flipped_bit_of_a_retry_is_refused_or_known_to_be_idle() {
    let mut accepted = Vec::new();
    for (at, bit) in (0..RETRY.len()).flat_map(|at| (0..32).map(move |bit| (at, bit))) {
        let word = RETRY[at] ^ 1 << bit;
        if prove_retrying(&filled(&NAND), &filled(&with(&RETRY, &[(at, word)])), &[]).is_ok() {
            accepted.push((at, word));
        }
    }
    for (at, word) in &accepted {
        // Zero moved in other instructions, wider copies of what has no high bits, stronger order, and other
        // instructions for the same.
        println!("{at}: {word:08x}");
    }
    assert!(accepted.len() < 36, "{accepted:x?}");
    let side = |refusal: &Refusal| matches!(refusal, Refusal::Instruction { side: Side::New, .. });
    assert!(side(&refusal(&NAND, &with(&RETRY, &[(4, 0x88247c03)]))));
}
