//! Facts and features by bytes, and the sweep compared with [`decode`].

use crate::address::CodeOffset;
use deburr_cpu::{Feature, FeatureSet};
use iced_x86::{Code, CpuidFeature};

use super::features::{GROUPS, Need, TABLE, need};
use super::{decode, features_of, sweep};
use crate::address::Svma;
use crate::insn::sweep::{BackEdge, Edge, Interest, Loops, Mark, Reference, ReferenceKind, Sweep, Wants};
use crate::insn::{Class, ClassSet, Condition, Flow, Insn, Lanes, Memory, Modifier, Operation, Reg};

fn bytes(hex: &str) -> Vec<u8> {
    hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// Decodes bytes that hold one instruction exactly, at 0x1000.
fn one(hex: &str) -> Insn {
    let code = bytes(hex);
    let insn = decode(&code, Svma(0x1000)).unwrap_or_else(|| panic!("{hex} does not decode"));
    assert_eq!(usize::from(insn.length), code.len(), "{hex}");
    insn
}

fn needs(hex: &str) -> FeatureSet {
    features_of(one(hex).features)
}

fn swept(code: &[u8], length: usize, interest: &Interest) -> (Sweep, u32) {
    let mut found = Sweep::default();
    let end = sweep(code, length, code.len(), CodeOffset(0x100), interest, &mut found);
    (found, end.0)
}

const EVERYWHERE: Interest = Interest {
    wants: Wants::classes(ClassSet::EMPTY),
    code_base: Svma(0),
    code_length: CodeOffset(u32::MAX),
    conditional_exits: true,
};

fn register(n: u8) -> Option<Reg> {
    Some(Reg::general(n))
}

macro_rules! assert_needs {
    ($($hex:literal $mnemonic:literal => $($feature:ident)*;)*) => {
        $(assert_eq!(needs($hex), FeatureSet::of(&[$(Feature::$feature),*]), "{}", $mnemonic);)*
    };
}

#[test]
fn features_follow_the_operands() {
    assert_needs! {
        "c5 f1 fe c2" "vpaddd xmm0, xmm1, xmm2" => AVX;
        "c5 f5 fe c2" "vpaddd ymm0, ymm1, ymm2" => AVX2;
        "62 f1 75 48 fe c2" "vpaddd zmm0, zmm1, zmm2" => AVX512F;
        "62 f1 75 09 fe c2" "vpaddd xmm0{k1}, xmm1, xmm2" => AVX512F AVX512VL;
        "62 e1 75 08 fe c2" "vpaddd xmm16, xmm1, xmm2" => AVX512F AVX512VL;
        "62 f1 75 48 fc c2" "vpaddb zmm0, zmm1, zmm2" => AVX512BW;
        "66 0f 3a 44 c1 00" "pclmulqdq xmm0, xmm1, 0" => PCLMULQDQ;
        "c4 e3 71 44 c2 00" "vpclmulqdq xmm0, xmm1, xmm2, 0" => PCLMULQDQ AVX;
        "c4 e3 75 44 c2 00" "vpclmulqdq ymm0, ymm1, ymm2, 0" => VPCLMULQDQ;
        "62 f3 75 48 44 c2 00" "vpclmulqdq zmm0, zmm1, zmm2, 0" => AVX512F VPCLMULQDQ;
        "66 0f 38 dc c1" "aesenc xmm0, xmm1" => AES;
        "c4 e2 71 dc c2" "vaesenc xmm0, xmm1, xmm2" => AES AVX;
        "c4 e2 75 dc c2" "vaesenc ymm0, ymm1, ymm2" => VAES;
        "62 f2 75 48 dc c2" "vaesenc zmm0, zmm1, zmm2" => AVX512F VAES;
        "c4 e2 71 b8 c2" "vfmadd231ps xmm0, xmm1, xmm2" => FMA;
        "c4 e2 79 13 c1" "vcvtph2ps xmm0, xmm1" => F16C;
        "62 e2 7d 08 13 c1" "vcvtph2ps xmm16, xmm1" => AVX512F AVX512VL;
        "c5 f8 92 c8" "kmovw k1, eax" => AVX512F;
        "c5 f9 92 c8" "kmovb k1, eax" => AVX512DQ;
        "c4 e1 fb 92 c8" "kmovq k1, rax" => AVX512BW;
        "66 0f 38 cf c1" "gf2p8mulb xmm0, xmm1" => GFNI;
        "c4 e2 75 cf c2" "vgf2p8mulb ymm0, ymm1, ymm2" => AVX GFNI;
        "62 f2 75 48 cf c2" "vgf2p8mulb zmm0, zmm1, zmm2" => AVX512F GFNI;
        "62 f2 75 48 50 c2" "vpdpbusd zmm0, zmm1, zmm2" => AVX512_VNNI;
        "c4 e2 75 50 c2" "{vex} vpdpbusd ymm0, ymm1, ymm2" => AVX_VNNI;
        "c4 e2 6d 92 04 88" "vgatherdps ymm0, [rax+ymm1*4], ymm2" => AVX2;
    }
}

#[test]
fn scalar_extensions_are_distinguished() {
    assert_needs! {
        "f3 0f b8 c1" "popcnt eax, ecx" => POPCNT;
        "f3 0f bd c1" "lzcnt eax, ecx" => LZCNT;
        "f2 0f 38 f0 c1" "crc32 eax, cl" => SSE4_2;
        "0f 38 cb c1" "sha256rnds2 xmm0, xmm1, xmm0" => SHA;
        "0f c7 f0" "rdrand eax" => RDRAND;
        "66 0f 38 f6 c1" "adcx eax, ecx" => ADX;
        "48 0f c7 0f" "cmpxchg16b [rdi]" => CMPXCHG16B;
        "9f" "lahf" => LAHF;
        "0f 38 f0 01" "movbe eax, [rcx]" => MOVBE;
        "c4 e2 70 f2 c2" "andn eax, ecx, edx" => BMI1;
        "c4 e2 73 f5 c2" "pdep eax, ecx, edx" => BMI2;
        "0f c7 20" "xsavec [rax]" => XSAVEC;
        "0f 01 d6" "xtest" => RTM;
        "66 0f ae f0" "tpause eax" => WAITPKG;
        "f3 48 0f ae e8" "incsspq rax" => CET_SS;
        "0f 38 00 c1" "pshufb mm0, mm1" => SSSE3;
        "db 08" "fisttp dword [rax]" => FPU SSE3;
    }
}

#[test]
fn baseline_features_have_groups_of_their_own_and_are_no_hits() {
    assert_needs! {
        "0f 58 c1" "addps xmm0, xmm1" => SSE;
        "66 0f 58 c1" "addpd xmm0, xmm1" => SSE2;
        "0f c3 08" "movnti [rax], ecx" => SSE2;
        "0f ae 38" "clflush [rax]" => SSE2;
        "0f fe c1" "paddd mm0, mm1" => MMX;
        "0f 44 c1" "cmove eax, ecx" => CMOV;
        "da c9" "fcmove st, st(1)" => FPU CMOV;
        "d9 e8" "fld1" => FPU;
        "0f c7 0f" "cmpxchg8b [rdi]" => CX8;
        "0f ae 00" "fxsave [rax]" => FXSR;
    }
    let code = bytes("0f 58 c1 66 0f 58 c1 0f 44 c1 d9 e8 0f 0d 08 0f 22 c0");
    let (found, _) = swept(&code, code.len(), &EVERYWHERE);
    assert_eq!(found.undecoded, 0);
    assert!(found.hits.is_empty(), "{:?}", found.hits);
    assert_ne!(one("0f 58 c1").features.0, 0);
}

#[test]
fn what_runs_everywhere_needs_nothing() {
    assert_needs! {
        "f3 0f bc c1" "tzcnt eax, ecx (rep bsf)" => ;
        "0f bc c1" "bsf eax, ecx" => ;
        "f3 0f 1e fa" "endbr64" => ;
        "f3 0f 1e fb" "endbr32" => ;
        "f3 90" "pause" => ;
        "f2 f0 ff 00" "xacquire lock inc dword [rax]" => ;
        "f3 f0 ff 00" "xrelease lock inc dword [rax]" => ;
        "66 0f 1f 04 00" "nop word [rax+rax]" => ;
        "f3 48 0f 1e c8" "rdsspq rax" => ;
        "0f 1c 00" "cldemote [rax]" => ;
        "f2 ff e0" "bnd jmp rax" => ;
        "f3 0f 1b 00" "nop (bndmk where MPX is)" => ;
        "0f a2" "cpuid" => ;
        "0f 01 d0" "xgetbv" => ;
        "0f 01 d5" "xend" => ;
        "0f 31" "rdtsc" => ;
        "0f 05" "syscall" => ;
        "0f 0b" "ud2" => ;
    }
}

#[test]
fn privileged_instructions_are_system_and_no_hits() {
    assert_needs! {
        "f4" "hlt" => SYSTEM;
        "0f 22 c0" "mov cr0, rax" => SYSTEM;
        "66 0f 38 82 01" "invpcid rax, [rcx]" => INVPCID SYSTEM;
    }
    let code = bytes("66 0f 38 82 01 f4");
    assert!(swept(&code, code.len(), &EVERYWHERE).0.hits.is_empty());
}

#[test]
fn every_flag_of_the_decoder_is_mapped_or_left_out_for_a_reason() {
    for flag in CpuidFeature::values() {
        match need(flag) {
            Some(Need::Feature(feature)) => assert_ne!(feature, Feature::OTHER_X86_64, "{flag:?}"),
            Some(Need::Nothing(reason)) => assert!(!reason.is_empty()),
            None => panic!("{flag:?} is not mapped"),
        }
    }
}

#[test]
fn every_code_has_a_group_below_the_count() {
    assert!(Code::values().len() <= 8192);
    let used = Code::values().map(|code| TABLE.facts(code).group()).max().unwrap();
    assert!(usize::from(used) < GROUPS);
    let distinct: std::collections::HashSet<_> =
        Code::values().map(|code| TABLE.facts(code).group()).collect();
    assert!(distinct.len() < GROUPS, "{} groups do not fit", distinct.len());
}

#[test]
fn operands_of_plain_instructions_are_decoded() {
    let insn = one("01 c8"); // add eax, ecx
    assert_eq!((insn.operation, insn.width, insn.dst), (Operation::Add, 4, register(0)));
    assert_eq!(insn.src, [register(0), register(1), None]);
    assert!(insn.writes.contains(Reg::FLAGS) && insn.reads.contains(Reg::general(1)));

    let insn = one("31 c0"); // xor eax, eax
    assert!(!insn.reads.contains(Reg::general(0)) && insn.writes.contains(Reg::general(0)));

    let insn = one("f7 d9"); // neg ecx
    assert_eq!((insn.operation, insn.src), (Operation::Sub, [None, register(1), None]));

    let insn = one("b4 01"); // mov ah, 1
    assert_eq!((insn.dst, insn.imm, insn.width), (register(0), Some(1), 1));

    let insn = one("83 f8 ff"); // cmp eax, -1
    assert_eq!((insn.operation, insn.imm, insn.dst), (Operation::Compare, Some(-1), None));

    let insn = one("0f b6 c1"); // movzx eax, cl
    assert_eq!((insn.operation, insn.class, insn.src[0]), (Operation::Extend, Class::Other, register(1)));

    let insn = one("c4 e2 70 f2 c2"); // andn eax, ecx, edx
    assert_eq!((insn.operation, insn.src), (Operation::AndNot, [register(2), register(1), None]));

    let insn = one("0f 44 c1"); // cmove eax, ecx
    assert_eq!((insn.operation, insn.dst), (Operation::Select, register(0)));
    assert!(insn.reads.contains(Reg::FLAGS));
}

#[test]
fn shifts_show_their_value_and_count() {
    use Operation::{ShiftLeft, ShiftRight};
    let rax = [register(0), None, None];
    for (hex, operation, dst, src, imm, width) in [
        ("c1 e0 04", ShiftLeft, register(0), rax, Some(4), 4), // shl eax, 4
        ("48 d1 e8", ShiftRight, register(0), rax, Some(1), 8), // shr rax, 1
        ("c1 f0 02", ShiftLeft, register(0), rax, Some(2), 4), // sal eax, 2
        ("c1 e8 24", ShiftRight, register(0), rax, Some(4), 4), // shr eax, 36
        ("d3 e2", ShiftLeft, register(2), [register(2), register(1), None], None, 4), // shl edx, cl
        ("c4 e2 61 f7 c1", ShiftLeft, register(0), [register(1), register(3), None], None, 4), // shlx eax, ecx, ebx
        ("c4 e2 e3 f7 c1", ShiftRight, register(0), [register(1), register(3), None], None, 8), // shrx rax, rcx, rbx
        ("c4 e2 61 f7 07", ShiftLeft, register(0), [None, register(3), None], None, 4), // shlx eax, [rdi], ebx
        ("d3 2f", ShiftRight, None, [None, register(1), None], None, 1),                // shr dword [rdi], cl
    ] {
        let insn = one(hex);
        assert_eq!((insn.operation, insn.dst, insn.src, insn.imm), (operation, dst, src, imm), "{hex}");
        assert_eq!(insn.width, width, "{hex}");
    }
    assert_eq!(one("c1 f8 04").operation, Operation::ShiftRightSigned); // sar eax, 4
    assert_eq!(one("0f a4 c8 04").operation, Operation::Other); // shld eax, ecx, 4
    assert_eq!(one("c4 e2 60 f7 c1").operation, Operation::Other); // bextr eax, ecx, ebx
}

#[test]
fn a_bit_test_shows_its_value_and_bit() {
    for (hex, src, imm) in [
        ("0f ba e1 1c", [register(1), None, None], Some(28)), // bt ecx, 28
        ("48 0f ba e1 25", [register(1), None, None], Some(37)), // bt rcx, 37
        ("0f ba e1 25", [register(1), None, None], Some(5)),  // bt ecx, 37
        ("0f a3 d1", [register(1), register(2), None], None), // bt ecx, edx
        ("0f ba 27 05", [None; 3], Some(5)),                  // bt dword [rdi], 5
        ("0f a3 17", [None, register(2), None], None),        // bt [rdi], edx
    ] {
        let insn = one(hex);
        assert_eq!((insn.operation, insn.src, insn.imm), (Operation::BitTest, src, imm), "{hex}");
        assert_eq!((insn.dst, insn.memory.is_some()), (None, src[0].is_none()), "{hex}");
    }
    assert_eq!(one("0f ba e9 05").operation, Operation::Other); // bts ecx, 5
}

#[test]
fn the_left_of_a_comparison_in_memory_is_no_source() {
    assert_eq!(one("39 0f").src, [None, register(1), None]); // cmp [rdi], ecx
    assert_eq!(one("3b 0f").src, [register(1), None, None]); // cmp ecx, [rdi]
    assert_eq!(one("85 0f").src, [None, register(1), None]); // test [rdi], ecx
    assert_eq!((one("83 3f 05").src, one("83 3f 05").imm), ([None; 3], Some(5))); // cmp dword [rdi], 5
}

#[test]
fn every_condition_is_decoded_of_branches_moves_and_sets() {
    use Condition as C;
    let conditions = [
        C::Other, // o
        C::Other, // no
        C::UnsignedLess,
        C::UnsignedGreaterEqual,
        C::Equal,
        C::NotEqual,
        C::UnsignedLessEqual,
        C::UnsignedGreater,
        C::Negative,
        C::NotNegative,
        C::Other, // p
        C::Other, // np
        C::SignedLess,
        C::SignedGreaterEqual,
        C::SignedLessEqual,
        C::SignedGreater,
    ];
    // The low four bits of the opcode are the condition (SDM volume 2, appendix B.1.4.7).
    for (tttn, condition) in conditions.into_iter().enumerate() {
        let short = one(&format!("7{tttn:x} 10")); // jcc +16
        let near = one(&format!("0f 8{tttn:x} 10 00 00 00")); // jcc +16
        let set = one(&format!("0f 9{tttn:x} c1")); // setcc cl
        let moved = one(&format!("0f 4{tttn:x} c1")); // cmovcc eax, ecx
        for insn in [short, near, set, moved] {
            assert_eq!(insn.condition, Some(condition), "{tttn:x}");
        }
        assert_eq!(
            (short.operation, near.operation),
            (Operation::BranchCondition, Operation::BranchCondition)
        );
        assert_eq!((set.operation, set.dst, set.src), (Operation::SetCondition, register(1), [None; 3]));
        assert_eq!((moved.operation, moved.dst), (Operation::Select, register(0)));
        assert_eq!(moved.src, [register(1), register(0), None]);
        assert!(moved.reads.contains(Reg::general(0)), "the destination stays where the condition fails");
    }
    let moved = one("48 0f 45 07"); // cmovne rax, [rdi]
    assert_eq!((moved.operation, moved.src), (Operation::Select, [None, register(0), None]));
    assert!(moved.memory.is_some_and(|memory| memory.read));
    let set = one("0f 94 47 08"); // sete [rdi+8]
    assert_eq!((set.operation, set.dst, set.condition), (Operation::SetCondition, None, Some(C::Equal)));
    assert!(set.memory.is_some_and(|memory| memory.write && memory.size == 1));
    let zero = one("e3 10"); // jrcxz +16
    assert_eq!((zero.condition, zero.src[0], zero.width), (Some(C::Equal), register(1), 8));
    assert_eq!((one("67 e3 10").condition, one("67 e3 10").width), (Some(C::Equal), 4)); // jecxz +16
    for other in ["eb 10", "e2 10", "01 c8", "da c9"] {
        // jmp +16; loop +16; add eax, ecx; fcmove st, st(1)
        assert_eq!(one(other).condition, None, "{other}");
    }
}

#[test]
fn a_register_less_itself_and_the_carry_is_a_mask() {
    let mask = one("19 c0"); // sbb eax, eax
    assert_eq!((mask.operation, mask.dst, mask.src), (Operation::SetMask, register(0), [None; 3]));
    assert_eq!((mask.condition, mask.width), (Some(Condition::UnsignedLess), 4));
    assert!(mask.reads.contains(Reg::FLAGS));
    let borrow = one("19 c8"); // sbb eax, ecx
    assert_eq!((borrow.operation, borrow.condition), (Operation::SubBorrow, None));
    assert_eq!(one("31 c0").operation, Operation::Xor); // xor eax, eax
}

#[test]
fn queries_of_the_cpu_are_decoded_with_the_registers_they_write() {
    let cpuid = one("0f a2"); // cpuid
    assert_eq!((cpuid.operation, cpuid.class), (Operation::CpuId, Class::FeatureQuery));
    for n in 0..4 {
        assert!(cpuid.writes.contains(Reg::general(n)), "{n}");
    }
    assert!(cpuid.reads.contains(Reg::general(0)) && cpuid.reads.contains(Reg::general(1)));
    let xgetbv = one("0f 01 d0"); // xgetbv
    assert_eq!((xgetbv.operation, xgetbv.class), (Operation::ReadExtendedControl, Class::FeatureQuery));
    assert!(xgetbv.writes.contains(Reg::general(0)) && xgetbv.writes.contains(Reg::general(2)));
    assert!(xgetbv.reads.contains(Reg::general(1)) && !xgetbv.writes.contains(Reg::general(1)));
}

#[test]
fn pushes_and_pops_show_what_they_move() {
    for (hex, operation, src, imm, dst, width) in [
        ("53", Operation::Push, register(3), None, None, 8), // push rbx
        ("41 54", Operation::Push, register(12), None, None, 8), // push r12
        ("66 50", Operation::Push, register(0), None, None, 2), // push ax
        ("6a ff", Operation::Push, None, Some(-1), None, 8), // push -1
        ("68 00 01 00 00", Operation::Push, None, Some(256), None, 8), // push 256
        ("5b", Operation::Pop, None, None, register(3), 8),  // pop rbx
    ] {
        let insn = one(hex);
        assert_eq!((insn.operation, insn.src[0], insn.imm, insn.dst), (operation, src, imm, dst), "{hex}");
        assert_eq!((insn.width, insn.memory, insn.class), (width, None, Class::Other), "{hex}");
        assert!(insn.writes.contains(Reg::general(4)), "{hex}");
    }
    let pushed = one("ff 35 10 00 00 00"); // push qword [rip+16]
    assert_eq!(
        (pushed.operation, pushed.src, pushed.imm, pushed.width),
        (Operation::Push, [None; 3], None, 8)
    );
    assert!(pushed.memory.is_some_and(|memory| memory.read && memory.displacement == 0x1016));
}

#[test]
fn an_address_is_static_or_effective() {
    for hex in ["48 8d 44 8f 08", "48 8d 47 08", "48 8d 04 8d 08 00 00 00", "48 8d 44 24 08"] {
        // lea rax, [rdi+rcx*4+8]; lea rax, [rdi+8]; lea rax, [rcx*4+8]; lea rax, [rsp+8]
        let insn = one(hex);
        assert_eq!(
            (insn.operation, insn.dst, insn.imm),
            (Operation::EffectiveAddress, register(0), None),
            "{hex}"
        );
        assert!(insn.memory.is_some_and(|m| m.displacement == 8 && !m.read && !m.is_static), "{hex}");
    }
    let absolute = one("48 8d 04 25 00 10 00 00"); // lea rax, [0x1000]
    assert_eq!((absolute.operation, absolute.imm), (Operation::Address, Some(0x1000)));
}

#[test]
fn the_high_byte_of_a_register_is_recognised() {
    for (hex, is_high) in [
        ("f6 c4 04", true),  // test ah, 4
        ("0f b6 c4", true),  // movzx eax, ah
        ("88 e8", true),     // mov al, ch
        ("b4 01", true),     // mov ah, 1
        ("88 3f", true),     // mov [rdi], bh
        ("0f 95 c4", true),  // setne ah
        ("f6 c0 04", false), // test al, 4
        ("0f b6 c0", false), // movzx eax, al
        ("40 88 e0", false), // mov al, spl
        ("88 c4", false),    // mov ah, al
    ] {
        assert_eq!(one(hex).high_byte, is_high, "{hex}");
    }
}

#[test]
fn memory_operands_are_decoded() {
    let insn = one("48 8b 05 10 00 00 00"); // mov rax, [rip+16]
    let memory = Memory {
        base: None,
        index: None,
        index_as: Modifier::NONE,
        displacement: 0x1017,
        size: 8,
        read: true,
        write: false,
        write_back: false,
        is_static: true,
    };
    assert_eq!((insn.class, insn.memory), (Class::Load, Some(memory)));

    let insn = one("48 89 05 10 00 00 00"); // mov [rip+16], rax
    assert_eq!(insn.class, Class::Store);
    assert_eq!(insn.memory, Some(Memory { read: false, write: true, ..memory }));
    assert_eq!(insn.src[0], register(0));

    let insn = one("48 8d 05 10 00 00 00"); // lea rax, [rip+16]
    assert_eq!((insn.class, insn.operation, insn.imm), (Class::Other, Operation::Address, Some(0x1017)));

    let insn = one("48 8d 44 8f 08"); // lea rax, [rdi+rcx*4+8]
    let memory = insn.memory.unwrap();
    assert_eq!((memory.base, memory.index, memory.displacement), (register(7), register(1), 8));
    assert!(!memory.read && !memory.write);

    let insn = one("64 48 8b 04 25 28 00 00 00"); // mov rax, fs:[0x28]
    assert_eq!(insn.class, Class::Load);
    assert!(!insn.memory.unwrap().is_static);

    let insn = one("f3 a4"); // rep movsb
    assert_eq!(insn.memory.unwrap().size, 0);
    assert!(insn.writes.contains(Reg::general(1)), "rcx counts down");
}

#[test]
fn what_a_fence_orders_is_recognised() {
    let codes = [
        "0f c3 08",       // movnti [rax], ecx
        "66 0f e7 07",    // movntdq [rdi], xmm0
        "66 0f 38 2a 07", // movntdqa xmm0, [rdi]
        "66 0f ae 3f",    // clflushopt [rdi]
        "0f ae 3f",       // clflush [rdi]
        "0f 31",          // rdtsc
        "0f 01 f9",       // rdtscp
    ];
    for code in codes {
        assert_eq!(one(code).class, Class::FenceOrdered, "{code}");
    }
    assert_eq!(one("66 0f 7f 07").class, Class::Store); // movdqa [rdi], xmm0
}

#[test]
fn atomics_are_recognised_by_lock_or_xchg_with_memory() {
    let insn = one("f0 83 07 01"); // lock add dword [rdi], 1
    assert_eq!((insn.class, insn.operation, insn.imm), (Class::LockedAtomic, Operation::Add, Some(1)));
    let memory = insn.memory.unwrap();
    assert!(memory.read && memory.write && memory.size == 4 && insn.width == 4);
    assert_eq!(one("83 07 01").class, Class::Other); // add dword [rdi], 1
    assert_eq!(one("87 07").class, Class::LockedAtomic); // xchg [rdi], eax
    assert_eq!(one("91").class, Class::Other); // xchg eax, ecx
    let insn = one("f0 48 0f b1 0f"); // lock cmpxchg [rdi], rcx
    assert_eq!((insn.operation, insn.dst), (Operation::CompareSwap, register(0)));
    assert_eq!((insn.src, insn.width), ([register(0), register(1), None], 8));
    let insn = one("f0 0f c1 0f"); // lock xadd [rdi], ecx
    assert_eq!((insn.operation, insn.dst, insn.src[0]), (Operation::FetchAdd, register(1), register(1)));
}

#[test]
fn classes_and_flow_are_decoded() {
    let target = Svma(0x1012);
    assert_eq!(one("eb 10").flow, Flow::Jump(target)); // jmp +16
    assert_eq!(one("74 10").flow, Flow::Branch(target)); // je +16
    assert_eq!(one("e3 10").flow, Flow::Branch(target)); // jrcxz +16
    assert_eq!(one("e3 10").operation, Operation::BranchZero);
    assert_eq!(one("74 10").operation, Operation::BranchCondition);
    assert_eq!(one("e8 0d 00 00 00").flow, Flow::Call(target)); // call +13
    assert_eq!(one("c7 f8 0c 00 00 00").flow, Flow::Branch(target)); // xbegin +12
    assert_eq!(one("ff 15 10 00 00 00").flow, Flow::IndirectCall); // call [rip+16]
    assert_eq!(one("ff e0").flow, Flow::IndirectJump); // jmp rax
    assert_eq!(one("c3").flow, Flow::Return); // ret
    for trap in ["cc", "0f 0b", "f4"] {
        assert_eq!((one(trap).flow, one(trap).class), (Flow::Stop, Class::Trap)); // int3, ud2, hlt
    }
    for (hex, class) in [
        ("0f 05", Class::SystemCall),   // syscall
        ("cd 80", Class::SystemCall),   // int 0x80
        ("f3 90", Class::SpinHint),     // pause
        ("0f 01 c9", Class::WaitEvent), // mwait
        ("0f a2", Class::FeatureQuery), // cpuid
        ("0f ae f0", Class::Barrier),   // mfence
        ("90", Class::Hint),            // nop
        ("f3 0f 1e fa", Class::Hint),   // endbr64
        ("f2 0f 10 07", Class::Load),   // movsd xmm0, [rdi]
        ("a5", Class::Other),           // movsd (string)
        ("c5 fc 11 07", Class::Store),  // vmovups [rdi], ymm0
    ] {
        assert_eq!((one(hex).class, one(hex).flow), (class, Flow::Next), "{hex}");
    }
}

#[test]
fn edges_are_recorded_where_requested() {
    // 0x100 call 0x205; 0x105 jmp 0x109; 0x107 je 0x309; 0x10d jmp 0x309
    let code = bytes("e8 00 01 00 00 eb 02 0f 84 fc 01 00 00 e9 f7 01 00 00");
    let call = Edge { from: CodeOffset(0x100), to: CodeOffset(0x205) };
    let branch = Edge { from: CodeOffset(0x107), to: CodeOffset(0x309) };
    let jump = Edge { from: CodeOffset(0x10d), to: CodeOffset(0x309) };
    let (found, end) = swept(&code, code.len(), &EVERYWHERE);
    assert_eq!((end, found.calls), (0x112, vec![call]));
    assert_eq!(found.jumps, [branch, jump]);
    let (found, _) = swept(&code, code.len(), &Interest { conditional_exits: false, ..EVERYWHERE });
    assert_eq!(found.jumps, [jump]);
    let (found, _) = swept(&code, code.len(), &Interest { code_length: CodeOffset(0x205), ..EVERYWHERE });
    assert!(found.calls.is_empty() && found.jumps.is_empty());
}

#[test]
fn instructions_above_the_baseline_are_hits_in_order() {
    // vpaddd ymm0, ymm1, ymm2; addps xmm0, xmm1; popcnt eax, ecx; tzcnt eax, ecx
    let code = bytes("c5 f5 fe c2 0f 58 c1 f3 0f b8 c1 f3 0f bc c1");
    let (found, _) = swept(&code, code.len(), &EVERYWHERE);
    let hits: Vec<_> = found.hits.iter().map(|hit| (hit.at.0, features_of(hit.group))).collect();
    let needs = |feature| FeatureSet::EMPTY.with(feature);
    assert_eq!(hits, [(0x100, needs(Feature::AVX2)), (0x107, needs(Feature::POPCNT))]);
    assert_eq!(found.groups.iter().sum::<u64>(), 4);
}

#[test]
fn an_instruction_of_more_than_15_bytes_is_none() {
    let mut code = vec![0x66; 14];
    code.push(0x90); // nop, with fourteen prefixes
    assert_eq!(decode(&code, Svma(0)).map(|insn| insn.length), Some(15));
    code.insert(0, 0x66);
    assert_eq!(decode(&code, Svma(0)), None);
    assert_eq!(decode(&[], Svma(0)), None);
}

#[test]
fn targets_before_the_code_are_not_recorded() {
    // call to -0x1000 - 5 + 0x105; mov rax, [rip-0x2000]
    let code = bytes("e8 00 f0 ff ff 48 8b 05 00 e0 ff ff");
    let (found, _) = swept(&code, code.len(), &EVERYWHERE);
    assert!(found.calls.is_empty() && found.references.is_empty());
}

#[test]
fn thread_local_addresses_are_no_references() {
    let code = bytes("64 48 8b 05 00 00 00 00"); // mov rax, fs:[rip+0]
    assert!(swept(&code, code.len(), &EVERYWHERE).0.references.is_empty());
}

#[test]
fn references_into_code_are_recorded_with_their_use() {
    // mov rax, [rip+0]; mov [rip+0], rax; lea rax, [rip+0]; call [rip+0]; movaps xmm0, [rip+0]; nop [rip+0]
    let code = bytes(
        "48 8b 05 00 00 00 00 48 89 05 00 00 00 00 48 8d 05 00 00 00 00 ff 15 00 00 00 00 0f 28 05 00 00 00 00 0f 1f 05 00 00 00 00",
    );
    let (found, _) = swept(&code, code.len(), &EVERYWHERE);
    assert_eq!(
        found.references,
        [
            Reference { from: CodeOffset(0x100), to: CodeOffset(0x107), kind: ReferenceKind::Load(8) },
            Reference { from: CodeOffset(0x10e), to: CodeOffset(0x115), kind: ReferenceKind::Address },
            Reference { from: CodeOffset(0x115), to: CodeOffset(0x11b), kind: ReferenceKind::Load(8) },
            Reference { from: CodeOffset(0x11b), to: CodeOffset(0x122), kind: ReferenceKind::Load(16) },
        ]
    );
}

#[test]
fn only_wanted_classes_are_marked() {
    // lock inc dword [rax]; inc dword [rax]; pause; xchg eax, ecx; xchg [rdi], eax
    let code = bytes("f0 ff 00 ff 00 f3 90 91 87 07");
    let wants = ClassSet::of(&[Class::LockedAtomic]);
    let (found, _) = swept(&code, code.len(), &Interest { wants: Wants::classes(wants), ..EVERYWHERE });
    let mark = |at| Mark { at, class: Class::LockedAtomic };
    assert_eq!(found.marks, [mark(CodeOffset(0x100)), mark(CodeOffset(0x108))]);
}

#[test]
fn undecodable_bytes_are_counted_and_each_run_is_reported_once() {
    // push es (twice), nop, push es; none of them exists in 64-bit mode but nop
    let (found, end) = swept(&bytes("06 06 90 06"), 4, &EVERYWHERE);
    assert_eq!((found.undecoded, found.decoded, end), (3, 1, 0x104));
    assert_eq!(found.undecodable, [0x100, 0x103].map(CodeOffset));
}

#[test]
fn an_instruction_that_does_not_fit_is_undecodable() {
    let (found, end) = swept(&bytes("90 e8 00 00"), 4, &EVERYWHERE);
    assert_eq!(end, 0x104);
    assert_eq!(found.decoded + found.undecoded, 4);
    assert_eq!(found.undecodable, [CodeOffset(0x101)]);
    assert!(found.calls.is_empty());
}

#[test]
fn instructions_that_begin_at_the_length_are_left_alone() {
    let code = bytes("90 e8 00 00 00 00 90");
    let (found, end) = swept(&code, 2, &EVERYWHERE);
    assert_eq!((found.decoded, found.undecoded, end), (6, 0, 0x106));
    let (found, end) = swept(&code, 0, &EVERYWHERE);
    assert_eq!((found.decoded, found.undecoded, end), (0, 0, 0x100));
}

/// xorshift64*, a fixed sequence per seed.
fn random_bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    (0..length)
        .map(|_| {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 56) as u8
        })
        .collect()
}

#[test]
fn sweep_and_decode_agree_on_random_bytes() {
    for seed in 1..=40 {
        let code = random_bytes(seed, 4096);
        let (found, end) = swept(&code, code.len() - 20, &EVERYWHERE);
        let mut groups = vec![0; GROUPS];
        let (mut calls, mut decoded, mut position) = (Vec::new(), 0, 0);
        while position < code.len() - 20 {
            let at = 0x100 + position as u32;
            let Some(insn) = decode(&code[position..], Svma(at.into())) else {
                position += 1;
                continue;
            };
            groups[usize::from(insn.features.0)] += 1;
            decoded += u64::from(insn.length);
            position += usize::from(insn.length);
            if let Flow::Call(Svma(to)) = insn.flow
                && to < u64::from(u32::MAX)
            {
                calls.push(Edge { from: CodeOffset(at), to: CodeOffset(to as u32) });
            }
        }
        assert_eq!(end as usize - 0x100, position, "seed {seed}");
        assert_eq!(found.decoded + found.undecoded, position as u64, "seed {seed}");
        assert_eq!((found.decoded, &found.groups, &found.calls), (decoded, &groups, &calls), "seed {seed}");
    }
}

#[test]
fn a_sweep_collects_many_units() {
    let code = random_bytes(7, 2000);
    let (whole, _) = swept(&code, code.len(), &EVERYWHERE);
    let mut parts = Sweep::default();
    let mut at = 0;
    while at < code.len() {
        at = sweep(&code[at..], 64, code.len(), CodeOffset(0x100 + at as u32), &EVERYWHERE, &mut parts).0
            as usize
            - 0x100;
    }
    assert_eq!((whole.decoded, whole.undecoded), (parts.decoded, parts.undecoded));
    assert_eq!((whole.groups, whole.calls, whole.hits), (parts.groups, parts.calls, parts.hits));
}

#[test]
fn an_index_counts_by_its_scale() {
    let scale = |hex| one(hex).memory.map(|memory| (memory.index, memory.index_as.shift));
    assert_eq!(scale("8b 04 88"), Some((register(1), 2))); // mov eax, [rax+rcx*4]
    assert_eq!(scale("48 8d 14 c5 00 00 00 00"), Some((register(0), 3))); // lea rdx, [rax*8]
    assert_eq!(scale("8b 00"), Some((None, 0))); // mov eax, [rax]
}

#[test]
fn an_extension_by_the_sign_is_distinguished_from_one_by_zeros() {
    for (hex, bytes, width, is_signed) in [
        ("48 98", Some(4), 8, true),     // cdqe
        ("98", Some(2), 4, true),        // cwde
        ("48 63 c1", Some(4), 8, true),  // movsxd rax, ecx
        ("0f b6 c1", Some(1), 4, false), // movzx eax, cl
    ] {
        let insn = one(hex);
        assert_eq!((insn.operation, insn.imm, insn.width), (Operation::Extend, bytes, width), "{hex}");
        assert_eq!((insn.is_signed, insn.dst), (is_signed, register(0)), "{hex}");
    }
    assert!(one("48 63 04 82").is_signed); // movsxd rax, dword ptr [rdx+rax*4]
}

#[test]
fn lanes_are_recognised_where_nothing_is_computed() {
    for (hex, lanes, width) in [
        ("66 0f 6e c2", Some(Lanes::Low), 4),               // movd xmm0, edx
        ("66 48 0f 6e c2", Some(Lanes::Low), 8),            // movq xmm0, rdx
        ("66 0f 62 c3", Some(Lanes::InterleaveLow32), 0),   // punpckldq xmm0, xmm3
        ("66 0f 6c c1", Some(Lanes::InterleaveLow64), 0),   // punpcklqdq xmm0, xmm1
        ("0f 11 05 00 00 00 00", Some(Lanes::Whole), 0),    // movups [rip], xmm0
        ("66 0f 3a 22 c0 01", Some(Lanes::Insert), 4),      // pinsrd xmm0, eax, 1
        ("0f 16 05 00 00 00 00", Some(Lanes::HighHalf), 0), // movhps xmm0, [rip]
        ("66 0f ef c0", Some(Lanes::Zero), 0),              // pxor xmm0, xmm0
        ("66 0f ef c1", Some(Lanes::Xor), 0),               // pxor xmm0, xmm1
        ("66 0f fe c1", None, 0),                           // paddd xmm0, xmm1
        ("0f 6e c2", None, 0),                              // movd mm0, edx
        ("c5 fe 6f 00", None, 0),                           // vmovdqu ymm0, [rax]
    ] {
        assert_eq!(one(hex).lanes, lanes, "{hex}");
        assert_eq!(if lanes.is_some() { one(hex).width } else { 0 }, width, "{hex}");
    }
}

#[test]
fn short_loops_are_noted_and_those_that_act_are_distinguished() {
    let quiet = Interest { wants: Wants { loops: Loops::Quiet, ..Wants::default() }, ..EVERYWHERE };
    let all = Interest { wants: Wants { loops: Loops::All, ..Wants::default() }, ..EVERYWHERE };
    for (hex, is_quiet) in [
        ("f3 90 8b 07 85 c0 74 f8", true), // pause; mov eax, [rdi]; test eax, eax; je
        ("39 07 90 eb fb", true),          // cmp [rdi], eax; nop; jmp
        ("89 07 ff c8 75 fa", false),      // mov [rdi], eax; dec eax; jne
        ("f0 0f b1 17 75 fa", false),      // lock cmpxchg [rdi], edx; jne
        ("87 07 85 c0 75 fa", false),      // xchg [rdi], eax; test; jne
        ("e8 00 00 00 00 85 c0 75 f7", false), // call; test; jne
        ("ff d0 85 c0 75 fa", false),      // call rax; test; jne
        ("0f 05 85 c0 75 fa", false),      // syscall; test; jne
        ("aa ff c9 75 fb", false),         // stosb; dec; jne
        ("50 ff c9 75 fb", false),         // push rax; dec; jne
    ] {
        let mut code = bytes("89 07"); // mov [rdi], eax: before the loop
        code.extend(bytes(hex));
        let from = 0x100 + code.len() as u32 - 2;
        let edge = BackEdge { from: CodeOffset(from), to: CodeOffset(0x102), is_quiet };
        assert_eq!(swept(&code, code.len(), &all).0.back_edges, [edge], "{hex}");
        let found = swept(&code, code.len(), &quiet).0.back_edges;
        assert_eq!(found, if is_quiet { vec![edge] } else { vec![] }, "{hex}");
        assert!(swept(&code, code.len(), &EVERYWHERE).0.back_edges.is_empty());
    }
    // A loop of 130 bytes, and a jump to before the unit.
    let mut long = vec![0x90; 130];
    long.extend(bytes("0f 84 78 ff ff ff eb d0"));
    assert_eq!(swept(&long, long.len(), &all).0.back_edges.len(), 1);
    assert!(swept(&bytes("74 f0"), 2, &all).0.back_edges.is_empty());
}

/// Its address wraps, and is no smaller than the unit's.
#[test]
fn a_jump_to_before_all_code_closes_no_loop() {
    let wants = Wants { loops: Loops::All, computing: true, ..Wants::default() };
    let mut found = Sweep::default();
    let code = bytes("66 0f fe c1 ff c9 75 d0"); // paddd xmm0, xmm1; dec ecx; jne
    sweep(&code, code.len(), code.len(), CodeOffset::ZERO, &Interest { wants, ..EVERYWHERE }, &mut found);
    assert!(found.back_edges.is_empty() && found.computing_loops.is_empty());
}

#[test]
fn arithmetic_is_recognised_with_its_width() {
    use crate::insn::arithmetic::{Arithmetic, Work};
    let facts = |hex: &str| super::arithmetic(&bytes(hex));
    let of = |work, is_float, bits| Some(Arithmetic { work, is_float, is_double: false, bits });
    assert_eq!(facts("66 0f fe c1"), of(Work::Add, false, 128)); // paddd xmm0, xmm1
    assert_eq!(facts("c5 f4 59 c2"), of(Work::Multiply, true, 256)); // vmulps ymm0, ymm1, ymm2
    assert_eq!(facts("62 f1 75 48 fe c2"), of(Work::Add, false, 512)); // vpaddd zmm0, zmm1, zmm2
    assert_eq!(facts("f3 0f 58 c1"), of(Work::Add, true, 0)); // addss xmm0, xmm1
    assert!(facts("f2 0f 58 c1").unwrap().is_double); // addsd xmm0, xmm1
    assert_eq!(facts("69 c0 93 01 00 01"), of(Work::Multiply, false, 0)); // imul eax, eax, 0x1000193
    assert_eq!(facts("66 0f ef c1"), of(Work::Logic, false, 128)); // pxor xmm0, xmm1
    assert_eq!(facts("66 0f ef c0"), None); // pxor xmm0, xmm0
    assert_eq!(facts("c5 f1 ef c0"), of(Work::Logic, false, 128)); // vpxor xmm0, xmm1, xmm0
    assert_eq!(facts("c5 f9 ef c0"), None); // vpxor xmm0, xmm0, xmm0
    assert_eq!(facts("f3 0f 6f 07"), None); // movdqu xmm0, [rdi]
    assert_eq!(facts("01 c8"), None); // add eax, ecx
}

#[test]
fn loops_that_compute_are_noted() {
    let computing = Interest { wants: Wants { computing: true, ..Wants::default() }, ..EVERYWHERE };
    let noted = |hex: &str| {
        let code = bytes(hex);
        let found = swept(&code, code.len(), &computing).0;
        assert!(found.back_edges.is_empty(), "{hex}");
        found
            .computing_loops
            .iter()
            .map(|noted| (noted.from.0, noted.to.0, noted.is_vector))
            .collect::<Vec<_>>()
    };
    assert_eq!(noted("66 0f fe c1 ff c9 75 f8"), [(0x106, 0x100, true)]); // paddd; dec ecx; jne
    assert_eq!(noted("f2 0f 58 c1 ff c9 75 f8"), [(0x106, 0x100, false)]); // addsd; dec ecx; jne
    assert_eq!(noted("66 0f fe c1 ff c9 75 fc"), []); // paddd; dec ecx; jne to the dec
    assert_eq!(noted("f3 0f 6f 07 ff c9 75 f8"), []); // movdqu; dec ecx; jne
}

#[test]
fn a_register_that_may_keep_a_part_counts_as_read() {
    let rax = Reg::general(0);
    // mov al, 1; mov ax, 1; sete al; cmovne eax, ecx; rdsspq rax
    for hex in ["b0 01", "66 b8 01 00", "0f 94 c0", "0f 45 c1", "f3 48 0f 1e c8"] {
        assert!(one(hex).reads.contains(rax) && one(hex).writes.contains(rax), "{hex}");
    }
    let whole = one("b8 01 00 00 00"); // mov eax, 1
    assert!(whole.writes.contains(rax) && !whole.reads.contains(rax));
}

#[test]
fn flags_that_may_stay_count_as_read() {
    // inc eax; shl eax, cl; bt eax, 3; rep cmpsb
    for hex in ["ff c0", "d3 e0", "0f ba e0 03", "f3 a6"] {
        assert!(one(hex).reads.contains(Reg::FLAGS) && one(hex).writes.contains(Reg::FLAGS), "{hex}");
    }
    let all = one("01 c8"); // add eax, ecx
    assert!(all.writes.contains(Reg::FLAGS) && !all.reads.contains(Reg::FLAGS));
    // cld; fld st(1)
    for hex in ["fc", "d9 c1"] {
        assert!(!one(hex).writes.contains(Reg::FLAGS), "{hex}");
    }
}

#[test]
fn system_calls_read_their_arguments_and_change_their_results() {
    // syscall; int 0x80; vmcall
    for hex in ["0f 05", "cd 80", "0f 01 c1"] {
        let call = one(hex);
        for number in [0, 1, 2, 6, 7, 8, 9, 10, 11] {
            let register = Reg::general(number);
            assert!(call.reads.contains(register) && call.writes.contains(register), "{hex} {number}");
        }
        assert!(!call.writes.contains(Reg::general(4)), "{hex}");
    }
}
