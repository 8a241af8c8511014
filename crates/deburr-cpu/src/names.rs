//! CPU names, from the data of the archspec project.
//!
//! In: a CPU's name (`neoverse-n1`) or feature strings in archspec's spelling, which for x86-64 and AArch64 is
//! that of Linux's `/proc/cpuinfo`. Out: our features. A microarchitecture has the features of its ancestors;
//! one that is a level (`armv8.2a`, `x86_64_v3`) has all of the level; and every feature brings what it implies.

use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use archspec::cpu::Microarchitecture;

use crate::level::same_name;
use crate::{Arch, Feature, FeatureSet, level_named};

use Feature::*;

/// Archspec's feature strings of the x86-64 family.
const MAPPED_X86_64: &[(&str, &[Feature])] = &[
    ("3dnow", &[D3NOW]),
    ("3dnowext", &[D3NOWEXT]),
    // Linux gives CPUID.8000_0001.ECX[5] AMD's name for POPCNT and LZCNT together; the bit is that of LZCNT.
    ("abm", &[LZCNT]),
    ("adx", &[ADX]),
    ("aes", &[AES]),
    ("amx_bf16", &[AMX_BF16]),
    ("amx_int8", &[AMX_INT8]),
    ("amx_tile", &[AMX_TILE]),
    ("avx", &[AVX]),
    ("avx2", &[AVX2]),
    ("avx512_bf16", &[AVX512_BF16]),
    ("avx512_bitalg", &[AVX512_BITALG]),
    ("avx512_vbmi2", &[AVX512_VBMI2]),
    ("avx512_vnni", &[AVX512_VNNI]),
    ("avx512_vp2intersect", &[AVX512_VP2INTERSECT]),
    ("avx512_vpopcntdq", &[AVX512_VPOPCNTDQ]),
    ("avx512bw", &[AVX512BW]),
    ("avx512cd", &[AVX512CD]),
    ("avx512dq", &[AVX512DQ]),
    ("avx512er", &[AVX512ER]),
    ("avx512f", &[AVX512F]),
    ("avx512ifma", &[AVX512_IFMA]),
    ("avx512pf", &[AVX512PF]),
    ("avx512vbmi", &[AVX512_VBMI]),
    ("avx512vl", &[AVX512VL]),
    ("avx_vnni", &[AVX_VNNI]),
    ("bmi1", &[BMI1]),
    ("bmi2", &[BMI2]),
    ("cldemote", &[CLDEMOTE]),
    ("clflushopt", &[CLFLUSHOPT]),
    ("clwb", &[CLWB]),
    ("clzero", &[CLZERO]),
    ("cx16", &[CMPXCHG16B]),
    ("f16c", &[F16C]),
    ("fma", &[FMA]),
    ("fma4", &[FMA4]),
    ("fsgsbase", &[FSGSBASE]),
    ("gfni", &[GFNI]),
    ("lahf_lm", &[LAHF]),
    ("mmx", &[MMX]),
    ("movbe", &[MOVBE]),
    ("movdir64b", &[MOVDIR64B]),
    ("movdiri", &[MOVDIRI]),
    ("pclmulqdq", &[PCLMULQDQ]),
    ("pku", &[PKU]),
    ("popcnt", &[POPCNT]),
    ("rdpid", &[RDPID]),
    ("rdrand", &[RDRAND]),
    ("rdseed", &[RDSEED]),
    ("serialize", &[SERIALIZE]),
    ("sha_ni", &[SHA]),
    ("sse", &[SSE]),
    ("sse2", &[SSE2]),
    ("sse3", &[SSE3]),
    ("sse4_1", &[SSE4_1]),
    ("sse4_2", &[SSE4_2]),
    ("sse4a", &[SSE4A]),
    ("ssse3", &[SSSE3]),
    ("tbm", &[TBM]),
    ("vaes", &[VAES]),
    ("vpclmulqdq", &[VPCLMULQDQ]),
    ("waitpkg", &[WAITPKG]),
    ("xop", &[XOP]),
    // The kernel shows the flag only where it has switched the instructions on.
    ("xsave", &[XSAVE, OSXSAVE]),
    ("xsavec", &[XSAVEC]),
    ("xsaveopt", &[XSAVEOPT]),
];

/// Archspec's feature strings of the AArch64 family: the names of Linux's `HWCAP` bits.
const MAPPED_AARCH64: &[(&str, &[Feature])] = &[
    ("aes", &[FEAT_AES]),
    ("asimd", &[FEAT_ASIMD]),
    ("asimddp", &[FEAT_DotProd]),
    ("asimdfhm", &[FEAT_FHM]),
    ("asimdhp", &[FEAT_FP16]),
    ("asimdrdm", &[FEAT_RDM]),
    ("atomics", &[FEAT_LSE]),
    ("bf16", &[FEAT_BF16]),
    ("bti", &[FEAT_BTI]),
    ("crc32", &[FEAT_CRC32]),
    ("dcpodp", &[FEAT_DPB2]),
    ("dcpop", &[FEAT_DPB]),
    ("dit", &[FEAT_DIT]),
    ("ecv", &[FEAT_ECV]),
    ("fcma", &[FEAT_FCMA]),
    ("flagm", &[FEAT_FlagM]),
    ("flagm2", &[FEAT_FlagM2]),
    ("fp", &[FEAT_FP]),
    ("fphp", &[FEAT_FP16]),
    ("frint", &[FEAT_FRINTTS]),
    ("i8mm", &[FEAT_I8MM]),
    ("ilrcpc", &[FEAT_LRCPC2]),
    ("jscvt", &[FEAT_JSCVT]),
    ("lrcpc", &[FEAT_LRCPC]),
    ("paca", &[FEAT_PAuth]),
    ("pacg", &[FEAT_PAuth]),
    ("pmull", &[FEAT_PMULL]),
    ("rng", &[FEAT_RNG]),
    ("sb", &[FEAT_SB]),
    ("sha1", &[FEAT_SHA1]),
    ("sha2", &[FEAT_SHA256]),
    ("sha3", &[FEAT_SHA3]),
    ("sha512", &[FEAT_SHA512]),
    ("sm3", &[FEAT_SM3]),
    ("sm4", &[FEAT_SM4]),
    ("sme", &[FEAT_SME]),
    ("sme2", &[FEAT_SME2]),
    ("ssbs", &[FEAT_SSBS]),
    ("sve", &[FEAT_SVE]),
    ("sve2", &[FEAT_SVE2]),
    ("svebf16", &[FEAT_SVE, FEAT_BF16]),
    ("svei8mm", &[FEAT_SVE, FEAT_I8MM]),
    ("uscat", &[FEAT_LSE2]),
];

/// Archspec's feature strings that name no instruction a program could contain, each with the reason.
#[cfg(test)]
const IGNORED: &[(Arch, &str, &str)] = &[
    (Arch::X86_64, "flush_l1d", "a model-specific register, which only the kernel writes"),
    (Arch::X86_64, "tsc_adjust", "a model-specific register, which only the kernel writes"),
    (Arch::Aarch64, "cpuid", "the kernel emulates reads of the ID registers"),
    (Arch::Aarch64, "dgh", "the data-gathering hint, a NOP where it is missing"),
    (Arch::Aarch64, "evtstrm", "the kernel's event stream, a period and no instruction"),
];

/// What archspec's data leaves out, by microarchitecture; descendants inherit it. Sources: the optimisation
/// manuals of Intel and AMD, Arm's technical reference manuals.
const MISSING: &[(&str, &[Feature])] = &[
    ("k10", &[SSE3, POPCNT, LAHF, RDTSCP, PREFETCHW]),
    ("bulldozer", &[PREFETCHW, LAHF, RDTSCP]),
    ("zen", &[RDTSCP, RDRAND, ADX, SHA, MONITORX, PREFETCHW, XSAVES]),
    ("zen2", &[RDPID, RDPRU, WBNOINVD]),
    ("nehalem", &[RDTSCP]),
    ("ivybridge", &[FSGSBASE]),
    ("broadwell", &[PREFETCHW]),
    ("skylake", &[XSAVES]),
    ("skylake_avx512", &[CLWB, PKU]),
    ("cannonlake", &[PKU]),
    ("sapphirerapids", &[AVX_VNNI, AVX512_FP16, ENQCMD, PTWRITE, TSXLDTRK, UINTR]),
    ("neoverse_n1", &[FEAT_SSBS]),
    ("neoverse_n2", &[FEAT_SVE_BitPerm]),
    ("neoverse_v2", &[FEAT_SVE_BitPerm]),
];

/// Names by which compilers and clouds call a microarchitecture of archspec.
const ALIASES: &[(&str, &str)] = &[
    ("amdfam10", "k10"),
    ("bdver1", "bulldozer"),
    ("bdver2", "piledriver"),
    ("bdver3", "steamroller"),
    ("bdver4", "excavator"),
    ("znver1", "zen"),
    ("znver2", "zen2"),
    ("znver3", "zen3"),
    ("znver4", "zen4"),
    ("znver5", "zen5"),
    ("knl", "mic_knl"),
    ("icelake-server", "icelake"),
    ("apple-m1", "m1"),
    ("apple-m2", "m2"),
    ("apple-m3", "m3"),
    ("apple-m4", "m4"),
    ("graviton2", "neoverse_n1"),
    ("graviton3", "neoverse_v1"),
    ("graviton4", "neoverse_v2"),
    ("ampere-1", "ampere1"),
];

/// The architecture of a microarchitecture, where deburr reads it: archspec also knows ppc64le and others.
fn arch_of(cpu: &Microarchitecture) -> Option<Arch> {
    match cpu.family().name() {
        "x86_64" => Some(Arch::X86_64),
        "aarch64" => Some(Arch::Aarch64),
        _ => None,
    }
}

/// The features that one of archspec's strings represents: none for an unknown one.
pub(crate) fn features_of_flag(arch: Arch, flag: &str) -> FeatureSet {
    let mapped = match arch {
        Arch::X86_64 => MAPPED_X86_64,
        Arch::Aarch64 => MAPPED_AARCH64,
    };
    mapped
        .iter()
        .find(|(name, _)| *name == flag)
        .map_or(FeatureSet::EMPTY, |(_, features)| FeatureSet::of(features))
}

/// Cores of Armv8.0 that archspec does not have. Each has the CRC32 instructions; the cryptographic ones are their
/// makers' choice (Arm's technical reference manuals; gcc's `aarch64-cores.def`).
const CORES_OF_ARMV8_0: [&str; 4] = ["cortex-a35", "cortex-a53", "cortex-a57", "cortex-a73"];

/// Cores of Armv9.2 that archspec does not have, with what that version makes mandatory (Arm's technical reference manuals).
const CORES_OF_ARMV9_2: [&str; 2] = ["cortex-a520", "cortex-a720"];

/// The features of a microarchitecture: its own, those of its ancestors, and all that these imply.
fn features_of_cpu(arch: Arch, cpu: &Microarchitecture) -> FeatureSet {
    let missing = |name: &str| {
        let row = MISSING.iter().find(|(cpu, _)| *cpu == name);
        row.map_or(FeatureSet::EMPTY, |(_, features)| FeatureSet::of(features))
    };
    let level = |name: &str| level_named(name).map_or(FeatureSet::EMPTY, |level| level.features);
    let own = cpu
        .all_features()
        .iter()
        .fold(FeatureSet::EMPTY, |set, flag| set.union(features_of_flag(arch, flag)));
    std::iter::once(cpu.name())
        .chain(cpu.ancestors().iter().map(|ancestor| ancestor.name()))
        .fold(own, |set, name| set.union(missing(name)).union(level(name)))
        .with_implied()
}

/// A CPU, by name.
pub(crate) fn cpu_named(name: &str) -> Option<(Arch, String, FeatureSet)> {
    if let Some(cpu) = CORES_OF_ARMV8_0.iter().find(|cpu| same_name(cpu, name)) {
        return Some((Arch::Aarch64, String::from(*cpu), features_of_armv8_0()));
    }
    if let Some(cpu) = CORES_OF_ARMV9_2.iter().find(|cpu| same_name(cpu, name)) {
        let level = level_named("armv9.2-a").map_or(FeatureSet::EMPTY, |level| level.features);
        return Some((Arch::Aarch64, String::from(*cpu), level.with_implied()));
    }
    let name = ALIASES.iter().find(|(alias, _)| same_name(alias, name)).map_or(name, |(_, cpu)| cpu);
    let cpu = known().find(|(_, cpu)| same_name(cpu.name(), name));
    cpu.map(|(arch, cpu)| (arch, spelling(cpu.name()), features_of_cpu(arch, cpu)))
}

/// The microarchitectures that are CPUs of architectures deburr reads.
fn known() -> impl Iterator<Item = (Arch, &'static Arc<Microarchitecture>)> {
    Microarchitecture::known_targets()
        .values()
        .filter(|cpu| level_named(cpu.name()).is_none())
        .filter_map(|cpu| Some((arch_of(cpu)?, cpu)))
}

/// Archspec's name as compilers spell it: `neoverse-n1`.
fn spelling(name: &str) -> String {
    name.replace('_', "-")
}

/// The features of [`CORES_OF_ARMV8_0`].
fn features_of_armv8_0() -> FeatureSet {
    let level = level_named("armv8.0-a").map_or(FeatureSet::EMPTY, |level| level.features);
    level.union(FeatureSet::of(&[FEAT_CRC32])).with_implied()
}

/// The CPUs that lack some of the features, those with the most features first.
pub fn cpus_lacking(arch: Arch, features: FeatureSet) -> Vec<String> {
    let mut lacking = cpus_by_features(arch);
    lacking.retain(|(_, has)| !features.is_subset(*has));
    lacking.into_iter().rev().map(|(name, _)| name).collect()
}

/// The CPUs that have all of the features, those with the fewest features first: mostly the oldest.
pub fn cpus_having(arch: Arch, features: FeatureSet) -> Vec<String> {
    let mut having = cpus_by_features(arch);
    having.retain(|(_, has)| features.is_subset(*has));
    having.into_iter().map(|(name, _)| name).collect()
}

/// The CPUs of an architecture with the features they have, those with the fewest features first.
pub fn cpus_by_features(arch: Arch) -> Vec<(String, FeatureSet)> {
    let named = cpu_names(arch).into_iter().filter_map(|name| cpu_named(&name));
    let mut cpus: Vec<_> = named.map(|(_, name, has)| (name, has)).collect();
    cpus.sort_by_key(|(name, has)| (has.iter().count(), name.clone()));
    cpus
}

/// The names of all CPUs of an architecture that `--target` accepts, sorted, other spellings left out.
pub fn cpu_names(arch: Arch) -> Vec<String> {
    let of_arch = known().filter(|(cpu_arch, _)| *cpu_arch == arch);
    let mut names: Vec<_> = of_arch.map(|(_, cpu)| spelling(cpu.name())).collect();
    if arch == Arch::Aarch64 {
        names.extend(CORES_OF_ARMV8_0.map(String::from));
        names.extend(CORES_OF_ARMV9_2.map(String::from));
    }
    names.sort_unstable();
    names
}

/// The host's microarchitecture, as archspec names it; none where it knows no more than a level.
pub(crate) fn host_name() -> Option<String> {
    let cpu = archspec::cpu::host().ok()?;
    arch_of(&cpu)?;
    level_named(cpu.name()).is_none().then(|| spelling(cpu.name()))
}

/// Every feature that has a string of archspec's on x86-64.
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) fn mapped_x86_64() -> FeatureSet {
    MAPPED_X86_64.iter().flat_map(|(_, features)| features.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::levels;
    use std::collections::BTreeSet;

    #[test]
    fn every_archspec_feature_is_mapped_or_ignored_for_a_reason() {
        let mut flags = BTreeSet::new();
        for cpu in Microarchitecture::known_targets().values() {
            if let Some(arch) = arch_of(cpu) {
                flags.extend(cpu.all_features().into_iter().map(|flag| (arch, flag)));
            }
        }
        assert!(flags.len() > 100, "archspec's data are there");
        for (arch, flag) in &flags {
            let ignored = IGNORED.iter().any(|(of, name, _)| of == arch && name == flag);
            let mapped = !features_of_flag(*arch, flag).is_empty();
            assert!(mapped != ignored, "{arch} {flag}: mapped {mapped}, ignored {ignored}");
        }
    }

    #[test]
    fn mapped_features_are_of_the_right_architecture() {
        for (arch, mapped) in [(Arch::X86_64, MAPPED_X86_64), (Arch::Aarch64, MAPPED_AARCH64)] {
            for (flag, features) in mapped {
                assert!(features.iter().all(|feature| feature.arch() == arch), "{flag}");
            }
        }
    }

    #[test]
    fn cpus_that_lack_features_are_listed_the_best_first() {
        let lse = FeatureSet::of(&[Feature::FEAT_LSE]);
        let cores = cpus_lacking(Arch::Aarch64, lse);
        for old in ["cortex-a53", "cortex-a57", "cortex-a72", "cortex-a73"] {
            assert!(cores.iter().any(|name| name == old), "{old}: {cores:?}");
        }
        assert!(!cores.iter().any(|name| name == "neoverse-n1" || name == "thunderx2"), "{cores:?}");
        let v3 = level_named("x86-64-v3").unwrap().features;
        let lacking = cpus_lacking(Arch::X86_64, v3);
        let place = |wanted: &str| lacking.iter().position(|name| name == wanted);
        assert!(place("ivybridge") < place("nehalem") && place("nehalem") < place("core2"), "{lacking:?}");
        assert!(place("ivybridge").is_some() && place("haswell").is_none() && place("zen2").is_none());
        let first = |arch, level| cpus_having(arch, level_named(level).unwrap().features).remove(0);
        assert_eq!(first(Arch::X86_64, "x86-64-v3"), "haswell");
        assert_eq!(first(Arch::X86_64, "x86-64-v2"), "nehalem");
        assert_eq!(first(Arch::Aarch64, "armv8.1-a"), "thunderx2");
    }

    #[test]
    fn supplements_and_aliases_name_cpus_that_archspec_knows() {
        let all = Microarchitecture::known_targets();
        for name in MISSING.iter().map(|row| row.0).chain(ALIASES.iter().map(|row| row.1)) {
            assert!(all.contains_key(name), "{name}");
        }
    }

    #[test]
    fn cpu_names_differ_by_more_than_separators_from_each_other_and_from_levels() {
        let mut names = BTreeSet::new();
        for arch in [Arch::X86_64, Arch::Aarch64] {
            let all = cpu_names(arch).into_iter().chain(levels(arch).iter().map(|level| level.name.into()));
            for name in all {
                assert!(names.insert(crate::level::letters(&name).collect::<Vec<_>>()), "{name}");
            }
        }
    }

    #[test]
    fn cpus_hold_the_level_that_their_makers_state() {
        for (cpu, level) in [
            ("nehalem", "x86-64-v2"),
            ("haswell", "x86-64-v3"),
            ("zen3", "x86-64-v3"),
            ("skylake-avx512", "x86-64-v4"),
            ("zen4", "x86-64-v4"),
            ("cortex-a72", "armv8.0-a"),
            ("neoverse-n1", "armv8.2-a"),
            ("neoverse-v1", "armv8.4-a"),
            ("neoverse-v2", "armv9.0-a"),
            ("ampere1", "armv8.6-a"),
            ("m1", "armv8.4-a"),
        ] {
            let (arch, name, features) = cpu_named(cpu).expect(cpu);
            assert_eq!(name, cpu);
            let highest = crate::level::highest_level(arch, features, FeatureSet::from_iter(Feature::all()));
            assert_eq!(highest.map(|level| level.name), Some(level), "{cpu}");
        }
    }
}
