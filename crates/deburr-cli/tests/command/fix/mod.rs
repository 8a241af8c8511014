//! `deburr fix` on a linked library: sessions, every way to write, what is refused, and the documents.

mod attested;
mod packages;
mod pause;

use super::fixtures::{archive, folder};
use super::{Scratch, assert_as_recorded, deburr, stderr, stdout};
use deburr_test_support::schema_faults;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const LIBRARY: &[u8] = include_bytes!("../../data/libcounters.so");
const X86: &str = "above_baseline/hit-avx512-above-v3.o";
const OBJECT: &str = "llsc_loop/hit-cas.o";

/// A folder with the library in it.
fn scratch(name: &str) -> Scratch {
    let scratch = Scratch::new(&format!("fix-{name}"));
    let path = scratch.file("libcounters.so", LIBRARY);
    fs::set_permissions(path, PermissionsExt::from_mode(0o754)).unwrap();
    scratch
}

/// Runs in that folder, so that paths are the same everywhere.
fn fix(scratch: &Scratch, arguments: &[&str]) -> Output {
    let mut command = Command::new(crate::program());
    command.current_dir(scratch.path()).arg("fix").args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// The same, where it must succeed.
fn fixed(scratch: &Scratch, arguments: &[&str]) -> String {
    let output = fix(scratch, arguments);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{arguments:?}");
    stdout(&output)
}

/// The same, where it must fail with a message, and without a change in the folder.
fn refused(scratch: &Scratch, arguments: &[&str], message: &str) {
    let before = files(scratch.path());
    let output = fix(scratch, arguments);
    let complaint = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
    assert!(complaint.contains(message), "{arguments:?}: {complaint}");
    assert!(files(scratch.path()) == before, "{arguments:?} wrote something");
}

/// Compares what is printed with what is recorded, session after session in the same folder.
fn assert_sessions_as_recorded(scratch: &Scratch, sessions: &[(&str, &[&str])]) {
    for (name, arguments) in sessions {
        let output = fix(scratch, arguments);
        let (status, line) = (output.status.code().unwrap(), arguments.join(" "));
        let session =
            format!("$ deburr fix {line}\n{}{}[exit status {status}]\n", stdout(&output), stderr(&output));
        assert_as_recorded(&format!("{name}.session"), &session);
    }
}

/// The names of all files of a folder, with what they hold.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files(&path));
        } else if path.is_file() {
            found.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

/// What a run says in JSON, checked against the schema.
fn document(scratch: &Scratch, arguments: &[&str]) -> Value {
    let output = fix(scratch, &[&["--format", "json"], arguments].concat());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema: Value = serde_json::from_slice(&deburr(&["schema", "fix"]).stdout).unwrap();
    let faults = schema_faults(&schema, &document);
    assert!(faults.is_empty(), "{arguments:?}: {faults:?}");
    let mut wrong = document.clone();
    wrong["action"] = "guess".into();
    assert!(!schema_faults(&schema, &wrong).is_empty());
    document
}

/// The rule and the address of each site.
fn sites(document: &Value) -> Vec<(String, String)> {
    let text = |site: &Value, key: &str| site[key].as_str().unwrap().to_owned();
    let sites = document["files"][0]["sites"].as_array().unwrap();
    sites.iter().map(|site| (text(site, "rule"), text(site, "svma"))).collect()
}

#[test]
fn sessions_of_fix_are_as_recorded() {
    let scratch = scratch("sessions");
    scratch.file("tree/lib/libcounters.so", LIBRARY);
    scratch.file("tree/lib/object.o", &fs::read(folder().join(OBJECT)).unwrap());
    scratch.file("tree/start.sh", b"#!/bin/sh\n");
    let sessions: [(&str, &[&str]); 11] = [
        ("fix-plan", &["libcounters.so"]),
        ("fix-few", &["--limit", "1", "--target", "neoverse-n1", "libcounters.so"]),
        ("fix-old-target", &["--target", "cortex-a72", "libcounters.so"]),
        ("fix-tree-plan", &["--limit", "1", "--only", "yield-in-spin-loop", "tree"]),
        ("fix-write", &["--target", "armv8.1-a", "-o", "new.so", "libcounters.so"]),
        ("fix-tree", &["--target", "armv8.1-a", "-o", "new", "tree"]),
        ("fix-verify", &["--verify", "libcounters.so", "new.so"]),
        ("fix-not-verified", &["--verify", "new.so", "libcounters.so"]),
        ("fix-revert", &["--revert", "new.so", "-o", "old.so"]),
        ("fix-dispatch", &["--dispatch", "dist", "libcounters.so"]),
        ("fix-in-place", &["--in-place", "--skip-spin-cas", "--only", "llsc-loop", "libcounters.so"]),
    ];
    assert_sessions_as_recorded(&scratch, &sessions);
}

#[test]
fn new_file_is_verified_and_gives_its_original_back() {
    let scratch = scratch("round");
    fixed(&scratch, &["--target", "armv8.1-a", "-o", "new.so", "libcounters.so"]);
    let new = scratch.join("new.so");
    assert_eq!(fs::metadata(&new).unwrap().mode() & 0o7777, 0o754);
    assert!(fs::read(&new).unwrap() != LIBRARY);
    fixed(&scratch, &["--verify", "libcounters.so", "new.so"]);
    fixed(&scratch, &["--revert", "-o", "old.so", "new.so"]);
    assert!(fs::read(scratch.join("old.so")).unwrap() == LIBRARY);
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 3);
    // Over a file that exists, through a link, as compilers and linkers do.
    symlink("old.so", scratch.join("link.so")).unwrap();
    fixed(&scratch, &["-o", "link.so", "libcounters.so"]);
    assert!(scratch.join("link.so").is_symlink());
    assert!(fs::read(scratch.join("old.so")).unwrap() != LIBRARY);
}

#[test]
fn any_changed_byte_fails_the_verification() {
    let scratch = scratch("byte");
    fixed(&scratch, &["-o", "new.so", "libcounters.so"]);
    let new = fs::read(scratch.join("new.so")).unwrap();
    // The file header, code, a rewritten word, the note.
    for at in [7, 0x440, 0x464, LIBRARY.len() + 40, new.len() - 1] {
        let mut changed = new.clone();
        changed[at] ^= 1;
        scratch.file("changed.so", &changed);
        let output = fix(&scratch, &["--verify", "libcounters.so", "changed.so"]);
        assert_eq!(output.status.code(), Some(1), "{at:#x}: {}", stderr(&output));
        assert!(stdout(&output).contains("not verified"), "{}", stdout(&output));
        let document = document(&scratch, &["--verify", "libcounters.so", "changed.so"]);
        assert_eq!(document["files"][0]["verified"], false);
    }
    scratch.file("text", b"no program");
    for files in [["nowhere.so", "new.so"], ["libcounters.so", "nowhere.so"]] {
        let output = fix(&scratch, &["--verify", files[0], files[1]]);
        assert_eq!(output.status.code(), Some(2), "{files:?}");
        assert!(stderr(&output).contains("nowhere.so: no such file"), "{}", stderr(&output));
    }
    assert_eq!(fix(&scratch, &["--verify", "libcounters.so", "text"]).status.code(), Some(1));
}

#[test]
fn identical_files_are_verified_with_nothing_to_prove() {
    let scratch = scratch("identical");
    fixed(&scratch, &["-o", "new.so", "libcounters.so"]);
    scratch.file("text", b"no program");
    fs::copy(scratch.join("libcounters.so"), scratch.join("copy.so")).unwrap();
    for pair in [["libcounters.so", "copy.so"], ["new.so", "new.so"], ["text", "text"]] {
        let output = fix(&scratch, &[&["--verify"], &pair[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{pair:?}");
        assert!(stdout(&output).contains(", nothing to prove"), "{}", stdout(&output));
    }
    let told = document(&scratch, &["--verify", "new.so", "new.so"]);
    let verdict = &told["files"][0];
    assert_eq!((&verdict["verified"], &verdict["changes"]), (&true.into(), &serde_json::json!({})));
}

#[test]
fn the_two_files_of_a_verification_may_be_anywhere_among_the_options() {
    let scratch = scratch("spellings");
    fixed(&scratch, &["-o", "new.so", "libcounters.so"]);
    let (a, b) = ("libcounters.so", "new.so");
    for spelling in [
        &["--verify", "--verbose", a, b][..],
        &["--verify", a, b, "--verbose"],
        &["--verbose", "--verify", a, b],
        &["--verify", "-v", "--target", "armv8.1-a", a, b],
        &[a, "--verbose", b, "--verify"],
    ] {
        let told = fixed(&scratch, spelling);
        assert!(told.contains("new.so: verified: 5 changes of libcounters.so"), "{spelling:?}: {told}");
        assert!(told.contains("What the proofs assume:"), "{spelling:?}: {told}");
    }
    assert_eq!(fix(&scratch, &["--verify", b, "--verbose", a]).status.code(), Some(1));
}

#[test]
fn file_is_replaced_with_a_backup_and_comes_back_without_one() {
    let scratch = scratch("in-place");
    let [path, backup] = ["libcounters.so", "libcounters.so.orig"].map(|name| scratch.join(name));
    fixed(&scratch, &["--in-place", "libcounters.so"]);
    assert!(fs::read(&backup).unwrap() == LIBRARY && fs::read(&path).unwrap() != LIBRARY);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o754);
    fixed(&scratch, &["--verify", "libcounters.so.orig", "libcounters.so"]);
    fixed(&scratch, &["--revert", "--in-place", "libcounters.so"]);
    assert!(fs::read(&path).unwrap() == LIBRARY);
    refused(&scratch, &["--in-place", "libcounters.so"], "the backup");
    symlink("libcounters.so", scratch.join("link.so")).unwrap();
    fixed(&scratch, &["--in-place", "--backup", "~", "link.so"]);
    assert!(scratch.join("link.so").is_symlink());
    assert!(fs::read(scratch.join("libcounters.so~")).unwrap() == LIBRARY);
    fixed(&scratch, &["--revert", "--in-place", "--backup", ".lse", "libcounters.so"]);
    assert!(fs::read(&path).unwrap() == LIBRARY);
    assert!(fs::read(scratch.join("libcounters.so.lse")).unwrap() != LIBRARY);
}

#[test]
fn where_there_is_nothing_to_do_files_stay_as_they_are() {
    let scratch = scratch("nothing");
    let nothing = ["--only", "split-frame-reload"];
    assert!(fixed(&scratch, &[&nothing[..], &["libcounters.so"]].concat()).contains("nothing to rewrite"));
    let told = fixed(&scratch, &[&nothing[..], &["-o", "new.so", "libcounters.so"]].concat());
    assert!(told.contains("copied as it is to new.so"), "{told}");
    assert!(fs::read(scratch.join("new.so")).unwrap() == LIBRARY);
    let inode = || fs::metadata(scratch.join("libcounters.so")).unwrap().ino();
    let before = inode();
    let told = fixed(&scratch, &[&nothing[..], &["--in-place", "libcounters.so"]].concat());
    assert!(told.contains("left as it is"), "{told}");
    assert!(inode() == before && !scratch.join("libcounters.so.orig").exists());
}

#[test]
fn what_cannot_be_done_is_reported_and_nothing_is_written() {
    let scratch = scratch("refused");
    scratch.file("x86.o", &fs::read(folder().join(X86)).unwrap());
    let object = fs::read(folder().join(OBJECT)).unwrap();
    scratch.file("object.o", &object);
    scratch.file("lib.a", &archive(&[("a.o", &object)]));
    scratch.file("app.whl", b"PK\x03\x04 and so on");
    scratch.file("text", b"no program");
    scratch.file("empty", b"");
    scratch.file("short.so", &LIBRARY[..1000]);
    scratch.file("full/file", b"");
    fixed(&scratch, &["-o", "new.so", "libcounters.so"]);
    symlink("libcounters.so", scratch.join("link.so")).unwrap();
    fs::hard_link(scratch.join("libcounters.so"), scratch.join("second.so")).unwrap();
    assert!(Command::new("mkfifo").arg(scratch.join("pipe")).status().unwrap().success());
    for (arguments, message) in [
        (&["nowhere.so"][..], "nowhere.so: no such file"),
        (&["-"], "standard input"),
        (&["x86.o"], "only AArch64 code is rewritten"),
        (&["object.o"], "a relocatable object"),
        (&["lib.a"], "a static archive"),
        (&["app.whl"], "app.whl: zip: "),
        (&["text"], "no ELF file"),
        (&["empty"], "an empty file"),
        (&["pipe"], "no regular file"),
        (&["short.so"], "malformed"),
        (&["new.so"], "deburr has patched it already"),
        (&["-o", "out.so", "new.so"], "deburr has patched it already"),
        (&["-o", "out.so", "x86.o"], "only AArch64"),
        (&["-o", "libcounters.so", "libcounters.so"], "the same file"),
        (&["-o", "link.so", "libcounters.so"], "the same file"),
        (&["-o", "second.so", "libcounters.so"], "the same file"),
        (&["-o", "full", "libcounters.so"], "full: a directory"),
        (&["-o", "-", "full"], "full: a directory, which needs one to go to"),
        (&["-o", "no/where.so", "libcounters.so"], "no such file"),
        (&["-o", "out.so", "libcounters.so", "second.so"], "give one file"),
        (&["-o", "full", "full"], "full: is in"),
        (&["-o", "full/new", "."], "full/new: is in"),
        (&["--dispatch", "full", "libcounters.so"], "exists and is not empty"),
        (&["--dispatch", "out", "full"], "give its files"),
        (&["--only", "llsc_lop", "libcounters.so"], "a similar value exists: 'llsc-loop'"),
        (&["--only", "above-baseline", "libcounters.so"], "invalid value 'above-baseline'"),
        (&["--site", "464", "libcounters.so"], "expected an address such as 0x13b77c"),
        (&["--site", "0x460", "-o", "out.so", "libcounters.so"], "--site 0x460: no selected rule"),
        (&["--function", "count", "libcounters.so"], "--function count: no selected rule"),
        (&["--target", "neoverse-n7", "libcounters.so"], "did you mean 'neoverse-n1'"),
        (&["--backup", ".old", "libcounters.so"], "--in-place"),
        (&["--in-place", "--backup", "a/b", "libcounters.so"], "a suffix is no path"),
        (&["--in-place", "-o", "out.so", "libcounters.so"], "cannot be used with"),
        (&["--revert", "new.so"], "--output"),
        (&["--revert", "-o", "out.so", "libcounters.so"], "not a file that deburr patched"),
        (&["--revert", "--in-place", "libcounters.so"], "not a file that deburr patched"),
        (&["--revert", "--in-place", "full"], "full"),
        (&["--verify", "libcounters.so"], "--verify: give two files"),
        (&["--verify", "libcounters.so", "new.so", "second.so"], "--verify: give two files"),
        (&["--verify"], "<FILE>"),
        (&["--verify", "--in-place", "libcounters.so", "new.so"], "cannot be used with"),
    ] {
        refused(&scratch, arguments, message);
    }
    // The rest is done.
    let output = fix(&scratch, &["nowhere.so", "libcounters.so"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stdout(&output).contains("counter_add"), "{}", stdout(&output));
}

#[test]
fn sites_are_chosen_by_rule_function_and_address() {
    let scratch = scratch("choice");
    let chosen = |arguments: &[&str]| sites(&document(&scratch, &[arguments, &["libcounters.so"]].concat()));
    let all = chosen(&[]);
    assert_eq!(all.len(), 5);
    let loops = chosen(&["--only", "llsc-loop"]);
    assert_eq!(loops.len(), 4);
    assert_eq!(chosen(&["--only", "llsc-loop", "--only", "yield-in-spin-loop"]), all);
    assert_eq!(chosen(&["--function", "counter_*"]).len(), 3);
    assert_eq!(chosen(&["--function", "lock", "--function", "wait_for"]).len(), 2);
    // Any word of a site will do.
    assert_eq!(chosen(&["--site", "0x464"]), chosen(&["--site", "0x46c"]));
    assert_eq!(chosen(&["--site", "0x464", "--function", "counter_add"]).len(), 1);
    assert_eq!(chosen(&["--site", "0x464", "--function", "lock"]).len(), 0);
    assert_eq!(chosen(&["--skip-spin-cas"]).len(), 4);
    assert_eq!(chosen(&["--target", "armv8.1-a"]).len(), 7);
    // Machines without LSE cannot run what loops become.
    assert_eq!(chosen(&["--target", "cortex-a72"]), [all.last().unwrap().clone()]);
    scratch.file("deburr.toml", b"target = \"armv8.1-a\"\n");
    assert_eq!(chosen(&[]).len(), 7);
}

#[test]
fn documents_of_fix_follow_their_schema() {
    let scratch = scratch("json");
    let plan = document(&scratch, &["libcounters.so"]);
    assert_eq!(plan["files"][0]["needs"], serde_json::json!(["FEAT_LSE"]));
    assert_eq!(plan["files"][0]["sites"][0]["old"][0]["text"], "ldaxr x0, [x2]");
    assert_eq!(plan["files"][0]["sites"][0]["old"][0]["word"], "c85ffc40");
    assert_eq!(plan["files"][0]["written"], Value::Null);
    let yields = document(&scratch, &["--only", "yield-in-spin-loop", "libcounters.so"]);
    assert_eq!(yields["files"][0]["needs"], serde_json::json!([]));
    let written = document(&scratch, &["-o", "new.so", "libcounters.so"]);
    assert_eq!(written["files"][0]["written"]["path"], "new.so");
    assert_eq!(
        document(&scratch, &["--verify", "libcounters.so", "new.so"])["files"][0]["changes"]["llsc-loop"],
        4
    );
    document(&scratch, &["--revert", "-o", "old.so", "new.so"]);
    let tree = document(&scratch, &["."]);
    assert_eq!((&tree["statistics"]["files"], &tree["left"][0]["is_fault"]), (&2.into(), &false.into()));
    document(&scratch, &["nowhere.so"]);
}

#[test]
fn pair_for_a_launcher_comes_with_what_each_needs() {
    let scratch = scratch("dispatch");
    scratch.file("still.so", &fs::read(folder().join("../tests/image/calls-aarch64.so")).unwrap());
    let told = document(&scratch, &["--dispatch", "dist", "libcounters.so", "still.so"]);
    let text = fs::read(scratch.join("dist/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(manifest, told["manifest"]);
    let of = |file: usize, key: &str| -> Vec<Value> {
        let variants = manifest["files"][file]["variants"].as_array().unwrap();
        variants.iter().map(|variant| variant[key].clone()).collect()
    };
    assert_eq!(of(0, "path"), ["rewritten/libcounters.so", "original/libcounters.so"]);
    assert_eq!(of(0, "needs"), [serde_json::json!(["FEAT_LSE"]), serde_json::json!([])]);
    assert_eq!(of(1, "path"), ["original/still.so"]);
    assert!(fs::read(scratch.join("dist/original/libcounters.so")).unwrap() == LIBRARY);
    assert_eq!(fs::metadata(scratch.join("dist/rewritten/libcounters.so")).unwrap().mode() & 0o777, 0o754);
    fixed(&scratch, &["--verify", "libcounters.so", "dist/rewritten/libcounters.so"]);
}

#[test]
fn tree_is_mirrored_with_links_modes_and_all_other_files() {
    let scratch = scratch("tree");
    scratch.file("tree/lib/libcounters.so.1", LIBRARY);
    scratch.file("tree/bin/run", b"#!/bin/sh\n");
    scratch.file("tree/lib/x86.so", &fs::read(folder().join(X86)).unwrap());
    let tree = scratch.join("tree");
    fs::set_permissions(tree.join("bin/run"), PermissionsExt::from_mode(0o711)).unwrap();
    fs::set_permissions(tree.join("bin"), PermissionsExt::from_mode(0o555)).unwrap();
    symlink("libcounters.so.1", tree.join("lib/libcounters.so")).unwrap();
    symlink("/nowhere", tree.join("lib/dangling")).unwrap();
    fs::hard_link(tree.join("lib/libcounters.so.1"), tree.join("lib/second.so")).unwrap();
    let told = fixed(&scratch, &["-o", "new", "tree"]);
    assert!(told.contains("1 AArch64 file: 5 of 8 sites rewritten, in 1 file"), "{told}");
    assert!(told.contains("only AArch64 code is rewritten"), "{told}");
    let new = scratch.join("new");
    assert!(fs::read(new.join("lib/libcounters.so.1")).unwrap() != LIBRARY);
    fixed(&scratch, &["--verify", "tree/lib/second.so", "new/lib/second.so"]);
    let inode = |name: &str| fs::metadata(new.join(name)).unwrap().ino();
    assert_eq!(inode("lib/second.so"), inode("lib/libcounters.so.1"));
    assert_eq!(fs::read_link(new.join("lib/libcounters.so")).unwrap(), Path::new("libcounters.so.1"));
    assert_eq!(fs::read_link(new.join("lib/dangling")).unwrap(), Path::new("/nowhere"));
    assert!(fs::read(new.join("lib/x86.so")).unwrap() == fs::read(tree.join("lib/x86.so")).unwrap());
    for (name, mode) in [("bin/run", 0o711), ("bin", 0o555)] {
        assert_eq!(fs::metadata(new.join(name)).unwrap().mode() & 0o777, mode, "{name}");
    }
    for root in [tree, new] {
        fs::set_permissions(root.join("bin"), PermissionsExt::from_mode(0o755)).unwrap();
    }
    refused(&scratch, &["-o", "new", "tree"], "new: exists and is not empty");
}

#[test]
fn tree_is_rewritten_in_place_without_following_links() {
    let scratch = scratch("tree-in-place");
    scratch.file("tree/libcounters.so", LIBRARY);
    symlink("../libcounters.so", scratch.join("tree/outside.so")).unwrap();
    symlink("..", scratch.join("tree/up")).unwrap();
    fixed(&scratch, &["--in-place", "tree"]);
    assert!(fs::read(scratch.join("libcounters.so")).unwrap() == LIBRARY);
    assert!(fs::read(scratch.join("tree/libcounters.so")).unwrap() != LIBRARY);
    assert!(fs::read(scratch.join("tree/libcounters.so.orig")).unwrap() == LIBRARY);
    // Once more, everything is as it should be, the backup among it.
    let before = files(scratch.path());
    let told = fixed(&scratch, &["--in-place", "tree"]);
    assert!(told.contains("deburr has patched it already"), "{told}");
    assert!(told.contains("the backup of a file next to it"), "{told}");
    assert!(before == files(scratch.path()));
    scratch.file("tree/libcounters.so", LIBRARY);
    refused(&scratch, &["--in-place", "tree"], "the backup");
}

#[test]
fn what_a_new_file_breaks_is_named() {
    let scratch = scratch("breaks");
    let signed = [LIBRARY, b"~Module signature appended~\n"].concat();
    scratch.file("signed.so", &signed);
    let plan = fixed(&scratch, &["signed.so"]);
    assert!(
        plan.contains("cannot be written: its bytes are attested by a kernel module's signature at its end"),
        "{plan}"
    );
    refused(&scratch, &["-o", "new.so", "signed.so"], "--despite-signature");
    let told = document(&scratch, &["--despite-signature", "--new-build-id", "-o", "new.so", "signed.so"]);
    let breaks: Vec<_> =
        told["files"][0]["breaks"].as_array().unwrap().iter().map(|it| &it["what"]).collect();
    assert_eq!(breaks, ["trailer", "build-id", "attested"]);
    fixed(&scratch, &["--verify", "signed.so", "new.so"]);
    fixed(&scratch, &["--revert", "--in-place", "new.so"]);
    assert!(fs::read(scratch.join("new.so")).unwrap() == signed);
    fs::hard_link(scratch.join("libcounters.so"), scratch.join("second.so")).unwrap();
    assert!(fixed(&scratch, &["--in-place", "second.so"]).contains("hard links"));
}

#[test]
fn backup_of_a_program_with_another_s_rights_has_none_and_the_program_keeps_them() {
    let scratch = scratch("privileged");
    let mode = |name: &str| fs::metadata(scratch.join(name)).unwrap().mode() & 0o7777;
    for bits in [0o4000, 0o2000] {
        let path = scratch.file("libcounters.so", LIBRARY);
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755 | bits)).unwrap();
        let told = document(&scratch, &["--in-place", "libcounters.so"]);
        let breaks = told["files"][0]["breaks"].as_array().unwrap();
        assert!(breaks.iter().any(|it| it["what"] == "privilege"), "{breaks:?}");
        assert_eq!((mode("libcounters.so"), mode("libcounters.so.orig")), (0o755 | bits, 0o755));
        assert!(fs::read(scratch.join("libcounters.so.orig")).unwrap() == LIBRARY);
        fs::remove_file(scratch.join("libcounters.so.orig")).unwrap();
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn sparse_files_stay_sparse() {
    let scratch = scratch("sparse");
    let far = |name: &str, bytes: &[u8]| {
        let path = scratch.file(name, bytes);
        fs::File::options().write(true).open(path).unwrap().set_len(64 << 20).unwrap();
    };
    far("tree/data", b"text");
    far("tree/sparse.so", LIBRARY);
    if fs::metadata(scratch.join("tree/data")).unwrap().blocks() > 1000 {
        return; // No holes here.
    }
    fixed(&scratch, &["--trailer", "-o", "new", "tree"]);
    for name in ["data", "sparse.so"] {
        let new = fs::metadata(scratch.join("new").join(name)).unwrap();
        assert!(new.len() >= 64 << 20 && new.blocks() < 1000, "{name}: {} blocks", new.blocks());
    }
    assert!(fs::read(scratch.join("new/data")).unwrap() == fs::read(scratch.join("tree/data")).unwrap());
    fixed(&scratch, &["--verify", "tree/sparse.so", "new/sparse.so"]);
}

#[test]
fn what_a_killed_run_left_goes_and_a_living_run_is_left_alone() {
    let scratch = scratch("killed");
    scratch.file("tree/below/.libcounters.so.deburr-9-0", LIBRARY);
    scratch.file("tree/below/text", b"text");
    let living = scratch.file("tree/.x.so.deburr-9-0", LIBRARY);
    let mut lock = Command::new("flock");
    let mut lock = lock
        .args(["--no-fork", &living, "sh", "-c", "echo; exec sleep 60"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Read::read_exact(lock.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    fixed(&scratch, &["--in-place", "tree"]);
    lock.kill().unwrap();
    lock.wait().unwrap();
    assert!(fs::read(&living).unwrap() == LIBRARY);
    let names: Vec<_> = files(&scratch.join("tree/below")).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn a_target_on_which_lse_was_seen_to_be_slow_gets_a_warning() {
    let scratch = scratch("slow-lse");
    let plan = |options: &[&str]| fix(&scratch, &[options, &["libcounters.so"]].concat());
    let output = plan(&["--target", "tsv110"]);
    let complaint = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{complaint}");
    assert!(complaint.contains("6.57 ns") && complaint.contains("69.55 ns by ldadd"), "{complaint}");
    assert!(complaint.contains("deepin-community/kernel pull request 1564"), "{complaint}");
    for quiet in [&["--target", "tsv110", "--only", "yield-in-spin-loop"][..], &["--target", "neoverse-n1"]] {
        assert_eq!(stderr(&plan(quiet)), "", "{quiet:?}");
    }
}
