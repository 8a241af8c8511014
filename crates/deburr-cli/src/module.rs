//! What the Python module calls: words of the command line, and bytes → what the command would print, in memory.
//!
//! In: the options as the command line has them, so that no option is written twice. Out: JSON documents and record batches. Nothing
//! here reads the standard input, or writes to the standard output or error.

use crate::args::check::Check;
use crate::args::compare::Compare;
use crate::args::format::{Format, ReportFormat, When};
use crate::args::{self, Verb};
use crate::cmd;
use crate::cmd::catalogue;
use crate::cmd::check::ends::Ends;
use crate::cmd::failure::Failure;
pub use crate::input::held::Held;
use crate::input::held::HeldInputs;
use deburr_tables::{RecordBatch, Table};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A call of `check`.
#[derive(Debug, Default)]
pub struct CheckCall {
    /// The options of `deburr check`, without paths, formats and places to write to.
    pub options: Vec<OsString>,
    /// Files, directories, packages.
    pub paths: Vec<PathBuf>,
    /// Bytes, by names that no path has.
    pub held: Vec<(PathBuf, Held)>,
    /// Whether rows are wanted, which takes hashes of all input.
    pub wants_tables: bool,
}

/// What a check found.
#[derive(Debug)]
pub struct Checked {
    /// The document of `deburr check --format json`.
    pub json: Vec<u8>,
    /// The rows of `--format parquet`, where they were wanted.
    pub tables: Vec<(Table, RecordBatch)>,
    /// What the command writes to the standard error.
    pub complaints: String,
    /// The exit status of the command: 0 clean, 1 findings at or above `--fail-on`, 2 some file could not be checked.
    pub status: u8,
    /// The first path that the caller named and that could not be checked.
    pub refused: Option<Refused>,
}

/// A path that could not be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// As the caller knows it.
    pub path: String,
    /// Why, for people.
    pub reason: String,
}

/// A call of `compare`.
#[derive(Debug, Default)]
pub struct CompareCall {
    /// The options of `deburr compare`, without files, commands and formats.
    pub options: Vec<OsString>,
    /// The measurements of A.
    pub a: Vec<f64>,
    /// The measurements of B.
    pub b: Vec<f64>,
}

/// Why there is no answer at all, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(pub String);

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Fault {
        match failure {
            Failure::Message(message) => Fault(message),
            // Memory has no reader that goes away.
            Failure::ClosedPipe => Fault("the output was closed".to_owned()),
        }
    }
}

/// Checks binaries, as `deburr check --format json` does.
///
/// # Errors
/// Where the options mean nothing. What could not be checked is in the document, and in [`Checked::refused`].
pub fn check(call: CheckCall) -> Result<Checked, Fault> {
    let CheckCall { options, paths, held: of_caller, wants_tables } = call;
    let mut held = HeldInputs::new();
    for (name, bytes) in of_caller {
        if held.insert(name.clone(), bytes).is_some() {
            return Err(Fault(format!("{}: bytes of one name are given twice", name.display())));
        }
    }
    for path in &paths {
        refuse(path, &held)?;
    }
    let inputs: Vec<PathBuf> = paths.into_iter().chain(held.keys().cloned()).collect();
    let words = ["check", "--format", "json", "--progress", "never"].map(OsString::from).into_iter();
    let named = inputs.iter().cloned().map(PathBuf::into_os_string);
    let words: Vec<OsString> = words.chain(options).chain([OsString::from("--")]).chain(named).collect();
    let options = match parsed(&words)? {
        Verb::Check(options) if options.paths == inputs => options,
        _ => return Err(Fault("a path among the options".to_owned())),
    };
    only_memory(&options)?;
    let (mut json, mut complaints, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    let mut ends = Ends {
        out: &mut json,
        is_stdout: false,
        complaints: &mut complaints,
        held,
        rows: wants_tables.then_some(&mut rows),
        refused: None,
    };
    let status = cmd::check::run(&options, When::Never, &mut ends)?;
    let refused = ends.refused.map(|(path, reason)| Refused { path, reason });
    let complaints = String::from_utf8_lossy(&complaints).into_owned();
    Ok(Checked { json, tables: rows, complaints, status, refused })
}

/// Compares two lists of numbers, as `deburr compare --values A B --format json` does: the document.
///
/// # Errors
/// Where the options mean nothing, or the numbers are too few or no numbers.
pub fn compare(call: CompareCall) -> Result<Vec<u8>, Fault> {
    let CompareCall { options, a, b } = call;
    let words = ["compare", "--format", "json"].map(OsString::from).into_iter().chain(options);
    let words: Vec<OsString> = words.chain(["--values", "a", "b"].map(OsString::from)).collect();
    match parsed(&words)? {
        Verb::Compare(options) if is_of_values(&options) => Ok(cmd::compare::of_values(&options, [&a, &b])?),
        _ => Err(Fault("no options of two lists of numbers".to_owned())),
    }
}

/// The rules, as `deburr rules --format json` prints them.
///
/// # Errors
/// Never, as memory takes all that is written.
pub fn rules() -> Result<Vec<u8>, Fault> {
    let mut json = Vec::new();
    catalogue::rules(Format::Json, false, &mut json)?;
    Ok(json)
}

fn parsed(words: &[OsString]) -> Result<Verb, Fault> {
    let words = args::parse_words(words).map_err(|error| {
        // The first paragraph says what is wrong; the rest is about the command line.
        let text = error.to_string();
        let first = text.split("\n\n").next().unwrap_or_default();
        Fault(first.trim().trim_start_matches("error: ").to_owned())
    })?;
    Ok(words.verb)
}

/// Refuses what is no path here: the standard input is the program's, and a name of bytes is taken.
fn refuse(path: &Path, held: &HeldInputs) -> Result<(), Fault> {
    match path.as_os_str().as_encoded_bytes() {
        b"" => Err(Fault("an empty path".to_owned())),
        b"-" => Err(Fault("-: the standard input is the program's; give its bytes".to_owned())),
        _ if held.contains_key(path) => {
            Err(Fault(format!("{}: a path, and the name of bytes, too", path.display())))
        }
        _ => Ok(()),
    }
}

/// Refuses options that write files, or another document.
fn only_memory(options: &Check) -> Result<(), Fault> {
    let is_json =
        |format: &args::format::Destination| format.format == ReportFormat::Json && format.file.is_none();
    let writes = options.output.is_some() || options.add_allowances.is_some() || options.pretty;
    match options.format.iter().all(is_json) && !writes {
        true => Ok(()),
        false => Err(Fault(
            "the module writes no files: leave --format, --output, --pretty and --add-allowances out"
                .to_owned(),
        )),
    }
}

fn is_of_values(options: &Compare) -> bool {
    options.verb.is_none() && options.values.as_ref().is_some_and(|files| files.len() == 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixtures() -> PathBuf {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../deburr-core/fixtures/llsc_loop"))
    }

    fn with_options(options: &[&str]) -> CheckCall {
        let options = options.iter().map(OsString::from).collect();
        CheckCall { options, paths: vec![fixtures()], ..CheckCall::default() }
    }

    fn fault(call: CheckCall) -> String {
        check(call).err().map(|Fault(reason)| reason).unwrap_or_default()
    }

    #[test]
    fn bytes_are_checked_under_their_name() {
        let object = std::fs::read(fixtures().join("hit-cas.o"));
        let object = object.unwrap_or_else(|error| panic!("{error}"));
        let held = vec![(PathBuf::from("name"), Held::new(object)), ("none".into(), Held::new("none"))];
        let checked = check(CheckCall { held, wants_tables: true, ..CheckCall::default() }).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&checked.json).unwrap();
        assert_eq!(document["files"][0]["path"], "name");
        assert_eq!(document["files"][0]["findings"][0]["rule"], "llsc-loop");
        assert_eq!(document["skipped"][0]["reason"], "no ELF file");
        let refused = Refused { path: "none".to_owned(), reason: "no ELF file".to_owned() };
        assert_eq!((checked.refused, checked.status), (Some(refused), 2));
        assert!(checked.tables.iter().any(|(table, rows)| *table == Table::Findings && rows.num_rows() > 0));
    }

    #[test]
    fn options_that_write_or_name_paths_are_refused() {
        for option in ["--output=x", "--format=sarif", "--format=json=x", "--pretty", "--add-allowances"] {
            assert!(fault(with_options(&[option])).contains("writes no files"), "{option}");
        }
        assert_eq!(fault(with_options(&["-"])), "a path among the options");
        assert_eq!(fault(with_options(&["--", "x"])), "a path among the options");
        assert!(fault(with_options(&["--nonsense"])).contains("--nonsense"));
        let stdin = CheckCall { paths: vec!["-".into()], ..CheckCall::default() };
        assert!(fault(stdin).contains("standard input"));
        assert_eq!(fault(with_options(&["--select=llsc-loop"])), "");
    }

    #[test]
    fn lists_of_numbers_are_compared_without_files() {
        let options = ["--paired"].map(OsString::from).to_vec();
        let (a, b): (Vec<f64>, Vec<f64>) = (0..12).map(|n| (10.0 + f64::from(n % 3) / 10.0, 8.0)).unzip();
        let json = compare(CompareCall { options: options.clone(), a, b }).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(document["verdict"], "better");
        let short = CompareCall { options, a: vec![1.0], b: vec![f64::NAN] };
        assert!(compare(short).is_err());
        let running = ["--a", "true", "--b", "true"].map(OsString::from).to_vec();
        assert!(compare(CompareCall { options: running, a: vec![1.0; 9], b: vec![1.0; 9] }).is_err());
    }
}
