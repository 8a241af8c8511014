//! The driver: bytes → report.

use crate::Svma;
use crate::advice;
use crate::finding::Finding;
use crate::function::atomics::{Atomics, Fate};
use crate::function::reach::{Checks, Knowledge, Verdict};
use crate::function::{Function, Program, discover};
use crate::image::lines::SourceLines;
use crate::image::{self, Error, Image, Linkage};
use crate::insn::sweep::Wants;
use crate::insn::{self, Class, ClassSet, FeatureGroup};
use crate::needs;
use crate::report::{self, Build, Coverage, Hex, IsaFunction, PlacedFinding, Reach, Report};
use crate::rule::{self, Context, FileFacts, Rule, Shared};
use crate::stated;
use deburr_cpu::{Arch, Feature, FeatureSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the analysis of run-time checks wants of the sweep.
const QUERIES: Wants = Wants::classes(ClassSet::of(&[Class::FeatureQuery]));

/// What is asked of a check.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request<'a> {
    /// The separate debug file, if the caller has it.
    pub debug_file: Option<&'a [u8]>,
    /// Features that every machine the file will run on has.
    pub target: Option<FeatureSet>,
    /// Features that the file may use.
    pub baseline: Option<FeatureSet>,
    /// Ids of the rules to run; `None`: all but those in preview.
    pub rules: Option<&'a [&'a str]>,
    /// Checks that the user knows of.
    pub guards: &'a [StatedGuard<'a>],
    /// What the shared libraries tell that the file needs, in the loader's order; see [`learn`].
    pub foreign: &'a [&'a Knowledge],
}

/// A check that the user knows of: the functions it names are only entered where the CPU has the features.
#[derive(Debug, Clone, Copy)]
pub struct StatedGuard<'a> {
    /// The caller's number for it.
    pub id: usize,
    /// The name of the functions, as a symbol or demangled; `*` stands for any characters, `?` for one.
    pub function: &'a str,
    /// What is known to be there when they run.
    pub features: FeatureSet,
}

/// Checks one ELF file.
///
/// # Errors
/// [`Error`], where the bytes are no ELF file that deburr reads, or contradict themselves.
pub fn check(bytes: &[u8], request: &Request<'_>) -> Result<Report, Error> {
    examine(bytes, request, ClassSet::EMPTY, |_, _, report| report)
}

/// Checks one ELF file, and makes something of the report and of what it rests on. `marks`: classes that the sweep is to
/// mark beside those that rules want.
pub(crate) fn examine<T>(
    bytes: &[u8],
    request: &Request<'_>,
    marks: ClassSet,
    make: impl FnOnce(&Image<'_>, &Program, Report) -> T,
) -> Result<T, Error> {
    let mini_debug = image::mini_debug(bytes, auxiliary_limit(bytes));
    let image = Image::parse(bytes, mini_debug.as_ref().ok().and_then(Option::as_deref), request.debug_file)?;
    let is_asked = |rule: &&Rule| request.rules.map_or(!rule.preview, |ids| ids.contains(&rule.id));
    let rules: Vec<&Rule> = rule::RULES.iter().filter(is_asked).collect();
    let wants = rules.iter().fold(Wants::default(), |wants, rule| wants.union(rule.wants));
    let program = discover(&image, wants.union(QUERIES).union(Wants::classes(marks)));
    if !program.coverage.adds_up() {
        return Err(Error::Inconsistent(format!("{:?}", program.coverage)));
    }
    // Where nothing lies above the first level, there is nothing to guard.
    let linkage = program.hits_by_function().next();
    let linkage = linkage.map(|_| Linkage::parse(bytes, &image, request.debug_file));
    let stated = stated::Stated::find(request.guards, &image, &program);
    let checks = linkage
        .as_ref()
        .map(|linkage| Checks::find(&image, linkage, &program, request.foreign, &stated.all()));
    let judge = |permitted: FeatureSet| {
        let permitted = permitted.union(deburr_cpu::system_features(image.arch));
        checks
            .as_ref()
            .map_or_else(Vec::new, |checks| checks.judge(&image, &program, permitted, &stated.all()))
    };
    let verdicts = judge(deburr_cpu::first_level(image.arch));
    let above_baseline = request.baseline.map(judge).unwrap_or_default();
    let context = Context {
        image: &image,
        program: &program,
        target: request.target,
        baseline: request.baseline,
        verdicts: &verdicts,
        above_baseline: &above_baseline,
        linkage: linkage.as_ref(),
        bytes: (bytes, request.debug_file),
        shared: Shared::default(),
    };
    let mut findings: Vec<Finding> = rules.iter().flat_map(|rule| (rule.check)(&context)).collect();
    findings.sort_by_key(|finding| (finding.at, finding.rule));
    let lines = (!findings.is_empty())
        .then(|| SourceLines::new(request.debug_file.unwrap_or(bytes), auxiliary_limit(bytes) as u64))
        .flatten();
    let mut report = describe(&image, &program);
    report.isa_functions = isa_functions(&image, linkage.as_ref(), &program, &verdicts);
    report.stated_guards = stated.uses(checks.as_ref(), &image, &program, &verdicts);
    needs::judge_file(&mut report, &image, linkage.as_ref(), &program, &verdicts);
    report.atomics =
        (image.arch == Arch::Aarch64 && !wants.classes.is_empty()).then(|| count(context.atomics()));
    let mut names = Names::default();
    report.findings = findings
        .into_iter()
        .map(|finding| place(finding, &image, &program, &mut names, lines.as_ref()))
        .collect();
    let compared = rule::ACROSS.iter().any(|across| rules.iter().any(|rule| rule.id == across.rule));
    report.facts = compared.then(|| context.facts(""));
    report.advice = advice::advise(&report, request.target);
    report.faults.extend(mini_debug.as_ref().err().map(|error| error.to_string()));
    Ok(make(&image, &program, report))
}

/// Compares the files of a run, by what their reports' [`Report::facts`] say. `rules` as in [`Request`].
pub fn across(files: &[FileFacts], rules: Option<&[&str]>) -> Vec<report::AcrossFinding> {
    let is_asked = |across: &&rule::Across| match rules {
        Some(ids) => ids.contains(&across.rule),
        None => rule::find(across.rule).is_some_and(|rule| !rule.preview),
    };
    let asked = rule::ACROSS.iter().filter(is_asked);
    let found = asked.flat_map(|across| (across.check)(files));
    found.map(report::AcrossFinding::from).collect()
}

/// Learns what a shared library tells the files that need it: which of its words, and of its functions' results, tell
/// what the CPU has. Of the request, `foreign` and `debug_file` matter.
///
/// # Errors
/// [`Error`], where the bytes are no ELF file that deburr reads.
pub fn learn(bytes: &[u8], request: &Request<'_>) -> Result<Knowledge, Error> {
    let image = Image::parse(bytes, None, request.debug_file)?;
    let program = discover(&image, QUERIES);
    let linkage = Linkage::parse(bytes, &image, request.debug_file);
    Ok(Knowledge::learn(&image, &linkage, &program, request.foreign))
}

/// Bytes at most that decompressed symbols or debug sections may take: memory stays in proportion to the file.
pub(crate) fn auxiliary_limit(bytes: &[u8]) -> usize {
    bytes.len() / 4 + (16 << 20)
}

/// Everything but the findings and the verdicts.
fn describe(image: &Image<'_>, program: &Program) -> Report {
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
        arch: image.arch.name(),
        build_id: image.build_id.clone(),
        level: String::new(),
        level_present: level_present.to_owned(),
        needed_beyond: Vec::new(),
        needed_by: None,
        level_guarded: None,
        guarded_beyond: Vec::new(),
        not_followed: 0,
        xcr0_not_asked: false,
        stated_guards: Vec::new(),
        level_beyond: beyond.iter().map(|feature| feature.name().to_owned()).collect(),
        guards_examined: true,
        features,
        isa_functions: Vec::new(),
        atomics: None,
        build: build(image),
        findings: Vec::new(),
        allowed: 0,
        advice: Vec::new(),
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
        facts: None,
        faults: image.faults.clone(),
    }
}

/// The functions above the architecture's first level, by address.
fn isa_functions(
    image: &Image<'_>,
    linkage: Option<&Linkage<'_>>,
    program: &Program,
    verdicts: &[Verdict],
) -> Vec<IsaFunction> {
    let permitted = deburr_cpu::first_level(image.arch).union(deburr_cpu::system_features(image.arch));
    let mut functions: BTreeMap<u32, BTreeMap<FeatureGroup, u64>> = BTreeMap::new();
    for (function, hits) in program.hits_by_function() {
        let Some(first) = hits.first() else { continue };
        let start = function.map_or(first.at, |function| program.whole(function).start);
        let groups = functions.entry(start).or_default();
        for hit in hits {
            *groups.entry(hit.group).or_default() += 1;
        }
    }
    let placed = functions.into_iter().map(|(start, groups)| {
        let mut features: BTreeMap<String, u64> = BTreeMap::new();
        for (group, count) in groups {
            for feature in insn::features_of(image.arch, group).minus(permitted).iter() {
                *features.entry(feature.name().to_owned()).or_default() += count;
            }
        }
        let (section, svma) = place_of(image, image.svma(start));
        let name_at = |svma: Svma| needs::name_at(image, program, svma);
        let verdict = verdicts.binary_search_by_key(&start, |verdict| verdict.start).ok();
        let verdict = verdict.and_then(|at| verdicts.get(at));
        let path = verdict.map_or(&[][..], |verdict| &verdict.path).iter();
        let guard = verdict.and_then(|verdict| verdict.guard).map(|guard| report::Guard {
            kind: guard.kind,
            svma: place_of(image, guard.svma).1,
            function: name_at(guard.svma),
            features: guard.features.iter().map(|feature| feature.name().to_owned()).collect(),
        });
        IsaFunction {
            path: path
                .map(|step| report::Step { function: name_at(step.svma), svma: place_of(image, step.svma).1 })
                .collect(),
            root: verdict.and_then(|verdict| needs::root_of(image, linkage, verdict)),
            guard,
            function: name_at(image.svma(start)),
            svma,
            section: section.map(|name| name.to_string()),
            features,
            reach: verdict.map_or(Reach::Unknown, |verdict| verdict.reach),
        }
    });
    placed.filter(|function| !function.features.is_empty()).collect()
}

/// A finding with its function's name, its address as other tools show it, and its source line.
fn place(
    finding: Finding,
    image: &Image<'_>,
    program: &Program,
    names: &mut Names,
    lines: Option<&SourceLines>,
) -> PlacedFinding {
    let (section, svma) = place_of(image, finding.at);
    PlacedFinding {
        rule: finding.rule,
        severity: finding.severity,
        function: names.at(image, program, finding.at),
        svma,
        section,
        extent: finding.extent.len(),
        source: lines.and_then(|lines| lines.find(finding.at)).map(Box::new),
        message: finding.message,
        evidence: finding.evidence,
    }
}

/// Section (relocatable objects only) and address.
pub(crate) fn place_of(image: &Image<'_>, svma: crate::Svma) -> (Option<Arc<str>>, Hex) {
    let (section, address) = image.place(svma);
    let section = section.filter(|_| image.kind == image::Kind::Relocatable);
    (section.map(Arc::from), Hex(address))
}

/// Demangled names. Neighbouring findings lie in the same function, so the last name is kept.
#[derive(Default)]
pub(crate) struct Names {
    last: Option<(Function, Option<Arc<str>>)>,
}

impl Names {
    /// The name of the function at an address.
    pub(crate) fn at(&mut self, image: &Image<'_>, program: &Program, at: Svma) -> Option<Arc<str>> {
        let function = program.function_at(image.code_offset(at)?)?;
        self.of(image, program, function)
    }

    fn of(&mut self, image: &Image<'_>, program: &Program, function: &Function) -> Option<Arc<str>> {
        match &self.last {
            Some((last, name)) if last == function => name.clone(),
            _ => {
                let name: Option<Arc<str>> =
                    program.name(function, image).map(|name| image::demangle(name).into());
                self.last = Some((*function, name.clone()));
                name
            }
        }
    }
}

/// The atomics in numbers.
fn count(atomics: &Atomics) -> report::Atomics {
    let with = |fate| atomics.sequences.iter().filter(|sequence| sequence.fate == fate).count() as u64;
    report::Atomics {
        inline_llsc: with(Fate::MissedFlag) + with(Fate::WrittenByHand),
        inline_lse: atomics.inline_lse,
        helper_bodies: atomics.helpers.len() as u64,
        outlined_calls: atomics.calls.len() as u64,
        inline_dispatch: with(Fate::InlineDispatch),
        run_time_choice: with(Fate::RunTimeChoice),
        not_a_missed_flag: with(Fate::NoFlagHelps),
    }
}

fn build(image: &Image<'_>) -> Build {
    let facts = image.build.clone();
    Build {
        compilers: facts.compilers,
        producers: facts.producers,
        go_version: facts.go_version,
        go_settings: facts.go_settings.into_iter().collect(),
        isa_needed: facts.isa_needed,
        properties: facts.properties,
    }
}
