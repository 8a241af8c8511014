//! What deburr reports of many binaries, as four tables that are joined: artefacts, files, functions, findings.
//!
//! In: reports of the core, with what the caller knows of the artefacts and of the bytes. Out: Arrow record batches
//! ([`Rows`] → [`Batches`]), and of these one Parquet file a table ([`Shard`]).
//!
//! A column is declared once ([`Column`]): its name, type, unit, meaning, the JSON field that it is, and how a row has it.
//! docs/reference/tables.md has the same, and a test compares them. Names and types are those of the JSON report, except that counts
//! are signed numbers of 64 bits, which all readers have.
//!
//! Rows are made of one artefact after another, and go out as they fill: no more than [`ROWS_OF_BATCH`] of a table are held,
//! or [`BYTES_OF_BATCH`] and one row. A [`Shard`] flushes a row group at [`BYTES_OF_GROUP`], so that memory does not grow with
//! the number of files. Its name comes from its content, without the time of the run: the same run written twice is one file.
//!
//! Rows of one artefact can be kept ([`Stored`]), and be those of a later run ([`replay`]).
//!
//! The crate opens nothing and knows no clock: the caller brings writers and the time.

#![forbid(unsafe_code)]

mod batch;
mod error;
mod id;
mod places;
mod queries;
mod rows;
mod shard;
mod stored;
mod table;

pub use arrow_array::RecordBatch;
pub use batch::{BYTES_OF_BATCH, ROWS_OF_BATCH};
pub use error::Error;
pub use queries::{QUERIES, Query};
pub use rows::{Batches, Rows};
pub use shard::{BYTES_OF_GROUP, Shard};
pub use stored::{Stored, replay};
pub use table::{ArtefactOf, Column, Described, FileOf, Kind, TABLES_VERSION, Table, columns, schema};
