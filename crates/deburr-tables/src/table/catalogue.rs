//! The columns and the schema of each table, for who writes, reads or documents them.

use super::artefacts::Artefacts;
use super::column::Column;
use super::files::Files;
use super::findings::Findings;
use super::functions::Functions;
use super::name::Table;
use super::rowed::Rowed;
use arrow_schema::Schema;
use std::sync::Arc;

/// The columns of a table, in order.
pub fn columns(table: Table) -> Vec<Column> {
    match table {
        Table::Artefacts => of::<Artefacts>(),
        Table::Files => of::<Files>(),
        Table::Functions => of::<Functions>(),
        Table::Findings => of::<Findings>(),
    }
}

fn of<T: Rowed>() -> Vec<Column> {
    T::COLUMNS.iter().map(|it| it.column).collect()
}

/// The schema of a table, in Arrow.
pub fn schema(table: Table) -> Arc<Schema> {
    match table {
        Table::Artefacts => schema_of::<Artefacts>(),
        Table::Files => schema_of::<Files>(),
        Table::Functions => schema_of::<Functions>(),
        Table::Findings => schema_of::<Findings>(),
    }
}

/// The same, where the table is known by its type.
pub(crate) fn schema_of<T: Rowed>() -> Arc<Schema> {
    Arc::new(Schema::new(T::COLUMNS.iter().map(|it| it.column.field()).collect::<Vec<_>>()))
}
