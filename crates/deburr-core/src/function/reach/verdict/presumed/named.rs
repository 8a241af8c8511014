//! A name, taken apart: the CPUs that it is for, and the rest.
//!
//! In: the name of a file or of a function, demangled. Out: [`NameParts`]. Variants of one thing differ in the former and share the latter.

use crate::function::reach::file::names;
use crate::function::reach::verdict::presumed::words::Words;
use deburr_cpu::{Arch, FeatureSet};

/// The parts of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameParts {
    /// The features that it names, with what they imply: none of the first level; `None` if it names no extension, level or core.
    pub features: Option<FeatureSet>,
    /// Its other words, in lower case, without those that say that it is for all CPUs.
    pub rest: Vec<String>,
}

impl NameParts {
    /// Takes a name apart.
    pub fn of(arch: Arch, name: &str) -> NameParts {
        /// What the variant for all CPUs is called.
        const GENERAL: [&str; 9] =
            ["baseline", "default", "fallback", "generic", "noarch", "nosimd", "plain", "portable", "scalar"];
        let words = names::words(name);
        let (features, rest) = match Words::may_be_in(name) {
            true => Words::of(arch).parted(&words),
            false => (None, words.iter().map(String::as_str).collect()),
        };
        let rest = rest.into_iter().filter(|word| !GENERAL.contains(word)).map(str::to_owned);
        NameParts { features, rest: rest.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_cpu::Feature;

    #[test]
    fn variants_share_all_words_that_name_no_cpu() {
        let of = |name: &str| NameParts::of(Arch::X86_64, name);
        let (plain, avx2) = (of("fuzz_cpp.cpython-311.so"), of("fuzz_cpp_avx2.cpython-311.so"));
        assert_eq!(plain.rest, avx2.rest);
        assert!(plain.features.is_none() && avx2.features.is_some_and(|said| said.contains(Feature::AVX2)));
        assert_eq!(of("libx-generic.so"), of("libx.so"));
        assert_eq!(of("avx2.cpython-311.so").rest, of("fallback.cpython-311.so").rest);
        assert_ne!(of("libx_avx2.so").rest, of("liby_avx2.so").rest);
        // Of another architecture it is a word like others.
        assert_eq!(NameParts::of(Arch::Aarch64, "x_avx2").features, None);
    }
}
