//! benchstat's printed tables, line by line: every recorded case, and upstream's own golden files.

use deburr_lab::benchfmt::{Class, Input, Options, common_scale, tables};
use deburr_lab::stats::benchstat::Upstream;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/benchstat")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json(name: &str) -> Value {
    serde_json::from_str(&read(&folder().join(name))).unwrap()
}

/// What benchstat prints with these arguments: standard output and standard error.
fn benchstat(arguments: &[&str], upstream: Upstream) -> (String, String) {
    let mut options = Options { upstream, ..Options::default() };
    let (mut paths, mut csv) = (Vec::new(), false);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || (*arguments.next().unwrap()).to_owned();
        match *argument {
            "-format" => csv = value() == "csv",
            "-row" => options.row = value(),
            "-col" => options.column = value(),
            "-ignore" => options.ignore = value(),
            "-filter" => options.filter = value(),
            "-alpha" => options.alpha = value().parse().unwrap(),
            "-confidence" => options.confidence = value().parse().unwrap(),
            path => paths.push(path.to_owned()),
        }
    }
    let texts: Vec<String> = paths.iter().map(|path| read(&folder().join("inputs").join(path))).collect();
    let inputs: Vec<Input<'_>> =
        paths.iter().zip(&texts).map(|(path, text)| Input { path, label: None, text }).collect();
    let (found, problems) = tables(&inputs, &options).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    if csv { found.csv() } else { (found.text(), String::new()) }
}

/// Line by line. Of a geometric mean with all its digits, as the comma-separated form has it, the last bit
/// may differ: Go's exponential function on x86-64 gives another one on machines with fused multiply-add than
/// on those without.
fn same_lines(found: &str, expected: &str, what: &str) {
    assert_eq!(found.lines().count(), expected.lines().count(), "{what}");
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        let mean = found.starts_with("geomean,") && expected.starts_with("geomean,");
        let cells = found.split(',').zip(expected.split(','));
        let near = |(found, expected): (&str, &str)| {
            let (one, other) = (found.parse::<f64>(), expected.parse::<f64>());
            found == expected
                || one.is_ok_and(|one| other.is_ok_and(|other| (one / other - 1.0).abs() < 3e-16))
        };
        let same = found == expected
            || mean && found.split(',').count() == expected.split(',').count() && cells.into_iter().all(near);
        assert!(same, "{what}, line {}:\n{found}\n{expected}", number + 1);
    }
    assert_eq!(found.ends_with('\n'), expected.ends_with('\n'), "{what}");
}

#[test]
fn every_recorded_table_is_printed_line_by_line() {
    let cases = json("benchstat_cases.json");
    let cases = cases["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 24);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let arguments: Vec<&str> =
            case["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap()).collect();
        let (out, notes) = benchstat(&arguments, Upstream::AsPrinted);
        same_lines(&out, case["stdout"].as_str().unwrap(), name);
        same_lines(&notes, case["stderr"].as_str().unwrap(), name);
        if case["matches_upstream_golden"].as_bool() == Some(true) {
            let golden = folder().join("upstream_golden").join(format!("{name}.stdout"));
            same_lines(&out, &read(&golden), &format!("{name}, golden"));
        }
    }
}

/// Upstream's golden files have neither 24 values nor ties in sides of different sizes: corrected tables are
/// the same.
#[test]
fn corrected_tables_are_upstreams_golden_files() {
    for case in json("benchstat_cases.json")["cases"].as_array().unwrap() {
        if case["matches_upstream_golden"].as_bool() == Some(true) {
            let arguments: Vec<&str> =
                case["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap()).collect();
            let (out, _) = benchstat(&arguments, Upstream::Corrected);
            same_lines(&out, case["stdout"].as_str().unwrap(), case["name"].as_str().unwrap());
        }
    }
}

#[test]
fn numbers_are_scaled_as_upstream_scales_them() {
    for case in json("benchmath_values.json")["scale"].as_array().unwrap() {
        let value = case["v"].as_f64().unwrap();
        for (class, name) in [(Class::Decimal, "decimal"), (Class::Binary, "binary")] {
            let found = common_scale(&[value], class).format(value);
            assert_eq!(found, case[name].as_str().unwrap(), "{value}, {name}");
        }
    }
}

#[test]
fn the_same_file_twice_makes_two_columns_and_labels_name_them() {
    let text = "BenchmarkA 1 5 ns/op\n";
    let twice = [Input { path: "a.txt", label: None, text }, Input { path: "a.txt", label: None, text }];
    let (found, _) = tables(&twice, &Options::default()).unwrap();
    assert_eq!(found.tables[0].columns, [["a.txt#0"], ["a.txt#1"]]);
    let labelled = [Input { label: Some("new"), ..twice[0] }, twice[1]];
    let (found, _) = tables(&labelled, &Options::default()).unwrap();
    assert_eq!(found.tables[0].columns, [["new"], ["a.txt"]]);
    let (found, _) = tables(&[], &Options::default()).unwrap();
    assert_eq!((found.text(), found.csv().0), (String::new(), String::new()));
}
