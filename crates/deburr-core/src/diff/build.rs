//! How two builds of a file were made: what differs, and whether it is worse.
//!
//! In: two [`Build`]s. Out: [`BuildChange`]s, the weightiest first. Bounds keep out what releases change by themselves: they gain and lose
//! functions, and with them assertions and calls.

use crate::finding::first_names;
use crate::image::demangle;
use crate::provenance::{Assertions, Build};
use serde::Serialize;
use std::cmp::Ordering;

/// Something about the build of a file that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BuildChange {
    /// What it is about.
    pub what: Aspect,
    /// In the old file.
    pub old: String,
    /// In the new file.
    pub new: String,
    /// Whether the new file is worse in this.
    pub worse: bool,
    /// Whether it is better in this.
    pub better: bool,
}

/// What two builds are compared by, the weightiest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Aspect {
    /// Whether a library needs an executable stack, which glibc 2.41 refuses.
    ExecutableStack,
    /// Whether relocations change code, which Android refuses.
    TextRelocations,
    /// The largest page that the file runs with.
    LargestPage,
    /// Whether loading it changes floating-point arithmetic of the whole process.
    FastMathAtLoad,
    /// Instrumentation that was left in.
    Instrumentation,
    /// Assertions that were left in.
    Assertions,
    /// Overflow checks of Rust that were left in.
    OverflowChecks,
    /// The share of instructions that compute with vectors.
    Vectorised,
    /// Calls of its own functions that another file may take.
    InterposableCalls,
    /// Debug information that was left in.
    DebugInformation,
    /// The newest version of glibc that it needs.
    Glibc,
    /// Functions that the loader calls before the program.
    Initialisers,
    /// Symbols that other files must define.
    UndefinedSymbols,
}

impl Aspect {
    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Aspect::ExecutableStack => "executable stack",
            Aspect::TextRelocations => "text relocations",
            Aspect::LargestPage => "largest page",
            Aspect::FastMathAtLoad => "flushes subnormal numbers when loaded",
            Aspect::Instrumentation => "instrumentation",
            Aspect::Assertions => "assertions",
            Aspect::OverflowChecks => "overflow checks",
            Aspect::Vectorised => "vector instructions",
            Aspect::InterposableCalls => "interposable calls",
            Aspect::DebugInformation => "debug information",
            Aspect::Glibc => "needed glibc",
            Aspect::Initialisers => "initialisers",
            Aspect::UndefinedSymbols => "undefined symbols",
        }
    }
}

/// Assertions that make a build worse if it had hardly any, and the factor. A released library that gains features gains some: of 91
/// consecutive releases on PyPI, none came to ten from hardly any (docs/reference/diff.md).
const LEAST_ASSERTIONS: u64 = 10;
const FACTOR: u64 = 8;
/// Overflow checks: one is in code that asks for it.
const LEAST_MESSAGES: u64 = 3;
/// Interposable calls, and their least share of direct calls in per cent.
const LEAST_CALLS: u64 = 1000;
const LEAST_CALLS_PERCENT: u64 = 5;
/// Vector instructions, and their least share of all in per mille, that a build may lose. Compilers of different years differ by less
/// than the factor.
const LEAST_VECTORS: u64 = 1000;
const LEAST_VECTORS_PER_MILLE: u64 = 20;
const VECTOR_FACTOR: u64 = 4;
/// Shares of a file in per cent, between which debug information came or went, and its least bytes.
const DEBUG_PERCENT: (u64, u64) = (25, 50);
const LEAST_DEBUG_BYTES: u64 = 64 << 10;
/// Names of undefined symbols that a change shows.
const NAMED: usize = 4;

/// What changed, the weightiest first.
pub(super) fn changes(old: &Build, new: &Build) -> Vec<BuildChange> {
    let candidates = [
        flag(Aspect::ExecutableStack, old.executable_stack, new.executable_stack),
        flag(Aspect::TextRelocations, old.text_relocations, new.text_relocations),
        pages(old, new),
        flag(Aspect::FastMathAtLoad, old.fast_math.is_some(), new.fast_math.is_some()),
        instrumentation(old, new),
        assertions(&old.assertions, &new.assertions),
        overflow_checks(&old.assertions, &new.assertions),
        vectorised(old, new),
        interposable(old, new),
        debug_information(old, new),
        shown(Aspect::Glibc, old.glibc.map(|it| it.to_string()), new.glibc.map(|it| it.to_string())),
        shown(Aspect::Initialisers, some(old.initialisers), some(new.initialisers)),
        undefined(old, new),
    ];
    candidates.into_iter().flatten().collect()
}

/// `tendency`: greater where the new file is worse.
fn change(what: Aspect, old: String, new: String, tendency: Ordering) -> BuildChange {
    let (worse, better) = (tendency.is_gt(), tendency.is_lt());
    BuildChange { what, old, new, worse, better }
}

fn flag(what: Aspect, old: bool, new: bool) -> Option<BuildChange> {
    let text = |is: bool| if is { "yes" } else { "no" }.to_owned();
    (old != new).then(|| change(what, text(old), text(new), new.cmp(&old)))
}

/// What is neither better nor worse.
fn shown(what: Aspect, old: Option<String>, new: Option<String>) -> Option<BuildChange> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    (old != new).then(|| change(what, text(&old), text(&new), Ordering::Equal))
}

fn some(count: u64) -> Option<String> {
    (count > 0).then(|| count.to_string())
}

fn pages(old: &Build, new: &Build) -> Option<BuildChange> {
    let text =
        |page: Option<u64>| page.map_or_else(|| "any".to_owned(), |page| format!("{} KiB", page >> 10));
    let rank = |page: Option<u64>| page.unwrap_or(u64::MAX);
    let (before, after) = (old.largest_page, new.largest_page);
    (before != after)
        .then(|| change(Aspect::LargestPage, text(before), text(after), rank(before).cmp(&rank(after))))
}

fn instrumentation(old: &Build, new: &Build) -> Option<BuildChange> {
    let names = |build: &Build| -> Vec<&str> { build.instrumentation.iter().map(|it| it.name).collect() };
    let text = |build: &Build| {
        let kinds = build.instrumentation.iter().map(|it| format!("{} ({} calls)", it.name, it.calls));
        let kinds: Vec<String> = kinds.collect();
        if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") }
    };
    let (before, after) = (names(old), names(new));
    let is_new = after.iter().any(|name| !before.contains(name));
    let is_gone = before.iter().any(|name| !after.contains(name));
    (before != after).then(|| change(Aspect::Instrumentation, text(old), text(new), is_new.cmp(&is_gone)))
}

/// Whether a number has become another one: greater where it has risen, and equal where it is about what it was.
fn risen(old: u64, new: u64, least: u64, factor: u64) -> Ordering {
    let (few, many) = (old.min(new), old.max(new));
    let is_changed = many >= least && many >= few.saturating_mul(factor);
    if is_changed { new.cmp(&old) } else { Ordering::Equal }
}

fn assertions(old: &Assertions, new: &Assertions) -> Option<BuildChange> {
    let (before, after) = (old.of_owner().0, new.of_owner().0);
    let tendency = risen(before, after, LEAST_ASSERTIONS, FACTOR);
    let text = |calls: u64| some(calls).unwrap_or_else(|| "none".to_owned());
    tendency.is_ne().then(|| change(Aspect::Assertions, text(before), text(after), tendency))
}

fn overflow_checks(old: &Assertions, new: &Assertions) -> Option<BuildChange> {
    let (before, after) = (old.overflow_messages, new.overflow_messages);
    let tendency = risen(before, after, LEAST_MESSAGES, FACTOR);
    let text = |count: u64| if count == 0 { "none".to_owned() } else { format!("{count} messages") };
    tendency.is_ne().then(|| change(Aspect::OverflowChecks, text(before), text(after), tendency))
}

fn vectorised(old: &Build, new: &Build) -> Option<BuildChange> {
    // An -O0 build has few vector instructions for another reason, which counts by itself.
    let per_mille = |build: &Build| build.vector_instructions * 1000 / build.instructions.max(1);
    let (before, after) = (per_mille(old), per_mille(new));
    let more = if before > after { old } else { new };
    let is_notable =
        more.vector_instructions >= LEAST_VECTORS && before.max(after) >= LEAST_VECTORS_PER_MILLE;
    let tendency = risen(before, after, LEAST_VECTORS_PER_MILLE, VECTOR_FACTOR).reverse();
    let text = |build: &Build, share: u64| {
        format!("{} of {} ({}.{} %)", build.vector_instructions, build.instructions, share / 10, share % 10)
    };
    (is_notable && tendency.is_ne())
        .then(|| change(Aspect::Vectorised, text(old, before), text(new, after), tendency))
}

fn interposable(old: &Build, new: &Build) -> Option<BuildChange> {
    let more = if old.interposable_calls > new.interposable_calls { old } else { new };
    let is_notable = more.interposable_calls * 100 >= more.calls * LEAST_CALLS_PERCENT;
    let (before, after) = (old.interposable_calls, new.interposable_calls);
    let tendency = risen(before, after, LEAST_CALLS, FACTOR);
    let text = |build: &Build| format!("{} of {} calls", build.interposable_calls, build.calls);
    (is_notable && tendency.is_ne())
        .then(|| change(Aspect::InterposableCalls, text(old), text(new), tendency))
}

fn debug_information(old: &Build, new: &Build) -> Option<BuildChange> {
    let percent = |build: &Build| build.debug_bytes * 100 / build.bytes.max(1);
    let (before, after) = (percent(old), percent(new));
    let (less, more) = (before.min(after), before.max(after));
    let is_notable = old.debug_bytes.max(new.debug_bytes) >= LEAST_DEBUG_BYTES;
    let is_changed = is_notable && less < DEBUG_PERCENT.0 && more >= DEBUG_PERCENT.1;
    let text = |build: &Build, percent: u64| match build.debug_bytes {
        0 => "none".to_owned(),
        bytes => format!("{bytes} bytes ({percent} % of the file)"),
    };
    is_changed
        .then(|| change(Aspect::DebugInformation, text(old, before), text(new, after), after.cmp(&before)))
}

fn undefined(old: &Build, new: &Build) -> Option<BuildChange> {
    fn only<'b>(one: &'b Build, other: &Build) -> Vec<&'b String> {
        one.undefined.iter().filter(|name| other.undefined.binary_search(name).is_err()).collect()
    }
    let text = |names: Vec<&String>| match names.is_empty() {
        true => "none".to_owned(),
        false => first_names(names.into_iter().map(|name| demangle(name).to_string()), NAMED),
    };
    let (gone, came) = (only(old, new), only(new, old));
    let is_same = gone.is_empty() && came.is_empty();
    (!is_same).then(|| change(Aspect::UndefinedSymbols, text(gone), text(came), Ordering::Equal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{CodeOffset, Svma};
    use crate::provenance::{FastMath, Instrumentation, Maker};

    /// A build without peculiarities.
    fn build() -> Build {
        Build {
            optimisation: crate::provenance::Optimisation::default(),
            instrumentation: Vec::new(),
            assertions: Assertions::default(),
            debug_bytes: 0,
            bytes: 1_000_000,
            interposable_calls: 0,
            calls: 10_000,
            executable_stack: false,
            text_relocations: false,
            fast_math: None,
            largest_page: None,
            initialisers: 1,
            glibc: None,
            undefined: Vec::new(),
            vector_instructions: 5_000,
            instructions: 100_000,
        }
    }

    /// What is worse in a build that was changed, and that nothing is in the other direction.
    fn worse(make: impl Fn(&mut Build)) -> Vec<Aspect> {
        let (old, mut new) = (build(), build());
        make(&mut new);
        let reversed = changes(&new, &old);
        assert!(reversed.iter().all(|change| !change.worse), "{reversed:?}");
        let changes = changes(&old, &new);
        assert_eq!(
            changes.iter().filter(|it| it.worse).count(),
            reversed.iter().filter(|it| it.better).count()
        );
        changes.into_iter().filter(|change| change.worse).map(|change| change.what).collect()
    }

    fn asserting(build: &mut Build, maker: Maker, calls: u64) {
        build.assertions.by_maker.insert(maker, (calls, CodeOffset(0)));
    }

    #[test]
    fn what_costs_is_worse_and_its_removal_is_better() {
        let tracing = || Instrumentation {
            name: "Cython's tracing",
            advice: "",
            function: "f".to_owned(),
            calls: 2,
            callers: 1,
            first: None,
        };
        assert_eq!(worse(|_| {}), []);
        assert_eq!(worse(|new| new.instrumentation = vec![tracing()]), [Aspect::Instrumentation]);
        assert_eq!(worse(|new| asserting(new, Maker::Assert, 10)), [Aspect::Assertions]);
        assert_eq!(worse(|new| asserting(new, Maker::Glib, 10)), [Aspect::Assertions]);
        // A static C++ library brings its own.
        assert_eq!(worse(|new| asserting(new, Maker::Libstdcxx, 106)), []);
        assert_eq!(worse(|new| new.assertions.overflow_messages = 3), [Aspect::OverflowChecks]);
        assert_eq!(worse(|new| new.executable_stack = true), [Aspect::ExecutableStack]);
        assert_eq!(worse(|new| new.text_relocations = true), [Aspect::TextRelocations]);
        assert_eq!(worse(|new| new.largest_page = Some(4096)), [Aspect::LargestPage]);
        let fast = || Some(FastMath { at: Svma(0), runs: "an initialiser".to_owned() });
        assert_eq!(worse(|new| new.fast_math = fast()), [Aspect::FastMathAtLoad]);
        assert_eq!(worse(|new| new.vector_instructions = 1_000), [Aspect::Vectorised]);
        assert_eq!(worse(|new| new.interposable_calls = 2_000), [Aspect::InterposableCalls]);
        assert_eq!(worse(|new| new.debug_bytes = 600_000), [Aspect::DebugInformation]);
    }

    #[test]
    fn what_releases_change_by_themselves_is_not_worse() {
        assert_eq!(worse(|new| asserting(new, Maker::Assert, 9)), []);
        assert_eq!(worse(|new| new.assertions.overflow_messages = 2), []);
        assert_eq!(worse(|new| new.vector_instructions = 1_500), []);
        assert_eq!(worse(|new| new.interposable_calls = 400), []);
        assert_eq!(worse(|new| new.debug_bytes = 300_000), []);
        assert_eq!(worse(|new| new.initialisers = 2), []);
        let mut old = build();
        asserting(&mut old, Maker::Assert, 40);
        let mut new = old.clone();
        asserting(&mut new, Maker::Assert, 80);
        assert_eq!(changes(&old, &new), []);
    }

    #[test]
    fn names_that_came_and_went_are_shown() {
        let (mut old, mut new) = (build(), build());
        old.undefined = ["a", "b"].map(str::to_owned).to_vec();
        new.undefined = ["b", "c", "d", "e", "f", "g"].map(str::to_owned).to_vec();
        let [change] = changes(&old, &new).try_into().unwrap();
        assert_eq!(
            (change.what, change.old.as_str(), change.new.as_str()),
            (Aspect::UndefinedSymbols, "a", "c, d, e, f and 1 more")
        );
        assert!(!change.worse && !change.better);
    }
}
