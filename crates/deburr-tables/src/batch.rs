//! Rows of one table → record batches.

use super::table::{Cell, Kind, Rowed, schema_of};
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, MapBuilder, StringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, Schema};
use std::marker::PhantomData;
use std::sync::Arc;

/// The maximum of rows that are held of a table before they go out.
pub const ROWS_OF_BATCH: usize = 8192;
/// The bytes of a table that are held, and one row more, before they go out.
pub const BYTES_OF_BATCH: usize = 4 << 20;

/// One column as it grows.
enum Values {
    Text(StringBuilder),
    Texts(ListBuilder<StringBuilder>),
    Counts(MapBuilder<StringBuilder, Int64Builder>),
    Count(Int64Builder),
    Share(Float64Builder),
    Flag(BooleanBuilder),
    Time(TimestampMicrosecondBuilder),
}

impl Values {
    fn of(kind: Kind) -> Values {
        match kind {
            Kind::Text => Values::Text(StringBuilder::new()),
            Kind::Texts => Values::Texts(ListBuilder::new(StringBuilder::new())),
            Kind::Counts => Values::Counts(MapBuilder::new(None, StringBuilder::new(), Int64Builder::new())),
            Kind::Count => Values::Count(Int64Builder::new()),
            Kind::Share => Values::Share(Float64Builder::new()),
            Kind::Flag => Values::Flag(BooleanBuilder::new()),
            Kind::Time => Values::Time(TimestampMicrosecondBuilder::new().with_timezone("UTC")),
        }
    }

    /// Adds a cell; one of another type counts as none, which the schema refuses where that may not be.
    fn push(&mut self, cell: Cell<'_>) -> Result<(), ArrowError> {
        match (self, cell) {
            (Values::Text(all), Cell::Text(text)) => all.append_value(text),
            (Values::Text(all), _) => all.append_null(),
            (Values::Texts(all), Cell::Texts(texts)) => all.append_value(texts.into_iter().map(Some)),
            (Values::Texts(all), _) => all.append_null(),
            (Values::Counts(all), Cell::Counts(counts)) => {
                for (name, count) in counts {
                    all.keys().append_value(name);
                    all.values().append_value(signed(*count));
                }
                all.append(true)?;
            }
            (Values::Counts(all), _) => all.append(false)?,
            (Values::Count(all), Cell::Count(count)) => all.append_value(signed(count)),
            (Values::Count(all), _) => all.append_null(),
            (Values::Share(all), Cell::Share(share)) => all.append_value(share),
            (Values::Share(all), _) => all.append_null(),
            (Values::Flag(all), Cell::Flag(flag)) => all.append_value(flag),
            (Values::Flag(all), _) => all.append_null(),
            (Values::Time(all), Cell::Time(time)) => all.append_value(time),
            (Values::Time(all), _) => all.append_null(),
        }
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        let builder: &mut dyn ArrayBuilder = match self {
            Values::Text(all) => all,
            Values::Texts(all) => all,
            Values::Counts(all) => all,
            Values::Count(all) => all,
            Values::Share(all) => all,
            Values::Flag(all) => all,
            Values::Time(all) => all,
        };
        builder.finish()
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Rows of one table.
pub(crate) struct Batch<T> {
    schema: Arc<Schema>,
    columns: Vec<Values>,
    rows: usize,
    bytes: usize,
    table: PhantomData<fn(T)>,
}

impl<T: Rowed> Batch<T> {
    pub(crate) fn new() -> Batch<T> {
        Batch {
            schema: schema_of::<T>(),
            columns: T::COLUMNS.iter().map(|it| Values::of(it.column.kind)).collect(),
            rows: 0,
            bytes: 0,
            table: PhantomData,
        }
    }

    /// Adds a row; returns all rows so far once they are many.
    pub(crate) fn push<'r>(&mut self, row: &'r T::Row<'r>) -> Result<Option<RecordBatch>, ArrowError> {
        for (values, it) in self.columns.iter_mut().zip(T::COLUMNS) {
            let cell = (it.value)(row);
            self.bytes += cell.bytes();
            values.push(cell)?;
        }
        self.rows += 1;
        if self.rows >= ROWS_OF_BATCH || self.bytes >= BYTES_OF_BATCH { self.take() } else { Ok(None) }
    }

    /// The rows that have not gone out, if there are any.
    pub(crate) fn take(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        if self.rows == 0 {
            return Ok(None);
        }
        (self.rows, self.bytes) = (0, 0);
        let columns = self.columns.iter_mut().map(Values::finish).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map(Some)
    }
}
