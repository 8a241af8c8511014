//! Go's benchmark format, from its lines to the tables that benchstat prints.
//!
//! In: the text of result files (golang.org/design/14313-benchmark-format). Out: [`Tables`], and of them the
//! text or the comma-separated values of golang.org/x/perf/cmd/benchstat, line by line. No file is opened
//! here.
//!
//! ```text
//! text ──▶ parse ──▶ Record ──▶ key (projections, filter) ──▶ table ──▶ text · csv
//! ```
//!
//! Upstream's query language is kept as far as it selects: `key:value` terms, `-` before one, `*`; keys with
//! `@alpha`, `@num` or `@first`. Regular expressions, `OR` and fixed orders are refused with a message.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![forbid(unsafe_code)]

mod builder;
mod csv;
mod filter;
mod key;
mod name;
mod options;
mod parse;
mod query;
mod table;
mod text;
mod unit;

pub use builder::Builder;
pub use options::Options;
pub use parse::{Config, Record, SyntaxError, Units, Value, parse};
pub use query::QueryError;
pub use table::{Cell, Summaries, Table, Tables};
pub use unit::{Class, Scale, class, common_scale, tidy};

/// One result file.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Its path, which names its column unless there is a label.
    pub path: &'a str,
    /// What to call it instead.
    pub label: Option<&'a str>,
    /// What it says.
    pub text: &'a str,
}

/// Reads result files into tables. Lines that cannot be read are reported and left out.
///
/// # Errors
/// [`QueryError`] where a projection or the filter cannot be understood, or α or the confidence is outside 0
/// to 1.
pub fn tables(inputs: &[Input<'_>], options: &Options) -> Result<(Tables, Vec<SyntaxError>), QueryError> {
    let mut builder = Builder::new(options)?;
    let mut problems = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        let same = |other: &&Input<'_>| other.label.is_none() && other.path == input.path;
        let label = match input.label {
            Some(label) => label.to_owned(),
            // The same file twice makes two columns.
            None if inputs.iter().filter(same).count() > 1 => {
                format!("{}#{}", input.path, inputs.iter().take(index).filter(same).count())
            }
            None => input.path.to_owned(),
        };
        let mut records = Vec::new();
        let mut keep = |record| records.push(record);
        problems.extend(parse(input.text, input.path, &label, options.upstream, builder.units(), &mut keep));
        records.iter().for_each(|record| builder.add(record));
    }
    Ok((builder.tables(), problems))
}

impl Tables {
    /// As benchstat prints them for a fixed-width font.
    pub fn text(&self) -> String {
        text::render(self)
    }

    /// As benchstat's comma-separated values, and the notes that it prints apart from them, by cell.
    pub fn csv(&self) -> (String, String) {
        csv::render(self)
    }
}
