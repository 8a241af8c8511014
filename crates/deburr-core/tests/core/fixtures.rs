//! Every fixture, checked: a `hit-*` has findings of its rule on the marked lines (`//~ rule-id`) and on no
//! others, a `miss-*` has none. Lines come from the fixtures' own DWARF, so this tests those too.

use deburr_core::finding::{Severity, Value};
use deburr_core::report::{PlacedFinding, Report, grouped};
use deburr_core::rule::FileFacts;
use deburr_core::{Request, StatedClaim, across, check};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn fixtures(rule_id: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(rule_id.replace('-', "_"));
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut sources: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "s"));
    sources.sort();
    assert!(!sources.is_empty(), "{}: no fixtures", folder.display());
    sources
}

/// Rules whose findings are of functions, of files or of packages, and not of marked lines.
const OF_OTHER_TESTS: [&str; 3] = ["above-baseline", "claim-unused", "scalar-twin"];

/// The findings of one rule in a fixture's object, under the options that its source states.
fn findings(rule_id: &str, source: &Path) -> Vec<PlacedFinding> {
    report(rule_id, source).findings
}

/// The report on a fixture's object, under the options that its source states.
fn report(rule_id: &str, source: &Path) -> Report {
    let text = fs::read_to_string(source).unwrap();
    let stated = |option: &str| {
        let name = text.split(option).nth(1).and_then(|rest| rest.split_whitespace().next());
        name.map(|name| deburr_cpu::Target::parse(name).unwrap())
    };
    let claimed = stated("deburr: --claim ");
    // Bytes of the largest pages of which the claim says something.
    let page = text.split("deburr: --page ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let page = page.map(|page| page.parse::<u64>().unwrap());
    // The oldest glibc of which it says something: `2.17`.
    let glibc = text.split("deburr: --glibc ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let glibc = glibc.and_then(|glibc| glibc.split_once('.'));
    let glibc = glibc.map(|(major, minor)| (major.parse().unwrap(), minor.parse().unwrap()));
    // A minor version of Python that it is for.
    let python = text.split("deburr: --python ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let pythons = python.map_or(0, |minor| 1 << minor.parse::<u32>().unwrap());
    let claim = claimed.as_ref().map(|level| StatedClaim {
        part: "p",
        text: "says (here)",
        level: &level.name,
        raised: None,
        largest_page: page,
        oldest_glibc: glibc,
        pythons,
    });
    let baseline = stated("deburr: --baseline ").or_else(|| claimed.clone()).map(|machine| machine.features);
    let machine = stated("deburr: --target ");
    let (target, target_cpu) =
        (machine.as_ref().map(|it| it.features), machine.as_ref().and_then(|it| it.cpu()));
    let object = fs::read(source.with_extension("o")).unwrap();
    let named: &[&str] = if text.contains("deburr: --select") { &[rule_id] } else { &[] };
    let rules: Option<&[&str]> = Some(&[rule_id]);
    let request = Request { baseline, claim, target, target_cpu, rules, named, ..Request::default() };
    check(&object, &request).unwrap_or_else(|error| panic!("{}: {error}", source.display()))
}

/// The numbers of the lines marked for a rule.
fn marked(rule_id: &str, source: &Path) -> BTreeSet<u32> {
    let mark = format!("//~ {rule_id}");
    let text = fs::read_to_string(source).unwrap();
    (1..).zip(text.lines()).filter(|(_, line)| line.contains(&mark)).map(|(number, _)| number).collect()
}

fn line(finding: &PlacedFinding) -> u32 {
    finding.source.as_ref().map_or(0, |source| source.line)
}

#[test]
fn marked_lines_and_no_others_are_reported() {
    let mut faults = Vec::new();
    let rules = deburr_core::rule::RULES.iter().map(|rule| rule.id);
    for rule_id in rules.filter(|id| !OF_OTHER_TESTS.contains(id)) {
        for source in fixtures(rule_id) {
            let expected = marked(rule_id, &source);
            let found: Vec<u32> = findings(rule_id, &source).iter().map(line).collect();
            if !found.iter().copied().eq(expected.iter().copied()) {
                faults.push(format!("{}: marked {expected:?}, found {found:?}", source.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A key or a word misspelt would leave users without the advice, and say nothing.
#[test]
fn remedies_for_some_findings_find_them_in_fixtures() {
    for rule in deburr_core::rule::RULES {
        let picky: Vec<_> = rule.remedies.iter().filter(|remedy| remedy.only.is_some()).collect();
        if picky.is_empty() {
            continue;
        }
        let found: Vec<_> = fixtures(rule.id).iter().flat_map(|source| findings(rule.id, source)).collect();
        assert!(
            picky.iter().any(|remedy| found.iter().any(|it| remedy.removes(&it.evidence))),
            "{}",
            rule.id
        );
        for (key, word) in picky.iter().filter_map(|remedy| remedy.only) {
            let is_said = |it: &PlacedFinding| it.evidence.get(key) == Some(&Value::Text(word.into()));
            let is_level = deburr_cpu::level_named(word).is_some();
            assert!(is_level || found.iter().any(is_said), "{}: {key} {word}", rule.id);
        }
    }
}

/// `above-baseline` reports functions: at the first marked instruction, or where they are chosen, with the count of all.
#[test]
fn functions_above_the_baseline_are_reported_with_all_their_instructions() {
    let mut faults = Vec::new();
    for source in fixtures("above-baseline") {
        let expected = marked("above-baseline", &source);
        let found = findings("above-baseline", &source);
        let count = |finding: &PlacedFinding| match finding.evidence.get("instructions") {
            Some(Value::Number(count)) => *count,
            _ => 0,
        };
        let all: u64 = found.iter().map(count).sum();
        // What is unknown is reported where it is chosen.
        let is_placed = |finding: &PlacedFinding| {
            finding.evidence.get("group").is_some() || expected.contains(&line(finding))
        };
        if all != expected.len() as u64 || !found.iter().all(is_placed) {
            let found: Vec<_> = found.iter().map(|finding| (line(finding), count(finding))).collect();
            faults.push(format!("{}: marked {expected:?}, found {found:?}", source.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_claim_that_no_code_uses_is_noted_for_the_package() {
    for source in fixtures("claim-unused") {
        let facts = report("claim-unused", &source).facts.expect("facts of a file that is held to a claim");
        let found = across(&[facts], Some(&["claim-unused"]));
        assert_eq!(found.len(), marked("claim-unused", &source).len(), "{}: {found:?}", source.display());
        assert!(
            found.iter().all(|finding| finding.severity == Severity::Note && &*finding.other.path == "p")
        );
    }
}

#[test]
fn a_claim_is_broken_by_what_a_baseline_of_its_level_reports() {
    let mut broken = 0;
    for source in fixtures("above-baseline") {
        let text = fs::read_to_string(&source).unwrap();
        let name = text.split("deburr: --baseline ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let Some(level) = name.map(|name| deburr_cpu::Target::parse(name).unwrap()) else { continue };
        let object = fs::read(source.with_extension("o")).unwrap();
        let claim = Some(StatedClaim {
            part: "p",
            text: "says (here)",
            level: &level.name,
            raised: None,
            largest_page: None,
            oldest_glibc: None,
            pythons: 0,
        });
        let rules: Option<&[&str]> = Some(&["above-baseline", "claim-exceeded", "claim-unused"]);
        let baseline = Some(level.features);
        let of_baseline = check(&object, &Request { baseline, rules, ..Request::default() }).unwrap();
        let held =
            check(&object, &Request { baseline, claim, rules, strict: true, ..Request::default() }).unwrap();
        let proven = check(&object, &Request { baseline, claim, rules, ..Request::default() }).unwrap();
        assert!(proven.findings.iter().all(|finding| finding.severity == Severity::Error));
        // A note on what no known CPU dies of breaks no promise; one on what is not proven may.
        let broken_or_not_proven = of_baseline.findings.iter().filter(|finding| {
            finding.severity == Severity::Error || finding.evidence.get("because").is_some()
        });
        let expected: Vec<_> =
            broken_or_not_proven.map(|finding| ("claim-exceeded", finding.severity, finding.svma)).collect();
        let found: Vec<_> =
            held.findings.iter().map(|finding| (&*finding.rule, finding.severity, finding.svma)).collect();
        assert_eq!(found, expected, "{}", source.display());
        broken += found.len();
        let said = held.findings.iter().all(|finding| {
            finding.message.starts_with("claimed is ") && finding.message.contains(", says (here): ")
        });
        assert!(said, "{:?}", held.findings);
        assert_eq!(held.claim.map(|claim| claim.level), Some(level.name));
    }
    assert!(broken > 5);
}

/// The severity, the message and the evidence of the only finding in a fixture of `above-baseline`.
fn verdict(name: &str) -> PlacedFinding {
    let mut found = findings("above-baseline", &fixture("above-baseline", name));
    assert_eq!(found.len(), 1, "{name}: {found:?}");
    found.remove(0)
}

#[test]
fn function_without_a_check_is_an_error_with_its_path() {
    let found = verdict("hit-popcnt.s");
    assert_eq!(found.severity, Severity::Error);
    assert_eq!(&*found.message, "POPCNT without a check: population");
    assert_eq!(found.evidence.get("reach"), Some(&Value::Text("required".into())));
    assert_eq!(found.evidence.get("path"), Some(&Value::List(vec!["population".to_owned()])));
}

#[test]
fn function_behind_too_weak_a_check_is_an_error_that_names_the_check() {
    let found = verdict("hit-under-guarded.s");
    assert_eq!(found.severity, Severity::Error);
    let message = "AVX2 after a check for AVX only (branch at ";
    assert!(found.message.starts_with(message), "{}", found.message);
    let endangered = " in twice): sandybridge and 5 more CPUs have the one without the other";
    assert!(found.message.ends_with(endangered), "{}", found.message);
    assert_eq!(found.evidence.get("path"), Some(&Value::List(vec!["twice".to_owned(), "wide".to_owned()])));
    assert_eq!(found.evidence.get("proven"), Some(&Value::List(vec!["AVX".to_owned()])));
}

#[test]
fn function_behind_a_pointer_that_is_not_followed_is_a_note_on_its_cause() {
    let found = verdict("hit-not-followed.s");
    assert_eq!(found.severity, Severity::Note);
    let message = "1 function of x86-64-v3 is chosen through a pointer that offer stores or passes on (0x13): not proven";
    assert_eq!(&*found.message, message);
    assert_eq!(found.function.as_deref(), Some("offer"));
    assert_eq!(found.evidence.get("reach"), Some(&Value::Text("unknown".into())));
    assert_eq!(found.evidence.get("because"), Some(&Value::Text("pointer-stored".into())));
    assert_eq!(found.evidence.get("functions"), Some(&Value::List(vec!["wide".to_owned()])));
}

#[test]
fn a_rule_that_there_is_none_of_is_an_error() {
    let object = fs::read(fixtures("llsc-loop")[0].with_extension("o")).unwrap();
    let request = Request { rules: Some(&["llsc-loop", "llsc-lop"]), ..Request::default() };
    assert_eq!(check(&object, &request).unwrap_err().to_string(), "llsc-lop: no such rule");
}

/// What is not written comes back empty: facts for comparisons, and what became of stated guards.
#[test]
fn a_report_is_read_back_from_its_json() {
    let rules: Vec<&str> = deburr_core::rule::RULES.iter().map(|rule| rule.id).collect();
    let mut findings = 0;
    for source in rules.iter().flat_map(|rule_id| fixtures(rule_id)) {
        let object = fs::read(source.with_extension("o")).unwrap();
        let request = Request { rules: Some(&rules), ..Request::default() };
        let mut report = check(&object, &request).unwrap();
        report.facts = None;
        let json = serde_json::to_string(&report).unwrap();
        let read: Report = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
        assert_eq!(read, report, "{}", source.display());
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
        findings += read.findings.len();
    }
    assert!(findings > 50, "only {findings} findings");
    let bad = serde_json::from_str::<deburr_core::report::Hex>("\"4a10\"").unwrap_err();
    assert!(bad.to_string().contains("expected a number such as 0x4a10"), "{bad}");
}

/// Every finding can be made of its group and its place again, in the same order within a group.
#[test]
fn groups_of_findings_leave_nothing_out_and_share_all_but_the_places() {
    let rules: Vec<&str> = deburr_core::rule::RULES.iter().map(|rule| rule.id).collect();
    let (mut places, mut shared) = (0, 0);
    for source in rules.iter().flat_map(|rule_id| fixtures(rule_id)) {
        let object = fs::read(source.with_extension("o")).unwrap();
        let request = Request { rules: Some(&rules), ..Request::default() };
        let report = check(&object, &request).unwrap();
        let groups = serde_json::to_value(grouped(&report.findings)).unwrap();
        let mut made = Vec::new();
        for group in groups.as_array().unwrap() {
            let mut common = group.as_object().unwrap().clone();
            let count = common.remove("count").unwrap();
            let own = common.remove("places").unwrap();
            let own = own.as_array().unwrap();
            assert_eq!(count, own.len());
            for place in own {
                let mut finding = common.clone();
                let place = place.as_object().unwrap().clone();
                let facts = place.get("evidence").and_then(|facts| facts.as_object()).cloned();
                finding.insert("source".to_owned(), serde_json::Value::Null);
                finding.extend(place.into_iter().filter(|(name, _)| name != "evidence"));
                let evidence = finding["evidence"].as_object_mut().unwrap();
                evidence.extend(facts.unwrap_or_default());
                made.push(serde_json::Value::Object(finding).to_string());
            }
            places += own.len();
            shared += usize::from(own.len() > 1);
        }
        let as_value = |finding| serde_json::to_value(finding).unwrap().to_string();
        let mut wanted: Vec<String> = report.findings.iter().map(as_value).collect();
        let places: Vec<_> = report.findings.iter().map(|finding| finding.svma).collect();
        assert!(places.is_sorted(), "{}", source.display());
        made.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(made, wanted, "{}", source.display());
    }
    assert!(places > 300 && shared > 2, "{places} places, {shared} findings of several");
}

/// `scalar-twin` compares files: each fixture with the one that its source names.
#[test]
fn scalar_copies_are_reported_beside_their_twins_and_nothing_else_is() {
    for source in fixtures("scalar-twin") {
        let text = fs::read_to_string(&source).unwrap();
        let with =
            text.split("deburr: --with ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
        let facts = [source.clone(), source.with_file_name(with)].map(|path| {
            let object = fs::read(path.with_extension("o")).unwrap();
            let request = Request { rules: Some(&["scalar-twin"]), ..Request::default() };
            let report = check(&object, &request).unwrap();
            assert!(report.findings.is_empty(), "{}: alone it has no twin", path.display());
            FileFacts { path: path.display().to_string().into(), ..report.facts.unwrap() }
        });
        let found = across(&facts, Some(&["scalar-twin"]));
        let here: Vec<_> = found.iter().filter(|finding| *finding.path == *facts[0].path).collect();
        assert_eq!(here.len(), marked("scalar-twin", &source).len(), "{}: {found:?}", source.display());
        for finding in here {
            assert_eq!(finding.other.path, facts[1].path);
            assert_eq!(finding.evidence.get("vector_bits"), Some(&Value::Number(128)));
            assert!(finding.message.contains("128-bit"), "{}", finding.message);
        }
    }
    assert!(across(&[], Some(&["scalar-twin"])).is_empty());
}

/// The text under a name in the evidence of every finding in a fixture.
fn texts(rule_id: &str, name: &str, evidence: &str) -> Vec<String> {
    let path = fixture(rule_id, name);
    let text = |finding: &PlacedFinding| match finding.evidence.get(evidence) {
        Some(Value::Text(text)) => text.to_string(),
        other => panic!("{name}: {evidence} is {other:?}"),
    };
    findings(rule_id, &path).iter().map(text).collect()
}

fn fixture(rule_id: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(rule_id.replace('-', "_")).join(name)
}

/// The severities of a fixture's findings for a target.
fn severities(rule_id: &str, name: &str, target: Option<&str>) -> Vec<Severity> {
    let object = fs::read(fixture(rule_id, name).with_extension("o")).unwrap();
    let target = target.map(|name| deburr_cpu::level_named(name).unwrap().features);
    let request = Request { target, rules: Some(&[rule_id]), ..Request::default() };
    check(&object, &request).unwrap().findings.iter().map(|finding| finding.severity).collect()
}

#[test]
fn barriers_are_told_apart_by_what_makes_them_needless() {
    let kinds = |name| texts("barrier-around-atomic", name, "kind");
    assert_eq!(kinds("hit-sync.s"), ["sync-builtin"; 3]);
    assert_eq!(kinds("hit-lock-test-and-set.s"), ["lock-test-and-set"]);
    assert_eq!(kinds("hit-both-sides.s"), ["both-sides"]);
    assert_eq!(kinds("hit-behind-lse.s"), ["full-barrier"; 2]);
    assert_eq!(kinds("hit-sync-helper.s"), ["sync-helper"]);
    assert_eq!(kinds("hit-locked.s"), ["full-barrier"; 3]);
    let severity = |name| severities("barrier-around-atomic", name, None);
    assert_eq!(severity("hit-sync.s"), [Severity::Warning; 3]);
    assert_eq!(severity("hit-both-sides.s"), [Severity::Note]);
    assert_eq!(severity("hit-locked.s"), [Severity::Note; 3]);
}

#[test]
fn a_compare_and_swap_loop_names_the_instruction_in_its_place() {
    let lse = texts("cas-for-rmw", "hit-lse.s", "operation");
    assert_eq!(lse, ["add", "swap", "min-max"]);
    let narrow = texts("cas-for-rmw", "hit-lse-narrow-and-mask.s", "operation");
    assert_eq!(narrow, ["add", "and"]);
    let exclusives = texts("cas-for-rmw", "hit-exclusives.s", "instruction");
    assert_eq!(exclusives, ["ldadd", "ldset", "ldadd"]);
    let locked = texts("cas-for-rmw", "hit-locked.s", "instruction");
    assert_eq!(locked, ["lock xadd", "xchg", "lock xadd", "lock or"]);
}

#[test]
fn severity_of_atomics_depends_on_the_target() {
    use Severity::{Note, Warning};
    let exclusives = |target| severities("cas-for-rmw", "hit-exclusives-clang.s", target);
    assert_eq!((exclusives(None), exclusives(Some("armv8.1-a"))), (vec![Note], vec![Warning]));
    assert_eq!(severities("cas-for-rmw", "hit-locked.s", None), [Warning; 4]);
    let pair = |target| severities("llsc-pair", "hit-cas.s", target);
    assert_eq!((pair(None), pair(Some("armv8.0-a"))), (vec![Warning; 2], vec![Note; 2]));
    let load = |target| severities("llsc-pair", "hit-load.s", target);
    assert_eq!((load(Some("armv8.1-a")), load(Some("armv8.4-a"))), (vec![Note; 2], vec![Warning; 2]));
    assert_eq!(severities("llsc-loop", "hit-semaphore.s", Some("armv8.1-a")), [Note]);
}

#[test]
fn hits_are_marked_and_misses_are_not() {
    for rule_id in deburr_core::rule::RULES.iter().map(|rule| rule.id) {
        for source in fixtures(rule_id) {
            let name = source.file_name().unwrap().to_string_lossy().into_owned();
            let is_hit = name.starts_with("hit-");
            assert!(is_hit || name.starts_with("miss-"), "{name}: neither hit- nor miss-");
            assert_eq!(!marked(rule_id, &source).is_empty(), is_hit, "{}", source.display());
        }
    }
}
