//! The reports of benchmark programs: text → measurements, and tables of them.

use crate::input::split;
use deburr_lab::benchfmt::{self, Input, Options};
use deburr_lab::readers::{Format, read, sniff};

/// Reads a report in the format that the choice says and in the one that it looks like, and makes tables of it.
///
/// # Panics
/// Where a number is not finite, a measurement is empty, or the tables are longer than they may be.
pub fn readers(data: &[u8]) {
    let Some((choice, text)) = split(data) else { return };
    let text = String::from_utf8_lossy(text);
    let formats = Format::ALL;
    let chosen = formats[choice.number() % formats.len()];
    for format in [Some(chosen), sniff(&text)].into_iter().flatten() {
        for measurement in read(format, &text).unwrap_or_default() {
            assert!(!measurement.values.is_empty() && !measurement.name.is_empty());
            assert!(measurement.values.iter().all(|value| value.is_finite()));
        }
    }
    let input = Input { path: "a", label: None, text: &text };
    if let Ok((tables, _)) = benchfmt::tables(&[input, input], &Options::default()) {
        assert!(tables.text().len() <= (1 << 20) + 4000 * text.len());
    }
}
