//! What programs really print, read: every format with its names, units, directions and values; and the same
//! texts cut off and spoiled, which never panic and never take long.

use deburr_lab::readers::{Format, Measurement, read, sniff};
use deburr_lab::stats::Direction::{self, Larger, Smaller};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Reads a file as what it is taken for.
fn found(name: &str, format: Format) -> Vec<Measurement> {
    let text = text(name);
    assert_eq!(sniff(&text), Some(format), "{name}");
    read(format, &text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// One value for each of these names, in this order.
fn is_once(name: &str, format: Format, expected: &[(&str, f64, &str, Direction)]) {
    let found = found(name, format);
    let all: Vec<_> = found
        .iter()
        .map(|found| (found.name.as_str(), found.values[0], found.unit.as_str(), found.direction))
        .collect();
    assert_eq!(all, expected, "{name}");
    assert!(found.iter().all(|found| found.values.len() == 1), "{name}");
}

#[test]
fn pgbench_of_every_kind_of_run() {
    for (name, tps, latency) in [
        ("pgbench-15.txt", 2_230.210_454, 0.897),
        ("pgbench-15-progress.txt", 26_425.806_797, 0.074),
        ("pgbench-15-connect.txt", 107.281_519, 9.321),
        ("pgbench-15-scripts.txt", 12_343.770_635, 0.081),
        ("pgbench-15-rate.txt", 98.235_093, 0.996),
    ] {
        let expected = [("tps", tps, "1/s", Larger), ("latency", latency / 1e3, "s", Smaller)];
        is_once(name, Format::Pgbench, &expected);
    }
}

#[test]
fn sysbench_of_three_versions_and_of_several_tests() {
    let cpu = |events, latency, percentile, tail| {
        [
            ("events", events, "1/s", Larger),
            ("latency", latency / 1e3, "s", Smaller),
            (percentile, tail / 1e3, "s", Smaller),
        ]
    };
    is_once("sysbench-1.0-cpu.txt", Format::Sysbench, &cpu(1657.66, 1.20, "latency:p95", 12.30));
    is_once("sysbench-1.0-cpu-interval.txt", Format::Sysbench, &cpu(1606.32, 0.62, "latency:p99", 8.28));
    is_once("sysbench-1.1-cpu.txt", Format::Sysbench, &cpu(114.0161, 8.77, "latency:p95", 8.74));
    // No rate is printed: events over time.
    let threads = [("events", 2631.0 / 1.0002, "1/s", Larger), ("latency", 0.38 / 1e3, "s", Smaller)];
    is_once("sysbench-1.0-threads.txt", Format::Sysbench, &threads);
    is_once(
        "sysbench-1.0-memory.txt",
        Format::Sysbench,
        &[
            ("operations", 4_206_314.55, "1/s", Larger),
            ("transferred", 4107.73 * 1_048_576.0, "B/s", Larger),
            ("latency", 0.0, "s", Smaller),
            ("latency:p95", 0.0, "s", Smaller),
        ],
    );
    is_once(
        "sysbench-1.0-oltp.txt",
        Format::Sysbench,
        &[
            ("transactions", 1922.65, "1/s", Larger),
            ("queries", 30762.41, "1/s", Larger),
            ("latency", 0.52 / 1e3, "s", Smaller),
            ("latency:p95", 2.76 / 1e3, "s", Smaller),
        ],
    );
    is_once(
        "sysbench-0.4-oltp.txt",
        Format::Sysbench,
        &[
            ("transactions", 1666.60, "1/s", Larger),
            ("requests", 31665.40, "1/s", Larger),
            ("latency", 4.80 / 1e3, "s", Smaller),
            ("latency:p95", 7.44 / 1e3, "s", Smaller),
        ],
    );
    is_once(
        "sysbench-0.4-fileio.txt",
        Format::Sysbench,
        &[
            ("requests", 189.72, "1/s", Larger),
            ("transferred", 2.9644 * 1_048_576.0, "B/s", Larger),
            ("latency", 43.48 / 1e3, "s", Smaller),
            ("latency:p95", 180.46 / 1e3, "s", Smaller),
        ],
    );
}

#[test]
fn redis_benchmark_in_its_three_forms() {
    is_once(
        "redis-7.0.txt",
        Format::RedisBenchmark,
        &[
            ("SET:requests", 59171.60, "1/s", Larger),
            ("SET:latency", 0.133 / 1e3, "s", Smaller),
            ("SET:latency:p50", 0.047 / 1e3, "s", Smaller),
            ("SET:latency:p95", 0.095 / 1e3, "s", Smaller),
            ("SET:latency:p99", 3.943 / 1e3, "s", Smaller),
            ("GET:requests", 94786.73, "1/s", Larger),
            ("GET:latency", 0.075 / 1e3, "s", Smaller),
            ("GET:latency:p50", 0.039 / 1e3, "s", Smaller),
            ("GET:latency:p95", 0.071 / 1e3, "s", Smaller),
            ("GET:latency:p99", 0.727 / 1e3, "s", Smaller),
        ],
    );
    let quiet = found("redis-7.0-q.txt", Format::RedisBenchmark);
    assert_eq!(quiet.len(), 10);
    assert_eq!((quiet[4].name.as_str(), quiet[4].values[0]), ("SET:requests", 119_760.48));
    assert_eq!(quiet[9].name, "LRANGE_100 (first 100 elements):latency:p50");
    assert_eq!(quiet[9].values, [0.087 / 1e3]);
    let csv = found("redis-7.0-csv.txt", Format::RedisBenchmark);
    assert_eq!(csv.len(), 20);
    assert_eq!((csv[19].name.as_str(), csv[19].values[0]), ("GET:latency:p99", 0.991 / 1e3));
}

#[test]
fn memtier_as_text_and_as_json() {
    for (name, latency) in [("memtier.txt", 2.50222), ("memtier.json", 2.502)] {
        let mut found = found(name, Format::Memtier);
        found.sort_by(|one, other| one.name.cmp(&other.name));
        let all: Vec<_> = found.iter().map(|found| (found.name.as_str(), found.values[0])).collect();
        let expected = [
            ("bandwidth", 3389.82 * 1024.0),
            ("latency", latency / 1e3),
            ("latency:p50", 2.383 / 1e3),
            ("latency:p99", 5.119 / 1e3),
            ("latency:p99.9", 10.943 / 1e3),
            ("ops", 79920.0),
        ];
        assert_eq!(all, expected, "{name}");
    }
}

#[test]
fn wrk_and_wrk2() {
    let plain = [
        ("requests", 2003.22, "1/s", Larger),
        ("latency", 2.67 / 1e3, "s", Smaller),
        ("transfer", 393.30 * 1024.0, "B/s", Larger),
    ];
    is_once("wrk-4.1.txt", Format::Wrk, &plain);
    let latency = found("wrk-4.1-latency.txt", Format::Wrk);
    assert_eq!((latency[5].name.as_str(), latency[5].values[0]), ("latency:p99", 15.22 / 1e3));
    let wrk2 = found("wrk2.txt", Format::Wrk);
    let all: Vec<_> = wrk2.iter().map(|found| (found.name.as_str(), found.values.as_slice())).collect();
    assert_eq!(all[2], ("latency:p50", [6.67 / 1e3].as_slice()));
    assert_eq!(all[7], ("latency:p99.99", [1.05].as_slice()));
    assert_eq!(all[8], ("latency:p100", [66.0].as_slice()));
    assert_eq!(all[0], ("requests", [2000.28].as_slice()));
}

#[test]
fn fio_with_one_job_and_with_two() {
    let one = found("fio-3.33.json", Format::FioJson);
    let all: Vec<_> = one.iter().map(|found| (found.name.as_str(), found.values[0])).collect();
    let expected = [
        ("read:iops", 12_078.921_079),
        ("read:bandwidth", 49_475_260.0),
        ("read:clat", 82_097.507_154 / 1e9),
        ("read:clat:p50", 52_992.0 / 1e9),
        ("read:clat:p90", 60_160.0 / 1e9),
        ("read:clat:p95", 86_528.0 / 1e9),
        ("read:clat:p99", 366_592.0 / 1e9),
        ("read:clat:p99.9", 5_537_792.0 / 1e9),
    ];
    assert_eq!(all, expected);
    let two = found("fio-3.33-two.json", Format::FioJson);
    let iops: Vec<_> = two
        .iter()
        .filter(|found| found.unit == "1/s")
        .map(|found| (found.name.as_str(), found.values[0]))
        .collect();
    let expected = [
        ("seqw:write:iops", 42_666.666_667),
        ("mix:read:iops", 9_592.233_01),
        ("mix:write:iops", 10_291.262_136),
    ];
    assert_eq!(iops, expected);
}

#[test]
fn google_benchmark_gives_its_repetitions_and_neither_means_nor_failures() {
    let all = found("google-1.7.json", Format::GoogleBenchmark);
    let names: Vec<&str> = all.iter().map(|found| found.name.as_str()).collect();
    let of = |size: &str| {
        ["real_time", "cpu_time", "items_per_second", "swaps"]
            .map(|metric| format!("BM_sort/{size}:{metric}"))
    };
    let expected = [of("64"), of("4096")].concat();
    let mut sorted = [names.clone(), expected.iter().map(String::as_str).collect()];
    sorted.iter_mut().for_each(|names| names.sort_unstable());
    assert_eq!(sorted[0], sorted[1]);
    assert!(all.iter().all(|found| found.values.len() == 5));
    assert_eq!(all[0].values[0], 4.142_408_227_709_976_6e-1 / 1e6);
    assert_eq!((all[0].unit.as_str(), all[0].direction), ("s", Smaller));
    let failed = found("google-1.7-error.json", Format::GoogleBenchmark);
    assert!(!failed.is_empty() && failed.iter().all(|found| !found.name.contains("fail")));
}

#[test]
fn criterion_gives_the_time_of_one_iteration() {
    let sample = found("criterion-0.5-sample.json", Format::Criterion);
    assert_eq!((sample.len(), sample[0].name.as_str(), sample[0].values.len()), (1, "time", 12));
    assert_eq!(sample[0].values[0], 5_306_468.0 / 151_117.0 / 1e9);
    let raw = found("criterion-0.5-raw.csv", Format::Criterion);
    let names: Vec<_> = raw.iter().map(|found| (found.name.as_str(), found.values.len())).collect();
    assert_eq!(names, [("sum/iter/64:time", 12), ("sum/iter/4096:time", 12)]);
    assert_eq!(raw[0].values, sample[0].values);
}

#[test]
fn hyperfine_names_its_commands_where_there_are_several() {
    let two = found("hyperfine-1.15.json", Format::Hyperfine);
    let names: Vec<_> = two.iter().map(|found| (found.name.as_str(), found.values.len())).collect();
    let expected = [
        ("sleep 0.01:time", 12),
        ("sleep 0.01:user", 1),
        ("sleep 0.01:system", 1),
        ("sleep 0.012:time", 12),
        ("sleep 0.012:user", 1),
        ("sleep 0.012:system", 1),
    ];
    assert_eq!(names, expected);
    let one = found("hyperfine-1.15-one.json", Format::Hyperfine);
    assert_eq!((one[0].name.as_str(), one[0].values[1]), ("time", 0.015_094_478_000_000_001));
}

#[test]
fn hyperfine_2_measures_every_run() {
    let two = found("hyperfine-2.0.json", Format::Hyperfine);
    let names: Vec<_> = two.iter().map(|found| (found.name.as_str(), found.values.len())).collect();
    let metrics = ["time", "cpu", "user", "system", "memory"];
    let expected: Vec<(String, usize)> = ["a short sleep", "sleep 0.012"]
        .iter()
        .flat_map(|command| metrics.map(|metric| (format!("{command}:{metric}"), 4)))
        .collect();
    assert_eq!(names, expected.iter().map(|(name, count)| (name.as_str(), *count)).collect::<Vec<_>>());
    assert!(two.iter().all(|found| found.direction == Smaller));
    assert_eq!((two[0].unit.as_str(), two[4].unit.as_str()), ("s", "B"));
}

#[test]
fn go_is_what_benchstat_reads() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/benchstat/inputs/crc-old.txt");
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(sniff(&text), Some(Format::Go));
    let all = read(Format::Go, &text).unwrap();
    assert!(all.iter().any(|found| found.unit == "sec/op" && found.direction == Smaller));
    assert!(all.iter().any(|found| found.unit == "B/s" && found.direction == Larger));
    assert!(all.iter().all(|found| found.name.ends_with(&format!(":{}", found.unit))));
}

#[test]
fn numbers_one_a_line() {
    let text = "# a\n1.5\n\n 2e3 \n";
    assert_eq!(sniff(text), Some(Format::Values));
    assert_eq!(read(Format::Values, text).unwrap()[0].values, [1.5, 2000.0]);
    let error = |text| read(Format::Values, text).unwrap_err().to_string();
    assert_eq!(error("1\nx\n"), "line 2: \"x\" is no number");
    assert_eq!(error("1\ninf\n"), "line 2: \"inf\" is no number");
    assert_eq!(error("# none\n"), "no result of values in it");
    assert_eq!((sniff("x\n"), sniff(""), sniff("1\nx\n")), (None, None, None));
}

#[test]
fn several_reports_one_after_the_other_are_several_values() {
    for (name, format) in [
        ("pgbench-15-progress.txt", Format::Pgbench),
        ("sysbench-1.0-oltp.txt", Format::Sysbench),
        ("sysbench-1.0-threads.txt", Format::Sysbench),
        ("redis-7.0.txt", Format::RedisBenchmark),
        ("redis-7.0-csv.txt", Format::RedisBenchmark),
        ("memtier.txt", Format::Memtier),
        ("memtier.json", Format::Memtier),
        ("wrk-4.1-latency.txt", Format::Wrk),
        ("fio-3.33-two.json", Format::FioJson),
    ] {
        let all = read(format, &text(name).repeat(3)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(all.iter().all(|found| found.values.len() == 3), "{name}");
        assert!(all.iter().all(|found| found.values.iter().all(|value| *value == found.values[0])), "{name}");
    }
}

#[test]
fn names_say_unit_and_direction_before_anything_is_measured() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name == "README.md" {
            continue;
        }
        let text = text(&name);
        let format = sniff(&text).unwrap_or_else(|| panic!("{name}: unknown"));
        assert_eq!(format.to_string().parse(), Ok(format));
        for found in read(format, &text).unwrap() {
            assert_eq!(format.quantity(&found.name), Some((found.unit, found.direction)), "{}", found.name);
        }
    }
    assert_eq!(Format::Pgbench.quantity("tips"), None);
    assert_eq!(Format::Wrk.quantity("latency:p99.9"), Some(("s".to_owned(), Smaller)));
    assert_eq!(Format::Wrk.quantity("latency:px"), None);
    assert_eq!(Format::Go.quantity("Encode-8:B/s"), Some(("B/s".to_owned(), Larger)));
    assert!("pg".parse::<Format>().unwrap_err().contains("pgbench, sysbench"));
}

/// A number generator of a few lines (Marsaglia, Xorshift RNGs, Journal of Statistical Software 8 (2003)).
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

#[test]
fn spoiled_reports_give_errors_or_finite_numbers_and_never_panic() {
    let mut random = Xorshift(7);
    let noise = [
        "\"", "{", "}", "[", "\n", "\r", ":", "%", "-nan", "1e999", "é", "\0", "====== ", "(", ",", "tps = ",
        "p", "Totals ",
    ];
    for entry in std::fs::read_dir(folder()).unwrap() {
        let whole = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for _ in 0..400 {
            let mut text = whole.clone();
            for _ in 0..=random.below(3) {
                let mut cut = || {
                    (0..=random.below(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
                };
                let (one, other) = (cut(), cut());
                match random.below(3) {
                    0 => text.truncate(one),
                    1 => text.replace_range(one.min(other)..one.max(other), ""),
                    _ => text.insert_str(one, noise[random.below(noise.len())]),
                }
            }
            sniff(&text);
            for format in Format::ALL {
                match read(format, &text) {
                    Ok(all) => {
                        assert!(!all.is_empty());
                        let values = all.iter().flat_map(|found| &found.values);
                        assert!(
                            values.clone().count() > 0 && values.into_iter().all(|value| value.is_finite())
                        );
                    }
                    Err(error) => assert!(error.to_string().len() < 400, "{error}"),
                }
            }
        }
    }
}

#[test]
fn a_document_that_is_cut_off_is_refused_wherever_that_is() {
    for name in [
        "fio-3.33.json",
        "google-1.7.json",
        "hyperfine-1.15.json",
        "hyperfine-2.0.json",
        "memtier.json",
        "criterion-0.5-sample.json",
    ] {
        let whole = text(name);
        let format = sniff(&whole).unwrap();
        let end = whole.trim_end().len();
        for cut in (1..end).step_by(97) {
            let error = read(format, &whole[..cut]).expect_err(name);
            assert!(error.to_string().contains("cut off"), "{name}, {cut}: {error}");
        }
    }
}

#[test]
fn large_reports_take_no_longer_than_their_size() {
    let many = |line: &dyn Fn(usize) -> String| (0..60_000).map(line).collect::<String>();
    let hostile = [
        (Format::Pgbench, many(&|_| "latency average\n".to_owned())),
        (Format::RedisBenchmark, many(&|n| format!("K{n}: 5 requests per second\n"))),
        (Format::RedisBenchmark, format!("\"{}\"", "\",\"".repeat(200_000))),
        (Format::Wrk, many(&|_| "\r\r\r\r\r\r% %\n".to_owned())),
        (Format::Memtier, format!("Type Ops/sec {}\n", "p1 Latency ".repeat(60_000))),
        (Format::Go, many(&|n| format!("BenchmarkE{n} 1 5 ns/op\n"))),
        (Format::Hyperfine, "{\"a\":1}\n".repeat(60_000)),
        (Format::Hyperfine, "{\n".repeat(60_000)),
        (Format::FioJson, "[".repeat(600_000)),
        (Format::FioJson, format!("{{\"jobs\":{}", "[".repeat(600_000))),
        (Format::Criterion, format!("group,function,value,x\n{}", "\"".repeat(600_000))),
        (Format::Values, many(&|n| format!("{n}\n"))),
        (Format::Values, "9".repeat(1_000_000)),
    ];
    for (format, text) in hostile {
        let before = Instant::now();
        let _ = (sniff(&text), read(format, &text));
        assert!(before.elapsed() < Duration::from_secs(60), "{format}: {:?}", before.elapsed());
    }
}
