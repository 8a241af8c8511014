//! The facts of known words, and the sweep compared with [`decode`] and the prefilter with the decoder.

use super::*;
use crate::Svma;
use crate::address::CodeOffset;
use crate::insn::sweep::{BackEdge, Edge, Interest, Loops, ReferenceKind, Sweep, Wants};
use crate::insn::{Class, ClassSet, Condition, Flow, Insn, Operation, Ordering, Reg};
use deburr_cpu::Feature;

const HERE: Svma = Svma(0x40_0000);

fn insn(word: u32) -> Insn {
    decode(&word.to_le_bytes(), HERE).unwrap_or_else(|| panic!("{word:#010x} decodes"))
}

fn features(word: u32) -> Vec<Feature> {
    features_of(insn(word).features).iter().collect()
}

fn x(n: u8) -> Option<Reg> {
    Some(Reg::general(n))
}

/// A generator of words (xorshift64*), so that every run tests the same ones.
fn random_words(seed: u64) -> impl Iterator<Item = u32> {
    let mut state = seed | 1;
    core::iter::repeat_with(move || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    })
}

#[test]
fn classes_and_operations_follow_the_mnemonic() {
    use Class as C;
    use Operation as O;
    let words = [
        (0x885f7c20, C::LoadExclusive, O::Other),             // ldxr w0, [x1]
        (0xc85fffe2, C::LoadExclusive, O::Other),             // ldaxr x2, [sp]
        (0xc87f94c4, C::LoadExclusive, O::Other),             // ldaxp x4, x5, [x6]
        (0x88117c62, C::StoreExclusive, O::Other),            // stxr w17, w2, [x3]
        (0xc82794c4, C::StoreExclusive, O::Other),            // stxp w7, x4, x5, [x6]
        (0xd5033f5f, C::ClearExclusive, O::Other),            // clrex
        (0x88a07c41, C::LseAtomic, O::CompareSwap),           // cas w0, w1, [x2]
        (0x48607c82, C::LseAtomic, O::CompareSwap),           // caspa x0, x1, x2, x3, [x4]
        (0xb8608041, C::LseAtomic, O::Swap),                  // swpl w0, w1, [x2]
        (0xf8e300a4, C::LseAtomic, O::FetchAdd),              // ldaddal x3, x4, [x5]
        (0xb8a11062, C::LseAtomic, O::FetchAndNot),           // ldclra w1, w2, [x3]
        (0xf8213062, C::LseAtomic, O::FetchOr),               // ldset x1, x2, [x3]
        (0xb8612062, C::LseAtomic, O::FetchXor),              // ldeorl w1, w2, [x3]
        (0x38214062, C::LseAtomic, O::FetchMinMax),           // ldsmaxb w1, w2, [x3]
        (0x88dffc20, C::Load, O::Other),                      // ldar w0, [x1]
        (0xc89ffc20, C::Store, O::Other),                     // stlr x0, [x1]
        (0x0b020020, C::Other, O::Add),                       // add w0, w1, w2
        (0x910003fd, C::Other, O::Move),                      // mov x29, sp
        (0xf1000420, C::Other, O::Sub),                       // subs x0, x1, #1
        (0x4b0103e0, C::Other, O::Sub),                       // neg w0, w1
        (0x71001c1f, C::Other, O::Compare),                   // cmp w0, #7
        (0x3100041f, C::Other, O::CompareNegative),           // cmn w0, #1
        (0x8a020020, C::Other, O::And),                       // and x0, x1, x2
        (0x0a220020, C::Other, O::AndNot),                    // bic w0, w1, w2
        (0x2a020020, C::Other, O::Or),                        // orr w0, w1, w2
        (0xaa220020, C::Other, O::OrNot),                     // orn x0, x1, x2
        (0xd2400c20, C::Other, O::Xor),                       // eor x0, x1, #0xf
        (0x4a220020, C::Other, O::XorNot),                    // eon w0, w1, w2
        (0x7200001f, C::Other, O::Test),                      // tst w0, #1
        (0xea01001f, C::Other, O::Test),                      // tst x0, x1
        (0xaa0003f0, C::Other, O::Move),                      // mov x16, x0
        (0xf2a00020, C::Other, O::MoveKeep),                  // movk x0, #1, lsl #16
        (0xfa410000, C::Other, O::ConditionalCompare),        // ccmp x0, x1, #0, eq
        (0x1a9f07e0, C::Other, O::SetCondition),              // cset w0, ne
        (0x13001c20, C::Other, O::Extend),                    // sxtb w0, w1
        (0x53001c10, C::Other, O::Extend),                    // uxtb w16, w0
        (0x93407c20, C::Other, O::Extend),                    // sxtw x0, w1
        (0xd3431820, C::Other, O::ExtractBits),               // ubfx x0, x1, #3, #4
        (0x34000070, C::Other, O::BranchZero),                // cbz w16, #12
        (0x54ffffe1, C::Other, O::BranchCondition),           // b.ne #-4
        (0xd5033bbf, C::Barrier, O::Other),                   // dmb ish
        (0xd5033f9f, C::Barrier, O::Other),                   // dsb sy
        (0xd5033fdf, C::InstructionBarrier, O::Other),        // isb
        (0xd503201f, C::Hint, O::Other),                      // nop
        (0xd503245f, C::Hint, O::Other),                      // bti c
        (0xd503203f, C::SpinHint, O::Other),                  // yield
        (0xd503205f, C::WaitEvent, O::Other),                 // wfe
        (0xf9800400, C::Other, O::Prefetch),                  // prfm pldl1keep, [x0, #8]
        (0xd5380600, C::FeatureQuery, O::ReadSystemRegister), // mrs x0, ID_AA64ISAR0_EL1
        (0xd53b4200, C::Other, O::Other),                     // mrs x0, NZCV
        (0xd4000001, C::SystemCall, O::Other),                // svc #0
        (0xd4200020, C::Trap, O::Other),                      // brk #1
        (0x00000000, C::Trap, O::Other),                      // udf #0
    ];
    for (word, class, operation) in words {
        assert_eq!((insn(word).class, insn(word).operation), (class, operation), "{word:#010x}");
    }
}

#[test]
fn features_follow_the_instruction() {
    use Feature::*;
    let words: &[(u32, &[Feature])] = &[
        (0x8b020c20, &[]),             // add x0, x1, x2, lsl #3
        (0xd503233f, &[]),             // paciasp
        (0xd5033f9f, &[]),             // dsb sy
        (0x1e622820, &[FEAT_FP]),      // fadd d0, d1, d2
        (0xfc1f8020, &[FEAT_FP]),      // stur d0, [x1, #-8]
        (0x4ea28420, &[FEAT_ASIMD]),   // add v0.4s, v1.4s, v2.4s
        (0x0e22e020, &[FEAT_ASIMD]),   // pmull v0.8h, v1.8b, v2.8b
        (0x0ee2e020, &[FEAT_PMULL]),   // pmull v0.1q, v1.1d, v2.1d
        (0x4e284820, &[FEAT_AES]),     // aese v0.16b, v1.16b
        (0x5e024020, &[FEAT_SHA256]),  // sha256h q0, q1, v2.4s
        (0x5e020020, &[FEAT_SHA1]),    // sha1c q0, s1, v2.4s
        (0xce628020, &[FEAT_SHA512]),  // sha512h q0, q1, v2.2d
        (0xce020c20, &[FEAT_SHA3]),    // eor3 v0.16b, v1.16b, v2.16b, v3.16b
        (0x4e829420, &[FEAT_DotProd]), // sdot v0.4s, v1.16b, v2.16b
        (0x9ac24c20, &[FEAT_CRC32]),   // crc32x w0, w1, x2
        (0x1ee22820, &[FEAT_FP16]),    // fadd h0, h1, h2
        (0x6e82e420, &[FEAT_FCMA]),    // fcadd v0.4s, v1.4s, v2.4s, #90
        (0x1e7e0020, &[FEAT_JSCVT]),   // fjcvtzs w0, d1
        (0x6e42fc20, &[FEAT_BF16]),    // bfdot v0.4s, v1.8h, v2.8h
        (0x6e828420, &[FEAT_RDM]),     // sqrdmlah v0.4s, v1.4s, v2.4s
        (0x4e22ec20, &[FEAT_FHM]),     // fmlal v0.4s, v1.4h, v2.4h
        (0xba008402, &[FEAT_FlagM]),   // rmif x0, #1, #2
        (0xd500405f, &[FEAT_FlagM2]),  // axflag
        (0x1e684020, &[FEAT_FRINTTS]), // frint32z d0, d1
        (0xd50330ff, &[FEAT_SB]),      // sb
        (0xd53b2400, &[FEAT_RNG]),     // mrs x0, RNDR
        (0xd503415f, &[FEAT_DIT]),     // msr DIT, #1
        (0xd50b7c20, &[FEAT_DPB]),     // dc cvap, x0
        (0xd50b7420, &[]),             // dc zva, x0
        (0xb8bfc020, &[FEAT_LRCPC]),   // ldapr w0, [x1]
        (0xd95f8020, &[FEAT_LRCPC2]),  // ldapur x0, [x1, #-8]
        (0xf8e300a4, &[FEAT_LSE]),     // ldaddal x3, x4, [x5]
        (0xdac10020, &[FEAT_PAuth]),   // pacia x0, x1
        (0xd65f0bff, &[FEAT_PAuth]),   // retaa
        (0x04a20020, &[FEAT_SVE]),     // add z0.s, z1.s, z2.s
        (0xd503477f, &[FEAT_SME]),     // smstart
        (0x9adf1020, &[FEAT_MTE]),     // irg x0, x1
        (0x91800420, &[FEAT_MTE]),     // addg x0, x1, #0, #1
        (0xd1810020, &[FEAT_MTE]),     // subg x0, x1, #16, #0
        (0x5f7ae500, &[FEAT_ASIMD]),   // scvtf d0, d8, #6
        (0x5f1ae500, &[FEAT_FP16]),    // scvtf h0, h8, #6
        (0x4f3ae500, &[FEAT_ASIMD]),   // scvtf v0.4s, v8.4s, #6
        (0x4f000401, &[FEAT_ASIMD]),   // movi v1.4s, #0
        (0x4f00fc01, &[FEAT_FP16]),    // fmov v1.8h, #2.0
        (0x88df7c20, &[FEAT_LOR]),     // ldlar w0, [x1]
        (0xd5033bbf, &[]),             // dmb ish
    ];
    for (word, expected) in words {
        assert_eq!(features(*word), *expected, "{word:#010x}");
    }
}

#[test]
fn an_exclusive_names_its_registers_and_its_order() {
    let store = insn(0xc82794c4 | 1 << 15); // stlxp w7, x4, x5, [x6]
    assert_eq!((store.dst, store.src), (x(7), [x(4), x(5), None]));
    assert_eq!(store.ordering, Ordering { acquire: false, release: true });
    let memory = store.memory.unwrap();
    assert_eq!((memory.base, memory.size, memory.write), (x(6), 16, true));
    let load = insn(0x085ffc08); // ldaxrb w8, [x0]
    assert_eq!((load.dst, load.ordering.acquire, load.memory.unwrap().size), (x(8), true, 1));
    let plain = insn(0x885f7c20); // ldxr w0, [x1]
    assert_eq!(plain.ordering, Ordering::default());
}

#[test]
fn an_lse_atomic_names_its_registers_and_its_order() {
    let cas = insn(0xc8e3fca4); // casal x3, x4, [x5]
    assert_eq!((cas.dst, cas.src, cas.width), (x(3), [x(3), x(4), None], 8));
    assert_eq!(cas.ordering, Ordering { acquire: true, release: true });
    let pair = insn(0x48607c82); // caspa x0, x1, x2, x3, [x4]
    assert_eq!((pair.memory.unwrap().size, pair.ordering.release), (16, false));
    assert!(
        [1, 3].iter().all(|&n| pair.reads.contains(Reg::general(n))) && pair.writes.contains(Reg::general(1))
    );
    let swap = insn(0xb8608041); // swpl w0, w1, [x2]
    assert_eq!(
        (swap.dst, swap.src[0], swap.ordering),
        (x(1), x(0), Ordering { acquire: false, release: true })
    );
    let store = insn(0xb82600ff); // stadd w6, [x7]
    assert_eq!((store.dst, store.src[0], store.memory.unwrap().base), (None, x(6), x(7)));
}

#[test]
fn register_31_is_the_stack_pointer_or_the_zero_register() {
    assert_eq!(insn(0x910003fd).src[0], Some(Reg::SP)); // mov x29, sp
    assert_eq!(insn(0xd10083ff).dst, Some(Reg::SP)); // sub sp, sp, #32
    assert_eq!((insn(0x4b0103e0).src, insn(0x4b0103e0).dst), ([None, x(1), None], x(0))); // neg w0, w1
    assert_eq!(insn(0x71001c1f).dst, None); // cmp w0, #7
    assert_eq!(insn(0x2a2103e0).src, [None, x(1), None]); // mvn w0, w1
    assert_eq!(insn(0x2a0003f0).src, [x(0), None, None]); // mov w16, w0
}

#[test]
fn only_a_plain_immediate_is_one() {
    assert_eq!(insn(0x917ffc20).imm, Some(4095 << 12)); // add x0, x1, #4095, lsl #12
    assert_eq!(insn(0x12089c20).imm, Some(0xff00_ff00)); // and w0, w1, #0xff00ff00
    assert_eq!(insn(0x12800020).imm, Some(0xffff_fffe)); // mov w0, #-2
    assert_eq!(insn(0xd2a24680).imm, Some(0x1234_0000)); // mov x0, #0x12340000
    assert_eq!(insn(0x32009fe0).imm, Some(0x00ff_00ff)); // mov w0, #0x00ff00ff
    assert_eq!(insn(0x7a451804).imm, Some(5)); // ccmp w0, #5, #4, ne
    let shifted = insn(0x8b020c20); // add x0, x1, x2, lsl #3
    assert_eq!((shifted.imm, shifted.modified), (None, true));
    assert!(insn(0x6b21011f).modified); // cmp w8, w1, uxtb
    assert!(!insn(0xeb01001f).modified); // cmp x0, x1
}

#[test]
fn shifts_and_extractions_show_where_the_bits_come_from() {
    use Operation as O;
    let one = [x(1), None, None];
    for (word, operation, src, imm) in [
        (0xd37cec20, O::ShiftLeft, one, Some(4)),             // lsl x0, x1, #4
        (0x531e7420, O::ShiftLeft, one, Some(2)),             // lsl w0, w1, #2
        (0xd340fc20, O::ShiftRight, one, Some(0)),            // lsr x0, x1, #0
        (0xd360fc20, O::ShiftRight, one, Some(32)),           // lsr x0, x1, #32
        (0x53047c20, O::ShiftRight, one, Some(4)),            // lsr w0, w1, #4
        (0x9ac22020, O::ShiftLeft, [x(1), x(2), None], None), // lsl x0, x1, x2
        (0x1ac22420, O::ShiftRight, [x(1), x(2), None], None), // lsr w0, w1, w2
        (0xd3431820, O::ExtractBits, one, Some(3 | 4 << 8)),  // ubfx x0, x1, #3, #4
        (0x53051420, O::ExtractBits, one, Some(5 | 1 << 8)),  // ubfx w0, w1, #5, #1
        (0xd3400420, O::ExtractBits, one, Some(2 << 8)),      // ubfx x0, x1, #0, #2
        (0xd37c0c20, O::Other, one, None),                    // ubfiz x0, x1, #4, #4
        (0x13047c20, O::ShiftRightSigned, one, Some(4)),      // asr w0, w1, #4
        (0x9ac22820, O::Other, [x(1), x(2), None], None),     // asr x0, x1, x2
        (0x93431820, O::Other, one, None),                    // sbfx x0, x1, #3, #4
        (0xb3431820, O::Other, [x(1), x(0), None], None),     // bfxil x0, x1, #3, #4
        (0x53003c20, O::Extend, one, Some(2)),                // uxth w0, w1
    ] {
        let insn = insn(word);
        assert_eq!((insn.operation, insn.dst, insn.src), (operation, x(0), src), "{word:#010x}");
        assert_eq!(insn.imm, imm, "{word:#010x}");
    }
}

const CONDITIONS: [Option<Condition>; 16] = [
    Some(Condition::Equal),
    Some(Condition::NotEqual),
    Some(Condition::UnsignedGreaterEqual), // cs, hs
    Some(Condition::UnsignedLess),         // cc, lo
    Some(Condition::Negative),             // mi
    Some(Condition::NotNegative),          // pl
    Some(Condition::Other),                // vs
    Some(Condition::Other),                // vc
    Some(Condition::UnsignedGreater),      // hi
    Some(Condition::UnsignedLessEqual),    // ls
    Some(Condition::SignedGreaterEqual),
    Some(Condition::SignedLess),
    Some(Condition::SignedGreater),
    Some(Condition::SignedLessEqual),
    None, // al
    None, // nv
];

#[test]
fn every_condition_is_decoded_of_branches_selections_and_comparisons() {
    for (code, condition) in (0u32..).zip(CONDITIONS) {
        let branch = insn(0x54ffffe0 | code); // b.eq #-4
        let select = insn(0x9a820020 | code << 12); // csel x0, x1, x2, eq
        let compare = insn(0xfa410000 | code << 12); // ccmp x0, x1, #0, eq
        assert_eq!((branch.operation, branch.condition), (Operation::BranchCondition, condition), "{code}");
        assert_eq!((select.operation, select.condition), (Operation::Select, condition), "{code}");
        assert_eq!(
            (compare.operation, compare.condition),
            (Operation::ConditionalCompare, condition),
            "{code}"
        );
        assert_eq!((select.dst, select.src), (x(0), [x(1), x(2), None]));
        // csinc x0, x1, x2, eq; csinv x0, x1, x2, eq; csneg x0, x1, x2, eq; csneg x0, xzr, xzr, eq
        for word in [0x9a820420, 0xda820020, 0xda820420, 0xda9f07e0] {
            let changed = insn(word | code << 12);
            assert_eq!((changed.operation, changed.condition), (Operation::Select, None), "{code}");
        }
    }
}

#[test]
fn a_set_has_the_condition_under_which_the_result_is_not_zero() {
    for (code, condition) in (0u32..14).zip(CONDITIONS) {
        let one = insn(0x1a9f07e0 | (code ^ 1) << 12); // cset w0, code
        let ones = insn(0xda9f03e0 | (code ^ 1) << 12); // csetm x0, code
        assert_eq!((one.operation, one.condition), (Operation::SetCondition, condition), "{code}");
        assert_eq!((ones.operation, ones.condition), (Operation::SetMask, condition), "{code}");
        assert_eq!((one.dst, one.src), (x(0), [None; 3]));
        assert!(one.reads.contains(Reg::FLAGS) && ones.reads.contains(Reg::FLAGS));
    }
    assert_eq!(insn(0x1a9f07e0).condition, Some(Condition::NotEqual)); // cset w0, ne
    let never = insn(0x1a9fe7e0); // csinc w0, wzr, wzr, al
    assert_eq!((never.operation, never.condition), (Operation::Select, None));
}

#[test]
fn branches_on_zero_show_which_edge() {
    use Condition::{Equal, NotEqual};
    for (word, operation, condition, imm) in [
        (0x34000070, Operation::BranchZero, Equal, None), // cbz w16, #12
        (0xb5ffffc1, Operation::BranchZero, NotEqual, None), // cbnz x1, #-8
        (0x36180040, Operation::BranchBit, Equal, Some(3)), // tbz w0, #3, #8
        (0xb70fffc0, Operation::BranchBit, NotEqual, Some(33)), // tbnz x0, #33, #-8
    ] {
        let insn = insn(word);
        assert_eq!((insn.operation, insn.condition), (operation, Some(condition)), "{word:#010x}");
        assert_eq!(insn.imm, imm, "{word:#010x}");
    }
}

#[test]
fn a_read_of_a_system_register_shows_which() {
    for (word, register) in [
        (0xd5380600, 0xc030), // mrs x0, ID_AA64ISAR0_EL1
        (0xd5380400, 0xc020), // mrs x0, ID_AA64PFR0_EL1
        (0xd5380000, 0xc000), // mrs x0, MIDR_EL1
        (0xd53bd040, 0xde82), // mrs x0, TPIDR_EL0
    ] {
        let insn = insn(word);
        assert_eq!(
            (insn.operation, insn.imm),
            (Operation::ReadSystemRegister, Some(register)),
            "{word:#010x}"
        );
        assert_eq!((insn.dst, insn.reads.contains(Reg::FLAGS)), (x(0), false));
    }
    assert_eq!((insn(0xd53b4200).operation, insn(0xd53b4200).imm), (Operation::Other, None)); // mrs x0, NZCV
    assert_eq!((insn(0xd5180600).operation, insn(0xd5180600).dst), (Operation::Other, None)); // msr S3_0_C0_C6_0, x0
}

#[test]
fn transfers_of_control_name_their_targets() {
    let target = |bytes| HERE.offset(bytes);
    assert_eq!(insn(0x14000002).flow, Flow::Jump(target(8))); // b #8
    assert_eq!(insn(0x97ffffff).flow, Flow::Call(target(-4))); // bl #-4
    assert_eq!(insn(0x54ffffe1).flow, Flow::Branch(target(-4))); // b.ne #-4
    assert_eq!(insn(0xb5ffffc1).flow, Flow::Branch(target(-8))); // cbnz x1, #-8
    assert_eq!((insn(0xb70fffc0).flow, insn(0xb70fffc0).imm), (Flow::Branch(target(-8)), Some(33))); // tbnz x0, #33, #-8
    assert_eq!(insn(0xd61f0020).flow, Flow::IndirectJump); // br x1
    assert_eq!(insn(0xd63f0020).flow, Flow::IndirectCall); // blr x1
    assert_eq!(insn(0xd65f03c0).flow, Flow::Return); // ret
    assert_eq!(insn(0x00000000).flow, Flow::Stop); // udf #0
    assert_eq!(insn(0x10000080).imm, Some(0x40_0010)); // adr x0, #16
    assert_eq!(insn(0xb0000010).imm, Some(0x40_1000)); // adrp x16, #0x1000
}

#[test]
fn memory_operands_are_read_whole() {
    let memory = |word| insn(word).memory.unwrap();
    let facts = |word| {
        let m = memory(word);
        (m.base, m.displacement, m.size, m.read, m.write, m.write_back)
    };
    assert_eq!(facts(0x39400a10), (x(16), 2, 1, true, false, false)); // ldrb w16, [x16, #2]
    assert_eq!(facts(0xf8408c20), (x(1), 8, 8, true, false, true)); // ldr x0, [x1, #8]!
    assert_eq!(facts(0xf80107fe), (Some(Reg::SP), 0, 8, false, true, true)); // str x30, [sp], #16
    assert_eq!(facts(0xa9be7bfd), (Some(Reg::SP), -32, 16, false, true, true)); // stp x29, x30, [sp, #-32]!
    assert_eq!(facts(0x29410440), (x(2), 8, 8, true, false, false)); // ldp w0, w1, [x2, #8]
    assert_eq!(facts(0xad400440), (x(2), 0, 32, true, false, false)); // ldp q0, q1, [x2]
    assert_eq!(facts(0xfc1f8020), (x(1), -8, 8, false, true, false)); // stur d0, [x1, #-8]
    assert_eq!(facts(0x4c40a000), (x(0), 0, 32, true, false, false)); // ld1 {v0.16b, v1.16b}, [x0]
    assert_eq!(facts(0x0ddf9083), (x(4), 0, 4, true, false, true)); // ld1 {v3.s}[1], [x4], #4
    assert_eq!(memory(0xb8625820).index, x(2)); // ldr w0, [x1, w2, uxtw #2]
    let literal = memory(0x58000080); // ldr x0, #16
    assert_eq!((literal.is_static, literal.displacement, literal.size), (true, 0x40_0010, 8));
}

#[test]
fn flags_are_registers() {
    for word in [0x71001c1f, 0x6a01001f, 0x1e212000, 0xfa410000] {
        // cmp w0, #7; tst w0, w1; fcmp s0, s1; ccmp x0, x1, #0, eq
        assert!(insn(word).writes.contains(Reg::FLAGS), "{word:#010x}");
    }
    for word in [0x54ffffe1, 0x1a82b020, 0xfa410000, 0xd53b4200] {
        // b.ne #-4; csel w0, w1, w2, lt; ccmp x0, x1, #0, eq; mrs x0, NZCV
        assert!(insn(word).reads.contains(Reg::FLAGS), "{word:#010x}");
    }
}

#[test]
fn reserved_operands_are_no_instruction() {
    let words = [
        0x0b00_8000, // add w0, w0, w0, lsl #32
        0x1200_7c00, // and w0, w0, #(all ones)
        0x52c0_0000, // movz w0, #0, lsl #32
        0x1340_0000, // sbfm w0, w0, #0, #0 with N set
        0xbde0_0000, // ldr of a SIMD&FP register of size 10, opc 11
        0x3820_0800, // strb w0, [x0, w0, ?] with option 000
        0xd502_3d5e, // msr with op0 0
        0x0ee0_8400, // add v0.1d, v0.1d, v0.1d
        0x4ee0_9c00, // mul v0.2d, v0.2d, v0.2d
        0x1ea0_2800, // fadd of ptype 10
        0x0f40_0400, // sshr v0.1d, v0.1d, #64
        0x6e00_e400, // fcadd v0.16b, v0.16b, v0.16b
        0x0ee1_c800, // urecpe v0.2d of one doubleword
        0x4821_7c00, // casp x1, x2, x0, x1, [x0]: an odd register
        0x6508_8000, // fabd z0.b, p0/m, z0.b, z0.b
        0x1d00_0400, // cpyp [x0]!, [x0]!, x0!: one register thrice
    ];
    for word in words {
        assert_eq!(decode(&u32::to_le_bytes(word), HERE), None, "{word:#010x}");
    }
}

#[test]
fn the_prefilter_agrees_with_the_decoder() {
    let settled = check_prefilter(random_words(7).take(1 << 23)).unwrap();
    assert!(settled > 1 << 20);
    for row in plain::rows_as_masks() {
        check_prefilter(random_words(u64::from(row.1)).take(1 << 14).map(|word| word & !row.0 | row.1))
            .unwrap();
    }
}

fn interest(wants: ClassSet, length: usize) -> Interest {
    Interest {
        wants: Wants::classes(wants),
        code_base: HERE,
        code_length: CodeOffset(length as u32),
        conditional_exits: true,
    }
}

/// Sweeps words as one unit.
fn swept(words: &[u32], wants: ClassSet) -> Sweep {
    let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut found = Sweep::default();
    let end = sweep(&code, code.len(), CodeOffset(0), &interest(wants, code.len()), &mut found);
    assert_eq!(end.0 as usize, code.len());
    assert_eq!(found.decoded + found.undecoded, code.len() as u64);
    found
}

/// What the sweep must find in words, by [`decode`].
fn assert_agrees(words: &[u32], wants: ClassSet) {
    let found = swept(words, wants);
    let mut groups = vec![0u64; feature_group_count()];
    let (mut marks, mut hits, mut calls, mut undecoded) = (vec![], vec![], vec![], 0);
    for (i, word) in words.iter().enumerate() {
        let at = i as u32 * 4;
        let Some(insn) = decode(&word.to_le_bytes(), HERE.offset(i64::from(at))) else {
            undecoded += 4;
            continue;
        };
        groups[usize::from(insn.features.0)] += 1;
        if insn.features.0 > 2 {
            hits.push((at, insn.features));
        }
        if wants.contains(insn.class) {
            marks.push((at, insn.class));
        }
        if let Flow::Call(target) = insn.flow
            && let Some(to) = target.since(HERE)
            && to < words.len() as u64 * 4
        {
            calls.push(Edge { from: CodeOffset(at), to: CodeOffset(to as u32) });
        }
    }
    assert_eq!(found.undecoded, undecoded);
    assert_eq!(found.groups, groups);
    assert_eq!(found.hits.iter().map(|hit| (hit.at.0, hit.group)).collect::<Vec<_>>(), hits);
    assert_eq!(found.marks.iter().map(|mark| (mark.at.0, mark.class)).collect::<Vec<_>>(), marks);
    assert_eq!(found.calls, calls);
}

const RARE: ClassSet =
    ClassSet::of(&[Class::LoadExclusive, Class::StoreExclusive, Class::LseAtomic, Class::Barrier]);
const COMMON: ClassSet = ClassSet::of(&[Class::Load, Class::Store, Class::Hint, Class::Trap]);

#[test]
fn sweep_and_decode_agree_on_random_words() {
    let words: Vec<u32> = random_words(3).take(1 << 22).collect();
    assert_agrees(&words, RARE);
    assert_agrees(&words, COMMON);
}

#[test]
fn sweep_and_decode_agree_on_compiled_code() {
    let code = include_bytes!("../../../tests/image/text-aarch64.bin");
    let words: Vec<u32> = code.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    assert_agrees(&words, RARE);
    assert_agrees(&words, COMMON);
    let found = swept(&words, RARE);
    assert_eq!(found.undecoded, 0);
    let mut features = deburr_cpu::FeatureSet::default();
    for hit in &found.hits {
        features = features.union(features_of(hit.group));
    }
    use Feature::*;
    for feature in [FEAT_LSE, FEAT_CRC32, FEAT_DotProd, FEAT_FP16, FEAT_AES] {
        assert!(features.contains(feature), "{feature:?}");
    }
    assert_eq!(features.iter().count(), 5);
}

#[test]
fn sweep_records_calls_exits_and_references() {
    let words = [
        0x94000002, // bl #8
        0x14000008, // b #32: outside the unit
        0x54ffffe1, // b.ne #-4: inside
        0x18000020, // ldr w0, #4
        0x10000000, // adr x0, #0
        0x90000001, // adrp x1, #0
        0x91002021, // add x1, x1, #8
        0xd503201f, // nop
    ];
    let mut code: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    code.extend([0; 64]);
    let mut found = Sweep::default();
    let end = sweep(&code[..32], 32, CodeOffset(0), &interest(RARE, code.len()), &mut found);
    assert_eq!((end.0, found.decoded), (32, 32));
    assert_eq!(found.calls, [Edge { from: CodeOffset(0), to: CodeOffset(8) }]);
    assert_eq!(found.jumps, [Edge { from: CodeOffset(4), to: CodeOffset(36) }]);
    let references: Vec<_> = found.references.iter().map(|r| (r.to.0, r.kind)).collect();
    assert_eq!(
        references,
        [(16, ReferenceKind::Load(4)), (16, ReferenceKind::Address), (8, ReferenceKind::Address)]
    );
}

#[test]
fn a_tail_shorter_than_a_word_is_undecoded() {
    let mut found = Sweep::default();
    let code = [0x1f, 0x20, 0x03, 0xd5, 1, 2]; // nop, and two bytes
    assert_eq!(sweep(&code, 6, CodeOffset(0), &interest(RARE, 6), &mut found), CodeOffset(6));
    assert_eq!((found.decoded, found.undecoded, found.undecodable), (4, 2, vec![CodeOffset(4)]));
}

#[test]
fn a_register_operand_says_how_it_is_extended_and_shifted() {
    let facts = |word: u32| insn(word).modifier.map(|by| (by.bytes, by.is_signed, by.shift));
    assert_eq!(facts(0x8b010000), Some((8, false, 0))); // add x0, x0, x1
    assert_eq!(facts(0x8b010800), Some((8, false, 2))); // add x0, x0, x1, lsl #2
    assert_eq!(facts(0x8b410800), None); // add x0, x0, x1, lsr #2
    assert_eq!(facts(0x8b218820), Some((1, true, 2))); // add x0, x1, w1, sxtb #2
    let index = |word: u32| insn(word).memory.map(|memory| memory.index_as);
    let index = |word: u32| index(word).map(|by| (by.bytes, by.is_signed, by.shift));
    assert_eq!(index(0x38604820), Some((4, false, 0))); // ldrb w0, [x1, w0, uxtw]
    assert_eq!(index(0x78605820), Some((4, false, 1))); // ldrh w0, [x1, w0, uxtw #1]
    assert_eq!(index(0xb8a07820), Some((8, false, 2))); // ldrsw x0, [x1, x0, lsl #2]
    assert!(insn(0xb8a07820).is_signed);
    assert!(!insn(0xb8607820).is_signed); // ldr w0, [x1, x0, lsl #2]
}

#[test]
fn a_conditional_comparison_says_what_the_flags_else_are() {
    let insn = insn(0x7a400824); // ccmp w1, #0, #4, eq
    assert_eq!((insn.operation, insn.nzcv, insn.imm), (Operation::ConditionalCompare, 4, Some(0)));
    assert_eq!(
        super::decode(&0x3a400824u32.to_le_bytes(), Svma(0)).map(|insn| insn.operation),
        Some(Operation::ConditionalCompareNegative)
    ); // ccmn w1, #0, #4, eq
}

#[test]
fn short_loops_are_noted_and_those_that_act_are_distinguished() {
    let back_edges = |words: &[u32], loops| {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let wants = Wants { loops, ..Wants::default() };
        let mut found = Sweep::default();
        sweep(
            &code,
            code.len(),
            CodeOffset(0),
            &Interest { wants, ..interest(ClassSet::EMPTY, code.len()) },
            &mut found,
        );
        found.back_edges
    };
    for (word, is_quiet) in [
        (0xb940_0001, true),  // ldr w1, [x0]
        (0x88df_fc01, true),  // ldar w1, [x0]
        (0xb8bf_c001, true),  // ldapr w1, [x0]
        (0x885f_fc01, true),  // ldaxr w1, [x0]
        (0xc87f_0801, true),  // ldxp x1, x2, [x0]
        (0xa940_0801, true),  // ldp x1, x2, [x0]
        (0x3dc0_0001, true),  // ldr q1, [x0]
        (0x4c40_7801, true),  // ld1 {v1.4s}, [x0]
        (0xf980_0000, true),  // prfm pldl1keep, [x0]
        (0xd503_203f, true),  // yield
        (0xb900_0001, false), // str w1, [x0]
        (0x889f_fc01, false), // stlr w1, [x0]
        (0x8801_fc02, false), // stlxr w1, w2, [x0]
        (0xa900_0801, false), // stp x1, x2, [x0]
        (0x3d80_0001, false), // str q1, [x0]
        (0x4c00_7801, false), // st1 {v1.4s}, [x0]
        (0x88e1_fc02, false), // casal w1, w2, [x0]
        (0x4862_fc04, false), // caspal x2, x3, x4, x5, [x0]
        (0xb8e1_0002, false), // ldaddal w1, w2, [x0]
        (0xb8e1_8002, false), // swpal w1, w2, [x0]
        (0x9400_0000, false), // bl
        (0xd63f_0020, false), // blr x1
        (0xd400_0001, false), // svc
    ] {
        let words = [0xb900_0001, word, 0x34ff_ffe1]; // cbz w1, to the word
        let edge = BackEdge { from: CodeOffset(8), to: CodeOffset(4), is_quiet };
        assert_eq!(back_edges(&words, Loops::All), [edge], "{word:08x}");
        assert_eq!(
            back_edges(&words, Loops::Quiet),
            if is_quiet { vec![edge] } else { vec![] },
            "{word:08x}"
        );
    }
    // b, b.eq, tbz: to the word before, itself, and the word before; then ahead, and to before the unit.
    let words = [0xd503_201f, 0x17ff_ffff, 0x5400_0000, 0x3607_ffe1, 0x3400_0041, 0x17ff_ff00];
    let found: Vec<_> =
        back_edges(&words, Loops::Quiet).iter().map(|edge| (edge.from.0, edge.to.0)).collect();
    assert_eq!(found, [(4, 0), (8, 8), (12, 8)]);
}

#[test]
fn arithmetic_is_recognised_with_its_width() {
    use crate::insn::arithmetic::{Arithmetic, SCALABLE, Work};
    let facts = |word: u32| super::arithmetic(&word.to_le_bytes());
    let of = |work, is_float, bits| Some(Arithmetic { work, is_float, is_double: false, bits });
    assert_eq!(facts(0x4ea2_8420), of(Work::Add, false, 128)); // add v0.4s, v1.4s, v2.4s
    assert_eq!(facts(0x0ea2_9c20), of(Work::Multiply, false, 64)); // mul v0.2s, v1.2s, v2.2s
    assert_eq!(facts(0x4e22_cc20), of(Work::MultiplyAdd, true, 128)); // fmla v0.4s, v1.4s, v2.4s
    assert_eq!(facts(0x2ea2_c020), of(Work::Multiply, false, 64)); // umull v0.2d, v1.2s, v2.2s
    assert_eq!(facts(0x4e22_1c20), of(Work::Logic, false, 128)); // and v0.16b, v1.16b, v2.16b
    assert_eq!(facts(0x6f3f_0420), of(Work::Shift, false, 128)); // ushr v0.4s, v1.4s, #1
    assert_eq!(facts(0x1e22_2820), of(Work::Add, true, 0)); // fadd s0, s1, s2
    assert!(facts(0x1e62_2820).unwrap().is_double); // fadd d0, d1, d2
    assert_eq!(facts(0x1f02_0c20), of(Work::MultiplyAdd, true, 0)); // fmadd s0, s1, s2, s3
    assert_eq!(facts(0x1b02_7c20), of(Work::Multiply, false, 0)); // mul w0, w1, w2
    assert_eq!(facts(0x6582_0020), of(Work::Add, true, SCALABLE)); // fadd z0.s, z1.s, z2.s
    assert_eq!(facts(0x4e04_0420), None); // dup v0.4s, v1.s[0]
    assert_eq!(facts(0x4f00_e400), None); // movi v0.16b, #0
    assert_eq!(facts(0x1e60_4020), None); // fmov d0, d1
    assert_eq!(facts(0x0b02_0020), None); // add w0, w1, w2
}

#[test]
fn loops_that_compute_are_noted() {
    let noted = |words: &[u32]| {
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let wants = Wants { computing: true, ..Wants::default() };
        let mut found = Sweep::default();
        sweep(
            &code,
            code.len(),
            CodeOffset(0),
            &Interest { wants, ..interest(ClassSet::EMPTY, code.len()) },
            &mut found,
        );
        found
            .computing_loops
            .iter()
            .map(|noted| (noted.from.0, noted.to.0, noted.is_vector))
            .collect::<Vec<_>>()
    };
    let branch = 0x54ff_ffe1; // b.ne to the word before
    assert_eq!(noted(&[0x4ea2_8420, branch]), [(4, 0, true)]); // add v0.4s, v1.4s, v2.4s
    assert_eq!(noted(&[0x1e62_2820, branch]), [(4, 0, false)]); // fadd d0, d1, d2
    assert_eq!(noted(&[0x0b02_0020, branch]), []); // add w0, w1, w2
    assert_eq!(noted(&[0x4ea2_8420, 0xd503_201f, branch]), []); // before the loop
}
