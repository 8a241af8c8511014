//! Tables as values: made by [`super::builder`], laid out by [`super::text`] and [`super::csv`].
//!
//! Numbers are in base units; the class says how they are scaled. Layout decides nothing about them.

use super::unit::Class;
use crate::stats::benchstat::{Comparison, Summary};

/// Tables in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Tables {
    /// One for each configuration and unit.
    pub tables: Vec<Table>,
    /// Names of the configuration keys of all tables.
    pub config_keys: Vec<String>,
    /// Names of the keys that make columns.
    pub column_keys: Vec<String>,
}

/// One table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Values of [`Tables::config_keys`]; empty where there is none.
    pub config: Vec<String>,
    /// Of all its values, in base units.
    pub unit: String,
    /// How that is scaled.
    pub class: Class,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Values of [`Tables::column_keys`] for each column.
    pub columns: Vec<Vec<String>>,
    /// By row, then by column; `None` where there is no result.
    pub cells: Vec<Vec<Option<Cell>>>,
    /// Of each column.
    pub summaries: Vec<Summaries>,
}

/// The results of a row and a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// In the order in which they came.
    pub values: Vec<f64>,
    /// Centre and interval.
    pub summary: Summary,
    /// Centre of the first column, and the comparison with it; `None` in the first column and where that has
    /// none.
    pub baseline: Option<(f64, Comparison)>,
    /// What the results differ in that neither row nor column says.
    pub notes: Vec<String>,
}

/// What the last row says of a column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summaries {
    /// Geometric mean of the centres.
    pub center: Option<f64>,
    /// Geometric mean of the ratios to the first column.
    pub ratio: Option<f64>,
    /// What to say about it.
    pub notes: Vec<String>,
}

impl Summaries {
    /// The change that the geometric mean of ratios is; `?` where there is none.
    pub(super) fn change(&self) -> String {
        self.ratio.map_or_else(|| "?".to_owned(), |ratio| format!("{:+.2}%", (ratio - 1.0) * 100.0))
    }
}

impl Tables {
    /// For each table the lines above it: keys whose values are new.
    pub(super) fn headings(&self) -> Vec<Vec<String>> {
        let before = std::iter::once(None).chain(self.tables.iter().map(Some));
        let heading = |(table, before): (&Table, Option<&Table>)| -> Vec<String> {
            let pairs = self.config_keys.iter().zip(&table.config).enumerate();
            let new =
                |index: usize, value: &String| before.is_none_or(|old| old.config.get(index) != Some(value));
            let new = pairs.filter(|(index, (_, value))| new(*index, value));
            new.map(|(_, (key, value))| format!("{key}: {value}")).collect()
        };
        self.tables.iter().zip(before).map(heading).collect()
    }
}
