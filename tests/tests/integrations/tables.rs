//! Tables of `deburr check --format parquet=DIR` as pyarrow and DuckDB read them: every row against the JSON report of the same run, and
//! every query of `deburr query` on a small corpus whose answers are known.

use super::fixture::{V1, V3, environment, ran, shown, wheel};
use deburr_test_support::Scratch;
use deburr_tests::command::deburr;
use deburr_tests::toolchain::{repository, require, run};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Readers of tables, in versions that are known to agree.
const READERS: &[&str] = &["duckdb==2.0.1", "duckdb-cli==1.5.6", "pyarrow==26.0.1"];

/// Checks, and writes tables and the JSON report.
fn check(scratch: &Scratch, tables: &str, paths: &[&str]) -> (PathBuf, PathBuf) {
    check_as(scratch, tables, "report.json", paths)
}

fn check_as(scratch: &Scratch, tables: &str, report: &str, paths: &[&str]) -> (PathBuf, PathBuf) {
    let (folder, report) = (scratch.join(tables), scratch.join(report));
    let mut command = Command::new(deburr());
    command.arg("check").arg(format!("--format=parquet={}", folder.display()));
    command.arg(format!("--format=json={}", report.display())).args(["--baseline", "claim"]);
    let output = ran(command.args(paths).current_dir(scratch.path()));
    assert!(matches!(output.status.code(), Some(0..=2)), "{}", shown(&output));
    (folder, report)
}

/// Compares every row with the report, by pyarrow.
fn verify(tools: &Path, scratch: &Scratch, (folder, report): &(PathBuf, PathBuf)) -> String {
    let mut python = Command::new(tools.join("python"));
    python.arg(repository().join("tests/tables/verify.py")).args([folder, report]);
    let output = ran(python.arg(repository().join("docs/reference/tables.md")).current_dir(scratch.path()));
    assert!(output.status.success(), "{}", shown(&output));
    shown(&output)
}

/// What a query answers, by DuckDB: run in the directory as the file is, and as `deburr query` prints it.
fn query(tools: &Path, name: &str, folder: &Path) -> Value {
    let duckdb = || {
        let mut duckdb = Command::new(tools.join("duckdb"));
        duckdb.args(["-init", "/dev/null", "-json", "-c"]);
        duckdb
    };
    let printed = run(Command::new(deburr()).args(["query", "--sql", name]).arg(folder));
    let answer = run(duckdb().arg(&printed));
    let file = repository().join(format!("crates/deburr-tables/queries/{name}.sql"));
    let sql = fs::read_to_string(file).unwrap();
    assert_eq!(run(duckdb().arg(sql).current_dir(folder)), answer, "{name}");
    // A query without rows prints none at all.
    if answer.trim().is_empty() { json!([]) } else { serde_json::from_str(&answer).unwrap() }
}

/// A Debian package for arm64 of some objects of the rules' fixtures.
fn deb(scratch: &Scratch, version: &str, objects: &[(&str, &str)]) -> String {
    require("dpkg-deb");
    let content = format!("store-{version}");
    let control = format!(
        "Package: store\nVersion: {version}\nArchitecture: arm64\nMaintainer: nobody <nobody@localhost>\nDescription: a store\n"
    );
    scratch.file(&format!("{content}/DEBIAN/control"), control.as_bytes());
    for (name, fixture) in objects {
        let object = fs::read(repository().join("crates/deburr-core/fixtures").join(fixture)).unwrap();
        scratch.file(&format!("{content}/usr/lib/{name}"), &object);
    }
    let file = format!("store_{version}_arm64.deb");
    let mut build = Command::new("dpkg-deb");
    build.args(["--build", "--root-owner-group", &content, &file]).env("SOURCE_DATE_EPOCH", "1700000000");
    run(build.current_dir(scratch.path()));
    file
}

#[test]
#[ignore = "fetches packages of PyPI; `cargo xtask nightly` runs it"]
fn every_row_is_what_the_json_report_says() {
    let tools = environment("tables", READERS);
    let scratch = Scratch::new("tables-rows");
    let fixtures = repository().join("crates/deburr-core/fixtures").display().to_string();
    scratch.file("broken.so", b"\x7fELF\x02\x01\x01");
    let package =
        deb(&scratch, "1.0", &[("a.o", "llsc_loop/hit-cas.o"), ("b.o", "outlined_atomic/hit-stripped.o")]);
    let said = verify(
        &tools,
        &scratch,
        &check(&scratch, "fixtures", &[&fixtures, "broken.so", "/nonexistent", &package]),
    );
    assert!(said.contains("\nskipped 2\n"), "{said}");
    // Programs of this machine, and the file that the analysis has most to say of.
    let programs =
        ["/bin/sh", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"];
    let programs: Vec<&str> = programs.into_iter().filter(|path| Path::new(path).exists()).collect();
    let said = verify(&tools, &scratch, &check(&scratch, "programs", &programs));
    assert!(said.contains(&format!("files {}\n", programs.len())), "{said}");
    // Equal runs at the same moment are one shard, of one of them.
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (scratch, package) = (&scratch, package.as_str());
            scope.spawn(move || check_as(scratch, "equal", &format!("report-{number}.json"), &[package]));
        }
    });
    let equal = (scratch.join("equal"), scratch.join("report-0.json"));
    let said = verify(&tools, &scratch, &equal);
    assert!(said.starts_with("files 2\n"), "{said}");
    // A run without a file.
    fs::create_dir(scratch.join("empty")).unwrap();
    let said = verify(&tools, &scratch, &check(&scratch, "none", &["empty"]));
    assert!(said.starts_with("files 0\n"), "{said}");
}

/// The only row of who gains without the share of the code, which is some of it and not all.
fn without_code_share(mut rows: Value) -> Value {
    let share = rows[0].as_object_mut().and_then(|row| row.remove("code_share"));
    assert!(
        share.and_then(|share| share.as_f64()).is_some_and(|share| share > 0.1 && share <= 1.0),
        "{rows}"
    );
    rows
}

#[test]
#[ignore = "fetches packages of PyPI; `cargo xtask nightly` runs it"]
fn every_query_answers_what_is_known_of_a_small_corpus() {
    let tools = environment("tables", READERS);
    let scratch = Scratch::new("tables-queries");
    let ask = |name: &str| query(&tools, name, &scratch.join("it's [one]"));
    let tag = "manylinux_2_28_x86_64";
    let [low, high] = [("low", V1), ("high", V3)]
        .map(|(folder, level)| wheel(&scratch, folder, tag, level).display().to_string());
    let old = deb(&scratch, "1.0", &[("a.o", "outlined_atomic/hit-stripped.o")]);
    scratch.file("broken.so", b"\x7fELF\x02\x01\x01");
    check(&scratch, "it's [one]", &[&low, &high, &old, "broken.so"]);

    assert_eq!(ask("new-since-last-run"), json!([]), "there was no run before");
    let census = ask("level-census");
    let of = |arch: &str, level: &str| {
        let rows = census.as_array().unwrap().iter();
        rows.filter(|row| row["arch"] == arch && row["level"] == level)
            .map(|row| row["files"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (of("x86_64", "x86-64-v1"), of("x86_64", "x86-64-v3")),
        (vec![json!(1)], vec![json!(1)]),
        "{census}"
    );
    assert_eq!(of("aarch64", "armv8.0-a"), [json!(1)], "{census}");
    let broken = ask("not-checked");
    assert_eq!(
        (broken[0]["path"].clone(), broken.as_array().map(Vec::len)),
        (json!("broken.so"), Some(1)),
        "{broken}"
    );
    assert!(
        broken[0]["error"].as_str().unwrap().contains("expected the type and machine of an ELF file"),
        "{broken}"
    );
    // Its sum is one number after the other: encoded for AVX, and no wider than before.
    let gains = ask("who-gains");
    let gain = |share: Value| {
        json!([{
            "package": "scale", "low_version": "1.0", "high_version": "1.0", "low_level": "x86-64-v1", "high_level": "x86-64-v3",
            "wide_functions": 0, "bit_functions": 0, "avx_functions": 1, "run_share": share, "examples": ["scale"],
        }])
    };
    assert_eq!(without_code_share(gains), gain(Value::Null));
    // One sample of four is in it. It is on the first level in one of the builds, which has a row for it all the same.
    let samples =
        ["scale+0x1 (/site/scale.so)", "main+0x2 (/bin/a)", "main+0x3 (/bin/a)", "main+0x4 (/bin/a)"];
    let samples = samples.map(|frame| format!("a 1 1.0: 1 cycles:u: \n\t    7f0000 {frame}\n\n")).concat();
    let profile = format!("--profile={}", scratch.file("samples.txt", samples.as_bytes()));
    check(&scratch, "weighed", &[&profile, &low, &high]);
    let weighed = query(&tools, "who-gains", &scratch.join("weighed"));
    assert_eq!(without_code_share(weighed), gain(json!(0.25)));
    check(&scratch, "target", &["--target=armv8.1-a", &old, &low]);
    let at_target = query(&tools, "who-gains-at-target", &scratch.join("target"));
    assert_eq!(
        at_target,
        json!([{
            "package": "store", "version": "1.0", "architecture": "arm64", "atomics_functions": 1, "chosen_functions": 0,
            "by_hand_functions": 0, "narrow_functions": 0, "run_share": null, "examples": ["_start"],
        }])
    );
    assert_eq!(ask("who-gains-at-target"), json!([]), "without a target they are notes");
    let atomics = ask("atomics");
    assert_eq!(
        (atomics[0]["package"].clone(), atomics[0]["built"].clone()),
        (json!("store"), json!(2023)),
        "{atomics}"
    );
    assert_eq!(atomics[0]["class"], "outlined", "{atomics}");
    let worst = ask("worst-packages");
    let named: Vec<&str> =
        worst.as_array().unwrap().iter().map(|row| row["package"].as_str().unwrap()).collect();
    assert_eq!(named.first(), Some(&"scale"), "only its claim is broken, which is an error: {worst}");
    assert_eq!(
        (worst[0]["errors"].clone(), worst[0]["architecture"].clone()),
        (json!(1), json!(tag)),
        "{worst}"
    );
    let compilers = ask("compilers");
    let clang =
        compilers.as_array().unwrap().iter().find(|row| row["compiler"].as_str().unwrap().contains("clang"));
    assert_eq!(
        clang.map(|row| (row["files"].clone(), row["packages"].clone())),
        Some((json!(2), json!(1))),
        "{compilers}"
    );
    assert!(!compilers.to_string().contains("Linker:"), "a linker is no compiler: {compilers}");

    // The next version has a loop more.
    let new =
        deb(&scratch, "2.0", &[("a.o", "outlined_atomic/hit-stripped.o"), ("b.o", "llsc_loop/hit-cas.o")]);
    let (_, report) = check(&scratch, "it's [one]", &[&new]);
    let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    let files = report["files"].as_array().unwrap();
    let more = files.iter().find(|file| file["path"].as_str().unwrap().ends_with("!usr/lib/b.o")).unwrap();
    let found = ask("new-since-last-run");
    let found = found.as_array().unwrap();
    let places = more["findings"].as_array().unwrap().iter().map(|it| it["count"].as_u64().unwrap());
    assert_eq!(found.len() as u64, places.sum::<u64>(), "{found:?}");
    assert!(
        !found.is_empty()
            && found.iter().all(|row| row["path"] == more["path"] && row["subject"] == "store arm64"),
        "{found:?}"
    );
    // Twice the same is one run: nothing is new.
    check(&scratch, "it's [one]", &[&new]);
    assert_eq!(ask("new-since-last-run").as_array().map(Vec::len), Some(found.len()));
}
