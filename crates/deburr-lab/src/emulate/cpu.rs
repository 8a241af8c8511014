//! Emulating stage: a target → CPU models of qemu with flags, the nearest first.
//!
//! In: an architecture, the features of a level or a CPU, and the models that qemu lists. Out: values for its `-cpu`.
//! On x86-64 each feature has a flag, so that one model is enough: qemu's translator refuses what the flags leave out.
//! On AArch64 named models have no flags: the first that has all features is the nearest. Whether a model has what is
//! wanted is found out by [`probe`](super::probe), not assumed. Source: qemu, `target/i386/cpu.c`, `target/arm/cpu64.c`.

use deburr_cpu::Feature::{self, *};
use deburr_cpu::{Arch, FeatureSet, query};

/// Features of x86-64 that qemu has a flag for, with that flag.
const FLAGS: &[(Feature, &str)] = &[
    (SSE3, "pni"),
    (SSSE3, "ssse3"),
    (SSE4_1, "sse4.1"),
    (SSE4_2, "sse4.2"),
    (SSE4A, "sse4a"),
    (POPCNT, "popcnt"),
    (CMPXCHG16B, "cx16"),
    (LAHF, "lahf-lm"),
    (LZCNT, "abm"),
    (D3NOW, "3dnow"),
    (D3NOWEXT, "3dnowext"),
    (PREFETCHW, "3dnowprefetch"),
    (AES, "aes"),
    (PCLMULQDQ, "pclmulqdq"),
    (SHA, "sha-ni"),
    (GFNI, "gfni"),
    (MOVBE, "movbe"),
    (XSAVE, "xsave"),
    (XSAVEOPT, "xsaveopt"),
    (XSAVEC, "xsavec"),
    (AVX, "avx"),
    (F16C, "f16c"),
    (FMA, "fma"),
    (FMA4, "fma4"),
    (XOP, "xop"),
    (TBM, "tbm"),
    (AVX2, "avx2"),
    (BMI1, "bmi1"),
    (BMI2, "bmi2"),
    (ADX, "adx"),
    (VAES, "vaes"),
    (VPCLMULQDQ, "vpclmulqdq"),
    (AVX_VNNI, "avx-vnni"),
    (RDRAND, "rdrand"),
    (RDSEED, "rdseed"),
    (RDTSCP, "rdtscp"),
    (RDPID, "rdpid"),
    (FSGSBASE, "fsgsbase"),
    (CLFLUSHOPT, "clflushopt"),
    (CLWB, "clwb"),
    (CLZERO, "clzero"),
    (PKU, "pku"),
    (MOVDIRI, "movdiri"),
    (MOVDIR64B, "movdir64b"),
    (SERIALIZE, "serialize"),
    (WAITPKG, "waitpkg"),
    (AVX512F, "avx512f"),
    (AVX512BW, "avx512bw"),
    (AVX512CD, "avx512cd"),
    (AVX512DQ, "avx512dq"),
    (AVX512VL, "avx512vl"),
];

/// CPUs of the table with the model of qemu that has their maker, family and model number: programs look at these, too.
const MODELS: &[(&str, &str)] = &[
    ("core2", "Penryn"),
    ("nehalem", "Nehalem"),
    ("westmere", "Westmere"),
    ("sandybridge", "SandyBridge"),
    ("ivybridge", "IvyBridge"),
    ("haswell", "Haswell"),
    ("broadwell", "Broadwell"),
    ("skylake", "Skylake-Client"),
    ("skylake-avx512", "Skylake-Server"),
    ("cascadelake", "Cascadelake-Server"),
    ("icelake", "Icelake-Server"),
    ("k10", "Opteron_G3"),
    ("bulldozer", "Opteron_G4"),
    ("piledriver", "Opteron_G5"),
    ("zen", "EPYC"),
    ("zen2", "EPYC-Rome"),
    ("zen3", "EPYC-Milan"),
];

/// Levels in their order with a model that is near.
const X86_64_LEVELS: [(Feature, &str); 3] = [(AVX2, "Haswell"), (SSE4_2, "Nehalem"), (SSE2, "Opteron_G1")];

/// Models of AArch64, those with fewer features first.
const AARCH64_MODELS: [&str; 12] = [
    "cortex-a53",
    "cortex-a57",
    "cortex-a72",
    "cortex-a76",
    "neoverse-n1",
    "a64fx",
    "neoverse-v1",
    "neoverse-n2",
    "cortex-a710",
    "max,sve=off,sme=off",
    "max,sme=off",
    "max",
];

/// Values for `-cpu`, the nearest first. `cpu`: the CPU that is meant, where it is one; `listed`: what `-cpu help` prints.
pub fn candidates(arch: Arch, cpu: Option<&str>, wanted: FeatureSet, listed: &str) -> Vec<String> {
    let is_listed = |model: &str| {
        let name = model.split(',').next().unwrap_or(model);
        listed.split_whitespace().any(|word| word == name)
    };
    match arch {
        Arch::X86_64 => {
            let of_cpu = MODELS.iter().find(|(name, _)| Some(*name) == cpu).map(|(_, model)| *model);
            let of_level = X86_64_LEVELS.iter().find(|(feature, _)| wanted.contains(*feature));
            let model = of_cpu.filter(|model| is_listed(model)).or(of_level.map(|(_, model)| *model));
            vec![with_flags(model.unwrap_or("qemu64"), wanted)]
        }
        Arch::Aarch64 => {
            let named = cpu.filter(|cpu| is_listed(cpu)).map(str::to_owned);
            let others =
                AARCH64_MODELS.iter().filter(|model| is_listed(model)).map(|&model| model.to_owned());
            named.into_iter().chain(others).collect()
        }
    }
}

/// A model with every flag set or unset. `check=off`: qemu says nothing of flags that its translator lacks; [`probe`](super::probe)
/// finds these out.
fn with_flags(model: &str, wanted: FeatureSet) -> String {
    let mut spec = format!("{model},check=off");
    for (feature, flag) in FLAGS {
        spec.push_str(if wanted.contains(*feature) { ",+" } else { ",-" });
        spec.push_str(flag);
    }
    spec
}

/// The features of a set that an emulated CPU can show to a program: the others cannot be compared.
pub fn visible(features: FeatureSet) -> FeatureSet {
    let is_visible = |feature: &Feature| match feature.arch() {
        Arch::X86_64 => query::cpuid_place(*feature).is_some(),
        Arch::Aarch64 => query::hwcap_place(*feature).is_some(),
    };
    features.iter().filter(is_visible).collect()
}

/// What a program that needs nothing else may execute on an emulated CPU. `shown`: what it shows to programs; `wanted`: what
/// what is requested, of which some shows nowhere.
pub fn executable(arch: Arch, shown: FeatureSet, wanted: FeatureSet) -> FeatureSet {
    let unseen = wanted.minus(visible(wanted));
    shown.union(unseen).union(deburr_cpu::system_features(arch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_cpu::{first_level, level_named, levels};

    const LISTED: &str =
        "Available CPUs:\nx86 Haswell (alias)\nx86 EPYC-Rome\n cortex-a53\n cortex-a76\n max\n";

    fn features(level: &str) -> FeatureSet {
        level_named(level).unwrap().features
    }

    #[test]
    fn every_feature_of_the_x86_64_levels_above_the_first_has_a_flag() {
        let first = first_level(Arch::X86_64);
        for level in levels(Arch::X86_64) {
            for feature in level.features.minus(first).iter().filter(|feature| *feature != OSXSAVE) {
                assert!(FLAGS.iter().any(|(of, _)| *of == feature), "{feature}");
            }
        }
    }

    #[test]
    fn a_level_is_a_near_model_with_all_flags_stated() {
        let specs = candidates(Arch::X86_64, None, features("x86-64-v2"), LISTED);
        let [spec] = specs.as_slice() else { panic!("{specs:?}") };
        assert!(spec.starts_with("Nehalem,check=off,+pni,+ssse3,+sse4.1,+sse4.2,-sse4a,+popcnt"), "{spec}");
        assert!(spec.contains(",-avx,") && spec.contains(",-aes,") && spec.ends_with("-avx512vl"), "{spec}");
        let lowest = candidates(Arch::X86_64, None, features("x86-64-v1"), LISTED);
        assert!(lowest[0].starts_with("Opteron_G1,check=off,-pni,"), "{lowest:?}");
    }

    #[test]
    fn a_cpu_keeps_its_makers_model_where_qemu_has_it() {
        let spec = |cpu| candidates(Arch::X86_64, Some(cpu), features("x86-64-v3"), LISTED).remove(0);
        assert!(spec("zen2").starts_with("EPYC-Rome,"));
        assert!(spec("zen3").starts_with("Haswell,"), "qemu lists no EPYC-Milan here");
    }

    #[test]
    fn models_of_aarch64_are_those_listed_the_named_one_first() {
        let all = candidates(Arch::Aarch64, None, features("armv8.1-a"), LISTED);
        assert_eq!(all, ["cortex-a53", "cortex-a76", "max,sve=off,sme=off", "max,sme=off", "max"]);
        let named = candidates(Arch::Aarch64, Some("cortex-a76"), FeatureSet::EMPTY, LISTED);
        assert_eq!(named.first().map(String::as_str), Some("cortex-a76"));
    }

    #[test]
    fn what_shows_nowhere_counts_as_there_where_it_is_wanted() {
        let wanted = features("armv8.1-a");
        let shown = FeatureSet::of(&[FEAT_FP, FEAT_ASIMD, FEAT_LSE, FEAT_CRC32, FEAT_RDM]);
        assert!(visible(wanted).is_subset(shown), "{:?}", visible(wanted).minus(shown));
        assert!(wanted.is_subset(executable(Arch::Aarch64, shown, wanted)));
        assert!(!executable(Arch::Aarch64, shown, wanted).contains(FEAT_SVE));
    }
}
