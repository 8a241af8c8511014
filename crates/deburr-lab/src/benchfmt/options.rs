//! How results become tables: benchstat's flags, with its defaults.
//!
//! Keys are those of [`super::key`], the filter's terms those of [`super::filter`]; both are parsed when
//! tables are built.

use crate::stats::benchstat::Upstream;

/// How tables are made: benchstat's flags.
#[derive(Debug, Clone)]
pub struct Options {
    /// A table for each distinct value of these keys, and of the unit.
    pub table: String,
    /// A row for each distinct value.
    pub row: String,
    /// A column for each distinct value.
    pub column: String,
    /// Keys whose variation does not matter.
    pub ignore: String,
    /// Which results take part.
    pub filter: String,
    /// p above this prints `~`.
    pub alpha: f64,
    /// Of the intervals.
    pub confidence: f64,
    /// Whether upstream's faults are corrected.
    pub upstream: Upstream,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            table: ".config".to_owned(),
            row: ".fullname".to_owned(),
            column: ".file".to_owned(),
            ignore: String::new(),
            filter: "*".to_owned(),
            alpha: 0.05,
            confidence: 0.95,
            upstream: Upstream::Corrected,
        }
    }
}
