//! What differs between two builds, as text for people or JSON for programs: the worst first.
//!
//! In: the files that were compared, and the sums of the run. Out: lines for a terminal, a page, or the document that
//! `schema-diff.json` describes.

pub(crate) mod html;

use super::check::answer::clause;
use super::style::Palette;
use crate::config::fail_on::Failing;
use crate::config::in_force::InForce;
use crate::text::line::{fit, fit_middle};
use crate::text::number::counted;
use deburr_core::Report;
use deburr_core::diff::{Aspect, Balance, BuildChange, CallDiff, FileDiff, FindingGroup, OptimisationChange};
use deburr_core::finding::Severity;
use deburr_core::report::{Answer, SCHEMA_VERSION};
use html::drawn::DrawnFile;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Two files that were compared, or one that only the new build has.
#[derive(Debug, Serialize)]
pub(crate) struct Compared {
    /// The path in the old build.
    pub(crate) old: Option<String>,
    /// The path in the new build.
    pub(crate) new: String,
    /// The level that the new file needs.
    pub(crate) level: String,
    #[serde(skip)]
    pub(crate) old_level: Option<String>,
    /// Whether the machines that the user names have all that the new file needs.
    #[serde(skip)]
    pub(crate) is_within_stated: bool,
    #[serde(flatten)]
    pub(crate) answers: AnswersOfPair,
    /// What a page shows of it, where one is wanted.
    #[serde(skip)]
    pub(crate) drawn: Option<DrawnFile>,
    #[serde(flatten)]
    pub(crate) diff: FileDiff,
}

/// Whether the baseline, or the claim, runs both files.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct AnswersOfPair {
    /// Of the old file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old_answer: Option<Answer>,
    /// Of the new file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<Answer>,
    /// The new one in words.
    #[serde(skip)]
    pub(crate) clause: Option<String>,
    /// Whether the user accepts that answer.
    #[serde(skip)]
    pub(crate) is_allowed: bool,
}

impl AnswersOfPair {
    /// Of two reports.
    pub(crate) fn of(old: Option<&Report>, new: &Report) -> AnswersOfPair {
        AnswersOfPair {
            old_answer: old.and_then(|report| report.answer),
            answer: new.answer,
            clause: clause(new),
            is_allowed: new.answer_allowed,
        }
    }

    /// Whether the new file is worse or better: one of the two dies and the other does not, or is undecided where that fails a run
    /// and the other is better. Greater where the new one is worse.
    fn tendency(&self, failing: Failing) -> Ordering {
        let is_counted = |answer: Option<Answer>| match answer {
            Some(Answer::Dies) => failing.threshold.is_some(),
            Some(Answer::Undecided) => failing.undecided,
            _ => false,
        };
        let rank = |answer: Option<Answer>| answer.filter(|_| is_counted(answer));
        match rank(self.answer).cmp(&rank(self.old_answer)) {
            Ordering::Greater if self.is_allowed => Ordering::Equal,
            tendency => tendency,
        }
    }
}

impl Compared {
    /// Whether the answer is another one, or the first.
    fn has_new_answer(&self) -> bool {
        self.answers.old_answer != self.answers.answer
    }

    /// Whether nothing differs.
    fn is_same(&self) -> bool {
        self.diff.is_empty() && !self.has_new_answer()
    }

    /// How much worse the new file is.
    pub(crate) fn balance(&self, failing: Failing) -> Balance {
        Balance::of(&self.diff, failing.threshold).with_answer(self.answers.tendency(failing))
    }
}

/// A file that was not compared.
#[derive(Debug, Serialize)]
pub(crate) struct NotCompared {
    pub(crate) path: String,
    pub(crate) reason: String,
    /// Whether work was requested and not done.
    #[serde(skip)]
    pub(crate) is_fault: bool,
}

/// All but the files.
#[derive(Debug, Default)]
pub(crate) struct DiffSummary {
    /// The two builds, as the user names them.
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) failing: Failing,
    pub(crate) balance: Balance,
    pub(crate) only_old: Vec<String>,
    pub(crate) skipped: Vec<NotCompared>,
    /// The configuration, where there is one.
    pub(crate) configuration: Option<InForce>,
}

/// How to lay it out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DiffLayout {
    pub(crate) palette: Palette,
    /// Columns that a line may take; `None`: as many as it needs.
    pub(crate) width: Option<usize>,
    /// Lines for each kind of change; 0: all.
    pub(crate) limit: usize,
}

/// Renders the JSON document.
pub(crate) fn json(
    out: &mut dyn Write,
    compared: &[Compared],
    summary: &DiffSummary,
    pretty: bool,
) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema_version: u32,
        tool_version: &'static str,
        worse: bool,
        better: bool,
        files: &'a [Compared],
        only_old: &'a [String],
        skipped: &'a [NotCompared],
        #[serde(skip_serializing_if = "Option::is_none")]
        configuration: Option<&'a InForce>,
    }
    let document = Document {
        schema_version: SCHEMA_VERSION,
        tool_version: env!("CARGO_PKG_VERSION"),
        worse: summary.balance.is_worse(),
        better: summary.balance.is_better(),
        files: compared,
        only_old: &summary.only_old,
        skipped: &summary.skipped,
        configuration: summary.configuration.as_ref(),
    };
    let written = match pretty {
        true => serde_json::to_writer_pretty(&mut *out, &document),
        false => serde_json::to_writer(&mut *out, &document),
    };
    written.map_err(io::Error::from)?;
    writeln!(out)
}

/// Renders the text.
pub(crate) fn text(
    out: &mut dyn Write,
    compared: &[Compared],
    summary: &DiffSummary,
    layout: &DiffLayout,
) -> io::Result<()> {
    let palette = layout.palette;
    let out: &mut dyn Write = &mut palette.plain(out);
    for it in compared.iter().filter(|it| it.old.is_none() || !it.is_same()) {
        file(out, it, summary, layout)?;
        writeln!(out)?;
    }
    for path in &summary.only_old {
        writeln!(out, "{}: only in the old build", palette.bold(path))?;
    }
    let pairs = compared.iter().filter(|it| it.old.is_some());
    let changed = pairs.clone().filter(|it| !it.is_same()).count();
    let count = |find: fn(&FileDiff) -> u64| compared.iter().map(|it| find(&it.diff)).sum::<u64>();
    let sum = |groups: &[FindingGroup]| groups.iter().map(|group| group.count).sum::<u64>();
    let came: u64 = compared.iter().map(|it| sum(&it.diff.came)).sum();
    let went: u64 = compared.iter().map(|it| sum(&it.diff.went)).sum();
    let moved = count(|diff| diff.moved.iter().map(|moved| moved.count).sum());
    let same = count(|diff| diff.same);
    writeln!(
        out,
        "{} compared: {} with changes; findings: {came} came, {went} went, {moved} moved, {same} the same",
        counted(pairs.count() as u64, "file"),
        changed
    )?;
    let only_new = compared.iter().filter(|it| it.old.is_none()).count();
    if only_new + summary.only_old.len() > 0 {
        writeln!(out, "{only_new} only in the new build, {} only in the old one", summary.only_old.len())?;
    }
    let count = |answer| compared.iter().filter(|it| it.answers.answer == Some(answer)).count() as u64;
    if compared.iter().any(|it| it.answers.answer.is_some()) {
        let counts = Answer::ALL.map(|answer| (count(answer), spoken(answer)));
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let said: Vec<String> = counts.map(|(count, said)| format!("{count} × {said}")).collect();
        writeln!(out, "answers in the new build: {}", said.join(", "))?;
    }
    if !summary.skipped.is_empty() {
        writeln!(out, "{} not compared", counted(summary.skipped.len() as u64, "file"))?;
    }
    if let Some(configuration) = &summary.configuration {
        writeln!(out, "configuration: {}", configuration.line())?;
    }
    let verdict = match summary.balance.tendency() {
        Ordering::Greater => "The new build is worse.",
        _ if compared.iter().all(|it| it.old.is_none()) => "Nothing was compared.",
        Ordering::Less => "The new build is better.",
        Ordering::Equal => "Nothing is worse.",
    };
    if let Some(respect) = summary.balance.deciding() {
        writeln!(out, "some things are worse and some are better; what weighs most: {respect}")?;
    }
    writeln!(out, "{}", palette.bold(verdict))
}

fn file(out: &mut dyn Write, it: &Compared, summary: &DiffSummary, layout: &DiffLayout) -> io::Result<()> {
    let palette = layout.palette;
    let diff = &it.diff;
    let new = palette.bold(&it.new);
    match &it.old {
        None => writeln!(out, "{new}: {}, only in the new build, needs {}", diff.arch, it.level)?,
        Some(old) => writeln!(out, "{old} → {new}: {}", diff.arch)?,
    }
    if let Some(clause) = it.answers.clause.as_ref().filter(|_| it.has_new_answer()) {
        let before = it.answers.old_answer.map(|answer| format!("{} → ", spoken(answer)));
        let plain = format!("answer: {}{clause}", before.unwrap_or_default());
        let is_worse = it.answers.tendency(summary.failing).is_gt();
        let line = if is_worse { palette.severity(Severity::Error, &plain) } else { plain };
        writeln!(out, "  {line}")?;
    }
    for level in &diff.levels {
        let name = match level.what {
            "needed" => "level needed",
            "guarded" => "with checks",
            _ => "contained",
        };
        let change = format!("{} → {}", or_none(&level.old), or_none(&level.new));
        let plain = format!("{name}: {change}{}", if level.raised { " (raised)" } else { "" });
        let is_worse = level.raised && level.what == "needed" && !level.is_within_stated;
        let line = if is_worse { palette.severity(Severity::Error, &plain) } else { plain };
        writeln!(out, "  {line}")?;
    }
    if let Some(change) = &diff.optimisation {
        let plain = optimisation_line(change);
        let line = if change.worse { palette.severity(Severity::Error, &plain) } else { plain };
        writeln!(out, "  {line}")?;
    }
    for change in &diff.build {
        let plain = build_line(change);
        let line = if change.worse { palette.severity(Severity::Error, &plain) } else { plain };
        writeln!(out, "{}", fit(&format!("  {line}"), layout.width))?;
    }
    findings(out, "came", &diff.came, summary, layout)?;
    findings(out, "went", &diff.went, summary, layout)?;
    let moved: Vec<String> = diff
        .moved
        .iter()
        .map(|moved| {
            let (from, to) = (short(&moved.from), short(&moved.to));
            format!("{} from {from} to {to}{}", moved.rule, times(moved.count))
        })
        .collect();
    section(out, "findings that moved", &moved, layout)?;
    code_generation(out, diff, layout)?;
    let calls: Vec<String> = diff.calls.iter().map(calls_line).collect();
    section(out, "calls", &calls, layout)?;
    for (count, what) in [(diff.functions_came, "new"), (diff.functions_went, "gone")] {
        if count > 0 {
            let verb = if count == 1 { "is" } else { "are" };
            writeln!(out, "  {} {verb} {what}", counted(count, "function"))?;
        }
    }
    Ok(())
}

/// `unoptimised code: none → 96 % (243 functions)`
fn optimisation_line(change: &OptimisationChange) -> String {
    let (old, new) = optimisation_texts(change);
    format!("unoptimised code: {old} → {new}")
}

/// `none`, and `96 % (243 functions)`.
fn optimisation_texts(change: &OptimisationChange) -> (String, String) {
    let share = |per_mille: u64, functions: u64| match (per_mille, functions) {
        (_, 0) => "none".to_owned(),
        (0..10, _) => format!("below 1 % ({})", counted(functions, "function")),
        _ => format!("{} % ({})", per_mille / 10, counted(functions, "function")),
    };
    let old = share(change.old_per_mille, change.old_functions);
    (old, share(change.new_per_mille, change.new_functions))
}

/// `assertions: none → 54 (worse)`
fn build_line(change: &BuildChange) -> String {
    let (name, mark) = (change.what.name(), if change.worse { " (worse)" } else { "" });
    match change.what {
        Aspect::UndefinedSymbols => format!("{name}: no longer {}; newly {}", change.old, change.new),
        _ => format!("{name}: {} → {}{mark}", change.old, change.new),
    }
}

/// An answer as people say it.
const fn spoken(answer: Answer) -> &'static str {
    match answer {
        Answer::Runs => "runs",
        Answer::RunsPresumed => "runs (presumed)",
        Answer::Undecided => "undecided",
        Answer::Dies => "dies",
    }
}

/// Columns of a function's name: a name of C++ or Rust may have thousands, and what is said of it comes behind it.
const LONGEST_NAME: usize = 120;

/// The beginning and the end of a name that is too long.
fn short(name: &str) -> String {
    fit_middle(name, Some(LONGEST_NAME))
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

fn times(count: u64) -> String {
    if count > 1 { format!(" ×{count}") } else { String::new() }
}

/// The findings that came or went, by rule.
fn findings(
    out: &mut dyn Write,
    verb: &str,
    groups: &[FindingGroup],
    summary: &DiffSummary,
    layout: &DiffLayout,
) -> io::Result<()> {
    let mut rules: Vec<(&str, Severity)> = Vec::new();
    for group in groups {
        if !rules.contains(&(&group.rule, group.severity)) {
            rules.push((&group.rule, group.severity));
        }
    }
    for (rule, severity) in rules {
        let of_rule = || groups.iter().filter(|group| (&*group.rule, group.severity) == (rule, severity));
        let count: u64 = of_rule().map(|group| group.count).sum();
        let plain = format!("{verb} {}[{rule}]", severity.name());
        let is_worse = verb == "came" && summary.failing.threshold.is_some_and(|from| severity >= from);
        let label = if is_worse { layout.palette.severity(severity, &plain) } else { plain };
        let lines: Vec<String> = of_rule()
            .map(|group| {
                let name = short(group.function.as_deref().unwrap_or("(no name)"));
                let section = group.section.as_ref().map(|it| format!("{it}+")).unwrap_or_default();
                // It may have names, too.
                let message = fit_middle(&group.message, Some(3 * LONGEST_NAME));
                format!("{name} at {section}{}: {message}{}", group.svma, times(group.count))
            })
            .collect();
        writeln!(out, "  {label} {}", counted(count, "finding"))?;
        list(out, &lines, layout)?;
    }
    Ok(())
}

/// How functions came out, by what changed.
fn code_generation(out: &mut dyn Write, diff: &FileDiff, layout: &DiffLayout) -> io::Result<()> {
    const TITLES: [(&str, &str); 5] = [
        ("vector-width", "vector width"),
        ("vector-moves", "vector width of moves"),
        ("atomics", "atomics"),
        ("features", "features above the first level"),
        ("size", "size in bytes"),
    ];
    for (what, title) in TITLES {
        // Like changes together, the commonest first.
        let mut by_change: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for function in &diff.functions {
            for change in function.changes.iter().filter(|change| change.what == what) {
                by_change.entry((&change.old, &change.new)).or_default().push(&function.function);
            }
        }
        let mut commonest_first: Vec<_> = by_change.into_iter().collect();
        commonest_first.sort_by_key(|(_, functions)| std::cmp::Reverse(functions.len()));
        let lines: Vec<String> = commonest_first
            .iter()
            .flat_map(|((old, new), functions)| {
                functions.iter().map(move |function| format!("{}: {old} → {new}", short(function)))
            })
            .collect();
        section(out, title, &lines, layout)?;
    }
    Ok(())
}

fn calls_line(call: &CallDiff) -> String {
    let why = match (call.new_calls, call.is_new, call.is_old) {
        (0, false, _) => " (inlined or no longer called; the function is gone)",
        (0, true, _) => " (inlined or no longer called)",
        (_, _, false) => " (the function is new)",
        _ if call.old_calls == 0 => " (no longer inlined, or newly called)",
        _ => "",
    };
    format!("{}: call sites {} → {}{why}", short(&call.function), call.old_calls, call.new_calls)
}

fn section(out: &mut dyn Write, title: &str, lines: &[String], layout: &DiffLayout) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {title}: {}", lines.len())?;
    list(out, lines, layout)
}

fn list(out: &mut dyn Write, lines: &[String], layout: &DiffLayout) -> io::Result<()> {
    let limit = if layout.limit == 0 { lines.len() } else { layout.limit };
    for line in lines.iter().take(limit) {
        writeln!(out, "{}", fit(&format!("    {line}"), layout.width))?;
    }
    if lines.len() > limit {
        let more = format!("… and {} more (--limit 0 shows all)", lines.len() - limit);
        writeln!(out, "    {}", layout.palette.dim(&more))?;
    }
    Ok(())
}
