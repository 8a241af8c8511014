//! Instruction-set levels: what a program may rely on.
//!
//! In: a set of features that a program uses. Out: the smallest level that covers them, and what is beyond.
//!
//! x86-64 levels are those of the x86-64 psABI, section 3.1.1 (x86-64-v1 to v4). AArch64 levels are the
//! architecture versions, with the features that each makes *mandatory* (Arm ARM, A2.2 and A2.3); optional
//! features (cryptography, `FEAT_MTE`, `FEAT_RNG`, SME, …) are in no level.
//!
//! Four points where the specifications leave room:
//! - The psABI names `OSXSAVE` with `XGETBV` for v3. CPUID.OSXSAVE can be set only where CPUID.XSAVE is, and
//!   shows that the operating system has switched on `XSAVE`, `XRSTOR` and `XGETBV`: v3 holds both. `XSAVEC`,
//!   `XSAVEOPT` and `XSAVES` are in no level. `XGETBV` is how a program finds out whether it may use AVX, so by
//!   itself it is a sign of dispatch and not of a v3 program: the two never raise the level.
//! - The psABI's SSE2 includes `CLFLUSH` (Intel SDM volume 1, 5.6.4), which has a CPUID bit of its own:
//!   v1 holds `CLFSH`.
//! - `FEAT_SVE2` is formally optional in Armv9; every compiler's `armv9-a` holds it, and so does armv9.0-a
//!   here. SVE needs `FEAT_FP16`, which from Armv8.4 on needs `FEAT_FHM`; hence both are in armv9.0-a. A program
//!   that uses those two alone does not need SVE: they never raise the level.
//! - Hints and what only an operating system uses ([`system_features`]) never raise a level: a landing pad
//!   (`bti c`) is a NOP on Armv8.0, and the level of a kernel is not that of its page-table switches. Versions
//!   of the Arm architecture do list such features (`FEAT_PAN`), so a level may hold them.

use core::fmt;

use crate::{Arch, Feature, FeatureSet};

/// A named set of features that a program may rely on: a psABI level or an architecture version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// `x86-64-v3`, `armv8.1-a`.
    pub name: &'static str,
    /// Whose level it is.
    pub arch: Arch,
    /// All features that the level guarantees, those of lower levels included.
    pub features: FeatureSet,
}

use Feature::*;

const V1: FeatureSet = FeatureSet::of(&[CMOV, CX8, FPU, FXSR, MMX, SSE, SSE2, CLFSH]);
const V2: FeatureSet = V1.union(FeatureSet::of(&[CMPXCHG16B, LAHF, POPCNT, SSE3, SSE4_1, SSE4_2, SSSE3]));
const V3: FeatureSet =
    V2.union(FeatureSet::of(&[AVX, AVX2, BMI1, BMI2, F16C, FMA, LZCNT, MOVBE, OSXSAVE, XSAVE]));
const V4: FeatureSet = V3.union(FeatureSet::of(&[AVX512F, AVX512BW, AVX512CD, AVX512DQ, AVX512VL]));

const A8_0: FeatureSet = FeatureSet::of(&[FEAT_FP, FEAT_ASIMD]);
const A8_1: FeatureSet =
    A8_0.union(FeatureSet::of(&[FEAT_CRC32, FEAT_LSE, FEAT_RDM, FEAT_LOR, FEAT_PAN, FEAT_VHE, FEAT_HPDS]));
const A8_2: FeatureSet = A8_1.union(FeatureSet::of(&[FEAT_DPB, FEAT_UAO, FEAT_RAS]));
const A8_3: FeatureSet = A8_2.union(FeatureSet::of(&[FEAT_FCMA, FEAT_JSCVT, FEAT_LRCPC, FEAT_PAuth]));
const A8_4: FeatureSet =
    A8_3.union(FeatureSet::of(&[FEAT_DotProd, FEAT_DIT, FEAT_FlagM, FEAT_LRCPC2, FEAT_LSE2]));
const A8_5: FeatureSet = A8_4.union(FeatureSet::of(&[
    FEAT_FlagM2,
    FEAT_FRINTTS,
    FEAT_BTI,
    FEAT_SB,
    FEAT_SPECRES,
    FEAT_SSBS,
    FEAT_DPB2,
]));
const A8_6: FeatureSet = A8_5.union(FeatureSet::of(&[FEAT_BF16, FEAT_I8MM, FEAT_ECV, FEAT_FGT]));
const A8_7: FeatureSet = A8_6.union(FeatureSet::of(&[FEAT_WFxT, FEAT_XS]));
const A8_8: FeatureSet = A8_7.union(FeatureSet::of(&[FEAT_MOPS, FEAT_HBC]));
const A8_9: FeatureSet = A8_8.union(FeatureSet::of(&[FEAT_CSSC, FEAT_SPECRES2, FEAT_CHK]));
const A9_0: FeatureSet = A8_5.union(FeatureSet::of(&[FEAT_SVE, FEAT_SVE2, FEAT_FP16, FEAT_FHM]));
const A9_1: FeatureSet = A9_0.union(A8_6);
const A9_2: FeatureSet = A9_1.union(A8_7);
const A9_3: FeatureSet = A9_2.union(A8_8);
const A9_4: FeatureSet = A9_3.union(A8_9).with(FEAT_SVE2p1);
const A9_5: FeatureSet = A9_4.union(FeatureSet::of(&[FEAT_CPA, FEAT_FAMINMAX, FEAT_LUT]));

const fn x86_64(name: &'static str, features: FeatureSet) -> Level {
    Level { name, arch: Arch::X86_64, features }
}

const fn aarch64(name: &'static str, features: FeatureSet) -> Level {
    Level { name, arch: Arch::Aarch64, features }
}

static X86_64: [Level; 4] =
    [x86_64("x86-64-v1", V1), x86_64("x86-64-v2", V2), x86_64("x86-64-v3", V3), x86_64("x86-64-v4", V4)];

static AARCH64: [Level; 16] = [
    aarch64("armv8.0-a", A8_0),
    aarch64("armv8.1-a", A8_1),
    aarch64("armv8.2-a", A8_2),
    aarch64("armv8.3-a", A8_3),
    aarch64("armv8.4-a", A8_4),
    aarch64("armv8.5-a", A8_5),
    aarch64("armv8.6-a", A8_6),
    aarch64("armv8.7-a", A8_7),
    aarch64("armv8.8-a", A8_8),
    aarch64("armv8.9-a", A8_9),
    aarch64("armv9.0-a", A9_0),
    aarch64("armv9.1-a", A9_1),
    aarch64("armv9.2-a", A9_2),
    aarch64("armv9.3-a", A9_3),
    aarch64("armv9.4-a", A9_4),
    aarch64("armv9.5-a", A9_5),
];

/// Hints of x86-64 (NOPs, or prefetches that older CPUs ignore), and what only an operating system or a
/// hypervisor uses.
const SYSTEM_X86_64: FeatureSet = FeatureSet::of(&[
    // 0F 0D, 0F 18, 0F 1A/1B and 0F 1C are NOPs where the feature is missing.
    PREFETCHW,
    PREFETCHWT1,
    PREFETCHI,
    MPX,
    CLDEMOTE,
    SYSTEM,
    FRED,
    HRESET,
    INVLPGB,
    INVPCID,
    LKGS,
    MONITOR,
    MSRLIST,
    PCONFIG,
    RDPMC,
    SEV,
    SMAP,
    SMX,
    SVM,
    TDX,
    VMX,
    WBNOINVD,
    WRMSRNS,
    XSAVES,
]);

/// Features of AArch64 whose instructions are in the hint space (BTI, CHKFEAT, ESB, PSB, TSB), or that only
/// EL1 and above can use.
const SYSTEM_AARCH64: FeatureSet = FeatureSet::of(&[
    FEAT_BTI, FEAT_CHK, FEAT_RAS, FEAT_SPE, FEAT_TRF, FEAT_BRBE, FEAT_PAN, FEAT_UAO, FEAT_VHE, FEAT_HPDS,
    FEAT_FGT, FEAT_NV2, FEAT_ITE, FEAT_D128, FEAT_THE,
]);

/// In a level only because another feature of that level needs them: where they are used alone they are beyond
/// the level. See the head of this file.
const NEVER_RAISE: FeatureSet = FeatureSet::of(&[OSXSAVE, XSAVE, FEAT_FP16, FEAT_FHM]);

/// The levels of an architecture, lowest first; each holds all features of the one before it, except that
/// armv9.0-a follows armv8.5-a and the two lines then run side by side. Of the AArch64 levels the whole
/// Armv8 line comes first.
pub fn levels(arch: Arch) -> &'static [Level] {
    match arch {
        Arch::X86_64 => &X86_64,
        Arch::Aarch64 => &AARCH64,
    }
}

/// The features that every machine of an architecture has: those of its first level.
pub fn first_level(arch: Arch) -> FeatureSet {
    levels(arch).first().map_or(FeatureSet::EMPTY, |level| level.features)
}

/// The names of the levels of an architecture, lowest first.
pub fn level_names(arch: Arch) -> impl Iterator<Item = &'static str> {
    levels(arch).iter().map(|level| level.name)
}

/// Features that no program needs of the CPU in user mode: hints, which run as NOPs where the feature is
/// missing, and what only an operating system or a hypervisor uses. They never raise a level.
pub const fn system_features(arch: Arch) -> FeatureSet {
    match arch {
        Arch::X86_64 => SYSTEM_X86_64,
        Arch::Aarch64 => SYSTEM_AARCH64,
    }
}

/// What every machine of an architecture has that a program can count on: its [`first_level`], and the [`system_features`],
/// which no program needs.
pub fn universal_features(arch: Arch) -> FeatureSet {
    first_level(arch).union(system_features(arch))
}

/// The smallest level that covers as many of `features` as any level does, and the features left over.
///
/// [`system_features`] count as covered by every level. Four features that a level holds for another one's sake
/// (`XSAVE`, `OSXSAVE`, `FEAT_FP16`, `FEAT_FHM`) do not raise it; below that level they are left over. Where a level of the Armv8 and one of the Armv9 line
/// both cover, it is the one of the Armv8 line. The level is `Some` for every architecture that has levels.
pub fn smallest_level(arch: Arch, features: FeatureSet) -> (Option<&'static Level>, FeatureSet) {
    let needed = features.minus(system_features(arch));
    let all = levels(arch).iter().fold(FeatureSet::EMPTY, |all, level| all.union(level.features));
    let beyond_all = needed.minus(all);
    // The last level of each architecture holds all that any level holds, so one level covers all of this.
    let raising = needed.minus(beyond_all).minus(NEVER_RAISE);
    let smallest = levels(arch).iter().find(|level| raising.is_subset(level.features));
    let beyond = smallest.map_or(needed, |level| needed.minus(level.features));
    (smallest, beyond)
}

/// The highest level of which `features` lacks nothing, where only the features in `visible` can be known.
#[cfg(feature = "std")]
pub(crate) fn highest_level(arch: Arch, features: FeatureSet, visible: FeatureSet) -> Option<&'static Level> {
    let unseen = FeatureSet::from_iter(Feature::all()).minus(visible);
    levels(arch).iter().rev().find(|level| level.features.minus(unseen).is_subset(features))
}

/// The level that is called `name`: case does not count, nor do `-` and `_`, and `x86-64` is x86-64-v1,
/// `aarch64`, `arm64` and `armv8-a` are armv8.0-a, `armv9-a` is armv9.0-a.
pub fn level_named(name: &str) -> Option<&'static Level> {
    let name = match name {
        _ if same_name(name, "x86-64") || same_name(name, "amd64") => "x86-64-v1",
        _ if same_name(name, "aarch64") || same_name(name, "arm64") => "armv8.0-a",
        _ if same_name(name, "armv8-a") => "armv8.0-a",
        _ if same_name(name, "armv9-a") => "armv9.0-a",
        _ => name,
    };
    X86_64.iter().chain(&AARCH64).find(|level| same_name(level.name, name))
}

/// Whether two names are the same except for case, `-` and `_`.
pub(crate) fn same_name(a: &str, b: &str) -> bool {
    letters(a).eq(letters(b))
}

/// The bytes of a name that distinguish it from others: in lower case, without `-` and `_`.
pub(crate) fn letters(name: &str) -> impl Iterator<Item = u8> + '_ {
    name.bytes().filter(|byte| !matches!(byte, b'-' | b'_')).map(|byte| byte.to_ascii_lowercase())
}

/// What a program needs, in words: `x86-64-v3`, `x86-64-v1 + AES + PCLMULQDQ`. See [`describe`].
#[derive(Debug, Clone, Copy)]
pub struct Description {
    level: Option<&'static Level>,
    beyond: FeatureSet,
}

/// Displays a result of [`smallest_level`]: the level and, after plus signs, the features beyond it.
pub fn describe(level: Option<&'static Level>, beyond: FeatureSet) -> Description {
    Description { level, beyond }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some(level) = self.level {
            f.write_str(level.name)?;
            separator = " + ";
        }
        for feature in self.beyond.iter() {
            write!(f, "{separator}{feature}")?;
            separator = " + ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    fn described(arch: Arch, features: &[Feature]) -> std::string::String {
        let (level, beyond) = smallest_level(arch, FeatureSet::of(features));
        describe(level, beyond).to_string()
    }

    fn named(name: &str) -> &'static Level {
        level_named(name).expect(name)
    }

    #[test]
    fn each_level_holds_its_predecessor() {
        for line in [&X86_64[..], &AARCH64[..10], &AARCH64[10..]] {
            for pair in line.windows(2) {
                assert!(pair[0].features.is_subset(pair[1].features), "{} {}", pair[0].name, pair[1].name);
                assert_ne!(pair[0].features, pair[1].features, "{}", pair[1].name);
            }
        }
    }

    #[test]
    fn armv9_minor_versions_hold_the_armv8_version_five_above() {
        for minor in 0..=4 {
            let (v8, v9) = (&AARCH64[5 + minor], &AARCH64[10 + minor]);
            assert!(v8.features.is_subset(v9.features), "{} {}", v8.name, v9.name);
        }
    }

    #[test]
    fn the_highest_level_holds_what_any_level_holds() {
        for arch in [Arch::X86_64, Arch::Aarch64] {
            let last = levels(arch).last().unwrap();
            assert!(levels(arch).iter().all(|level| level.features.is_subset(last.features)));
        }
    }

    #[test]
    fn levels_hold_features_of_their_own_architecture() {
        for arch in [Arch::X86_64, Arch::Aarch64] {
            for level in levels(arch) {
                assert!(level.arch == arch && level.features.iter().all(|feature| feature.arch() == arch));
            }
            assert!(system_features(arch).iter().all(|feature| feature.arch() == arch));
        }
    }

    #[test]
    fn a_level_is_the_smallest_level_of_its_own_features() {
        for arch in [Arch::X86_64, Arch::Aarch64] {
            for level in levels(arch) {
                assert_eq!(smallest_level(arch, level.features), (Some(level), FeatureSet::EMPTY));
            }
        }
    }

    #[test]
    fn every_single_feature_gets_the_first_level_that_holds_it() {
        for feature in Feature::all() {
            let arch = feature.arch();
            let (level, beyond) = smallest_level(arch, FeatureSet::of(&[feature]));
            let first = levels(arch).iter().find(|level| level.features.contains(feature));
            if system_features(arch).contains(feature) {
                assert_eq!((level, beyond), (levels(arch).first(), FeatureSet::EMPTY));
            } else if first.is_none() || NEVER_RAISE.contains(feature) {
                assert_eq!((level, beyond), (levels(arch).first(), FeatureSet::of(&[feature])));
            } else {
                assert_eq!((level, beyond), (first, FeatureSet::EMPTY));
            }
        }
    }

    #[test]
    fn nothing_needed_is_the_lowest_level() {
        assert_eq!(described(Arch::X86_64, &[]), "x86-64-v1");
        assert_eq!(described(Arch::Aarch64, &[]), "armv8.0-a");
    }

    #[test]
    fn optional_features_lie_beyond_and_raise_nothing() {
        assert_eq!(described(Arch::X86_64, &[PCLMULQDQ, AES]), "x86-64-v1 + AES + PCLMULQDQ");
        assert_eq!(described(Arch::X86_64, &[OSXSAVE]), "x86-64-v1 + OSXSAVE");
        assert_eq!(described(Arch::X86_64, &[AVX, OSXSAVE]), "x86-64-v3");
        assert_eq!(described(Arch::X86_64, &[AVX2, SHA]), "x86-64-v3 + SHA");
        assert_eq!(described(Arch::X86_64, &[AVX512F, AVX512_VNNI]), "x86-64-v4 + AVX512_VNNI");
        assert_eq!(described(Arch::Aarch64, &[FEAT_SHA256, FEAT_LSE]), "armv8.1-a + FEAT_SHA256");
        assert_eq!(described(Arch::Aarch64, &[FEAT_FP16, FEAT_DPB]), "armv8.2-a + FEAT_FP16");
    }

    #[test]
    fn the_lower_line_is_preferred_where_both_cover() {
        assert_eq!(described(Arch::Aarch64, &[FEAT_BF16]), "armv8.6-a");
        assert_eq!(described(Arch::Aarch64, &[FEAT_MOPS]), "armv8.8-a");
        assert_eq!(described(Arch::Aarch64, &[FEAT_SVE2]), "armv9.0-a");
        assert_eq!(described(Arch::Aarch64, &[FEAT_SVE2, FEAT_BF16]), "armv9.1-a");
        assert_eq!(described(Arch::Aarch64, &[FEAT_CSSC, FEAT_SVE2]), "armv9.4-a");
    }

    #[test]
    fn hints_and_system_instructions_raise_nothing() {
        assert_eq!(described(Arch::Aarch64, &[FEAT_BTI, FEAT_PAN, FEAT_FP]), "armv8.0-a");
        assert_eq!(described(Arch::X86_64, &[SYSTEM, PREFETCHW, VMX]), "x86-64-v1");
    }

    #[test]
    fn level_names_ignore_case_hyphens_and_underscores() {
        for arch in [Arch::X86_64, Arch::Aarch64] {
            for level in levels(arch) {
                assert_eq!(level_named(level.name), Some(level));
            }
        }
        for (spelling, name) in [
            ("x86-64", "x86-64-v1"),
            ("x86_64", "x86-64-v1"),
            ("X86_64_V3", "x86-64-v3"),
            ("armv8-a", "armv8.0-a"),
            ("armv8.1a", "armv8.1-a"),
            ("armv9-a", "armv9.0-a"),
            ("aarch64", "armv8.0-a"),
        ] {
            assert_eq!(named(spelling).name, name);
        }
        for unknown in ["", "x86-64-v5", "x86-64-", "armv8", "armv8.10-a", "v3"] {
            // Hyphens do not count, so this one spelling is that of x86-64.
            assert_eq!(level_named(unknown).is_some(), unknown == "x86-64-", "{unknown}");
        }
    }
}
