//! Rows, batches and shards: what comes out for real reports, for hostile ones, and where the writer fails.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use deburr_core::listing::Annotated;
use deburr_core::{Request, annotate};
use deburr_tables::{
    ArtefactOf, BYTES_OF_BATCH, Batches, Error, FileOf, ROWS_OF_BATCH, Rows, Shard, Stored, Table, columns,
    replay,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

type Taken = Vec<(Table, RecordBatch)>;

/// A rule's fixture under a path, checked.
fn checked(fixture: &str, path: &str) -> Annotated {
    let file = format!("{}/../deburr-core/fixtures/{fixture}", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut annotated = annotate(&bytes, &Request::default(), 0).unwrap();
    annotated.report.path = path.to_owned();
    annotated
}

fn file(of: &Annotated) -> FileOf<'_> {
    FileOf { report: &of.report, bytes: 7, sha256: Some("ab"), sizes: &of.sizes }
}

fn artefact(path: &str) -> ArtefactOf<'_> {
    ArtefactOf { path, kind: "deb", package: Some("store"), tool_version: "0", ..ArtefactOf::default() }
}

/// A run over two files of one package, and one path that was not checked.
fn run<B: Batches>(moment: i64, batches: B, version: &str) -> Result<B, B::Error> {
    let (one, other) =
        (checked("llsc_loop/hit-cas.o", "p!a.o"), checked("outlined_atomic/hit-stripped.o", "p!b.o"));
    let mut rows = Rows::new(moment, batches);
    rows.artefact(&ArtefactOf { version: Some(version), ..artefact("p") })?;
    rows.file(file(&one))?;
    rows.file(file(&other))?;
    rows.failure("p!c.o", "cut off")?;
    rows.failure("elsewhere", "permission denied")?;
    rows.finish()
}

fn texts(taken: &Taken, table: Table, column: &str) -> Vec<Option<String>> {
    let of = |rows: &RecordBatch| {
        let values = rows.column_by_name(column).unwrap().as_string::<i32>().clone();
        (0..values.len())
            .map(|at| values.is_valid(at).then(|| values.value(at).to_owned()))
            .collect::<Vec<_>>()
    };
    taken.iter().filter(|(other, _)| *other == table).flat_map(|(_, rows)| of(rows)).collect()
}

#[test]
fn rows_of_a_package_join_by_their_ids() {
    let taken = run(5, Taken::new(), "1").unwrap();
    let some = |text: &str| Some(text.to_owned());
    let artefacts = texts(&taken, Table::Artefacts, "artefact");
    let of_files = texts(&taken, Table::Files, "artefact");
    let expected = [artefacts[0].clone(), artefacts[0].clone(), artefacts[0].clone(), None];
    assert_eq!(of_files, expected, "what is not within it is none of it");
    assert_eq!(texts(&taken, Table::Files, "member"), [some("a.o"), some("b.o"), some("c.o"), None]);
    assert_eq!(
        texts(&taken, Table::Files, "error"),
        [None, None, some("cut off"), some("permission denied")]
    );
    let files = texts(&taken, Table::Files, "file");
    let findings = texts(&taken, Table::Findings, "file");
    assert!(!findings.is_empty() && findings.iter().all(|file| files[..2].contains(file)));
    // Every finding is in a function that has a row, and is counted there.
    let key = |table, [file, section, svma]: [&str; 3]| {
        let [file, section, svma] = [file, section, svma].map(|name| texts(&taken, table, name));
        file.into_iter().zip(section).zip(svma).collect::<Vec<_>>()
    };
    let functions = key(Table::Functions, ["file", "section", "svma"]);
    let counts = taken.iter().filter(|(table, _)| *table == Table::Functions).flat_map(|(_, rows)| {
        rows.column_by_name("findings").unwrap().as_primitive::<Int64Type>().values().to_vec()
    });
    let mut left: BTreeMap<_, i64> = functions.into_iter().zip(counts).collect();
    for place in key(Table::Findings, ["file", "function_section", "function_svma"]) {
        *left.get_mut(&place).unwrap_or_else(|| panic!("{place:?} has no row")) -= 1;
    }
    assert!(!left.is_empty() && left.values().all(|left| *left == 0), "{left:?}");
}

/// Bytes that are written by somebody else.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The shard that some rows make: its name, and the bytes of its files.
fn written(
    rows: impl FnOnce(Shard<Shared>) -> Result<Shard<Shared>, Error>,
) -> (String, Vec<(Table, Vec<u8>)>) {
    let places = Table::ALL.map(|table| (table, Shared::default()));
    let name = Shard::new(places.clone()).and_then(rows).and_then(Shard::finish).unwrap();
    (name, places.map(|(table, bytes)| (table, bytes.0.lock().unwrap().clone())).into())
}

/// The shard of a run.
fn shard(moment: i64, version: &str) -> (String, Vec<(Table, Vec<u8>)>) {
    written(|shard| run(moment, shard, version))
}

#[test]
fn a_shard_has_the_name_of_its_rows_whenever_it_is_written() {
    let (name, written) = shard(5, "1");
    assert!(name.len() == 32 && name.chars().all(|c| c.is_ascii_hexdigit()), "{name}");
    assert_eq!(shard(5, "1"), (name.clone(), written.clone()));
    let later = shard(6, "1");
    assert_eq!(later.0, name);
    assert_ne!(later.1, written, "the time is in the rows");
    assert_ne!(shard(5, "2").0, name);
}

#[test]
fn what_is_read_back_is_what_was_handed_over() {
    let taken = run(5, Taken::new(), "1").unwrap();
    for (table, bytes) in shard(5, "1").1 {
        let reader =
            ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap().build().unwrap();
        let read: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
        let given: Vec<&RecordBatch> = taken.iter().filter(|it| it.0 == table).map(|it| &it.1).collect();
        assert_eq!(read.iter().collect::<Vec<_>>(), given, "{}", table.name());
        assert_eq!(read[0].num_columns(), columns(table).len());
    }
}

#[test]
fn a_run_without_files_is_four_tables_without_rows() {
    let (name, written) = written(|shard| Rows::new(1, shard).finish());
    assert_eq!((written.len(), name.len()), (4, 32));
    for (table, bytes) in written {
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let metadata = reader.metadata().file_metadata();
        assert_eq!(
            (metadata.num_rows(), metadata.schema_descr().root_schema().get_fields().len()),
            (0, columns(table).len())
        );
    }
}

#[test]
fn no_batch_holds_more_than_its_bounds_and_no_row_is_lost() {
    let mut one = checked("llsc_loop/hit-cas.o", "many.o");
    let finding = one.report.findings[0].clone();
    one.report.findings = (0..3 * ROWS_OF_BATCH + 1).map(|_| finding.clone()).collect();
    // Few, but each of half a batch.
    let mut other = checked("llsc_loop/hit-cas.o", "long.o");
    other.report.findings = (0..5).map(|_| finding.clone()).collect();
    for finding in &mut other.report.findings {
        finding.message = "x".repeat(BYTES_OF_BATCH / 2).into();
    }
    let mut rows = Rows::new(1, Taken::new());
    rows.file(file(&one)).unwrap();
    rows.file(file(&other)).unwrap();
    let taken = rows.finish().unwrap();
    let findings: Vec<&RecordBatch> =
        taken.iter().filter(|it| it.0 == Table::Findings).map(|it| &it.1).collect();
    let total: usize = findings.iter().map(|rows| rows.num_rows()).sum();
    assert_eq!(total, 3 * ROWS_OF_BATCH + 6);
    for rows in findings {
        let messages = rows.column_by_name("message").unwrap().as_string::<i32>();
        assert!(rows.num_rows() <= ROWS_OF_BATCH && messages.value_data().len() <= 2 * BYTES_OF_BATCH);
    }
    let prints = texts(&taken, Table::Findings, "fingerprint");
    assert_eq!(
        prints.iter().collect::<std::collections::BTreeSet<_>>().len(),
        total,
        "equal findings have prints of their own"
    );
}

#[test]
fn a_long_run_is_written_in_row_groups() {
    let mut one = checked("llsc_loop/hit-cas.o", "many.o");
    let finding = one.report.findings[0].clone();
    one.report.findings = (0..150_000).map(|_| finding.clone()).collect();
    let (_, written) = written(|shard| {
        let mut rows = Rows::new(1, shard);
        rows.file(file(&one))?;
        rows.finish()
    });
    let (_, findings) = written.into_iter().find(|(table, _)| *table == Table::Findings).unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(findings)).unwrap();
    let groups: Vec<i64> = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!((groups.len() > 1, groups.iter().sum::<i64>()), (true, 150_000), "{groups:?}");
}

#[test]
fn hostile_names_are_kept_as_they_are() {
    let long = "n".repeat(10 << 20);
    let names = ["", "a\0b", "\u{fffd}\u{202e}", "'); DROP TABLE files; --", "\u{1f4a9}\n\r", long.as_str()];
    let mut rows = Rows::new(1, Taken::new());
    for name in names {
        let mut of = checked("llsc_loop/hit-cas.o", name);
        of.report.findings[0].function = Some(name.into());
        of.report.build.compilers = vec![name.to_owned(), String::new()];
        rows.artefact(&artefact(name)).unwrap();
        rows.file(file(&of)).unwrap();
    }
    let taken = rows.finish().unwrap();
    let expected: Vec<Option<String>> = names.iter().map(|name| Some((*name).to_owned())).collect();
    assert_eq!(texts(&taken, Table::Files, "path"), expected);
    assert_eq!(texts(&taken, Table::Artefacts, "path"), expected);
    let functions = texts(&taken, Table::Findings, "function");
    assert!(expected.iter().all(|name| functions.contains(name)));
}

#[test]
fn two_artefacts_of_one_path_and_two_members_of_one_name_are_told_from_each_other() {
    let of = checked("llsc_loop/hit-cas.o", "x\u{fffd}.a(y.o)");
    let mut rows = Rows::new(1, Taken::new());
    for _ in 0..2 {
        rows.artefact(&artefact("x\u{fffd}.a")).unwrap();
        rows.file(file(&of)).unwrap();
        rows.file(file(&of)).unwrap();
    }
    let taken = rows.finish().unwrap();
    for (table, column, count) in [(Table::Artefacts, "artefact", 2), (Table::Files, "file", 4)] {
        let ids: std::collections::BTreeSet<_> = texts(&taken, table, column).into_iter().collect();
        assert_eq!(ids.len(), count, "{column}");
    }
}

/// Fails once so many bytes were written.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or_else(|| io::Error::other("the disk is full"))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_writer_that_fails_anywhere_is_the_reason_that_is_given() {
    let whole = shard(5, "1").1;
    for (full, bytes) in &whole {
        for room in (0..bytes.len()).step_by(97) {
            let places =
                Table::ALL.map(|table| (table, Full(if table == *full { room } else { usize::MAX })));
            let done = Shard::new(places).and_then(|shard| run(5, shard, "1")).and_then(Shard::finish);
            let error = done.unwrap_err();
            assert!(matches!(error, Error::Write(_)), "{error:?}");
            assert_eq!(error.to_string(), "the disk is full", "{} after {room}", full.name());
        }
    }
}

/// The rows of a run as they are kept.
fn kept() -> Vec<u8> {
    run(0, Stored::new(Vec::new()), "1").unwrap().into_inner()
}

#[test]
fn rows_that_were_kept_are_those_of_the_next_run() {
    let mut again = Taken::new();
    replay(&kept(), 9, &mut again).unwrap();
    assert_eq!(again, run(9, Taken::new(), "1").unwrap());
}

#[test]
fn kept_rows_that_are_broken_are_an_error_and_no_panic() {
    let whole = kept();
    let frame = u32::from_le_bytes(whole[1..5].try_into().unwrap()) as usize;
    let taken = |bytes: &[u8]| {
        let mut taken = Taken::new();
        replay(bytes, 9, &mut taken).map(|()| taken)
    };
    for length in 1..frame + 5 {
        taken(&whole[..length]).unwrap_err();
    }
    // Within the stream, under compression that is as it should be.
    let stream = snap::raw::Decoder::new().decompress_vec(&whole[5..5 + frame]).unwrap();
    let mut differs = 0;
    for at in (0..stream.len()).step_by(13) {
        for flipped in [0x01, 0xff] {
            let mut other = stream.clone();
            other[at] ^= flipped;
            let packed = snap::raw::Encoder::new().compress_vec(&other).unwrap();
            let mut bytes = vec![whole[0]];
            bytes.extend(u32::try_from(packed.len()).unwrap().to_le_bytes());
            bytes.extend(packed);
            differs += usize::from(taken(&bytes).is_err());
        }
    }
    assert!(differs > 20, "{differs} changes are errors");
}
