//! Record batches → four Parquet files, and the name that their content gives them.
//!
//! The name is a hash of the rows without the time of the run, as Arrow's IPC stream has them: Parquet's bytes would hold
//! that time. Follows the Parquet format 2.12; pages are compressed by Snappy.

use super::error::Error;
use super::id::hexadecimal;
use super::rows::Batches;
use super::table::{Table, schema};
use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// Bytes of a row group, as they will be in the file, from which it is written.
pub const BYTES_OF_GROUP: usize = 16 << 20;
/// Its rows.
const ROWS_OF_GROUP: usize = 1 << 17;

/// Hashes what is written.
struct Hasher(Sha256);

impl Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One table as it is written.
struct Writing<W: Write + Send> {
    table: Table,
    parquet: ArrowWriter<W>,
    /// Its columns without the time.
    hash: StreamWriter<Hasher>,
    timeless: Vec<usize>,
}

impl<W: Write + Send> Writing<W> {
    fn new(table: Table, out: W) -> Result<Writing<W>, Error> {
        let schema = schema(table);
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("deburr ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_max_row_group_row_count(Some(ROWS_OF_GROUP))
            .build();
        let timeless: Vec<usize> = schema
            .fields()
            .iter()
            .enumerate()
            .filter(|(_, it)| it.name() != "run")
            .map(|(at, _)| at)
            .collect();
        let hash = StreamWriter::try_new(Hasher(Sha256::new()), &schema.project(&timeless)?)?;
        Ok(Writing { table, parquet: ArrowWriter::try_new(out, schema, Some(properties))?, hash, timeless })
    }

    fn take(&mut self, rows: &RecordBatch) -> Result<(), Error> {
        self.hash.write(&rows.project(&self.timeless)?)?;
        self.parquet.write(rows)?;
        if self.parquet.in_progress_size() >= BYTES_OF_GROUP {
            self.parquet.flush()?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Sha256, Error> {
        self.hash.finish()?;
        self.parquet.close()?;
        Ok(self.hash.into_inner()?.0)
    }
}

/// The four files of a run, or of a part of one.
pub struct Shard<W: Write + Send>(Vec<Writing<W>>);

impl<W: Write + Send> Shard<W> {
    /// Begins the files, each at its place.
    ///
    /// # Errors
    /// Where the beginning cannot be written.
    pub fn new(places: impl IntoIterator<Item = (Table, W)>) -> Result<Shard<W>, Error> {
        places.into_iter().map(|(table, out)| Writing::new(table, out)).collect::<Result<_, _>>().map(Shard)
    }

    /// Writes what is left; returns the name of the shard, 32 hexadecimal digits.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub fn finish(self) -> Result<String, Error> {
        let mut content = Sha256::new();
        for writing in self.0 {
            content.update(writing.finish()?.finalize());
        }
        Ok(hexadecimal(&content.finalize()[..16]))
    }
}

impl<W: Write + Send> Batches for Shard<W> {
    type Error = Error;

    fn take(&mut self, table: Table, rows: RecordBatch) -> Result<(), Error> {
        let mut writing = self.0.iter_mut().filter(|writing| writing.table == table);
        writing.try_for_each(|writing| writing.take(&rows))
    }
}
