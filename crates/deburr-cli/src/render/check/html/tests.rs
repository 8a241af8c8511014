//! The page's data compared with the report it is made of, and what must hold whatever the report says.

use super::renderer::Html;
use crate::config::allow::Remarks;
use crate::render::check::example::{example, example_across, example_with, rendered, rendered_with};
use crate::render::check::renderer::{Checked, CodeOfFile, Finished, Renderer};
use crate::render::check::totals::Totals;
use crate::render::page::script::source_of;
use crate::render::page::view::read::{files, json_in, row, scripts};
use deburr_core::listing::Annotated;
use deburr_core::profile::Share;
use deburr_core::report::Hex;
use deburr_core::{Request, annotate};
use serde_json::{Map, Value, json};

#[test]
fn rows_say_what_the_report_says() {
    let report = example();
    let page = rendered(&mut Html::default(), std::slice::from_ref(&report));
    let file = files(&page).remove(0);
    let document = serde_json::to_value(&report).unwrap();
    for part in ["path", "arch", "level", "advice", "costs"] {
        assert_eq!(file[part], document[part], "{part}");
    }
    assert_eq!(file["findings"].as_array().unwrap().len(), report.findings.len());
    let named = ["rule", "severity", "name", "near", "in", "message", "source"];
    for (at, finding) in document["findings"].as_array().unwrap().iter().enumerate() {
        let row = row(&page, "finding", &file["findings"][at], &file["texts"], &named);
        for (column, part) in
            [("rule", "rule"), ("severity", "severity"), ("at", "svma"), ("message", "message")]
        {
            assert_eq!(row[column], finding[part], "{at} {column}");
        }
        assert_eq!(row["name"], finding["function"].as_str().unwrap_or(""));
        assert_eq!(
            (&row["extent"], &row["line"]),
            (&finding["extent"], finding["source"].get("line").unwrap_or(&json!(0)))
        );
        assert_eq!(file["evidence"][row["evidence"].as_u64().unwrap() as usize], finding["evidence"]);
    }
    let named = ["name", "near", "in", "level", "reach", "root", "because", "group"];
    for (at, function) in document["isa_functions"].as_array().unwrap().iter().enumerate() {
        let row = row(&page, "function", &file["functions"][at], &file["texts"], &named);
        assert_eq!((&row["at"], &row["reach"]), (&function["svma"], &function["reach"]));
        assert_eq!(row["path"].as_array().map_or(0, Vec::len), function["path"].as_array().unwrap().len());
        let uses = row["uses"].as_array().unwrap();
        let uses: Map<String, Value> = uses
            .chunks(2)
            .map(|pair| {
                (
                    file["texts"][pair[0].as_u64().unwrap() as usize].as_str().unwrap().to_owned(),
                    pair[1].clone(),
                )
            })
            .collect();
        assert_eq!(Value::Object(uses), function["features"]);
    }
}

#[test]
fn sums_are_those_of_the_run() {
    let page = rendered_with(&mut Html::default(), &[example(), example()], &[example_across()]);
    let json = rendered_with(
        &mut crate::render::check::json::Json::new(crate::args::format::SchemaVersion::Two, false),
        &[example(), example()],
        &[example_across()],
    );
    let document: Value = serde_json::from_str(&json).unwrap();
    let run = json_in(&page, "id=\"run\"").remove(0);
    assert_eq!(run["statistics"], document["statistics"]);
    assert_eq!(run["across"], document["across_files"]);
    assert_eq!(run["skipped"][0][0], document["skipped"][0]["path"]);
    let rules: Vec<&String> = run["rules"].as_object().unwrap().keys().collect();
    assert!(rules.iter().any(|rule| **rule == example_across().rule), "{rules:?}");
    assert_eq!(files(&page).len(), 2);
}

#[test]
fn the_policy_allows_the_one_script_and_nothing_else() {
    let page = rendered(&mut Html::default(), &[example()]);
    let own = scripts(&page, "");
    let run = own.iter().filter(|text| !text.trim_start().starts_with(['[', '{'])).collect::<Vec<_>>();
    assert_eq!(run.len(), 1);
    let policy =
        page.split_once("Content-Security-Policy\" content=\"").unwrap().1.split_once('"').unwrap().0;
    assert_eq!(
        policy,
        format!(
            "default-src 'none'; style-src 'unsafe-inline'; script-src '{}'; base-uri 'none'; form-action 'none'",
            source_of(run[0])
        )
    );
    for forbidden in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
        "fetch(",
        "import(",
    ] {
        assert!(!run[0].contains(forbidden), "{forbidden}");
    }
    assert!(!page.contains(" src=") && !page.contains("<link") && !page.contains("@import"));
}

#[test]
fn hostile_names_stay_within_their_data() {
    let hostile = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>\u{202e}\u{2028}\u{0}";
    let honest = rendered(&mut Html::default(), &[example()]);
    let page = rendered(
        &mut Html::default(),
        &[example_with(|report| {
            report.path = format!("{hostile}/lib.so");
            report.faults = vec![hostile.to_owned()];
            for finding in &mut report.findings {
                (finding.function, finding.section) = (Some(hostile.into()), Some(hostile.into()));
                finding.message = hostile.into();
            }
            for function in &mut report.isa_functions {
                function.function = Some("x".repeat(10 << 20).into());
            }
        })],
    );
    for tag in ["<script", "</script", "<!--", "<img", "onerror=alert(1)>"] {
        assert_eq!(page.matches(tag).count(), honest.matches(tag).count(), "{tag}");
    }
    assert!(!page.contains(['\u{202e}', '\u{2028}', '\u{0}']));
    assert!(page.len() < honest.len() + (64 << 10), "{}", page.len());
    let texts = files(&page)[0]["texts"].to_string();
    assert!(texts.contains(r"\\u{202e}") && texts.contains("[…10485400 characters…]"), "{texts}");
}

#[test]
fn twenty_five_thousand_findings_have_room_and_what_has_none_is_counted() {
    let with = |count: u64| {
        example_with(|report| {
            let first = report.findings.remove(0);
            let numbered = |at: u64| {
                let mut finding = first.clone();
                finding.svma = Hex(0x1000 + 4 * at);
                finding
            };
            report.findings = (0..count).map(numbered).collect();
        })
    };
    let left_out = |page: &str| json_in(page, "id=\"run\"").remove(0)["room"]["findings"]["left_out"].clone();
    let page = rendered(&mut Html::default(), &[with(25_000)]);
    assert_eq!((files(&page)[0]["findings"].as_array().unwrap().len(), left_out(&page)), (25_000, json!(0)));
    assert!(page.len() < 2 << 20, "{}", page.len());
    let page = rendered(&mut Html::default(), &[with(30_000)]);
    assert_eq!(
        (files(&page)[0]["findings"].as_array().unwrap().len(), left_out(&page)),
        (25_000, json!(5_000))
    );
}

/// The object that pages are made of here.
fn object() -> Annotated {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../deburr-core/fixtures/llsc_loop/hit-cas.o");
    annotate(&std::fs::read(path).unwrap(), &Request::default(), 1000).unwrap()
}

/// The page of an object with code.
fn page_of(annotated: &Annotated) -> String {
    let (mut html, mut out, mut totals) = (Html::default(), Vec::new(), Totals::default());
    let code = CodeOfFile { listings: &annotated.code, left_out: 0, sizes: &annotated.sizes };
    totals.add(&annotated.report, 1);
    html.begin(&mut out).unwrap();
    html.file(&mut out, Checked { report: &annotated.report, allowed: &[], code }).unwrap();
    let remarks = &Remarks { stale: Vec::new(), exceeded: Vec::new() };
    html.end(
        &mut out,
        Finished {
            totals: &totals,
            skipped: &[],
            across: &[],
            stale_guards: &[],
            remarks,
            configuration: None,
            profile: None,
        },
    )
    .unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn code_of_findings_is_there_with_all_its_addresses() {
    let annotated = object();
    let (page, report) = (page_of(&annotated), &annotated.report);
    let code = json_in(&page, "class=\"code\"").remove(0);
    let mut places = Vec::new();
    for listing in code.as_array().unwrap() {
        let mut next = 0;
        for cells in listing["rows"].as_array().unwrap() {
            let insn = row(&page, "insn", cells, &listing["texts"], &["text"]);
            if let Some(at) = insn["at"].as_str() {
                next = u64::from_str_radix(at.trim_start_matches("0x"), 16).unwrap();
            }
            assert!(!insn["text"].as_str().unwrap().is_empty());
            places.push(next);
            next += insn["size"].as_u64().unwrap();
        }
    }
    assert!(report.findings.iter().all(|finding| places.contains(&finding.svma.0)), "{places:?}");
    assert!(code.to_string().contains("xr\t") || code.to_string().contains("xr "), "{code}");
    assert!(!page.contains("\"profile\":"));
}

#[test]
fn weights_are_where_a_profile_says() {
    // An eighth of it is at each address that ends with 0.
    let eighth = Some(Share::parts_per_million(125_000));
    let mut annotated = object();
    for line in annotated.code.iter_mut().flat_map(|listing| &mut listing.insns) {
        line.share = if line.svma.0.is_multiple_of(16) { eighth } else { Some(Share::default()) };
    }
    annotated.sizes.iter_mut().for_each(|size| size.share = eighth);
    let weight = json!({"share": 0.125, "by": "call-chains"});
    annotated.report.findings[0].weight = serde_json::from_value(weight).unwrap();
    let profile =
        json!({"event": "cycles", "samples": 0, "skids": true, "share": 1.0, "lost": 0, "functions": []});
    annotated.report.profile = serde_json::from_value(profile).unwrap();
    let page = page_of(&annotated);
    let file = files(&page).remove(0);
    assert_eq!(file["profile"], json!({"what": "100 % of cycles", "weight": 1.0}));
    let first = row(&page, "finding", &file["findings"][0], &file["texts"], &["by"]);
    assert_eq!(first["by"], "with what it calls, by call chains");
    let weight = json!(0.125);
    assert_eq!(row(&page, "finding", &file["findings"][0], &file["texts"], &[])["weight"], weight);
    assert_eq!(row(&page, "other", &file["others"][0], &file["texts"], &[])["weight"], weight);
    let code = json_in(&page, "class=\"code\"").remove(0);
    assert_eq!(row(&page, "insn", &code[0]["rows"][0], &code[0]["texts"], &[])["weight"], weight);
    assert_eq!(row(&page, "insn", &code[0]["rows"][1], &code[0]["texts"], &[])["weight"], 0);
}
