//! The driver: bytes → report. This is the line of the crate on one screen.

use crate::advice;
use crate::budget::{Budget, default_budget};
use crate::finding::Finding;
use crate::front::open;
use crate::function::Program;
use crate::function::reach::{Because, Cause, Checks, Knowledge, Reach, Verdict};
use crate::guards::Guards;
use crate::image::{Error, Image, Kind, Linkage, Runtime};
use crate::insn::sweep::{Mark, Wants};
use crate::insn::{Class, ClassSet};
use crate::profile::{Share, Weighed, Weighing};
use crate::reach::verdict::Evaluation;
use crate::report::{
    AcrossFinding, Claim, FunctionNames, OverBudget, Report, baseline, build, groups, level, weigh,
};
use crate::request::Request;
use crate::rule::{self, Across, Context, FileFacts, Needs, Rule, Shared};
use deburr_cpu::{Arch, FeatureSet};
use std::sync::Arc;

/// What the analysis of run-time checks wants of the sweep.
const QUERIES: Wants = Wants::classes(ClassSet::of(&[Class::FeatureQuery]));

/// The share of a run from which a finding counts that is nothing where it is cold: 0.5 %.
const HOT: Share = Share::parts_per_million(5000);

/// Checks one ELF file.
///
/// # Errors
/// [`Error`], where the bytes are no ELF file that deburr reads, or contradict themselves, or the request names no
/// rule.
pub fn check(bytes: &[u8], request: &Request<'_>) -> Result<Report, Error> {
    examine(bytes, request, ClassSet::EMPTY, |_, _, report, _| report)
}

/// Checks one ELF file, and makes something of the report and of what it rests on. `marks`: classes that the sweep is
/// to mark as well as those that rules want.
pub(crate) fn examine<T>(
    bytes: &[u8],
    request: &Request<'_>,
    marks: ClassSet,
    make: impl FnOnce(&Image<'_>, &Program, Report, Option<&Weighing<'_, '_, '_>>) -> T,
) -> Result<T, Error> {
    let unknown = request.rules.into_iter().flatten().find(|id| rule::find(id).is_none());
    if let Some(id) = unknown {
        return Err(Error::UnknownRule((*id).to_owned()));
    }
    let is_requested = |rule: &&Rule| request.rules.map_or(!rule.preview, |ids| ids.contains(&rule.id));
    let rules: Vec<&Rule> = rule::RULES.iter().filter(is_requested).collect();
    let wants = rules.iter().fold(Wants::default(), |wants, rule| wants.union(rule.wants));
    let all_wants = wants.union(QUERIES).union(Wants::classes(marks));
    let (image, mut program) = open(bytes, request.debug_file, all_wants)?;
    program.limit(budget(request, &program));
    let program = program;

    // Where nothing is above the first level, there is nothing to guard; and code made at run time is for one CPU alone.
    // But a program that tests what the CPU has may refuse to start.
    let is_above = !request.made_at_run_time
        && (program.hits_by_function().next().is_some() || may_refuse(&image, &program));
    let mut linkage = is_above.then(|| Linkage::parse(&image));
    let chosen = linkage.as_mut().zip(request.chosen).and_then(|(linkage, chosen)| linkage.hide(chosen));
    let guards = Guards::find(request.guards, &image, &program);
    let checks = linkage.as_ref().map(|linkage| {
        let how = (&guards.all(), !request.strict);
        Checks::find(&image, linkage, &program, request.foreign, how, request.families)
    });
    let evaluation = linkage.as_ref().zip(checks.as_ref());
    let evaluation = evaluation.filter(|_| !program.budget().is_spent());
    let evaluation =
        evaluation.and_then(|(linkage, checks)| Evaluation::of(&image, linkage, &program, checks));
    let judge = |permitted: FeatureSet| {
        let permitted = permitted.union(deburr_cpu::system_features(image.arch));
        let judged = |checks: &Checks| {
            let mut verdicts = checks.judge(&image, &program, permitted, &guards.all());
            if let Some(evaluation) = &evaluation {
                evaluation.revise(permitted, &mut verdicts);
            }
            verdicts
        };
        let mut verdicts = checks.as_ref().map_or_else(Vec::new, judged);
        if let Some(name) = chosen {
            leave_to_resolver(name, &mut verdicts);
        }
        verdicts
    };
    let verdicts = judge(deburr_cpu::first_level(image.arch));
    let above_baseline = request.baseline.map(judge).unwrap_or_default();
    let mut over_budget = OverBudget { steps: program.budget().most(), ..OverBudget::default() };
    let (mut verdicts, mut above_baseline) = (verdicts, above_baseline);
    drop(evaluation);
    over_budget.checks = program.budget().end_of_checks() && checks.is_some();
    let checks = checks.filter(|_| !over_budget.checks);
    if over_budget.checks {
        verdicts.iter_mut().chain(&mut above_baseline).for_each(leave_to_budget);
    }
    let (verdicts, above_baseline) = (verdicts, above_baseline);

    let refusal = checks.as_ref().and_then(|checks| checks.refusal.as_ref());

    let context = Context {
        image: &image,
        program: &program,
        target: request.target,
        target_cpu: request.target_cpu,
        baseline: request.baseline,
        claim: request.claim,
        verdicts: &verdicts,
        above_baseline: &above_baseline,
        refusal,
        strict: request.strict,
        notes_undecided: request.notes_undecided,
        linkage: linkage.as_ref(),
        is_profiled: request.samples.is_some(),
        missing_interpreter: request.missing_interpreter,
        stored_at: request.stored_at,
        is_packed: request.is_packed,
        named: request.named,
        shared: Shared::default(),
    };
    let mut findings = within_budget(&rules, &context, &mut over_budget);
    over_budget.stopped = program.budget().is_stopped();
    program.budget().end_of_rules();
    drop_where_unoptimised(&mut findings, &context);
    findings.sort_by_key(|finding| (finding.at, finding.rule));

    let weighing = request.samples.map(|samples| Weighing::of(samples, &image, &program));
    let mut weights = weighing.as_ref().map(|weighing| weighing.findings(&findings));
    if let Some(weights) = weights.as_mut() {
        let is_kept = |finding: &Finding, weight: Share| {
            weight >= HOT || !rule::counts_when_hot(finding.rule, request.when_hot, &context)
        };
        keep(&mut findings, weights, is_kept);
    }

    let mut report = build::describe(&image, &program);
    report.runtime = (!request.made_at_run_time).then(|| Runtime::of(&image, context.undefined())).flatten();
    report.isa_groups = groups::isa_groups(&image, &program, &verdicts, !request.foreign.is_empty());
    report.presumption =
        checks.as_ref().and_then(|checks| groups::presumption(&image, &program, checks, &verdicts));
    report.stated_guards = guards.uses(checks.as_ref(), &image, &program, &verdicts);
    match request.made_at_run_time {
        true => level::of_run_time(&mut report),
        false => {
            level::judge_file(&mut report, (&image, &program), (linkage.as_ref(), checks.as_ref()), &verdicts)
        }
    }
    // Where nobody wants to know what dies, there is no answer that could be mistaken for a clean one.
    let is_judged = rules.iter().any(|rule| rule.id == rule::of_answer(request.claim.is_some()));
    if let Some(features) = request.baseline.filter(|_| is_judged && !request.made_at_run_time) {
        let refused =
            checks.as_ref().map_or(FeatureSet::EMPTY, |checks| checks.refused(image.arch, features));
        let name = request.claim.map(|claim| claim.level).or(request.baseline_name).unwrap_or_default();
        baseline::answer(&mut report, &image, (name, features), (&above_baseline, refused));
    }
    // What rules share may be a part.
    let is_whole = over_budget.rules.is_empty();
    let has_atomics = image.arch == Arch::Aarch64 && !wants.classes.is_empty() && is_whole;
    report.atomics = has_atomics.then(|| build::count(context.atomics(), &image, &program, &verdicts));
    let is_run = |across: &&Across| rules.iter().any(|rule| rule.id == across.rule);
    let needs = rule::ACROSS.iter().filter(is_run).map(|across| across.needs);
    let is_there = |needs: &Needs| match needs {
        Needs::Claim => request.claim.is_some(),
        Needs::Shapes | Needs::Assertions => !request.made_at_run_time && is_whole,
    };
    let needs: Vec<Needs> = needs.filter(is_there).collect();
    report.over_budget = over_budget.is_any().then_some(over_budget);
    report.facts = (!needs.is_empty()).then(|| context.facts(&needs));
    report.claim = request.claim.map(Claim::from);
    // What is found may take as much memory as what it was found by.
    drop((above_baseline, checks));
    let mut names = FunctionNames::default();
    report.isa_functions = build::isa_functions(&image, linkage.as_ref(), &program, &verdicts, &mut names);
    drop((verdicts, linkage));
    report.findings = build::place(findings, &image, &program, request.include_runtime, &mut names);
    if let (Some(weighing), Some(weights)) = (&weighing, weights) {
        weigh::fill_in(&mut report, weighing, weights, (&image, &program));
    }
    report.advice = advice::advise(&report, request.target);
    Ok(make(&image, &program, report, weighing.as_ref()))
}

/// What the analyses of a file may cost.
fn budget(request: &Request<'_>, program: &Program) -> Budget {
    let most = request.budget.unwrap_or_else(|| default_budget(program.coverage.executable));
    Budget::of(most, request.stop.map(Arc::clone))
}

/// What rules find. A rule in which the budget was spent, and one that needs more of it or what such a rule has worked out for all, has
/// found nothing: of a part, a rule could say what is not so.
fn within_budget(rules: &[&Rule], context: &Context<'_>, over_budget: &mut OverBudget) -> Vec<Finding> {
    let budget = context.program.budget();
    let mut findings = Vec::new();
    for rule in rules {
        budget.was_wanted();
        let before = budget.taken();
        let found = (rule.check)(context);
        if budget.is_spent() && (budget.taken() > before || budget.was_wanted()) {
            over_budget.rules.push(rule.id.into());
        } else {
            findings.extend(found);
        }
    }
    findings
}

/// Leaves open what was judged by a part of what there is to know.
fn leave_to_budget(verdict: &mut Verdict) {
    let because = Some(Because::of_file(Cause::Budget));
    let (reach, guard, contradiction) = (Reach::Unknown, None, None);
    *verdict = Verdict {
        reach,
        because,
        guard,
        contradiction,
        path: Vec::new(),
        gaps: Vec::new(),
        ..verdict.clone()
    };
}

/// Drops what rules say of an optimiser's work in functions that none has seen.
fn drop_where_unoptimised(findings: &mut Vec<Finding>, context: &Context<'_>) {
    let is_about = |finding: &Finding| rule::ABOUT_OPTIMISED_CODE.contains(&finding.rule);
    if findings.iter().any(is_about) && !context.optimisation().stretches.is_empty() {
        let optimisation = context.optimisation();
        findings.retain(|finding| !is_about(finding) || optimisation.stretch_at(finding.at).is_none());
    }
}

/// Whether something in a program, or a library that is loaded, says what the CPU has.
fn may_refuse(image: &Image<'_>, program: &Program) -> bool {
    let asks_system = || image.symbols.iter().any(|symbol| symbol.name.starts_with("getauxval"));
    let is_query = |mark: Mark| mark.class == Class::FeatureQuery;
    image.kind != Kind::Relocatable && (program.marks().any(is_query) || asks_system())
}

/// Drops findings with their weights.
fn keep(findings: &mut Vec<Finding>, weights: &mut Vec<Weighed>, is_kept: impl Fn(&Finding, Share) -> bool) {
    let both = std::mem::take(findings).into_iter().zip(std::mem::take(weights));
    (*findings, *weights) = both.filter(|(finding, weighed)| is_kept(finding, weighed.weight.share)).unzip();
}

/// Leaves open what nothing in an archive's member leads to but a name that resolvers of other members choose.
fn leave_to_resolver(name: &str, verdicts: &mut [Verdict]) {
    for verdict in verdicts.iter_mut().filter(|verdict| verdict.reach == Reach::Unreached) {
        verdict.reach = Reach::Unknown;
        verdict.because = Some(Because::of_resolver(name));
    }
}

/// Compares the files of a run, by what their reports' [`Report::facts`] say. `rules` as in [`Request`].
pub fn across(files: &[FileFacts], rules: Option<&[&str]>) -> Vec<AcrossFinding> {
    let is_requested = |across: &&Across| match rules {
        Some(ids) => ids.contains(&across.rule),
        None => rule::find(across.rule).is_some_and(|rule| !rule.preview),
    };
    let found = rule::ACROSS.iter().filter(is_requested).flat_map(|across| (across.check)(files));
    found.map(AcrossFinding::from).collect()
}

/// Learns what a shared library shows to the files that need it: which of its objects in memory, and of its functions'
/// results, say what the CPU has. Of the request, `foreign` and `debug_file` matter.
///
/// # Errors
/// [`Error`], where the bytes are no ELF file that deburr reads.
pub fn learn(bytes: &[u8], request: &Request<'_>) -> Result<Knowledge, Error> {
    let (image, mut program) = open(bytes, request.debug_file, QUERIES)?;
    program.limit(budget(request, &program));
    let linkage = Linkage::parse(&image);
    let knowledge = Knowledge::learn(&image, &linkage, &program, request.foreign);
    // Half of what it shows might be wrong.
    Ok(if program.budget().is_spent() { Knowledge::default() } else { knowledge })
}
