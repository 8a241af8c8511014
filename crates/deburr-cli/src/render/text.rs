//! Text for people: one report → a few lines, grouped by rule, worst first; and a summary of the run.

use super::few::Few;
use super::style::Palette;
use super::totals::Totals;
use super::{Checked, Finished, Renderer, functions};
use crate::config::allow::NO_NAME;
use crate::input::walk::Skipped;
use deburr_core::Report;
use deburr_core::finding::Severity;
use deburr_core::report::{AcrossFinding, Atomics, PlacedFinding, Root};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// What to show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Detail {
    pub(crate) palette: Palette,
    /// Columns that a line may take; `None`: as many as it needs.
    pub(crate) width: Option<usize>,
    /// Findings per rule and file; 0: all.
    pub(crate) limit: usize,
    /// Whether files without findings have lines of their own.
    pub(crate) clean_files: bool,
    pub(crate) verbose: bool,
    pub(crate) statistics: bool,
    pub(crate) show_skipped: bool,
}

/// Text for people.
pub(crate) struct Text {
    pub(crate) detail: Detail,
    pub(crate) few: Few,
    /// Whether the end of the run is told.
    pub(crate) summary: bool,
}

impl Renderer for Text {
    fn file(&mut self, out: &mut dyn Write, file: Checked<'_>) -> io::Result<()> {
        self.few.file(out, file.report, &self.detail)
    }

    fn end(&mut self, out: &mut dyn Write, run: Finished<'_>) -> io::Result<()> {
        self.few.end(out, &self.detail)?;
        across(out, run.across, &self.detail)?;
        if self.summary { summary(out, run.totals, run.skipped, &self.detail) } else { Ok(()) }
    }
}

/// Renders one file.
pub(super) fn file(out: &mut dyn Write, report: &Report, detail: &Detail) -> io::Result<()> {
    if report.findings.is_empty() && report.faults.is_empty() && !detail.clean_files {
        return Ok(());
    }
    let palette = detail.palette;
    let path = palette.bold(&report.path);
    match report.coverage.executable_bytes {
        0 => writeln!(out, "{path}: {}, no executable code", report.arch)?,
        _ => writeln!(out, "{path}: {}, {}", report.arch, verdict(report))?,
    }
    if let Some(atomics) = report.atomics.as_ref().filter(|atomics| **atomics != Atomics::default()) {
        writeln!(out, "  atomics: {}", atomics_line(atomics))?;
    }
    functions::write(out, report, detail)?;
    if detail.verbose {
        facts(out, report)?;
    }
    for fault in &report.faults {
        writeln!(out, "  {} {fault}", palette.dim("fault:"))?;
    }
    for group in groups(&report.findings) {
        rule_group(out, &group, detail)?;
    }
    advice(out, report, detail)?;
    if report.allowed > 0 {
        writeln!(out, "  {}", palette.dim(&format!("{} allowed", counted(report.allowed, "finding"))))?;
    }
    if !report.findings.is_empty() || detail.verbose {
        writeln!(out)?;
    }
    Ok(())
}

/// Renders the findings by comparison of files, file by file.
fn across(out: &mut dyn Write, findings: &[AcrossFinding], detail: &Detail) -> io::Result<()> {
    let Some(first) = findings.first() else { return Ok(()) };
    let palette = detail.palette;
    writeln!(out, "{}", palette.bold("across files:"))?;
    for run in findings.chunk_by(|a, b| (a.rule, &a.path) == (b.rule, &b.path)) {
        let severity = run.iter().map(|finding| finding.severity).max().unwrap_or(first.severity);
        let Some(first) = run.first() else { continue };
        let head = palette.severity(severity, &format!("{}[{}]", severity.name(), first.rule));
        writeln!(out, "  {head} {} in {}", counted(run.len() as u64, "finding"), palette.bold(&first.path))?;
        let shown = if detail.limit == 0 { run.len() } else { detail.limit.min(run.len()) };
        for finding in run.iter().take(shown) {
            let section = finding.section.as_deref().map(|name| format!("{name}+")).unwrap_or_default();
            let place = format!("{section}{}", finding.svma);
            let indent = 4 + place.chars().count() + 2;
            let name = finding.function.as_deref().unwrap_or(NO_NAME);
            let function = fit(name, detail.width.map(|width| width.saturating_sub(indent)));
            writeln!(out, "    {}  {}", palette.dim(&place), palette.bold(&function))?;
            writeln!(out, "{:indent$}{}", "", finding.message)?;
        }
        if shown < run.len() {
            let more = format!("… and {} more (--limit 0 shows all)", grouped((run.len() - shown) as u64));
            writeln!(out, "    {}", palette.dim(&more))?;
        }
    }
    writeln!(out)
}

/// CPUs named for each flag that breaks some.
const BROKEN_SHOWN: usize = 4;

/// The flags that remove findings, and what they break.
fn advice(out: &mut dyn Write, report: &Report, detail: &Detail) -> io::Result<()> {
    for advice in &report.advice {
        let flags = if advice.flags.is_empty() { String::new() } else { format!(": {}", advice.flags) };
        let mut line =
            format!("To remove {} with {}{flags}", counted(advice.findings, "finding"), advice.compiler);
        if let Some(oldest) = &advice.oldest {
            let shown = advice.breaks.get(..BROKEN_SHOWN).unwrap_or(&advice.breaks).join(", ");
            let more = if advice.breaks.len() > BROKEN_SHOWN { ", …" } else { "" };
            line.push_str(&format!(" (runs from {oldest} on, no longer on {shown}{more})"));
        }
        writeln!(out, "  {}", fit(&line, detail.width.map(|width| width.saturating_sub(2))))?;
    }
    Ok(())
}

/// The findings of each rule, worst first.
fn groups(findings: &[PlacedFinding]) -> Vec<Vec<&PlacedFinding>> {
    let mut by_rule: BTreeMap<&str, Vec<&PlacedFinding>> = BTreeMap::new();
    for finding in findings {
        by_rule.entry(finding.rule).or_default().push(finding);
    }
    let mut groups: Vec<_> = by_rule.into_values().collect();
    for group in &mut groups {
        group.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    }
    groups.sort_by_key(|group| std::cmp::Reverse((group.first().map(|first| first.severity), group.len())));
    groups
}

fn rule_group(out: &mut dyn Write, group: &[&PlacedFinding], detail: &Detail) -> io::Result<()> {
    let Some(first) = group.first() else { return Ok(()) };
    let palette = detail.palette;
    let head = palette.severity(first.severity, &format!("{}[{}]", first.severity.name(), first.rule));
    let functions: BTreeSet<_> = group.iter().filter_map(|finding| finding.function.as_deref()).collect();
    let within = match functions.len() {
        0 | 1 => String::new(),
        n if group.iter().all(|finding| finding.function.is_some()) => {
            format!(" in {} functions", grouped(n as u64))
        }
        _ => String::new(),
    };
    writeln!(out, "  {head} {}{within}", counted(group.len() as u64, "finding"))?;
    let folded = folded(group);
    let shown = if detail.limit == 0 { folded.len() } else { detail.limit.min(folded.len()) };
    let shown = folded.get(..shown).unwrap_or(&folded);
    let width = shown.iter().map(|(finding, _)| finding.svma.to_string().len()).max().unwrap_or(0);
    for (finding, count) in shown {
        let section = finding.section.as_deref().map(|name| format!("{name}+")).unwrap_or_default();
        let place = format!("{section}{:<width$}", finding.svma);
        let indent = 4 + place.chars().count() + 2;
        let room = detail.width.map(|width| width.saturating_sub(indent));
        let function = fit(finding.function.as_deref().unwrap_or(NO_NAME), room);
        let source = match &finding.source {
            Some(source) => format!(" at {}:{}", source.file, source.line),
            None => String::new(),
        };
        let source = fit_end(&source, room.map(|room| room.saturating_sub(function.chars().count())));
        let times = if *count > 1 { format!(" ×{}", grouped(*count as u64)) } else { String::new() };
        writeln!(out, "    {}  {}{}", palette.dim(&place), palette.bold(&function), palette.dim(&source))?;
        writeln!(out, "{:indent$}{}{}", "", finding.message, palette.bold(&times))?;
    }
    let told: usize = shown.iter().map(|(_, count)| count).sum();
    if told < group.len() {
        let more = format!("… and {} more (--limit 0 shows all)", grouped((group.len() - told) as u64));
        writeln!(out, "    {}", palette.dim(&more))?;
    }
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

/// The beginning of a text that is too long.
pub(super) fn fit(text: &str, room: Option<usize>) -> String {
    match room {
        Some(room) if text.chars().count() > room => {
            let mut cut: String = text.chars().take(room.saturating_sub(1)).collect();
            cut.push('…');
            cut
        }
        _ => text.to_owned(),
    }
}

/// The end of a source location that is too long: file and line tell more than the folders above.
fn fit_end(text: &str, room: Option<usize>) -> String {
    const LEAST: usize = 12;
    let length = text.chars().count();
    match room {
        Some(room) if length > room && room < LEAST => String::new(),
        Some(room) if length > room => {
            format!(" at …{}", text.chars().skip(length - (room - 5)).collect::<String>())
        }
        _ => text.to_owned(),
    }
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

/// What the file needs, why, and what it can use.
fn verdict(report: &Report) -> String {
    let with = |level: &str, beyond: &[String]| {
        let mut text = level.to_owned();
        for feature in beyond {
            text.push_str(" + ");
            text.push_str(feature);
        }
        text
    };
    let level = with(&report.level, &report.needed_beyond);
    let mut text = match &report.needed_by {
        None => format!("runs on {level}"),
        Some(needed) => {
            let array = match needed.root {
                Some(Root::PreinitArray) => Some("a .preinit_array"),
                Some(Root::InitArray) => Some("an .init_array"),
                Some(Root::FiniArray) => Some("a .fini_array"),
                _ => None,
            };
            match (array, &needed.function) {
                (Some(array), _) => format!("needs {level} from {array} entry at {}", needed.from),
                (None, Some(name)) => format!("needs {level} in {name} ({})", needed.svma),
                (None, None) => format!("needs {level} in {}", needed.svma),
            }
        }
    };
    if let Some(guarded) = &report.level_guarded {
        let guarded = with(guarded, &report.guarded_beyond);
        if guarded != level {
            text.push_str(&format!("; uses up to {guarded} behind checks"));
        }
    }
    if report.not_followed > 0 {
        text.push_str(&format!("; {} above it not followed", counted(report.not_followed, "function")));
    }
    if report.xcr0_not_asked {
        text.push_str("; asks cpuid for AVX, but not the system (no xgetbv)");
    }
    text
}

/// Features and build facts.
fn facts(out: &mut dyn Write, report: &Report) -> io::Result<()> {
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
        writeln!(out, "  {name}: {}", list.join(", "))?;
    }
    let closure = report.closure.as_deref().unwrap_or_default();
    for (name, list) in [("closure", closure), ("libraries not found", &report.missing_libraries)] {
        if !list.is_empty() {
            writeln!(out, "  {name}: {}", list.join(", "))?;
        }
    }
    if let Some(id) = &report.build_id {
        writeln!(out, "  build-id: {id}")?;
    }
    Ok(())
}

/// Renders the end of a run.
fn summary(out: &mut dyn Write, totals: &Totals, skipped: &[Skipped], detail: &Detail) -> io::Result<()> {
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
    if totals.files_checked > 1 {
        level_table(out, totals, detail)?;
    }
    if totals.with_faults > 0 {
        let verb = if totals.with_faults == 1 { "is" } else { "are" };
        writeln!(out, "{} {verb} damaged in part; see fault:", counted(totals.with_faults, "file"))?;
    }
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for skip in skipped {
        *reasons.entry(&skip.reason).or_default() += 1;
    }
    if !skipped.is_empty() {
        let hint = if detail.show_skipped { "" } else { " (--show-skipped lists them)" };
        writeln!(out, "{} skipped{hint}", counted(skipped.len() as u64, "file"))?;
        if detail.show_skipped {
            for skip in skipped {
                writeln!(out, "  {}: {}", skip.path, skip.reason)?;
            }
        } else {
            let mut order: Vec<_> = reasons.into_iter().collect();
            order.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            for (reason, count) in order.iter().take(5) {
                writeln!(out, "  {} × {reason}", grouped(*count))?;
            }
        }
    }
    if totals.other_files > 0 {
        writeln!(out, "{} passed over: neither ELF nor archive", counted(totals.other_files, "other file"))?;
    }
    if detail.statistics {
        statistics(out, totals)?;
    }
    Ok(())
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

/// `1 file`, `2,000 files`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::example::example;
    use deburr_core::report::{Guard, GuardKind, Hex, IsaFunction, NeededBy, Reach};

    fn detail(limit: usize) -> Detail {
        Detail {
            palette: Palette::new(false),
            width: None,
            limit,
            clean_files: true,
            verbose: false,
            statistics: false,
            show_skipped: false,
        }
    }

    #[test]
    fn file_is_rendered_by_rule_worst_first() {
        let mut out = Vec::new();
        file(&mut out, &example(), &detail(1)).unwrap();
        let expected = "\
bin/server: aarch64, needs armv8.1-a + FEAT_SVE in crc (0x400)
  atomics: 330 outlined calls of 7 helpers, no inline loops
  1 function above the first level: 1 required
    required       crc (FEAT_CRC32): _start → main → crc
  warning[llsc-loop] 1 finding
    0x2000  spin_lock at lock.c:7
            compare-and-swap of 4 bytes
  note[outlined-atomic] 2 findings
    0x1000  spin_lock at lock.c:7
            calls a helper ×2
  To remove 3 findings with gcc 12: -march=armv8.1-a (runs from n1 on, no longer on a72, a73, a53, a57, …)

";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn findings_beyond_the_limit_are_counted() {
        let mut report = example();
        report.findings[1].message = "calls another helper".into();
        let mut out = Vec::new();
        file(&mut out, &report, &detail(1)).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("    … and 1 more (--limit 0 shows all)\n"));
    }

    #[test]
    fn long_names_are_cut_to_the_width_of_the_terminal() {
        let mut report = example();
        report.findings[2].function = Some("f".repeat(300).into());
        report.isa_functions[0].function = Some("g".repeat(300));
        report.needed_by = None;
        let mut out = Vec::new();
        file(&mut out, &report, &Detail { width: Some(70), ..detail(0) }).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("fff…\n") && text.contains("ggg…\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 70), "{text}");
        assert_eq!(fit_end(" at some/long/folder/lock.c:7", Some(16)), " at …er/lock.c:7");
    }

    #[test]
    fn levels_are_a_table_where_there_are_several_files() {
        let mut totals = Totals::default();
        for path in ["a", "b", "c", "d"] {
            totals.add(&Report { path: path.to_owned(), ..example() }, 1);
        }
        let plain = Report { level: "armv8.0-a".to_owned(), isa_functions: Vec::new(), ..example() };
        totals.add(&plain, 1);
        let mut out = Vec::new();
        summary(&mut out, &totals, &[], &detail(10)).unwrap();
        let text = String::from_utf8(out).unwrap();
        let table = "Levels needed:\n  armv8.0-a  1 file\n  armv8.1-a  4 files  a, b, c, …\n";
        assert!(text.contains(table), "{text}");
    }

    #[test]
    fn run_without_any_file_does_not_claim_that_all_is_well() {
        let mut out = Vec::new();
        summary(&mut out, &Totals::default(), &[], &detail(10)).unwrap();
        assert!(String::from_utf8(out).unwrap().starts_with("No file was checked"));
    }

    #[test]
    fn summary_counts_findings_by_rule() {
        let mut totals = Totals::default();
        totals.add(&example(), 4096);
        let mut out = Vec::new();
        summary(&mut out, &totals, &[], &detail(10)).unwrap();
        let expected = "\
1 file checked: 1 warning, 2 notes
  llsc-loop        1 finding in 1 file
  outlined-atomic  2 findings in 1 file
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    fn header(report: &Report) -> String {
        let mut out = Vec::new();
        file(&mut out, report, &detail(1)).unwrap();
        String::from_utf8(out).unwrap().lines().next().unwrap().to_owned()
    }

    #[test]
    fn header_is_the_verdict_on_the_file() {
        let runs = Report {
            path: "libx.so".to_owned(),
            arch: "x86_64",
            level: "x86-64-v1".to_owned(),
            needed_beyond: Vec::new(),
            needed_by: None,
            level_guarded: Some("x86-64-v4".to_owned()),
            ..example()
        };
        assert_eq!(header(&runs), "libx.so: x86_64, runs on x86-64-v1; uses up to x86-64-v4 behind checks");
        let needed = |root| NeededBy { function: None, svma: Hex(0x5000), root, from: Hex(0x4a10) };
        let constructor = Report {
            level: "x86-64-v3".to_owned(),
            needed_by: Some(needed(Some(Root::InitArray))),
            level_guarded: None,
            not_followed: 6,
            ..runs.clone()
        };
        assert_eq!(
            header(&constructor),
            "libx.so: x86_64, needs x86-64-v3 from an .init_array entry at 0x4a10; 6 functions above it not followed"
        );
        let nameless = Report { needed_by: Some(needed(None)), not_followed: 0, ..constructor };
        assert_eq!(header(&nameless), "libx.so: x86_64, needs x86-64-v3 in 0x5000");
    }

    #[test]
    fn functions_are_told_by_verdict_and_kind_of_check() {
        let mut report = example();
        let required = report.isa_functions[0].clone();
        let guard = |kind| {
            Some(Guard {
                kind,
                svma: Hex(0x900),
                function: Some("choose".to_owned()),
                features: vec!["FEAT_CRC32".to_owned()],
            })
        };
        let of =
            |reach, guard| IsaFunction { reach, guard, path: Vec::new(), root: None, ..required.clone() };
        report.isa_functions = vec![
            of(Reach::Guarded, guard(GuardKind::Ifunc)),
            of(Reach::Guarded, guard(GuardKind::Ifunc)),
            of(Reach::Unreached, None),
            of(Reach::Unknown, None),
            of(Reach::Guarded, guard(GuardKind::Branch)),
        ];
        report.isa_functions.extend(std::iter::repeat_n(required, 5));
        let lines = |verbose| {
            let mut out = Vec::new();
            functions::write(&mut out, &report, &Detail { verbose, ..detail(1) }).unwrap();
            String::from_utf8(out).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let brief = lines(false);
        assert_eq!(
            brief[0],
            "  10 functions above the first level: 5 required, 1 unknown, 3 guarded (2 ifunc, 1 branch), 1 unreached"
        );
        assert_eq!(brief.len(), 5, "{brief:?}");
        assert_eq!(brief[4], "    … and 2 more (--verbose shows all)");
        let all = lines(true);
        assert_eq!(all.len(), 11, "{all:?}");
        assert_eq!(all[7], "    guarded        crc (FEAT_CRC32); ifunc at 0x900 in choose");
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([grouped(7), grouped(1000), grouped(1_234_567)], ["7", "1,000", "1,234,567"]);
    }
}
