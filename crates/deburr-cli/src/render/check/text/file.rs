//! Text for people: one report → a few lines, the findings grouped by rule, worst first.
//!
//! In: a report without the findings that are allowed. Out: its verdict, functions, findings and remedies,
//! within the columns of the terminal.

use super::detail::Detail;
use super::functions;
use super::profile::{self, own_share, share_of, threshold};
use crate::render::check::answer;
use crate::render::check::location::function_of;
use crate::text::line::{fit, fit_end, wrapped};
use crate::text::number::{counted, grouped, nanoseconds};
use deburr_core::Report;
use deburr_core::finding::Severity;
use deburr_core::profile::Share;
use deburr_core::report::{Advice, Answer, Atomics, Origin, PlacedFinding, Root, ThreadCost};
use deburr_cpu::{Feature, FeatureSet};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Renders one file.
pub(super) fn write(out: &mut dyn Write, report: &Report, detail: &Detail) -> io::Result<()> {
    let is_quiet = report.counted().next().is_none()
        && report.faults.is_empty()
        && report.over_budget.is_none()
        && report.unread_payload.is_empty();
    if is_quiet && !detail.clean_files {
        return Ok(());
    }
    let palette = detail.palette;
    let path = palette.bold(&report.path);
    match report.coverage.executable_bytes {
        0 => writeln!(out, "{path}: {}, no executable code", report.arch)?,
        _ => {
            let head = report.path.chars().count() + report.arch.chars().count() + 4;
            // The path stays whole; what is said of the file has some room even after a long one.
            let room = detail.width.map(|width| width.saturating_sub(head).max(LEAST_ROOM));
            let mut lines = wrapped(&verdict(report), room).into_iter();
            writeln!(out, "{path}: {}, {}", report.arch, lines.next().unwrap_or_default())?;
            lines.try_for_each(|line| writeln!(out, "    {line}"))?;
        }
    }
    if let Some(claim) = &report.claim {
        writeln!(out, "  claims {}: {}", claim.level, claim.text)?;
    }
    if let Some(atomics) = report.atomics.as_ref().filter(|atomics| **atomics != Atomics::default()) {
        writeln!(out, "  atomics: {}", atomics_line(atomics))?;
    }
    profile::write(out, report, detail)?;
    functions::write(out, report, detail)?;
    if detail.verbose {
        facts(out, report, detail)?;
    }
    if let Some(over_budget) = &report.over_budget {
        writeln!(out, "  {} {}", palette.dim("budget:"), over_budget.sentence())?;
    }
    for fault in &report.faults {
        writeln!(out, "  {} {fault}", palette.dim("fault:"))?;
    }
    let least = report.profile.is_some().then(|| threshold(report, detail));
    for group in groups(report, detail.verbose) {
        let cost = group.first().map_or_else(String::new, |first| cost(report, &first.rule));
        match least {
            Some(least) => weighed_group(out, report, &group, (&cost, least), detail)?,
            None => rule_group(out, report, &group, &cost, detail)?,
        }
    }
    advice(out, report, detail)?;
    if let Some(not_counted) = not_counted_in_words(report) {
        let how = if detail.verbose { "" } else { " (--verbose shows them)" };
        let line = fit(&format!("{not_counted}{how}"), detail.width.map(|width| width.saturating_sub(2)));
        writeln!(out, "  {}", palette.dim(&line))?;
    }
    if report.allowed > 0 {
        writeln!(out, "  {}", palette.dim(&format!("{} allowed", counted(report.allowed, "finding"))))?;
    }
    if report.counted().next().is_some() || detail.verbose {
        writeln!(out)?;
    }
    Ok(())
}

/// Columns for what is said of a file, however long its path is.
const LEAST_ROOM: usize = 60;

/// CPUs named for each flag that breaks some.
const BROKEN_SHOWN: usize = 4;

/// The flags that remove findings, and what they break.
fn advice(out: &mut dyn Write, report: &Report, detail: &Detail) -> io::Result<()> {
    for advice in &report.advice {
        let findings = counted(advice.findings, "finding");
        let mut line = match (advice.compiler.as_str(), &*advice.flags) {
            ("assembler", _) => format!("To remove {findings} in assembly: another source"),
            (compiler, "") => format!("To remove {findings} with {compiler}"),
            (compiler, flags) => match &advice.without {
                Some(without) => {
                    format!("To remove {findings} with {compiler}: build without {without} ({flags})")
                }
                None => format!("To remove {findings} with {compiler}: {flags}"),
            },
        };
        if let Some(share) = share_removed(report, advice) {
            line = line.replacen(&findings, &format!("{findings}, {share} of the run,"), 1);
        }
        if let Some(oldest) = &advice.oldest {
            let shown = advice.breaks.get(..BROKEN_SHOWN).unwrap_or(&advice.breaks).join(", ");
            let more = if advice.breaks.len() > BROKEN_SHOWN { ", …" } else { "" };
            line.push_str(&format!(" (runs from {oldest} on, no longer on {shown}{more})"));
        }
        writeln!(out, "  {}", fit(&line, detail.width.map(|width| width.saturating_sub(2))))?;
    }
    Ok(())
}

/// What the findings that some flags remove took of a run; `None` without a profile, or where the flags remove only some of
/// those of a rule.
fn share_removed(report: &Report, advice: &Advice) -> Option<Share> {
    let removed = || report.counted().filter(|finding| advice.removes.contains_key(&*finding.rule));
    let share = share_of(removed())?;
    (removed().count() as u64 == advice.findings && share > Share::default()).then_some(share)
}

/// What a finding of a rule costs, where that was requested.
fn cost(report: &Report, rule: &str) -> String {
    let Some(cost) = report.costs.as_ref().and_then(|costs| costs.get(rule)) else { return String::new() };
    let Some(cost) = cost else { return ", not measured".to_owned() };
    let with = |cost: &ThreadCost| {
        let time = nanoseconds(cost.picoseconds as f64 / 1e3);
        if cost.threads == 1 {
            format!("{time} alone")
        } else {
            format!("{time} with {} threads", cost.threads)
        }
    };
    let costs: Vec<String> = cost.by_threads.iter().map(with).collect();
    format!(", each {} more than {}", costs.join(", "), cost.instead.as_deref().unwrap_or("nothing"))
}

/// The findings of each rule, worst first: the most severe, of these those in loops, then those whose functions are called
/// from most places, then by address. Of rules where it is known what their findings cost, that decides.
///
/// Those that do not count come last, in groups of their own, where `all` are wanted.
fn groups(report: &Report, all: bool) -> Vec<Vec<&PlacedFinding>> {
    let mut by_rule: BTreeMap<(Option<Origin>, &str), Vec<&PlacedFinding>> = BTreeMap::new();
    for finding in report.findings.iter().filter(|finding| all || finding.counted) {
        let origin = finding.origin.filter(|_| !finding.counted);
        by_rule.entry((origin, &finding.rule)).or_default().push(finding);
    }
    let mut groups: Vec<_> = by_rule.into_values().collect();
    for group in &mut groups {
        group.sort_by_key(|finding| {
            std::cmp::Reverse((
                own_share(finding),
                finding.severity,
                finding.in_loop,
                finding.calls,
                std::cmp::Reverse(finding.svma),
            ))
        });
    }
    let cost = |rule: &str| report.costs.as_ref().and_then(|costs| costs.get(rule)?.as_ref()?.most());
    groups.sort_by_key(|group| {
        let first = group.first();
        let cost = first.and_then(|first| cost(&first.rule));
        let share = share_of(group.iter().copied());
        let counts = first.is_some_and(|first| first.counted);
        std::cmp::Reverse((counts, share, cost, first.map(|first| first.severity), group.len()))
    });
    groups
}

/// Places that are shown of a rule's findings, unless the user says how many.
pub(super) const WORST: usize = 3;

/// Of findings that do not count, whose code they are in: ` in Go's runtime, not counted`.
fn whose(finding: &PlacedFinding) -> String {
    let origin = finding.origin.filter(|_| !finding.counted);
    origin.map_or_else(String::new, |origin| format!(" in {}, not counted", origin.described()))
}

/// The findings that do not count, in words: `12 findings in Go's runtime are not counted`.
pub(in crate::render::check) fn not_counted_in_words(report: &Report) -> Option<String> {
    let counts = report.not_counted();
    let all = counts.values().sum::<u64>();
    let parts: Vec<String> = counts
        .iter()
        .map(|(origin, count)| format!("{} in {}", counted(*count, "finding"), origin.described()))
        .collect();
    let verb = if all == 1 { "is" } else { "are" };
    (all > 0).then(|| format!("{} {verb} not counted", parts.join(", ")))
}

/// What removes the findings of a rule: `; gcc 12: -march=armv8.1-a removes 30`.
fn removal(report: &Report, rule: &str) -> String {
    let removes = |advice: &&Advice| advice.compiler != "assembler" && advice.removes.contains_key(rule);
    let Some(advice) = report.advice.iter().find(removes) else { return String::new() };
    let count = grouped(advice.removes.get(rule).copied().unwrap_or(0));
    match (&*advice.flags, &advice.without) {
        ("", _) => format!("; {} removes {count}", advice.compiler),
        (_, Some(without)) => format!("; {} without {without} removes {count}", advice.compiler),
        (flags, None) => format!("; {flags} ({}) removes {count}", advice.compiler),
    }
}

/// The findings of one rule where there is a profile: those that took much of the run, the heaviest first, and the rest in a
/// line.
fn weighed_group(
    out: &mut dyn Write,
    report: &Report,
    group: &[&PlacedFinding],
    (cost, least): (&str, Share),
    detail: &Detail,
) -> io::Result<()> {
    let Some(first) = group.first() else { return Ok(()) };
    let palette = detail.palette;
    let severity = group.iter().map(|finding| finding.severity).max().unwrap_or(first.severity);
    // The heaviest come first.
    let (hot, cold) = group.split_at(group.partition_point(|finding| own_share(finding) >= least));
    let share = share_of(group.iter().copied()).unwrap_or_default();
    let findings = format!("{}{}", counted(group.len() as u64, "finding"), whose(first));
    let removal = if first.counted { removal(report, &first.rule) } else { String::new() };
    let text = match (hot.len(), cold.len()) {
        (0, _) => format!(" {share} of the run in {findings}, none of them hot"),
        (_, 0) => format!(" {share} of the run in {findings}{cost}{removal}"),
        (hot, _) => {
            format!(" {share} of the run in {findings}, {} of them hot{cost}{removal}", grouped(hot as u64))
        }
    };
    heading(out, severity, &first.rule, &text, detail)?;
    // With `--top` the user has said how many.
    let most = detail.limit.or(detail.top.map(|_| 0)).unwrap_or(if detail.verbose { 0 } else { WORST });
    let shown = if most == 0 { hot.len() } else { most.min(hot.len()) };
    for finding in hot.iter().take(shown) {
        place(out, finding, 1, Some(own_share(finding)), 0, detail)?;
        profile::callers(out, finding, detail)?;
    }
    let rest = group.get(shown..).unwrap_or_default();
    if !rest.is_empty() && !hot.is_empty() {
        let share = share_of(rest.iter().copied()).unwrap_or_default();
        let more = format!("… and {} more, {share} in all", grouped(rest.len() as u64));
        writeln!(out, "    {}", palette.dim(&more))?;
    }
    Ok(())
}

/// The line above the findings of a rule.
fn heading(
    out: &mut dyn Write,
    severity: Severity,
    rule: &str,
    text: &str,
    detail: &Detail,
) -> io::Result<()> {
    let head = format!("{}[{rule}]", severity.name());
    let room = detail.width.map(|width| width.saturating_sub(2 + head.len()));
    writeln!(out, "  {}{}", detail.palette.severity(severity, &head), fit(text, room))
}

fn rule_group(
    out: &mut dyn Write,
    report: &Report,
    group: &[&PlacedFinding],
    cost: &str,
    detail: &Detail,
) -> io::Result<()> {
    let Some(first) = group.first() else { return Ok(()) };
    let palette = detail.palette;
    let functions: BTreeSet<_> = group.iter().filter_map(|finding| finding.function.as_deref()).collect();
    let within = match functions.len() {
        0 | 1 => String::new(),
        n if group.iter().all(|finding| finding.function.is_some()) => {
            format!(" in {} functions", grouped(n as u64))
        }
        _ => String::new(),
    };
    let all = folded(group);
    let limit = detail.limit.unwrap_or(if detail.verbose { 0 } else { WORST });
    let count = if limit == 0 { all.len() } else { limit.min(all.len()) };
    let shown = all.get(..count).unwrap_or(&all);
    // Where not all are shown, this line is all that is said of most.
    let is_cut = count < all.len();
    let looped = match group.iter().filter(|finding| finding.in_loop).count() {
        n if n > 0 && is_cut => format!(", {} in loops", grouped(n as u64)),
        _ => String::new(),
    };
    let removal = if is_cut && first.counted { removal(report, &first.rule) } else { String::new() };
    let findings = counted(group.len() as u64, "finding");
    let whose = whose(first);
    let text = format!(" {findings}{within}{whose}{looped}{cost}{removal}");
    heading(out, first.severity, &first.rule, &text, detail)?;
    let width = shown.iter().map(|(finding, _)| finding.svma.to_string().len()).max().unwrap_or(0);
    for (finding, count) in shown {
        place(out, finding, *count, None, width, detail)?;
    }
    let covered: usize = shown.iter().map(|(_, count)| count).sum();
    if covered < group.len() {
        let more = format!("… and {} more (--verbose shows all)", grouped((group.len() - covered) as u64));
        writeln!(out, "    {}", palette.dim(&more))?;
    }
    Ok(())
}

/// One place: where it is, what it took, and what is found there. `width`: of the addresses; `count`: how often the same is
/// found in the function.
fn place(
    out: &mut dyn Write,
    finding: &PlacedFinding,
    count: usize,
    share: Option<Share>,
    width: usize,
    detail: &Detail,
) -> io::Result<()> {
    let palette = detail.palette;
    let section = finding.section.as_deref().map(|name| format!("{name}+")).unwrap_or_default();
    let mut place = format!("{section}{:<width$}", finding.svma);
    if let Some(share) = share {
        place = format!("{:>8}  {place}", share.to_string());
    }
    let indent = 4 + place.chars().count() + 2;
    let room = detail.width.map(|width| width.saturating_sub(indent));
    let function = fit(&function_of(finding), room);
    let place_in_source = match &finding.source {
        Some(source) => format!(" at {}:{}", source.file, source.line),
        None => String::new(),
    };
    let rest = room.map(|room| room.saturating_sub(function.chars().count()));
    let source = fit_end(&place_in_source, rest);
    let times = if count > 1 { format!(" ×{}", grouped(count as u64)) } else { String::new() };
    writeln!(out, "    {}  {}{}", palette.dim(&place), palette.bold(&function), palette.dim(&source))?;
    let mut lines = wrapped(&finding.message, room.map(|room| room.saturating_sub(times.chars().count())));
    let last = lines.pop().unwrap_or_default();
    for line in lines {
        writeln!(out, "{:indent$}{line}", "")?;
    }
    writeln!(out, "{:indent$}{last}{}", "", palette.bold(&times))?;
    Ok(())
}

/// Findings that follow each other and say the same of one named function, as the first of them and how many.
fn folded<'a>(group: &[&'a PlacedFinding]) -> Vec<(&'a PlacedFinding, usize)> {
    let same = |a: &PlacedFinding, b: &PlacedFinding| {
        a.function.is_some()
            && (a.severity, &a.function, &a.section, &a.message)
                == (b.severity, &b.function, &b.section, &b.message)
    };
    group.chunk_by(|a, b| same(a, b)).filter_map(|run| Some((*run.first()?, run.len()))).collect()
}

fn atomics_line(atomics: &Atomics) -> String {
    let mut parts = Vec::new();
    if atomics.outlined_calls + atomics.helper_bodies > 0 {
        let calls = counted(atomics.outlined_calls, "outlined call");
        parts.push(format!("{calls} of {}", counted(atomics.helper_bodies, "helper")));
    }
    parts.push(match atomics.inline_llsc {
        0 => "no inline loops".to_owned(),
        n => counted(n, "inline LL/SC loop"),
    });
    let others = [
        (atomics.inline_lse, "inline LSE instruction"),
        (atomics.inline_dispatch, "inline dispatch loop"),
        (atomics.run_time_choice, "loop in functions chosen at run time"),
        (atomics.not_a_missed_flag, "loop that no flag would change"),
    ];
    for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
        parts.push(match what.split_once(' ') {
            Some(("loop", rest)) => format!("{} {rest}", counted(count, "loop")),
            _ => counted(count, what),
        });
    }
    parts.join(", ")
}

/// A level with the features beyond it: `x86-64-v2 + AES`.
fn with_beyond(level: &str, beyond: &[String]) -> String {
    let mut text = level.to_owned();
    for feature in beyond {
        text.push_str(" + ");
        text.push_str(feature);
    }
    text
}

/// The answer for the baseline, what the file needs, why, and what it can use.
pub(in crate::render::check) fn verdict(report: &Report) -> String {
    if report.made_at_run_time {
        let uses = with_beyond(&report.level_present, &report.level_beyond);
        return format!("made at run time, uses up to {uses}");
    }
    let level = with_beyond(&report.level, &report.needed_beyond);
    let mut text = match answer::clause(report) {
        Some(answer) => answered(report, answer, &level),
        None => unanswered(report, &level),
    };
    if let Some(guarded) = &report.level_guarded {
        let guarded = with_beyond(guarded, &report.guarded_beyond);
        if guarded != level {
            text.push_str(&format!("; uses up to {guarded} after checks"));
        }
    }
    let undecided = report.on_baseline.as_ref().map_or(0, |on| on.undecided_functions);
    // The answer has the same number, or the baseline has what most of them need.
    if report.not_followed > 0 && report.not_followed != undecided {
        text.push_str(&format!("; {} above it not followed", counted(report.not_followed, "function")));
    }
    if report.xcr0_not_asked {
        text.push_str("; tests cpuid for AVX, but not the system (no xgetbv)");
    }
    text
}

/// A file with an answer: that, and what it needs.
fn answered(report: &Report, mut text: String, level: &str) -> String {
    let dies = report.answer == Some(Answer::Dies);
    let baseline = report.on_baseline.as_ref().map_or("", |on| on.name.as_str());
    if let Some(needs) = needs(report, level) {
        text.push_str(if dies { ": " } else { "; " });
        text.push_str(&needs);
    } else if level != baseline && !dies && report.answer != Some(Answer::Undecided) {
        text.push_str(&format!("; needs {level}"));
    }
    match dying_at_level(report) {
        Some(dying) if !dies => format!("{text}; dies on {dying}"),
        _ => text,
    }
}

/// A file without one: what it needs, and the machines of that level that it does not run on.
fn unanswered(report: &Report, level: &str) -> String {
    match (needs(report, level), dying_at_level(report)) {
        (None, None) => format!("runs on {level}"),
        (None, Some(dying)) => format!("dies on {dying}"),
        (Some(needs), None) => needs,
        (Some(needs), Some(dying)) => format!("{needs}, and dies on {dying}"),
    }
}

/// What the file needs, and the code that does; `None` where that is no more than the first level.
fn needs(report: &Report, level: &str) -> Option<String> {
    match (needs_in(report, level), &report.refuses) {
        (Some(needs), Some(refusal)) => Some(format!("{needs}; {refusal}")),
        (None, Some(refusal)) => Some(format!("needs {level}{}: {refusal}", below_level(report))),
        (needs, None) => needs,
    }
}

/// What the code needs that is reached without a check.
fn needs_in(report: &Report, level: &str) -> Option<String> {
    let needed = report.needed_by.as_ref()?;
    let array = match needed.root {
        Some(Root::PreinitArray) => Some("a .preinit_array"),
        Some(Root::InitArray) => Some("an .init_array"),
        Some(Root::FiniArray) => Some("a .fini_array"),
        _ => None,
    };
    let detail = below_level(report);
    Some(match (array, &needed.function) {
        (Some(array), _) => format!("needs {level}{detail} from {array} entry at {}", needed.from),
        (None, Some(name)) => format!("needs {level}{detail} in {name} ({})", needed.svma),
        (None, None) => format!("needs {level}{detail} in {}", needed.svma),
    })
}

/// Where CPUs without the level run the file: the features that it needs, and such CPUs. ` (AVX; runs on sandybridge and 4 more
/// CPUs)`.
fn below_level(report: &Report) -> String {
    let Some(level) = deburr_cpu::level_named(&report.level).filter(|_| !report.needed_features.is_empty())
    else {
        return String::new();
    };
    let is_dying = |name: &String| report.runs_on.not.contains(name);
    let cpus = deburr_cpu::cpus_by_features(level.arch).into_iter();
    let below = cpus.filter(|(name, features)| !level.features.is_subset(*features) && !is_dying(name));
    let mut below: Vec<String> = below.map(|(name, _)| name).collect();
    // Of those with the fewest features, the cores of servers first (Arm's Neoverse): most packages run there.
    below.sort_by_key(|name| !name.starts_with("neoverse"));
    let runs = match below.as_slice() {
        [] => return String::new(),
        [only] => only.clone(),
        [first, rest @ ..] => format!("{first} and {}", counted(rest.len() as u64, "more CPU")),
    };
    format!(" ({}; runs on {runs})", report.needed_features.join(", "))
}

/// The known CPUs that have what the file needs by its level and die: they pass a check for less than what comes after it.
fn dying_at_level(report: &Report) -> Option<String> {
    let level = deburr_cpu::level_named(&report.level).filter(|_| !report.runs_on.not.is_empty())?;
    let beyond = Feature::all().filter(|feature| {
        feature.arch() == level.arch && report.needed_beyond.iter().any(|name| name == feature.name())
    });
    let needed = beyond.fold(level.features, FeatureSet::with).with_implied();
    let having = deburr_cpu::cpus_having(level.arch, needed);
    let not = report.runs_on.not.iter().map(String::as_str);
    let dying: Vec<&str> = not.filter(|cpu| having.iter().any(|having| having == cpu)).collect();
    let of = with_beyond(&report.level, &report.needed_beyond);
    match dying.as_slice() {
        [] => None,
        [only] => Some(format!("{only}, of {of}")),
        [first, rest @ ..] => {
            Some(format!("{first} and {}, of {of}", counted(rest.len() as u64, "more CPU")))
        }
    }
}

/// Features and build facts.
fn facts(out: &mut dyn Write, report: &Report, detail: &Detail) -> io::Result<()> {
    let mut list_line = |name: &str, list: &[String]| {
        // What is listed is wanted whole: one item a line where not all fit into one.
        let line = format!("  {name}: {}", list.join(", "));
        if detail.width.is_none_or(|width| line.chars().count() <= width) {
            return writeln!(out, "{line}");
        }
        writeln!(out, "  {name}:")?;
        list.iter().try_for_each(|item| {
            writeln!(out, "    {}", fit(item, detail.width.map(|width| width.saturating_sub(4))))
        })
    };
    let features: Vec<_> =
        report.features.iter().map(|(name, count)| format!("{name} {}", grouped(*count))).collect();
    let go: Vec<_> = report.build.go_version.iter().cloned().collect();
    let lists = [
        ("features", &features),
        ("compilers", &report.build.compilers),
        ("producers", &report.build.producers),
        ("go", &go),
        ("properties", &report.build.properties),
    ];
    for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        list_line(name, list)?;
    }
    let closure = report.closure.as_deref().unwrap_or_default();
    for (name, list) in [("closure", closure), ("libraries not found", &report.missing_libraries)] {
        if !list.is_empty() {
            list_line(name, list)?;
        }
    }
    if let Some(id) = &report.build_id {
        writeln!(out, "  build-id: {id}")?;
    }
    Ok(())
}
