//! Two builds of one file: what each is like, and what differs.
//!
//! In: the bytes of a file ([`inspect`]), then two of the values that this makes ([`compare`]). Out: [`FileDiff`]:
//! levels that changed, findings that came, went or moved, and how functions came out differently. Functions are
//! matched by name; addresses do not matter. Code without names is compared as one, by its findings alone.

use super::build::{self, BuildChange};
use crate::address::CodeOffset;
use crate::check::examine;
use crate::finding::{Severity, Value};
use crate::function::Program;
use crate::function::atomics;
use crate::function::codegen::{AtomicUses, Callee, function_facts};
use crate::image::{self, Error, Image};
use crate::insn::vector::VectorWidth;
use crate::listing::{Listing, code_of_findings};
use crate::provenance::{Build, Optimisation, Source};
use crate::report::{Hex, PlacedFinding, Report, SourceLocation, place_of};
use crate::request::Request;
use crate::rule;
use deburr_cpu::{Arch, Feature, FeatureSet};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// A function's length is reported where it changed by this factor and so many bytes.
const SIZE_FACTOR: u64 = 2;
const SIZE_BYTES: u64 = 128;
/// The number of calls is reported where it changed by this factor and so many calls; or from or to none.
const CALL_FACTOR: u64 = 2;
const CALLS: u64 = 4;

/// A file, as [`compare`] needs it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Inspection {
    /// What `check` reports.
    pub report: Report,
    pub(super) arch: Arch,
    /// What it shows of how it was built.
    build: Build,
    /// Whether the machines that the user names have all that it needs.
    is_within_stated: bool,
    /// Functions with a name, by address.
    pub(super) functions: Vec<Named>,
    /// Calls by the callee's plain name.
    calls: BTreeMap<String, u64>,
}

/// A named function's facts.
#[derive(Debug, Clone)]
pub(super) struct Named {
    /// Demangled, without what compilers append to the names of clones and parts.
    pub(super) name: String,
    pub(super) svma: Hex,
    pub(super) section: Option<Arc<str>>,
    pub(super) size: u64,
    pub(super) computes: VectorWidth,
    pub(super) moves: VectorWidth,
    pub(super) atomics: AtomicUses,
    /// Above the first level.
    pub(super) features: FeatureSet,
}

impl Inspection {
    /// Whether the machines that the user names, by a baseline or a target, have all that the file needs.
    pub const fn is_within_stated(&self) -> bool {
        self.is_within_stated
    }
}

/// Inspects a file: its report, and how each of its functions was made.
///
/// # Errors
/// [`Error`], as of [`crate::check()`].
pub fn inspect(bytes: &[u8], request: &Request<'_>) -> Result<Inspection, Error> {
    examine(bytes, request, atomics::WANTS, |image, program, report, _| {
        inspection(image, program, report, stated(request))
    })
}

/// The same, with the code that its findings are about, no more than `bound` instructions, and how many functions that left out.
///
/// # Errors
/// [`Error`], as of [`crate::check()`].
pub fn inspect_with_code(
    bytes: &[u8],
    request: &Request<'_>,
    bound: usize,
) -> Result<(Inspection, Vec<Listing>, u64), Error> {
    examine(bytes, request, atomics::WANTS, |image, program, report, _| {
        let (code, left_out) = code_of_findings(image, program, &report, request, bound);
        (inspection(image, program, report, stated(request)), code, left_out)
    })
}

/// What all machines have that the user names.
fn stated(request: &Request<'_>) -> FeatureSet {
    request.target.unwrap_or_default().union(request.baseline.unwrap_or_default())
}

/// Whether a set of features has a level and what is needed beyond it, by their names in the report.
fn has_needed(stated: FeatureSet, report: &Report, arch: Arch) -> bool {
    let levels = deburr_cpu::levels(arch);
    let level = levels.iter().find(|level| level.name == report.level);
    let has = |name: &String| stated.iter().any(|feature| feature.name() == name);
    level.is_some_and(|level| level.features.is_subset(stated)) && report.needed_beyond.iter().all(has)
}

fn inspection(image: &Image<'_>, program: &Program, report: Report, stated: FeatureSet) -> Inspection {
    let facts = function_facts(image, program, &atomics::atomics(image, program));
    let permitted = deburr_cpu::universal_features(image.arch);
    let names: BTreeMap<CodeOffset, String> = facts
        .iter()
        .filter_map(|facts| Some((facts.function.start, plain_name(program.name(&facts.function, image)?))))
        .collect();
    let mut calls: BTreeMap<String, u64> = BTreeMap::new();
    for (callee, count) in facts.iter().flat_map(|facts| &facts.calls) {
        let name = match callee {
            Callee::Here(start) => names.get(start).cloned(),
            Callee::Elsewhere(name) => Some(plain_name(name)),
        };
        if let Some(name) = name {
            *calls.entry(name).or_default() += count;
        }
    }
    let functions = facts.iter().filter_map(|facts| {
        let name = program.name(&facts.function, image).filter(|name| !name.ends_with("@plt"))?;
        let (section, svma) = place_of(image, image.svma(facts.function.start));
        Some(Named {
            name: plain_name(name),
            svma,
            section,
            size: facts.size,
            computes: facts.computes,
            moves: facts.moves,
            atomics: facts.atomics,
            features: facts.features.minus(permitted),
        })
    });
    let functions = functions.collect();
    let vectors = facts.iter().map(|facts| facts.vector_instructions).sum();
    let instructions = facts.iter().map(|facts| facts.instructions).sum();
    let build = Source::ask(image, program, |source| Build::of(source, vectors, instructions));
    let is_within_stated = has_needed(stated, &report, image.arch);
    Inspection { arch: image.arch, build, is_within_stated, functions, calls, report }
}

/// A name demangled, without what compilers append: `.part.0`, `.constprop.1`, `.isra.0`, `.cold`, `.llvm.123`, and
/// `@plt`.
pub fn plain_name(name: &str) -> String {
    const SUFFIXES: [&str; 8] =
        [".part.", ".constprop.", ".isra.", ".cold", ".llvm.", ".lto_priv.", ".localalias", ".clone."];
    let mangled = name.strip_suffix("@plt").unwrap_or(name);
    // From the second byte: a name may be a suffix itself.
    let cut = SUFFIXES.iter().filter_map(|suffix| mangled.get(1..)?.find(suffix)).min();
    let whole = cut.and_then(|at| mangled.get(..at + 1)).unwrap_or(mangled);
    let demangled = image::demangle(whole);
    match demangled.find(" [clone ") {
        Some(at) => demangled.get(..at).unwrap_or(&demangled).to_owned(),
        None => demangled,
    }
}

/// What differs between two builds of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct FileDiff {
    /// `x86_64` or `aarch64`.
    pub arch: Cow<'static, str>,
    /// Levels that changed.
    pub levels: Vec<LevelChange>,
    /// How much of the code no optimiser has seen, where that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimisation: Option<OptimisationChange>,
    /// What else of how it was built changed, the weightiest first.
    pub build: Vec<BuildChange>,
    /// Findings that only the new file has, the severest first.
    pub came: Vec<FindingGroup>,
    /// Findings that only the old file has, the severest first.
    pub went: Vec<FindingGroup>,
    /// Findings that are in another function now, of which only one of the files has the one or the other.
    pub moved: Vec<Moved>,
    /// Findings that both have, wherever they are.
    pub same: u64,
    /// Functions that came out differently.
    pub functions: Vec<FunctionDiff>,
    /// Functions that are called from more or fewer places, or no longer there.
    pub calls: Vec<CallDiff>,
    /// Named functions that only the new file has.
    pub functions_came: u64,
    /// Named functions that only the old file has.
    pub functions_went: u64,
}

/// A level that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LevelChange {
    /// `needed`, `guarded` (with what is guarded by checks) or `present`.
    pub what: &'static str,
    /// In the old file; empty where it has none.
    pub old: String,
    /// In the new file.
    pub new: String,
    /// Whether it is higher now.
    pub raised: bool,
    /// Whether the user names machines that have both.
    #[serde(skip)]
    pub is_within_stated: bool,
}

/// How much of a file's code no optimiser has seen, in two builds of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OptimisationChange {
    /// Unoptimised functions in the old file.
    pub old_functions: u64,
    /// Unoptimised functions in the new file.
    pub new_functions: u64,
    /// Their share of the old file's code, in per mille.
    pub old_per_mille: u64,
    /// Their share of the new file's code, in per mille.
    pub new_per_mille: u64,
    /// Whether the share is greater now.
    pub worse: bool,
}

/// Like findings of one function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FindingGroup {
    /// The rule's id.
    pub rule: Cow<'static, str>,
    /// How much they matter.
    pub severity: Severity,
    /// The function; `None`: code without a name.
    pub function: Option<String>,
    /// One sentence about the first.
    pub message: Arc<str>,
    /// Where the first is.
    pub svma: Hex,
    /// Its section, in relocatable objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<Arc<str>>,
    /// Its source line.
    pub source: Option<Box<SourceLocation>>,
    /// How many.
    pub count: u64,
}

/// Findings that are in another function now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Moved {
    /// The rule's id.
    pub rule: Cow<'static, str>,
    /// The function in the old file.
    pub from: String,
    /// The function in the new file.
    pub to: String,
    /// How many.
    pub count: u64,
    /// They in the new file, as many as `count`.
    #[serde(skip)]
    pub group: FindingGroup,
}

/// A function that came out differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FunctionDiff {
    /// Its name.
    pub function: String,
    /// Where it is in the old file.
    pub old_svma: Hex,
    /// Where it is in the new file.
    pub new_svma: Hex,
    /// What changed.
    pub changes: Vec<Change>,
}

/// What changed in a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// `vector-width`, `vector-moves`, `atomics`, `features` or `size`.
    pub what: &'static str,
    /// In the old file.
    pub old: String,
    /// In the new file.
    pub new: String,
}

/// A function with another number of direct calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CallDiff {
    /// Its name.
    pub function: String,
    /// Direct calls of it in the old file, tail calls among them.
    pub old_calls: u64,
    /// Direct calls in the new file.
    pub new_calls: u64,
    /// Whether the old file has the function.
    pub is_old: bool,
    /// Whether the new file has it.
    pub is_new: bool,
}

impl FileDiff {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        let counts = [self.levels.len(), self.came.len(), self.went.len(), self.moved.len()];
        self.optimisation.is_none()
            && self.build.is_empty()
            && counts.iter().sum::<usize>() + self.functions.len() + self.calls.len() == 0
    }
}

/// Compares two builds of a file for one architecture; with nothing, all is new.
///
/// ```
/// use deburr_core::{Request, compare, inspect};
/// use deburr_core::finding::Severity;
///
/// let with_lse = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/llsc_loop/miss-lse.o"));
/// let inline = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/llsc_loop/hit-cas.o"));
/// let old = inspect(with_lse, &Request::default())?;
/// let new = inspect(inline, &Request::default())?;
///
/// let diff = compare(Some(&old), &new);
/// assert_eq!(diff.came[0].rule, "llsc-loop");
/// assert!(diff.is_worse(Some(Severity::Warning)));
/// # Ok::<(), deburr_core::Error>(())
/// ```
pub fn compare(old: Option<&Inspection>, new: &Inspection) -> FileDiff {
    let mut diff = FileDiff { arch: new.report.arch.clone(), ..FileDiff::default() };
    compare_findings(old, new, &mut diff);
    if let Some(old) = old {
        diff.levels = levels(old, new);
        diff.optimisation = optimisation(&old.build.optimisation, &new.build.optimisation);
        diff.build = build::changes(&old.build, &new.build);
        compare_functions(old, new, &mut diff);
        compare_calls(old, new, &mut diff);
    }
    diff
}

/// The change of what no optimiser has seen, where it matters: releases gain and lose functions, so that a small one does not.
fn optimisation(old: &Optimisation, new: &Optimisation) -> Option<OptimisationChange> {
    const LEAST_PER_MILLE: u64 = 50;
    let (before, after) = (old.per_mille(), new.per_mille());
    let more = if after > before { new } else { old };
    let is_changed = before.abs_diff(after) >= LEAST_PER_MILLE && more.is_notable();
    is_changed.then(|| OptimisationChange {
        old_functions: old.unoptimised_functions(),
        new_functions: new.unoptimised_functions(),
        old_per_mille: before,
        new_per_mille: after,
        worse: after > before,
    })
}

/// What a level is as text, and how high.
fn level(level: &str, beyond: &[String]) -> String {
    [level]
        .into_iter()
        .chain(beyond.iter().map(String::as_str))
        .filter(|it| !it.is_empty())
        .collect::<Vec<_>>()
        .join(" + ")
}

fn levels(old: &Inspection, new: &Inspection) -> Vec<LevelChange> {
    let is_within_stated = old.is_within_stated && new.is_within_stated;
    let rank = |name: &str| deburr_cpu::levels(new.arch).iter().position(|level| level.name == name);
    let change = |what, (old, old_beyond): (&str, &[String]), (new, new_beyond): (&str, &[String])| {
        let is_beyond = new_beyond.iter().any(|feature| !old_beyond.contains(feature));
        LevelChange {
            what,
            old: level(old, old_beyond),
            new: level(new, new_beyond),
            raised: rank(new) > rank(old) || rank(new) == rank(old) && is_beyond,
            is_within_stated,
        }
    };
    let (a, b) = (&old.report, &new.report);
    let guarded = |report: &Report| report.level_guarded.clone().unwrap_or_default();
    let changes = [
        change("needed", (&a.level, &a.needed_beyond), (&b.level, &b.needed_beyond)),
        change("guarded", (&guarded(a), &a.guarded_beyond), (&guarded(b), &b.guarded_beyond)),
        change("present", (&a.level_present, &a.level_beyond), (&b.level_present, &b.level_beyond)),
    ];
    changes.into_iter().filter(|change| change.old != change.new).collect()
}

/// What makes two findings like: rule, severity, and the evidence without addresses.
type Kind = (Cow<'static, str>, Severity, String);
/// The function's plain name; empty for code without a name.
type Key = (String, Kind);
/// A file's findings by what makes them like.
type Found<'r> = BTreeMap<Key, Vec<&'r PlacedFinding>>;

fn kind_of(finding: &PlacedFinding) -> Kind {
    let lasting = finding.evidence.facts().filter(|(_, value)| match value {
        Value::Text(text) => !text.starts_with("0x"),
        Value::List(words) => !words.iter().any(|word| word.starts_with("0x")),
        Value::Number(_) | Value::Flag(_) => true,
    });
    let facts: Vec<String> = lasting.map(|(name, value)| format!("{name}={value:?}")).collect();
    (finding.rule.clone(), finding.severity, facts.join(" "))
}

fn by_key(inspection: &Inspection) -> Found<'_> {
    let mut found = Found::new();
    for finding in inspection.report.counted() {
        let function = finding.function.as_deref().map(plain_name).unwrap_or_default();
        found.entry((function, kind_of(finding))).or_default().push(finding);
    }
    found
}

fn compare_findings(old: Option<&Inspection>, new: &Inspection, diff: &mut FileDiff) {
    let (before, mut after) = (old.map(by_key).unwrap_or_default(), by_key(new));
    // What is of a whole file is compared as [`FileDiff::optimisation`] and [`FileDiff::build`].
    let is_kept = |key: &Key| old.is_none() || !rule::is_of_whole_file(&key.1.0);
    let before: Found<'_> = before.into_iter().filter(|(key, _)| is_kept(key)).collect();
    after.retain(|key, _| is_kept(key));
    let (mut came, mut went): (BTreeMap<&Key, u64>, BTreeMap<&Key, u64>) = Default::default();
    for key in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
        let count = |map: &Found<'_>| map.get(key).map_or(0, |found| found.len() as u64);
        let (a, b) = (count(&before), count(&after));
        diff.same += a.min(b);
        if b > a {
            came.insert(key, b - a);
        }
        if a > b {
            went.insert(key, a - b);
        }
    }
    if let Some(old) = old {
        let moves = move_between(&mut went, &mut came, &names(old), &names(new));
        diff.moved = moves.into_iter().filter_map(|it| moved(it, &after)).collect();
    }
    diff.came = grouped(&came, &after);
    diff.went = grouped(&went, &before);
}

/// The findings that both builds have, as groups of the new one: together as many as [`FileDiff::same`].
pub fn remaining(old: &Inspection, new: &Inspection) -> Vec<FindingGroup> {
    let (before, after) = (by_key(old), by_key(new));
    let both = after.iter().filter_map(|(key, found)| {
        let count = before.get(key).map_or(0, Vec::len).min(found.len()) as u64;
        (count > 0).then_some((key, count))
    });
    grouped(&both.collect(), &after)
}

fn names(inspection: &Inspection) -> BTreeSet<&str> {
    inspection.functions.iter().map(|function| function.name.as_str()).collect()
}

/// The function that findings moved from, what they are in the new file, and how many.
type Move<'k> = (&'k str, &'k Key, u64);

/// Pairs findings that went with like ones that came, where one of the two functions is in one file only: it was
/// inlined, split or renamed.
fn move_between<'k>(
    went: &mut BTreeMap<&'k Key, u64>,
    came: &mut BTreeMap<&'k Key, u64>,
    old_names: &BTreeSet<&str>,
    new_names: &BTreeSet<&str>,
) -> Vec<Move<'k>> {
    let mut moves = Vec::new();
    // By kind: to all functions, and to those that are new.
    let mut to_all: BTreeMap<&Kind, VecDeque<&'k Key>> = BTreeMap::new();
    let mut to_new = to_all.clone();
    for key in came.keys().filter(|(to, _)| !to.is_empty()) {
        to_all.entry(&key.1).or_default().push_back(key);
        if !old_names.contains(key.0.as_str()) {
            to_new.entry(&key.1).or_default().push_back(key);
        }
    }
    for ((from, kind), left) in went.iter_mut().filter(|((from, _), _)| !from.is_empty()) {
        let is_there = new_names.contains(from.as_str());
        let to = if is_there { &mut to_new } else { &mut to_all };
        let Some(queue) = to.get_mut(kind) else { continue };
        while *left > 0
            && let Some(key) = queue.front()
        {
            let more = came.get_mut(key).filter(|more| **more > 0);
            let Some(more) = more else {
                queue.pop_front();
                continue;
            };
            let count = (*left).min(*more);
            (*left, *more) = (*left - count, *more - count);
            moves.push((from.as_str(), *key, count));
        }
    }
    went.retain(|_, left| *left > 0);
    came.retain(|_, more| *more > 0);
    moves
}

fn moved((from, key, count): Move<'_>, after: &Found<'_>) -> Option<Moved> {
    let (to, (rule, ..)) = key;
    let group = group(key, count, after)?;
    Some(Moved { rule: rule.clone(), from: from.to_owned(), to: to.clone(), count, group })
}

fn group(key: &Key, count: u64, found: &Found<'_>) -> Option<FindingGroup> {
    let first = found.get(key)?.first()?;
    Some(FindingGroup {
        rule: first.rule.clone(),
        severity: first.severity,
        function: (!key.0.is_empty()).then(|| key.0.clone()),
        message: first.message.clone(),
        svma: first.svma,
        section: first.section.clone(),
        source: first.source.clone(),
        count,
    })
}

fn grouped(counts: &BTreeMap<&Key, u64>, found: &Found<'_>) -> Vec<FindingGroup> {
    let groups = counts.iter().filter_map(|(key, count)| group(key, *count, found));
    let mut groups: Vec<FindingGroup> = groups.collect();
    groups.sort_by(|a, b| {
        let by_severity = b.severity.cmp(&a.severity);
        by_severity.then_with(|| a.rule.cmp(&b.rule)).then_with(|| b.count.cmp(&a.count))
    });
    groups
}

/// The functions of a file by name. Where the files have different numbers of one name (file-local functions, clones),
/// they are compared as one.
pub(super) fn by_name(inspection: &Inspection) -> BTreeMap<&str, Vec<&Named>> {
    let mut found: BTreeMap<&str, Vec<&Named>> = BTreeMap::new();
    for function in &inspection.functions {
        found.entry(&function.name).or_default().push(function);
    }
    found
}

/// What some functions are together; nothing of none.
pub(super) fn as_one(functions: &[&Named]) -> Option<Named> {
    let (first, rest) = functions.split_first()?;
    Some(rest.iter().fold((*first).clone(), |a, b| Named {
        size: a.size + b.size,
        computes: a.computes.max(b.computes),
        moves: a.moves.max(b.moves),
        atomics: a.atomics.plus(b.atomics),
        features: a.features.union(b.features),
        ..a
    }))
}

fn compare_functions(old: &Inspection, new: &Inspection, diff: &mut FileDiff) {
    let (before, after) = (by_name(old), by_name(new));
    diff.functions_went = before.keys().filter(|name| !after.contains_key(*name)).count() as u64;
    diff.functions_came = after.keys().filter(|name| !before.contains_key(*name)).count() as u64;
    for (name, old) in &before {
        let Some(new) = after.get(name) else { continue };
        if old.len() == new.len() {
            diff.functions.extend(old.iter().zip(new).filter_map(|(old, new)| function_diff(old, new)));
        } else if let Some((old, new)) = as_one(old).zip(as_one(new)) {
            diff.functions.extend(function_diff(&old, &new));
        }
    }
}

fn function_diff(old: &Named, new: &Named) -> Option<FunctionDiff> {
    let mut changes = Vec::new();
    let mut change = |what, old: String, new: String| changes.push(Change { what, old, new });
    if old.computes != new.computes {
        change("vector-width", old.computes.name().to_owned(), new.computes.name().to_owned());
    } else if old.moves != new.moves && old.moves.max(new.moves) > VectorWidth::Bits128 {
        change("vector-moves", old.moves.name().to_owned(), new.moves.name().to_owned());
    }
    if old.atomics.kinds() != new.atomics.kinds() {
        change("atomics", old.atomics.kinds(), new.atomics.kinds());
    }
    let list = |features: FeatureSet| {
        let names: Vec<&str> = features.iter().map(Feature::name).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(" ") }
    };
    if old.features != new.features {
        change("features", list(old.features), list(new.features));
    }
    let (small, large) = (old.size.min(new.size), old.size.max(new.size));
    if large >= small.saturating_mul(SIZE_FACTOR) && large - small >= SIZE_BYTES {
        change("size", old.size.to_string(), new.size.to_string());
    }
    (!changes.is_empty()).then(|| FunctionDiff {
        function: old.name.clone(),
        old_svma: old.svma,
        new_svma: new.svma,
        changes,
    })
}

fn compare_calls(old: &Inspection, new: &Inspection, diff: &mut FileDiff) {
    let (before, after) = (names(old), names(new));
    // Whether helpers of atomics are called is reported for the functions that call them.
    for name in before.union(&after).filter(|name| !name.starts_with("__aarch64_")) {
        let count = |inspection: &Inspection| inspection.calls.get(*name).copied().unwrap_or(0);
        let (old_calls, new_calls) = (count(old), count(new));
        let (few, many) = (old_calls.min(new_calls), old_calls.max(new_calls));
        let is_old = before.contains(name);
        let is_new = after.contains(name);
        // A function that only one file has is reported where the other still, or already, had callers of it to inline
        // it in.
        let is_reported = match few {
            0 => many > 0 && is_old && (is_new || old_calls > 0),
            few => many >= few.saturating_mul(CALL_FACTOR) && many - few >= CALLS,
        };
        if is_reported {
            diff.calls.push(CallDiff { function: (*name).to_owned(), old_calls, new_calls, is_old, is_new });
        }
    }
    diff.calls.sort_by_key(|call| std::cmp::Reverse(call.old_calls.abs_diff(call.new_calls)));
}

#[cfg(test)]
mod tests {
    use super::{Inspection, compare, inspect, plain_name, remaining};
    use crate::finding::Severity;
    use crate::request::Request;
    use std::collections::BTreeSet;

    const LSE: &[u8] = include_bytes!("../../fixtures/llsc_loop/miss-lse.o");
    const INLINE: &[u8] = include_bytes!("../../fixtures/llsc_loop/hit-cas.o");

    fn inspected(bytes: &[u8]) -> Inspection {
        inspect(bytes, &Request::default()).unwrap()
    }

    /// Calls a function otherwise.
    fn rename(inspection: &mut Inspection, from: &str, to: &str) {
        inspection.functions.iter_mut().filter(|it| it.name == from).for_each(|it| it.name = to.to_owned());
        let findings = inspection.report.findings.iter_mut();
        for finding in findings.filter(|it| it.function.as_deref() == Some(from)) {
            finding.function = Some(to.into());
        }
    }

    #[test]
    fn names_of_clones_and_parts_are_those_of_their_functions() {
        for (name, plain) in [
            ("sum", "sum"),
            ("sum.part.0", "sum"),
            ("sum.constprop.0.isra.0", "sum"),
            ("sum.cold", "sum"),
            ("sum.llvm.1234567", "sum"),
            ("sum@plt", "sum"),
            ("_ZN2ns3sumEi.constprop.0", "ns::sum(int)"),
            ("_ZN4core3fmt5write17h0123456789abcdefE.llvm.77", "core::fmt::write"),
            ("main.main.func1", "main.main.func1"),
            (".cold", ".cold"),
        ] {
            assert_eq!(plain_name(name), plain);
        }
    }

    #[test]
    fn what_moved_is_where_it_is_now() {
        let old = inspected(INLINE);
        let mut new = old.clone();
        rename(&mut new, "cas_1_acquire", "cas_of_a_byte");
        let diff = compare(Some(&old), &new);
        let [moved] = diff.moved.as_slice() else { panic!("{:?}", diff.moved) };
        assert_eq!(
            (moved.group.function.as_deref(), moved.from.as_str()),
            (Some("cas_of_a_byte"), "cas_1_acquire")
        );
        assert_eq!(moved.group.count, moved.count);
        assert!(compare(Some(&old), &old).moved.is_empty(), "of a build that has no such function");
    }

    /// Two functions become one, whose findings are of two kinds: each is where its like is.
    #[test]
    fn what_moved_from_two_functions_is_of_its_own_kind() {
        let mut old = inspected(INLINE);
        let mut first = old.report.findings.iter().find(|it| it.function.is_some()).unwrap().clone();
        let name = first.function.clone().unwrap();
        let second =
            old.report.findings.iter().find(|it| it.function.is_some() && it.function != first.function);
        let other = second.unwrap().function.clone().unwrap();
        first.severity = Severity::Warning;
        let mut second = first.clone();
        (second.function, second.severity, second.svma) = (Some(other.clone()), Severity::Note, first.svma);
        second.svma.0 += 0x1000;
        second.message = "another".into();
        old.report.findings = vec![first, second];
        let mut new = old.clone();
        rename(&mut new, &name, "both");
        rename(&mut new, &other, "both");
        let diff = compare(Some(&old), &new);
        assert!(diff.came.is_empty() && diff.went.is_empty(), "{diff:?}");
        let places: BTreeSet<_> = diff
            .moved
            .iter()
            .map(|it| (it.from.as_str(), it.group.severity, it.group.svma, it.group.message.as_ref()))
            .collect();
        let expected = |at: usize, from| {
            let it = &old.report.findings[at];
            (from, it.severity, it.svma, it.message.as_ref())
        };
        assert_eq!(places, BTreeSet::from([expected(0, &*name), expected(1, &*other)]));
        // The document says what it always did.
        let json = serde_json::to_value(&diff.moved[0]).unwrap();
        let members: BTreeSet<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, BTreeSet::from(["count", "from", "rule", "to"]));
    }

    #[test]
    fn what_remains_is_as_much_as_is_the_same() {
        let (old, new) = (inspected(LSE), inspected(INLINE));
        for (a, b) in [(&old, &new), (&new, &old), (&new, &new), (&old, &old)] {
            let sum: u64 = remaining(a, b).iter().map(|group| group.count).sum();
            assert_eq!(sum, compare(Some(a), b).same);
        }
        assert!(!remaining(&new, &new).is_empty());
    }

    #[test]
    fn a_build_that_has_lost_its_optimisation_is_worse_and_one_that_has_it_again_is_not() {
        let optimised = inspected(include_bytes!("../../fixtures/unoptimised_code/miss-og.o"));
        let unoptimised = inspected(include_bytes!("../../fixtures/unoptimised_code/hit-gcc.o"));
        let lost = compare(Some(&optimised), &unoptimised);
        assert!(lost.is_worse(None));
        let change = lost.optimisation.unwrap();
        assert_eq!((change.old_functions, change.new_functions, change.worse), (0, 3, true));
        let regained = compare(Some(&unoptimised), &optimised);
        assert!(!regained.is_worse(Some(Severity::Note)) && regained.optimisation.is_some());
        assert!(compare(Some(&unoptimised), &unoptimised).is_empty());
    }
}
