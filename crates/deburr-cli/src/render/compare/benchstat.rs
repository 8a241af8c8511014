//! For those who know benchstat: its tables, of what was compared. The points of a sweep are what Go calls
//! sub-benchmarks, so that each has a row, and all together the geometric mean.

use super::document::CompareDocument;
use deburr_lab::benchfmt::{self, Input};
use deburr_lab::comparison::Comparison;
use deburr_lab::readers::{Measurement, written};
use deburr_lab::stats::benchstat::Upstream;
use std::io::{self, Write};

/// Writes the document; `upstream` is whether the tables have benchstat's faults.
pub(crate) fn render(document: &CompareDocument, upstream: Upstream, out: &mut dyn Write) -> io::Result<()> {
    let side = |index: usize| {
        let measurement = |(name, comparison): (String, &Comparison)| Measurement {
            name,
            unit: comparison.question.unit.clone(),
            direction: comparison.question.direction,
            values: comparison.series.values[index].clone(),
        };
        written(&named(document).map(measurement).collect::<Vec<Measurement>>())
    };
    let texts = [("A", side(0)), ("B", side(1))];
    let inputs = texts.each_ref().map(|(name, text)| Input { path: name, label: None, text });
    let how = benchfmt::Options { upstream, ..benchfmt::Options::default() };
    let (tables, _) = benchfmt::tables(&inputs, &how).map_err(io::Error::other)?;
    out.write_all(tables.text().as_bytes())
}

/// What has a row, with its name.
fn named(document: &CompareDocument) -> impl Iterator<Item = (String, &Comparison)> {
    let parameter = document.sweep.as_ref().map(|(parameter, _)| parameter);
    document.rows().filter_map(move |(point, comparison)| {
        let name = &comparison.question.name;
        match (parameter, point) {
            (None, _) => Some((name.clone(), comparison)),
            (Some(parameter), Some(point)) => {
                let values = parameter.split('/').zip(point.split('/'));
                let values: String = values.map(|(name, value)| format!("/{name}={value}")).collect();
                Some((format!("{name}{values}"), comparison))
            }
            (Some(_), None) => None,
        }
    })
}
