//! Rows of one artefact as they are kept for later runs: record batches → bytes, and back with the time of another run.
//!
//! A batch is a frame: the number of its table, a length in four bytes, and an Arrow IPC stream of that one batch, compressed
//! by Snappy. Frames are in the order in which the batches came, so that the same rows make the same tables again. Whether
//! the bytes are whole is for whoever keeps them to know.

use super::error::Error;
use super::rows::Batches;
use super::table::{Table, schema};
use arrow_array::{RecordBatch, TimestampMicrosecondArray};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use std::io::Write;
use std::panic::catch_unwind;
use std::sync::Arc;

/// The bytes that a frame may unpack to: a full batch has less, but for one very long row.
const MOST_OF_FRAME: usize = 1 << 30;

/// Keeps rows: what is taken is written.
pub struct Stored<W> {
    out: W,
}

impl<W: Write> Stored<W> {
    /// Writes to `out`, in small pieces.
    pub fn new(out: W) -> Stored<W> {
        Stored { out }
    }

    /// What it was written to.
    pub fn into_inner(self) -> W {
        self.out
    }
}

fn written(error: std::io::Error) -> Error {
    Error::Write(Box::new(error))
}

impl<W: Write> Batches for Stored<W> {
    type Error = Error;

    fn take(&mut self, table: Table, rows: RecordBatch) -> Result<(), Error> {
        let mut stream = StreamWriter::try_new(Vec::new(), &rows.schema())?;
        stream.write(&rows)?;
        let frame =
            snap::raw::Encoder::new().compress_vec(&stream.into_inner()?).map_err(|e| written(e.into()))?;
        let length = u32::try_from(frame.len()).map_err(|_| broken("a batch of 4 GiB"))?;
        let number = Table::ALL.iter().position(|it| *it == table).and_then(|at| u8::try_from(at).ok());
        self.out.write_all(&[number.unwrap_or(u8::MAX)]).map_err(written)?;
        self.out.write_all(&length.to_le_bytes()).map_err(written)?;
        self.out.write_all(&frame).map_err(written)
    }
}

fn broken(what: &str) -> ArrowError {
    ArrowError::ParseError(format!("kept rows: {what}"))
}

/// Takes kept rows as those of a run that began at another moment, in microseconds since 1970.
///
/// # Errors
/// Where the bytes are no rows of these tables, and those of whoever takes batches.
pub fn replay<B: Batches>(mut bytes: &[u8], run: i64, batches: &mut B) -> Result<(), B::Error> {
    while let Some((number, rest)) = bytes.split_first() {
        let (frame, rest) = frame_of(rest).ok_or_else(|| broken("a frame is cut off"))?;
        bytes = rest;
        let table = Table::ALL.get(usize::from(*number)).ok_or_else(|| broken("an unknown table"))?;
        // The reader panics on some streams that nobody wrote.
        let rows =
            catch_unwind(|| batches_of(frame)).unwrap_or_else(|_| Err(broken("no stream of Arrow")))?;
        for rows in rows {
            batches.take(*table, at(run, *table, &rows)?)?;
        }
    }
    Ok(())
}

fn frame_of(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
}

/// The batches of a frame: one, where it was written here.
fn batches_of(frame: &[u8]) -> Result<Vec<RecordBatch>, ArrowError> {
    let failed = |error: snap::Error| broken(&error.to_string());
    if snap::raw::decompress_len(frame).map_err(failed)? > MOST_OF_FRAME {
        return Err(broken("a frame is too long"));
    }
    let stream = snap::raw::Decoder::new().decompress_vec(frame).map_err(failed)?;
    StreamReader::try_new(stream.as_slice(), None)?.collect()
}

/// The rows as those of another run.
fn at(run: i64, table: Table, rows: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let schema = schema(table);
    if rows.schema_ref().fields() != schema.fields() {
        return Err(broken("other columns"));
    }
    let mut columns = rows.columns().to_vec();
    let moments = TimestampMicrosecondArray::from_value(run, rows.num_rows()).with_timezone("UTC");
    let moment = schema.index_of("run")?;
    if let Some(column) = columns.get_mut(moment) {
        *column = Arc::new(moments);
    }
    RecordBatch::try_new(schema, columns)
}
