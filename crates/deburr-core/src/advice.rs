//! Advice: what a file says of its making, and its findings → the flags that remove them.
//!
//! Each rule owns its remedies; here they are only chosen by compiler and version, and added up. What a flag breaks
//! follows from the level that it needs, by the CPUs that `deburr-cpu` knows.

use crate::finding::Value;
use crate::remedy::{BUILD_FOR, Compiler, Maker, Remedy, version};
use crate::report::{Advice, Build, PlacedFinding, Report};
use crate::rule;
use deburr_cpu::{FeatureSet, Level, cpus_having, cpus_lacking, level_named};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The rule that a file needs more than its note says.
const NOTE_MISSING: &str = "isa-note-missing";

/// Chooses flags for the findings that a report has now. `target` is what every machine has that the file will run on:
/// flags that would break it are left out. Code made at run time has none: its compiler is the program that made it.
pub fn advise(report: &Report, target: Option<FeatureSet>) -> Vec<Advice> {
    if report.made_at_run_time {
        return Vec::new();
    }
    advise_on(&report.arch, &report.build, &report.findings, target)
}

fn advise_on(
    arch: &str,
    build: &Build,
    findings: &[PlacedFinding],
    target: Option<FeatureSet>,
) -> Vec<Advice> {
    let mut by_rule: BTreeMap<&str, Vec<&PlacedFinding>> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.counted) {
        by_rule.entry(&finding.rule).or_default().push(finding);
    }
    let mut made = compilers(build);
    let is_go = |maker: &Maker| maker.compiler == Compiler::Go;
    // Where Go's own functions say so, the others are not Go's.
    if findings.iter().filter_map(|finding| finding.compiler.as_ref()).any(is_go) {
        made.retain(|maker| !is_go(maker));
    }
    // A note would only say that the file was built for the wrong machines.
    let is_leaked = |finding: &PlacedFinding| finding.evidence.get(BUILD_FOR).is_some();
    if findings.iter().any(|finding| finding.rule != NOTE_MISSING && is_leaked(finding)) {
        by_rule.remove(NOTE_MISSING);
    }
    let is_for_level = |remedy: &Remedy| remedy.only.is_some_and(|(key, _)| key == BUILD_FOR);
    let mut all: Vec<Advice> = Vec::new();
    for (id, findings) in by_rule {
        let remedies = rule::find(id).map_or(&[][..], |rule| rule.remedies);
        for remedy in remedies {
            let level = remedy.needs.and_then(level_named);
            let lacks = |has: FeatureSet| level.is_some_and(|level| !level.features.is_subset(has));
            let is_elsewhere = level.is_some_and(|level| level.arch.name() != arch);
            if is_elsewhere || target.is_some_and(lacks) {
                continue;
            }
            // One function's compiler need not be the next one's.
            let mut by_compiler: BTreeMap<String, u64> = BTreeMap::new();
            let is_removed = |finding: &&&PlacedFinding| {
                // Of a leaked flag a note would only say where the file does not run.
                let is_note = id == NOTE_MISSING && is_leaked(finding) && !is_for_level(remedy);
                remedy.removes(&finding.evidence) && !is_note
            };
            for finding in findings.iter().filter(is_removed) {
                if let Some(compiler) = named(remedy, finding.compiler, &made) {
                    *by_compiler.entry(compiler).or_default() += 1;
                }
            }
            for (compiler, removed) in by_compiler {
                // Where the target is stated, its machines have what the flags need.
                add(&mut all, remedy, compiler, (id, removed), level.filter(|_| target.is_none()));
            }
        }
        let is_by_hand = |finding: &&&PlacedFinding| {
            let is_inline = finding.evidence.get("written_by_hand") == Some(&Value::Flag(true));
            is_inline || finding.compiler.is_some_and(|maker| maker.compiler == Compiler::Assembler)
        };
        let by_hand = findings.iter().filter(is_by_hand).count() as u64;
        // Assembly for newer machines lacks a check, not another source.
        if by_hand > 0 && !remedies.iter().all(is_for_level) {
            let source = Remedy::new(Compiler::Assembler, (0, 0), "");
            add(&mut all, &source, Compiler::Assembler.name().to_owned(), (id, by_hand), None);
        }
    }
    // What removes most comes first, and of that what breaks nothing.
    all.sort_by_key(|advice| (std::cmp::Reverse(advice.findings), advice.needs.is_some()));
    all
}

/// Adds what a remedy does for findings of a rule to those of others with the same flags.
fn add(
    all: &mut Vec<Advice>,
    remedy: &Remedy,
    compiler: String,
    (id, removed): (&str, u64),
    new_need: Option<&Level>,
) {
    let same = |advice: &&mut Advice| (&*advice.flags, &advice.compiler) == (remedy.flags, &compiler);
    if let Some(advice) = all.iter_mut().find(same) {
        if !advice.rules.iter().any(|rule| rule == id) {
            advice.rules.push(id.to_owned().into());
        }
        *advice.removes.entry(id.to_owned().into()).or_default() += removed;
        advice.findings += removed;
        return;
    }
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
        without: remedy.without.map(Cow::Borrowed),
        rules: vec![id.to_owned().into()],
        findings: removed,
        removes: BTreeMap::from([(id.to_owned().into(), removed)]),
        needs: remedy.needs.map(Cow::Borrowed),
        breaks,
        oldest,
    });
}

/// The compiler that a remedy is for, with its version, if it made what is found. `maker`: what made the function, where
/// the file tells. Otherwise it is the only compiler of the file, and of several none is claimed. Stripped files often do not
/// say: then it is gcc, the one that most of them are made with.
fn named(remedy: &Remedy, maker: Option<Maker>, made: &[Maker]) -> Option<String> {
    let Remedy { compiler, since, .. } = *remedy;
    let found = match (maker, made) {
        (Some(maker), _) => maker,
        (None, [only]) => *only,
        (None, []) => Maker { compiler: Compiler::Gcc, version: None },
        (None, _) => return None,
    };
    if found.compiler != compiler {
        return None;
    }
    match found.version_or_first() {
        version if version >= since => {
            Some(format!("{} {}", compiler.name(), version_text(compiler, version)))
        }
        _ => Some(format!("{} {} or later", compiler.name(), version_text(compiler, since))),
    }
}

/// A version as far as it matters: gcc and clang count by major numbers.
fn version_text(compiler: Compiler, (major, minor): (u32, u32)) -> String {
    match compiler {
        Compiler::Gcc | Compiler::Clang if major >= 5 => major.to_string(),
        _ => format!("{major}.{minor}"),
    }
}

/// The compilers that took part, each with its newest version. Debug information names those of the program itself;
/// `.comment` also those of the C library's start-up files, which gcc made: next to clang, gcc may have made more of the program.
/// An assembler is no compiler.
fn compilers(build: &Build) -> Vec<Maker> {
    let stated = build.go_version.as_deref().and_then(|text| version(text.strip_prefix("go")?));
    let go = (build.is_go || stated.is_some()).then_some(Maker { compiler: Compiler::Go, version: stated });
    let is_compiler = |maker: &Maker| maker.compiler != Compiler::Assembler;
    let mut made: Vec<Maker> = Maker::of_producers(&build.producers).filter(is_compiler).collect();
    if made.is_empty() {
        made = build.compilers.iter().filter_map(|text| Maker::parse(text)).filter(is_compiler).collect();
        let is_other = |maker: &Maker| !matches!(maker.compiler, Compiler::Gcc | Compiler::Clang);
        if made.iter().any(is_other) || go.is_some() {
            made.retain(|maker| maker.compiler != Compiler::Gcc);
        }
    }
    made.extend(go);
    made.sort_by_key(|maker| (maker.compiler, std::cmp::Reverse(maker.version)));
    made.dedup_by_key(|maker| maker.compiler);
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Evidence, Severity, Value};
    use crate::report::Hex;

    #[test]
    fn compiler_is_recognised_by_what_it_writes() {
        for (text, expected) in [
            ("Go cmd/compile go1.22.1; regabi", Some((Compiler::Go, (1, 22)))),
            ("GCC: (Debian 12.2.0-14) 12.2.0", Some((Compiler::Gcc, (12, 2)))),
            ("GCC: (GNU) 4.8.5 20150623 (Red Hat 4.8.5-44)", Some((Compiler::Gcc, (4, 8)))),
            ("GNU C17 12.2.0 -mlittle-endian -O2", Some((Compiler::Gcc, (12, 2)))),
            ("GNU GIMPLE 13.1.1 20230614 -O3", Some((Compiler::Gcc, (13, 1)))),
            ("Debian clang version 14.0.6", Some((Compiler::Clang, (14, 0)))),
            ("clang version 16.0.6 (Fedora 16.0.6-3)", Some((Compiler::Clang, (16, 0)))),
            ("clang LLVM (rustc version 1.75.0 (82e1608df 2023-12-21))", Some((Compiler::Rustc, (1, 75)))),
            ("rustc version 1.90.0-nightly (abc 2025-08-01)", Some((Compiler::Rustc, (1, 90)))),
            ("Linker: LLD 16.0.6", None),
            ("GCC: ", None),
            ("", None),
        ] {
            let expected = expected.map(|(compiler, version)| Maker { compiler, version: Some(version) });
            assert_eq!(Maker::parse(text), expected, "{text}");
        }
        let zig = |version| Some(Maker { compiler: Compiler::Zig, version });
        assert_eq!(Maker::parse("zig 0.13.0"), zig(Some((0, 13))));
        let clang = "clang version 18.1.6 (https://github.com/ziglang/zig-bootstrap 98bc6bf4)";
        assert_eq!(["zig (version unknown)", clang].map(Maker::parse), [zig(None); 2]);
        let assembler = Some(Maker { compiler: Compiler::Assembler, version: None });
        assert_eq!(["GNU AS 2.40", "NASM 2.16.01", "yasm 1.3.0"].map(Maker::parse), [assembler; 3]);
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
        let of = |build: &Build| compilers(build).iter().map(|maker| maker.compiler).collect::<Vec<_>>();
        let gcc = "GCC: (Debian 12.2.0-14) 12.2.0";
        let gcc_12 = Maker { compiler: Compiler::Gcc, version: Some((12, 2)) };
        assert_eq!(of(&build(&[gcc, "rustc version 1.75.0 (8 2023)"], &[], None)), [Compiler::Rustc]);
        let clang = "clang version 16.0.6";
        assert_eq!(of(&build(&[gcc], &[clang], None)), [Compiler::Clang]);
        assert_eq!(of(&build(&[gcc, clang], &[], None)), [Compiler::Gcc, Compiler::Clang], "either");
        let libgcc = "GNU C17 12.2.0 -O2 -fbuilding-libgcc -fpic";
        assert_eq!(of(&build(&[gcc, clang], &[libgcc, clang], None)), [Compiler::Clang]);
        assert_eq!(of(&build(&[gcc, clang], &[libgcc], None)), [Compiler::Gcc, Compiler::Clang]);
        assert_eq!(of(&build(&[gcc], &[libgcc], None)), [Compiler::Gcc]);
        assert_eq!(of(&build(&[gcc], &[], Some("go1.22.1"))), [Compiler::Go]);
        assert_eq!(
            of(&build(&[gcc], &["GNU C17 12.2.0 -O2"], Some("go1.22.1"))),
            [Compiler::Gcc, Compiler::Go]
        );
        assert_eq!(compilers(&build(&["GCC: (GNU) 9.4.0", gcc], &[], None)), [gcc_12], "the newest counts");
    }

    #[test]
    fn remedy_is_named_for_the_version_found_or_for_the_first_that_has_it() {
        let remedy = |compiler, since| Remedy::new(compiler, since, "-f");
        let gcc = |since| remedy(Compiler::Gcc, since);
        let by = |compiler, version| Maker { compiler, version: Some(version) };
        let (gcc_12, clang_16) = (by(Compiler::Gcc, (12, 2)), by(Compiler::Clang, (16, 0)));
        assert_eq!(named(&gcc((10, 1)), None, &[gcc_12]).as_deref(), Some("gcc 12"));
        let old = named(&gcc((10, 1)), None, &[by(Compiler::Gcc, (9, 4))]);
        assert_eq!(old.as_deref(), Some("gcc 10 or later"));
        assert_eq!(named(&gcc((10, 1)), None, &[]).as_deref(), Some("gcc 10 or later"));
        assert_eq!(named(&gcc((10, 1)), None, &[clang_16]), None);
        let go = remedy(Compiler::Go, (1, 23));
        assert_eq!(named(&go, None, &[by(Compiler::Go, (1, 22))]).as_deref(), Some("Go 1.23 or later"));
        let unknown = Maker { compiler: Compiler::Go, version: None };
        assert_eq!(named(&go, None, &[unknown]).as_deref(), Some("Go 1.23 or later"));
        assert_eq!(named(&go, None, &[]), None);
        // Of several compilers, the function's counts, and none where that is not known.
        let both = [gcc_12, clang_16];
        assert_eq!(named(&gcc((10, 1)), Some(gcc_12), &both).as_deref(), Some("gcc 12"));
        assert_eq!(named(&gcc((10, 1)), Some(clang_16), &both), None);
        assert_eq!(named(&gcc((10, 1)), None, &both), None);
        let assembler = Maker { compiler: Compiler::Assembler, version: None };
        assert_eq!(named(&gcc((10, 1)), Some(assembler), &[gcc_12]), None);
    }

    #[test]
    fn a_stripped_go_program_gets_no_flag_of_gcc() {
        let build =
            Build { is_go: true, compilers: vec!["GCC: (GNU) 12.2.0".to_owned()], ..Build::default() };
        let findings = [found("llsc-loop", ("written_by_hand", Value::Flag(false)))];
        let advice = advise_on("aarch64", &build, &findings, None);
        let flags: Vec<_> = advice.iter().map(|it| (it.compiler.as_str(), &*it.flags)).collect();
        assert_eq!(flags, [("Go 1.23 or later", "GOARM64=v8.1")]);
    }

    #[test]
    fn each_function_gets_the_flag_of_its_compiler_and_assembly_none() {
        let of = |maker: &str| {
            let compiler = serde_json::from_value(serde_json::Value::from(maker)).unwrap();
            let flag = ("written_by_hand", Value::Flag(false));
            PlacedFinding { compiler: Some(compiler), ..found("llsc-loop", flag) }
        };
        let findings = [of("gcc 12.2"), of("rustc 1.75"), of("rustc 1.75"), of("assembler")];
        let build = build(&[], &["GNU C17 12.2.0", "clang LLVM (rustc version 1.75.0)", "GNU AS 2.40"], None);
        let advice = advise_on("aarch64", &build, &findings, None);
        let flags: Vec<_> = advice.iter().map(|it| (it.compiler.as_str(), &*it.flags, it.findings)).collect();
        let expected = [
            ("rustc 1.75", "-C target-feature=+lse", 2),
            ("gcc 12", "-moutline-atomics", 1),
            ("assembler", "", 1),
            ("gcc 12", "-march=armv8.1-a", 1),
        ];
        assert_eq!(flags, expected);
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
            in_loop: false,
            calls: 0,
            weight: None,
            callers: Vec::new(),
            compiler: None,
            origin: None,
            counted: true,
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
        let by_hand = ("".to_owned(), "llsc-loop".to_owned(), 1, None);
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
        assert_eq!(advised(None), [one(Some("thunderx2".to_owned())), outline.clone(), by_hand.clone()]);
        assert_eq!(advised(level("armv8.2-a")), [one(None), outline.clone(), by_hand.clone()]);
        assert_eq!(advised(level("armv8.0-a")), [outline, by_hand], "a target is not to be broken");
    }

    #[test]
    fn what_was_built_for_a_newer_machine_is_to_be_built_without_the_flag() {
        let leaked = |rule| found(rule, (BUILD_FOR, Value::Text("x86-64-v1".into())));
        let advised = |producer: &str, findings: &[PlacedFinding]| {
            let build = build(&["Linker: LLD 18.1.6"], &[producer], None);
            let shown = |it: Advice| (it.compiler, it.flags.into_owned(), it.without, it.findings);
            let advice = advise_on("x86_64", &build, findings, None);
            advice.into_iter().map(shown).collect::<Vec<_>>()
        };
        let without = |flags: &'static str| Some(Cow::Borrowed(flags));
        let both = [leaked("above-baseline"), leaked("above-baseline"), leaked(NOTE_MISSING)];
        for (producer, compiler, flags, native) in [
            ("GNU C17 12.2.0 -O2", "gcc 12", "-march=x86-64", "-march=native"),
            ("clang version 16.0.6", "clang 16", "-march=x86-64", "-march=native"),
            (
                "clang LLVM (rustc version 1.75.0)",
                "rustc 1.75",
                "-C target-cpu=x86-64",
                "-C target-cpu=native",
            ),
            ("zig 0.13.0", "Zig 0.13", "-Dcpu=baseline", "-Dcpu=native, its default"),
        ] {
            let expected = (compiler.to_owned(), flags.to_owned(), without(native), 2);
            assert_eq!(advised(producer, &both), [expected], "a note helps no machine");
        }
        assert_eq!(advised("zig (version unknown)", &both)[0].0, "Zig 0.6 or later");
        let flags = |finding| {
            let advice = advised("GNU C17 12.2.0 -O2", &[finding]);
            advice.into_iter().map(|(_, flags, ..)| flags).collect::<Vec<_>>()
        };
        assert_eq!(flags(leaked(NOTE_MISSING)), ["-march=x86-64"], "held to nothing");
        let level = ("level", Value::Text("x86-64-v3".into()));
        assert_eq!(flags(found(NOTE_MISSING, level)), ["-mneeded"], "a level that is meant");
        assert!(rule::find(NOTE_MISSING).is_some());
    }

    #[test]
    fn levels_to_build_for_are_levels() {
        for remedy in crate::remedy::LOWER {
            let level = remedy.only.filter(|(key, _)| *key == BUILD_FOR).map(|(_, level)| level);
            assert!(level.is_some_and(|level| level_named(level).is_some()), "{}", remedy.flags);
        }
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
