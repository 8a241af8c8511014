//! A table of a check → Arrow's PyCapsule interface, which polars, DuckDB, pandas and pyarrow read without copying.
//!
//! In: record batches. Out: capsules named as the interface says
//! (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>).

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use deburr_tables::{Table, schema};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The rows of one table. Batches are shared by all who read them.
#[pyclass(frozen, module = "deburr._native")]
pub(crate) struct ArrowTable {
    table: Table,
    batches: Vec<RecordBatch>,
}

impl ArrowTable {
    pub(crate) fn new(table: Table, batches: Vec<RecordBatch>) -> ArrowTable {
        ArrowTable { table, batches }
    }
}

#[pymethods]
impl ArrowTable {
    /// A stream of the batches. Whoever wants another schema casts: the interface lets a producer ignore the wish.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, schema(self.table));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The schema of the rows.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(schema(self.table).as_ref())
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __repr__(&self) -> String {
        format!("<deburr table {}: {} rows>", self.table.name(), self.__len__())
    }
}
