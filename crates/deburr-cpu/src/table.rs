//! The table of CPUs: `data/cores.tsv` and `data/machines.tsv` → names, features and where these are from.
//!
//! The files say at their heads what their columns mean. They are part of the program and read once; a test checks every word.

use std::str::SplitWhitespace;
use std::sync::LazyLock;
use std::vec::Vec;

use crate::level::highest_level;
use crate::linux::features_of_word;
use crate::{Arch, Feature, FeatureSet, detect_aarch64, level_named};

const CORES: &str = include_str!("../data/cores.tsv");
const MACHINES: &str = include_str!("../data/machines.tsv");

/// How a CPU is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CpuKind {
    /// A core. Its row has what every machine with that core has.
    Core,
    /// A core of which only a compiler's list is known, which may leave out features that the core has. It is a target like any
    /// other; findings do not name it.
    Compiler,
    /// A board, a laptop or a cloud machine, with the features that its kernel reports.
    Machine,
}

/// A CPU, or a machine, that `--target` and `--baseline` accept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cpu {
    /// The name in the spelling of this program: `neoverse-n1`.
    pub name: &'static str,
    /// Other names that mean the same: `ares`.
    pub aliases: Vec<&'static str>,
    /// The architecture.
    pub arch: Arch,
    /// How it is known.
    pub kind: CpuKind,
    /// All that a program can use there.
    pub features: FeatureSet,
    /// The features as the table states them: a level or another row and what is added, or the line of a kernel.
    pub stated: &'static str,
    /// The core of a machine.
    pub core: Option<&'static str>,
    /// Where the features are from.
    pub source: &'static str,
    /// Implementer and part numbers of an AArch64 core (MIDR_EL1).
    pub(crate) midr: Vec<(u32, u32)>,
}

/// All rows, cores first, in the order of the files.
pub(crate) fn table() -> &'static [Cpu] {
    static TABLE: LazyLock<Vec<Cpu>> = LazyLock::new(|| {
        let mut table = Vec::new();
        for row in rows(CORES) {
            let core = core(row, &table);
            table.extend(core);
        }
        table.extend(rows(MACHINES).filter_map(machine));
        table
    });
    &TABLE
}

/// The lines of a file that are rows, in columns; `-` stands for an empty one.
fn rows<const N: usize>(text: &'static str) -> impl Iterator<Item = [&'static str; N]> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let columns: Vec<_> =
            line.split('\t').map(|column| if column == "-" { "" } else { column }).collect();
        columns.try_into().ok()
    })
}

fn core([name, kind, aliases, midr, stated, source]: [&'static str; 6], earlier: &[Cpu]) -> Option<Cpu> {
    let (arch, features) = features_of_core(stated.split_whitespace(), earlier)?;
    let numbers: Vec<u32> = midr
        .split_whitespace()
        .filter_map(|number| u32::from_str_radix(number.trim_start_matches("0x"), 16).ok())
        .collect();
    let (pairs, _) = numbers.as_chunks::<2>();
    Some(Cpu {
        name,
        aliases: aliases.split_whitespace().collect(),
        arch,
        kind: if kind == "compiler" { CpuKind::Compiler } else { CpuKind::Core },
        features,
        stated,
        core: None,
        source,
        midr: pairs.iter().map(|[implementer, part]| (*implementer, *part)).collect(),
    })
}

/// A level or an earlier row, and features that are added to it.
fn features_of_core(mut words: SplitWhitespace<'_>, earlier: &[Cpu]) -> Option<(Arch, FeatureSet)> {
    let base = words.next()?;
    let row = || earlier.iter().find(|cpu| cpu.name == base).map(|cpu| (cpu.arch, cpu.features));
    let (arch, base) = level_named(base).map(|level| (level.arch, level.features)).or_else(row)?;
    let added: FeatureSet = words.filter_map(|word| feature_of(arch, word)).collect();
    Some((arch, base.union(added).with_implied()))
}

/// A feature by the manual's name, without `FEAT_`.
fn feature_of(arch: Arch, name: &str) -> Option<Feature> {
    Feature::all().find(|feature| {
        feature.arch() == arch && feature.name().strip_prefix("FEAT_").unwrap_or(feature.name()) == name
    })
}

fn machine([name, aliases, core, stated, source]: [&'static str; 5]) -> Option<Cpu> {
    let reported = stated
        .split_whitespace()
        .fold(FeatureSet::EMPTY, |set, word| set.union(features_of_word(Arch::Aarch64, word)))
        .with_implied();
    let level = highest_level(Arch::Aarch64, reported, detect_aarch64::visible())?;
    Some(Cpu {
        name,
        aliases: aliases.split_whitespace().collect(),
        arch: Arch::Aarch64,
        kind: CpuKind::Machine,
        features: reported.union(level.features).with_implied(),
        stated,
        core: Some(core).filter(|core| !core.is_empty()),
        source,
        midr: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Feature::*;
    use crate::level::letters;
    use crate::linux::is_known;
    use std::collections::BTreeSet;

    fn named(name: &str) -> &'static Cpu {
        table().iter().find(|cpu| cpu.name == name).unwrap_or_else(|| panic!("{name}"))
    }

    #[test]
    fn every_line_is_a_row_and_every_word_is_known() {
        let lines = |text: &'static str| text.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(table().len(), lines(CORES).count() + lines(MACHINES).count());
        for [name, kind, _, midr, features, source] in rows(CORES) {
            assert!(["core", "compiler"].contains(&kind) && !source.is_empty(), "{name}");
            assert_eq!(named(name).midr.len() * 2, midr.split_whitespace().count(), "{name}");
            for word in features.split_whitespace().skip(1) {
                assert!(feature_of(named(name).arch, word).is_some(), "{name}: {word}");
            }
        }
        for [name, _, core, line, source] in rows(MACHINES) {
            assert!(!source.is_empty() && (core.is_empty() || named(core).arch == Arch::Aarch64), "{name}");
            assert!(line.split_whitespace().all(is_known), "{name}: {line}");
        }
    }

    #[test]
    fn every_name_means_one_thing() {
        let mut names = BTreeSet::new();
        let levels = [Arch::X86_64, Arch::Aarch64].into_iter().flat_map(crate::level_names);
        for name in table().iter().flat_map(|cpu| cpu.aliases.iter().copied().chain([cpu.name])).chain(levels)
        {
            assert!(names.insert(letters(name).collect::<Vec<_>>()), "{name}");
            assert!(
                name.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte)),
                "{name}"
            );
        }
    }

    /// A core's row is what its machines share, except where kernels hide what the core has.
    #[test]
    fn a_machine_has_all_that_its_core_has() {
        let hidden = FeatureSet::of(&[FEAT_PAuth, FEAT_SSBS, FEAT_BTI]);
        for machine in table().iter().filter(|cpu| cpu.kind == CpuKind::Machine) {
            let Some(core) = machine.core.map(named) else { continue };
            let visible = core.features.intersection(detect_aarch64::visible());
            let missing = visible.minus(hidden).minus(machine.features);
            assert!(missing.is_empty(), "{} lacks {missing:?} of {}", machine.name, core.name);
        }
    }

    #[test]
    fn what_some_machines_lack_is_not_in_the_row_of_their_core() {
        let crypto = FeatureSet::of(&[FEAT_AES, FEAT_PMULL, FEAT_SHA1, FEAT_SHA256]);
        for lacking in
            ["cortex-a72", "cortex-a53", "cortex-a57", "cortex-a55", "raspberrypi3", "raspberrypi4"]
        {
            assert!(named(lacking).features.intersection(crypto).is_empty(), "{lacking}");
            assert!(named(lacking).features.contains(FEAT_CRC32), "{lacking}");
        }
        for having in [
            "neoverse-n1",
            "cortex-a73",
            "cortex-a76",
            "raspberrypi5",
            "graviton1",
            "jetson-nano",
            "jetson-tx2",
        ] {
            assert!(crypto.is_subset(named(having).features), "{having}");
        }
        // Qualcomm switches SVE off, and the i3 of four generations has no AES.
        for core in ["cortex-x2", "cortex-a720", "cortex-x4"] {
            assert!(!named(core).features.contains(FEAT_SVE), "{core}");
        }
        assert!(named("gb10").features.contains(FEAT_SVE2) && named("cix-p1").features.contains(FEAT_SVE2));
        for core in ["westmere", "sandybridge", "ivybridge", "haswell"] {
            assert!(
                !named(core).features.contains(AES) && named(core).features.contains(PCLMULQDQ),
                "{core}"
            );
        }
        assert!(named("broadwell").features.contains(AES));
    }

    #[test]
    fn the_kunpeng_920_has_no_ldapr_and_the_n1_has() {
        assert!(!named("tsv110").features.contains(FEAT_LRCPC));
        assert!(named("tsv110").features.contains(FEAT_LSE) && named("tsv110").features.contains(FEAT_JSCVT));
        assert!(named("neoverse-n1").features.contains(FEAT_LRCPC));
    }

    #[test]
    fn a_machine_is_at_the_level_of_its_line() {
        assert!(named("raspberrypi5").features.contains(FEAT_UAO), "Armv8.2, of which Linux says nothing");
        assert!(!named("raspberrypi4").features.contains(FEAT_PAN));
        assert!(named("graviton4").features.contains(FEAT_SPECRES));
    }
}
