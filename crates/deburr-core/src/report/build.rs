//! Report stage: image, functions and verdicts → the parts of a [`Report`] that no rule has a say in.

use super::heat::{Heat, heat};
use super::level::root_of;
use super::model::{self, Build, Coverage, IsaFunction, PlacedFinding, Report};
use super::names::{FunctionNames, near, place_of};
use crate::address::CodeOffset;
use crate::address::Svma;
use crate::finding::Finding;
use crate::function::Program;
use crate::function::atomics::{Atomics, Fate};
use crate::function::reach::{self, Reach, Step, Verdict, group_of};
use crate::image::{Image, Linkage, Producers, SourceLines, Symbol, SymbolOrigin};
use crate::insn::{self, FeatureGroup};
use crate::provenance::Origins;
use crate::remedy::{Compiler, Maker, version};
use crate::rule;
use deburr_cpu::{Feature, FeatureSet};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Everything but the findings and the verdicts.
pub(crate) fn describe(image: &Image<'_>, program: &Program) -> Report {
    let mut features: BTreeMap<String, u64> = BTreeMap::new();
    let mut present = FeatureSet::EMPTY;
    for (group, count) in program.group_counts() {
        let set = insn::features_of(image.arch, group);
        // What only an operating system runs says nothing about the programs' level.
        if !set.contains(Feature::SYSTEM) {
            present = present.union(set);
        }
        for feature in set.iter() {
            *features.entry(feature.name().to_owned()).or_default() += count;
        }
    }
    let (level, beyond) = deburr_cpu::smallest_level(image.arch, present);
    let beyond = beyond.minus(deburr_cpu::system_features(image.arch));
    let level_present = level.map_or("", |level| level.name);
    let functions = || program.functions().iter().filter(|function| !function.is_part());
    Report {
        path: String::new(),
        arch: image.arch.name().into(),
        made_at_run_time: false,
        build_id: image.build_id.clone(),
        level: String::new(),
        level_present: level_present.to_owned(),
        runs_on: model::RunsOn::default(),
        needed_beyond: Vec::new(),
        needed_features: Vec::new(),
        needed_by: None,
        refuses: None,
        level_guarded: None,
        guarded_beyond: Vec::new(),
        not_followed: 0,
        answer: None,
        answer_allowed: false,
        on_baseline: None,
        unread_payload: Vec::new(),
        xcr0_not_asked: false,
        stated_guards: Vec::new(),
        level_beyond: beyond.iter().map(|feature| feature.name().to_owned()).collect(),
        guards_examined: true,
        features,
        isa_functions: Vec::new(),
        isa_groups: Vec::new(),
        presumption: None,
        offered: None,
        atomics: None,
        build: build(image),
        runtime: None,
        findings: Vec::new(),
        profile: None,
        allowed: 0,
        advice: Vec::new(),
        costs: None,
        tried: Vec::new(),
        coverage: Coverage {
            executable_bytes: program.coverage.executable,
            decoded_bytes: program.coverage.decoded,
            data_bytes: program.coverage.data,
            undecoded_bytes: program.coverage.undecoded,
            functions: functions().count() as u64,
            named_functions: functions().filter(|function| program.name(function, image).is_some()).count()
                as u64,
        },
        closure: None,
        missing_libraries: Vec::new(),
        claim: None,
        facts: None,
        over_budget: None,
        faults: image.faults.clone(),
    }
}

/// The functions above the architecture's first level, by address.
pub(crate) fn isa_functions(
    image: &Image<'_>,
    linkage: Option<&Linkage<'_>>,
    program: &Program,
    verdicts: &[Verdict],
    names: &mut FunctionNames,
) -> Vec<IsaFunction> {
    let permitted = deburr_cpu::universal_features(image.arch);
    let mut functions: BTreeMap<CodeOffset, BTreeMap<FeatureGroup, u64>> = BTreeMap::new();
    for (function, hits) in program.hits_by_function() {
        let Some(first) = hits.first() else { continue };
        let start = function.map_or(first.at, |function| program.whole(function).start);
        let groups = functions.entry(start).or_default();
        for hit in hits {
            *groups.entry(hit.group).or_default() += 1;
        }
    }
    // What looks like an instruction amid data has no verdict.
    let placed = functions.into_iter().filter_map(|(start, groups)| {
        let mut features: BTreeMap<String, u64> = BTreeMap::new();
        for (group, count) in groups {
            for feature in insn::features_of(image.arch, group).minus(permitted).iter() {
                *features.entry(feature.name().to_owned()).or_default() += count;
            }
        }
        let (section, svma) = place_of(image, image.svma(start));
        let mut name_at = |svma: Svma| names.kept_at(image, program, svma);
        let found = verdicts.binary_search_by_key(&start, |verdict| verdict.start).ok();
        let verdict = found.and_then(|index| verdicts.get(index))?;
        let guard = verdict.guard.map(|guard| model::Guard {
            kind: guard.kind,
            svma: place_of(image, guard.svma).1,
            function: name_at(guard.svma),
            features: guard.features.iter().map(|feature| feature.name().to_owned()).collect(),
        });
        let function = name_at(image.svma(start));
        let mut step = |step: &Step| model::Step {
            function: name_at(step.svma),
            svma: place_of(image, step.svma).1,
            is_stored: step.is_stored,
        };
        Some(IsaFunction {
            path: verdict.path.iter().map(&mut step).collect(),
            endangered: (verdict.reach == Reach::UnderGuarded)
                .then(|| reach::endangered(image.arch, verdict, FeatureSet::EMPTY)),
            root: root_of(image, linkage, verdict),
            guard,
            near: if function.is_some() { None } else { near(image, image.svma(start)) },
            function,
            svma,
            section: section.map(|name| name.to_string()),
            features,
            because: verdict.because.as_ref().map(|because| because.cause),
            group: verdict.because.as_ref().map(|because| group_of(image, program, because)),
            reach: verdict.reach,
            share: None,
            tried: Vec::new(),
        })
    });
    let mut placed: Vec<IsaFunction> = placed.filter(|function| !function.features.is_empty()).collect();
    placed.shrink_to_fit();
    placed
}

/// Findings with their functions' names, their addresses as other tools show them, and their source lines.
///
/// `counts_runtime`: whether those in code that the owner cannot change count like the others.
pub(crate) fn place(
    findings: Vec<Finding>,
    image: &Image<'_>,
    program: &Program,
    counts_runtime: bool,
    names: &mut FunctionNames,
) -> Vec<PlacedFinding> {
    let places: Vec<Svma> = findings.iter().map(|finding| finding.at).collect();
    let heats = heat(image, program, &places);
    let makers: BTreeSet<Maker> = Maker::of_producers(&image.build.producers).collect();
    // One compiler alone made all; assembly may be next to code without debug information.
    let is_mixed = makers.len() > 1 || makers.iter().any(|maker| maker.compiler == Compiler::Assembler);
    let producers = (is_mixed && !places.is_empty()).then(|| Producers::of(image));
    let origins = (!places.is_empty()).then(|| Origins::of(image));
    // After the producers, which decompress the same sections and let go of them.
    let lines = (!places.is_empty()).then(|| SourceLines::of(image)).flatten();
    let placed = findings.into_iter().zip(heats).map(|(finding, heat)| {
        let Heat { in_loop, calls } = heat;
        let at = finding.at;
        let compiler = maker(image, program, at, producers.as_ref());
        let placed = placed(finding, image, program, names, lines.as_ref());
        let source = placed.source.as_ref().map(|source| source.file.as_str());
        // What is found of a whole file is not only of the function that it is shown at.
        let origins = origins.as_ref().filter(|_| !rule::is_of_whole_file(&placed.rule));
        let origin = origins.and_then(|origins| origins.at(image, program, at, source));
        let counted = counts_runtime || origin.is_none() || rule::means_the_file_dies(&placed.rule);
        PlacedFinding { in_loop, calls, compiler, origin, counted, ..placed }
    });
    placed.collect()
}

/// What made the function at an address, where the file has several compilers and tells.
fn maker(image: &Image<'_>, program: &Program, svma: Svma, producers: Option<&Producers>) -> Option<Maker> {
    if let Some(text) = producers.and_then(|producers| producers.at(svma)) {
        return Maker::parse(text);
    }
    let function = image.code_offset(svma).and_then(|at| program.function_at(at))?;
    let is_listed = |symbol: &Symbol<'_>| symbol.origin == SymbolOrigin::Pclntab;
    // Every function of Go is in its table, and no other.
    let is_go = program.symbol(function, image).is_some_and(is_listed);
    is_go.then(|| {
        let stated = image.build.go_version.as_deref().and_then(|text| version(text.strip_prefix("go")?));
        Maker { compiler: Compiler::Go, version: stated }
    })
}

fn placed(
    finding: Finding,
    image: &Image<'_>,
    program: &Program,
    names: &mut FunctionNames,
    lines: Option<&SourceLines>,
) -> PlacedFinding {
    let (section, svma) = place_of(image, finding.at);
    let function = names.at(image, program, finding.at);
    let near = if function.is_some() { None } else { names.near(image, finding.at) };
    PlacedFinding {
        rule: finding.rule.into(),
        severity: finding.severity,
        function,
        near,
        svma,
        section,
        extent: finding.extent.len(),
        in_loop: false,
        calls: 0,
        weight: None,
        callers: Vec::new(),
        compiler: None,
        origin: None,
        counted: true,
        source: lines.and_then(|lines| lines.find(finding.at)).map(Box::new),
        message: match deburr_text::shown(finding.message.as_bytes()) {
            Cow::Borrowed(_) => finding.message,
            Cow::Owned(shown) => shown.into(),
        },
        evidence: finding.evidence,
    }
}

/// The atomics in numbers. A loop next to an LSE instruction counts as a dispatch only where that is not found to run
/// without a check, or where it is not known.
pub(crate) fn count(
    atomics: &Atomics,
    image: &Image<'_>,
    program: &Program,
    verdicts: &[Verdict],
) -> model::Atomics {
    let with = |fate| atomics.sequences.iter().filter(|sequence| sequence.fate == fate).count() as u64;
    let is_open = |verdict: &Verdict| {
        let is_settled = !matches!(verdict.reach, Reach::Required | Reach::Unknown);
        !is_settled && verdict.features.contains(Feature::FEAT_LSE)
    };
    let open: BTreeSet<CodeOffset> =
        verdicts.iter().filter(|verdict| is_open(verdict)).map(|verdict| verdict.start).collect();
    let in_open = |load: Svma| {
        let function = image.code_offset(load).and_then(|at| program.function_at(at));
        function.is_some_and(|function| open.contains(&program.whole(function).start))
    };
    let dispatches = atomics.sequences.iter().filter(|sequence| sequence.fate == Fate::InlineDispatch);
    let inline_dispatch = dispatches.filter(|sequence| !in_open(sequence.load)).count() as u64;
    model::Atomics {
        inline_llsc: with(Fate::MissedFlag) + with(Fate::WrittenByHand),
        inline_lse: atomics.inline_lse,
        helper_bodies: atomics.helpers.len() as u64,
        outlined_calls: atomics.calls.len() as u64,
        inline_dispatch,
        run_time_choice: with(Fate::RunTimeChoice),
        not_a_missed_flag: with(Fate::NoFlagHelps),
    }
}

fn build(image: &Image<'_>) -> Build {
    let facts = image.build.clone();
    Build {
        compilers: facts.compilers,
        producers: facts.producers,
        is_go: facts.is_go,
        go_version: facts.go_version,
        go_settings: facts.go_settings.into_iter().collect(),
        isa_needed: facts.isa_needed,
        properties: facts.properties,
    }
}
