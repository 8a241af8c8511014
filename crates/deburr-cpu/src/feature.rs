//! The names of instruction-set features, and sets of them.
//!
//! x86-64 features carry the names of the `CPUID` flags (Intel SDM volume 2, AMD APM volume 3), AArch64
//! features the `FEAT_` names of the Arm Architecture Reference Manual. Both live in one enumeration, so
//! that one set type serves every instruction set.

use core::fmt;

/// An instruction-set architecture that deburr reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arch {
    /// x86 in 64-bit mode (`EM_X86_64`).
    X86_64,
    /// Arm A64 (`EM_AARCH64`).
    Aarch64,
}

impl Arch {
    /// The name used in every output: `x86_64` or `aarch64`.
    pub const fn name(self) -> &'static str {
        match self {
            Arch::X86_64 => "x86_64",
            Arch::Aarch64 => "aarch64",
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

macro_rules! features {
    ($($variant:ident = $name:literal @ $arch:ident,)*) => {
        /// One instruction-set feature.
        #[expect(non_camel_case_types, missing_docs, reason = "the variants are the manuals' own names")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Feature { $($variant,)* }

        /// All features, in the order of their discriminants.
        const ALL: &[Feature] = &[$(Feature::$variant,)*];

        impl Feature {
            /// The manual's name: `AVX512_VNNI`, `FEAT_LSE`.
            pub const fn name(self) -> &'static str {
                match self { $(Feature::$variant => $name,)* }
            }

            /// The architecture that defines the feature.
            pub const fn arch(self) -> Arch {
                match self { $(Feature::$variant => Arch::$arch,)* }
            }
        }
    };
}

features! {
    ADX = "ADX" @ X86_64,
    AES = "AES" @ X86_64,
    AESKLE = "AESKLE" @ X86_64,
    AMX_BF16 = "AMX_BF16" @ X86_64,
    AMX_COMPLEX = "AMX_COMPLEX" @ X86_64,
    AMX_FP16 = "AMX_FP16" @ X86_64,
    AMX_INT8 = "AMX_INT8" @ X86_64,
    AMX_TILE = "AMX_TILE" @ X86_64,
    AVX = "AVX" @ X86_64,
    AVX2 = "AVX2" @ X86_64,
    AVX512BW = "AVX512BW" @ X86_64,
    AVX512CD = "AVX512CD" @ X86_64,
    AVX512DQ = "AVX512DQ" @ X86_64,
    AVX512ER = "AVX512ER" @ X86_64,
    AVX512F = "AVX512F" @ X86_64,
    AVX512PF = "AVX512PF" @ X86_64,
    AVX512VL = "AVX512VL" @ X86_64,
    AVX512_4FMAPS = "AVX512_4FMAPS" @ X86_64,
    AVX512_4VNNIW = "AVX512_4VNNIW" @ X86_64,
    AVX512_BF16 = "AVX512_BF16" @ X86_64,
    AVX512_BITALG = "AVX512_BITALG" @ X86_64,
    AVX512_FP16 = "AVX512_FP16" @ X86_64,
    AVX512_IFMA = "AVX512_IFMA" @ X86_64,
    AVX512_VBMI = "AVX512_VBMI" @ X86_64,
    AVX512_VBMI2 = "AVX512_VBMI2" @ X86_64,
    AVX512_VNNI = "AVX512_VNNI" @ X86_64,
    AVX512_VP2INTERSECT = "AVX512_VP2INTERSECT" @ X86_64,
    AVX512_VPOPCNTDQ = "AVX512_VPOPCNTDQ" @ X86_64,
    AVX_IFMA = "AVX_IFMA" @ X86_64,
    AVX_NE_CONVERT = "AVX_NE_CONVERT" @ X86_64,
    AVX_VNNI = "AVX_VNNI" @ X86_64,
    AVX_VNNI_INT16 = "AVX_VNNI_INT16" @ X86_64,
    AVX_VNNI_INT8 = "AVX_VNNI_INT8" @ X86_64,
    BMI1 = "BMI1" @ X86_64,
    BMI2 = "BMI2" @ X86_64,
    CET_SS = "CET_SS" @ X86_64,
    CLDEMOTE = "CLDEMOTE" @ X86_64,
    CLFLUSHOPT = "CLFLUSHOPT" @ X86_64,
    CLFSH = "CLFSH" @ X86_64,
    CLWB = "CLWB" @ X86_64,
    CLZERO = "CLZERO" @ X86_64,
    CMOV = "CMOV" @ X86_64,
    CMPCCXADD = "CMPCCXADD" @ X86_64,
    CMPXCHG16B = "CMPXCHG16B" @ X86_64,
    CX8 = "CX8" @ X86_64,
    D3NOW = "3DNOW" @ X86_64,
    D3NOWEXT = "3DNOWEXT" @ X86_64,
    ENQCMD = "ENQCMD" @ X86_64,
    F16C = "F16C" @ X86_64,
    FMA = "FMA" @ X86_64,
    FMA4 = "FMA4" @ X86_64,
    FPU = "FPU" @ X86_64,
    FRED = "FRED" @ X86_64,
    FSGSBASE = "FSGSBASE" @ X86_64,
    FXSR = "FXSR" @ X86_64,
    GFNI = "GFNI" @ X86_64,
    HRESET = "HRESET" @ X86_64,
    INVLPGB = "INVLPGB" @ X86_64,
    INVPCID = "INVPCID" @ X86_64,
    KL = "KL" @ X86_64,
    LAHF = "LAHF" @ X86_64,
    LKGS = "LKGS" @ X86_64,
    LWP = "LWP" @ X86_64,
    LZCNT = "LZCNT" @ X86_64,
    MCOMMIT = "MCOMMIT" @ X86_64,
    MMX = "MMX" @ X86_64,
    MONITOR = "MONITOR" @ X86_64,
    MONITORX = "MONITORX" @ X86_64,
    MOVBE = "MOVBE" @ X86_64,
    MOVDIR64B = "MOVDIR64B" @ X86_64,
    MOVDIRI = "MOVDIRI" @ X86_64,
    MPX = "MPX" @ X86_64,
    MSRLIST = "MSRLIST" @ X86_64,
    OSXSAVE = "OSXSAVE" @ X86_64,
    PADLOCK = "PADLOCK" @ X86_64,
    PCLMULQDQ = "PCLMULQDQ" @ X86_64,
    PCONFIG = "PCONFIG" @ X86_64,
    PKU = "PKU" @ X86_64,
    POPCNT = "POPCNT" @ X86_64,
    PREFETCHI = "PREFETCHI" @ X86_64,
    PREFETCHW = "PREFETCHW" @ X86_64,
    PREFETCHWT1 = "PREFETCHWT1" @ X86_64,
    PTWRITE = "PTWRITE" @ X86_64,
    RAO_INT = "RAO_INT" @ X86_64,
    RDPID = "RDPID" @ X86_64,
    RDPMC = "RDPMC" @ X86_64,
    RDPRU = "RDPRU" @ X86_64,
    RDRAND = "RDRAND" @ X86_64,
    RDSEED = "RDSEED" @ X86_64,
    RDTSCP = "RDTSCP" @ X86_64,
    RTM = "RTM" @ X86_64,
    SERIALIZE = "SERIALIZE" @ X86_64,
    SEV = "SEV" @ X86_64,
    SGX = "SGX" @ X86_64,
    SHA = "SHA" @ X86_64,
    SHA512 = "SHA512" @ X86_64,
    SM3 = "SM3" @ X86_64,
    SM4 = "SM4" @ X86_64,
    SMAP = "SMAP" @ X86_64,
    SMX = "SMX" @ X86_64,
    SSE = "SSE" @ X86_64,
    SSE2 = "SSE2" @ X86_64,
    SSE3 = "SSE3" @ X86_64,
    SSE4A = "SSE4A" @ X86_64,
    SSE4_1 = "SSE4_1" @ X86_64,
    SSE4_2 = "SSE4_2" @ X86_64,
    SSSE3 = "SSSE3" @ X86_64,
    SVM = "SVM" @ X86_64,
    SYSTEM = "SYSTEM" @ X86_64,
    TBM = "TBM" @ X86_64,
    TDX = "TDX" @ X86_64,
    TSXLDTRK = "TSXLDTRK" @ X86_64,
    UINTR = "UINTR" @ X86_64,
    VAES = "VAES" @ X86_64,
    VMX = "VMX" @ X86_64,
    VPCLMULQDQ = "VPCLMULQDQ" @ X86_64,
    WAITPKG = "WAITPKG" @ X86_64,
    WBNOINVD = "WBNOINVD" @ X86_64,
    WRMSRNS = "WRMSRNS" @ X86_64,
    XOP = "XOP" @ X86_64,
    XSAVE = "XSAVE" @ X86_64,
    XSAVEC = "XSAVEC" @ X86_64,
    XSAVEOPT = "XSAVEOPT" @ X86_64,
    XSAVES = "XSAVES" @ X86_64,
    OTHER_X86_64 = "OTHER" @ X86_64,
    FEAT_FP = "FEAT_FP" @ Aarch64,
    FEAT_ASIMD = "FEAT_ASIMD" @ Aarch64,
    FEAT_AES = "FEAT_AES" @ Aarch64,
    FEAT_PMULL = "FEAT_PMULL" @ Aarch64,
    FEAT_SHA1 = "FEAT_SHA1" @ Aarch64,
    FEAT_SHA256 = "FEAT_SHA256" @ Aarch64,
    FEAT_SHA512 = "FEAT_SHA512" @ Aarch64,
    FEAT_SHA3 = "FEAT_SHA3" @ Aarch64,
    FEAT_SM3 = "FEAT_SM3" @ Aarch64,
    FEAT_SM4 = "FEAT_SM4" @ Aarch64,
    FEAT_CRC32 = "FEAT_CRC32" @ Aarch64,
    FEAT_LSE = "FEAT_LSE" @ Aarch64,
    FEAT_LSE2 = "FEAT_LSE2" @ Aarch64,
    FEAT_LSE128 = "FEAT_LSE128" @ Aarch64,
    FEAT_LSFE = "FEAT_LSFE" @ Aarch64,
    FEAT_LSUI = "FEAT_LSUI" @ Aarch64,
    FEAT_RDM = "FEAT_RDM" @ Aarch64,
    FEAT_LOR = "FEAT_LOR" @ Aarch64,
    FEAT_PAN = "FEAT_PAN" @ Aarch64,
    FEAT_VHE = "FEAT_VHE" @ Aarch64,
    FEAT_HPDS = "FEAT_HPDS" @ Aarch64,
    FEAT_UAO = "FEAT_UAO" @ Aarch64,
    FEAT_DPB = "FEAT_DPB" @ Aarch64,
    FEAT_DPB2 = "FEAT_DPB2" @ Aarch64,
    FEAT_FP16 = "FEAT_FP16" @ Aarch64,
    FEAT_FHM = "FEAT_FHM" @ Aarch64,
    FEAT_DotProd = "FEAT_DotProd" @ Aarch64,
    FEAT_FCMA = "FEAT_FCMA" @ Aarch64,
    FEAT_JSCVT = "FEAT_JSCVT" @ Aarch64,
    FEAT_LRCPC = "FEAT_LRCPC" @ Aarch64,
    FEAT_LRCPC2 = "FEAT_LRCPC2" @ Aarch64,
    FEAT_LRCPC3 = "FEAT_LRCPC3" @ Aarch64,
    FEAT_PAuth = "FEAT_PAuth" @ Aarch64,
    FEAT_DIT = "FEAT_DIT" @ Aarch64,
    FEAT_FlagM = "FEAT_FlagM" @ Aarch64,
    FEAT_FlagM2 = "FEAT_FlagM2" @ Aarch64,
    FEAT_FRINTTS = "FEAT_FRINTTS" @ Aarch64,
    FEAT_BTI = "FEAT_BTI" @ Aarch64,
    FEAT_SB = "FEAT_SB" @ Aarch64,
    FEAT_SPECRES = "FEAT_SPECRES" @ Aarch64,
    FEAT_SPECRES2 = "FEAT_SPECRES2" @ Aarch64,
    FEAT_SSBS = "FEAT_SSBS" @ Aarch64,
    FEAT_RNG = "FEAT_RNG" @ Aarch64,
    FEAT_MTE = "FEAT_MTE" @ Aarch64,
    FEAT_BF16 = "FEAT_BF16" @ Aarch64,
    FEAT_I8MM = "FEAT_I8MM" @ Aarch64,
    FEAT_ECV = "FEAT_ECV" @ Aarch64,
    FEAT_FGT = "FEAT_FGT" @ Aarch64,
    FEAT_WFxT = "FEAT_WFxT" @ Aarch64,
    FEAT_XS = "FEAT_XS" @ Aarch64,
    FEAT_MOPS = "FEAT_MOPS" @ Aarch64,
    FEAT_HBC = "FEAT_HBC" @ Aarch64,
    FEAT_LS64 = "FEAT_LS64" @ Aarch64,
    FEAT_LS64_V = "FEAT_LS64_V" @ Aarch64,
    FEAT_LS64_ACCDATA = "FEAT_LS64_ACCDATA" @ Aarch64,
    FEAT_CSSC = "FEAT_CSSC" @ Aarch64,
    FEAT_D128 = "FEAT_D128" @ Aarch64,
    FEAT_THE = "FEAT_THE" @ Aarch64,
    FEAT_GCS = "FEAT_GCS" @ Aarch64,
    FEAT_CHK = "FEAT_CHK" @ Aarch64,
    FEAT_CPA = "FEAT_CPA" @ Aarch64,
    FEAT_CMPBR = "FEAT_CMPBR" @ Aarch64,
    FEAT_FAMINMAX = "FEAT_FAMINMAX" @ Aarch64,
    FEAT_FP8 = "FEAT_FP8" @ Aarch64,
    FEAT_FP8DOT2 = "FEAT_FP8DOT2" @ Aarch64,
    FEAT_FP8DOT4 = "FEAT_FP8DOT4" @ Aarch64,
    FEAT_FP8FMA = "FEAT_FP8FMA" @ Aarch64,
    FEAT_F8F16MM = "FEAT_F8F16MM" @ Aarch64,
    FEAT_F8F32MM = "FEAT_F8F32MM" @ Aarch64,
    FEAT_F16F32DOT = "FEAT_F16F32DOT" @ Aarch64,
    FEAT_F16F32MM = "FEAT_F16F32MM" @ Aarch64,
    FEAT_F16MM = "FEAT_F16MM" @ Aarch64,
    FEAT_FPRCVT = "FEAT_FPRCVT" @ Aarch64,
    FEAT_LUT = "FEAT_LUT" @ Aarch64,
    FEAT_ITE = "FEAT_ITE" @ Aarch64,
    FEAT_TME = "FEAT_TME" @ Aarch64,
    FEAT_TRF = "FEAT_TRF" @ Aarch64,
    FEAT_SPE = "FEAT_SPE" @ Aarch64,
    FEAT_BRBE = "FEAT_BRBE" @ Aarch64,
    FEAT_RAS = "FEAT_RAS" @ Aarch64,
    FEAT_SVE = "FEAT_SVE" @ Aarch64,
    FEAT_SVE2 = "FEAT_SVE2" @ Aarch64,
    FEAT_SVE2p1 = "FEAT_SVE2p1" @ Aarch64,
    FEAT_SVE2p2 = "FEAT_SVE2p2" @ Aarch64,
    FEAT_SVE2p3 = "FEAT_SVE2p3" @ Aarch64,
    FEAT_SVE_AES = "FEAT_SVE_AES" @ Aarch64,
    FEAT_SVE_AES2 = "FEAT_SVE_AES2" @ Aarch64,
    FEAT_SVE_PMULL128 = "FEAT_SVE_PMULL128" @ Aarch64,
    FEAT_SVE_BitPerm = "FEAT_SVE_BitPerm" @ Aarch64,
    FEAT_SVE_SHA3 = "FEAT_SVE_SHA3" @ Aarch64,
    FEAT_SVE_SM4 = "FEAT_SVE_SM4" @ Aarch64,
    FEAT_SVE_B16B16 = "FEAT_SVE_B16B16" @ Aarch64,
    FEAT_SVE_B16MM = "FEAT_SVE_B16MM" @ Aarch64,
    FEAT_SVE_BFSCALE = "FEAT_SVE_BFSCALE" @ Aarch64,
    FEAT_SVE_F16F32MM = "FEAT_SVE_F16F32MM" @ Aarch64,
    FEAT_F32MM = "FEAT_F32MM" @ Aarch64,
    FEAT_F64MM = "FEAT_F64MM" @ Aarch64,
    FEAT_SME = "FEAT_SME" @ Aarch64,
    FEAT_SME2 = "FEAT_SME2" @ Aarch64,
    FEAT_SME2p1 = "FEAT_SME2p1" @ Aarch64,
    FEAT_SME2p2 = "FEAT_SME2p2" @ Aarch64,
    FEAT_SME2p3 = "FEAT_SME2p3" @ Aarch64,
    FEAT_SME_B16B16 = "FEAT_SME_B16B16" @ Aarch64,
    FEAT_SME_F16F16 = "FEAT_SME_F16F16" @ Aarch64,
    FEAT_SME_F64F64 = "FEAT_SME_F64F64" @ Aarch64,
    FEAT_SME_F8F16 = "FEAT_SME_F8F16" @ Aarch64,
    FEAT_SME_F8F32 = "FEAT_SME_F8F32" @ Aarch64,
    FEAT_SME_I16I64 = "FEAT_SME_I16I64" @ Aarch64,
    FEAT_SME_LUTv2 = "FEAT_SME_LUTv2" @ Aarch64,
    FEAT_SME_MOP4 = "FEAT_SME_MOP4" @ Aarch64,
    FEAT_SME_TMOP = "FEAT_SME_TMOP" @ Aarch64,
    FEAT_SSVE_FEXPA = "FEAT_SSVE_FEXPA" @ Aarch64,
    FEAT_EBF16 = "FEAT_EBF16" @ Aarch64,
    FEAT_NV2 = "FEAT_NV2" @ Aarch64,
    OTHER_AARCH64 = "OTHER" @ Aarch64,
}

impl Feature {
    /// Every feature of both architectures.
    pub fn all() -> impl Iterator<Item = Feature> {
        ALL.iter().copied()
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of features: four 64-bit words, cheap to copy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FeatureSet([u64; 4]);

const _: () = assert!(ALL.len() <= 256, "FeatureSet holds 256 features");

impl FeatureSet {
    /// The set without features.
    pub const EMPTY: FeatureSet = FeatureSet([0; 4]);

    /// The set of all features, of every architecture.
    pub const ALL: FeatureSet = FeatureSet::of(ALL);

    /// The set of the given features.
    pub const fn of(features: &[Feature]) -> FeatureSet {
        let mut set = FeatureSet::EMPTY;
        let mut i = 0;
        while i < features.len() {
            set = set.with(features[i]);
            i += 1;
        }
        set
    }

    /// This set and one more feature.
    #[inline]
    pub const fn with(self, feature: Feature) -> FeatureSet {
        let mut words = self.0;
        words[feature as usize / 64] |= 1 << (feature as usize % 64);
        FeatureSet(words)
    }

    /// All features of both sets.
    #[inline]
    pub const fn union(self, other: FeatureSet) -> FeatureSet {
        let (a, b) = (self.0, other.0);
        FeatureSet([a[0] | b[0], a[1] | b[1], a[2] | b[2], a[3] | b[3]])
    }

    /// The features that are in both sets.
    #[inline]
    #[must_use]
    pub const fn intersection(self, other: FeatureSet) -> FeatureSet {
        let (a, b) = (self.0, other.0);
        FeatureSet([a[0] & b[0], a[1] & b[1], a[2] & b[2], a[3] & b[3]])
    }

    /// The features of this set that `other` lacks.
    #[inline]
    pub const fn minus(self, other: FeatureSet) -> FeatureSet {
        let (a, b) = (self.0, other.0);
        FeatureSet([a[0] & !b[0], a[1] & !b[1], a[2] & !b[2], a[3] & !b[3]])
    }

    /// Whether the set holds the feature.
    #[inline]
    pub const fn contains(self, feature: Feature) -> bool {
        self.0[feature as usize / 64] & (1 << (feature as usize % 64)) != 0
    }

    /// Whether every feature of this set is in `other`.
    #[inline]
    pub const fn is_subset(self, other: FeatureSet) -> bool {
        self.minus(other).is_empty()
    }

    /// Whether the set holds nothing.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0[0] | self.0[1] | self.0[2] | self.0[3] == 0
    }

    /// The features, in the order of [`Feature`].
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        let mut words = self.0.into_iter().zip((0..).step_by(64));
        let mut word = 0;
        let mut first = 0;
        core::iter::from_fn(move || {
            while word == 0 {
                (word, first) = words.next()?;
            }
            let place = word.trailing_zeros() as usize;
            word &= word - 1;
            ALL.get(first + place).copied()
        })
    }
}

impl FromIterator<Feature> for FeatureSet {
    fn from_iter<T: IntoIterator<Item = Feature>>(features: T) -> Self {
        features.into_iter().fold(FeatureSet::EMPTY, FeatureSet::with)
    }
}

impl fmt::Debug for FeatureSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn sets_follow_the_laws_of_sets() {
        let a = FeatureSet::of(&[Feature::AVX2, Feature::FEAT_LSE]);
        let b = FeatureSet::EMPTY.with(Feature::AVX2);
        assert!(b.is_subset(a) && !a.is_subset(b));
        assert_eq!(a.minus(b).iter().collect::<Vec<_>>(), [Feature::FEAT_LSE]);
        assert_eq!(b.union(a), a);
    }

    #[test]
    fn names_are_unique_within_an_architecture() {
        let mut names: Vec<_> = Feature::all().map(|f| (f.arch(), f.name())).collect();
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!(names.len(), before);
    }
}
