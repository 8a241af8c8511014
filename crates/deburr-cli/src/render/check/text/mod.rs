//! Text for people: each report as it comes, then the findings across files, and a summary of the run.
//!
//! In: the calls of [`Renderer`]. Out: lines for a terminal. `file.rs` renders one report, `summary.rs` the
//! end.

pub(crate) mod detail;
pub(crate) mod few;
pub(in crate::render::check) mod file;
mod functions;
pub(crate) mod profile;
mod summary;

use super::renderer::{Checked, Finished, Renderer};
use crate::config::allow::NO_NAME;
use crate::text::line::{fit, wrapped};
use crate::text::number::{counted, grouped};
use deburr_core::report::AcrossFinding;
use detail::Detail;
use few::Few;
use std::io::{self, Write};

/// Text for people.
pub(crate) struct Text {
    pub(crate) detail: Detail,
    pub(crate) few: Few,
    /// Whether there is a summary at the end of the run.
    pub(crate) summary: bool,
}

impl Renderer for Text {
    fn file(&mut self, out: &mut dyn Write, file: Checked<'_>) -> io::Result<()> {
        self.few.file(out, file.report, &self.detail)
    }

    fn end(&mut self, out: &mut dyn Write, run: Finished<'_>) -> io::Result<()> {
        self.few.end(out, &self.detail)?;
        across(out, run.across, &self.detail)?;
        if self.summary {
            summary::write(out, run.totals, run.skipped, &self.detail)?;
            run.profile.map_or(Ok(()), |profile| profile::write_elsewhere(out, profile, &self.detail))?;
            if let Some(configuration) = run.configuration {
                writeln!(out, "configuration: {}", configuration.line())?;
            }
        }
        summary::answers(out, run.totals, self.summary, &self.detail)
    }
}

/// Renders the findings by comparison of files, file by file.
fn across(out: &mut dyn Write, findings: &[AcrossFinding], detail: &Detail) -> io::Result<()> {
    let Some(first) = findings.first() else { return Ok(()) };
    let palette = detail.palette;
    writeln!(out, "{}", palette.bold("across files:"))?;
    for run in findings.chunk_by(|a, b| (&a.rule, &a.path) == (&b.rule, &b.path)) {
        let severity = run.iter().map(|finding| finding.severity).max().unwrap_or(first.severity);
        let Some(first) = run.first() else { continue };
        let head = palette.severity(severity, &format!("{}[{}]", severity.name(), first.rule));
        writeln!(out, "  {head} {} in {}", counted(run.len() as u64, "finding"), palette.bold(&first.path))?;
        let limit = detail.limit.unwrap_or(if detail.verbose { 0 } else { file::WORST });
        let shown = if limit == 0 { run.len() } else { limit.min(run.len()) };
        for finding in run.iter().take(shown) {
            let section = finding.section.as_deref().map(|name| format!("{name}+")).unwrap_or_default();
            let place = format!("{section}{}", finding.svma);
            let indent = 4 + place.chars().count() + 2;
            let name = finding.function.as_deref().unwrap_or(NO_NAME);
            let room = detail.width.map(|width| width.saturating_sub(indent));
            writeln!(out, "    {}  {}", palette.dim(&place), palette.bold(&fit(name, room)))?;
            for line in wrapped(&finding.message, room) {
                writeln!(out, "{:indent$}{line}", "")?;
            }
        }
        if shown < run.len() {
            let more = format!("… and {} more (--verbose shows all)", grouped((run.len() - shown) as u64));
            writeln!(out, "    {}", palette.dim(&more))?;
        }
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::check::example::{example, example_with};
    use crate::render::check::totals::Totals;
    use crate::render::style::Palette;
    use crate::text::line::fit_end;
    use deburr_core::Report;
    use deburr_core::profile::Share;
    use deburr_core::report::{Guard, GuardKind, Hex, Reach, Root};

    fn detail(limit: usize) -> Detail {
        Detail {
            palette: Palette::new(false),
            width: None,
            limit: Some(limit),
            clean_files: true,
            top: None,
            min_share: Share::default(),
            verbose: false,
            statistics: false,
            show_skipped: false,
        }
    }

    #[test]
    fn file_is_rendered_by_rule_worst_first() {
        let mut out = Vec::new();
        file::write(&mut out, &example(), &detail(1)).unwrap();
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

    /// The example with a profile, of which `thousandths` are in the code of its findings.
    fn weighed(thousandths: [u64; 3]) -> Report {
        let mut report = example();
        for (finding, share) in report.findings.iter_mut().zip(thousandths) {
            let share = share as f64 / 1000.0;
            finding.weight =
                serde_json::from_value(serde_json::json!({"share": share, "by": "call-chains"})).unwrap();
        }
        let profile = serde_json::json!({
            "event": "cycles", "samples": 12345, "skids": true, "share": 0.875, "lost": 0,
            "functions": [{"function": "crc", "svma": "0x400", "share": 0.5}, {"function": null, "svma": "0x900", "share": 0.25}],
        });
        report.profile = serde_json::from_value(profile).unwrap();
        report
    }

    #[test]
    fn what_takes_most_of_a_run_comes_first_and_what_is_cold_is_a_line() {
        let lines = |report: &Report, detail: Detail| {
            let mut out = Vec::new();
            file::write(&mut out, report, &detail).unwrap();
            String::from_utf8(out).unwrap()
        };
        let min_share = Share::parts_per_million(1000);
        let text = lines(&weighed([120, 30, 0]), Detail { limit: None, min_share, ..detail(0) });
        let expected = "\
  profile: 88 % of cycles, 12,345 samples; most in crc 50 %, 0x900 25 %
  1 function above the first level: 1 required
    required       crc (FEAT_CRC32): _start → main → crc
  note[outlined-atomic] 15 % of the run in 2 findings
        12 %  0x1000  spin_lock at lock.c:7
                      calls a helper
                      (with what it calls, by call chains)
       3.0 %  0x1010  spin_lock at lock.c:7
                      calls a helper
                      (with what it calls, by call chains)
  warning[llsc-loop] 0 % of the run in 1 finding, none of them hot
";
        let from = text.find("profile:").unwrap();
        assert!(text[from..].starts_with(expected), "{text}");
        let text =
            lines(&weighed([120, 30, 0]), Detail { limit: None, top: Some(1), min_share, ..detail(0) });
        assert!(text.contains("15 % of the run in 2 findings, 1 of them hot"), "{text}");
        assert!(text.contains("    … and 1 more, 3.0 % in all\n") && !text.contains("0x1010"), "{text}");
    }

    #[test]
    fn findings_beyond_the_limit_are_counted() {
        let mut report = example();
        report.findings[1].message = "calls another helper".into();
        let mut out = Vec::new();
        file::write(&mut out, &report, &detail(1)).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("    … and 1 more (--verbose shows all)\n"));
    }

    #[test]
    fn many_findings_are_one_line_with_what_removes_them_and_the_worst_places() {
        let mut report = example();
        let first = report.findings[0].clone();
        let place = |svma: u64, in_loop: bool, calls: u64| {
            let mut finding = first.clone();
            (finding.svma, finding.in_loop, finding.calls) = (Hex(svma), in_loop, calls);
            (finding.function, finding.source) = (Some(format!("f_{svma:x}").into()), None);
            finding
        };
        report.findings = (0..1000).map(|index| place(0x1000 + index, false, index % 7)).collect();
        report.findings.extend([place(0x9000, true, 0), place(0x9004, true, 50), place(0x9008, false, 900)]);
        let removes = serde_json::json!({"outlined-atomic": 1003});
        report.advice[0].removes = serde_json::from_value(removes).unwrap();
        let lines = |limit, verbose| {
            let mut out = Vec::new();
            file::write(&mut out, &report, &Detail { limit, verbose, ..detail(0) }).unwrap();
            let text = String::from_utf8(out).unwrap();
            let from = text.find("  note[").unwrap();
            text[from..].lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let shown = lines(None, false);
        let head = "  note[outlined-atomic] 1,003 findings in 1,003 functions, 2 in loops; \
                    -march=armv8.1-a (gcc 12) removes 1,003";
        assert_eq!(shown[0], head);
        let places = ["    0x9004  f_9004", "    0x9000  f_9000", "    0x9008  f_9008"];
        assert_eq!([&*shown[1], &*shown[3], &*shown[5]], places);
        assert_eq!(shown[7], "    … and 1,000 more (--verbose shows all)");
        assert_eq!(lines(None, true).iter().filter(|line| line.starts_with("    0x")).count(), 1003);
        assert_eq!(lines(Some(1), true).iter().filter(|line| line.starts_with("    0x")).count(), 1);
        let by_hand = serde_json::json!([{
            "compiler": "assembler", "flags": "", "rules": ["outlined-atomic"], "findings": 1003,
            "removes": {"outlined-atomic": 1003}, "breaks": [],
        }]);
        report.advice = serde_json::from_value(by_hand).unwrap();
        let mut out = Vec::new();
        file::write(&mut out, &report, &Detail { limit: None, ..detail(0) }).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("  To remove 1,003 findings in assembly: another source\n"), "{text}");
        assert!(text.contains("1,003 functions, 2 in loops\n"), "no flag removes them: {text}");
    }

    #[test]
    fn long_names_are_cut_to_the_width_of_the_terminal() {
        let mut report = example();
        report.findings[2].function = Some("f".repeat(300).into());
        report.isa_functions[0].function = Some("g".repeat(300).into());
        report.findings[0].message = format!("calls {}", "h".repeat(10_000)).into();
        let needed = report.needed_by.as_mut().unwrap();
        needed.function = Some("n".repeat(10_000));
        report.path = "libx.so".to_owned();
        report.build.producers = vec!["p".repeat(10_000), "q".to_owned()];
        let mut out = Vec::new();
        let all = Detail { width: Some(90), verbose: true, ..detail(0) };
        file::write(&mut out, &report, &all).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("fff…\n") && text.contains("ggg…") && text.contains("hhh…"), "{text}");
        assert!(text.contains("nnn…") && text.contains("ppp…") && text.contains("    q\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 90), "{text}");
        assert!(text.lines().count() < 40, "a long name takes no more than a few lines: {text}");
        assert_eq!(fit_end(" at some/long/folder/lock.c:7", Some(16)), " at …er/lock.c:7");
    }

    #[test]
    fn levels_are_a_table_where_there_are_several_files() {
        let mut totals = Totals::default();
        for path in ["a", "b", "c", "d"] {
            totals.add(&example_with(|report| report.path = path.to_owned()), 1);
        }
        let plain = example_with(|report| {
            report.level = "armv8.0-a".to_owned();
            report.isa_functions.clear();
        });
        totals.add(&plain, 1);
        let mut out = Vec::new();
        summary::write(&mut out, &totals, &[], &detail(10)).unwrap();
        let text = String::from_utf8(out).unwrap();
        let table = "Levels needed:\n  armv8.0-a  1 file\n  armv8.1-a  4 files  a, b, c, …\n";
        assert!(text.contains(table), "{text}");
    }

    #[test]
    fn run_without_any_file_does_not_claim_that_all_is_well() {
        let mut out = Vec::new();
        summary::write(&mut out, &Totals::default(), &[], &detail(10)).unwrap();
        assert!(String::from_utf8(out).unwrap().starts_with("No file was checked"));
    }

    #[test]
    fn summary_counts_findings_by_rule() {
        let mut totals = Totals::default();
        totals.add(&example(), 4096);
        let mut out = Vec::new();
        summary::write(&mut out, &totals, &[], &detail(10)).unwrap();
        let expected = "\
1 file checked: 1 warning, 2 notes
  llsc-loop        1 finding in 1 file
  outlined-atomic  2 findings in 1 file
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    fn header(report: &Report) -> String {
        let mut out = Vec::new();
        file::write(&mut out, report, &detail(1)).unwrap();
        String::from_utf8(out).unwrap().lines().next().unwrap().to_owned()
    }

    #[test]
    fn header_is_the_verdict_on_the_file() {
        let mut report = example_with(|report| {
            report.path = "libx.so".to_owned();
            report.arch = "x86_64".into();
            report.level = "x86-64-v1".to_owned();
            report.needed_beyond.clear();
            report.needed_by = None;
            report.level_guarded = Some("x86-64-v4".to_owned());
        });
        assert_eq!(header(&report), "libx.so: x86_64, runs on x86-64-v1; uses up to x86-64-v4 after checks");
        let mut needed = example().needed_by.unwrap();
        (needed.function, needed.svma, needed.from) = (None, Hex(0x5000), Hex(0x4a10));
        needed.root = Some(Root::InitArray);
        report.level = "x86-64-v3".to_owned();
        report.needed_by = Some(needed.clone());
        report.level_guarded = None;
        report.not_followed = 6;
        assert_eq!(
            header(&report),
            "libx.so: x86_64, needs x86-64-v3 from an .init_array entry at 0x4a10; 6 functions above it not followed"
        );
        needed.root = None;
        report.needed_by = Some(needed);
        report.not_followed = 0;
        assert_eq!(header(&report), "libx.so: x86_64, needs x86-64-v3 in 0x5000");
    }

    /// A library with a path to code of some features, for which its level is rounded up.
    fn needing(arch: &'static str, level: &str, features: &[&str]) -> Report {
        let named = |name: &&str| deburr_cpu::Feature::all().find(|it| it.name() == *name).unwrap();
        let needed: Vec<_> = features.iter().map(named).collect();
        let needed = deburr_cpu::FeatureSet::of(&needed).with_implied();
        example_with(|report| {
            report.path = "libx.so".to_owned();
            report.arch = arch.into();
            report.level = level.to_owned();
            report.needed_beyond.clear();
            report.needed_features = features.iter().map(|name| (*name).to_owned()).collect();
            let arch = deburr_cpu::level_named(level).unwrap().arch;
            report.runs_on.not = deburr_cpu::cpus_lacking(arch, needed);
        })
    }

    #[test]
    fn header_says_which_cpus_below_the_level_run_the_file() {
        let text = header(&needing("x86_64", "x86-64-v3", &["AVX"]));
        assert!(
            text.starts_with("libx.so: x86_64, needs x86-64-v3 (AVX; runs on sandybridge and "),
            "{text}"
        );
        assert!(text.ends_with(" more CPUs) in crc (0x400)"), "{text}");
        // No known CPU has all that and lacks the level.
        let text = header(&needing("x86_64", "x86-64-v3", &["AVX2", "BMI2", "FMA", "MOVBE"]));
        assert_eq!(text, "libx.so: x86_64, needs x86-64-v3 in crc (0x400)");
        let text = header(&needing("aarch64", "armv8.3-a", &["FEAT_LRCPC"]));
        assert!(text.contains("needs armv8.3-a (FEAT_LRCPC; runs on neoverse-n1"), "{text}");
    }

    #[test]
    fn header_says_which_machines_of_the_level_die() {
        let mut report = needing("x86_64", "x86-64-v1", &[]);
        report.needed_by = None;
        report.runs_on.not = vec!["core2".to_owned()];
        assert_eq!(header(&report), "libx.so: x86_64, dies on core2, of x86-64-v1");
        report.runs_on.not.push("nehalem".to_owned());
        assert_eq!(header(&report), "libx.so: x86_64, dies on core2 and 1 more CPU, of x86-64-v1");
        report.runs_on.not.clear();
        assert_eq!(header(&report), "libx.so: x86_64, runs on x86-64-v1");
        // A CPU that lacks what is needed beyond the level is no machine that it is for.
        report.needed_beyond = vec!["AES".to_owned()];
        report.runs_on.not = vec!["core2".to_owned()];
        assert_eq!(header(&report), "libx.so: x86_64, runs on x86-64-v1 + AES");
    }

    #[test]
    fn functions_are_shown_by_verdict_and_kind_of_check() {
        let mut report = example();
        let required = report.isa_functions[0].clone();
        let guard: Guard = serde_json::from_value(serde_json::json!({
            "kind": "ifunc", "svma": "0x900", "function": "choose", "features": ["FEAT_CRC32"],
        }))
        .unwrap();
        let guard = |kind| {
            let mut guard = guard.clone();
            guard.kind = kind;
            Some(guard)
        };
        let of = |reach, guard| {
            let mut function = required.clone();
            (function.reach, function.guard) = (reach, guard);
            (function.path, function.root) = (Vec::new(), None);
            function
        };
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
    fn unknown_functions_are_one_line_a_cause_with_what_settles_them() {
        let group = |id: &str, count: u64, settled_by: &str| {
            serde_json::from_value(serde_json::json!({
                "id": id, "because": "pointer-stored", "level": "armv8.1-a", "count": count, "svma": "0x5678",
                "function": "choose", "settled_by": settled_by, "stated_as": "[[guard]]\nfunction = \"sum_*\"\n",
                "message": format!("{count} functions up to armv8.1-a are chosen through {id}: not proven"),
            }))
            .unwrap()
        };
        let report = example_with(|report| {
            report.isa_groups = vec![
                group("a", 4875, "guard"),
                group("b", 12, "closure"),
                group("c", 11, "guard"),
                group("d", 10, "run"),
                group("e", 9, "run"),
            ];
        });
        let lines = |verbose| {
            let mut out = Vec::new();
            functions::write(&mut out, &report, &Detail { verbose, ..detail(1) }).unwrap();
            String::from_utf8(out).unwrap().lines().skip(2).map(str::to_owned).collect::<Vec<_>>()
        };
        let brief = lines(false);
        assert_eq!(
            brief[0],
            "    not proven     4875 functions up to armv8.1-a are chosen through a: not proven"
        );
        assert_eq!(brief[3], "    … and 19 functions for 2 other causes (--verbose shows all)");
        assert!(brief[4].starts_with("    To settle 12 functions: --closure"), "{brief:?}");
        assert!(
            brief[5].starts_with("    To settle 4,886 functions: a [[guard]] in deburr.toml"),
            "{brief:?}"
        );
        assert!(brief[6].starts_with("    To settle 19 functions: a run"), "{brief:?}");
        assert_eq!(brief.len(), 7);
        let all = lines(true);
        assert_eq!(all.iter().filter(|line| line.trim() == "[[guard]]").count(), 5, "{all:?}");
    }

    #[test]
    fn path_distinguishes_calls_from_stored_addresses_and_loses_its_middle() {
        let mut report = example();
        let function = &mut report.isa_functions[0];
        let step = |name: &str, is_stored: bool| {
            serde_json::from_value(
                serde_json::json!({"function": name, "svma": "0x10", "is_stored": is_stored}),
            )
            .unwrap()
        };
        function.path = (0..12).map(|index| step(&format!("step_number_{index}"), index == 11)).collect();
        let line = |width| {
            let mut out = Vec::new();
            functions::write(&mut out, &report, &Detail { width, ..detail(1) }).unwrap();
            String::from_utf8(out).unwrap().lines().nth(1).unwrap().to_owned()
        };
        assert!(line(None).ends_with(" → step_number_10 ⇒ step_number_11"), "{}", line(None));
        let short = line(Some(120));
        assert!(short.chars().count() <= 120, "{short}");
        assert!(short.contains(": step_number_0 → step_number_1 → … "), "{short}");
        assert!(short.ends_with(" more … → step_number_10 ⇒ step_number_11"), "{short}");
    }
}
