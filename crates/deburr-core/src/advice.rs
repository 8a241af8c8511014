//! Advice: what a file says of its making, and its findings → the flags that remove them.
//!
//! Each rule owns its remedies; here they are only chosen by compiler and version, and added up. What a flag breaks
//! follows from the level that it needs, by the CPUs that `deburr-cpu` knows.

use crate::remedy::{Compiler, Remedy};
use crate::report::{Advice, Build, PlacedFinding, Report};
use crate::rule;
use deburr_cpu::{FeatureSet, cpus_having, cpus_lacking, level_named};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A compiler that took part, and its version as major and minor.
type Made = (Compiler, (u32, u32));

/// Chooses flags for the findings that a report has now. `target` is what every machine has that the file will run on:
/// flags that would break it are left out.
pub fn advise(report: &Report, target: Option<FeatureSet>) -> Vec<Advice> {
    advise_on(&report.arch, &report.build, &report.findings, target)
}

fn advise_on(
    arch: &str,
    build: &Build,
    findings: &[PlacedFinding],
    target: Option<FeatureSet>,
) -> Vec<Advice> {
    let mut by_rule: BTreeMap<&str, Vec<&PlacedFinding>> = BTreeMap::new();
    for finding in findings {
        by_rule.entry(&finding.rule).or_default().push(finding);
    }
    let made = compilers(build);
    let mut all: Vec<Advice> = Vec::new();
    for (id, findings) in by_rule {
        for remedy in rule::find(id).map_or(&[][..], |rule| rule.remedies) {
            let removed = findings.iter().filter(|finding| remedy.removes(&finding.evidence)).count() as u64;
            let level = remedy.needs.and_then(level_named);
            let lacks = |has: FeatureSet| level.is_some_and(|level| !level.features.is_subset(has));
            let is_elsewhere = level.is_some_and(|level| level.arch.name() != arch);
            if removed == 0 || is_elsewhere || target.is_some_and(lacks) {
                continue;
            }
            let Some(compiler) = named(remedy, &made) else { continue };
            let same = |advice: &&mut Advice| (&*advice.flags, &advice.compiler) == (remedy.flags, &compiler);
            if let Some(advice) = all.iter_mut().find(same) {
                if !advice.rules.iter().any(|rule| rule == id) {
                    advice.rules.push(id.to_owned().into());
                }
                advice.findings += removed;
                continue;
            }
            // Where the target is stated, its machines have what the flags need.
            let new_need = level.filter(|_| target.is_none());
            let (breaks, oldest) = match new_need {
                Some(level) => {
                    let having = cpus_having(level.arch, level.features);
                    (cpus_lacking(level.arch, level.features), having.into_iter().next())
                }
                None => (Vec::new(), None),
            };
            all.push(Advice {
                compiler,
                flags: remedy.flags.into(),
                rules: vec![id.to_owned().into()],
                findings: removed,
                needs: remedy.needs.map(Cow::Borrowed),
                breaks,
                oldest,
            });
        }
    }
    // What removes most comes first, and of that what breaks nothing.
    all.sort_by_key(|advice| (std::cmp::Reverse(advice.findings), advice.needs.is_some()));
    all
}

/// The compiler that a remedy is for, with its version, if it made the file. Stripped files often do not say: then it
/// is gcc, the one that most of them are made with.
fn named(remedy: &Remedy, made: &[Made]) -> Option<String> {
    let Remedy { compiler, since, .. } = *remedy;
    let found = made.iter().find(|(made, _)| *made == compiler);
    let (major, minor) = match found {
        Some(&(_, version)) if version >= since => version,
        None if !made.is_empty() || compiler != Compiler::Gcc => return None,
        _ => return Some(format!("{} {} or later", compiler.name(), version_text(compiler, since))),
    };
    Some(format!("{} {}", compiler.name(), version_text(compiler, (major, minor))))
}

/// A version as far as it matters: gcc and clang count by major numbers.
fn version_text(compiler: Compiler, (major, minor): (u32, u32)) -> String {
    match compiler {
        Compiler::Gcc | Compiler::Clang if major >= 5 => major.to_string(),
        _ => format!("{major}.{minor}"),
    }
}

/// The compilers that took part, each with its newest version. Debug information names those of the program itself;
/// `.comment` also those of the C library's start-up files, which gcc made.
fn compilers(build: &Build) -> Vec<Made> {
    let go =
        build.go_version.as_deref().and_then(|text| Some((Compiler::Go, version(text.strip_prefix("go")?)?)));
    let of = |texts: &[String]| texts.iter().filter_map(|text| compiler(text)).collect::<Vec<Made>>();
    let mut made = of(&build.producers);
    if made.is_empty() {
        made = of(&build.compilers);
        if made.iter().any(|(compiler, _)| *compiler != Compiler::Gcc) || go.is_some() {
            made.retain(|(compiler, _)| *compiler != Compiler::Gcc);
        }
    }
    made.extend(go);
    made.sort_by_key(|&(compiler, version)| (compiler, std::cmp::Reverse(version)));
    made.dedup_by_key(|(compiler, _)| *compiler);
    made
}

/// The compiler that a line of `.comment` or a `DW_AT_producer` names.
fn compiler(text: &str) -> Option<Made> {
    let after = |mark: &str| text.split_once(mark).map(|(_, rest)| rest);
    if let Some(rest) = after("rustc version ") {
        return Some((Compiler::Rustc, version(rest)?));
    }
    if let Some(rest) = after("clang version ") {
        return Some((Compiler::Clang, version(rest)?));
    }
    // `Go cmd/compile go1.26.8; regabi`; without a version where only Go's function table says so.
    if text.starts_with("Go ") {
        return Some((Compiler::Go, after("cmd/compile go").and_then(version).unwrap_or_default()));
    }
    // `GCC: (Debian 12.2.0-14) 12.2.0`
    if text.starts_with("GCC: ") {
        return Some((Compiler::Gcc, version(text.rsplit(") ").next()?)?));
    }
    // `GNU C17 12.2.0 -mlittle-endian -O2`; the assembler is `GNU AS`.
    let rest = text.strip_prefix("GNU ").filter(|rest| !rest.starts_with("AS "))?;
    Some((Compiler::Gcc, rest.split(' ').find_map(version)?))
}

/// `12.2.0` → (12, 2).
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    let major = numbers.next()?.parse().ok()?;
    let minor = text.split_once('.').and_then(|_| numbers.next()?.parse().ok())?;
    Some((major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Evidence, Severity, Value};
    use crate::report::Hex;

    #[test]
    fn compiler_is_recognised_by_what_it_writes() {
        for (text, expected) in [
            ("GCC: (Debian 12.2.0-14) 12.2.0", Some((Compiler::Gcc, (12, 2)))),
            ("GCC: (GNU) 4.8.5 20150623 (Red Hat 4.8.5-44)", Some((Compiler::Gcc, (4, 8)))),
            ("GNU C17 12.2.0 -mlittle-endian -O2", Some((Compiler::Gcc, (12, 2)))),
            ("GNU GIMPLE 13.1.1 20230614 -O3", Some((Compiler::Gcc, (13, 1)))),
            ("GNU AS 2.40", None),
            ("Debian clang version 14.0.6", Some((Compiler::Clang, (14, 0)))),
            ("clang version 16.0.6 (Fedora 16.0.6-3)", Some((Compiler::Clang, (16, 0)))),
            ("clang LLVM (rustc version 1.75.0 (82e1608df 2023-12-21))", Some((Compiler::Rustc, (1, 75)))),
            ("rustc version 1.90.0-nightly (abc 2025-08-01)", Some((Compiler::Rustc, (1, 90)))),
            ("Go cmd/compile go1.26.8; regabi", Some((Compiler::Go, (1, 26)))),
            ("Go (version unknown)", Some((Compiler::Go, (0, 0)))),
            ("Linker: LLD 16.0.6", None),
            ("GCC: ", None),
            ("", None),
        ] {
            assert_eq!(compiler(text), expected, "{text}");
        }
    }

    fn build(compilers: &[&str], producers: &[&str], go: Option<&str>) -> Build {
        let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Build {
            compilers: list(compilers),
            producers: list(producers),
            go_version: go.map(str::to_owned),
            ..Build::default()
        }
    }

    #[test]
    fn start_up_files_do_not_hide_who_made_the_program() {
        let of = |build: &Build| compilers(build).into_iter().map(|(made, _)| made).collect::<Vec<_>>();
        let gcc = "GCC: (Debian 12.2.0-14) 12.2.0";
        assert_eq!(of(&build(&[gcc, "rustc version 1.75.0 (8 2023)"], &[], None)), [Compiler::Rustc]);
        assert_eq!(of(&build(&[gcc], &["clang version 16.0.6"], None)), [Compiler::Clang]);
        assert_eq!(of(&build(&[gcc], &[], Some("go1.22.1"))), [Compiler::Go]);
        assert_eq!(
            of(&build(&[gcc], &["GNU C17 12.2.0 -O2"], Some("go1.22.1"))),
            [Compiler::Gcc, Compiler::Go]
        );
        assert_eq!(
            compilers(&build(&["GCC: (GNU) 9.4.0", gcc], &[], None)),
            [(Compiler::Gcc, (12, 2))],
            "the newest counts"
        );
    }

    #[test]
    fn remedy_is_named_for_the_version_found_or_for_the_first_that_has_it() {
        let remedy = |compiler, since| Remedy::new(compiler, since, "-f");
        let gcc = |since| remedy(Compiler::Gcc, since);
        assert_eq!(named(&gcc((10, 1)), &[(Compiler::Gcc, (12, 2))]).as_deref(), Some("gcc 12"));
        assert_eq!(named(&gcc((10, 1)), &[(Compiler::Gcc, (9, 4))]).as_deref(), Some("gcc 10 or later"));
        assert_eq!(named(&gcc((10, 1)), &[]).as_deref(), Some("gcc 10 or later"));
        assert_eq!(named(&gcc((10, 1)), &[(Compiler::Clang, (16, 0))]), None);
        let go = remedy(Compiler::Go, (1, 23));
        assert_eq!(named(&go, &[(Compiler::Go, (1, 22))]).as_deref(), Some("Go 1.23 or later"));
        assert_eq!(named(&go, &[]), None);
    }

    fn found(rule: &'static str, evidence: (&'static str, Value)) -> PlacedFinding {
        PlacedFinding {
            rule: rule.into(),
            severity: Severity::Warning,
            function: None,
            near: None,
            svma: Hex(0),
            section: None,
            extent: 4,
            source: None,
            message: "".into(),
            evidence: Evidence::from([evidence]),
        }
    }

    #[test]
    fn flags_count_what_they_remove_and_no_more() {
        let text = |text: &str| Value::Text(text.into());
        let build = build(&["GCC: (GNU) 12.2.0"], &[], None);
        let findings = [
            found("llsc-loop", ("written_by_hand", Value::Flag(true))),
            found("llsc-loop", ("written_by_hand", Value::Flag(false))),
            found("barrier-around-atomic", ("kind", text("sync-builtin"))),
            found("barrier-around-atomic", ("kind", text("lock-test-and-set"))),
            found("barrier-around-atomic", ("kind", text("both-sides"))),
        ];
        let advised = |target| {
            let advice = advise_on("aarch64", &build, &findings, target).into_iter();
            let shown = |rules: Vec<Cow<'static, str>>| rules.join(" ");
            advice
                .map(|it| (it.flags.into_owned(), shown(it.rules), it.findings, it.oldest))
                .collect::<Vec<_>>()
        };
        let level = |name| level_named(name).map(|level| level.features);
        let outline = ("-moutline-atomics".to_owned(), "llsc-loop".to_owned(), 1, None);
        let both = "barrier-around-atomic llsc-loop".to_owned();
        let one = |oldest| ("-march=armv8.1-a".to_owned(), both.clone(), 3, oldest);
        assert_eq!(advised(None), [one(Some("thunderx2".to_owned())), outline.clone()]);
        assert_eq!(advised(level("armv8.2-a")), [one(None), outline.clone()]);
        assert_eq!(advised(level("armv8.0-a")), [outline], "a target is not to be broken");
    }

    #[test]
    fn levels_that_remedies_need_are_levels() {
        for rule in rule::RULES {
            for remedy in rule.remedies {
                assert!(remedy.needs.is_none_or(|name| level_named(name).is_some()), "{}", rule.id);
                assert!(!remedy.flags.is_empty() || remedy.since > (0, 0), "{}: does nothing", rule.id);
            }
        }
    }
}
