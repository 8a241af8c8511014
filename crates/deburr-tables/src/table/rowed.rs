//! How a table has its columns from its rows.

use super::column::{Cell, Column, Kind};
use super::name::Table;

/// A table with its rows.
pub(crate) trait Rowed: Sized + 'static {
    /// What a row is made of.
    type Row<'r>;
    /// Which it is.
    const TABLE: Table;
    /// Its columns, in order.
    const COLUMNS: &'static [Of<Self>];
}

/// How a row has the value of a column.
pub(crate) type Value<T> = for<'r> fn(&'r <T as Rowed>::Row<'r>) -> Cell<'r>;

/// A column, and how a row has its value.
pub(crate) struct Of<T: Rowed> {
    pub(crate) column: Column,
    pub(crate) value: Value<T>,
}

/// A column that always has a value.
pub(crate) const fn is<T: Rowed>(
    name: &'static str,
    (kind, unit): (Kind, &'static str),
    meaning: &'static str,
    json: &'static str,
    value: Value<T>,
) -> Of<T> {
    Of { column: Column { name, kind, nullable: false, unit, meaning, json }, value }
}

/// A column that may have none.
pub(crate) const fn may<T: Rowed>(
    name: &'static str,
    (kind, unit): (Kind, &'static str),
    meaning: &'static str,
    json: &'static str,
    value: Value<T>,
) -> Of<T> {
    Of { column: Column { name, kind, nullable: true, unit, meaning, json }, value }
}

pub(crate) const TEXT: (Kind, &str) = (Kind::Text, "");
pub(crate) const TEXTS: (Kind, &str) = (Kind::Texts, "");
pub(crate) const FLAG: (Kind, &str) = (Kind::Flag, "");
pub(crate) const TIME: (Kind, &str) = (Kind::Time, "UTC");
pub(crate) const BYTES: (Kind, &str) = (Kind::Count, "bytes");
pub(crate) const INSNS: (Kind, &str) = (Kind::Counts, "instructions");
pub(crate) const SHARE: (Kind, &str) = (Kind::Share, "of the run");

/// A number of things.
pub(crate) const fn count(unit: &'static str) -> (Kind, &'static str) {
    (Kind::Count, unit)
}

/// When the run began, in every table.
pub(crate) const RUN: &str = "when the run began; the tables of a run are joined by it";
