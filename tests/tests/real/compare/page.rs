//! The page of `deburr compare` in a browser: its numbers are those of the JSON document of the same run, its marks lie where the
//! numbers say, and all of it can be read, in light and dark, at a desk and on a phone.

use crate::browser::{assert_readable, assert_same, browse, number};
use deburr_tests::command::deburr;
use deburr_tests::toolchain::{run, work_dir};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs `deburr compare` with a page; gives the JSON document and where the page is.
fn compare(dir: &Path, arguments: &[&str]) -> (Value, PathBuf) {
    let page = dir.join("page.html");
    let mut command = Command::new(deburr());
    command.args(["compare", "--format", "json", "--progress", "never", "--html"]).arg(&page).args(arguments);
    (serde_json::from_str(&run(&mut command)).expect("JSON"), page)
}

fn numbers(values: &Value) -> Vec<f64> {
    values.as_array().into_iter().flatten().map(number).collect()
}

/// Insists that what is said of a metric on the page is what the document says.
fn assert_same_numbers(section: &Value, document: &Value) {
    assert_eq!(section["name"], document["metric"]["name"]);
    assert_eq!(section["verdict"], document["verdict"]);
    assert_eq!(section["warnings"], document["warnings"]);
    let said = &section["data"];
    assert_same("effect", number(&said["effect"][0]), &document["effect"]);
    for (index, name) in ["low", "high"].into_iter().enumerate() {
        match document["interval"].is_null() {
            // Where others or a hypervisor disturbed the runs.
            true => assert_eq!(said[name], Value::Null, "{said}"),
            false => assert_same(name, number(&said[name][0]), &document["interval"][index]),
        }
    }
    let shown = said["effect"][1].as_str().unwrap().replace('−', "-");
    let shown: f64 = shown.trim_end_matches(['%', ' ', '\u{a0}']).parse().unwrap();
    assert!((shown - 100.0 * document["effect"].as_f64().unwrap()).abs() <= 0.005 + 1e-9, "{said}");
    assert_same("pairs", number(&said["pairs"][0]), &document["pairs"]);
    assert_eq!(
        said["pairs-needed"][0].as_str().map(|text| text.parse::<u64>().unwrap()),
        document["pairs_needed"].as_u64()
    );
    for (index, side) in ["a", "b"].into_iter().enumerate() {
        assert_same("median", number(&section["medians"][index]), &document["benchstat"][side]["median"]);
    }
    for (kind, part) in ["paired", "unpaired"]
        .into_iter()
        .flat_map(|kind| ["worse", "same", "better", "next"].map(|part| (kind, part)))
    {
        let found = number(&section["probabilities"][kind][part]);
        assert_same(&format!("{kind} {part}"), found, &document[kind][part]);
    }
    for part in ["worse", "same", "better"] {
        let expected = format!("{part} {:.1} %", 100.0 * document["paired"][part].as_f64().unwrap());
        assert!(
            section["posterior"].as_str().unwrap().contains(&expected),
            "{expected}: {}",
            section["posterior"]
        );
    }
}

/// Insists on that for those marks that are not at the edge of their figure; returns how many are.
fn assert_to_scale_or_beyond(what: &str, places: &Value, numbers: &[f64]) -> usize {
    let places = places.as_array().expect("places");
    assert_eq!(places.len(), numbers.len(), "{what}");
    let on_axis = places.iter().zip(numbers).filter_map(|(place, number)| Some((place.as_f64()?, *number)));
    let (places_on_axis, numbers): (Vec<f64>, Vec<f64>) = on_axis.unzip();
    assert_to_scale(what, &places_on_axis, &numbers);
    places.len() - numbers.len()
}

/// Insists that marks lie on one line with their numbers, the larger ones higher: to a pixel.
fn assert_to_scale(what: &str, places: &[f64], numbers: &[f64]) {
    assert_eq!(places.len(), numbers.len(), "{what}");
    let (least, most) = ends(numbers);
    assert!(
        places[most] + 20.0 < places[least],
        "{what}: the largest is at {}, the least at {}",
        places[most],
        places[least]
    );
    assert_on_a_line(what, places, numbers);
}

/// Where the least and the largest of some numbers are.
fn ends(numbers: &[f64]) -> (usize, usize) {
    let order = |one: &usize, other: &usize| numbers[*one].total_cmp(&numbers[*other]);
    let least = (0..numbers.len()).min_by(order).expect("numbers");
    (least, (0..numbers.len()).max_by(order).expect("numbers"))
}

/// Insists on that of numbers that may be near each other.
fn assert_on_a_line(what: &str, places: &[f64], numbers: &[f64]) {
    assert_eq!(places.len(), numbers.len(), "{what}");
    let (least, most) = ends(numbers);
    for (place, number) in places.iter().zip(numbers) {
        let share = (number - numbers[least]) / (numbers[most] - numbers[least]);
        let expected = places[least] + share * (places[most] - places[least]);
        assert!((place - expected).abs() < 1.0, "{what}: {number} is at {place}, not at {expected}");
    }
}

fn floats(values: &Value) -> Vec<f64> {
    values.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

#[test]
#[ignore = "needs chromium; `cargo xtask nightly` runs it"]
fn the_page_says_and_draws_what_the_document_says() {
    let dir = work_dir("compare-page");
    let value = |pair: u32, base: f64| base + 0.003 * f64::from(pair * 7919 % 101) / 101.0;
    let write = |name: &str, base: f64| {
        let path = dir.join(name);
        let lines: String =
            (0..24).map(|pair| format!("{}\n", value(pair * 3 + base.to_bits() as u32 % 7, base))).collect();
        fs::write(&path, lines).expect("a file in a work folder");
        path.display().to_string()
    };
    let (a, b) = (write("a.txt", 0.25), write("b & <b>.txt", 0.26));
    let (document, page) = compare(&dir, &["--paired", "--values", &a, &b]);
    assert_eq!(document["verdict"], "worse");
    let mut grounds = Vec::new();
    for (is_dark, width) in [(false, 1200), (true, 1200), (false, 390), (true, 390)] {
        let found = browse(&dir, &page, is_dark, width);
        assert_readable(&found, is_dark);
        assert!(
            found["title"].as_str().unwrap().starts_with("B is worse by more than"),
            "{}",
            found["title"]
        );
        assert_eq!(found["sides"], Value::from(vec![a.clone(), b.clone()]));
        let section = &found["sections"][0];
        assert_same_numbers(section, &document);
        let changes = numbers(&section["changes"]);
        let [runs_a, runs_b] = [0, 1].map(|side| numbers(&section["runs"][side]));
        assert_eq!(runs_a.len(), 24);
        for ((change, a), b) in changes.iter().zip(&runs_a).zip(&runs_b) {
            assert!((change - (b / a - 1.0)).abs() < 1e-12);
        }
        assert_to_scale("pairs", &floats(&section["pairs"]), &changes);
        let quantiles = numbers(&section["quantiles"]);
        assert_eq!(quantiles.len(), 19);
        assert_on_a_line("quantiles", &floats(&section["shift"]), &quantiles);
        let [csv, whole] = [0, 1].map(|link| found["downloads"][link][1].as_str().expect("a link"));
        assert_eq!(serde_json::from_str::<Value>(whole).expect("JSON"), document);
        assert_eq!(csv.lines().count(), 1 + 48);
        assert_eq!(csv.lines().nth(2), Some(format!(",value,,1,B,{},,0", runs_b[0]).as_str()));
        let marks = [0, 1].map(|side| floats(&section["marks"][side]));
        assert_to_scale("runs of A", &marks[0], &runs_a);
        assert_to_scale("runs of B", &marks[1], &runs_b);
        // The band is as high as the changes from -0.99 % to 1 % would be apart.
        let [top, bottom] = [0, 1].map(|end| section["region"][end].as_f64().unwrap());
        let places = floats(&section["pairs"]);
        let far = (0..24).max_by(|one, other| changes[*one].total_cmp(&changes[*other])).unwrap();
        let near = (0..24).min_by(|one, other| changes[*one].total_cmp(&changes[*other])).unwrap();
        let pixels = (places[near] - places[far]) / (changes[far] - changes[near]);
        assert!(((bottom - top) / pixels - (0.01 + 0.01 / 1.01)).abs() * pixels < 2.0, "{top} {bottom}");
        assert_ne!(section["colors"][0], section["colors"][1]);
        grounds.push(found["ground"].clone());
    }
    assert_ne!(grounds[0], grounds[1]);
}

#[test]
#[ignore = "needs chromium; `cargo xtask nightly` runs it"]
fn one_run_far_out_is_at_the_edge_with_its_value_and_the_others_are_to_scale() {
    let dir = work_dir("compare-page-outlier");
    let write = |name: &str, base: u32| {
        let value = |pair: u32| if (base, pair) == (103, 7) { 9000 } else { 10 * base + pair * base % 37 };
        let path = dir.join(name);
        fs::write(&path, (0..24).map(|pair| format!("{}\n", value(pair))).collect::<String>())
            .expect("a file in a work folder");
        path.display().to_string()
    };
    let (a, b) = (write("a.txt", 102), write("b.txt", 103));
    let (_, page) = compare(&dir, &["--paired", "--values", &a, &b]);
    for (is_dark, width) in [(false, 400), (true, 1200)] {
        let found = browse(&dir, &page, is_dark, width);
        assert_readable(&found, is_dark);
        let section = &found["sections"][0];
        assert_eq!(assert_to_scale_or_beyond("pairs", &section["pairs"], &numbers(&section["changes"])), 1);
        let of_b = numbers(&section["runs"][1]);
        assert_eq!(assert_to_scale_or_beyond("runs of B", &section["marks"][1], &of_b), 1);
        let beyond: Vec<&str> =
            section["beyond"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        assert!(beyond.contains(&"B 8: 9000"), "{beyond:?}");
    }
}

#[test]
#[ignore = "needs chromium; `cargo xtask nightly` runs it"]
fn a_run_of_commands_with_two_metrics_is_on_its_page() {
    let dir = work_dir("compare-page-run");
    let record = dir.join("record.jsonl").display().to_string();
    let print = |rate: u32| format!("printf 'rate: %s <i>' {rate}");
    let metric = "rate,larger,count=rate: ([0-9]+)";
    let long =
        format!("sh -c \"{}\" {}", print(200), "--an-option=</code><script>alert(1)</script>".repeat(9));
    let (document, page) = compare(
        &dir,
        &[
            "--a",
            &format!("sh -c \"{}\"", print(100)),
            "--b",
            &long,
            "--seed",
            "7",
            "--no-gate",
            "--pairs",
            "16",
            "--metric",
            metric,
            "--metric",
            "wall",
            "--record",
            &record,
        ],
    );
    assert_eq!(document["verdict"], "better");
    for (is_dark, width) in [(false, 1200), (true, 390)] {
        let found = browse(&dir, &page, is_dark, width);
        assert_readable(&found, is_dark);
        assert_eq!(found["sides"], document["commands"]);
        assert_eq!((found["seed"].as_str(), found["record"].as_str()), (Some("7"), Some(record.as_str())));
        assert_eq!(found["sections"].as_array().map(Vec::len), Some(2));
        assert_same_numbers(&found["sections"][0], &document);
        assert_same_numbers(&found["sections"][1], &document["other_metrics"][0]);
        let wall = &found["sections"][1];
        assert_to_scale_or_beyond("pairs", &wall["pairs"], &numbers(&wall["changes"]));
    }
}

#[test]
#[ignore = "needs chromium; `cargo xtask nightly` runs it"]
fn a_sweep_is_a_curve_for_each_side() {
    let dir = work_dir("compare-page-sweep");
    let record = dir.join("record.jsonl").display().to_string();
    let (document, page) = compare(
        &dir,
        &[
            "--no-gate",
            "--pairs",
            "16",
            "--shell",
            "sh",
            "--param",
            "clients=1,8,64",
            "--metric",
            "rate,larger,count=rate ([0-9]+)",
            "--a",
            "echo rate $((1000 + {clients}))",
            "--b",
            "echo rate $((1100 - {clients} * 5))",
            "--record",
            &record,
        ],
    );
    for (is_dark, width) in [(true, 1200), (false, 390)] {
        let found = browse(&dir, &page, is_dark, width);
        assert_readable(&found, is_dark);
        assert_same_numbers(&found["sections"][0], &document);
        let curve = &found["curves"][0];
        let mut values = [Vec::new(), Vec::new()];
        for (index, point) in document["sweep"]["points"].as_array().expect("points").iter().enumerate() {
            let (shown, metric) = (&curve["points"][index], &point["metrics"][0]);
            assert_eq!((&shown[0], &shown[4]), (&point["value"], &metric["verdict"]));
            for (side, name) in ["a", "b"].into_iter().enumerate() {
                assert_same(name, number(&shown[side + 1]), &metric["benchstat"][name]["median"]);
                values[side].push(number(&shown[side + 1]));
            }
            assert_same("change", number(&shown[3]), &metric["effect"]);
        }
        // From 0 on, so that only those of one side that differ much are far from each other.
        assert_to_scale("B", &floats(&curve["marks"][1]), &values[1]);
        assert_eq!(values[0], [1001.0, 1008.0, 1064.0]);
    }
}
