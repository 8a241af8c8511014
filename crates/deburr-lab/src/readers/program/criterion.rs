//! criterion's single samples: `target/criterion/…/new/sample.json`, `raw.csv` next to it, and what
//! `cargo criterion --message-format=json` prints (criterion's book, "CSV Output" and "External Tools").
//!
//! A value is the time of some iterations over their number. `sample.json` does not say which benchmark it is
//! of: one a file.

use crate::readers::error::{ReadError, ReportPlace};
use crate::readers::format::Format;
use crate::readers::gathered::Gathered;
use crate::readers::json::{self, JsonField};
use crate::readers::measurement::Measurement;
use crate::readers::metrics::Metrics;
use crate::readers::quantity::{TIME, number};

pub(super) const METRICS: Metrics = Metrics::fixed(&[("time", TIME)]);

/// The first fields of `raw.csv`'s head; `group,function,value` name a benchmark.
pub(super) const HEAD: &str = "group,function,value,";

pub(super) fn read(text: &str) -> Result<Vec<Measurement>, ReadError> {
    let mut found = Gathered::new(Format::Criterion, METRICS);
    match text.lines().any(|line| line.starts_with(HEAD)) {
        true => of_csv(text, &mut found)?,
        false => {
            let documents = json::documents(text)?;
            for (index, document) in documents.iter().enumerate() {
                of_document(&document.root(), index, &mut found)?;
            }
        }
    }
    found.finish()
}

fn of_document(root: &JsonField<'_>, index: usize, found: &mut Gathered) -> Result<(), ReadError> {
    let Some(reason) = root.find("reason") else {
        if index > 0 {
            return Err(ReadError::at(root.place(), "a second sample: none says which benchmark it is of"));
        }
        // Always nanoseconds, unless the benchmark measures something of its own.
        return add("time", &root.get("iters")?, &root.get("times")?, 1e9, found);
    };
    if reason.text()? != "benchmark-complete" {
        return Ok(());
    }
    let unit = root.get("unit")?;
    let a_second = a_second(unit.place(), unit.text()?)?;
    let name = format!("{}:time", root.get("id")?.text()?);
    add(&name, &root.get("iteration_count")?, &root.get("measured_values")?, a_second, found)
}

fn add(
    name: &str,
    counts: &JsonField<'_>,
    times: &JsonField<'_>,
    a_second: f64,
    found: &mut Gathered,
) -> Result<(), ReadError> {
    let (counts, values) = (counts.items()?, times.items()?);
    if counts.len() != values.len() {
        let reason = format!("{} times of {} counts of iterations", values.len(), counts.len());
        return Err(ReadError::at(times.place(), reason));
    }
    for (count, time) in counts.iter().zip(&values) {
        let iterations = count.number()?;
        if iterations <= 0.0 {
            return Err(ReadError::at(count.place(), "no iterations"));
        }
        found.push(time.place(), name, time.number()? / iterations / a_second)?;
    }
    Ok(())
}

fn of_csv(text: &str, found: &mut Gathered) -> Result<(), ReadError> {
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = ReportPlace::Line(index + 1);
        if line.starts_with(HEAD) {
            continue;
        }
        let fields = fields(line);
        let [group, function, value, .., time, unit, iterations] = fields.as_slice() else {
            let reason = format!("{} fields, where 8 are expected", fields.len());
            return Err(ReadError::at(place, reason));
        };
        if fields.len() != 8 {
            let reason = format!("{} fields, where 8 are expected", fields.len());
            return Err(ReadError::at(place, reason));
        }
        let parts = [group, function, value].into_iter().filter(|part| !part.is_empty());
        let name = parts.map(String::as_str).collect::<Vec<&str>>().join("/");
        let count = number(place.clone(), "iteration_count", iterations)?;
        if count <= 0.0 {
            return Err(ReadError::at(place, "no iterations"));
        }
        let time = number(place.clone(), "sample_measured_value", time)? / count;
        let value = time / a_second(place.clone(), unit)?;
        found.push(place, format!("{name}:time"), value)?;
    }
    Ok(())
}

fn a_second(place: ReportPlace, unit: &str) -> Result<f64, ReadError> {
    match unit {
        "ns" => Ok(1e9),
        "us" | "µs" => Ok(1e6),
        "ms" => Ok(1e3),
        "s" => Ok(1.0),
        other => Err(ReadError::at(place, format!("{other:?} is no unit of time"))),
    }
}

/// Fields of a line (RFC 4180); a quote inside of quotes is doubled.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut is_quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '"' => {
                // The second of two is one of the text.
                if !is_quoted && !field.is_empty() {
                    field.push('"');
                }
                is_quoted = !is_quoted;
            }
            ',' if !is_quoted => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    fields.push(field);
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_their_benchmarks() {
        let text = r#"{"reason":"benchmark-complete","id":"norm","iteration_count":[30,60],"measured_values":[3000.0,9000.0],"unit":"us"}
{"reason":"group-complete","group_name":"norm"}"#;
        let found = read(text).unwrap();
        assert_eq!((found.len(), found[0].name.as_str()), (1, "norm:time"));
        assert_eq!(found[0].values, [100.0 / 1e6, 150.0 / 1e6]);
    }

    #[test]
    fn quotes_hold_commas_and_quotes() {
        assert_eq!(fields(r#"a,"b,c","d ""e""",,f"#), ["a", "b,c", "d \"e\"", "", "f"]);
    }

    #[test]
    fn samples_that_do_not_fit_are_refused() {
        let error = |text: &str| read(text).unwrap_err().to_string();
        let sample = r#"{"iters":[1.0],"times":[5.0]}"#;
        assert_eq!(
            error(&format!("{sample}\n{sample}")),
            "the document in the document at line 2: a second sample: none says which benchmark it is of"
        );
        assert_eq!(error(r#"{"iters":[1.0],"times":[]}"#), "times: 0 times of 1 counts of iterations");
        assert_eq!(error(r#"{"iters":[0.0],"times":[1]}"#), "iters[0]: no iterations");
        assert_eq!(error(&format!("{HEAD}x\na,b,c\n")), "line 2: 3 fields, where 8 are expected");
        assert_eq!(error(&format!("{HEAD}x\na,,,,,5,cycles,1\n")), "line 2: \"cycles\" is no unit of time");
    }
}
