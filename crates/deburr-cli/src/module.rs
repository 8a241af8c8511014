//! What the Python module calls: words of the command line, and bytes → what the command would print, in memory.
//!
//! In: the options as the command line has them, so that no option is written twice. Out: JSON documents and record batches. Nothing
//! here reads the standard input, or writes to the standard output or error.

use crate::args::check::Check;
use crate::args::compare::Compare;
use crate::args::format::{Format, ReportFormat, SchemaVersion, When};
use crate::args::tables::scan::Scan;
use crate::args::{self, Verb};
use crate::cmd;
use crate::cmd::catalogue;
use crate::cmd::check::ends::Ends;
use crate::cmd::failure::Failure;
use crate::cmd::scan;
pub use crate::cmd::scan::given::{Given, GivenPackage};
pub use crate::input::held::Held;
use crate::input::held::HeldInputs;
use deburr_tables::{RecordBatch, Table};
use deburr_text::ShownPath as _;
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

/// A call of `scan`.
#[derive(Debug)]
pub struct ScanCall {
    /// The options of `deburr scan`, without the archive, the tables and formats.
    pub options: Vec<OsString>,
    /// What is scanned.
    pub scanned: Scanned,
    /// The directory of the tables.
    pub tables: PathBuf,
    /// The file that this code is in: rows that another version of it has kept are not taken.
    pub program: PathBuf,
}

/// What a call of `scan` scans.
#[derive(Debug)]
pub enum Scanned {
    /// What the command takes: a folder or a URL.
    Archive(PathBuf),
    /// Packages, one by one.
    Given(Given),
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
            return Err(Fault(format!("{}: bytes of one name are given twice", name.shown())));
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
        is_over: None,
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

/// Scans an archive or packages into tables, as `deburr scan --format json` does: the document.
///
/// # Errors
/// Where the tables were not written. What could not be checked is in the document.
pub fn scan(call: ScanCall) -> Result<Vec<u8>, Fault> {
    let ScanCall { options, scanned, tables, program } = call;
    let (archive, given) = match scanned {
        Scanned::Archive(archive) => (archive, None),
        // The command line wants an archive; nobody looks at it.
        Scanned::Given(given) => (PathBuf::from("packages"), Some(given)),
    };
    let options = scan_options(options, archive, &tables)?;
    let summary = scan::scan(&options, given.as_ref(), &program)?;
    serde_json::to_vec(&summary).map_err(|error| Fault(error.to_string()))
}

/// What a scan of an archive would scan: a JSON document of `packages`, each with `path`, `size` in bytes and `sha256`, and of
/// `failures`. `scratch`: where files of an index are meanwhile.
///
/// # Errors
/// Where it cannot be listed, for people.
pub fn list(options: Vec<OsString>, archive: PathBuf, scratch: &Path) -> Result<Vec<u8>, Fault> {
    let options = scan_options(options, archive, scratch)?;
    serde_json::to_vec(&scan::list(&options)?).map_err(|error| Fault(error.to_string()))
}

fn scan_options(options: Vec<OsString>, archive: PathBuf, tables: &Path) -> Result<Box<Scan>, Fault> {
    refuse(&archive, &HeldInputs::new())?;
    if tables.as_os_str().is_empty() {
        return Err(Fault("an empty path for the tables".to_owned()));
    }
    let mut of_tables = OsString::from("--tables=");
    of_tables.push(tables);
    let words = ["scan", "--format", "json", "--progress", "never"].map(OsString::from).into_iter();
    let words: Vec<OsString> = words
        .chain([of_tables])
        .chain(options)
        .chain([OsString::from("--"), archive.clone().into_os_string()])
        .collect();
    let too_many = || Fault("a path among the options".to_owned());
    let surplus = format!("unexpected argument '{}'", archive.shown());
    match parsed(&words).map_err(|fault| if fault.0.starts_with(&surplus) { too_many() } else { fault })? {
        Verb::Scan(options) if options.archive == archive && options.tables == tables => Ok(options),
        _ => Err(too_many()),
    }
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
            Err(Fault(format!("{}: a path, and the name of bytes, too", path.shown())))
        }
        _ => Ok(()),
    }
}

/// Refuses options that write files, or another document.
fn only_memory(options: &Check) -> Result<(), Fault> {
    let is_json =
        |format: &args::format::Destination| format.format == ReportFormat::Json && format.file.is_none();
    let writes = options.output.is_some()
        || options.html.is_some()
        || options.add_allowances.is_some()
        || options.pretty;
    if writes || !options.format.iter().all(is_json) {
        let words =
            "the module writes no files: leave --format, --html, --output, --pretty and --add-allowances out";
        return Err(Fault(words.to_owned()));
    }
    if options.schema_version != SchemaVersion::Two {
        return Err(Fault(
            "the module's objects are those of version 2: leave --schema-version out".to_owned(),
        ));
    }
    Ok(())
}

fn is_of_values(options: &Compare) -> bool {
    options.verb.is_none() && options.values.as_ref().is_some_and(|files| files.len() == 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_test_support::Scratch;

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
        assert!(fault(with_options(&["--schema-version=1"])).contains("version 2"));
        assert_eq!(fault(with_options(&["-"])), "a path among the options");
        assert_eq!(fault(with_options(&["--", "x"])), "a path among the options");
        assert!(fault(with_options(&["--nonsense"])).contains("--nonsense"));
        let stdin = CheckCall { paths: vec!["-".into()], ..CheckCall::default() };
        assert!(fault(stdin).contains("standard input"));
        assert_eq!(fault(with_options(&["--select=llsc-loop"])), "");
    }

    fn scanned(scanned: Scanned, tables: &Path, options: &[&str]) -> Result<serde_json::Value, String> {
        let options = options.iter().map(OsString::from).collect();
        let program = PathBuf::from("/proc/self/exe");
        let json = scan(ScanCall { options, scanned, tables: tables.to_owned(), program });
        json.map(|json| serde_json::from_slice(&json).unwrap()).map_err(|Fault(reason)| reason)
    }

    fn of_fixtures() -> Given {
        let mut places: Vec<PathBuf> =
            std::fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path()).collect();
        places.retain(|place| place.extension().is_some_and(|it| it == "o"));
        // An order that no directory has.
        places.sort();
        places.reverse();
        let named = |place: PathBuf| GivenPackage {
            path: place.file_name().unwrap().to_string_lossy().into_owned(),
            place,
            sha256: None,
        };
        Given { packages: places.into_iter().map(named).collect(), missing: Vec::new() }
    }

    #[test]
    fn packages_that_are_given_are_the_shard_of_their_folder() {
        let scratch = Scratch::new("module-scan");
        let (one, other) = (scratch.join("one"), scratch.join("other"));
        let run = ["--run=1700000000"];
        let whole = scanned(Scanned::Archive(fixtures()), &one, &run).unwrap();
        let given = scanned(Scanned::Given(of_fixtures()), &other, &run).unwrap();
        assert!(given["items"].as_u64().unwrap() > 1, "{given}");
        assert_eq!((&given["shard"], &given["items"]), (&whole["shard"], &whole["items"]));
        let file = format!("findings/{}.parquet", given["shard"].as_str().unwrap());
        let bytes = |tables: &Path| std::fs::read(tables.join(&file)).unwrap();
        assert_eq!(bytes(&one), bytes(&other));
        scanned(Scanned::Given(of_fixtures()), &scratch.join("again"), &run).unwrap();
        assert_eq!(bytes(&one), bytes(&scratch.join("again")), "byte for byte");
    }

    #[test]
    fn a_run_that_is_given_again_replaces_its_shard() {
        let scratch = Scratch::new("module-scan-again");
        let run = ["--run=1700000000"];
        let shards = || std::fs::read_dir(scratch.join("artefacts")).unwrap().count();
        let mut list = of_fixtures();
        let gone = list.packages.pop().unwrap().path;
        list.missing.push((gone.clone(), "access denied".to_owned()));
        let first = scanned(Scanned::Given(list), scratch.path(), &run).unwrap();
        let denied = serde_json::json!([{"path": gone, "reason": "access denied"}]);
        assert_eq!((&first["failures"], shards()), (&denied, 1));
        let second = scanned(Scanned::Given(of_fixtures()), scratch.path(), &run).unwrap();
        assert_eq!((&second["failures"], shards()), (&serde_json::json!([]), 1), "the paths are the same");
        assert_ne!(first["shard"], second["shard"]);
    }

    #[test]
    fn bytes_that_are_not_those_of_the_index_are_a_failure() {
        let scratch = Scratch::new("module-scan-hash");
        let mut list = of_fixtures();
        list.packages[0].sha256 = Some("0".repeat(64));
        let summary = scanned(Scanned::Given(list), scratch.path(), &[]).unwrap();
        assert_eq!(summary["failures"].as_array().unwrap().len(), 1, "{summary}");
        assert!(summary["failures"][0]["reason"].as_str().unwrap().contains("SHA-256"), "{summary}");
    }

    #[test]
    fn options_of_a_scan_name_no_place_and_no_format() {
        let scratch = Scratch::new("module-scan-options");
        let given = |options: &[&str]| {
            scanned(Scanned::Given(of_fixtures()), &scratch.join("tables"), options).unwrap_err()
        };
        for option in ["--tables=elsewhere", "--format=text", "--progress=always"] {
            assert!(given(&[option]).contains("cannot be used multiple times"), "{option}");
        }
        for path in ["elsewhere", "--"] {
            assert_eq!(given(&[path]), "a path among the options");
        }
        assert!(given(&["--suite=bookworm"]).contains("packages are given"));
        assert!(given(&["--shard=1/2", "--run=1"]).contains("packages are given"), "none is left out");
        assert!(given(&["--nonsense"]).contains("--nonsense"));
        let empty = scanned(Scanned::Archive(PathBuf::new()), scratch.path(), &[]);
        assert_eq!(empty.unwrap_err(), "an empty path");
        assert!(scanned(Scanned::Archive("-".into()), scratch.path(), &[]).is_err());
        assert!(!scratch.join("tables/files").exists(), "nothing is written");
    }

    #[test]
    fn a_list_of_an_archive_is_what_its_scan_scans() {
        let scratch = Scratch::new("module-list");
        let listed: serde_json::Value =
            serde_json::from_slice(&list(Vec::new(), fixtures(), scratch.path()).unwrap()).unwrap();
        let packages = listed["packages"].as_array().unwrap();
        let summary = scanned(Scanned::Archive(fixtures()), scratch.path(), &[]).unwrap();
        assert_eq!(packages.len() as u64, summary["items"].as_u64().unwrap());
        let bytes: u64 = packages.iter().map(|it| it["size"].as_u64().unwrap()).sum();
        assert_eq!(bytes, summary["bytes_checked"].as_u64().unwrap());
        let halves = ["--shard=1/2", "--shard=2/2"].map(|shard| {
            let options = [shard, "--run=1"].map(OsString::from).to_vec();
            let json = list(options, fixtures(), scratch.path()).unwrap();
            let half: serde_json::Value = serde_json::from_slice(&json).unwrap();
            half["packages"].as_array().unwrap().len()
        });
        assert_eq!(halves.iter().sum::<usize>(), packages.len());
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
