//! `deburr check --format parquet=DIR` and `deburr query`: where shards are, when there is none, and who runs the SQL. What is in the
//! rows is compared with the JSON report by other programs in tests/tests/integrations/tables.rs.

use super::{Scratch, arm32, deburr, stderr, stdout};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

const LIBRARY: &[u8] = include_bytes!("../data/libcounters.so");
const TABLES: [&str; 4] = ["artefacts", "files", "findings", "functions"];

/// The shards in the folder of each table, by name; all of them are whole.
fn shards(tables: &Path) -> Vec<Vec<String>> {
    let names = |table: &str| {
        let folder = tables.join(table);
        let mut names: Vec<String> = fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        for name in &names {
            let bytes = fs::read(folder.join(name)).unwrap();
            assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{table}/{name}");
        }
        names
    };
    TABLES.map(names).into()
}

fn check(tables: &Path, more: &[&str]) -> Output {
    let format = format!("--format=parquet={}", tables.display());
    deburr(&[&["check", format.as_str()], more].concat())
}

#[test]
fn a_run_is_one_shard_however_often_it_is_written_and_others_stay() {
    let scratch = Scratch::new("tables");
    let library = scratch.file("lib.so", LIBRARY);
    let tables = scratch.join("deep/tables");
    let output = check(&tables, &[&library]);
    assert_eq!(
        (output.status.code(), stdout(&output), stderr(&output)),
        (Some(1), String::new(), String::new())
    );
    let first = shards(&tables);
    assert!(first.iter().all(|names| names.len() == 1 && *names == first[0]), "{first:?}");
    assert_eq!(first[0][0].len(), 32 + ".parquet".len());
    let before = fs::read(tables.join("files").join(&first[0][0])).unwrap();
    check(&tables, &["--threads", "1", &library]);
    assert_eq!(shards(&tables), first);
    assert_ne!(fs::read(tables.join("files").join(&first[0][0])).unwrap(), before, "with the later time");
    check(&tables, &["--select", "outlined-atomic", &library]);
    let both = shards(&tables);
    assert!(both.iter().all(|names| names.len() == 2 && names.contains(&first[0][0])), "{both:?}");
    // Tables in what is checked are no input, and other formats are what they are without.
    let text = stdout(&deburr(&["check", &library]));
    let together = check(&tables, &["--format", "text", &library]);
    assert_eq!(stdout(&together), text);
}

#[test]
fn nothing_to_check_is_a_shard_without_rows_and_a_broken_file_is_a_row() {
    let scratch = Scratch::new("tables-none");
    scratch.file("tree/readme", b"no program");
    let output = check(&scratch.join("none"), &[scratch.join("tree").to_str().unwrap()]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    assert_eq!(shards(&scratch.join("none"))[0].len(), 1);
    let broken = scratch.file("broken.so", b"\x7fELF\x02\x01\x01");
    let old = scratch.file("old.so", &arm32());
    let output = check(&scratch.join("broken"), &[&broken, &old, "/nonexistent"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let name = shards(&scratch.join("broken"))[1][0].clone();
    let bytes = fs::read(scratch.join("broken/files").join(name)).unwrap();
    let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has("broken.so") && has("/nonexistent") && has("no such file or directory") && has("32-bit Arm"));
}

#[test]
fn places_where_no_tables_can_be_are_refused_before_anything_is_read() {
    let scratch = Scratch::new("tables-refused");
    let library = scratch.file("lib.so", LIBRARY);
    let file = scratch.file("file", b"kept");
    for (format, complaint) in [
        ("parquet".to_owned(), "--format parquet: give it a directory, as in --format parquet=DIR"),
        (format!("parquet={file}"), "not a directory"),
        (format!("parquet={file}/below"), "not a directory"),
        ("parquet=/proc/tables".to_owned(), "/proc/tables/files: no such file or directory"),
        ("parquet=".to_owned(), "no such file or directory"),
    ] {
        let output = deburr(&["check", "--format", &format, &library]);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{format}");
        assert!(stderr(&output).contains(complaint), "{format}: {}", stderr(&output));
    }
    assert_eq!(fs::read(&file).unwrap(), b"kept");
    let tables = scratch.join("tables");
    let output =
        check(&tables, &["--format", &format!("parquet={}", scratch.join("other").display()), &library]);
    assert!(stderr(&output).contains("two directories for one run"), "{}", stderr(&output));
    assert!(shards(&tables).iter().all(Vec::is_empty), "nothing is left of a run that was refused");
}

#[test]
fn a_folder_that_may_not_be_written_is_named() {
    let scratch = Scratch::new("tables-closed");
    let library = scratch.file("lib.so", LIBRARY);
    let closed = scratch.join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // Root writes everywhere: then the run is somebody else's, with a copy of the command that all may run.
    let is_root = fs::metadata("/proc/self").map(|it| std::os::unix::fs::MetadataExt::uid(&it)).unwrap() == 0;
    let copy = scratch.join("deburr");
    fs::copy(crate::program(), &copy).unwrap();
    let mut command = if is_root {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copy);
        command
    } else {
        Command::new(copy)
    };
    let output = command
        .args(["check", &format!("--format=parquet={}", closed.display()), &library])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("closed/files: permission denied"), "{}", stderr(&output));
}

#[test]
fn a_full_disk_leaves_no_shard() {
    let scratch = Scratch::new("tables-full");
    for number in 0..40 {
        scratch.file(&format!("tree/{number}.so"), LIBRARY);
    }
    let tables = scratch.join("tables");
    fs::create_dir(&tables).unwrap();
    // A file system of its own, as small as it gets, that only this run sees.
    let script = format!(
        "mount -t tmpfs -o size=16k none '{tables}' && '{deburr}' check --format=parquet='{tables}' '{tree}'; \
         status=$?; find '{tables}' -type f; exit $status",
        tables = tables.display(),
        deburr = crate::program(),
        tree = scratch.join("tree").display(),
    );
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains(": no space left on device"), "{}", stderr(&output));
    assert_eq!(stdout(&output), "", "neither under its name nor under another");
}

/// A command with only this folder on its path.
fn query(path: &Path, arguments: &[&str]) -> Output {
    Command::new(crate::program()).arg("query").args(arguments).env("PATH", path).output().unwrap()
}

#[test]
fn a_query_is_run_by_duckdb_and_printed_where_there_is_none() {
    let scratch = Scratch::new("query");
    let library = scratch.file("lib.so", LIBRARY);
    let (tables, bin) = (scratch.join("it's [mine]"), scratch.join("bin"));
    check(&tables, &[&library]);
    fs::create_dir(&bin).unwrap();
    let folder = tables.to_str().unwrap();
    let printed = query(&bin, &["level-census", folder]);
    assert_eq!(printed.status.code(), Some(2));
    assert!(
        stderr(&printed).contains("no duckdb on PATH") && stderr(&printed).contains("pip install duckdb")
    );
    let sql = stdout(&printed);
    assert!(
        sql.starts_with("-- How many files need which level")
            && sql.contains("it''s [[]mine]/files/*.parquet'"),
        "{sql}"
    );
    let only = query(&bin, &["--sql", "level-census", folder]);
    assert_eq!((only.status.code(), stdout(&only), stderr(&only)), (Some(0), sql.clone(), String::new()));
    let program =
        scratch.file("bin/duckdb", b"#!/bin/sh\nprintf '%s' \"$1 $2\"\nexit $(/bin/cat \"$0.status\")\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    for (status, code, complaint) in
        [("0", 0, ""), ("3", 2, "deburr: level-census: duckdb: exit status: 3\n")]
    {
        scratch.file("bin/duckdb.status", status.as_bytes());
        let ran = query(&bin, &["level-census", folder]);
        assert_eq!((ran.status.code(), stderr(&ran).as_str()), (Some(code), complaint));
        assert_eq!(stdout(&ran), format!("-c {sql}"));
    }
}

#[test]
fn queries_are_listed_and_what_cannot_be_queried_is_said() {
    let scratch = Scratch::new("query-refused");
    let nowhere = scratch.join("bin");
    let listed = query(&nowhere, &[]);
    let text = stdout(&listed);
    assert!(
        listed.status.success() && text.lines().count() == 8 && text.contains("\nlevel-census  "),
        "{text}"
    );
    fs::create_dir_all(scratch.join("empty/artefacts")).unwrap();
    let empty = scratch.join("empty").display().to_string();
    for (arguments, complaint) in [
        (&["level-cencus", "."][..], "no query is called `level-cencus`; did you mean `level-census`?"),
        (&["level-census"], "level-census: which directory has the tables?"),
        (&["level-census", "/nonexistent"], "/nonexistent: no such file or directory"),
        (&["level-census", &empty], "no tables: deburr check --format parquet=DIR writes them"),
        (&["level-census", scratch.as_str()], "no tables: deburr check --format parquet=DIR writes them"),
    ] {
        let output = query(&nowhere, arguments);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{arguments:?}");
        assert!(stderr(&output).contains(complaint), "{arguments:?}: {}", stderr(&output));
    }
}
