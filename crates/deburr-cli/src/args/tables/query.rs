//! The options of `deburr query`.

use clap::Args;
use std::path::PathBuf;

/// The options of `deburr query`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  deburr query                            the queries, and what each answers
  deburr query worst-packages tables/     run by duckdb, if that is on PATH
  deburr query --sql who-gains tables/
      only print the SQL, for another program or to change it

The tables are those of deburr check --format parquet=DIR;
docs/reference/tables.md describes their columns.

Exit status: 0 done, 2 it could not be run.")]
pub(crate) struct RunQuery {
    /// The query; without it: list all
    pub(crate) name: Option<String>,
    /// The directory of the tables
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Print the SQL with the directory filled in, and run nothing
    #[arg(long)]
    pub(crate) sql: bool,
}
