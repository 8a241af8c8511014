//! Published measurements next to a record's, by shape: how many times as long one implementation takes as another.
//!
//! In: the tables of `evidence/`, and a [`BenchRecord`]. Out: [`Shape`]s. Nothing published was measured by this project; the
//! machines are the reporters', and `evidence/README.md` has the sources. Absolute times are not compared: machines differ.

use super::record::BenchRecord;
use crate::model::published::{self, Build, Row};
use std::collections::BTreeMap;

/// A published ratio, and the record's.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// The table: `atomics_microbench.csv`.
    pub table: &'static str,
    /// Whose machine, as the table names it.
    pub machine: String,
    /// What is compared: `FETCH_ADD: LSE to LL/SC`.
    pub what: String,
    /// With how many threads.
    pub threads: usize,
    /// The published ratio of times; several runs are their geometric mean.
    pub published: f64,
    /// The record's; `None` where it does not have both with as many threads.
    pub here: Option<f64>,
}

/// What is said of two ratios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Both say faster, both slower, or both neither.
    Agrees,
    /// They do not.
    Differs,
}

/// Ratios within this fraction of 1 say neither.
pub const NEITHER: f64 = 0.1;

impl Shape {
    /// Whether the record says the same; `None` where it says nothing.
    pub fn agreement(&self) -> Option<Agreement> {
        let side = |ratio: f64| match ratio {
            ratio if ratio > 1.0 + NEITHER => 1,
            ratio if ratio < 1.0 / (1.0 + NEITHER) => -1,
            _ => 0,
        };
        let here = self.here?;
        Some(if side(here) == side(self.published) { Agreement::Agrees } else { Agreement::Differs })
    }
}

/// The published shapes, with the record's ratios.
pub fn shapes(record: &BenchRecord) -> Vec<Shape> {
    let tables = [microbenchmarks(), sweep(), near_and_far(), pauses(), frames(), checksums()];
    let here = |pair: &Pair, threads: usize| {
        let cost = record.cost(pair.kernel, &[pair.of], &[pair.to])?;
        let with = cost.by_threads.iter().find(|cost| cost.threads == threads)?;
        Some(with.found_ns / with.instead_ns)
    };
    let shape = |published: Published| Shape {
        table: published.table,
        machine: published.machine,
        what: published.what,
        threads: published.threads,
        published: published.ratio,
        here: here(&published.pair, published.threads),
    };
    tables.into_iter().flatten().map(shape).collect()
}

/// A published ratio, and what measures the same.
struct Published {
    table: &'static str,
    machine: String,
    what: String,
    threads: usize,
    ratio: f64,
    pair: Pair,
}

/// Two variants of a kernel.
#[derive(Clone, Copy)]
struct Pair {
    kernel: &'static str,
    of: &'static str,
    to: &'static str,
}

/// The operations of the tables that builds differ in, and their variants: LL/SC, LSE, outlined with LSE. An empty name: no
/// variant does that.
const OPERATIONS: [(&str, &str, [&str; 3]); 6] = [
    ("EXCHANGE", "exchange", ["ldaxr/stlxr", "swpal", "outlined, with LSE"]),
    ("BAD_CAS", "failing-compare-and-swap", ["ldaxr/stlxr", "casal", "outlined, with LSE"]),
    ("OK_CAS", "compare-and-swap", ["ldaxr/stlxr", "casal", "outlined, with LSE"]),
    ("FETCH_OR", "fetch-or", ["ldaxr/stlxr", "ldsetal", "outlined, with LSE"]),
    ("FETCH_ADD", "fetch-add", ["ldaxr/stlxr", "ldaddal", "outlined, with LSE"]),
    ("RW_LOCK_LIKE", "reader-lock", ["ldaxr/stlxr", "casal loop", ""]),
];

fn microbenchmarks() -> Vec<Published> {
    let text = include_str!("../../../../evidence/atomics_microbench.csv");
    builds("atomics_microbench.csv", published::microbenchmarks(text).unwrap_or_default())
}

fn sweep() -> Vec<Published> {
    let text = include_str!("../../../../evidence/rw_lock_like_thread_sweep.csv");
    let rows = published::sweep(text).unwrap_or_default().into_iter();
    builds(
        "rw_lock_like_thread_sweep.csv",
        rows.map(|row| Row { machine: "not named".to_owned(), ..row }).collect(),
    )
}

/// The ratios of builds of the same operation, on the same machine and with as many threads.
fn builds(table: &'static str, rows: Vec<Row>) -> Vec<Published> {
    let mut times: BTreeMap<(String, usize, usize), [Vec<f64>; 3]> = BTreeMap::new();
    for Row { machine, threads, name, build, ns, .. } in rows {
        if let Some(operation) = OPERATIONS.iter().position(|(operation, ..)| *operation == name) {
            let build = match build {
                Build::Exclusive => 0,
                Build::Lse => 1,
                Build::Outlined => 2,
            };
            times.entry((machine, operation, threads)).or_default()[build].push(ns);
        }
    }
    let mut published = Vec::new();
    for ((machine, operation, threads), builds) in times {
        let (name, kernel, variants) = OPERATIONS[operation];
        for (of, to, what) in [(1, 0, "LSE to LL/SC"), (2, 1, "outlined to LSE")] {
            if builds[of].is_empty() || builds[to].is_empty() || variants[of].is_empty() {
                continue;
            }
            published.push(Published {
                table,
                machine: machine.clone(),
                what: format!("{name}: {what}"),
                threads,
                ratio: geometric_mean(&builds[of]) / geometric_mean(&builds[to]),
                pair: Pair { kernel, of: variants[of], to: variants[to] },
            });
        }
    }
    published
}

fn near_and_far() -> Vec<Published> {
    const TEXT: &str = include_str!("../../../../evidence/near_far_percpu_add.csv");
    let mut times: BTreeMap<(String, String), [Option<f64>; 3]> = BTreeMap::new();
    for row in rows(TEXT) {
        let [_, machine, cpu, variant, median, _] = &row[..] else { continue };
        let at = match variant.as_str() {
            "LL/SC" => 0,
            "LSE store form" => 1,
            "LSE value form" => 2,
            _ => continue,
        };
        times.entry((machine.clone(), cpu.clone())).or_default()[at] = median.parse().ok();
    }
    let cpus_of = |machine: &str| times.keys().filter(|(of, _)| of == machine).count();
    let mut published = Vec::new();
    for ((machine, cpu), [exclusive, store, value]) in &times {
        // One machine had several of its CPUs measured, which differ.
        let machine = if cpus_of(machine) > 1 { format!("{machine}, CPU {cpu}") } else { machine.clone() };
        let forms = [("STADD", "stadd (no old value)", store), ("LDADD", "ldadd", value)];
        for (name, of, form) in forms {
            let (Some(form), Some(exclusive)) = (form, exclusive) else { continue };
            published.push(Published {
                table: "near_far_percpu_add.csv",
                machine: machine.clone(),
                what: format!("per-CPU add: {name} to LL/SC"),
                threads: 1,
                ratio: form / exclusive,
                pair: Pair { kernel: "fetch-add-64", of, to: "ldxr/stxr" },
            });
        }
    }
    published
}

fn pauses() -> Vec<Published> {
    const TEXT: &str = include_str!("../../../../evidence/spin_pause_sb_isb.csv");
    let of = |row: Vec<String>| {
        let [source, machine, benchmark, threads, _, better, isb, sb] = &row[..] else { return None };
        let (isb, sb): (f64, f64) = (isb.parse().ok()?, sb.parse().ok()?);
        Some(Published {
            table: "spin_pause_sb_isb.csv",
            machine: format!("{machine}; {source}"),
            what: format!("{benchmark}: sb to isb"),
            threads: threads.parse().ok()?,
            ratio: if better == "larger" { isb / sb } else { sb / isb },
            pair: Pair { kernel: "lock", of: "swpa, sb", to: "swpa, isb" },
        })
    };
    rows(TEXT).into_iter().filter_map(of).collect()
}

fn frames() -> Vec<Published> {
    const TEXT: &str = include_str!("../../../../evidence/go_arm64_frame_benchstat.csv");
    let of = |row: Vec<String>| {
        let [machine, name, before, _, after, ..] = &row[..] else { return None };
        let (before, after): (f64, f64) = (before.parse().ok()?, after.parse().ok()?);
        (name == "geomean").then(|| Published {
            table: "go_arm64_frame_benchstat.csv",
            machine: machine.clone(),
            what: "encoding/json, mean: two loads to one ldp".to_owned(),
            threads: 1,
            ratio: after / before,
            pair: Pair { kernel: "frame", of: "two stores, two loads", to: "two stores, one ldp" },
        })
    };
    rows(TEXT).into_iter().filter_map(of).collect()
}

fn checksums() -> Vec<Published> {
    const TEXT: &str = include_str!("../../../../evidence/page_checksum_amd3900x.csv");
    let rows: Vec<(String, f64)> = rows(TEXT)
        .into_iter()
        .filter_map(|row| Some((row.get(1)?.clone(), row.get(2)?.parse().ok()?)))
        .collect();
    let Some((_, first)) = rows.first() else { return Vec::new() };
    let variants = ["SSE4.1, compiled", "x86-64-v3, compiled"];
    let of = |((flags, seconds), of): (&(String, f64), &'static str)| Published {
        table: "page_checksum_amd3900x.csv",
        machine: "AMD 3900X".to_owned(),
        what: format!("page checksum: {flags} to -O2"),
        threads: 1,
        ratio: seconds / first,
        pair: Pair { kernel: "checksum", of, to: "x86-64-v1, compiled" },
    };
    rows.iter().skip(1).zip(variants).map(of).collect()
}

fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

/// A table's rows after its header, in fields; a field in quotes may have commas.
fn rows(text: &str) -> Vec<Vec<String>> {
    let fields = |line: &str| {
        let (mut fields, mut is_quoted) = (vec![String::new()], false);
        for letter in line.chars() {
            match letter {
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => fields.push(String::new()),
                _ => fields.last_mut().into_iter().for_each(|field| field.push(letter)),
            }
        }
        fields
    };
    text.lines().skip(1).map(fields).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::example;
    use crate::kernel::KERNELS;

    fn record(kernel: &str, threads: usize, times: [(&str, f64); 2]) -> BenchRecord {
        let variants = times.map(|(name, ns)| example::variant(name, Some(ns), None));
        example::record(&[example::point((kernel, threads), "none", &variants)])
    }

    #[test]
    fn every_table_has_shapes_and_their_ratios_are_the_published_ones() {
        let shapes = shapes(&record("fetch-add", 1, [("ldaxr/stlxr", 5.0), ("ldaddal", 4.0)]));
        let tables = |name: &str| shapes.iter().filter(|shape| shape.table == name).count();
        let counts = [
            "rw_lock_like_thread_sweep.csv",
            "near_far_percpu_add.csv",
            "spin_pause_sb_isb.csv",
            "page_checksum_amd3900x.csv",
        ];
        assert_eq!(counts.map(tables), [30, 7, 3, 2]);
        assert!(tables("atomics_microbench.csv") > 40 && tables("go_arm64_frame_benchstat.csv") == 3);
        let ratio = |what: &str, threads: usize, machine: &str| {
            let is_meant = |shape: &&Shape| {
                shape.what == what && shape.threads == threads && shape.machine.contains(machine)
            };
            shapes.iter().find(is_meant).map(|shape| shape.published).unwrap()
        };
        // 5.01 by 7.32 ns, 45.53 by 5.69; 2.859 by 4.292 s; 360.768 by 193.289 s; 130,891,978 by 169,135,465 operations.
        assert!((ratio("per-CPU add: STADD to LL/SC", 1, "Altra") - 0.684).abs() < 1e-3);
        assert!((ratio("per-CPU add: STADD to LL/SC", 1, "first report") - 8.002).abs() < 1e-3);
        // 69.55 and 29.00 by 6.57 ns on one CPU, 5.79 by 6.56 on the next.
        assert!(
            (ratio("per-CPU add: LDADD to LL/SC", 1, "Kunpeng 920 (tsv110), CPU 0") - 10.586).abs() < 1e-3
        );
        assert!(
            (ratio("per-CPU add: STADD to LL/SC", 1, "Kunpeng 920 (tsv110), CPU 0") - 4.414).abs() < 1e-3
        );
        assert!(
            (ratio("per-CPU add: STADD to LL/SC", 1, "Kunpeng 920 (tsv110), CPU 1") - 0.883).abs() < 1e-3
        );
        assert!((ratio("page checksum: -O2 -msse4.1 to -O2", 1, "") - 0.666).abs() < 1e-3);
        assert!((ratio("RW_LOCK_LIKE: LSE to LL/SC", 30, "not named") - 1.866).abs() < 1e-3);
        assert!((ratio("small locks: MicroSpinLock: sb to isb", 16, "") - 0.774).abs() < 1e-3);
    }

    #[test]
    fn ratios_agree_where_they_say_the_same() {
        let at = |published: f64, here: Option<f64>| {
            let (machine, what) = (String::new(), String::new());
            Shape { table: "", machine, what, threads: 1, published, here }.agreement()
        };
        for (published, here) in [(1.3, 4.0), (0.5, 0.9), (1.0, 1.09), (0.95, 1.05)] {
            assert_eq!(at(published, Some(here)), Some(Agreement::Agrees), "{published} {here}");
        }
        for (published, here) in [(1.3, 1.0), (1.3, 0.7), (0.5, 1.0), (1.0, 1.2)] {
            assert_eq!(at(published, Some(here)), Some(Agreement::Differs), "{published} {here}");
        }
        assert_eq!(at(1.3, None), None);
    }

    #[test]
    fn a_record_is_compared_where_it_has_as_many_threads() {
        let shapes = shapes(&record("fetch-add", 16, [("ldaxr/stlxr", 400.0), ("ldaddal", 100.0)]));
        let here: Vec<&Shape> = shapes.iter().filter(|shape| shape.here.is_some()).collect();
        assert!(!here.is_empty());
        for shape in here {
            assert_eq!((shape.what.as_str(), shape.threads), ("FETCH_ADD: LSE to LL/SC", 16));
            assert_eq!(shape.here, Some(0.25));
        }
    }

    /// What the tables are compared with is there, on the architecture that it is for.
    #[test]
    fn kernels_have_the_variants_that_published_rows_are_compared_with() {
        let tables = [microbenchmarks(), sweep(), near_and_far(), pauses(), frames(), checksums()];
        for Published { table, pair, .. } in tables.iter().flatten() {
            if (*table == "page_checksum_amd3900x.csv") == cfg!(target_arch = "aarch64") {
                continue;
            }
            let kernel = KERNELS.iter().find(|kernel| kernel.name == pair.kernel);
            let kernel = kernel.unwrap_or_else(|| panic!("{}", pair.kernel));
            for name in [pair.of, pair.to] {
                assert!(
                    kernel.variants.iter().any(|variant| variant.name == name),
                    "{}: {name}",
                    kernel.name
                );
            }
        }
    }
}
