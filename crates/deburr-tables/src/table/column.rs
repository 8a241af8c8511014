//! What a column is: its name and type, what it means, and how a row has it.
//!
//! In: a row. Out: a [`Cell`] for each column.

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// UTF-8.
    Text,
    /// Several of them.
    Texts,
    /// Numbers by name.
    Counts,
    /// A whole number.
    Count,
    /// A number from 0 to 1.
    Share,
    /// Yes or no.
    Flag,
    /// A moment in UTC, in microseconds.
    Time,
}

impl Kind {
    /// As SQL calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Text => "VARCHAR",
            Kind::Texts => "VARCHAR[]",
            Kind::Counts => "MAP(VARCHAR, BIGINT)",
            Kind::Count => "BIGINT",
            Kind::Share => "DOUBLE",
            Kind::Flag => "BOOLEAN",
            Kind::Time => "TIMESTAMP WITH TIME ZONE",
        }
    }

    /// As Arrow calls it.
    pub fn data_type(self) -> DataType {
        match self {
            Kind::Text => DataType::Utf8,
            Kind::Texts => DataType::List(Arc::new(Field::new("item", DataType::Utf8, true))),
            Kind::Counts => {
                let keys = Field::new("key", DataType::Utf8, false);
                let values = Field::new("value", DataType::Int64, true);
                let entries = DataType::Struct(Fields::from(vec![keys, values]));
                DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
            }
            Kind::Count => DataType::Int64,
            Kind::Share => DataType::Float64,
            Kind::Flag => DataType::Boolean,
            Kind::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        }
    }
}

/// A value of a row.
#[derive(Debug)]
pub(crate) enum Cell<'r> {
    /// Nothing is known, or nothing is to be said.
    Null,
    /// A text.
    Text(Cow<'r, str>),
    /// Several.
    Texts(Vec<Cow<'r, str>>),
    /// Numbers by name.
    Counts(&'r BTreeMap<String, u64>),
    /// A whole number; what is above the largest signed one is that.
    Count(u64),
    /// A number from 0 to 1.
    Share(f64),
    /// Yes or no.
    Flag(bool),
    /// Microseconds since 1970, UTC.
    Time(i64),
}

impl<'r> Cell<'r> {
    pub(crate) fn text(text: Option<&'r str>) -> Cell<'r> {
        text.map_or(Cell::Null, |text| Cell::Text(Cow::Borrowed(text)))
    }

    pub(crate) fn owned(text: Option<String>) -> Cell<'r> {
        text.map_or(Cell::Null, |text| Cell::Text(Cow::Owned(text)))
    }

    pub(crate) fn texts(texts: Option<&'r [String]>) -> Cell<'r> {
        let shown = |texts: &'r [String]| texts.iter().map(|text| Cow::Borrowed(text.as_str())).collect();
        texts.map_or(Cell::Null, |texts| Cell::Texts(shown(texts)))
    }

    pub(crate) fn count(count: Option<u64>) -> Cell<'r> {
        count.map_or(Cell::Null, Cell::Count)
    }

    /// A value of an enumeration, as the JSON report spells it.
    pub(crate) fn named(value: Option<impl serde::Serialize>) -> Cell<'r> {
        let name = value.and_then(|value| serde_json::to_value(value).ok());
        Cell::owned(name.and_then(|name| name.as_str().map(str::to_owned)))
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Cell::Text(text) => text.len(),
            Cell::Texts(texts) => texts.iter().map(|text| text.len() + 4).sum(),
            Cell::Counts(counts) => counts.keys().map(|name| name.len() + 12).sum(),
            _ => 8,
        }
    }
}

/// What is known of a column of some table.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Whether it may have no value.
    pub nullable: bool,
    /// What its numbers count; empty where it has none.
    pub unit: &'static str,
    /// What it means, in one sentence.
    pub meaning: &'static str,
    /// The field of the JSON report that it is, as a path; empty where that has none.
    pub json: &'static str,
}

impl Column {
    pub(crate) fn field(&self) -> Field {
        Field::new(self.name, self.kind.data_type(), self.nullable)
    }
}
