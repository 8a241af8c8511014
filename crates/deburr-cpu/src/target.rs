//! The target of a check: what the user says the program will run on.
//!
//! In: a name as written after `--target` or `--baseline`. Out: a set of features with a name. The grammar is
//! that of gcc's `-march` and `-mcpu`: a level or a CPU, then any number of `+feature` and `+nofeature`.

use std::borrow::ToOwned;
use std::fmt;
use std::string::String;
use std::vec::Vec;

use crate::level::{letters, same_name};
use crate::{Arch, Feature, FeatureSet, Level, level_named, level_names};

use Feature::*;

/// What a program may rely on: a level, a CPU, or one of these with features added and removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The name in the spelling of this program, with the suffixes as they were given: `armv8.0-a+lse`.
    pub name: String,
    /// The architecture of the level or CPU.
    pub arch: Arch,
    /// All features that the target guarantees.
    pub features: FeatureSet,
}

/// A target's name that means nothing here.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownTarget {
    /// The part that was not understood: the level or CPU, or one suffix without its plus sign.
    pub part: String,
    /// Whether the part is a feature suffix.
    pub is_feature: bool,
    /// Names that are spelt almost alike, nearest first; at most three.
    pub near: Vec<String>,
}

impl fmt::Display for UnknownTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_feature {
            write!(f, "unknown feature '{}'", self.part)?;
        } else {
            write!(f, "unknown target '{}'", self.part)?;
        }
        if self.near.is_empty() {
            let expected = if self.is_feature {
                "expected a feature of the target, such as lse or avx2, or no and its name"
            } else {
                "expected a level, such as x86-64-v3 or armv8.1-a, a CPU, or native"
            };
            return write!(f, ": {expected}");
        }
        for (i, name) in self.near.iter().enumerate() {
            write!(f, "{} '{name}'", if i == 0 { "; did you mean" } else { " or" })?;
        }
        f.write_str("?")
    }
}

impl std::error::Error for UnknownTarget {}

/// The name of the machine that runs this program.
const NATIVE: &str = "native";

/// Gcc's spellings that are not the manual's name without `FEAT_`, case and separators.
const GCC_FEATURES: &[(&str, &[Feature])] = &[
    ("abm", &[LZCNT, POPCNT]),
    ("bmi", &[BMI1]),
    ("cx16", &[CMPXCHG16B]),
    ("fxsr", &[FXSR]),
    ("pclmul", &[PCLMULQDQ]),
    ("rdrnd", &[RDRAND]),
    ("sahf", &[LAHF]),
    ("sse4", &[SSE4_1, SSE4_2]),
    ("sse4.1", &[SSE4_1]),
    ("sse4.2", &[SSE4_2]),
    ("aes", &[FEAT_AES, FEAT_PMULL]),
    ("crc", &[FEAT_CRC32]),
    ("crypto", &[FEAT_AES, FEAT_PMULL, FEAT_SHA1, FEAT_SHA256]),
    ("fp16fml", &[FEAT_FHM]),
    ("memtag", &[FEAT_MTE]),
    ("predres", &[FEAT_SPECRES]),
    ("predres2", &[FEAT_SPECRES2]),
    ("profile", &[FEAT_SPE]),
    ("rcpc", &[FEAT_LRCPC]),
    ("rcpc2", &[FEAT_LRCPC2]),
    ("rcpc3", &[FEAT_LRCPC3]),
    ("rdma", &[FEAT_RDM]),
    ("sha2", &[FEAT_SHA1, FEAT_SHA256]),
    ("sha3", &[FEAT_SHA512, FEAT_SHA3]),
    ("simd", &[FEAT_ASIMD]),
    ("sm4", &[FEAT_SM3, FEAT_SM4]),
    ("sve2-aes", &[FEAT_SVE_AES, FEAT_SVE_PMULL128]),
    ("sve2-bitperm", &[FEAT_SVE_BitPerm]),
    ("sve2-sha3", &[FEAT_SVE_SHA3]),
    ("sve2-sm4", &[FEAT_SVE_SM4]),
];

impl Target {
    /// Reads a target's name.
    ///
    /// Levels (`x86-64-v3`, `v3`, `x86-64`, `armv8.1-a`, `armv8.1a`), CPUs and machines where the cargo feature `names` is on
    /// (`neoverse-n1`, `zen4`), and `native`, the machine that runs this program. `-`, `_` and case do not
    /// count. `+lse` adds a feature and what it implies, `+nolse` removes one and what depends on it.
    ///
    /// # Errors
    /// [`UnknownTarget`] names the part that was not understood.
    pub fn parse(name: &str) -> Result<Target, UnknownTarget> {
        let mut parts = name.split('+');
        let base = parts.next().unwrap_or_default().trim();
        let mut target = base_target(base)?;
        for suffix in parts {
            let arch = target.arch;
            // A feature may begin with "no" itself, so the whole suffix is looked up first.
            if let Some(added) = features_named(arch, suffix) {
                target.features = target.features.union(added.with_implied());
            } else if let Some(removed) =
                suffix.strip_prefix("no").and_then(|feature| features_named(arch, feature))
            {
                target.features = target.features.minus(removed.with_dependents());
            } else {
                return Err(unknown_feature(arch, suffix));
            }
            target.name.push('+');
            target.name.push_str(suffix);
        }
        Ok(target)
    }

    /// The core that it names, in the spelling of this program; of a machine (`graviton3`) its core. `None` for levels and
    /// `native`.
    pub fn cpu(&self) -> Option<&str> {
        let base = self.name.split('+').next()?;
        let name = (base != NATIVE && level_named(base).is_none()).then_some(base)?;
        #[cfg(feature = "names")]
        return Some(crate::cpu_named(name).and_then(|cpu| cpu.core).unwrap_or(name));
        #[cfg(not(feature = "names"))]
        Some(name)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A target without suffixes.
fn base_target(name: &str) -> Result<Target, UnknownTarget> {
    if let Some(level) = level_named(name).or_else(|| level_of_x86_64(name)) {
        return Ok(Target { name: level.name.to_owned(), arch: level.arch, features: level.features });
    }
    if same_name(name, NATIVE)
        && let Ok(host) = crate::host()
    {
        return Ok(Target { name: NATIVE.to_owned(), arch: host.arch, features: host.features });
    }
    #[cfg(feature = "names")]
    if let Some(cpu) = crate::cpu_named(name) {
        return Ok(Target { name: cpu.name.to_owned(), arch: cpu.arch, features: cpu.features });
    }
    let mut known: Vec<String> = ["native", "v1", "v2", "v3", "v4"].map(str::to_owned).into();
    for arch in [Arch::X86_64, Arch::Aarch64] {
        known.extend(level_names(arch).map(str::to_owned));
        #[cfg(feature = "names")]
        for cpu in crate::cpus(arch) {
            known.extend(cpu.aliases.iter().chain([&cpu.name]).map(|name| (*name).to_owned()));
        }
    }
    Err(UnknownTarget { part: name.to_owned(), is_feature: false, near: nearest(name, known) })
}

/// The level that is called `v1` to `v4`, as people say it: only x86-64 numbers its levels so.
fn level_of_x86_64(name: &str) -> Option<&'static Level> {
    let number = name.strip_prefix(['v', 'V'])?;
    number
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| level_named(&std::format!("x86-64-v{number}")))?
}

/// The features that a suffix names, in gcc's spelling or the manual's.
fn features_named(arch: Arch, name: &str) -> Option<FeatureSet> {
    let of_arch = |features: &[Feature]| features.iter().all(|feature| feature.arch() == arch);
    if let Some((_, features)) =
        GCC_FEATURES.iter().find(|(gcc, features)| same_name(gcc, name) && of_arch(features))
    {
        return Some(FeatureSet::of(features));
    }
    let feature = Feature::all()
        .filter(|feature| feature.arch() == arch && !is_catch_all(*feature))
        .find(|feature| same_name(feature.name(), name) || same_name(short_name(*feature), name))?;
    Some(FeatureSet::of(&[feature]))
}

/// Whether the feature represents many instructions that no name selects.
fn is_catch_all(feature: Feature) -> bool {
    matches!(feature, OTHER_X86_64 | OTHER_AARCH64 | SYSTEM)
}

/// The manual's name without `FEAT_`.
fn short_name(feature: Feature) -> &'static str {
    let name = feature.name();
    name.strip_prefix("FEAT_").unwrap_or(name)
}

fn unknown_feature(arch: Arch, suffix: &str) -> UnknownTarget {
    let gcc = GCC_FEATURES
        .iter()
        .filter(|(_, features)| features.iter().all(|feature| feature.arch() == arch))
        .map(|(name, _)| (*name).to_owned());
    let manual = Feature::all()
        .filter(|feature| feature.arch() == arch && !is_catch_all(*feature))
        .map(|feature| short_name(feature).to_ascii_lowercase());
    UnknownTarget { part: suffix.to_owned(), is_feature: true, near: nearest(suffix, manual.chain(gcc)) }
}

/// At most three of the known names: those at the smallest edit distance, which is at most a third of the
/// name's length; separators and case do not count.
fn nearest(name: &str, known: impl IntoIterator<Item = String>) -> Vec<String> {
    let name: Vec<u8> = letters(name).take(64).collect();
    let limit = (name.len() / 3).max(1);
    let mut near: Vec<(usize, String)> = known
        .into_iter()
        .map(|known| (edit_distance(&name, &letters(&known).collect::<Vec<u8>>()), known))
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    near.sort();
    near.dedup();
    let smallest = near.first().map_or(0, |(distance, _)| *distance);
    near.into_iter().take_while(|(distance, _)| *distance == smallest).take(3).map(|(_, name)| name).collect()
}

/// The smallest number of bytes inserted, deleted or replaced that makes one name the other (Levenshtein).
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(b) {
            let above = *cell;
            left = (diagonal + usize::from(x != y)).min(above + 1).min(left + 1);
            *cell = left;
            diagonal = above;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    fn parsed(name: &str) -> Target {
        Target::parse(name).unwrap_or_else(|error| panic!("{error}"))
    }

    fn refused(name: &str) -> String {
        Target::parse(name).expect_err(name).to_string()
    }

    #[test]
    fn every_level_is_a_target() {
        for arch in [Arch::X86_64, Arch::Aarch64] {
            for level in crate::levels(arch) {
                let target = parsed(level.name);
                assert_eq!((target.arch, target.features), (arch, level.features));
                assert_eq!(target.to_string(), level.name);
            }
        }
        assert_eq!(parsed("x86-64").name, "x86-64-v1");
        assert_eq!(parsed("armv8-a").name, "armv8.0-a");
    }

    #[test]
    fn v3_is_the_third_level_of_x86_64() {
        for (name, level) in
            [("v1", "x86-64-v1"), ("v2", "x86-64-v2"), ("V3", "x86-64-v3"), ("v4", "x86-64-v4")]
        {
            assert_eq!((parsed(name).name.as_str(), parsed(name).arch), (level, Arch::X86_64));
            assert_eq!(parsed(name).cpu(), None);
        }
        assert_eq!(parsed("v3+aes").name, "x86-64-v3+aes");
        assert!(
            refused("v5").starts_with("unknown target 'v5'; did you mean 'm5' or 'v1'"),
            "{}",
            refused("v5")
        );
        for name in ["v", "v0", "v5", "v33", "v3x", "v-3", "vv3"] {
            assert!(Target::parse(name).is_err(), "{name}");
        }
    }

    #[test]
    fn suffixes_add_a_feature_with_what_it_implies() {
        let target = parsed("armv8-a+lse+sve2");
        assert_eq!(target.name, "armv8.0-a+lse+sve2");
        for feature in [FEAT_LSE, FEAT_SVE2, FEAT_SVE, FEAT_FP16] {
            assert!(target.features.contains(feature), "{feature}");
        }
        assert!(!target.features.contains(FEAT_CRC32));
        assert!(parsed("armv8-a+crypto").features.contains(FEAT_PMULL));
        assert!(parsed("x86-64-v2+aes+pclmul").features.contains(PCLMULQDQ));
        assert!(parsed("x86-64+sse4.2").features.contains(SSE4_1));
        assert!(parsed("x86-64-v3+avx512_vnni").features.contains(AVX512F));
    }

    #[test]
    fn suffixes_with_no_remove_a_feature_with_what_depends_on_it() {
        let target = parsed("armv9-a+nosve");
        assert!(!target.features.contains(FEAT_SVE2) && target.features.contains(FEAT_LSE));
        assert!(!parsed("armv8.1-a+nolse").features.contains(FEAT_LSE));
        assert!(!parsed("x86-64-v4+noavx2").features.contains(AVX512VL));
    }

    #[test]
    fn unknown_targets_are_refused_with_near_spellings() {
        assert!(refused("x86-64-v5").starts_with("unknown target 'x86-64-v5'; did you mean 'x86-64-v1' or"));
        assert_eq!(
            refused("qwertyuiop"),
            "unknown target 'qwertyuiop': expected a level, such as x86-64-v3 or armv8.1-a, a CPU, or native"
        );
        assert_eq!(
            refused("armv8-a+lsee"),
            "unknown feature 'lsee'; did you mean 'lse' or 'lse2' or 'lsfe'?"
        );
        assert!(refused("armv8-a+avx2").starts_with("unknown feature 'avx2'"), "of the other architecture");
        assert!(refused("armv8-a+").starts_with("unknown feature ''"));
        assert!(refused("").starts_with("unknown target ''"));
        assert!(refused("x86-64+other").starts_with("unknown feature 'other'"));
    }

    #[cfg(feature = "names")]
    #[test]
    fn cpus_are_targets_in_every_spelling() {
        for name in ["neoverse-n1", "neoverse_n1", "Neoverse-N1", "ares"] {
            let target = parsed(name);
            assert_eq!((target.name.as_str(), target.arch), ("neoverse-n1", Arch::Aarch64));
            for feature in [FEAT_LSE, FEAT_DotProd, FEAT_UAO, FEAT_RDM, FEAT_LRCPC] {
                assert!(target.features.contains(feature), "{feature}");
            }
            assert!(!target.features.contains(FEAT_SVE));
        }
        assert_eq!(
            (&*parsed("graviton2").name, parsed("graviton2+nolse").cpu()),
            ("graviton2", Some("neoverse-n1"))
        );
        assert_eq!(
            (&*parsed("Raspberry-Pi-4").name, parsed("rpi4").cpu()),
            ("raspberrypi4", Some("cortex-a72"))
        );
        assert_eq!(parsed("m2").cpu(), Some("apple-m2"));
        assert_eq!(parsed("cortex-a72.cortex-a53").cpu(), Some("cortex-a72.cortex-a53"));
        assert_eq!(parsed("Cortex_A720").cpu(), Some("cortex-a720"));
        assert_eq!((parsed("armv8.1a").cpu(), parsed("x86-64-v3+aes").cpu()), (None, None));
        assert!(parsed("cortex-a520").features.contains(FEAT_SB));
        assert!(parsed("zen4").features.contains(AVX512_VNNI));
        assert!(parsed("znver4+nosha").features.contains(RDTSCP));
        assert!(!parsed("skylake").features.contains(AVX512F));
        assert_eq!(
            refused("neoverse-n7"),
            "unknown target 'neoverse-n7'; did you mean 'neoverse-n1' or 'neoverse-n2' or 'neoverse-n3'?"
        );
        assert_eq!(refused("zan4"), "unknown target 'zan4'; did you mean 'zen4'?");
    }

    #[test]
    fn native_is_this_machine() {
        if let Ok(host) = crate::host() {
            assert_eq!((parsed("native").features, parsed("native").cpu()), (host.features, None));
        }
    }

    #[test]
    fn edit_distance_counts_insertions_deletions_and_replacements() {
        for (a, b, distance) in
            [("", "abc", 3), ("abc", "abc", 0), ("kitten", "sitting", 3), ("zen", "zen4", 1)]
        {
            assert_eq!(edit_distance(a.as_bytes(), b.as_bytes()), distance);
        }
    }
}
