//! `--format benchstat --benchstat-faults` against benchstat itself, on random files in Go's benchmark format.
//!
//! In: files drawn from a fixed seed. Out: both programs print the same lines, and report the same bad lines.
//! What may differ is named in [`Tolerated`], each with its reason.

use crate::{Scratch, compare, stderr, stdout};
use deburr_lab::stats::random::Random;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of golang.org/x/perf that is compared with.
const VERSION: &str = "v0.0.0-20260908200009-22c9c6c9d4da";

/// How many inputs are drawn.
const INPUTS: u64 = 1000;

/// What differs, and why that is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tolerated {
    /// Go reads `inf`, `NaN`, hexadecimal numbers, digits with underscores, and what overflows in base units.
    /// No program writes those as results, so deburr reports the line instead; benchstat is then given the file without it.
    OddNumber,
    /// Go's sort leaves −0 and 0 in an order of its own, by which a median of both is printed as `-0.000` or
    /// `0.000`. To deburr both are 0; benchstat is then given 0.
    NegativeZero,
    /// Go's logarithm and exponential round otherwise in the last bit, which shows where a change has 16 digits.
    LastBitOfGeomean,
}

/// Builds benchstat, through Go's module proxy or its cache.
fn benchstat(scratch: &Scratch) -> PathBuf {
    let mut install = Command::new("go");
    install.args(["install", &format!("golang.org/x/perf/cmd/benchstat@{VERSION}")]);
    let output = install.env("GOBIN", scratch.path()).output();
    let output = output.unwrap_or_else(|error| panic!("go: {error}: scripts/install-tools test installs it"));
    assert!(output.status.success(), "benchstat is missing: {}", stderr(&output));
    scratch.join("benchstat")
}

fn one_of<'t>(random: &mut Random, of: &[&'t str]) -> &'t str {
    of[below(random, of.len())]
}

fn below(random: &mut Random, limit: usize) -> usize {
    ((random.uniform() * limit as f64) as usize).min(limit - 1)
}

/// How the values of a file are drawn.
#[derive(Debug, Clone, Copy)]
enum Values {
    Tied,
    Spread,
    Exact,
    Zeros,
    Wide,
}

fn value(random: &mut Random, values: Values, shift: f64) -> String {
    match values {
        Values::Tied => format!("{}", 100 + below(random, 4)),
        Values::Spread => format!("{:.4}", 100.0 * shift * (1.0 + 0.05 * random.normal()).abs()),
        Values::Exact => "4096".to_owned(),
        Values::Zeros if random.chance(0.5) => one_of(random, &["0", "0.00", "-0", "0e5"]).to_owned(),
        Values::Zeros => format!("{}", below(random, 3)),
        Values::Wide => {
            let sign = if random.chance(0.1) { "-" } else { "" };
            format!("{sign}{:.3}e{}", 1.0 + 9.0 * random.uniform(), below(random, 30) as i32 - 15)
        }
    }
}

const NAMES: &[&str] = &[
    "A",
    "A-8",
    "Encode/format=json-48",
    "Encode/format=gob-48",
    "X/size=4kB",
    "X/size=16kB",
    "Ünïcode/µ",
    "",
    "Long/with/many/parts=1/and=2-16",
    "-8",
];
const UNITS: &[&str] = &[
    "ns/op",
    "ns/op",
    "MB/s",
    "B/op",
    "allocs/op",
    "p99-ns",
    "ns",
    "MB",
    "x/ns",
    "MB*ns/op",
    "ns/MB",
    "widgets",
    "B",
    "%",
    "µs/op",
    "sec/op",
    "B/s",
];
const BAD: &[&str] = &[
    "BenchmarkA",
    "BenchmarkA ",
    "BenchmarkA x 1 ns/op",
    "BenchmarkA 1",
    "BenchmarkA 1 1",
    "BenchmarkA 1 y ns/op",
    "BenchmarkA 1 1 ns/op 2",
    "BenchmarkA 1 1e999 ns/op",
    "BenchmarkA 99999999999999999999 1 ns/op",
    "Unit",
    "Unit ns/op =",
    "Unit ns/op assume",
    "Units x",
    "Benchmark 1 1 ns/op",
    "BenchmarkA 1.5 1 ns/op",
    "BenchmarkA -3 1 ns/op",
    "BenchmarkA +3 +1 ns/op",
    "ok  \tpkg\t1.0s",
    "PASS",
];
const ODD: &[&str] = &[
    "BenchmarkA 1 inf ns/op",
    "BenchmarkA 1 NaN ns/op",
    "BenchmarkA 1 0x1p-2 ns/op",
    "BenchmarkA 1 1e305 MB/s",
    "BenchmarkA 1 -Infinity B",
    "BenchmarkA 1 1_000 ns/op",
];
const CONFIG: &[&str] = &[
    "goos: linux",
    "goos: darwin",
    "goos:",
    "pkg: example.com/a",
    "pkg: example.com/b",
    "note: with  spaces ",
    "note:no space",
    "note:\ttab",
    "Note: upper",
    "no te: x",
    "é: accent",
    "cpu: Some CPU @ 2.0GHz",
    "a:b: c",
];
const SAID: &[&str] = &[
    "Unit ns/op assume=exact",
    "Unit sec/op assume=exact",
    "Unit B/op assume=exact better=lower",
    "Unit widgets assume=exact",
    "Unit MB/s better=higher",
    "Unit ns/op assume=nothing",
    "Unit widgets better=lower",
];

/// A file, and the same as benchstat is given it: without the lines whose numbers only Go reads, and with 0 for
/// −0.
fn file(random: &mut Random, names: &[&str], units: &[&str], values: Values, shift: f64) -> (String, String) {
    let (mut text, mut plain) = (String::new(), String::new());
    let end = if random.chance(0.1) { "\r\n" } else { "\n" };
    let mut line = |line: &str, is_odd: bool| {
        text.push_str(&format!("{line}{end}"));
        // Its place stays, so that lines keep their numbers.
        plain.push_str(&format!(
            "{}{end}",
            if is_odd { "# odd".to_owned() } else { line.replace("\t-0 ", "\t0 ") }
        ));
    };
    let (has_config, has_said, has_bad, has_odd) =
        (random.chance(0.4), random.chance(0.25), random.chance(0.25), random.chance(0.1));
    let repeats = [1, 2, 3, 4, 5, 6, 8, 10, 10, 12, 20, 24, 31, 40][below(random, 14)];
    for _ in 0..repeats {
        if has_config && random.chance(0.2) {
            line(one_of(random, CONFIG), false);
        }
        if has_said && random.chance(0.2) {
            line(one_of(random, SAID), false);
        }
        if has_bad && random.chance(0.2) {
            line(one_of(random, BAD), false);
        }
        if has_odd && random.chance(0.3) {
            line(one_of(random, ODD), true);
        }
        for name in names {
            if random.chance(0.03) {
                continue;
            }
            let mut result = format!("Benchmark{name}\t{}", 1 + below(random, 1000));
            for unit in units {
                let _ = write!(result, "\t{} {unit}", value(random, values, shift));
            }
            line(&result, false);
        }
    }
    (text, plain)
}

/// Draws one input into the folder; gives the names of its files.
fn draw(scratch: &Scratch, seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let random = &mut random;
    let count = [1, 2, 2, 2, 3, 4][below(random, 6)];
    let mut names: Vec<&str> = (0..=below(random, 3)).map(|_| one_of(random, NAMES)).collect();
    names.dedup();
    let units: Vec<&str> = (0..=below(random, 3)).map(|_| one_of(random, UNITS)).collect();
    let kinds = [Values::Tied, Values::Spread, Values::Exact, Values::Zeros, Values::Wide];
    let values = kinds[below(random, kinds.len())];
    let mut files = Vec::new();
    for index in 0..count {
        let shift = 1.0 + 0.05 * index as f64;
        let values = if random.chance(0.1) { kinds[below(random, kinds.len())] } else { values };
        let (text, plain) = file(random, &names, &units, values, shift);
        let name = format!("f{index}.txt");
        scratch.file(&name, text.as_bytes());
        scratch.file(&format!("plain/{name}"), plain.as_bytes());
        files.push(name);
    }
    if random.chance(0.05) {
        files.push("f0.txt".to_owned());
    }
    files
}

/// Whether two lines are of geometric means that are the same but for the last bit.
fn are_near(found: &str, expected: &str) -> bool {
    let number = |word: &str| word.strip_suffix('%').and_then(|digits| digits.parse::<f64>().ok());
    let is_near = |(found, expected): (&str, &str)| {
        let numbers = number(found).zip(number(expected));
        found == expected || numbers.is_some_and(|(one, other)| (one / other - 1.0).abs() < 1e-15)
    };
    found.starts_with("geomean")
        && found.len() == expected.len()
        && found.split_whitespace().zip(expected.split_whitespace()).all(is_near)
}

/// The bad lines that only deburr reports are those whose numbers only Go reads.
fn same_problems(found: &str, expected: &str, folder: &Path) -> Result<Option<Tolerated>, String> {
    let found = found.strip_prefix("deburr: ").unwrap_or(found);
    let is_odd = |problem: &&str| {
        let mut parts = problem.splitn(3, ':');
        let (name, line) = (parts.next()?, parts.next()?.parse::<usize>().ok()?);
        let text = fs::read_to_string(folder.join(name)).ok()?;
        ODD.contains(&text.lines().nth(line - 1)?).then_some(())
    };
    let (odd, rest): (Vec<&str>, Vec<&str>) = found.lines().partition(|line| is_odd(line).is_some());
    match rest == expected.lines().collect::<Vec<&str>>() {
        true => Ok((!odd.is_empty()).then_some(Tolerated::OddNumber)),
        false => Err(format!("{found}\ninstead of\n{expected}")),
    }
}

#[test]
#[ignore = "builds benchstat with Go; `cargo xtask nightly` runs it"]
fn random_files_make_the_tables_that_benchstat_prints() {
    let tools = Scratch::new("compare-benchstat-program");
    let benchstat = benchstat(&tools);
    let (mut faults, mut tolerations) = (Vec::new(), Vec::new());
    for seed in 0..INPUTS {
        let scratch = Scratch::new(&format!("compare-benchstat-{seed}"));
        let files = draw(&scratch, seed);
        let mut arguments = vec!["--format", "benchstat", "--benchstat-faults", "--input-format", "go"];
        arguments.extend(files.iter().map(String::as_str));
        let found = compare(&scratch, &arguments);
        let expected =
            Command::new(&benchstat).args(&files).current_dir(scratch.join("plain")).output().unwrap();
        let (ours, theirs) = (stdout(&found), stdout(&expected));
        let is_changed =
            |file: &String| fs::read(scratch.join(file)).unwrap().windows(4).any(|at| at == b"\t-0 ");
        tolerations.extend(files.iter().any(is_changed).then_some(Tolerated::NegativeZero));
        match same_problems(&stderr(&found), &stderr(&expected), scratch.path()) {
            Ok(toleration) => tolerations.extend(toleration),
            Err(fault) => faults.push(format!("input {seed}, bad lines: {fault}")),
        }
        if ours.lines().count() != theirs.lines().count() {
            faults.push(format!("input {seed}: other lines:\n{ours}instead of\n{theirs}"));
        }
        for (line, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
            match ours == theirs {
                true => {}
                false if are_near(ours, theirs) => tolerations.push(Tolerated::LastBitOfGeomean),
                false => faults.push(format!("input {seed}, line {}:\n{ours}\n{theirs}", line + 1)),
            }
        }
    }
    let count = |of: Tolerated| tolerations.iter().filter(|one| **one == of).count();
    let [odd, zero, bits] =
        [Tolerated::OddNumber, Tolerated::NegativeZero, Tolerated::LastBitOfGeomean].map(count);
    println!("{INPUTS} inputs, {odd} with odd numbers, {zero} with −0; {bits} means with another last bit");
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}
