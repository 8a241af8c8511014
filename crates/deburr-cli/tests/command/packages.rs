//! Packages as the command's input: the same findings as those of a folder, in the same order on any number
//! of threads, and what is said of packages that are damaged or too large.

use super::{Scratch, deburr, json, stderr, stdout};
use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The objects of the core's fixtures: names and bytes.
pub(super) fn objects() -> Vec<(String, Vec<u8>)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deburr-core/fixtures");
    let listed = |dir: &Path| {
        let mut paths: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let rules = listed(&fixtures);
    let files = rules.iter().filter(|path| path.is_dir()).flat_map(|rule| listed(rule));
    let objects = files.filter(|path| path.extension().is_some_and(|extension| extension == "o"));
    let named = objects.map(|path| {
        let name = path.strip_prefix(&fixtures).unwrap().display().to_string();
        (name, fs::read(path).unwrap())
    });
    named.collect()
}

pub(super) fn tar(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, bytes.as_slice()).unwrap();
    }
    builder.into_inner().unwrap()
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The reports of a document, without what comes before a path in all of them.
fn reports(document: &Value, before: &str) -> Vec<Value> {
    let mut files = document["files"].as_array().unwrap().clone();
    for file in &mut files {
        let path = file["path"].as_str().unwrap();
        file["path"] = path.strip_prefix(before).unwrap_or_else(|| panic!("{path}: no {before}")).into();
    }
    files
}

#[test]
fn package_has_the_findings_of_its_folder() {
    let scratch = Scratch::new("package-folder");
    let objects = objects();
    for (name, bytes) in &objects {
        scratch.file(&format!("tree/{name}"), bytes);
    }
    let package = scratch.file("p.tgz", &gzip(&tar(&objects)));
    let tree = format!("{}/tree", scratch.as_str());
    // Only in a package is much debug information a warning.
    let options = ["--no-debug-files", "--ignore", "debug-information-left-in"];
    let (folder, status) = json(&[&[&*tree][..], &options].concat());
    assert!(objects.len() > 50 && reports(&folder, "").len() == objects.len());
    let mut outputs = Vec::new();
    for threads in ["1", "2", "7"] {
        let (document, output) = json(&[&[&*package, "-j", threads][..], &options].concat());
        assert_eq!(output.status, status.status, "{}", stderr(&output));
        assert_eq!(reports(&document, &format!("{package}!")), reports(&folder, &format!("{tree}/")));
        outputs.push(output.stdout);
    }
    assert!(outputs.iter().all(|output| *output == outputs[0]), "threads change the output");
}

#[test]
fn packages_among_files_keep_their_order() {
    let scratch = Scratch::new("package-order");
    // More members than may wait for their turn.
    let copies =
        (0..3).flat_map(|copy| objects().into_iter().map(move |(name, it)| (format!("{copy}/{name}"), it)));
    let objects: Vec<_> = copies.collect();
    let nested = vec![
        ("inner.tar".to_owned(), tar(&objects[..20])),
        ("inner.tgz".to_owned(), gzip(&tar(&objects[..90]))),
    ];
    for number in 0..6 {
        scratch.file(&format!("tree/{number}.tar"), &tar(&objects[number..100 + number]));
        scratch.file(&format!("tree/{number}.tgz"), &gzip(&tar(&nested)));
        scratch.file(&format!("tree/{number}.o"), &objects[number].1);
    }
    let run = |threads| json(&[scratch.as_str(), "-j", threads]).1.stdout;
    let alone = run("1");
    let document: Value = serde_json::from_slice(&alone).unwrap();
    assert_eq!(document["files"].as_array().unwrap().len(), 6 * (100 + 110 + 1));
    assert!(run("3") == alone && run("9") == alone, "threads change the output");
}

#[test]
fn truncated_package_is_a_fault_and_the_batch_goes_on() {
    let scratch = Scratch::new("package-cut");
    let objects = objects();
    let whole = gzip(&tar(&objects));
    let cut = scratch.file("tree/cut.tgz", &whole[..whole.len() / 2]);
    scratch.file("tree/last.o", &objects[0].1);
    let (document, output) = json(&[scratch.as_str()]);
    assert_eq!(output.status.code(), Some(2));
    // The end may be in a member, which is named then, or between two.
    assert!(
        stderr(&output).contains(&format!("deburr: {cut}")) && stderr(&output).contains("gzip: cut off"),
        "{}",
        stderr(&output)
    );
    let files = document["files"].as_array().unwrap();
    assert!(files.len() > 10, "what came before the cut is kept");
    assert!(files.last().unwrap()["path"].as_str().unwrap().ends_with("last.o"));
}

#[test]
fn package_on_the_standard_input_is_read() {
    let objects = objects();
    let mut child = Command::new(crate::program())
        .args(["check", "--format", "json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&gzip(&tar(&objects[..3]))).unwrap();
    let output = child.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<_> = reports(&document, "-!").iter().map(|file| file["path"].clone()).collect();
    assert_eq!(names, objects[..3].iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>());
}

#[test]
fn limits_are_options() {
    let scratch = Scratch::new("package-limits");
    let package = scratch.file("p.tgz", &gzip(&tar(&objects()[..5])));
    for (option, value, told) in [
        ("--max-members", "3", "more than 3 members"),
        ("--max-member", "100", "at most 100 are read (--max-member)"),
        ("--max-unpacked", "2k", "unpacks to more than 2048 (--max-unpacked)"),
        ("--max-depth", "0", "no ELF file"),
    ] {
        let output = deburr(&["check", option, value, &package]);
        assert_eq!(output.status.code(), Some(2), "{option}");
        assert!(stderr(&output).contains(told), "{option}: {}", stderr(&output));
    }
    let output = deburr(&["check", "--max-member", "2x", &package]);
    assert!(stderr(&output).contains("such as 512M or 2G"), "{}", stderr(&output));
}

#[test]
fn few_files_of_a_package_have_lines_and_many_do_not() {
    let scratch = Scratch::new("package-few");
    // Some of the others have findings without a baseline.
    let is_clean = |name: &str| name.contains("above_baseline/miss-");
    let clean: Vec<_> = objects().into_iter().filter(|(name, _)| is_clean(name)).collect();
    let few = scratch.file("few.tar", &tar(&clean[..2]));
    let many = scratch.file("many.tar", &tar(&[&clean[..], &clean[..]].concat()));
    let lines = |package: &str| {
        let text = stdout(&deburr(&["check", package]));
        text.lines().filter(|line| line.starts_with(package)).count()
    };
    assert_eq!((lines(&few), lines(&many)), (2, 0));
}

#[test]
fn what_is_compressed_but_no_package_is_passed_over() {
    let scratch = Scratch::new("package-none");
    scratch.file("tree/manual.1.gz", &gzip(b".TH MANUAL 1\n"));
    scratch.file("tree/damaged.gz", b"\x1f\x8b\x08\0nothing");
    let empty = scratch.file("tree/empty.tar", &tar(&[("readme".to_owned(), b"hello".to_vec())]));
    let (document, output) = json(&[scratch.as_str()]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    assert_eq!(document["statistics"]["other_files"], 2);
    assert_eq!(document["skipped"].as_array().unwrap().len(), 1, "{}", document["skipped"]);
    // Like a folder: nothing to find is no fault. A file that is named and damaged is one.
    assert_eq!(deburr(&["check", &empty]).status.code(), Some(0));
    let damaged = deburr(&["check", &format!("{}/tree/damaged.gz", scratch.as_str())]);
    assert_eq!(damaged.status.code(), Some(2));
    assert!(stderr(&damaged).contains("gzip: "), "{}", stderr(&damaged));
    let manual = deburr(&["check", &format!("{}/tree/manual.1.gz", scratch.as_str())]);
    assert!(stderr(&manual).contains("no ELF file"), "{}", stderr(&manual));
}

#[test]
fn image_layout_is_one_input() {
    let scratch = Scratch::new("package-layout");
    let layer = tar(&objects()[..2]);
    scratch.file("image/oci-layout", b"{}");
    scratch.file("image/index.json", br#"{"manifests":[{"digest":"sha256:1a"}]}"#);
    scratch.file("image/blobs/sha256/1a", br#"{"layers":[{"digest":"sha256:2b"}]}"#);
    scratch.file("image/blobs/sha256/2b", &layer);
    scratch.file("image/blobs/sha256/3c", &layer);
    let image = format!("{}/image", scratch.as_str());
    let (document, output) = json(&[scratch.as_str()]);
    assert_eq!(stderr(&output), "");
    assert_eq!(reports(&document, &format!("{image}!layer 1/1!")).len(), 2);
}

#[test]
fn closure_says_that_it_leaves_packages_out() {
    let scratch = Scratch::new("package-closure");
    let package = scratch.file("p.tar", &tar(&objects()[..1]));
    let output = deburr(&["check", "--closure", &package]);
    assert!(stderr(&output).contains("--closure does not look into packages"), "{}", stderr(&output));
}
