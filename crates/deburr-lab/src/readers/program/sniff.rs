//! Text → the program that wrote it, by what only that program writes.
//!
//! In: a whole report. Out: its format, by the first line that decides, or by the keys of its JSON.

use super::criterion;
use crate::readers::format::Format;
use crate::readers::quantity::lines;

/// Strings of JSON documents: all of them have to be there.
const WORDS: [(Format, &[&str]); 7] = [
    (Format::FioJson, &["\"fio version\"", "\"jobs\""]),
    (Format::GoogleBenchmark, &["\"benchmarks\"", "\"context\""]),
    (Format::Hyperfine, &["\"results\"", "\"command\"", "\"times\""]),
    (Format::Hyperfine, &["\"results\"", "\"measurements\"", "\"time_wall_clock\""]),
    (Format::Memtier, &["\"ALL STATS\""]),
    (Format::Criterion, &["\"iters\"", "\"times\""]),
    (Format::Criterion, &["\"reason\"", "\"benchmark-complete\""]),
];

/// The format of a text; `None`: it is not known.
pub fn sniff(text: &str) -> Option<Format> {
    let is_number = |line: &str| line.trim().parse().is_ok_and(|number: f64| number.is_finite());
    let mut are_numbers = None;
    for (_, line) in lines(text).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#')) {
        if line.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
            let has = |words: &[&str]| words.iter().all(|word| text.contains(word));
            return WORDS.into_iter().find(|(_, words)| has(words)).map(|(format, _)| format);
        }
        if let Some(format) = of_line(line) {
            return Some(format);
        }
        are_numbers = Some(are_numbers.unwrap_or(true) && is_number(line));
    }
    are_numbers.filter(|are_numbers| *are_numbers).map(|_| Format::Values)
}

fn of_line(line: &str) -> Option<Format> {
    let trimmed = line.trim();
    let begins = |words: &[&str]| words.iter().any(|word| trimmed.starts_with(word));
    if begins(&["transaction type: ", "tps = ", "latency average = ", "pgbench ("]) {
        Some(Format::Pgbench)
    } else if begins(&["sysbench 0", "sysbench 1", "events per second:"]) {
        Some(Format::Sysbench)
    } else if begins(&["Requests/sec:"]) || begins(&["Running "]) && trimmed.contains(" test @ ") {
        Some(Format::Wrk)
    } else if begins(&["Type "]) && trimmed.contains("Ops/sec") {
        Some(Format::Memtier)
    } else if begins(&["====== ", "\"test\",\"rps\"", "throughput summary:"])
        || trimmed.contains(" requests per second")
        || begins(&["\""]) && trimmed.ends_with('"') && trimmed.matches("\",\"").count() == 1
    {
        Some(Format::RedisBenchmark)
    } else if line.starts_with(criterion::HEAD) {
        Some(Format::Criterion)
    } else if is_go(line) {
        Some(Format::Go)
    } else {
        None
    }
}

/// `BenchmarkName 100 5 ns/op`, or a configuration key that every file of Go's begins with.
fn is_go(line: &str) -> bool {
    let mut words = line.split_whitespace();
    match words.next() {
        Some("goos:" | "goarch:") => true,
        Some(name) if name.starts_with("Benchmark") => {
            words.next().is_some_and(|count| count.parse::<u64>().is_ok())
                && words.next().is_some_and(|value| value.parse::<f64>().is_ok())
                && words.next().is_some()
        }
        _ => false,
    }
}
