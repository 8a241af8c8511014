//! `deburr query`: a query over tables → DuckDB's answer, or the SQL.
//!
//! In: the name of a query and a directory. Out: what `duckdb` prints, which is another program: an engine of that kind in
//! this one would make it several times as large.

use super::failure::Failure;
use crate::args::tables::query::RunQuery;
use crate::names::{nearest, unknown};
use crate::system_error::error_text;
use deburr_tables::{QUERIES, Query, Table};
use deburr_text::ShownPath as _;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode};

/// What is said where there is no DuckDB.
const NO_DUCKDB: &str = "no duckdb on PATH, so the SQL is printed instead. Its command line runs it (https://duckdb.org), \
    and so does Python: pip install duckdb, then duckdb.sql(SQL).show()";

/// Runs the verb.
pub(super) fn run(
    options: &RunQuery,
    out: &mut dyn Write,
    complaints: &mut dyn Write,
) -> Result<ExitCode, Failure> {
    let Some(name) = &options.name else {
        list(out)?;
        return Ok(ExitCode::SUCCESS);
    };
    let query = named(name).map_err(Failure::Message)?;
    let complaint = |words: &str| Failure::Message(format!("{name}: {words}"));
    let folder = options.folder.as_deref().ok_or_else(|| complaint("which directory has the tables?"))?;
    let sql = sql_of(query, folder).map_err(Failure::Message)?;
    if options.sql {
        out.write_all(sql.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    out.flush()?;
    match Command::new("duckdb").arg("-c").arg(&sql).status() {
        Ok(status) if status.success() => Ok(ExitCode::SUCCESS),
        Ok(status) => Err(complaint(&format!("duckdb: {status}"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            out.write_all(sql.as_bytes())?;
            out.flush()?;
            // Where the standard error is gone, the exit status still shows it.
            let _ = writeln!(complaints, "deburr: {NO_DUCKDB}");
            Ok(ExitCode::from(2))
        }
        Err(error) => Err(complaint(&format!("duckdb: {}", error_text(&error)))),
    }
}

fn list(out: &mut dyn Write) -> io::Result<()> {
    let width = QUERIES.iter().map(|query| query.name.len()).max().unwrap_or(0);
    QUERIES.iter().try_for_each(|query| writeln!(out, "{:width$}  {}", query.name, query.title()))
}

fn named(name: &str) -> Result<&'static Query, String> {
    QUERIES.iter().find(|query| query.name == name).ok_or_else(|| {
        let nearest = nearest(name, QUERIES.iter().map(|query| query.name));
        unknown("query", name, nearest, "`deburr query` lists them")
    })
}

/// The SQL for a directory that has tables.
fn sql_of(query: &Query, folder: &Path) -> Result<String, String> {
    let fault = |words: &str| format!("{}: {words}", folder.shown());
    let entries = folder.join(Table::Artefacts.name()).read_dir().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if folder.is_dir() => {
            fault("no tables: deburr check --format parquet=DIR writes them")
        }
        _ => fault(&error_text(&error)),
    })?;
    let is_table = |path: &Path| path.extension() == Some(OsStr::new("parquet"));
    if !entries.filter_map(Result::ok).any(|entry| is_table(&entry.path())) {
        return Err(fault("no tables: deburr check --format parquet=DIR writes them"));
    }
    let folder = folder.to_str().ok_or_else(|| fault("SQL has no way to say this name: it is no UTF-8"))?;
    if folder.contains('\0') {
        return Err(fault("a name with a zero byte"));
    }
    Ok(query.in_directory(folder))
}
