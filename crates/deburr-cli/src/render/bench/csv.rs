//! A record as comma-separated values, in the columns of the published tables (`evidence/atomics_microbench.csv`), so that both can
//! be read by one program.
//!
//! In: a record. Out: RFC 4180, a line for each variant that ran with so many threads. What is not known is empty: the processor's
//! time in user code is never measured.

use crate::render::csv::quoted;
use deburr_lab::bench::record::{BenchRecord, PointRecord, Rates};
use std::io::{self, Write};

/// The columns.
const COLUMNS: &str = "source_date,machine,threads,iterations_per_thread,op,build,real_s,cpu_user_s";

/// Kernels, and what the published tables call their operation.
const PUBLISHED: [(&str, &str); 9] = [
    ("exchange", "EXCHANGE"),
    ("load", "LOAD"),
    ("store", "STORE"),
    ("fence", "FENCE"),
    ("failing-compare-and-swap", "BAD_CAS"),
    ("compare-and-swap", "OK_CAS"),
    ("fetch-or", "FETCH_OR"),
    ("fetch-add", "FETCH_ADD"),
    ("reader-lock", "RW_LOCK_LIKE"),
];

/// Writes a record.
pub(crate) fn csv(out: &mut dyn Write, record: &BenchRecord) -> io::Result<()> {
    writeln!(out, "{COLUMNS}")?;
    let seconds = record.sample_ms / 1e3;
    let date = quoted(record.measured_at.as_deref().unwrap_or_default());
    let machine = quoted(&record.machine.cpu);
    for point in &record.points {
        let operation = quoted(&operation(point));
        for variant in &point.variants {
            let Some(rates) = &variant.measured else { continue };
            let threads = point.processors.len();
            let iterations = iterations(rates, threads, seconds);
            let build = quoted(&variant.name);
            writeln!(out, "{date},{machine},{threads},{iterations},{operation},{build},{seconds},")?;
        }
    }
    Ok(())
}

/// What a thread did in a sample.
fn iterations(rates: &Rates, threads: usize, seconds: f64) -> String {
    let iterations = (rates.rate / threads as f64 * seconds).round();
    if iterations.is_finite() { iterations.to_string() } else { String::new() }
}

/// The published name of an operation, where it was measured as it was published: on one word, without think time. The kernel's
/// own name otherwise, with how it was measured.
fn operation(point: &PointRecord) -> String {
    let is_apart = point.processors.len() > 1 && point.placement != "same-word";
    let settings = [
        is_apart.then(|| point.placement.clone()),
        (point.think != "none").then(|| format!("think time {}", point.think)),
        (point.section_ns != 0.0).then(|| format!("{} ns inside", point.section_ns)),
    ];
    let settings: Vec<String> = settings.into_iter().flatten().collect();
    let published = PUBLISHED.iter().find(|(kernel, _)| *kernel == point.kernel);
    match (settings.is_empty(), published) {
        (true, Some((_, name))) => (*name).to_owned(),
        (true, None) => point.kernel.clone(),
        (false, _) => format!("{} ({})", point.kernel, settings.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_lab::kernel::KERNELS;
    use std::collections::BTreeSet;

    /// A reader of RFC 4180, which shares nothing with the writer.
    fn read(text: &str) -> Vec<Vec<String>> {
        let (mut rows, mut row, mut field, mut is_quoted) = (Vec::new(), Vec::new(), String::new(), false);
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '"' if is_quoted && characters.peek() == Some(&'"') => {
                    field.push('"');
                    characters.next();
                }
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => row.push(std::mem::take(&mut field)),
                '\n' if !is_quoted => {
                    row.push(std::mem::take(&mut field));
                    rows.push(std::mem::take(&mut row));
                }
                '\r' if !is_quoted && characters.peek() == Some(&'\n') => {}
                other => field.push(other),
            }
        }
        assert!(row.is_empty() && field.is_empty() && !is_quoted, "{text:?} ends within a line");
        rows
    }

    fn written(record: &BenchRecord) -> Vec<Vec<String>> {
        let mut out = Vec::new();
        csv(&mut out, record).unwrap();
        read(&String::from_utf8(out).unwrap())
    }

    fn example() -> BenchRecord {
        serde_json::from_str(include_str!("example.json")).unwrap()
    }

    #[test]
    fn what_ran_has_a_line_with_the_rate_in_it() {
        let mut record = example();
        record.points[0].variants[0].name = "load first, \"pause\"".to_owned();
        record.points[1].placement = "own-line".to_owned();
        let rows = written(&record);
        let date = "2026-01-31T12:00:00Z";
        let row = |threads, iterations, operation, build| {
            [date, "Example CPU", threads, iterations, operation, build, "0.02", ""].map(str::to_owned)
        };
        let expected = [
            row("1", "4000000", "FETCH_ADD", "load first, \"pause\""),
            row("1", "3076000", "FETCH_ADD", "cmpxchg loop"),
            row("2", "400000", "fetch-add (own-line)", "lock xadd"),
            row("2", "100000", "fetch-add (own-line)", "cmpxchg loop"),
        ];
        assert_eq!(rows[1..], expected);
        for (row, (point, variant)) in rows[1..].iter().zip([(0, 0), (0, 1), (1, 0), (1, 1)]) {
            let [threads, iterations, seconds] =
                [2, 3, 6].map(|column: usize| row[column].parse::<f64>().unwrap());
            let rate = record.points[point].variants[variant].measured.as_ref().unwrap().rate;
            assert!((iterations * threads / seconds / rate - 1.0).abs() < 1e-6, "{row:?}");
        }
    }

    #[test]
    fn columns_and_names_are_those_of_the_published_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../evidence/atomics_microbench.csv");
        let published = read(&std::fs::read_to_string(path).unwrap());
        assert_eq!(published[0], written(&example())[0]);
        let theirs: BTreeSet<&str> = published[1..].iter().map(|row| row[4].as_str()).collect();
        assert_eq!(theirs, PUBLISHED.map(|(_, name)| name).into_iter().collect());
        for (kernel, _) in PUBLISHED {
            assert!(KERNELS.iter().any(|known| known.name == kernel), "{kernel}");
        }
    }

    #[test]
    fn a_record_of_nonsense_has_lines_all_the_same() {
        let mut record = example();
        (record.sample_ms, record.measured_at) = (1e308, None);
        record.machine.cpu = "=cmd,\"\r\n".to_owned();
        record.points[0].processors.clear();
        record.points[1].variants[0].measured.as_mut().unwrap().rate = 1e308;
        (record.points[1].think, record.points[1].section_ns) = ("fixed:100".to_owned(), -1.0);
        let rows = written(&record);
        assert_eq!(rows.len(), 5);
        assert!(rows.iter().all(|row| row.len() == 8));
        assert_eq!([&rows[1][0], &rows[1][1], &rows[1][3], &rows[3][3]], ["", "=cmd,\"\r\n", "", ""]);
        assert_eq!(rows[3][4], "fetch-add (think time fixed:100, -1 ns inside)");
    }
}
