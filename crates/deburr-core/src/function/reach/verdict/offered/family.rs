//! Families: functions whose names differ in the CPUs that they are for.
//!
//! In: names. Out: [`Families`]. What is left of a name without the words that name CPUs, and without numbers, is the family's:
//! `sw_avx2_256_16` and `sw_sse41_128_16` are of one, as the width goes with the CPU. `Sleef_sinf8_u10avx2` has its extension at the end
//! of a word, after a number.

use crate::function::reach::file::names;
use crate::function::reach::verdict::presumed::words::Words;
use crate::image::demangle;
use deburr_cpu::{Arch, FeatureSet};
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;

/// The families of some functions.
pub struct Families {
    words: Words,
    /// By the family's part of the name: for which CPUs there are members.
    known: HashMap<String, BTreeSet<FeatureSet>>,
    /// Names of functions that something calls without a choice.
    left_out: HashSet<String>,
}

impl fmt::Debug for Families {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Families").field("known", &self.known).finish_non_exhaustive()
    }
}

/// Whether a name may be that of a variant. Those of the C library may not (ISO C 7.1.3): it may be linked in statically.
pub(super) fn may_be_variant(name: &str) -> bool {
    !name.starts_with("__") && Words::may_be_in(name)
}

impl Families {
    /// The families of functions with some names.
    pub fn of<'n>(arch: Arch, names: impl Iterator<Item = &'n str>) -> Families {
        let mut families =
            Families { words: Words::of(arch), known: HashMap::new(), left_out: HashSet::new() };
        let names: Vec<&str> = names.collect();
        families.add(names.par_iter().copied().filter(|name| may_be_variant(name)));
        if !families.known.is_empty() {
            // Mangled names are many, and cost much to read.
            let is_plain = |name: &&str| !name.starts_with("_Z") && !name.starts_with("_R");
            families.add(names.par_iter().copied().filter(|name| is_plain(name) && !may_be_variant(name)));
        }
        families
    }

    fn add<'n>(&mut self, names: impl ParallelIterator<Item = &'n str>) {
        let parted: Vec<_> = names.map(|name| self.parted(name)).collect();
        for (features, family) in parted.into_iter().filter(|(_, family)| !family.is_empty()) {
            self.known.entry(family).or_default().insert(features.unwrap_or_default());
        }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Takes a function for none that its callers choose.
    pub(crate) fn leave_out(&mut self, name: &str) {
        self.left_out.insert(name.to_owned());
    }

    /// The features that a name says its function is for, beyond the first level.
    pub(crate) fn named(&self, name: &str) -> Option<FeatureSet> {
        self.variant(name, true)
    }

    /// The features that a name says its function is for, beyond the first level, where it is a variant. `is_enough`: whether it needs no
    /// other member of its family.
    pub(super) fn variant(&self, name: &str, is_enough: bool) -> Option<FeatureSet> {
        if !may_be_variant(name) || self.left_out.contains(name) {
            return None;
        }
        let (features, family) = self.parted(name);
        let named = features.filter(|features| !features.is_empty())?;
        let has_other =
            || self.known.get(&family).is_some_and(|known| known.iter().any(|other| *other != named));
        (!family.is_empty() && (is_enough || has_other())).then_some(named)
    }

    /// What a name says of CPUs, and the rest of it.
    fn parted(&self, name: &str) -> (Option<FeatureSet>, String) {
        let demangled = demangle(name);
        // Parameters are not what is called so.
        let name = demangled.split('(').next().unwrap_or_default();
        let words: Vec<String> = names::words(name).into_iter().flat_map(|word| self.split(word)).collect();
        let (features, rest) = self.words.parted(&words);
        let without_numbers = |word: &&str| word.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
        let rest: Vec<String> = rest.iter().map(without_numbers).filter(|word| !word.is_empty()).collect();
        (features, rest.join("_"))
    }

    /// A word, or two where an extension follows a number in it.
    fn split(&self, word: String) -> Vec<String> {
        let follows_digit = |at: &usize| {
            let bytes = word.as_bytes();
            let before = at.checked_sub(1).and_then(|before| bytes.get(before));
            before.is_some_and(u8::is_ascii_digit) && bytes.get(*at).is_some_and(u8::is_ascii_alphabetic)
        };
        let is_known = |at: &usize| word.get(*at..).is_some_and(|tail| self.words.has(tail));
        let cut = (1..word.len()).filter(follows_digit).find(is_known).filter(|_| !self.words.has(&word));
        match cut.and_then(|at| word.split_at_checked(at)) {
            Some((head, tail)) => vec![head.to_owned(), tail.to_owned()],
            None => vec![word],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_cpu::Feature::*;

    fn variant(name: &str, others: &[&str], is_enough: bool) -> Option<FeatureSet> {
        let names = others.iter().copied().chain([name]);
        Families::of(Arch::X86_64, names).variant(name, is_enough)
    }

    #[test]
    fn function_that_is_named_for_a_cpu_is_a_variant_next_to_one_for_others() {
        for (name, other, feature) in [
            ("parasail_sw_avx2_256_16", "parasail_sw_sse41_128_16", AVX2),
            ("Sleef_sinf8_u10avx2", "Sleef_sinf4_u10sse4", AVX2),
            ("sum_avx512f", "sum", AVX512F),
            ("sum_avx2", "sum_sse2", AVX2),
            ("_ZN1v4avx25L2SqrEPKf", "_ZN1v3sse5L2SqrEPKf", AVX2),
            ("dot_haswell", "dot_nehalem", AVX2),
        ] {
            let named = variant(name, &[other], false);
            assert!(named.is_some_and(|named| named.contains(feature)), "{name}: {named:?}");
            assert_eq!(variant(name, &[], false), None, "{name} alone");
            assert!(variant(name, &[], true).is_some(), "{name} in a file that queries the CPU");
        }
        let (gemm, other) = ("kai_run_matmul_1x4x32_neon_dotprod", "kai_run_matmul_4x8x32_neon_i8mm");
        let families = Families::of(Arch::Aarch64, [gemm, other].into_iter());
        assert!(families.variant(gemm, false).is_some_and(|named| named.contains(FEAT_DotProd)));
    }

    #[test]
    fn name_that_says_nothing_above_the_first_level_is_no_variant() {
        for name in
            ["sum", "sum_sse2", "aes_encrypt", "__memcpy_avx2", "save_u10", "_ZN1v1fEN4avx23vecE", "avx2"]
        {
            assert_eq!(variant(name, &["sum_avx2", "sum_avx512f"], true), None, "{name}");
        }
        // Two of the same CPU are no choice.
        assert_eq!(variant("sum_avx2_256", &["sum_avx2_128"], false), None);
        assert_eq!(variant("sum_avx2", &["mean_sse2", "summary"], false), None);
    }
}
