//! The table: what the launcher and the selectors read.
//!
//! In: variants, best first, and preferences by CPU model. Out: bytes, little-endian, read in place by
//! `c/deburr_select.c`, whose `struct deburr_table` states the same layout.
//!
//! | part | bytes |
//! |---|---|
//! | head | `deburrT2`, size of the table (4), then counts of variants, models and bit names and the offset of the prefix (2 each), the machine (`e_machine`, 2), flags (2): 1 where it is a tree of its own |
//! | variant, 72 each | twelve words that it needs (48), offset of the level's name, of the path, of the build ID and of the marker (2 each, 0 for none), where it lies in the launcher's own file, or 0 (8), and how long it is there, or how much of its own file is loaded (8) |
//! | model, 16 each | the maker (4), the signature (4), indices of the variants that it prefers, best first (8), 255 for none |
//! | bit name, 4 each | word (1), bit (1), offset of the name (2) |
//! | strings | each with a NUL at its end; offset 0 represents no string |
//!
//! The variants are in an order in which none comes before one that needs more (a linear extension of "needs a subset
//! of"), so "the first that runs" is one that no other that runs exceeds. Feature sets are a partial order: where two
//! variants both run and neither needs a subset of the other, the order is that of the caller.

use crate::words::{Words, bits_of, words_of};
use deburr_cpu::{Arch, FeatureSet};
use std::fmt;

/// A variant of a program or a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// The level's name: what `DEBURR_LEVEL` selects it by.
    pub level: String,
    /// What it needs of the CPU.
    pub features: FeatureSet,
    /// Where it is: relative to the folder of the launcher (or of the table's file, for a selector).
    pub path: String,
    /// Where it is in the launcher's own file, and its length, for a launcher that unpacks it.
    pub payload: Option<(u64, u64)>,
    /// By what its file is known.
    pub build: Build,
    /// A file that is there only where all files of the variant are, relative to the same folder.
    pub marker: Option<String>,
}

/// By what a file is known, also after it was stripped. A file of another build is not started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Build {
    /// Its build ID in hexadecimal digits: the descriptor of GNU's note (`NT_GNU_BUILD_ID`), or of Go's.
    pub id: Option<String>,
    /// Where the part of the file ends that is loaded, in bytes: what it is known by where there is no build ID. 0 is not stated.
    pub loaded: u64,
}

impl Build {
    /// Whether a file is of this build, by what a launcher compares: the build ID, or without one where the loaded part ends.
    pub fn is_of(&self, file: &Build) -> bool {
        match &self.id {
            Some(id) => file.id.as_ref() == Some(id),
            None => self.loaded == file.loaded,
        }
    }
}

/// What a CPU model prefers, as measured on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// x86-64: EBX of CPUID leaf 0. AArch64: the implementer, bits 31 to 24 of MIDR_EL1.
    pub maker: u32,
    /// x86-64: EAX of CPUID leaf 1 without the stepping (`& 0x0fff_3ff0`). AArch64: the part number of MIDR_EL1.
    pub signature: u32,
    /// Levels, best first; the others follow in their own order.
    pub levels: Vec<String>,
}

/// What the launcher or a selector reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The architecture of all variants.
    pub arch: Arch,
    /// The variants; of those that do not compare, the one to be preferred first.
    pub variants: Vec<Variant>,
    /// Preferences by CPU model.
    pub models: Vec<Model>,
    /// The folder of the launcher once it is installed, an absolute path: what a set-user-ID program goes by.
    pub prefix: Option<String>,
    /// Whether each variant is in a tree of its own: then `argv[0]` becomes the path of the variant, with the name by which the
    /// program was called, so that a program that finds its files by its own name finds those of its level. The folders from which
    /// the paths of the variants lead up are then no links.
    pub is_own_tree: bool,
}

/// Why a table cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableError {
    /// There is no variant, or more than 16.
    Count(usize),
    /// A variant needs features that neither the CPUID leaves that are read nor the auxiliary vector state.
    Unstated {
        /// The variant's level.
        level: String,
        /// The features.
        features: FeatureSet,
    },
    /// Two variants have the same level.
    Twice(String),
    /// A model prefers a level that is no variant's.
    NoVariant(String),
    /// A string holds a NUL, or is empty.
    Text(String),
    /// The table would be longer than 65,535 bytes.
    TooLong(usize),
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::Count(count) => write!(f, "{count} variants: expected 1 to {MOST_VARIANTS}"),
            TableError::Unstated { level, features } => write!(
                f,
                "{level} needs {features:?}, which the launcher cannot test: it reads CPUID leaves 1, 7, 0xd.1, 0x80000001 and 0x80000008, or AT_HWCAP and AT_HWCAP2"
            ),
            TableError::Twice(level) => write!(f, "two variants are called {level}"),
            TableError::NoVariant(level) => write!(f, "a CPU model prefers {level}, which is no variant"),
            TableError::Text(text) => write!(f, "{text:?}: expected a name without NUL bytes"),
            TableError::TooLong(size) => write!(f, "the table has {size} bytes: expected at most 65,535"),
        }
    }
}

impl std::error::Error for TableError {}

/// The most variants of a table.
const MOST_VARIANTS: usize = 16;
/// The most variants that a model orders.
const MOST_PREFERRED: usize = 8;
const HEAD: usize = 24;
const VARIANT: usize = 72;
const MODEL: usize = 16;
const BIT_NAME: usize = 4;

/// Whether a table, as [`Table::encode`] writes it, says where its launcher will be.
pub fn has_prefix(table: &[u8]) -> bool {
    table.get(18..20).is_some_and(|offset| offset != [0, 0])
}

impl Table {
    /// The table's bytes.
    ///
    /// # Errors
    /// [`TableError`].
    pub fn encode(&self) -> Result<Vec<u8>, TableError> {
        let variants = self.ordered()?;
        let names = self.bit_names();
        let strings_at = HEAD + variants.len() * VARIANT + self.models.len() * MODEL + names.len() * BIT_NAME;
        let mut strings = Strings { at: strings_at, bytes: Vec::new() };
        let mut bytes = b"deburrT2".to_vec();
        let short = |count: usize| u16::try_from(count).map_err(|_| TableError::TooLong(count));
        let prefix = self.prefix.as_deref().map_or(Ok(0), |prefix| strings.add(prefix))?;
        let mut body = Vec::new();
        for (variant, words) in &variants {
            words.iter().for_each(|word| body.extend(word.to_le_bytes()));
            body.extend(strings.add(&variant.level)?.to_le_bytes());
            body.extend(strings.add(&variant.path)?.to_le_bytes());
            let build_id = variant.build.id.as_deref().map_or(Ok(0), |id| strings.add(id))?;
            body.extend(build_id.to_le_bytes());
            let marker = variant.marker.as_deref().map_or(Ok(0), |marker| strings.add(marker))?;
            body.extend(marker.to_le_bytes());
            let (at, size) = variant.payload.unwrap_or((0, variant.build.loaded));
            body.extend(at.to_le_bytes());
            body.extend(size.to_le_bytes());
        }
        for model in &self.models {
            body.extend(model.maker.to_le_bytes());
            body.extend(model.signature.to_le_bytes());
            let mut order = [u8::MAX; MOST_PREFERRED];
            for (place, level) in order.iter_mut().zip(&model.levels) {
                let found = variants.iter().position(|(variant, _)| variant.level == *level);
                let index = found.ok_or_else(|| TableError::NoVariant(level.clone()))?;
                *place = u8::try_from(index).map_err(|_| TableError::Count(variants.len()))?;
            }
            body.extend(order);
        }
        for (word, bit, name) in &names {
            body.extend([*word, *bit]);
            body.extend(strings.add(name)?.to_le_bytes());
        }
        let size = HEAD + body.len() + strings.bytes.len();
        short(size)?;
        bytes.extend(u32::try_from(size).map_err(|_| TableError::TooLong(size))?.to_le_bytes());
        for count in [variants.len(), self.models.len(), names.len()] {
            bytes.extend(short(count)?.to_le_bytes());
        }
        bytes.extend(prefix.to_le_bytes());
        bytes.extend(machine(self.arch).to_le_bytes());
        bytes.extend(u16::from(self.is_own_tree).to_le_bytes());
        bytes.extend(body);
        bytes.extend(strings.bytes);
        Ok(bytes)
    }

    /// The variants with their words, none before one that needs more.
    fn ordered(&self) -> Result<Vec<(&Variant, Words)>, TableError> {
        if self.variants.is_empty() || self.variants.len() > MOST_VARIANTS {
            return Err(TableError::Count(self.variants.len()));
        }
        let mut left = Vec::new();
        for variant in &self.variants {
            let (words, unstated) = words_of(self.arch, variant.features);
            if unstated != FeatureSet::EMPTY {
                return Err(TableError::Unstated { level: variant.level.clone(), features: unstated });
            }
            if left.iter().any(|(other, _): &(&Variant, Words)| other.level == variant.level) {
                return Err(TableError::Twice(variant.level.clone()));
            }
            left.push((variant, words));
        }
        let mut ordered = Vec::new();
        while !left.is_empty() {
            let is_maximal =
                |words: &Words| left.iter().all(|(_, other)| words == other || !is_subset(words, other));
            // A finite partial order has a maximal element.
            let next = left.iter().position(|(_, words)| is_maximal(words)).unwrap_or(0);
            ordered.push(left.remove(next));
        }
        Ok(ordered)
    }

    /// The names of all bits that some variant needs, for messages.
    fn bit_names(&self) -> Vec<(u8, u8, &'static str)> {
        let all = self.variants.iter().fold(FeatureSet::EMPTY, |all, variant| all.union(variant.features));
        let mut names = Vec::new();
        for feature in all.iter() {
            let Some(&(word, mask)) = bits_of(self.arch, feature).as_ref().and_then(|bits| bits.first())
            else {
                continue;
            };
            let place = (u8::try_from(word), u8::try_from(mask.trailing_zeros()));
            if let (Ok(word), Ok(bit)) = place {
                names.push((word, bit, feature.name()));
            }
        }
        names.sort_unstable();
        names
    }
}

/// ELF's number of an architecture (`e_machine`).
pub(crate) fn machine(arch: Arch) -> u16 {
    match arch {
        Arch::X86_64 => 62,
        Arch::Aarch64 => 183,
    }
}

fn is_subset(words: &Words, of: &Words) -> bool {
    words.iter().zip(of).all(|(word, other)| word & !other == 0)
}

/// The strings at the end of the table.
struct Strings {
    at: usize,
    bytes: Vec<u8>,
}

impl Strings {
    /// The offset of a string, which is added.
    fn add(&mut self, text: &str) -> Result<u16, TableError> {
        if text.is_empty() || text.contains('\0') {
            return Err(TableError::Text(text.to_owned()));
        }
        let at = self.at + self.bytes.len();
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
        u16::try_from(at).map_err(|_| TableError::TooLong(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_cpu::{Feature, level_named};

    fn variant(level: &str) -> Variant {
        let features = level_named(level).unwrap().features;
        Variant {
            level: level.into(),
            features,
            path: format!("../bin-{level}/prog"),
            payload: None,
            build: Build::default(),
            marker: None,
        }
    }

    fn table(variants: Vec<Variant>) -> Table {
        Table { arch: Arch::X86_64, variants, models: Vec::new(), prefix: None, is_own_tree: false }
    }

    #[test]
    fn what_needs_more_comes_first_whatever_the_order_given() {
        let table = table(vec![
            variant("x86-64-v2"),
            variant("x86-64-v4"),
            variant("x86-64-v1"),
            variant("x86-64-v3"),
        ]);
        let levels: Vec<&str> =
            table.ordered().unwrap().iter().map(|(variant, _)| variant.level.as_str()).collect();
        assert_eq!(levels, ["x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64-v1"]);
    }

    #[test]
    fn of_variants_that_do_not_compare_the_first_given_comes_first() {
        let with = |name: &str, feature: Feature| {
            let mut variant = variant("x86-64-v2");
            variant.features = variant.features.with(feature);
            variant.level = name.into();
            variant
        };
        let (aes, sha) = (with("aes", Feature::AES), with("sha", Feature::SHA));
        let levels = |variants: Vec<Variant>| -> Vec<String> {
            let table = table(variants);
            table.ordered().unwrap().iter().map(|(variant, _)| variant.level.clone()).collect()
        };
        assert_eq!(levels(vec![variant("x86-64-v2"), aes.clone(), sha.clone()]), ["aes", "sha", "x86-64-v2"]);
        assert_eq!(levels(vec![sha, variant("x86-64-v2"), aes]), ["sha", "aes", "x86-64-v2"]);
    }

    #[test]
    fn what_cannot_be_tested_at_start_is_refused() {
        let mut untestable = variant("x86-64-v3");
        untestable.features = untestable.features.with(Feature::PTWRITE);
        let refused = table(vec![untestable]).encode().unwrap_err();
        assert!(refused.to_string().contains("PTWRITE"), "{refused}");
    }

    #[test]
    fn the_layout_is_the_one_stated() {
        let mut table = table(vec![variant("x86-64-v1"), variant("x86-64-v3")]);
        table.models = vec![Model { maker: 1, signature: 2, levels: vec!["x86-64-v1".into()] }];
        table.prefix = Some("/usr/bin".into());
        table.is_own_tree = true;
        table.variants[1].build = Build { id: Some("00ff".into()), loaded: 77 };
        table.variants[1].marker = Some("whole".into());
        let without = Table { prefix: None, ..table.clone() }.encode().unwrap();
        let bytes = table.encode().unwrap();
        assert!(has_prefix(&bytes) && !has_prefix(&without) && !has_prefix(&bytes[..19]));
        let short = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let text = |at: usize| {
            let end = at + bytes[at..].iter().position(|byte| *byte == 0).unwrap();
            std::str::from_utf8(&bytes[at..end]).unwrap()
        };
        assert_eq!(&bytes[..8], b"deburrT2");
        assert_eq!(u32::from_le_bytes(*bytes[8..].first_chunk().unwrap()) as usize, bytes.len());
        assert_eq!((short(12), short(14)), (2, 1));
        assert_eq!((text(short(18)), short(20)), ("/usr/bin", 62));
        assert_eq!((text(short(HEAD + 48)), text(short(HEAD + 50))), ("x86-64-v3", "../bin-x86-64-v3/prog"));
        assert_eq!((text(short(HEAD + 52)), bytes[HEAD + 64], short(22)), ("00ff", 77, 1));
        assert_eq!(text(short(HEAD + 54)), "whole");
        assert_eq!((short(HEAD + VARIANT + 52), bytes[HEAD + VARIANT + 64]), (0, 0));
        let model = HEAD + 2 * VARIANT;
        assert_eq!(&bytes[model + 8..model + 16], [1, 255, 255, 255, 255, 255, 255, 255]);
        let name = model + MODEL;
        assert_eq!((bytes[name], bytes[name + 1], text(short(name + 2))), (0, 0, "SSE3"));
    }

    #[test]
    fn bad_tables_are_refused() {
        assert_eq!(table(Vec::new()).encode(), Err(TableError::Count(0)));
        let twice = table(vec![variant("x86-64-v1"), variant("x86-64-v1")]).encode();
        assert_eq!(twice, Err(TableError::Twice("x86-64-v1".into())));
        let mut unknown = table(vec![variant("x86-64-v1")]);
        unknown.models = vec![Model { maker: 1, signature: 2, levels: vec!["x86-64-v3".into()] }];
        assert_eq!(unknown.encode(), Err(TableError::NoVariant("x86-64-v3".into())));
        let mut long = variant("x86-64-v1");
        long.path = "x".repeat(1 << 16);
        assert!(matches!(table(vec![long]).encode(), Err(TableError::TooLong(_))));
    }
}
