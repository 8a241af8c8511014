//! The module `deburr._native`: the command's library for Python.
//!
//! In: words of the command line, paths and bytes. Out: JSON documents, and tables that hand themselves on by Arrow's C interface.
//! What people call is in `package/deburr/`; nothing here knows an option. Python's lock is released while anything is read.

mod table;

use deburr_cli::{CheckCall, CompareCall, Fault, Given, GivenPackage, Held, ScanCall, Scanned};
use deburr_tables::Table;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::ffi::OsString;
use std::path::PathBuf;
use table::ArrowTable;

pyo3::import_exception!(deburr._error, Error);

/// What a check found.
#[pyclass(frozen, module = "deburr._native")]
struct Checked {
    /// The document of `deburr check --format json`.
    #[pyo3(get)]
    json: Py<PyBytes>,
    /// The exit status of the command.
    #[pyo3(get)]
    status: u8,
    /// What the command writes to the standard error.
    #[pyo3(get)]
    complaints: String,
    /// The first path that was named and could not be checked, with the reason.
    #[pyo3(get)]
    refused: Option<(String, String)>,
    /// By name; nothing where none were wanted.
    #[pyo3(get)]
    tables: Option<Vec<(String, Py<ArrowTable>)>>,
}

fn failed(Fault(reason): Fault) -> PyErr {
    Error::new_err((None::<String>, reason))
}

/// Checks paths, and bytes by name.
#[pyfunction]
fn check(
    py: Python<'_>,
    options: Vec<OsString>,
    paths: Vec<PathBuf>,
    held: Vec<(PathBuf, PyBackedBytes)>,
    wants_tables: bool,
) -> PyResult<Checked> {
    let held = held.into_iter().map(|(name, bytes)| (name, Held::new(bytes))).collect();
    let call = CheckCall { options, paths, held, wants_tables };
    let checked = py.detach(|| deburr_cli::check(call)).map_err(failed)?;
    let tables = match wants_tables {
        false => None,
        true => {
            let mut rows = checked.tables;
            let of = |table: Table| {
                let own = rows.extract_if(.., |(of, _)| *of == table).map(|(_, rows)| rows).collect();
                Ok((table.name().to_owned(), Py::new(py, ArrowTable::new(table, own))?))
            };
            Some(Table::ALL.into_iter().map(of).collect::<PyResult<_>>()?)
        }
    };
    Ok(Checked {
        json: PyBytes::new(py, &checked.json).unbind(),
        status: checked.status,
        complaints: checked.complaints,
        refused: checked.refused.map(|refused| (refused.path, refused.reason)),
        tables,
    })
}

/// Scans an archive, or packages with the paths that the tables have of them, into a directory: the document of
/// `deburr scan --format json`. `program`: the file of this module.
#[pyfunction]
fn scan<'py>(
    py: Python<'py>,
    options: Vec<OsString>,
    scanned: ScannedOf,
    tables: PathBuf,
    program: PathBuf,
) -> PyResult<Bound<'py, PyBytes>> {
    let scanned = match scanned {
        ScannedOf::Archive(archive) => Scanned::Archive(archive),
        ScannedOf::Given(packages, missing) => {
            let package = |(path, place, sha256)| GivenPackage { path, place, sha256 };
            Scanned::Given(Given { packages: packages.into_iter().map(package).collect(), missing })
        }
    };
    let call = ScanCall { options, scanned, tables, program };
    let json = py.detach(|| deburr_cli::scan(call)).map_err(failed)?;
    Ok(PyBytes::new(py, &json))
}

/// What is scanned: an archive, or packages (path, place and SHA-256) with what the caller could not get (path and reason).
#[derive(FromPyObject)]
enum ScannedOf {
    Given(Vec<(String, PathBuf, Option<String>)>, Vec<(String, String)>),
    Archive(PathBuf),
}

/// What a scan of an archive would scan, as JSON. `scratch`: where files of an index are meanwhile.
#[pyfunction]
fn list_archive<'py>(
    py: Python<'py>,
    options: Vec<OsString>,
    archive: PathBuf,
    scratch: PathBuf,
) -> PyResult<Bound<'py, PyBytes>> {
    let json = py.detach(|| deburr_cli::list(options, archive, &scratch)).map_err(failed)?;
    Ok(PyBytes::new(py, &json))
}

/// Compares two lists of numbers: the document of `deburr compare --format json`.
#[pyfunction]
fn compare<'py>(
    py: Python<'py>,
    options: Vec<OsString>,
    a: Vec<f64>,
    b: Vec<f64>,
) -> PyResult<Bound<'py, PyBytes>> {
    let json = py.detach(|| deburr_cli::compare(CompareCall { options, a, b })).map_err(failed)?;
    Ok(PyBytes::new(py, &json))
}

/// The rules: the document of `deburr rules --format json`.
#[pyfunction]
fn rules(py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
    deburr_cli::rules().map(|json| PyBytes::new(py, &json)).map_err(failed)
}

/// The module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Checked>()?;
    module.add_class::<ArrowTable>()?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(compare, module)?)?;
    module.add_function(wrap_pyfunction!(scan, module)?)?;
    module.add_function(wrap_pyfunction!(list_archive, module)?)?;
    module.add_function(wrap_pyfunction!(rules, module)?)
}
