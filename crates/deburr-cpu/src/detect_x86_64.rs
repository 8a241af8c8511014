//! What an x86-64 host offers, from `CPUID` and `XGETBV`.
//!
//! In: CPUID leaves (Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E) and XCR0. Out: the features that a
//! program can use, and those that the CPU has but the operating system has not switched on: AVX, AVX-512 and
//! AMX need their registers' state enabled in XCR0 (SDM volume 1, 13.3), protection keys need CR4.PKE. AMX
//! needs besides a permission that each Linux process asks for by `arch_prctl`; that is not looked at.

use crate::{Feature, FeatureSet};

use Feature::*;

/// The registers that hold a leaf's answer.
#[derive(Clone, Copy)]
enum Register {
    Eax,
    Ebx,
    Ecx,
    Edx,
}

use Register::*;

/// Register state that the operating system must save before the feature can be used: bits of XCR0.
#[derive(Clone, Copy, PartialEq)]
struct State(u64);

const NONE: State = State(0);
/// XMM and the upper halves of YMM.
const YMM: State = State(0b110);
/// Opmasks, upper halves of ZMM0-15, and ZMM16-31, on top of YMM.
const ZMM: State = State(0b1110_0110);
/// Tile configuration and tile data.
const TILE: State = State(0b11 << 17);

/// A feature's place: leaf, subleaf, register, bit; and the state that it needs.
type Row = (u32, u32, Register, u32, Feature, State);

const XSAVE_ON: (u32, u32) = (1, 27);

const ROWS: &[Row] = &[
    (1, 0, Ecx, 0, SSE3, NONE),
    (1, 0, Ecx, 1, PCLMULQDQ, NONE),
    (1, 0, Ecx, 3, MONITOR, NONE),
    (1, 0, Ecx, 5, VMX, NONE),
    (1, 0, Ecx, 6, SMX, NONE),
    (1, 0, Ecx, 9, SSSE3, NONE),
    (1, 0, Ecx, 12, FMA, YMM),
    (1, 0, Ecx, 13, CMPXCHG16B, NONE),
    (1, 0, Ecx, 19, SSE4_1, NONE),
    (1, 0, Ecx, 20, SSE4_2, NONE),
    (1, 0, Ecx, 22, MOVBE, NONE),
    (1, 0, Ecx, 23, POPCNT, NONE),
    (1, 0, Ecx, 25, AES, NONE),
    (1, 0, Ecx, 26, XSAVE, NONE),
    (1, 0, Ecx, 27, OSXSAVE, NONE),
    (1, 0, Ecx, 28, AVX, YMM),
    (1, 0, Ecx, 29, F16C, YMM),
    (1, 0, Ecx, 30, RDRAND, NONE),
    (1, 0, Edx, 0, FPU, NONE),
    (1, 0, Edx, 8, CX8, NONE),
    (1, 0, Edx, 15, CMOV, NONE),
    (1, 0, Edx, 19, CLFSH, NONE),
    (1, 0, Edx, 23, MMX, NONE),
    (1, 0, Edx, 24, FXSR, NONE),
    (1, 0, Edx, 25, SSE, NONE),
    (1, 0, Edx, 26, SSE2, NONE),
    (7, 0, Ebx, 0, FSGSBASE, NONE),
    (7, 0, Ebx, 2, SGX, NONE),
    (7, 0, Ebx, 3, BMI1, NONE),
    (7, 0, Ebx, 5, AVX2, YMM),
    (7, 0, Ebx, 8, BMI2, NONE),
    (7, 0, Ebx, 10, INVPCID, NONE),
    (7, 0, Ebx, 11, RTM, NONE),
    (7, 0, Ebx, 14, MPX, NONE),
    (7, 0, Ebx, 16, AVX512F, ZMM),
    (7, 0, Ebx, 17, AVX512DQ, ZMM),
    (7, 0, Ebx, 18, RDSEED, NONE),
    (7, 0, Ebx, 19, ADX, NONE),
    (7, 0, Ebx, 20, SMAP, NONE),
    (7, 0, Ebx, 21, AVX512_IFMA, ZMM),
    (7, 0, Ebx, 23, CLFLUSHOPT, NONE),
    (7, 0, Ebx, 24, CLWB, NONE),
    (7, 0, Ebx, 26, AVX512PF, ZMM),
    (7, 0, Ebx, 27, AVX512ER, ZMM),
    (7, 0, Ebx, 28, AVX512CD, ZMM),
    (7, 0, Ebx, 29, SHA, NONE),
    (7, 0, Ebx, 30, AVX512BW, ZMM),
    (7, 0, Ebx, 31, AVX512VL, ZMM),
    (7, 0, Ecx, 0, PREFETCHWT1, NONE),
    (7, 0, Ecx, 1, AVX512_VBMI, ZMM),
    // OSPKE, not PKU (bit 3): RDPKRU is undefined until the operating system sets CR4.PKE.
    (7, 0, Ecx, 4, PKU, NONE),
    (7, 0, Ecx, 5, WAITPKG, NONE),
    (7, 0, Ecx, 6, AVX512_VBMI2, ZMM),
    (7, 0, Ecx, 7, CET_SS, NONE),
    (7, 0, Ecx, 8, GFNI, NONE),
    (7, 0, Ecx, 9, VAES, YMM),
    (7, 0, Ecx, 10, VPCLMULQDQ, YMM),
    (7, 0, Ecx, 11, AVX512_VNNI, ZMM),
    (7, 0, Ecx, 12, AVX512_BITALG, ZMM),
    (7, 0, Ecx, 14, AVX512_VPOPCNTDQ, ZMM),
    (7, 0, Ecx, 22, RDPID, NONE),
    (7, 0, Ecx, 23, KL, NONE),
    (7, 0, Ecx, 25, CLDEMOTE, NONE),
    (7, 0, Ecx, 27, MOVDIRI, NONE),
    (7, 0, Ecx, 28, MOVDIR64B, NONE),
    (7, 0, Ecx, 29, ENQCMD, NONE),
    (7, 0, Edx, 2, AVX512_4VNNIW, ZMM),
    (7, 0, Edx, 3, AVX512_4FMAPS, ZMM),
    (7, 0, Edx, 5, UINTR, NONE),
    (7, 0, Edx, 8, AVX512_VP2INTERSECT, ZMM),
    (7, 0, Edx, 14, SERIALIZE, NONE),
    (7, 0, Edx, 16, TSXLDTRK, NONE),
    (7, 0, Edx, 18, PCONFIG, NONE),
    (7, 0, Edx, 22, AMX_BF16, TILE),
    (7, 0, Edx, 23, AVX512_FP16, ZMM),
    (7, 0, Edx, 24, AMX_TILE, TILE),
    (7, 0, Edx, 25, AMX_INT8, TILE),
    (7, 1, Eax, 0, SHA512, YMM),
    (7, 1, Eax, 1, SM3, YMM),
    (7, 1, Eax, 2, SM4, YMM),
    (7, 1, Eax, 3, RAO_INT, NONE),
    (7, 1, Eax, 4, AVX_VNNI, YMM),
    (7, 1, Eax, 5, AVX512_BF16, ZMM),
    (7, 1, Eax, 7, CMPCCXADD, NONE),
    (7, 1, Eax, 17, FRED, NONE),
    (7, 1, Eax, 18, LKGS, NONE),
    (7, 1, Eax, 19, WRMSRNS, NONE),
    (7, 1, Eax, 21, AMX_FP16, TILE),
    (7, 1, Eax, 22, HRESET, NONE),
    (7, 1, Eax, 23, AVX_IFMA, YMM),
    (7, 1, Eax, 27, MSRLIST, NONE),
    (7, 1, Edx, 4, AVX_VNNI_INT8, YMM),
    (7, 1, Edx, 5, AVX_NE_CONVERT, YMM),
    (7, 1, Edx, 8, AMX_COMPLEX, TILE),
    (7, 1, Edx, 10, AVX_VNNI_INT16, YMM),
    (7, 1, Edx, 14, PREFETCHI, NONE),
    (0xd, 1, Eax, 0, XSAVEOPT, NONE),
    (0xd, 1, Eax, 1, XSAVEC, NONE),
    (0xd, 1, Eax, 3, XSAVES, NONE),
    (0x14, 0, Ebx, 4, PTWRITE, NONE),
    (0x19, 0, Ebx, 0, AESKLE, NONE),
    (0x8000_0001, 0, Ecx, 0, LAHF, NONE),
    (0x8000_0001, 0, Ecx, 2, SVM, NONE),
    (0x8000_0001, 0, Ecx, 5, LZCNT, NONE),
    (0x8000_0001, 0, Ecx, 6, SSE4A, NONE),
    (0x8000_0001, 0, Ecx, 8, PREFETCHW, NONE),
    (0x8000_0001, 0, Ecx, 11, XOP, YMM),
    (0x8000_0001, 0, Ecx, 15, LWP, NONE),
    (0x8000_0001, 0, Ecx, 16, FMA4, YMM),
    (0x8000_0001, 0, Ecx, 21, TBM, NONE),
    (0x8000_0001, 0, Ecx, 29, MONITORX, NONE),
    (0x8000_0001, 0, Edx, 27, RDTSCP, NONE),
    (0x8000_0001, 0, Edx, 30, D3NOWEXT, NONE),
    (0x8000_0001, 0, Edx, 31, D3NOW, NONE),
    (0x8000_0008, 0, Ebx, 0, CLZERO, NONE),
    (0x8000_0008, 0, Ebx, 3, INVLPGB, NONE),
    (0x8000_0008, 0, Ebx, 4, RDPRU, NONE),
    (0x8000_0008, 0, Ebx, 8, MCOMMIT, NONE),
    (0x8000_0008, 0, Ebx, 9, WBNOINVD, NONE),
];

/// Where CPUID's answers and XCR0 come from: the CPU, or a test.
pub(crate) trait Cpuid {
    /// EAX, EBX, ECX, EDX of a leaf and subleaf; called only for leaves that exist.
    fn leaf(&self, leaf: u32, subleaf: u32) -> [u32; 4];
    /// Extended control register 0; called only where CPUID.OSXSAVE is set.
    fn xcr0(&self) -> u64;
}

/// What the CPU has: split into what programs can use and what the operating system has not switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Detected {
    pub(crate) usable: FeatureSet,
    pub(crate) disabled: FeatureSet,
}

/// A leaf's answer; zeros for a leaf that the CPU does not have, for which real CPUs return other leaves' data.
fn answer(cpuid: &impl Cpuid, leaf: u32, subleaf: u32) -> [u32; 4] {
    let [highest, ..] = cpuid.leaf(leaf & 0x8000_0000, 0);
    if leaf > highest || highest & 0x8000_0000 != leaf & 0x8000_0000 {
        return [0; 4];
    }
    if leaf == 7 && subleaf > cpuid.leaf(7, 0)[0] {
        return [0; 4];
    }
    cpuid.leaf(leaf, subleaf)
}

/// Reads all features.
pub(crate) fn detect(cpuid: &impl Cpuid) -> Detected {
    let (leaf, bit) = XSAVE_ON;
    let [_, _, ecx, _] = answer(cpuid, leaf, 0);
    let xsave_on = ecx & (1 << bit) != 0;
    let xcr0 = if xsave_on { cpuid.xcr0() } else { 0 };
    let mut detected = Detected { usable: FeatureSet::EMPTY, disabled: FeatureSet::EMPTY };
    let mut last = ((u32::MAX, u32::MAX), [0; 4]);
    for &(leaf, subleaf, register, bit, feature, State(state)) in ROWS {
        if last.0 != (leaf, subleaf) {
            last = ((leaf, subleaf), answer(cpuid, leaf, subleaf));
        }
        let [eax, ebx, ecx, edx] = last.1;
        let word = match register {
            Eax => eax,
            Ebx => ebx,
            Ecx => ecx,
            Edx => edx,
        };
        if word & (1 << bit) == 0 {
            continue;
        }
        let needs_xsave = matches!(feature, XSAVE | XSAVEOPT | XSAVEC | XSAVES);
        if xcr0 & state == state && (xsave_on || !needs_xsave) {
            detected.usable = detected.usable.with(feature);
        } else {
            detected.disabled = detected.disabled.with(feature);
        }
    }
    detected
}

/// The brand string: 48 bytes over three leaves, as the maker wrote them, without the blanks around them.
pub(crate) fn brand(cpuid: &impl Cpuid) -> std::string::String {
    let bytes: std::vec::Vec<u8> = (0x8000_0002..=0x8000_0004)
        .flat_map(|leaf| answer(cpuid, leaf, 0))
        .flat_map(u32::to_le_bytes)
        .take_while(|byte| *byte != 0)
        .collect();
    let text = std::string::String::from_utf8_lossy(&bytes);
    text.split_whitespace().collect::<std::vec::Vec<_>>().join(" ")
}

/// AMD's microarchitecture by CPUID family (AMD APM volume 3, Fn0000_0001_EAX). Archspec goes by features alone and
/// loses the name where a hypervisor or the kernel hides one of them.
pub(crate) fn amd_name(cpuid: &impl Cpuid, features: FeatureSet) -> Option<&'static str> {
    let [_, b, c, d] = cpuid.leaf(0, 0);
    if [b, d, c].map(u32::to_le_bytes).concat() != b"AuthenticAMD" {
        return None;
    }
    let [signature, ..] = answer(cpuid, 1, 0);
    let (base, extended) = (signature >> 8 & 0xf, signature >> 20 & 0xff);
    match base + extended {
        0x17 if features.contains(RDPID) => Some("zen2"),
        0x17 => Some("zen"),
        0x19 if features.contains(AVX512F) => Some("zen4"),
        0x19 => Some("zen3"),
        0x1a => Some("zen5"),
        _ => None,
    }
}

/// The CPU that runs this program.
#[cfg(target_arch = "x86_64")]
pub(crate) struct ThisCpu;

#[cfg(target_arch = "x86_64")]
impl Cpuid for ThisCpu {
    fn leaf(&self, leaf: u32, subleaf: u32) -> [u32; 4] {
        let answer = core::arch::x86_64::__cpuid_count(leaf, subleaf);
        [answer.eax, answer.ebx, answer.ecx, answer.edx]
    }

    #[allow(unsafe_code, reason = "XGETBV has no safe form")]
    fn xcr0(&self) -> u64 {
        #[target_feature(enable = "xsave")]
        fn read() -> u64 {
            // SAFETY: register 0 exists wherever XGETBV does, and the caller vouches for XGETBV.
            unsafe { core::arch::x86_64::_xgetbv(0) }
        }
        // SAFETY: the trait promises that CPUID.OSXSAVE is set, which means that CR4.OSXSAVE is, so XGETBV is
        // defined in user mode (SDM volume 2, XGETBV).
        unsafe { read() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A CPU with every bit of the table set, up to the highest leaves named.
    struct Full {
        basic: u32,
        osxsave: bool,
        xcr0: u64,
    }

    impl Cpuid for Full {
        fn leaf(&self, leaf: u32, subleaf: u32) -> [u32; 4] {
            match (leaf, subleaf) {
                (0, _) => [self.basic, 0, 0, 0],
                (1, _) if !self.osxsave => [!0, !0, !(1 << 27), !0],
                (7, 0) => [1, !0, !0, !0],
                (0x8000_0000, _) => [0x8000_0008, 0, 0, 0],
                (0x8000_0002, _) => [u32::from_le_bytes(*b"  A "), u32::from_le_bytes(*b"  CP"), 0x55, 0],
                _ => [!0; 4],
            }
        }

        fn xcr0(&self) -> u64 {
            assert!(self.osxsave, "XGETBV is undefined here");
            self.xcr0
        }
    }

    #[test]
    fn each_feature_stands_once_and_each_bit_once() {
        for (i, row) in ROWS.iter().enumerate() {
            for other in &ROWS[i + 1..] {
                assert_ne!(row.4, other.4);
                let place = |row: &Row| (row.0, row.1, row.2 as u8, row.3);
                assert_ne!(place(row), place(other), "{}", row.4);
            }
        }
    }

    #[test]
    fn avx_and_more_need_the_operating_system() {
        let all = FeatureSet::from_iter(ROWS.iter().map(|row| row.4));
        let nothing_on = detect(&Full { basic: 0x20, osxsave: false, xcr0: 0 });
        assert_eq!(nothing_on.usable.union(nothing_on.disabled), all.minus(FeatureSet::of(&[OSXSAVE])));
        for feature in [AVX, AVX512F, AMX_TILE, VAES, FMA, XSAVE, XSAVEC] {
            assert!(nothing_on.disabled.contains(feature), "{feature}");
        }
        let avx_on = detect(&Full { basic: 0x20, osxsave: true, xcr0: 0b111 });
        assert!(avx_on.usable.contains(AVX2) && avx_on.usable.contains(XSAVE));
        assert!(avx_on.disabled.contains(AVX512F) && avx_on.disabled.contains(AMX_INT8));
        // Without the opmask state the rest of AVX-512's state is of no use.
        let no_opmask = detect(&Full { basic: 0x20, osxsave: true, xcr0: 0b1100_0111 });
        assert!(no_opmask.disabled.contains(AVX512F));
        let all_on = detect(&Full { basic: 0x20, osxsave: true, xcr0: u64::MAX });
        assert_eq!((all_on.usable, all_on.disabled), (all, FeatureSet::EMPTY));
    }

    #[test]
    fn leaves_beyond_the_highest_are_not_believed() {
        let old = detect(&Full { basic: 1, osxsave: true, xcr0: u64::MAX });
        assert!(old.usable.contains(SSE4_2) && old.usable.contains(LZCNT));
        assert!(!old.usable.contains(AVX2) && !old.usable.contains(XSAVEOPT));
    }

    /// A CPU of which only the maker and the family are known.
    struct Amd {
        signature: u32,
    }

    impl Cpuid for Amd {
        fn leaf(&self, leaf: u32, _subleaf: u32) -> [u32; 4] {
            let word = |text: [u8; 4]| u32::from_le_bytes(text);
            match leaf {
                0 => [1, word(*b"Auth"), word(*b"cAMD"), word(*b"enti")],
                _ => [self.signature, 0, 0, 0],
            }
        }

        fn xcr0(&self) -> u64 {
            0
        }
    }

    #[test]
    fn amd_families_have_names() {
        let zen4 = FeatureSet::of(&[AVX512F]);
        assert_eq!(amd_name(&Amd { signature: 0x00b0_0f21 }, zen4), Some("zen5"));
        assert_eq!(amd_name(&Amd { signature: 0x00a1_0f11 }, zen4), Some("zen4"));
        assert_eq!(amd_name(&Amd { signature: 0x00a0_0f11 }, FeatureSet::EMPTY), Some("zen3"));
        assert_eq!(amd_name(&Amd { signature: 0x0080_0f11 }, FeatureSet::EMPTY), Some("zen"));
        assert_eq!(amd_name(&Amd { signature: 0x0060_0f12 }, zen4), None);
    }

    #[test]
    fn the_brand_is_told_without_its_blanks() {
        assert_eq!(brand(&Full { basic: 1, osxsave: false, xcr0: 0 }), "A CPU");
    }
}
