//! A page for people: what a record says of a machine, and for each kernel its rates by number of threads, as a figure and as a
//! table. One file that needs no other, and no script.
//!
//! In: a record, which may be anybody's. Out: HTML. Numbers are in `<data>` elements, whose values are those of the record.

use super::curves::curves;
use super::figure::figure;
use super::tables::{is_same_table, setting, throughput};
use crate::render::page::head;
use crate::render::page::markup::{Escaped, data};
use crate::text::number::{counted, nanoseconds};
use deburr_lab::bench::machine::distinct;
use deburr_lab::bench::record::{BenchRecord, PointRecord, Rates, VariantRecord, VerdictRecord};
use std::io::{self, Write};

/// The columns of a table.
const COLUMNS: [&str; 10] = [
    "threads",
    "variant",
    "time",
    "rate",
    "against the first",
    "verdict",
    "fairness",
    "in a row",
    "longest wait",
    "preempted",
];

/// Writes the page.
pub(crate) fn page(out: &mut dyn Write, record: &BenchRecord) -> io::Result<()> {
    let cpu = Escaped(&record.machine.cpu).to_string();
    write!(
        out,
        "{}<header>\n<p class=\"tool\">deburr bench</p>\n<h1>What a burr costs on {cpu}</h1>\n{}</header>\n<main>\n",
        head(&format!("What a burr costs on {cpu}")),
        machine(record),
    )?;
    if record.is_interrupted {
        write!(
            out,
            "<ul class=\"warnings\">\n<li>Interrupted: what was measured by then is here.</li>\n</ul>\n"
        )?;
    }
    for (index, points) in record.points.chunk_by(is_same_table).enumerate() {
        kernel(out, index, points)?;
    }
    write!(out, "</main>\n{}</body>\n</html>\n", origin(record))
}

/// What it ran on.
fn machine(record: &BenchRecord) -> String {
    let machine = &record.machine;
    let known =
        |text: &Option<String>| text.as_deref().map_or("not shown".to_owned(), |it| Escaped(it).to_string());
    let is = |is: Option<bool>| is.map_or("not shown", |is| if is { "yes" } else { "no" }).to_owned();
    let rows = [
        ("level", Escaped(&machine.level).to_string()),
        ("processors", data("processors", machine.processors as f64, &machine.processors.to_string())),
        ("virtualised", is(machine.virtualised)),
        ("SMT", is(machine.smt)),
        ("governor", known(&machine.governor)),
        ("microcode", known(&machine.microcode)),
        ("kernel", known(&machine.kernel)),
        ("measured", known(&record.measured_at)),
        ("loop", format!("{} of each time", data("loop", record.loop_ns, &nanoseconds(record.loop_ns)))),
        ("clock", format!("{} to read it", data("clock", record.clock_ns, &nanoseconds(record.clock_ns)))),
    ];
    list("machine-facts", rows)
}

/// Names with their values, which are HTML.
fn list<const N: usize>(class: &str, rows: [(&str, String); N]) -> String {
    let items = rows.map(|(name, value)| format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n")).concat();
    format!("<dl class=\"{class}\">\n{items}</dl>\n")
}

/// A table with its figure.
fn kernel(out: &mut dyn Write, index: usize, points: &[PointRecord]) -> io::Result<()> {
    let Some(first) = points.first() else { return Ok(()) };
    let title = format!("{}{}", first.kernel, setting(points));
    let name = Escaped(&first.kernel);
    let rest = setting(points);
    write!(
        out,
        "<section class=\"kernel\" aria-labelledby=\"kernel-{index}\">\n\
         <h2 id=\"kernel-{index}\"><span class=\"name\">{name}</span><span class=\"muted\">{}</span></h2>\n",
        Escaped(rest.trim()),
    )?;
    let curves = curves(points);
    if !curves.is_empty() {
        write!(
            out,
            "<figure class=\"rates\">\n<figcaption>Medians of the samples, from the lowest to the highest one; both axes are logarithmic.</figcaption>\n\
             {}\n</figure>\n",
            figure(&title, &curves)
        )?;
    }
    let header: String = COLUMNS.map(|column| format!("<th scope=\"col\">{column}</th>")).concat();
    write!(out, "<div class=\"table\"><table class=\"variants\">\n<thead><tr>{header}</tr></thead>\n")?;
    for point in points {
        let rows: String = point.variants.iter().map(|variant| row(point, variant)).collect();
        write!(out, "<tbody>\n{rows}</tbody>\n")?;
    }
    write!(out, "</table></div>\n{}</section>\n", remarks(points))
}

fn row(point: &PointRecord, variant: &VariantRecord) -> String {
    let threads = point.processors.len();
    let ends = format!("<th scope=\"row\">{threads}</th><td class=\"text\">{}</td>", Escaped(&variant.name));
    let Some(rates) = &variant.measured else {
        let reason = match variant.lacks.is_empty() {
            true => "did not run".to_owned(),
            false => format!("the CPU lacks {}", variant.lacks.join(", ")),
        };
        let rest = COLUMNS.len() - 2;
        return format!(
            "<tr>{ends}<td class=\"text muted\" colspan=\"{rest}\">{}</td></tr>\n",
            Escaped(&reason)
        );
    };
    let verdict = variant.verdict.as_ref();
    let cells = [
        data("ns", rates.ns, &nanoseconds(rates.ns)),
        data("rate", rates.rate, &format!("{}/s", throughput(rates.rate, point.bytes))),
        verdict.map(slowdown).unwrap_or_default(),
        verdict.map(|verdict| outcome(&verdict.outcome)).unwrap_or_default(),
    ];
    let cells: String = cells.iter().chain(&shares(rates)).map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr>{ends}{cells}</tr>\n")
}

/// How a variant's threads shared: fairness, run length, longest wait, and what else ran.
fn shares(rates: &Rates) -> [String; 4] {
    let is_shared = rates.thread_rates.len() > 1;
    let fairness = is_shared.then(|| data("fairness", rates.fairness, &percent(rates.fairness, 0)));
    let length = rates.run_length.filter(|_| is_shared);
    let length = length.map(|length| data("run-length", length, &times(length, 1)));
    let wait = format!(
        "{} <span class=\"muted\">/ {}</span>",
        data("longest-wait", rates.longest_wait_ns, &nanoseconds(rates.longest_wait_ns)),
        rates.wait_operations
    );
    let preempted = data("preempted", rates.preempted as f64, &rates.preempted.to_string());
    let samples = data("samples", rates.rounds as f64, &rates.rounds.to_string());
    [fairness.unwrap_or_default(), length.unwrap_or_default(), wait, format!("{preempted} of {samples}")]
}

fn slowdown(verdict: &VerdictRecord) -> String {
    let (slowdown, interval) = (verdict.slowdown, verdict.interval);
    let interval = interval.map_or_else(String::new, |(low, high)| {
        format!(
            " <span class=\"muted\">[{}, {}]</span>",
            data("low", low, &times(low, 2)),
            data("high", high, &times(high, 2))
        )
    });
    format!("{}{interval}", data("slowdown", slowdown, &format!("{}×", times(slowdown, 2))))
}

/// A number with so many digits after the point, where that is short.
fn times(number: f64, after: usize) -> String {
    if number.abs() < 1e9 { format!("{number:.after$}") } else { format!("{number:.after$e}") }
}

/// A share in percent. That of the largest numbers is one, too.
fn percent(share: f64, after: usize) -> String {
    format!("{} %", times((100.0 * share).clamp(f64::MIN, f64::MAX), after))
}

/// A verdict, with a sign next to the word: some do not see the colour.
fn outcome(outcome: &str) -> String {
    let sign = match outcome {
        "better" => "▲",
        "worse" => "▼",
        "same" => "=",
        "inconclusive" => "?",
        unknown => return Escaped(unknown).to_string(),
    };
    format!("<span class=\"verdict {outcome}\"><span aria-hidden=\"true\">{sign} </span>{outcome}</span>")
}

/// What else is to be known of some points.
fn remarks(points: &[PointRecord]) -> String {
    let mut remarks = Vec::new();
    for point in points {
        let (threads, processors) = (point.processors.len(), distinct(&point.processors));
        let of = counted(threads as u64, "thread");
        if point.retaken > 0 {
            let rounds = counted(point.retaken as u64, "round");
            remarks.push(format!("{of}: {rounds} taken again, because something else had a processor"));
        }
        if processors < threads {
            remarks.push(format!("{of} took turns on {}", counted(processors as u64, "processor")));
        }
    }
    let items: String = remarks.iter().map(|remark| format!("<li>{}</li>\n", Escaped(remark))).collect();
    if items.is_empty() { items } else { format!("<ul class=\"warnings\">\n{items}</ul>\n") }
}

/// What is needed to read the numbers.
fn origin(record: &BenchRecord) -> String {
    let rows = [
        ("time", "of one thread's operation, median of the samples, with the loop".to_owned()),
        ("rate", "of all threads together, median of the samples".to_owned()),
        (
            "against the first",
            "how many times as long an operation takes as with the first variant that ran".to_owned(),
        ),
        ("fairness", "the slowest thread's rate as a part of the fastest one's".to_owned()),
        ("in a row", "operations that a thread did before another one had the word".to_owned()),
        ("longest wait", "of any thread, for so many operations".to_owned()),
        (
            "preempted",
            "samples during which something else had a processor for a hundredth of the time".to_owned(),
        ),
        ("a sample", data("sample", record.sample_ms, &format!("{} ms", times(record.sample_ms, 0)))),
        ("no difference", format!("up to {}", data("region", record.region, &percent(record.region, 1)))),
        ("measured by", format!("deburr {}", Escaped(&record.tool_version))),
        ("page by", format!("deburr {}", env!("CARGO_PKG_VERSION"))),
    ];
    format!("<footer>\n{}</footer>\n", list("origin", rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> BenchRecord {
        serde_json::from_str(include_str!("example.json")).unwrap()
    }

    fn written(record: &BenchRecord) -> String {
        let mut out = Vec::new();
        page(&mut out, record).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_on_the_page_are_those_of_the_record() {
        let record = example();
        let page = written(&record);
        let mut verdicts = 0;
        for variant in record.points.iter().flat_map(|point| &point.variants) {
            let Some(rates) = &variant.measured else { continue };
            for (name, value) in [("ns", rates.ns), ("rate", rates.rate)] {
                assert!(
                    page.contains(&format!("<data class=\"{name}\" value=\"{value}\">")),
                    "{name} {value}"
                );
            }
            let Some(verdict) = &variant.verdict else { continue };
            assert!(page.contains(&format!("<data class=\"slowdown\" value=\"{}\">", verdict.slowdown)));
            assert!(page.contains(&format!("<span class=\"verdict {}\">", verdict.outcome)));
            verdicts += 1;
        }
        assert_eq!(verdicts, 2);
        for expected in [
            "<h1>What a burr costs on Example CPU</h1>",
            "the CPU lacks FEAT_LSE",
            "<data class=\"fairness\" value=\"0.25\">25 %</data>",
            "<data class=\"longest-wait\" value=\"2000\">2000 ns</data> <span class=\"muted\">/ 1024</span>",
            "<data class=\"preempted\" value=\"3\">3</data> of <data class=\"samples\" value=\"40\">40</data>",
            "Interrupted: what was measured by then is here.",
            "2026-01-31T12:00:00Z",
        ] {
            assert!(page.contains(expected), "{expected}");
        }
        assert_eq!((page.matches("<figure").count(), page.matches("<tbody>").count()), (1, 2));
    }

    #[test]
    fn what_has_one_number_of_threads_has_a_table_and_no_figure() {
        let mut record = example();
        record.points.truncate(1);
        let page = written(&record);
        assert_eq!((page.matches("<figure").count(), page.matches("<tbody>").count()), (0, 1));
    }

    #[test]
    fn nothing_of_a_record_is_markup() {
        let text = include_str!("example.json");
        let document: serde_json::Value = serde_json::from_str(text).unwrap();
        // Every text of the record, in turn with all others.
        fn hostile(value: &mut serde_json::Value) {
            match value {
                serde_json::Value::String(text) => {
                    text.push_str("</td><script>alert('1')</script>\" onload=\"\u{1b}[31m")
                }
                serde_json::Value::Array(values) => values.iter_mut().for_each(hostile),
                serde_json::Value::Object(fields) => fields.values_mut().for_each(hostile),
                _ => {}
            }
        }
        let mut document = document;
        hostile(&mut document);
        // A record with control characters is refused when it is read; the page does not rely on that.
        let record: BenchRecord = serde_json::from_value(document).unwrap();
        let page = written(&record);
        assert!(page.matches("&lt;script&gt;alert(&#39;1&#39;)").count() > 20);
        for foreign in
            ["<script", "\" onload", "\u{1b}", "http:", "https:", "src=", "url(", "@import", "<link"]
        {
            assert!(!page.contains(foreign), "{foreign}");
        }
    }

    #[test]
    fn numbers_of_a_record_may_be_any() {
        for number in [0.0, -0.0, -1.0, -1e308, 1e308, 5e-324, f64::MAX] {
            let mut record = example();
            (record.loop_ns, record.sample_ms, record.region) = (number, number, number);
            for (index, variant) in record.points.iter_mut().flat_map(|point| &mut point.variants).enumerate()
            {
                let Some(rates) = &mut variant.measured else { continue };
                if index != 1 {
                    (rates.rate, rates.ns, rates.range) = (number, number, (number, -number));
                }
                (rates.fairness, rates.longest_wait_ns, rates.run_length) = (number, number, Some(number));
                (rates.rounds, rates.preempted, rates.wait_operations) = (usize::MAX, usize::MAX, u64::MAX);
                if let Some(verdict) = &mut variant.verdict {
                    (verdict.slowdown, verdict.interval) = (number, Some((number, -number)));
                }
            }
            let page = written(&record);
            for wrong in ["NaN", ">inf", "\"inf", "-inf"] {
                assert!(!page.contains(wrong), "{number}: {wrong}");
            }
            let svg = page
                .split("<svg")
                .nth(1)
                .map(|rest| rest.split("</svg>").next().unwrap())
                .unwrap_or_default();
            for name in [" x=\"", " y=\"", " x1=\"", " y2=\"", " cx=\"", " cy=\""] {
                for place in svg.split(name).skip(1).map(|rest| rest.split('"').next().unwrap()) {
                    let place: f64 = place.parse().unwrap();
                    assert!((-10.0..=460.0).contains(&place), "{number}: {name}{place}");
                }
            }
            record.points.iter_mut().for_each(|point| {
                point.processors.clear();
                point.bytes = Some(usize::MAX);
            });
            let page = written(&record);
            assert!(page.matches("<figure").count() == 0 && !page.contains("inf "), "{number}");
        }
    }

    #[test]
    fn a_record_of_nothing_is_a_page() {
        let record = BenchRecord { points: Vec::new(), measured_at: None, ..example() };
        assert!(written(&record).contains("<dt>measured</dt><dd>not shown</dd>"));
    }
}
