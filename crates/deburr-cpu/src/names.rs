//! CPU names: what `--target` accepts, and which CPUs have some features.
//!
//! In: a name, in any spelling, or features. Out: rows of the table of CPUs.

use std::borrow::ToOwned;
use std::string::String;
use std::sync::LazyLock;
use std::vec::Vec;

use crate::level::same_name;
use crate::table::{Cpu, CpuKind, table};
use crate::{Arch, FeatureSet};

/// The CPUs and machines of an architecture, in the order of the table.
pub fn cpus(arch: Arch) -> impl Iterator<Item = &'static Cpu> {
    table().iter().filter(move |cpu| cpu.arch == arch)
}

/// A CPU or a machine, by name.
pub fn cpu_named(name: &str) -> Option<&'static Cpu> {
    let is_named =
        |cpu: &&Cpu| same_name(cpu.name, name) || cpu.aliases.iter().any(|alias| same_name(alias, name));
    table().iter().find(is_named)
}

/// The CPUs that lack some of the features, those with the most features first.
pub fn cpus_lacking(arch: Arch, features: FeatureSet) -> Vec<String> {
    let mut lacking: Vec<&Cpu> =
        listed(arch).into_iter().filter(|cpu| !features.is_subset(cpu.features)).collect();
    // The sort is stable: of equals the order stays that of the table.
    lacking.sort_by_key(|cpu| core::cmp::Reverse(cpu.features.iter().count()));
    lacking.into_iter().map(|cpu| cpu.name.to_owned()).collect()
}

/// The CPUs that have all of the features, those with the fewest features first: mostly the oldest.
pub fn cpus_having(arch: Arch, features: FeatureSet) -> Vec<String> {
    let mut having = cpus_by_features(arch);
    having.retain(|(_, has)| features.is_subset(*has));
    having.into_iter().map(|(name, _)| name).collect()
}

/// The CPUs and machines of an architecture with the features they have, those with the fewest features first. Those of which
/// only a compiler's list is known ([`CpuKind::Compiler`]) are left out: the list may lack what the CPU has.
pub fn cpus_by_features(arch: Arch) -> Vec<(String, FeatureSet)> {
    listed(arch).into_iter().map(|cpu| (cpu.name.to_owned(), cpu.features)).collect()
}

/// The CPUs that findings may name, those with the fewest features first and of equals in the order of the table.
fn listed(arch: Arch) -> Vec<&'static Cpu> {
    static SORTED: LazyLock<Vec<&Cpu>> = LazyLock::new(|| {
        let mut cpus: Vec<&Cpu> = table().iter().filter(|cpu| cpu.kind != CpuKind::Compiler).collect();
        cpus.sort_by_key(|cpu| cpu.features.iter().count());
        cpus
    });
    SORTED.iter().copied().filter(|cpu| cpu.arch == arch).collect()
}

/// The names of all CPUs and machines of an architecture that `--target` accepts, sorted, other spellings left out.
pub fn cpu_names(arch: Arch) -> Vec<String> {
    let mut names: Vec<_> = cpus(arch).map(|cpu| cpu.name.to_owned()).collect();
    names.sort_unstable();
    names
}

/// The core with an implementer and a part number (MIDR_EL1).
pub(crate) fn core_with_number(implementer: u32, part: u32) -> Option<&'static str> {
    let core = table().iter().find(|cpu| cpu.midr.contains(&(implementer, part)))?;
    Some(core.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Feature, level_named};

    #[test]
    fn cpus_that_lack_features_are_listed_the_best_first() {
        let lse = FeatureSet::of(&[Feature::FEAT_LSE]);
        let cores = cpus_lacking(Arch::Aarch64, lse);
        for old in ["cortex-a53", "cortex-a57", "cortex-a72", "cortex-a73", "raspberrypi4", "graviton1"] {
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
    fn what_only_a_compiler_lists_is_a_target_and_in_no_list() {
        assert!(cpu_named("neoverse-n3").is_some() && cpu_named("octeontx2").is_some());
        let listed = cpus_by_features(Arch::Aarch64);
        assert!(!listed.iter().any(|(name, _)| name == "neoverse-n3"));
        assert!(listed.iter().any(|(name, _)| name == "graviton3"));
    }

    #[test]
    fn a_core_is_known_by_its_number() {
        assert_eq!(core_with_number(0x41, 0xd0c), Some("neoverse-n1"));
        assert_eq!(core_with_number(0x61, 0x033), Some("apple-m2"));
        assert_eq!(core_with_number(0x41, 0xfff), None);
    }

    #[test]
    fn cpus_hold_the_level_that_their_makers_state() {
        for (cpu, level) in [
            ("nehalem", "x86-64-v2"),
            ("haswell", "x86-64-v3"),
            ("zen3", "x86-64-v3"),
            ("gracemont", "x86-64-v3"),
            ("goldmont", "x86-64-v2"),
            ("skylake-avx512", "x86-64-v4"),
            ("graniterapids", "x86-64-v4"),
            ("zen4", "x86-64-v4"),
            ("cortex-a72", "armv8.0-a"),
            ("cortex-a55", "armv8.2-a"),
            ("tsv110", "armv8.2-a"),
            ("neoverse-n1", "armv8.2-a"),
            ("neoverse-v1", "armv8.4-a"),
            ("neoverse-v2", "armv9.0-a"),
            ("neoverse-v3", "armv9.2-a"),
            ("ampere1", "armv8.6-a"),
            ("apple-m1", "armv8.4-a"),
            ("apple-m2", "armv8.6-a"),
        ] {
            let found = cpu_named(cpu).expect(cpu);
            assert_eq!(found.name, cpu);
            let all = FeatureSet::from_iter(Feature::all());
            let highest = crate::level::highest_level(found.arch, found.features, all);
            assert_eq!(highest.map(|level| level.name), Some(level), "{cpu}");
        }
    }
}
