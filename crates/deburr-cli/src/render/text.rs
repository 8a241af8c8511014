//! Text for people: one report → a few lines, grouped by rule, worst first; and a summary of the run.

use super::style::Palette;
use super::totals::Totals;
use crate::input::walk::Skipped;
use deburr_core::Report;
use deburr_core::finding::Severity;
use deburr_core::report::{Atomics, PlacedFinding};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What to show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Detail {
    pub(crate) palette: Palette,
    /// Findings per rule and file; 0: all.
    pub(crate) limit: usize,
    /// Whether files without findings have lines of their own.
    pub(crate) clean_files: bool,
    pub(crate) verbose: bool,
    pub(crate) statistics: bool,
    pub(crate) show_skipped: bool,
}

/// Functions above the first level that a file's lines name.
const TOP_FUNCTIONS: usize = 3;

/// Renders one file.
pub(crate) fn file(out: &mut dyn Write, report: &Report, detail: &Detail) -> io::Result<()> {
    if report.findings.is_empty() && report.faults.is_empty() && !detail.clean_files {
        return Ok(());
    }
    let palette = detail.palette;
    let mark = if report.guards_examined || report.isa_functions.is_empty() { "" } else { " *" };
    let mut level = report.level.clone();
    for feature in &report.level_beyond {
        level.push_str(" + ");
        level.push_str(feature);
    }
    let present = match report.level == report.level_present {
        true => String::new(),
        false => format!(" (contains {})", report.level_present),
    };
    writeln!(out, "{}: {}, needs {level}{present}{mark}", palette.bold(&report.path), report.arch)?;
    if let Some(atomics) = report.atomics.as_ref().filter(|atomics| **atomics != Atomics::default()) {
        writeln!(out, "  atomics: {}", atomics_line(atomics))?;
    }
    functions_line(out, report, detail)?;
    if detail.verbose {
        facts(out, report)?;
    }
    for fault in &report.faults {
        writeln!(out, "  {} {fault}", palette.dim("fault:"))?;
    }
    for group in groups(&report.findings) {
        rule_group(out, &group, detail)?;
    }
    if !report.findings.is_empty() || detail.verbose {
        writeln!(out)?;
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
    writeln!(out, "  {head} {}", counted(group.len() as u64, "finding"))?;
    let shown = if detail.limit == 0 { group.len() } else { detail.limit.min(group.len()) };
    let width = group.iter().take(shown).map(|finding| finding.svma.to_string().len()).max().unwrap_or(0);
    for finding in group.iter().take(shown) {
        let section = finding.section.as_deref().map(|name| format!("{name}+")).unwrap_or_default();
        let function = finding.function.as_deref().unwrap_or("(no name)");
        let source = match &finding.source {
            Some(source) => format!(" at {}:{}", source.file, source.line),
            None => String::new(),
        };
        let place = palette.dim(&format!("{section}{:>width$}", finding.svma));
        writeln!(out, "    {place}  {}{}", palette.bold(function), palette.dim(&source))?;
        writeln!(out, "    {:width$}  {}", "", finding.message)?;
    }
    if shown < group.len() {
        let more = format!("… and {} more (--limit 0 shows all)", grouped((group.len() - shown) as u64));
        writeln!(out, "    {}", palette.dim(&more))?;
    }
    Ok(())
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

/// Names the functions that use most of what lies above the first level.
fn functions_line(out: &mut dyn Write, report: &Report, detail: &Detail) -> io::Result<()> {
    if report.isa_functions.is_empty() {
        return Ok(());
    }
    let mut order: Vec<_> = report.isa_functions.iter().collect();
    order.sort_by_key(|function| std::cmp::Reverse(function.features.values().sum::<u64>()));
    let limit = if detail.verbose { order.len() } else { TOP_FUNCTIONS };
    let mut named: Vec<_> = order
        .iter()
        .take(limit)
        .map(|function| {
            let address = function.svma.to_string();
            let name = function.function.as_deref().unwrap_or(&address);
            let features: Vec<_> = function.features.keys().map(String::as_str).collect();
            format!("{name} ({})", features.join(" "))
        })
        .collect();
    if order.len() > limit {
        named.push("…".to_owned());
    }
    let count = counted(order.len() as u64, "function");
    if detail.verbose {
        writeln!(out, "  {count} above the first level:\n    {}", named.join("\n    "))
    } else {
        writeln!(out, "  {count} above the first level: {}", named.join(", "))
    }
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
    if let Some(id) = &report.build_id {
        writeln!(out, "  build-id: {id}")?;
    }
    Ok(())
}

/// Renders the end of a run.
pub(crate) fn summary(
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
    let verdict = if counts.is_empty() { "no findings".to_owned() } else { counts.join(", ") };
    writeln!(out, "{} checked: {verdict}", counted(totals.files_checked, "file"))?;
    let mut rules: Vec<_> = totals.rules.iter().collect();
    rules.sort_by_key(|(_, (severity, _))| std::cmp::Reverse(*severity));
    let width = rules.iter().map(|(rule, _)| rule.len()).max().unwrap_or(0);
    for (rule, (severity, files)) in rules {
        let findings = counted(totals.findings_by_rule.get(rule).copied().unwrap_or(0), "finding");
        let rule = palette.severity(*severity, &format!("{rule:width$}"));
        writeln!(out, "  {rule}  {findings} in {}", counted(*files, "file"))?;
    }
    if totals.files_checked > 1 {
        for ((arch, level), files) in &totals.levels {
            writeln!(
                out,
                "  {arch}: {} need{} {level}",
                grouped(*files),
                if *files == 1 { "s" } else { "" }
            )?;
        }
    }
    if totals.unexamined > 0 {
        writeln!(out, "* Run-time checks are not examined: every use of a feature counts as needed.")?;
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
                writeln!(out, "  {} {reason}", grouped(*count))?;
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
fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use deburr_core::finding::Value;
    use deburr_core::report::{Build, Coverage, IsaFunction, Reach, SourceLocation};

    /// A report with all parts.
    pub(crate) fn example() -> Report {
        let finding = |rule, severity, svma: u64, message: &str| PlacedFinding {
            rule,
            severity,
            function: Some("spin_lock".into()),
            svma: Hex(svma),
            section: None,
            extent: 12,
            source: Some(SourceLocation { file: "lock.c".to_owned(), line: 7 }),
            message: message.into(),
            evidence: [("helper", Value::Text("cas4_acq".into())), ("size", Value::Number(4))].into(),
        };
        Report {
            path: "bin/server".to_owned(),
            arch: "aarch64",
            build_id: Some("00ff".to_owned()),
            level: "armv8.1-a".to_owned(),
            level_present: "armv8.1-a".to_owned(),
            level_beyond: vec!["FEAT_SVE".to_owned()],
            guards_examined: false,
            features: [("FEAT_LSE".to_owned(), 1234)].into(),
            isa_functions: vec![IsaFunction {
                function: Some("crc".to_owned()),
                svma: "0x400".to_owned(),
                section: None,
                features: [("FEAT_CRC32".to_owned(), 9)].into(),
                reach: Reach::Unknown,
            }],
            atomics: Some(Atomics { helper_bodies: 7, outlined_calls: 330, ..Atomics::default() }),
            build: Build { compilers: vec!["GCC 12.2.0".to_owned()], ..Build::default() },
            findings: vec![
                finding("outlined-atomic", Severity::Note, "0x1000", "calls a helper"),
                finding("outlined-atomic", Severity::Note, "0x1010", "calls a helper"),
                finding("llsc-loop", Severity::Warning, "0x2000", "compare-and-swap of 4 bytes"),
            ],
            coverage: Coverage { executable_bytes: 4000, decoded_bytes: 4000, ..Coverage::default() },
            faults: Vec::new(),
        }
    }

    fn detail(limit: usize) -> Detail {
        Detail {
            palette: Palette::new(false),
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
bin/server: aarch64, needs armv8.1-a + FEAT_SVE *
  atomics: 330 outlined calls of 7 helpers, no inline loops
  1 function above the first level: crc (FEAT_CRC32)
  warning[llsc-loop] 1 finding
    0x2000  spin_lock at lock.c:7
            compare-and-swap of 4 bytes
  note[outlined-atomic] 2 findings
    0x1000  spin_lock at lock.c:7
            calls a helper
    … and 1 more (--limit 0 shows all)

";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn summary_says_that_guards_are_not_examined() {
        let mut totals = Totals::default();
        totals.add(&example(), 4096);
        let mut out = Vec::new();
        summary(&mut out, &totals, &[], &detail(10)).unwrap();
        let expected = "\
1 file checked: 1 warning, 2 notes
  llsc-loop        1 finding in 1 file
  outlined-atomic  2 findings in 1 file
* Run-time checks are not examined: every use of a feature counts as needed.
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([grouped(7), grouped(1000), grouped(1_234_567)], ["7", "1,000", "1,234,567"]);
    }
}
