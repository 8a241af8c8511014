//! Demand: a target, and what the code of its variant uses → what a machine must have to run the variant.
//!
//! A level is demanded whole. The model of a CPU also lists what no compiler puts into a program on its own (XSAVEC, PKU, CLZERO), and
//! what a virtual machine may hide: that is demanded only where the variant's code uses it. What a compiler may emit is demanded in
//! any case, because the check reads files, and not what they load later.

use deburr_cpu::Feature::{self, *};
use deburr_cpu::{Arch, FeatureSet, Target, level_named, levels};

/// Features beyond the levels of x86-64 of which a compiler emits instructions where the source asks for none by an intrinsic: GCC,
/// "x86 Options", and its `config/i386/*.md`; LLVM, `X86ISelLowering.cpp`. (Dot products, conversions, shuffles, rotations, bit
/// fields, atomic compare-and-add; `__builtin_prefetch`.)
const EMITTED: FeatureSet = FeatureSet::of(&[
    AVX512_VNNI,
    AVX512_BF16,
    AVX512_FP16,
    AVX512_VBMI,
    AVX512_VBMI2,
    AVX512_BITALG,
    AVX512_VPOPCNTDQ,
    AVX512_IFMA,
    AVX_VNNI,
    AVX_IFMA,
    AVX_NE_CONVERT,
    AVX_VNNI_INT8,
    AVX_VNNI_INT16,
    CMPCCXADD,
    FMA4,
    GFNI,
    PREFETCHW,
    SSE4A,
    TBM,
    XOP,
]);

/// What a machine must have. `used`: the features that the variant's code needs; `None` where it was not checked, and everything
/// counts.
pub fn demanded(target: &Target, used: Option<FeatureSet>) -> FeatureSet {
    let Some(used) = used else { return target.features };
    if target.arch == Arch::Aarch64 || level_named(&target.name).is_some() {
        return target.features;
    }
    let within = levels(target.arch).iter().rfind(|level| level.features.is_subset(target.features));
    let level = within.map_or(FeatureSet::EMPTY, |level| level.features);
    // A bit of a level that the target lacks somewhere is emitted, too: x86-64-v2+avx.
    let of_levels = levels(target.arch).iter().fold(level, |all, level| all.union(level.features));
    target.features.intersection(of_levels.union(EMITTED).union(used))
}

/// The features with these names.
pub(crate) fn named(names: &[String]) -> FeatureSet {
    let features: Vec<Feature> =
        Feature::all().filter(|feature| names.iter().any(|name| name == feature.name())).collect();
    FeatureSet::of(&features)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_launcher::words_of;

    fn demand(name: &str, used: &[Feature]) -> FeatureSet {
        demanded(&Target::parse(name).unwrap(), Some(FeatureSet::of(used)))
    }

    #[test]
    fn what_is_hidden_from_a_machine_and_used_by_no_code_is_not_demanded() {
        for name in ["skylake", "zen4", "alderlake", "sapphirerapids", "znver2"] {
            let idle = demand(name, &[]);
            let hidden = [XSAVEC, XSAVES, XSAVEOPT, PKU, CLZERO, RDRAND, FSGSBASE]
                .map(|feature| idle.contains(feature));
            assert_eq!(hidden, [false; 7], "{name}");
            assert!(idle.contains(AVX2) && idle.contains(BMI2), "{name}");
        }
        assert!(demand("zen4", &[CLZERO]).contains(CLZERO) && !demand("skylake", &[CLZERO]).contains(CLZERO));
        assert!(demand("zen4", &[]).contains(AVX512_VNNI) && demand("alderlake", &[]).contains(AVX_VNNI));
        assert!(demand("x86-64-v2+avx", &[]).contains(AVX));
    }

    #[test]
    fn levels_are_demanded_whole() {
        for name in ["x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4"] {
            assert_eq!(demand(name, &[]), Target::parse(name).unwrap().features);
        }
    }

    #[test]
    fn the_launcher_can_test_what_every_known_cpu_s_compilers_emit() {
        let mut names = 0;
        for cpu in deburr_cpu::cpu_names(Arch::X86_64) {
            let Ok(target) = Target::parse(&cpu) else { continue };
            let unstated = words_of(target.arch, demanded(&target, Some(FeatureSet::EMPTY))).1;
            assert_eq!(unstated, FeatureSet::EMPTY, "{cpu}");
            names += 1;
        }
        assert!(names > 50, "{names}");
    }
}
