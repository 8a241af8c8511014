//! The values of one metric, as every reader gives them.
//!
//! Times are in seconds and sizes in bytes, whatever the report had. The name is
//! `[SUBJECT:]METRIC[:pPERCENTILE]`.

use crate::stats::Direction;

/// The values of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// What it is called.
    pub name: String,
    /// `s`, `B`, `1/s`, `B/s`, one of Go's units, or nothing.
    pub unit: String,
    /// Whether more or less is better.
    pub direction: Direction,
    /// In the order in which they were measured, where the format keeps that.
    pub values: Vec<f64>,
}
