//! The reports of benchmark programs: whatever the text is, no panic, finite numbers only, and an end; what is read can be written in
//! Go's format and read again.

#![no_main]

use deburr_lab::benchfmt::{self, Input, Options};
use deburr_lab::readers::{Format, read, sniff};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((choice, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let formats = Format::ALL;
    let chosen = formats[usize::from(*choice) % formats.len()];
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
});
