//! For those who know benchstat: its tables, of what was compared.

use super::Document;
use deburr_lab::benchfmt::{self, Input};
use deburr_lab::comparison::Comparison;
use deburr_lab::report::{Measurement, written};
use std::io::{self, Write};

/// Writes the document.
pub(crate) fn render(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let side = |index: usize| {
        let measurement = |comparison: &Comparison| Measurement {
            name: comparison.question.name.clone(),
            unit: comparison.question.unit.clone(),
            direction: comparison.question.direction,
            values: comparison.series.values[index].clone(),
        };
        written(&document.comparisons.iter().map(measurement).collect::<Vec<Measurement>>())
    };
    let texts = [("A", side(0)), ("B", side(1))];
    let inputs = texts.each_ref().map(|(name, text)| Input { path: name, label: None, text });
    let (tables, _) = benchfmt::tables(&inputs, &benchfmt::Options::default()).map_err(io::Error::other)?;
    out.write_all(tables.text().as_bytes())
}
