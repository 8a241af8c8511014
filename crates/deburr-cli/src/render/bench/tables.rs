//! The record of a benchmark → tables for people: one for each kernel, by threads and variant.

use crate::render::style::Palette;
use crate::text::number::{counted, nanoseconds};
use deburr_core::rule::Rule;
use deburr_lab::bench::cost::{Cost, ThreadCost};
use deburr_lab::bench::machine::distinct;
use deburr_lab::bench::record::{BenchRecord, PointRecord, VariantRecord};
use deburr_lab::kernel::Kernel;
use std::io::{self, Write};

/// Lists kernels with their variants.
pub(crate) fn list(out: &mut dyn Write, kernels: &[&Kernel], palette: Palette) -> io::Result<()> {
    let mut suite = "";
    for kernel in kernels {
        if kernel.suite != suite {
            suite = kernel.suite;
            writeln!(out, "{}", palette.bold(suite))?;
        }
        writeln!(out, "  {}: {}", palette.bold(kernel.name), kernel.summary)?;
        let variants: Vec<&str> = kernel.variants.iter().map(|variant| variant.name).collect();
        writeln!(out, "    {}", palette.dim(&variants.join("; ")))?;
    }
    Ok(())
}

/// Prints a record.
pub(crate) fn text(out: &mut dyn Write, record: &BenchRecord, palette: Palette) -> io::Result<()> {
    let machine = &record.machine;
    let processors = counted(machine.processors as u64, "processor");
    let virtualised = if machine.virtualised == Some(true) { ", virtualised" } else { "" };
    let governor = machine.governor.as_ref().map_or_else(String::new, |governor| format!(", {governor}"));
    writeln!(
        out,
        "{}: {}, {processors}{virtualised}{governor}; the loop takes {} of each time, a look at the clock {}",
        palette.bold(&machine.cpu),
        machine.level,
        nanoseconds(record.loop_ns),
        nanoseconds(record.clock_ns),
    )?;
    for points in record.points.chunk_by(is_same_table) {
        table(out, points, palette)?;
    }
    if record.is_interrupted {
        writeln!(out, "\nInterrupted: what was measured by then is above.")?;
    }
    Ok(())
}

fn table(out: &mut dyn Write, points: &[PointRecord], palette: Palette) -> io::Result<()> {
    let Some(first) = points.first() else { return Ok(()) };
    writeln!(out, "\n{}{}", palette.bold(&first.kernel), setting(points))?;
    let names = points.iter().flat_map(|point| &point.variants).map(|variant| variant.name.chars().count());
    let width = names.max().unwrap_or_default().max("variant".len());
    let header = format!(
        "  threads  {:width$}  {:>10}  {:>11}  fairness  against the first",
        "variant", "time", "rate"
    );
    writeln!(out, "{}", palette.dim(&header))?;
    for point in points {
        for (index, variant) in point.variants.iter().enumerate() {
            let threads = if index == 0 { point.processors.len().to_string() } else { String::new() };
            writeln!(out, "  {threads:>7}  {:width$}  {}", variant.name, measured(variant, point.bytes))?;
        }
        if point.retaken > 0 {
            let rounds = counted(point.retaken as u64, "round");
            writeln!(out, "           {rounds} taken again, because something else had a processor")?;
        }
        let (threads, processors) = (point.processors.len(), distinct(&point.processors));
        if processors < threads {
            writeln!(
                out,
                "           {threads} threads took turns on {}",
                counted(processors as u64, "processor")
            )?;
        }
    }
    Ok(())
}

/// Says of each rule in one sentence what the code that it finds costs here.
pub(crate) fn sentences(
    out: &mut dyn Write,
    record: &BenchRecord,
    rules: &[&Rule],
    palette: Palette,
) -> io::Result<()> {
    for rule in rules {
        let Some(benchmark) = rule.benchmark else { continue };
        let cost = record.cost(benchmark.kernel, benchmark.found, benchmark.instead);
        let sentence =
            cost.map_or_else(|| "this CPU has nothing to compare".to_owned(), |cost| sentence(&cost));
        writeln!(out, "\n{}: {sentence}.", palette.bold(rule.id))?;
    }
    Ok(())
}

fn sentence(cost: &Cost) -> String {
    let with = |(index, one): (usize, &ThreadCost)| {
        let ratio = format!("{:.2}×", one.found_ns / one.instead_ns);
        let amount = match &cost.instead {
            Some(instead) if index == 0 => format!("{ratio} the time of `{instead}`"),
            Some(_) => ratio,
            None => nanoseconds(one.found_ns),
        };
        let threads =
            if one.threads == 1 { "alone".to_owned() } else { format!("with {} threads", one.threads) };
        let verdict = if one.is_inconclusive { " (inconclusive)" } else { "" };
        format!("{amount} {threads}{verdict}")
    };
    let amounts: Vec<String> = cost.by_threads.iter().enumerate().map(with).collect();
    format!("on this CPU `{}` takes {}", cost.found, amounts.join(", "))
}

/// Whether two points differ in the number of threads only.
pub(super) fn is_same_table(one: &PointRecord, next: &PointRecord) -> bool {
    (&one.kernel, &one.placement, &one.think) == (&next.kernel, &next.placement, &next.think)
        && one.section_ns == next.section_ns
}

/// What is said of the points of a table next to their kernel's name.
pub(super) fn setting(points: &[PointRecord]) -> String {
    let Some(first) = points.first() else { return String::new() };
    let is_shared = points.iter().any(|point| point.processors.len() > 1);
    let placement = is_shared.then(|| first.placement.clone());
    let think = (first.think != "none").then(|| format!("think time {} ns", first.think.replace(':', " ")));
    let section = (first.section_ns > 0.0).then(|| format!("{} inside", nanoseconds(first.section_ns)));
    let parts: Vec<String> = [placement, think, section].into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// Prints a record with another one next to it, as far as both have measured the same.
pub(crate) fn side_by_side(
    out: &mut dyn Write,
    here: &BenchRecord,
    there: &BenchRecord,
    palette: Palette,
) -> io::Result<()> {
    let (one, other) = (&here.machine, &there.machine);
    writeln!(out, "here:  {}, {}", palette.bold(&one.cpu), counted(one.processors as u64, "processor"))?;
    writeln!(out, "there: {}, {}", palette.bold(&other.cpu), counted(other.processors as u64, "processor"))?;
    let mut left_out = 0u64;
    for points in here.points.chunk_by(is_same_table) {
        let Some(first) = points.first() else { continue };
        let rows: Vec<(usize, &VariantRecord, Option<&VariantRecord>)> = points
            .iter()
            .flat_map(|point| {
                let other = |variant| there.same(point, variant).filter(|it| it.measured.is_some());
                point.variants.iter().map(move |variant| (point.processors.len(), variant, other(variant)))
            })
            .collect();
        left_out += rows.iter().filter(|(_, _, other)| other.is_none()).count() as u64;
        let width = rows.iter().map(|(_, variant, _)| variant.name.chars().count()).max().unwrap_or_default();
        writeln!(out, "\n{}{}", palette.bold(&first.kernel), setting(points))?;
        let header = format!(
            "  threads  {:width$}  {:>10}  {:>10}  {:>6}  against the first: here, there",
            "variant", "here", "there", "ratio"
        );
        writeln!(out, "{}", palette.dim(&header))?;
        for (threads, variant, other) in rows {
            let Some((one, other_rates)) =
                variant.measured.as_ref().zip(other.and_then(|it| it.measured.as_ref()))
            else {
                continue;
            };
            let slowdown = |variant: &VariantRecord| {
                variant.verdict.as_ref().map_or("1".to_owned(), |verdict| format!("{:.2}×", verdict.slowdown))
            };
            writeln!(
                out,
                "  {threads:>7}  {:width$}  {:>10}  {:>10}  {:>5.2}×  {}, {}",
                variant.name,
                nanoseconds(one.ns),
                nanoseconds(other_rates.ns),
                one.ns / other_rates.ns,
                slowdown(variant),
                other.map(slowdown).unwrap_or_default(),
            )?;
        }
    }
    if left_out > 0 {
        writeln!(out, "\n{} measured on one machine only left out.", counted(left_out, "variant"))?;
    }
    Ok(())
}

fn measured(variant: &VariantRecord, bytes: Option<usize>) -> String {
    if !variant.lacks.is_empty() {
        return format!("{:>10}  (the CPU lacks {})", "-", variant.lacks.join(", "));
    }
    let Some(rates) = &variant.measured else { return format!("{:>10}", "-") };
    let fairness = if rates.thread_rates.len() > 1 {
        format!("{:>7.0}%", 100.0 * rates.fairness)
    } else {
        " ".repeat(8)
    };
    let verdict = variant.verdict.as_ref().map_or_else(String::new, |verdict| {
        let range =
            verdict.interval.map_or_else(String::new, |(low, high)| format!(" [{low:.2}, {high:.2}]"));
        format!("  {:.2}×{range} as long: {}", verdict.slowdown, verdict.outcome)
    });
    let preempted = match rates.preempted {
        0 => String::new(),
        count => {
            let separator = if verdict.is_empty() { "  " } else { "; " };
            format!("{separator}preempted in {count} of {} samples", rates.rounds)
        }
    };
    let rate = throughput(rates.rate, bytes);
    let kept = rates.run_length.filter(|_| rates.thread_rates.len() > 1).map_or_else(String::new, |length| {
        let separator = if verdict.is_empty() && preempted.is_empty() { "  " } else { "; " };
        format!("{separator}{length:.1} in a row")
    });
    format!("{:>10}  {rate:>9}/s  {fairness}{verdict}{preempted}{kept}", nanoseconds(rates.ns))
        .trim_end()
        .to_owned()
}

/// A rate: of bytes where an operation reads so many, of operations otherwise.
pub(super) fn throughput(operations: f64, bytes: Option<usize>) -> String {
    bytes.map_or_else(|| rate(operations), |bytes| gibibytes(operations * bytes as f64))
}

/// Three digits of a number of operations.
pub(super) fn rate(rate: f64) -> String {
    match rate {
        rate if rate >= 1e15 => format!("{rate:.2e} "),
        rate if rate >= 1e9 => format!("{:.2} G", rate / 1e9),
        rate if rate >= 1e6 => format!("{:.1} M", rate / 1e6),
        rate if rate >= 1e3 => format!("{:.1} k", rate / 1e3),
        rate => format!("{rate:.0}"),
    }
}

/// Three digits of a number of bytes.
fn gibibytes(bytes: f64) -> String {
    // A record may say anything.
    let gibibytes = (bytes / f64::from(1 << 30)).clamp(f64::MIN, f64::MAX);
    match gibibytes.abs() {
        size if size < 9.995 => format!("{gibibytes:.2} GiB"),
        size if size < 99.95 => format!("{gibibytes:.1} GiB"),
        size if size < 1e9 => format!("{gibibytes:.0} GiB"),
        _ => format!("{gibibytes:.1e} GiB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!(
            [0.312, 9.994, 9.996, 99.96, 12_345.0, 2.5e6, 3e9, 1e308].map(nanoseconds),
            ["0.31 ns", "9.99 ns", "10.0 ns", "100 ns", "12.3 µs", "2.5 ms", "3.0 s", "1.0e299 s"]
        );
        assert_eq!(
            [512.0, 2_345.0, 3.2e6, 4.56e9, 1e308].map(rate),
            ["512", "2.3 k", "3.2 M", "4.56 G", "1.00e308 "]
        );
        assert_eq!(
            [1e8, 6.5e10, 1.5e12, f64::INFINITY].map(gibibytes),
            ["0.09 GiB", "60.5 GiB", "1397 GiB", "1.8e308 GiB"]
        );
    }

    #[test]
    fn a_rule_has_one_sentence() {
        let record: BenchRecord = serde_json::from_str(include_str!("example.json")).unwrap();
        let rules = ["cas-for-rmw", "mfence"].map(|rule| deburr_core::rule::find(rule).unwrap());
        let mut out = Vec::new();
        sentences(&mut out, &record, &rules, Palette::new(false)).unwrap();
        let expected = "
cas-for-rmw: on this CPU `cmpxchg loop` takes 1.30× the time of `lock xadd` alone, 4.00× with 2 threads (inconclusive).

mfence: this CPU has nothing to compare.
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn two_machines_stand_side_by_side_where_both_have_measured_the_same() {
        let here: BenchRecord = serde_json::from_str(include_str!("example.json")).unwrap();
        let mut there = here.clone();
        there.machine.cpu = "Another CPU".to_owned();
        there.points.pop();
        there.points[0].variants[0].measured.as_mut().unwrap().ns = 2.5;
        let mut out = Vec::new();
        side_by_side(&mut out, &here, &there, Palette::new(false)).unwrap();
        let expected = "\
here:  Example CPU, 2 processors
there: Another CPU, 2 processors

fetch-add (same-word)
  threads  variant             here       there   ratio  against the first: here, there
        1  lock xadd        5.00 ns     2.50 ns   2.00×  1, 1
        1  cmpxchg loop     6.50 ns     6.50 ns   1.00×  1.30×, 1.30×

3 variants measured on one machine only left out.
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn the_rate_of_what_reads_memory_is_in_bytes() {
        let mut record: BenchRecord = serde_json::from_str(include_str!("example.json")).unwrap();
        record.points.truncate(1);
        record.points[0].bytes = Some(8192);
        let mut out = Vec::new();
        text(&mut out, &record, Palette::new(false)).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("  lock xadd        5.00 ns   1526 GiB/s\n"), "{text}");
        assert!(text.contains("  cmpxchg loop     6.50 ns   1173 GiB/s  "), "{text}");
    }

    #[test]
    fn a_table_says_what_was_measured_what_was_not_and_by_how_much_it_differs() {
        let record: BenchRecord = serde_json::from_str(include_str!("example.json")).unwrap();
        let mut out = Vec::new();
        text(&mut out, &record, Palette::new(false)).unwrap();
        let text = String::from_utf8(out).unwrap();
        let expected = "\
Example CPU: x86-64-v3, 2 processors, virtualised; the loop takes 0.31 ns of each time, a look at the clock 21.0 ns

fetch-add (same-word)
  threads  variant             time         rate  fairness  against the first
        1  lock xadd        5.00 ns    200.0 M/s
           cmpxchg loop     6.50 ns    153.8 M/s            1.30× [1.28, 1.33] as long: worse
           ldadd                  -  (the CPU lacks FEAT_LSE)
        2  lock xadd        50.0 ns     40.0 M/s       90%
           cmpxchg loop      200 ns     10.0 M/s       25%  4.00× as long: inconclusive; preempted in 3 of 40 samples

Interrupted: what was measured by then is above.
";
        assert_eq!(text, expected);
    }
}
