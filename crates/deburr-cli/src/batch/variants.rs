//! Variants: files of a package of which a program chooses one for its CPU, by their names.
//!
//! In: a member with what it is held to, and the names of all binaries of the package. Out: what it is held to as a variant:
//! `fuzz_cpp_avx2.so` next to `fuzz_cpp.so` is for CPUs with AVX2. The name alone shows nothing: what is loaded on every CPU may be
//! called so. A file is a variant where its package has another one of the same name apart from the words that say for which CPUs it
//! is, or a folder of the same name apart from these.

use crate::analysis::claims::Held;
use deburr_core::NameParts;
use deburr_cpu::{Arch, Feature, FeatureSet, Target};
use deburr_package::{Object, Sink, Stopped};
use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The variants of one package.
pub(super) struct Variants<'l> {
    /// Lists all binaries: the package is read once more for that.
    list: &'l dyn Fn() -> Vec<String>,
    names: OnceCell<Vec<String>>,
}

impl<'l> Variants<'l> {
    pub(super) fn new(list: &'l dyn Fn() -> Vec<String>) -> Variants<'l> {
        Variants { list, names: OnceCell::new() }
    }

    /// What a member is held to, given what it would be held to otherwise.
    pub(super) fn of_member(&self, path: &str, arch: Option<Arch>, held: Arc<Held>) -> Arc<Held> {
        let Some(arch) = arch else { return held };
        let own = NameParts::of(arch, inside(path));
        let Some(named) = own.features.filter(|named| !named.is_subset(held.level.features)) else {
            return held;
        };
        let names = self.names.get_or_init(self.list);
        let is_other = |other: &&String| {
            let parts = NameParts::of(arch, inside(other));
            parts.rest == own.rest && parts.features.unwrap_or_default() != named
        };
        if !names.iter().any(|name| is_other(&name)) {
            return held;
        }
        let level = raised(&held.level, named);
        let text = format!("{} (its name)", inside(path).rsplit('/').next().unwrap_or_default());
        let raised_from = Some(held.level.clone());
        Arc::new(Held { part: held.part.clone(), text, level, raised_from, systems: held.systems })
    }
}

/// A path within its package.
fn inside(path: &str) -> &str {
    path.rsplit('!').next().unwrap_or(path)
}

/// A level with more features: `x86-64-v1+avx2`.
fn raised(level: &Target, named: FeatureSet) -> Target {
    let features = level.features.union(named).with_implied();
    let strongest = named.minus(level.features).strongest();
    let suffixes = strongest.iter().map(|feature| suffix(level.arch, feature));
    let name = suffixes.fold(level.name.clone(), |name, suffix| format!("{name}+{suffix}"));
    Target { name, arch: level.arch, features }
}

/// A feature as [`Target::parse`] reads it.
fn suffix(arch: Arch, feature: Feature) -> String {
    let name = feature.name().trim_start_matches("FEAT_").to_ascii_lowercase();
    let first = match arch {
        Arch::X86_64 => "x86-64-v1",
        Arch::Aarch64 => "armv8.0-a",
    };
    let spellings =
        [name.clone(), name.replace('_', ""), name.replacen('_', ".", 1), feature.name().to_owned()];
    let is_read = |spelling: &&String| {
        Target::parse(&format!("{first}+{spelling}")).is_ok_and(|target| target.features.contains(feature))
    };
    spellings.iter().find(is_read).unwrap_or(&name).clone()
}

/// The names of all binaries of a package, which is read for that.
pub(super) fn binaries(read: impl FnOnce(&mut Names) -> Result<(), Stopped>) -> Vec<String> {
    let mut names = Names::default();
    // Whatever fails is reported where the package is read for its members.
    let _ = catch_unwind(AssertUnwindSafe(|| read(&mut names)));
    names.0
}

/// Takes the names alone.
#[derive(Default)]
pub(super) struct Names(Vec<String>);

impl Sink for Names {
    type Permit = ();

    fn admit(&mut self, _: u64) -> Result<(), Stopped> {
        Ok(())
    }

    fn hold(&mut self, _: u64) -> Result<(), Stopped> {
        Ok(())
    }

    fn object(&mut self, object: Object, (): ()) -> Result<(), Stopped> {
        self.0.push(object.path);
        Ok(())
    }

    fn pass_over(&mut self) {}

    fn skip(&mut self, _: String, _: String, _: bool) -> Result<(), Stopped> {
        Ok(())
    }

    fn progress(&mut self, _: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_package::claim::Systems;

    /// What a member is held to in a package of x86-64-v1 with some binaries.
    fn of(path: &str, binaries: &[&str]) -> (String, Option<String>) {
        let list = || binaries.iter().map(|name| (*name).to_owned()).collect();
        let level = Target::parse("x86-64-v1").expect("a level");
        let (part, text) = ("p".to_owned(), "says (here)".to_owned());
        let held = Held { part, text, level, raised_from: None, systems: Systems::default() };
        let held = Variants::new(&list).of_member(path, Some(Arch::X86_64), Arc::new(held));
        (held.level.name.clone(), held.raised_from.as_ref().map(|general| general.name.clone()))
    }

    #[test]
    fn file_that_is_one_of_several_is_held_to_what_its_name_says() {
        for (path, sibling, level) in [
            ("p!a/fuzz_cpp_avx2.cpython-311.so", "p!a/fuzz_cpp.cpython-311.so", "x86-64-v1+avx2"),
            ("p!simd/avx2.cpython-311.so", "p!simd/sse2.cpython-311.so", "x86-64-v1+avx2"),
            ("p!simd/avx2.cpython-311.so", "p!simd/fallback.cpython-311.so", "x86-64-v1+avx2"),
            ("p!libx_avx512bw.so", "p!libx_avx2.so", "x86-64-v1+avx512bw"),
            ("p!lib/avx2/libx.so.1", "p!lib/libx.so.1", "x86-64-v1+avx2"),
        ] {
            let general = Some("x86-64-v1".to_owned());
            assert_eq!(of(path, &[path, sibling]), (level.to_owned(), general), "{path}");
        }
        let (level, general) = of("p!libx_sse42.so", &["p!libx_sse42.so", "p!libx.so"]);
        assert!(Target::parse(&level).is_ok_and(|level| level.features.contains(Feature::SSE4_2)), "{level}");
        assert!(general.is_some());
    }

    #[test]
    fn file_whose_name_alone_says_it_is_held_to_its_package() {
        for (path, others) in [
            ("p!libx_avx2.so", &["p!liby.so"][..]),
            ("p!libx_avx2.so", &["p!liby_avx2.so", "p!a/libx.so"]),
            ("p!libx_avx2.so", &["p!libx-avx2.so"]),
            ("p!avx2/libx.so", &["p!avx2/liby.so"]),
            // Named for the first level.
            ("p!libx_sse2.so", &["p!libx.so"]),
            ("p!libx.so", &["p!libx_avx2.so"]),
        ] {
            let names: Vec<&str> = others.iter().copied().chain([path]).collect();
            assert_eq!(of(path, &names), ("x86-64-v1".to_owned(), None), "{path} {others:?}");
        }
    }
}
