//! Which feature each bit represents that a program can query from the CPU or the operating system.
//!
//! In: where a bit or a field was read: a CPUID leaf, a word of the auxiliary vector, an identification register. Out:
//! the feature that it states. Host detection reads these tables on the machine itself; an analysis of code reads them
//! to know what a test in the code proves. Sources: Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E; VIA PadLock
//! Programming Guide; Linux, `Documentation/arch/arm64/elf_hwcaps.rst` and `uapi/asm/hwcap.h`; Arm ARM, DDI 0487, D24.2
//! (the ID registers) and D24.1.3 (why a higher value of a field holds what a lower one does).

use crate::{Feature, FeatureSet};

use CpuidRegister::*;
use Feature::*;

/// The registers that hold a CPUID leaf's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CpuidRegister {
    /// `EAX`.
    Eax,
    /// `EBX`.
    Ebx,
    /// `ECX`.
    Ecx,
    /// `EDX`.
    Edx,
}

/// Register state that the operating system must save before the feature can be used: bits of XCR0.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct State(pub(crate) u64);

const NONE: State = State(0);
/// XMM and the upper halves of YMM.
const YMM: State = State(0b110);
/// Opmasks, upper halves of ZMM0-15, and ZMM16-31, on top of YMM.
const ZMM: State = State(0b1110_0110);
/// Tile configuration and tile data.
const TILE: State = State(0b11 << 17);

/// A feature's place: leaf, subleaf, register, bit; and the state that it needs.
pub(crate) type Row = (u32, u32, CpuidRegister, u32, Feature, State);

pub(crate) const ROWS: &[Row] = &[
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

/// Leaves with bits that represent features, some of them for none here.
pub const FEATURE_LEAVES: [u32; 11] =
    [1, 7, 0xd, 0x14, 0x19, 0x1e, 0x24, 0x8000_0001, 0x8000_0007, 0x8000_0008, PADLOCK_LEAF];

/// The leaf of VIA's and Zhaoxin's security unit, and the bits of `EDX` that say which parts of it are switched on: random
/// numbers, AES, AES of the second version, hashes, multiplication. The bit below each says that the part is there.
const PADLOCK_LEAF: u32 = 0xc000_0001;
const PADLOCK_ON: [u32; 5] = [3, 7, 9, 11, 13];

/// Of those the ones whose answer depends on the subleaf in `ECX`.
const LEAVES_WITH_SUBLEAVES: [u32; 5] = [7, 0xd, 0x14, 0x1e, 0x24];

/// The feature that one bit of CPUID's answer represents. Where the leaf has no subleaves, any will do.
///
/// The bit alone shows that the CPU has the feature. For AVX and what builds on it the operating system must have
/// switched on the registers' state as well, which `XGETBV` shows.
pub fn cpuid_bit(leaf: u32, subleaf: u32, register: CpuidRegister, bit: u32) -> Option<Feature> {
    let subleaf = if LEAVES_WITH_SUBLEAVES.contains(&leaf) { subleaf } else { 0 };
    let place = (leaf, subleaf, register, bit);
    // Detection goes by the operating system's bit (OSPKE); programs test either.
    if place == (7, 0, Ecx, 3) {
        return Some(PKU);
    }
    // Not among the rows: where the leaf is none, it answers as another one does, and only its vendor has it.
    if (leaf, register) == (PADLOCK_LEAF, Edx) && PADLOCK_ON.contains(&bit) {
        return Some(PADLOCK);
    }
    ROWS.iter()
        .find(|&&(leaf, subleaf, register, bit, ..)| (leaf, subleaf, register, bit) == place)
        .map(|&(.., feature, _)| feature)
}

/// Where CPUID states a feature, and which register state it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuidPlace {
    /// The leaf (`EAX`) and the subleaf (`ECX`).
    pub leaf: (u32, u32),
    /// The register of the answer.
    pub register: CpuidRegister,
    /// The bit of the register.
    pub bit: u32,
    /// Bits of XCR0 that must all be set.
    pub xcr0: u64,
}

/// Where CPUID states a feature of x86-64; `None` where it states it nowhere.
pub fn cpuid_place(feature: Feature) -> Option<CpuidPlace> {
    let row = ROWS.iter().find(|row| row.4 == feature)?;
    let &(leaf, subleaf, register, bit, _, State(xcr0)) = row;
    Some(CpuidPlace { leaf: (leaf, subleaf), register, bit, xcr0 })
}

/// Where the auxiliary vector states a feature of AArch64, as [`hwcap_bit`] counts words: word, bit. `None` where
/// Linux reports it to no program.
pub fn hwcap_place(feature: Feature) -> Option<(u8, u32)> {
    let place = |word: u8, table: &[(u32, Feature)]| {
        table.iter().find(|row| row.1 == feature).map(|&(bit, _)| (word, bit))
    };
    place(1, HWCAP).or_else(|| place(2, HWCAP2))
}

/// The CPUID leaves that glibc keeps in `struct cpu_features`, with their subleaves, in the order of
/// `__x86_get_cpuid_feature_leaf`'s argument (glibc, `sysdeps/x86/bits/platform/x86.h`).
pub const GLIBC_LEAVES: &[(u32, u32)] = &[
    (1, 0),
    (7, 0),
    (0x8000_0001, 0),
    (0xd, 1),
    (0x8000_0007, 0),
    (0x8000_0008, 0),
    (7, 1),
    (0x19, 0),
    (0x14, 0),
];

/// Whether CPUID's answer to a leaf holds bits that represent features.
pub fn is_feature_leaf(leaf: u32) -> bool {
    FEATURE_LEAVES.contains(&leaf)
}

/// The types of the auxiliary vector's entries that state features of AArch64 (Linux, `uapi/linux/auxvec.h`).
pub const AT_HWCAP: u64 = 16;
/// The second of them.
pub const AT_HWCAP2: u64 = 26;

/// Bits of `AT_HWCAP`.
pub(crate) const HWCAP: &[(u32, Feature)] = &[
    (0, FEAT_FP),
    (1, FEAT_ASIMD),
    (3, FEAT_AES),
    (4, FEAT_PMULL),
    (5, FEAT_SHA1),
    (6, FEAT_SHA256),
    (7, FEAT_CRC32),
    (8, FEAT_LSE),
    (9, FEAT_FP16),
    (12, FEAT_RDM),
    (13, FEAT_JSCVT),
    (14, FEAT_FCMA),
    (15, FEAT_LRCPC),
    (16, FEAT_DPB),
    (17, FEAT_SHA3),
    (18, FEAT_SM3),
    (19, FEAT_SM4),
    (20, FEAT_DotProd),
    (21, FEAT_SHA512),
    (22, FEAT_SVE),
    (23, FEAT_FHM),
    (24, FEAT_DIT),
    (25, FEAT_LSE2),
    (26, FEAT_LRCPC2),
    (27, FEAT_FlagM),
    (28, FEAT_SSBS),
    (29, FEAT_SB),
    (30, FEAT_PAuth),
    (32, FEAT_GCS),
    (33, FEAT_CMPBR),
    (34, FEAT_FPRCVT),
    (41, FEAT_SVE2p2),
    (42, FEAT_SME2p2),
];

/// Bits of `AT_HWCAP2`.
pub(crate) const HWCAP2: &[(u32, Feature)] = &[
    (0, FEAT_DPB2),
    (1, FEAT_SVE2),
    (2, FEAT_SVE_AES),
    (3, FEAT_SVE_PMULL128),
    (4, FEAT_SVE_BitPerm),
    (5, FEAT_SVE_SHA3),
    (6, FEAT_SVE_SM4),
    (7, FEAT_FlagM2),
    (8, FEAT_FRINTTS),
    (10, FEAT_F32MM),
    (11, FEAT_F64MM),
    (13, FEAT_I8MM),
    (14, FEAT_BF16),
    (16, FEAT_RNG),
    (17, FEAT_BTI),
    (18, FEAT_MTE),
    (19, FEAT_ECV),
    (23, FEAT_SME),
    (24, FEAT_SME_I16I64),
    (25, FEAT_SME_F64F64),
    (31, FEAT_WFxT),
    (32, FEAT_EBF16),
    (34, FEAT_CSSC),
    (36, FEAT_SVE2p1),
    (37, FEAT_SME2),
    (38, FEAT_SME2p1),
    (41, FEAT_SME_B16B16),
    (42, FEAT_SME_F16F16),
    (43, FEAT_MOPS),
    (44, FEAT_HBC),
    (45, FEAT_SVE_B16B16),
    (46, FEAT_LRCPC3),
    (47, FEAT_LSE128),
    (49, FEAT_LUT),
    (50, FEAT_FAMINMAX),
    (51, FEAT_FP8),
    (52, FEAT_FP8FMA),
    (53, FEAT_FP8DOT4),
    (54, FEAT_FP8DOT2),
    (57, FEAT_SME_LUTv2),
    (58, FEAT_SME_F8F16),
    (59, FEAT_SME_F8F32),
];

/// Further bits, of features that have one in the tables above: the word's number, the bit.
const HWCAP_TWINS: &[(u8, u32, Feature)] = &[
    // `asimdhp`. The Arm ARM allows half precision for scalars and vectors only together (ID_AA64PFR0_EL1.AdvSIMD).
    (1, 10, FEAT_FP16),
    // `pacg`, generic signatures, as `paca` is for addresses.
    (1, 31, FEAT_PAuth),
    // Of SVE, whose own bit is tested, too: `svei8mm`, `svebf16`, `sveebf16`.
    (2, 9, FEAT_I8MM),
    (2, 12, FEAT_BF16),
    (2, 33, FEAT_EBF16),
    // `mte3`.
    (2, 22, FEAT_MTE),
];

/// The feature that a bit of the auxiliary vector represents on AArch64: word 1 is `AT_HWCAP`, word 2 `AT_HWCAP2`.
pub fn hwcap_bit(word: u8, bit: u32) -> Option<Feature> {
    let table = match word {
        1 => HWCAP,
        2 => HWCAP2,
        _ => return None,
    };
    let twins = HWCAP_TWINS.iter().filter(|row| row.0 == word).map(|&(_, bit, feature)| (bit, feature));
    table.iter().copied().chain(twins).find(|row| row.0 == bit).map(|(_, feature)| feature)
}

/// A field of four bits in an identification register of AArch64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdField {
    /// The lowest of its bits in the register.
    pub low: u8,
    /// Whether 15 means "absent" and 0 the first feature, as for floating point.
    pub is_signed: bool,
    /// The value from which on a feature is present, and the feature; in ascending order.
    pub features: &'static [(u8, Feature)],
    /// The values that no CPU has, one bit each: reserved below a first value that is not 1.
    pub reserved: u16,
}

impl IdField {
    /// The features that the field states by one value, 0 to 15.
    pub fn features(&self, value: u8) -> FeatureSet {
        if self.is_signed && value & 8 != 0 {
            return FeatureSet::EMPTY;
        }
        self.features.iter().filter(|(from, _)| value >= *from).map(|(_, feature)| *feature).collect()
    }

    /// The features that are present whichever of several values the field has: bit `n` of `values` represents the
    /// value `n`. No value states nothing.
    pub fn proven(&self, values: u16) -> FeatureSet {
        (0..16)
            .filter(|value| values & !self.reserved & 1 << value != 0)
            .map(|value| self.features(value))
            .reduce(FeatureSet::intersection)
            .unwrap_or_default()
    }
}

const fn field(low: u8, features: &'static [(u8, Feature)]) -> IdField {
    IdField { low, is_signed: false, features, reserved: 0 }
}

/// A field whose first value is 2: 1 is reserved (`Atomic`, Arm ARM, D24.2.75).
const fn from_two(low: u8, features: &'static [(u8, Feature)]) -> IdField {
    IdField { low, is_signed: false, features, reserved: 1 << 1 }
}

const fn signed(low: u8, features: &'static [(u8, Feature)]) -> IdField {
    IdField { low, is_signed: true, features, reserved: 0 }
}

/// The fields of each identification register that state features: the register's number, then its fields.
const ID_REGISTERS: &[(u16, &[IdField])] = &[
    (
        ID_AA64PFR0_EL1,
        &[
            signed(16, &[(0, FEAT_FP), (1, FEAT_FP16)]),
            signed(20, &[(0, FEAT_ASIMD), (1, FEAT_FP16)]),
            field(28, &[(1, FEAT_RAS)]),
            field(32, &[(1, FEAT_SVE)]),
            field(48, &[(1, FEAT_DIT)]),
        ],
    ),
    (
        ID_AA64PFR1_EL1,
        &[
            field(0, &[(1, FEAT_BTI)]),
            // 1 has the bit without the instructions that change it.
            field(4, &[(2, FEAT_SSBS)]),
            field(8, &[(1, FEAT_MTE)]),
            field(24, &[(1, FEAT_SME), (2, FEAT_SME2)]),
            field(44, &[(1, FEAT_GCS)]),
            field(48, &[(1, FEAT_THE)]),
        ],
    ),
    // Of SVE; where ID_AA64PFR0_EL1 states SME only, of the SVE instructions in streaming mode.
    (
        ID_AA64ZFR0_EL1,
        &[
            field(0, &[(1, FEAT_SVE2), (2, FEAT_SVE2p1), (3, FEAT_SVE2p2)]),
            field(4, &[(1, FEAT_SVE_AES), (2, FEAT_SVE_PMULL128)]),
            field(16, &[(1, FEAT_SVE_BitPerm)]),
            field(20, &[(1, FEAT_BF16), (2, FEAT_EBF16)]),
            field(24, &[(1, FEAT_SVE_B16B16)]),
            field(32, &[(1, FEAT_SVE_SHA3)]),
            field(40, &[(1, FEAT_SVE_SM4)]),
            field(44, &[(1, FEAT_I8MM)]),
            field(52, &[(1, FEAT_F32MM)]),
            field(56, &[(1, FEAT_F64MM)]),
        ],
    ),
    (
        ID_AA64ISAR0_EL1,
        &[
            field(4, &[(1, FEAT_AES), (2, FEAT_PMULL)]),
            field(8, &[(1, FEAT_SHA1)]),
            field(12, &[(1, FEAT_SHA256), (2, FEAT_SHA512)]),
            field(16, &[(1, FEAT_CRC32)]),
            from_two(20, &[(2, FEAT_LSE), (3, FEAT_LSE128)]),
            field(24, &[(1, FEAT_TME)]),
            field(28, &[(1, FEAT_RDM)]),
            field(32, &[(1, FEAT_SHA3)]),
            field(36, &[(1, FEAT_SM3)]),
            field(40, &[(1, FEAT_SM4)]),
            field(44, &[(1, FEAT_DotProd)]),
            field(48, &[(1, FEAT_FHM)]),
            field(52, &[(1, FEAT_FlagM), (2, FEAT_FlagM2)]),
            field(60, &[(1, FEAT_RNG)]),
        ],
    ),
    (
        ID_AA64ISAR1_EL1,
        &[
            field(0, &[(1, FEAT_DPB), (2, FEAT_DPB2)]),
            // APA, API, and below GPA, GPI: four algorithms that sign pointers, each showing that pointers can be signed.
            field(4, &[(1, FEAT_PAuth)]),
            field(8, &[(1, FEAT_PAuth)]),
            field(12, &[(1, FEAT_JSCVT)]),
            field(16, &[(1, FEAT_FCMA)]),
            field(20, &[(1, FEAT_LRCPC), (2, FEAT_LRCPC2), (3, FEAT_LRCPC3)]),
            field(24, &[(1, FEAT_PAuth)]),
            field(28, &[(1, FEAT_PAuth)]),
            field(32, &[(1, FEAT_FRINTTS)]),
            field(36, &[(1, FEAT_SB)]),
            field(40, &[(1, FEAT_SPECRES), (2, FEAT_SPECRES2)]),
            field(44, &[(1, FEAT_BF16), (2, FEAT_EBF16)]),
            field(52, &[(1, FEAT_I8MM)]),
            field(56, &[(1, FEAT_XS)]),
            field(60, &[(1, FEAT_LS64), (2, FEAT_LS64_V), (3, FEAT_LS64_ACCDATA)]),
        ],
    ),
    (
        ID_AA64ISAR2_EL1,
        &[
            field(0, &[(2, FEAT_WFxT)]),
            // GPA3, APA3.
            field(8, &[(1, FEAT_PAuth)]),
            field(12, &[(1, FEAT_PAuth)]),
            field(16, &[(1, FEAT_MOPS)]),
            field(20, &[(1, FEAT_HBC)]),
            field(52, &[(1, FEAT_CSSC), (2, FEAT_CMPBR)]),
            field(56, &[(1, FEAT_LUT)]),
        ],
    ),
    (ID_AA64ISAR3_EL1, &[field(0, &[(1, FEAT_CPA)]), field(4, &[(1, FEAT_FAMINMAX)])]),
    (ID_AA64MMFR2_EL1, &[field(32, &[(1, FEAT_LSE2)])]),
];

const fn id_register(crm: u16, op2: u16) -> u16 {
    0b11 << 14 | crm << 3 | op2
}

const ID_AA64PFR0_EL1: u16 = id_register(4, 0);
const ID_AA64PFR1_EL1: u16 = id_register(4, 1);
const ID_AA64ZFR0_EL1: u16 = id_register(4, 4);
const ID_AA64ISAR0_EL1: u16 = id_register(6, 0);
const ID_AA64ISAR1_EL1: u16 = id_register(6, 1);
const ID_AA64ISAR2_EL1: u16 = id_register(6, 2);
const ID_AA64ISAR3_EL1: u16 = id_register(6, 3);
const ID_AA64MMFR2_EL1: u16 = id_register(7, 2);

/// The fields of an AArch64 identification register that state features; none where the register is not known.
///
/// `register` is its number as `mrs` encodes it, `op0:op1:CRn:CRm:op2` in 16 bits: 0xc030 is `ID_AA64ISAR0_EL1`.
pub fn id_register_bits(register: u16) -> &'static [IdField] {
    ID_REGISTERS.iter().find(|row| row.0 == register).map_or(&[], |row| row.1)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn each_bit_and_each_feature_stands_once() {
        for (i, (bit, feature)) in HWCAP.iter().chain(HWCAP2).enumerate() {
            assert!(*bit < 64);
            assert!(HWCAP.iter().chain(HWCAP2).skip(i + 1).all(|(_, other)| other != feature), "{feature}");
        }
        for bits in [HWCAP, HWCAP2] {
            assert!(bits.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }

    #[test]
    fn a_bit_of_cpuid_states_its_feature() {
        assert_eq!(cpuid_bit(1, 0, Ecx, 28), Some(AVX));
        assert_eq!(cpuid_bit(7, 0, Ebx, 5), Some(AVX2));
        assert_eq!(cpuid_bit(7, 1, Eax, 4), Some(AVX_VNNI));
        assert_eq!(cpuid_bit(0xd, 1, Eax, 1), Some(XSAVEC));
        assert_eq!(cpuid_bit(0x8000_0001, 0, Ecx, 5), Some(LZCNT));
        assert_eq!((cpuid_bit(7, 0, Ecx, 3), cpuid_bit(7, 0, Ecx, 4)), (Some(PKU), Some(PKU)));
        // `rng_en`, and `rng`, which alone is not enough.
        assert_eq!(
            (cpuid_bit(PADLOCK_LEAF, 0, Edx, 3), cpuid_bit(PADLOCK_LEAF, 0, Edx, 2)),
            (Some(PADLOCK), None)
        );
        for (leaf, subleaf, register, bit) in
            [(1, 0, Eax, 0), (7, 0, Ebx, 32), (0, 0, Ecx, 0), (2, 0, Ecx, 0)]
        {
            assert_eq!(cpuid_bit(leaf, subleaf, register, bit), None, "{leaf:#x} {register:?} {bit}");
        }
    }

    #[test]
    fn the_subleaf_counts_only_where_the_leaf_has_some() {
        assert_eq!(cpuid_bit(1, 7, Ecx, 28), Some(AVX));
        assert_eq!(cpuid_bit(0x8000_0001, 3, Ecx, 5), Some(LZCNT));
        assert_eq!(
            (cpuid_bit(7, 1, Ebx, 5), cpuid_bit(7, 1, Ecx, 3), cpuid_bit(0xd, 0, Eax, 1)),
            (None, None, None)
        );
    }

    #[test]
    fn every_bit_of_cpuid_is_in_a_feature_leaf() {
        for &(leaf, subleaf, register, bit, feature, _) in ROWS {
            assert!(is_feature_leaf(leaf), "{leaf:#x}");
            assert!(subleaf == 0 || LEAVES_WITH_SUBLEAVES.contains(&leaf), "{leaf:#x}");
            assert_eq!(cpuid_bit(leaf, subleaf, register, bit), Some(feature));
        }
        for leaf in [0, 2, 4, 0x8000_0000, 0x8000_0002] {
            assert!(!is_feature_leaf(leaf), "{leaf:#x}");
        }
        assert!(LEAVES_WITH_SUBLEAVES.iter().all(|leaf| is_feature_leaf(*leaf)));
    }

    #[test]
    fn a_bit_of_the_auxiliary_vector_states_its_feature() {
        assert_eq!((hwcap_bit(1, 8), hwcap_bit(2, 1)), (Some(FEAT_LSE), Some(FEAT_SVE2)));
        assert_eq!((hwcap_bit(1, 9), hwcap_bit(1, 10)), (Some(FEAT_FP16), Some(FEAT_FP16)));
        assert_eq!((hwcap_bit(2, 9), hwcap_bit(2, 13)), (Some(FEAT_I8MM), Some(FEAT_I8MM)));
        // `evtstrm`, `cpuid`, and words that do not exist.
        for (word, bit) in [(1, 2), (1, 11), (0, 8), (3, 8), (1, 64)] {
            assert_eq!(hwcap_bit(word, bit), None, "{word} {bit}");
        }
        for &(word, bit, feature) in HWCAP_TWINS {
            let table = if word == 1 { HWCAP } else { HWCAP2 };
            assert!(
                table.iter().all(|row| row.0 != bit) && table.iter().any(|row| row.1 == feature),
                "{feature}"
            );
        }
    }

    fn field_at(register: u16, low: u8) -> &'static IdField {
        id_register_bits(register).iter().find(|field| field.low == low).expect("a field of the register")
    }

    #[test]
    fn a_field_states_all_features_up_to_its_value() {
        let aes = field_at(0xc030, 4); // ID_AA64ISAR0_EL1.AES
        assert_eq!(aes.features(0), FeatureSet::EMPTY);
        assert_eq!(aes.features(1), FeatureSet::of(&[FEAT_AES]));
        assert_eq!(aes.features(15), FeatureSet::of(&[FEAT_AES, FEAT_PMULL]));
        let atomic = field_at(0xc030, 20); // ID_AA64ISAR0_EL1.Atomic
        assert_eq!(
            (atomic.features(1), atomic.features(2)),
            (FeatureSet::EMPTY, FeatureSet::of(&[FEAT_LSE]))
        );
        let rcpc = field_at(0xc031, 20); // ID_AA64ISAR1_EL1.LRCPC
        assert_eq!(rcpc.features(2), FeatureSet::of(&[FEAT_LRCPC, FEAT_LRCPC2]));
        assert!(id_register_bits(0xc000).is_empty(), "MIDR_EL1 names the CPU, not its features");
    }

    #[test]
    fn floating_point_is_absent_at_fifteen() {
        let fp = field_at(0xc020, 16); // ID_AA64PFR0_EL1.FP
        assert_eq!(fp.features(15), FeatureSet::EMPTY);
        assert_eq!(
            (fp.features(0), fp.features(1)),
            (FeatureSet::of(&[FEAT_FP]), FeatureSet::of(&[FEAT_FP, FEAT_FP16]))
        );
        assert_eq!(fp.proven(!1), FeatureSet::EMPTY, "not zero may be fifteen");
    }

    #[test]
    fn several_values_prove_what_each_of_them_does() {
        let aes = field_at(0xc030, 4); // ID_AA64ISAR0_EL1.AES
        assert_eq!(aes.proven(!1), FeatureSet::of(&[FEAT_AES]));
        assert_eq!(aes.proven(!3), FeatureSet::of(&[FEAT_AES, FEAT_PMULL]));
        assert_eq!((aes.proven(u16::MAX), aes.proven(0)), (FeatureSet::EMPTY, FeatureSet::EMPTY));
        // Bit 1 of the field, which a test of bit 21 of the register reads.
        let bit_1 = 0b1100_1100_1100_1100;
        assert_eq!(field_at(0xc030, 20).proven(bit_1), FeatureSet::of(&[FEAT_LSE]));
        // Go's runtime tests for any value but 0.
        assert_eq!(field_at(0xc030, 20).proven(!1), FeatureSet::of(&[FEAT_LSE]), "1 is reserved");
    }

    #[test]
    fn fields_lie_apart_and_their_values_ascend() {
        for (register, fields) in ID_REGISTERS {
            assert!(fields.windows(2).all(|pair| pair[0].low + 4 <= pair[1].low), "{register:#x}");
            for field in *fields {
                assert!(field.low <= 60 && !field.features.is_empty());
                assert!(
                    field.features.windows(2).all(|pair| pair[0].0 < pair[1].0),
                    "{register:#x} {}",
                    field.low
                );
                assert!(
                    field.features.iter().all(|(value, _)| *value < 8 && (*value > 0 || field.is_signed))
                );
            }
        }
    }
}
