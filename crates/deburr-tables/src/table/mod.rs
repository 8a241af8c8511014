//! The tables and their columns: each column is declared once, with its meaning and how a row has it.

mod artefacts;
mod catalogue;
mod column;
mod files;
mod findings;
mod functions;
mod name;
mod rowed;

pub(crate) use artefacts::{ArtefactRow, Artefacts};
pub(crate) use catalogue::schema_of;
pub(crate) use column::Cell;
pub(crate) use files::{FileRow, Files};
pub(crate) use findings::{FindingRow, Findings};
pub(crate) use functions::{FunctionRow, Functions};
pub(crate) use rowed::Rowed;

pub use artefacts::ArtefactOf;
pub use catalogue::{columns, schema};
pub use column::{Column, Kind};
pub use files::FileOf;
pub use name::{Described, TABLES_VERSION, Table};
