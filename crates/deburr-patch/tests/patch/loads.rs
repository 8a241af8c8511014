//! Sequences of plain loads: Go's epilogues, and what may not take their place.

use crate::states::Random;
use crate::{Reason, agree_in, reason, words};
use deburr_core::Svma;
use deburr_core::insn::disassemble;
use deburr_core::insn::text::Syntax;
use deburr_cpu::Arch;
use deburr_patch::{Cause, Difference, Proof, Refusal, State, prove, prove_loads};

/// `ldp x29, x30, [sp, #-8]; add sp, sp, #by` and `ldur x29, [sp, #-8]; ldr x30, [sp], #by`.
pub(crate) fn epilogue(by: u32) -> ([u32; 2], [u32; 2]) {
    ([0xa97f_fbfd, 0x9100_03ff | by << 10], [0xf85f_83fd, 0xf840_07fe | (by & 0x1ff) << 12])
}

fn states(count: usize) -> Vec<State> {
    let mut random = Random(23);
    let mut states = crate::states::states(count);
    states.iter_mut().for_each(|state| state.loads = (0..4).map(|_| random.value()).collect());
    states
}

/// What the prover says, compared with the interpreter.
fn judged(old: &[u32], new: &[u32]) -> Result<Proof, Refusal> {
    let answer = prove_loads(old, new);
    match &answer {
        Ok(_) => {
            let apart = states(256).into_iter().find(|state| !agree_in(old, new, state));
            assert_eq!(apart, None, "{old:x?} {new:x?}");
        }
        Err(Refusal::Different { state, difference }) => {
            assert!(!agree_in(old, new, state), "{difference}: {old:x?} {new:x?} {state:x?}");
        }
        Err(_) => {}
    }
    answer
}

#[test]
fn every_epilogue_that_fits_the_field_is_proven() {
    for by in 0..256 {
        let (old, new) = epilogue(by);
        let proof = judged(&old, &new).unwrap_or_else(|refusal| panic!("{by}: {refusal}"));
        assert_eq!(proof, Proof { size: 8, acquire: false, release: false, searched: false });
    }
    let (old, new) = epilogue(256);
    assert_eq!(
        judged(&old, &new).map_err(|refusal| reason(&refusal)),
        Err(Reason::Different(Difference::StackPointer))
    );
}

#[test]
fn what_loads_otherwise_is_refused() {
    const LDP: (u32, &str) = (0xa97ffbfd, "ldp x29, x30, [sp, #-8]");
    const ADD: (u32, &str) = (0x9100c3ff, "add sp, sp, #0x30");
    const LDUR: (u32, &str) = (0xf85f83fd, "ldur x29, [sp, #-8]");
    const LDR: (u32, &str) = (0xf84307fe, "ldr x30, [sp], #48");
    const NOP: (u32, &str) = (0xd503201f, "nop");
    let different = |difference| Err(Reason::Different(difference));
    type Words = &'static [(u32, &'static str)];
    let cases: [(Words, Words, Result<(), Reason>); 18] = [
        (&[LDP, ADD], &[LDUR, LDR], Ok(())),
        (&[LDP, ADD], &[LDP, ADD], Ok(())),
        // The order of the two: what another thread stores between is seen by one only.
        (
            &[LDP, ADD],
            &[(0xf84307fe, "ldr x30, [sp], #48"), (0xf85c83fd, "ldur x29, [sp, #-56]")],
            different(Difference::Address),
        ),
        (
            &[LDP, ADD],
            &[(0xf85f83fe, "ldur x30, [sp, #-8]"), (0xf84307fd, "ldr x29, [sp], #48")],
            different(Difference::Register(29)),
        ),
        (&[LDP, ADD], &[LDUR, (0xf84387fe, "ldr x30, [sp], #56")], different(Difference::StackPointer)),
        (&[LDP, ADD], &[(0xf85f03fd, "ldur x29, [sp, #-16]"), LDR], different(Difference::Address)),
        (&[LDP, ADD], &[LDUR, (0xf84007fe, "ldr x30, [sp], #0")], different(Difference::StackPointer)),
        (&[LDP, ADD], &[LDUR, ADD], different(Difference::Loads)),
        (&[LDP, ADD, NOP], &[LDUR, LDR, (0xaa1f03e0, "mov x0, xzr")], different(Difference::Register(0))),
        (
            &[LDP, ADD, NOP],
            &[LDUR, LDR, (0xf1000400, "subs x0, x0, #0x1")],
            different(Difference::Register(0)),
        ),
        (&[LDP, ADD, NOP], &[LDUR, LDR, (0xeb1f03ff, "cmp xzr, xzr")], different(Difference::Flags)),
        (&[LDP, ADD, NOP], &[LDUR, LDR, (0x14000002, "b 0x10")], different(Difference::Exit)),
        (&[LDP, ADD, NOP], &[LDUR, LDR, (0xd5033bbf, "dmb ish")], Err(Reason::New(2, Cause::Barrier))),
        (&[LDP, ADD, NOP], &[LDUR, LDR, (0xd5033f5f, "clrex #0xf")], Err(Reason::New(2, Cause::Access))),
        (&[LDP, ADD, NOP], &[LDUR, LDR, (0xc85f7c01, "ldxr x1, [x0]")], Err(Reason::New(2, Cause::Access))),
        (
            &[LDP, ADD, NOP],
            &[LDUR, LDR, (0xb8e18002, "swpal w1, w2, [x0]")],
            Err(Reason::New(2, Cause::Access)),
        ),
        (&[LDP, ADD, NOP], &[LDUR, LDR, (0xf90003e0, "str x0, [sp]")], Err(Reason::New(2, Cause::Access))),
        (&[NOP], &[NOP], Err(Reason::NoAccess(deburr_patch::Side::Old))),
    ];
    for (old, new, expected) in cases {
        for (index, (word, text)) in old.iter().enumerate().chain(new.iter().enumerate()) {
            let decoded =
                disassemble(Arch::Aarch64, &word.to_le_bytes(), Svma(4 * index as u64), Syntax::Att);
            assert_eq!(decoded.as_deref(), Some(*text), "{word:#010x}");
        }
        let [old, new] =
            [old, new].map(|sequence| sequence.iter().map(|(word, _)| *word).collect::<Vec<_>>());
        let answer = judged(&old, &new).map(|_| ()).map_err(|refusal| reason(&refusal));
        assert_eq!(answer, expected, "{old:x?} {new:x?}");
    }
}

/// Pairs that one register or an aligned address makes something else, and other sizes.
#[test]
fn loads_of_other_kinds_are_not_understood() {
    let others: [(u32, &str); 13] = [
        (0xa9407bfd, "ldp x29, x30, [sp]"),      // 16 bytes at once, by FEAT_LSE2
        (0xa97f8801, "ldp x1, x2, [x0, #-8]"),   // the same, if x0 is not aligned
        (0xa97ff7fd, "ldp x29, x29, [sp, #-8]"), // constrained unpredictable
        (0xa8c17bfd, "ldp x29, x30, [sp], #16"),
        (0xa9c17bfd, "ldp x29, x30, [sp, #16]!"),
        (0x297ffbfd, "ldp w29, w30, [sp, #-4]"),
        (0xf8430400, "ldr x0, [x0], #48"), // constrained unpredictable
        (0xf84307be, "ldr x30, [x29], #48"),
        (0xb84307be, "ldr w30, [x29], #48"),
        (0xf9400be0, "ldr x0, [sp, #0x10]"),
        (0xb85f83fd, "ldur w29, [sp, #-8]"),
        (0xf84308a0, "ldtr x0, [x5, #48]"),
        (0xf8430fa0, "ldr x0, [x29, #48]!"),
    ];
    for (word, text) in others {
        let decoded = disassemble(Arch::Aarch64, &word.to_le_bytes(), Svma(0), Syntax::Att);
        assert!(
            decoded.as_deref() == Some(text) || decoded.is_none(),
            "{word:#010x}: {decoded:?}, not {text}"
        );
        let answer = prove_loads(&[word], &[word]).map_err(|refusal| reason(&refusal));
        let understood = text.starts_with("ldr x30");
        let expected = if understood { Ok(()) } else { Err(Reason::Old(0, Cause::Access)) };
        assert_eq!(answer.map(|_| ()), expected, "{text}");
    }
}

#[test]
fn plain_loads_are_no_atomics_and_atomics_no_plain_loads() {
    let (old, new) = epilogue(48);
    assert_eq!(prove(&old, &new).map_err(|refusal| reason(&refusal)), Err(Reason::Old(0, Cause::Access)));
    for pair in crate::pairs::PAIRS.iter() {
        assert!(prove_loads(&words(pair.old), &words(pair.new)).is_err(), "{}", pair.name);
    }
}

#[test]
fn every_flipped_bit_of_an_epilogue_is_refused_or_changes_nothing() {
    let mut accepted = Vec::new();
    for by in [0, 16, 48, 255] {
        let (old, new) = epilogue(by);
        for (index, bit) in (0..2).flat_map(|index| (0..32).map(move |bit| (index, bit))) {
            let mut mutant = new;
            mutant[index] ^= 1 << bit;
            if judged(&old, &mutant).is_ok() {
                accepted.push(mutant);
            }
            let mut mutant = old;
            mutant[index] ^= 1 << bit;
            if judged(&mutant, &new).is_ok() {
                accepted.push(mutant);
            }
        }
    }
    // Nothing added: `add sp, sp, #0` shifted, `sub sp, sp, #0`, and `ldur x30, [sp]`.
    assert_eq!(accepted.len(), 3, "{accepted:x?}");
    assert!(
        [0x9140_03ff, 0xd100_03ff, 0xf840_03fe]
            .iter()
            .all(|word| accepted.iter().any(|mutant| mutant[1] == *word))
    );
}
