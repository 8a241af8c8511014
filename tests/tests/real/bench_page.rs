//! The page of `deburr bench` in a browser: its numbers are those of the record of the same run, its marks are where the logarithms
//! of the rates are, each curve has its name, and all of it can be read, in light and dark, at a desk and on a phone.

use crate::browser::{assert_readable, assert_same, browse, number};
use deburr_tests::command::deburr;
use deburr_tests::toolchain::{run, work_dir};
use serde_json::Value;
use std::process::Command;

/// The rates of a variant by point, in the order of the record.
fn rates(points: &[&Value], variant: &str) -> Vec<f64> {
    let of = |point: &&Value| {
        let variants = point["variants"].as_array().expect("variants");
        // A long name is cut.
        let start = variant.strip_suffix('…').unwrap_or(variant);
        let is_meant = |it: &&Value| {
            let name = it["name"].as_str().expect("a name");
            name == variant || start != variant && name.starts_with(start)
        };
        let meant = variants.iter().find(is_meant);
        meant.and_then(|it| it["measured"]["rate"].as_f64())
    };
    points.iter().filter_map(of).collect()
}

/// Insists that marks are where the logarithms of rates are, to a pixel: the curves of a figure share one axis.
fn assert_logarithmic(kernel: &str, places: &[f64], rates: &[f64]) {
    assert_eq!(places.len(), rates.len(), "{kernel}");
    let order = |one: &usize, other: &usize| rates[*one].total_cmp(&rates[*other]);
    let least = (0..rates.len()).min_by(order).expect("rates");
    let most = (0..rates.len()).max_by(order).expect("rates");
    for (place, rate) in places.iter().zip(rates) {
        let share = (rate / rates[least]).ln() / (rates[most] / rates[least]).ln();
        let expected = places[least] + share * (places[most] - places[least]);
        assert!((place - expected).abs() < 1.0, "{kernel}: {rate} is at {place}, not at {expected}");
    }
}

/// Insists that names are inside the figure, none on another one.
fn assert_names_apart(kernel: &str, figure: &[f64], boxes: &[Vec<f64>]) {
    for (index, one) in boxes.iter().enumerate() {
        assert!(figure[0] <= one[0] && one[1] <= figure[1], "{kernel}: {one:?} sticks out of {figure:?}");
        assert!(figure[2] <= one[2] && one[3] <= figure[3], "{kernel}: {one:?} sticks out of {figure:?}");
        for other in &boxes[index + 1..] {
            // The boxes have the height of a line, of which letters fill less.
            let shared = one[3].min(other[3]) - one[2].max(other[2]);
            assert!(shared < 0.3 * (one[3] - one[2]), "{kernel}: {one:?} is on {other:?}");
        }
    }
}

fn floats(values: &Value) -> Vec<f64> {
    values.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

#[test]
#[ignore = "needs chromium; `cargo xtask nightly` runs it"]
fn the_page_says_and_draws_what_the_record_says() {
    let dir = work_dir("bench-page");
    let page = dir.join("page.html");
    let mut bench = Command::new(deburr());
    bench.args([
        "bench",
        "store",
        "fetch-add",
        "handover",
        "popcount",
        "--threads",
        "1,2,4",
        "--sample",
        "1",
    ]);
    bench.args(["--format", "json", "--progress", "never", "--html"]).arg(&page);
    let record: Value = serde_json::from_str(&run(&mut bench)).expect("a record");
    let points = record["points"].as_array().expect("points");
    for (is_dark, width) in [(false, 1200), (true, 1200), (false, 390), (true, 390)] {
        let found = browse(&dir, &page, is_dark, width);
        assert_readable(&found, is_dark);
        let cpu = record["machine"]["cpu"].as_str().expect("a name");
        assert_eq!(found["title"], format!("What a burr costs on {cpu}"));
        let kernels = found["kernels"].as_array().expect("kernels");
        assert_eq!(kernels.len(), 4);
        for kernel in kernels {
            let name = kernel["name"].as_str().expect("a name");
            let of: Vec<&Value> = points.iter().filter(|point| point["kernel"] == name).collect();
            assert_eq!(of.len(), 3, "{name}");
            let variants = of
                .iter()
                .flat_map(|point| point["variants"].as_array().into_iter().flatten().map(|it| (*point, it)));
            let rows = kernel["rates"].as_array().expect("rows");
            let mut compared = 0;
            for ((point, variant), row) in variants.zip(rows) {
                assert_eq!(row["variant"], variant["name"], "{name}");
                let threads = point["processors"].as_array().map(Vec::len).expect("processors");
                assert_eq!(row["threads"], threads.to_string(), "{name}");
                assert_eq!(row["verdict"], variant["verdict"]["outcome"], "{name}");
                if !variant["measured"].is_null() {
                    assert_same(name, number(&row["rate"]), &variant["measured"]["rate"]);
                    compared += 1;
                }
            }
            assert!(compared >= 6 && rows.len() >= compared, "{name}: {compared}");
            let (mut places, mut numbers, mut boxes) = (Vec::new(), Vec::new(), Vec::new());
            for curve in kernel["curves"].as_array().expect("curves") {
                let mut marks = floats(&curve["marks"]);
                // That of the name.
                marks.pop();
                places.extend(marks);
                numbers.extend(rates(&of, curve["name"].as_str().expect("a name")));
                boxes.push(floats(&curve["box"]));
            }
            assert_logarithmic(name, &places, &numbers);
            assert_names_apart(name, &floats(&kernel["figure"]), &boxes);
        }
    }
}
