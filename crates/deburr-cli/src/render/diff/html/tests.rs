//! The page's data compared with what differs, and what must hold whatever the files say.

use super::drawn::{DrawnFile, InspectedFile, code_of};
use super::listed::ListedFunction;
use super::page;
use crate::render::diff::{AnswersOfPair, Compared, DiffSummary, NotCompared, json};
use crate::render::page::view::read::{files, json_in, row, scripts};
use crate::render::page::view::room::Rooms;
use deburr_core::diff::Balance;
use deburr_core::finding::Severity;
use deburr_core::report::PlacedFinding;
use deburr_core::{Request, compare, inspect_with_code};
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

const LSE: &str = "miss-lse.o";
const INLINE: &str = "hit-cas.o";

fn inspected(name: &str) -> InspectedFile {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../deburr-core/fixtures/llsc_loop/");
    let bytes = std::fs::read(format!("{folder}{name}")).unwrap();
    let (inspection, code, left_out) = inspect_with_code(&bytes, &Request::default(), 1000).unwrap();
    assert_eq!(left_out, 0);
    InspectedFile { inspection, code: ListedFunction::all(&code), left_out }
}

/// A comparison, with its part of a page that has this room.
fn compared(path: &str, old: &str, new: &str, rooms: &mut Rooms) -> Compared {
    let [before, after] = [old, new].map(inspected);
    let diff = compare(Some(&before.inspection), &after.inspection);
    let drawn = Some(DrawnFile::of(Some(&before), &after, &diff, rooms));
    let [old_level, level] = [before, after].map(|build| build.inspection.report.level);
    let old_level = Some(old_level);
    Compared {
        old: Some(path.to_owned()),
        new: path.to_owned(),
        level,
        old_level,
        is_within_stated: false,
        answers: AnswersOfPair::default(),
        drawn,
        diff,
    }
}

/// The same finding with another severity, at another place.
fn at_end(mut finding: PlacedFinding, severity: Severity) -> PlacedFinding {
    finding.severity = severity;
    finding.svma.0 += 4;
    finding
}

fn summary() -> DiffSummary {
    let balance = Balance::default().with_answer(Ordering::Greater);
    DiffSummary { old: "old".to_owned(), new: "new".to_owned(), balance, ..DiffSummary::default() }
}

fn written(compared: &[Compared], summary: &DiffSummary, rooms: &Rooms) -> String {
    let mut out = Vec::new();
    page(&mut out, compared, summary, rooms).unwrap();
    String::from_utf8(out).unwrap()
}

/// How many findings the rows of a file are, by what became of them.
fn fates(page: &str, file: &Value) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for cells in file["findings"].as_array().unwrap() {
        let row = row(page, "finding", cells, &file["texts"], &["change"]);
        let count = row["count"].as_u64().unwrap().max(1);
        *sums.entry(row["change"].as_str().unwrap().to_owned()).or_default() += count;
    }
    sums
}

#[test]
fn rows_are_as_many_as_the_sums_say_and_these_are_those_of_the_json() {
    let mut rooms = Rooms::default();
    let pairs = [(LSE, INLINE), (INLINE, LSE), (INLINE, INLINE)];
    let all = pairs.map(|(old, new)| compared("lib.so", old, new, &mut rooms));
    let mut document = Vec::new();
    json(&mut document, &all, &summary(), false).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    let page = written(&all, &summary(), &rooms);
    let records = files(&page);
    assert_eq!(records.len(), 3);
    for (record, expected) in records.iter().zip(document["files"].as_array().unwrap()) {
        let groups = |part: &str| {
            let groups = expected[part].as_array().unwrap().iter();
            groups.map(|group| group["count"].as_u64().unwrap()).sum::<u64>()
        };
        let sums = fates(&page, record);
        let sum = |fate: &str| sums.get(fate).copied().unwrap_or(0);
        assert_eq!(
            (sum("appeared"), sum("gone"), sum("moved")),
            (groups("came"), groups("went"), groups("moved"))
        );
        assert_eq!(sum("remained"), expected["same"].as_u64().unwrap());
        for (part, fate) in [("came", "appeared"), ("went", "gone"), ("moved", "moved"), ("same", "remained")]
        {
            assert_eq!(record[part], sum(fate), "{part}");
        }
        for part in ["functions_came", "functions_went"] {
            assert_eq!(record[part], expected[part]);
        }
    }
    assert_eq!((&records[0]["worse"], &records[2]["worse"]), (&true.into(), &false.into()));
    assert!(records[2].get("functions").is_none(), "the same build has nothing on the map");
    assert!(records[2]["unchanged"][0].as_u64().unwrap() > 0);
    // The document does not know of the page.
    assert!(document["files"][0].get("drawn").is_none());
}

#[test]
fn a_function_has_what_became_of_it_with_the_worst_first() {
    let all = [compared("lib.so", LSE, INLINE, &mut Rooms::default())];
    let page = written(&all, &summary(), &Rooms::default());
    let file = files(&page).remove(0);
    let texts = &file["texts"];
    let rows: Vec<_> = file["functions"].as_array().unwrap().iter().collect();
    let named = |cells: &&&Value| row(&page, "function", cells, texts, &["name"])["name"] == "cas_1_acquire";
    let new = row(&page, "function", rows.iter().find(named).unwrap(), texts, &["name"]);
    let texts_of = |what: &Value| -> Vec<Value> {
        what.as_array().unwrap().iter().map(|at| texts[at.as_u64().unwrap() as usize].clone()).collect()
    };
    assert_eq!(texts_of(&new["what"]), ["gained", "appeared"]);
    let gained = all[0].diff.came.iter().filter(|it| it.function.as_deref() == Some("cas_1_acquire"));
    assert_eq!(new["gained"], gained.map(|it| it.count).sum::<u64>());
    assert_eq!((&new["old"], new["new"][2].as_u64() > Some(0)), (&0.into(), true));
    let is_gone = |cells: &&Value| {
        texts_of(&row(&page, "function", cells, texts, &[])["what"]).contains(&"gone".into())
    };
    assert_eq!(rows.iter().copied().filter(is_gone).count() as u64, all[0].diff.functions_went);
}

#[test]
fn code_of_what_is_gone_is_that_of_the_old_build() {
    let all = [compared("lib.so", INLINE, LSE, &mut Rooms::default())];
    let page = written(&all, &summary(), &Rooms::default());
    let old = json_in(&page, "data-build=\"old\"").remove(0);
    let texts: Vec<String> = old.as_array().unwrap().iter().map(|it| it["texts"].to_string()).collect();
    assert!(!all[0].diff.went.is_empty() && texts.iter().all(|texts| texts.contains("xr")), "{texts:?}");
    // Of two equal builds, no code of the old one is needed.
    let same = [compared("lib.so", INLINE, INLINE, &mut Rooms::default())];
    let page = written(&same, &summary(), &Rooms::default());
    assert!(scripts(&page, "data-build=\"old\"").is_empty());
    assert_eq!(json_in(&page, "class=\"code\"").len(), 1);
}

/// Findings beyond those that a listing shows the surroundings of are in it all the same, and a function is left out once.
#[test]
fn old_code_is_found_by_its_function_and_counted_by_functions() {
    let [mut before, mut after] = [INLINE, LSE].map(inspected);
    // Each function that lost findings lost another, of its own kind.
    let findings = &mut before.inspection.report.findings;
    let more: Vec<_> = findings.iter().cloned().map(|it| at_end(it, Severity::Note)).collect();
    findings.extend(more);
    let diff = compare(Some(&before.inspection), &after.inspection);
    let names: BTreeSet<_> = diff.went.iter().map(|group| group.function.clone().unwrap()).collect();
    assert!(diff.went.len() > names.len() && !names.is_empty());
    let code = std::mem::take(&mut before.code);
    after.code.clear();
    let mut drawn = |code: Vec<ListedFunction>| {
        let mut rooms = Rooms::default();
        before.code = code;
        let drawn = DrawnFile::of(Some(&before), &after, &diff, &mut rooms);
        (drawn.old_code.len(), rooms.value()["code"]["left_out"].clone())
    };
    assert_eq!(drawn(Vec::new()), (0, names.len().into()));
    assert_eq!(drawn(code[1..].to_vec()), (names.len() - 1, 1.into()));
    let unmarked: Vec<_> = code.into_iter().map(|it| ListedFunction { about: Vec::new(), ..it }).collect();
    assert_eq!(drawn(unmarked.clone()), (names.len(), 0.into()), "no mark, and yet the function");
    // Code without a name is found by its places alone.
    let nameless = unmarked.into_iter().map(|it| ListedFunction { name: None, ..it }).collect();
    assert_eq!(drawn(nameless), (0, names.len().into()));
}

#[test]
fn code_without_a_name_is_found_by_its_place() {
    let [mut before, after] = [INLINE, LSE].map(inspected);
    for finding in &mut before.inspection.report.findings {
        finding.function = None;
    }
    let diff = compare(Some(&before.inspection), &after.inspection);
    assert!(!diff.went.is_empty() && diff.went.iter().all(|group| group.function.is_none()));
    for function in &mut before.code {
        function.name = None;
    }
    let (found, left_out) = code_of(&diff.went, &before.code);
    assert_eq!((found.len(), left_out), (diff.went.len(), 0));
    assert_eq!(code_of(&diff.went, &[]).1, diff.went.len() as u64);
}

#[test]
fn what_has_no_room_is_counted() {
    let mut rooms = Rooms::default();
    assert_eq!(rooms.findings.take(25_000), 25_000);
    for _ in 0..3 {
        rooms.findings.take(25_000);
    }
    let all = [compared("lib.so", LSE, INLINE, &mut rooms)];
    let page = written(&all, &summary(), &rooms);
    assert!(files(&page)[0].get("findings").is_none());
    let left_out = json_in(&page, "id=\"run\"").remove(0)["room"]["findings"]["left_out"].clone();
    let came: usize = all[0].diff.came.len() + all[0].diff.went.len();
    assert!(left_out.as_u64().unwrap() >= came as u64 && came > 0, "{left_out}");
    // Sums do not depend on the room.
    let sum: u64 = all[0].diff.came.iter().map(|group| group.count).sum();
    let file = files(&page).remove(0);
    assert_eq!(file["came"], sum);
    let by_severity = [Severity::Error, Severity::Warning, Severity::Note].map(|severity| {
        let of_severity = all[0].diff.came.iter().filter(|group| group.severity == severity);
        of_severity.map(|group| group.count).sum::<u64>()
    });
    assert_eq!(by_severity.iter().sum::<u64>(), sum);
    assert_eq!(file["came_by_severity"], serde_json::json!(by_severity));
}

#[test]
fn hostile_paths_stay_within_their_data() {
    let hostile = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>\u{202e}\u{2028}\u{0}";
    let with = |text: &str| {
        let all = [compared(text, LSE, INLINE, &mut Rooms::default())];
        let skip = NotCompared { path: text.to_owned(), reason: text.to_owned(), is_fault: true };
        let summary = DiffSummary {
            old: text.to_owned(),
            new: text.to_owned(),
            only_old: vec![text.to_owned()],
            skipped: vec![skip],
            ..summary()
        };
        written(&all, &summary, &Rooms::default())
    };
    let (honest, page) = (with("lib.so"), with(hostile));
    for tag in ["<script", "</script", "<!--", "<img", "onerror=alert(1)>"] {
        assert_eq!(page.matches(tag).count(), honest.matches(tag).count(), "{tag}");
    }
    assert!(!page.contains(['\u{202e}', '\u{2028}', '\u{0}']));
}

#[test]
fn the_page_has_what_changed_of_how_files_were_built() {
    let mut rooms = Rooms::default();
    let [plain, fast] =
        ["miss-later.o", "hit-constructor.o"].map(|name| format!("../fast_math_at_load/{name}"));
    let pair = compared("lib/x.so", &plain, &fast, &mut rooms);
    let changes = pair.diff.build.clone();
    assert!(changes.iter().any(|change| change.worse), "{changes:?}");
    let page = written(&[pair], &summary(), &rooms);
    let rows = files(&page)[0]["build"].as_array().unwrap().clone();
    let expected: Vec<Value> =
        changes.iter().map(|it| serde_json::json!([it.what.name(), it.old, it.new, it.worse])).collect();
    assert_eq!(rows, expected);
}
