//! Text for people: the end of a run, with its counts, its levels, and what was skipped.
//!
//! In: the sums of the run, and the skipped files. Out: lines for a terminal.

use super::detail::Detail;
use crate::input::walk::Skipped;
use crate::render::check::answer;
use crate::render::check::totals::Totals;
use crate::text::line::fit;
use crate::text::number::{counted, grouped, kinds};
use deburr_core::finding::Severity;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Renders the end of a run.
pub(super) fn write(
    out: &mut dyn Write,
    totals: &Totals,
    skipped: &[Skipped],
    detail: &Detail,
) -> io::Result<()> {
    let palette = detail.palette;
    let counts: Vec<_> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .filter_map(|severity| Some((severity, *totals.findings_by_severity.get(&severity)?)))
        .map(|(severity, count)| palette.severity(severity, &counted(count, severity.name())))
        .collect();
    let mut verdict = if counts.is_empty() { "no findings".to_owned() } else { counts.join(", ") };
    if totals.allowed > 0 {
        verdict.push_str(&format!("; {} allowed", counted(totals.allowed, "finding")));
    }
    if totals.runtime_findings > 0 {
        let runtimes = counted(totals.runtime_findings, "finding");
        verdict.push_str(&format!("; {runtimes} in runtimes and C libraries not counted"));
    }
    match totals.files_checked {
        0 => writeln!(out, "No file was checked: nothing here is ELF for x86-64 or AArch64.")?,
        n => writeln!(out, "{} checked: {verdict}", counted(n, "file"))?,
    }
    let mut rules: Vec<_> = totals.rules.iter().collect();
    rules.sort_by_key(|(_, (severity, _))| std::cmp::Reverse(*severity));
    let width = rules.iter().map(|(rule, _)| rule.len()).max().unwrap_or(0);
    for (rule, (severity, files)) in rules {
        let findings = counted(totals.findings_by_rule.get(rule).copied().unwrap_or(0), "finding");
        let rule = palette.severity(*severity, &format!("{rule:width$}"));
        writeln!(out, "  {rule}  {findings} in {}", counted(*files, "file"))?;
    }
    if totals.files_checked > 1 && !totals.levels.is_empty() {
        level_table(out, totals, detail)?;
    }
    if totals.with_faults > 0 {
        let verb = if totals.with_faults == 1 { "is" } else { "are" };
        writeln!(out, "{} {verb} damaged in part; see fault:", counted(totals.with_faults, "file"))?;
    }
    not_checked(out, skipped, detail.show_skipped)?;
    if totals.other_files > 0 {
        writeln!(out, "{} passed over: neither ELF nor archive", counted(totals.other_files, "other file"))?;
    }
    if totals.excluded_files > 0 {
        writeln!(out, "{} left out by --exclude", counted(totals.excluded_files, "file"))?;
    }
    if detail.statistics {
        statistics(out, totals)?;
    }
    Ok(())
}

/// The last line: how many files run on the baseline, and how many do not. Where there is no summary, only undecided files are
/// told: nothing else might.
pub(super) fn answers(
    out: &mut dyn Write,
    totals: &Totals,
    has_summary: bool,
    detail: &Detail,
) -> io::Result<()> {
    let Some(answers) = totals.answers.as_ref().filter(|it| has_summary || it.undecided > 0) else {
        return Ok(());
    };
    let severity = match (answers.dies, answers.undecided) {
        (1.., _) => Some(Severity::Error),
        (0, 1..) => Some(Severity::Warning),
        _ => None,
    };
    let mut line = answer::line(answers);
    if totals.files_over_budget > 0 {
        line.push_str(&format!("; over their budget: {} (--budget)", grouped(totals.files_over_budget)));
    }
    match line.as_str() {
        "" => Ok(()),
        _ => writeln!(out, "{}", severity.map_or(line.clone(), |it| detail.palette.severity(it, &line))),
    }
}

/// What was skipped: files by their reasons, those that are recognised and not read by what they are, and what programs carry.
fn not_checked(out: &mut dyn Write, skipped: &[Skipped], lists: bool) -> io::Result<()> {
    let hint = if lists { "" } else { " (--show-skipped lists them)" };
    let whole: Vec<&Skipped> = skipped.iter().filter(|skip| skip.kind.is_none() && !skip.is_part).collect();
    if !whole.is_empty() {
        writeln!(out, "{} skipped{hint}", counted(whole.len() as u64, "file"))?;
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for skip in &whole {
            *reasons.entry(&skip.reason).or_default() += 1;
        }
        let mut order: Vec<_> = reasons.into_iter().collect();
        order.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for (reason, count) in order.iter().take(if lists { 0 } else { SHOWN }) {
            writeln!(out, "  {} × {reason}", grouped(*count))?;
        }
        list(out, &whole, lists)?;
    }
    let known: Vec<&Skipped> = skipped.iter().filter(|skip| skip.kind.is_some()).collect();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for kind in known.iter().filter_map(|skip| skip.kind.as_ref()) {
        *counts.entry(kind.clone()).or_default() += 1;
    }
    if !known.is_empty() {
        writeln!(out, "Not checked: {}{hint}", kinds(&counts))?;
        list(out, &known, lists)?;
    }
    let parts: Vec<&Skipped> = skipped.iter().filter(|skip| skip.is_part).collect();
    if !parts.is_empty() {
        let more = parts.len() > SHOWN && !lists;
        writeln!(out, "Carried by programs{}:", if more { hint } else { "" })?;
        let shown = if lists { parts.len() } else { parts.len().min(SHOWN) };
        list(out, &parts[..shown], true)?;
        if more {
            writeln!(out, "  and {} more", grouped((parts.len() - shown) as u64))?;
        }
    }
    Ok(())
}

/// Reasons, and things that programs carry, that are shown unless all are wanted.
const SHOWN: usize = 5;

fn list(out: &mut dyn Write, skipped: &[&Skipped], is_wanted: bool) -> io::Result<()> {
    skipped
        .iter()
        .filter(|_| is_wanted)
        .try_for_each(|skip| writeln!(out, "  {}: {}", skip.path, skip.reason))
}

/// How many files need which level, and a few of those above the first.
fn level_table(out: &mut dyn Write, totals: &Totals, detail: &Detail) -> io::Result<()> {
    let width = totals.levels.keys().map(|(_, level)| level.len()).max().unwrap_or(0);
    let most = totals.levels.values().map(|files| grouped(files.count).len()).max().unwrap_or(0);
    writeln!(out, "Levels needed:")?;
    for ((_, level), files) in &totals.levels {
        let noun = if files.count == 1 { "file " } else { "files" };
        let mut line = format!("  {level:width$}  {:>most$} {noun}", grouped(files.count));
        if !files.examples.is_empty() {
            line.push_str("  ");
            line.push_str(&files.examples.join(", "));
            if (files.examples.len() as u64) < files.count {
                line.push_str(", …");
            }
        }
        writeln!(out, "{}", fit(line.trim_end(), detail.width))?;
    }
    Ok(())
}

fn statistics(out: &mut dyn Write, totals: &Totals) -> io::Result<()> {
    writeln!(out, "Statistics:")?;
    let lines = [
        ("file bytes", totals.bytes),
        ("executable bytes", totals.executable_bytes),
        ("  decoded", totals.decoded_bytes),
        ("  data", totals.data_bytes),
        ("  undecoded", totals.undecoded_bytes),
        ("functions", totals.functions),
    ];
    for (name, value) in lines {
        writeln!(out, "  {name:18}{:>17}", grouped(value))?;
    }
    if let Some(seconds) = totals.elapsed_seconds {
        writeln!(out, "  {:18}{seconds:>15.2} s", "elapsed")?;
    }
    Ok(())
}
