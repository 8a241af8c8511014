//! `deburr diff` with packages: the same changes as those of folders, in the same order on any number of
//! threads; what pairs with what; and what is said where a package is damaged or too large.

use super::fixtures::{archive, folder};
use super::packages::{gzip, objects, tar};
use super::{Scratch, deburr, stderr, stdout};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Output, Stdio};

type Members = Vec<(String, Vec<u8>)>;

const LLSC: &str = "llsc_loop/hit-cas.o";
const LSE: &str = "llsc_loop/miss-lse.o";
const PLAIN: &str = "above_baseline/miss-first-level.o";

fn object(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

fn members(all: &[(&str, &str)]) -> Members {
    all.iter().map(|(name, from)| ((*name).to_owned(), object(from))).collect()
}

/// A Debian package (deb(5)).
fn deb(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let (control, data) = (tar(&[("control".to_owned(), b"Package: x\n".to_vec())]), tar(files));
    archive(&[("debian-binary", b"2.0\n"), ("control.tar", &control), ("data.tar.gz", &gzip(&data))])
}

fn unpack(scratch: &Scratch, below: &str, files: &[(String, Vec<u8>)]) -> String {
    for (name, bytes) in files {
        scratch.file(&format!("{below}/{name}"), bytes);
    }
    format!("{}/{below}", scratch.as_str())
}

fn diff(arguments: &[&str]) -> (Value, Output) {
    let output = deburr(&[&["diff", "--no-debug-files", "--format", "json"], arguments].concat());
    (serde_json::from_slice(&output.stdout).unwrap_or_default(), output)
}

/// The paths of pairs, without what comes before them in their builds; an empty one for no partner.
fn pairs(document: &Value, old: &str, new: &str) -> Vec<(String, String)> {
    let within = |path: &Value, build: &str| {
        let path = path.as_str().unwrap_or_default().to_owned();
        path.strip_prefix(build).map_or(path.clone(), |path| path.trim_start_matches(['!', '/']).to_owned())
    };
    let files = document["files"].as_array().unwrap().iter();
    files.map(|file| (within(&file["old"], old), within(&file["new"], new))).collect()
}

/// The document without the paths of its two builds.
fn without_roots(document: &Value, old: &str, new: &str) -> Value {
    let (mut document, names) = (document.clone(), pairs(document, old, new));
    for (file, (old, new)) in document["files"].as_array_mut().unwrap().iter_mut().zip(names) {
        (file["old"], file["new"]) = (old.into(), new.into());
    }
    for path in document["only_old"].as_array_mut().unwrap() {
        let inner = path.as_str().unwrap().strip_prefix(old).unwrap().trim_start_matches(['!', '/']);
        *path = inner.into();
    }
    document
}

/// Two builds of many objects: some came, some went, and one that both have became another.
fn builds() -> (Members, Members) {
    let mut objects = objects();
    objects.sort();
    let (mut old, mut new) = (objects[..60].to_vec(), objects[3..63].to_vec());
    old.push(("lib/libx.so.1.2".to_owned(), object(PLAIN)));
    new.push(("lib/libx.so.1.3".to_owned(), object("above_baseline/hit-avx512-above-v3.o")));
    old.push(("lib/counters.o".to_owned(), object(LSE)));
    new.push(("lib/counters.o".to_owned(), object(LLSC)));
    old.sort();
    new.sort();
    (old, new)
}

#[test]
fn packages_differ_as_what_is_in_them_does() {
    let scratch = Scratch::new("diff-packages");
    let (old, new) = builds();
    let folders = [unpack(&scratch, "old", &old), unpack(&scratch, "new", &new)];
    let debs = [scratch.file("x_1.0-1_all.deb", &deb(&old)), scratch.file("x_1.1-2_all.deb", &deb(&new))];
    let (expected, status) = diff(&[&folders[0], &folders[1]]);
    let expected = without_roots(&expected, &folders[0], &folders[1]);
    assert_eq!(status.status.code(), Some(1), "{}", stderr(&status));
    assert_eq!(expected["files"].as_array().unwrap().len(), 62);
    assert_eq!(expected["only_old"].as_array().unwrap().len(), 3);
    for [old, new] in [[&debs[0], &debs[1]], [&folders[0], &debs[1]], [&debs[0], &folders[1]]] {
        let mut outputs = Vec::new();
        for threads in ["1", "2", "7"] {
            let (document, output) = diff(&["-j", threads, old, new]);
            assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), ""));
            assert_eq!(without_roots(&document, old, new), expected, "{old} {new}");
            outputs.push(output.stdout);
        }
        assert!(outputs.iter().all(|output| *output == outputs[0]), "threads change the output");
    }
    let same = deburr(&["diff", &debs[0], &folders[0]]);
    assert_eq!(same.status.code(), Some(0), "{}", stderr(&same));
    assert!(stdout(&same).starts_with("62 files compared: 0 with changes"), "{}", stdout(&same));
    let text = stdout(&deburr(&["diff", &debs[0], &debs[1]]));
    let pair = format!("{}!lib/counters.o → {}!lib/counters.o: aarch64", debs[0], debs[1]);
    assert!(text.contains(&pair), "{text}");
}

#[test]
fn folders_do_not_depend_on_the_number_of_threads() {
    let scratch = Scratch::new("diff-threads");
    let (old, new) = builds();
    let [old, new] = [unpack(&scratch, "old", &old), unpack(&scratch, "new", &new)];
    let with = |threads| deburr(&["diff", "--limit", "0", "-j", threads, &old, &new]).stdout;
    let one = with("1");
    assert!(!one.is_empty() && with("2") == one && with("9") == one);
    let page = |threads| deburr(&["diff", "--format", "html", "-j", threads, &old, &new]).stdout;
    let one = page("1");
    assert!(one.starts_with(b"<!DOCTYPE html>") && page("2") == one && page("9") == one, "the page");
}

#[test]
fn what_is_in_packages_pairs_without_versions_hashes_and_folders() {
    let scratch = Scratch::new("diff-pairs");
    let inner = |files: &[(&str, &str)]| tar(&members(files));
    let [old, new] = [
        vec![
            ("lib/libc.so.6".to_owned(), object(PLAIN)),
            ("lib/15/plugin.so".to_owned(), object(LLSC)),
            ("x.libs/libgomp-8f1e9814.so.1.0.0".to_owned(), object(LSE)),
            ("y-1.0-1_arm64.tar".to_owned(), inner(&[("gone.o", PLAIN), ("x.o", LLSC)])),
        ],
        vec![
            ("usr/lib/libc.so.6".to_owned(), object(PLAIN)),
            ("lib/17/plugin.so".to_owned(), object(LLSC)),
            ("x.libs/libgomp-0ff1ce77.so.1.0.0".to_owned(), object(LSE)),
            ("y-1.0.1~rc1-1_arm64.tar".to_owned(), inner(&[("came.o", PLAIN), ("x.o", LLSC)])),
        ],
    ];
    let expected = [
        ("lib/libc.so.6", "usr/lib/libc.so.6"),
        ("lib/15/plugin.so", "lib/17/plugin.so"),
        ("x.libs/libgomp-8f1e9814.so.1.0.0", "x.libs/libgomp-0ff1ce77.so.1.0.0"),
        ("", "y-1.0.1~rc1-1_arm64.tar!came.o"),
        ("y-1.0-1_arm64.tar!x.o", "y-1.0.1~rc1-1_arm64.tar!x.o"),
    ];
    let packages = [scratch.file("a.tgz", &gzip(&tar(&old))), scratch.file("b.tgz", &gzip(&tar(&new)))];
    let (document, _) = diff(&[&packages[0], &packages[1]]);
    let found = pairs(&document, &packages[0], &packages[1]);
    assert_eq!(found, expected.map(|(old, new)| (old.to_owned(), new.to_owned())));
    assert_eq!(document["only_old"], json!([format!("{}!y-1.0-1_arm64.tar!gone.o", packages[0])]));

    // Two folders with packages: each is compared with the one of its name, and with no other.
    let same = [("usr/bin/x".to_owned(), object(LLSC))];
    for (name, files) in [
        ("pool-1/libx1_1.0-1_arm64.deb", &old[..2]),
        ("pool-1/y_1.0-1_arm64.deb", &same),
        ("pool-1/z_1.0_arm64.deb", &same),
        ("pool-2/libx1t64_2.0-1+b1_arm64.deb", &new[..2]),
        ("pool-2/y_1.1~rc1-7_arm64.deb", &same),
    ] {
        scratch.file(name, &deb(files));
    }
    let [old, new] = ["pool-1", "pool-2"].map(|name| format!("{}/{name}", scratch.as_str()));
    let (document, output) = diff(&[&old, &new]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    let found = pairs(&document, &old, &new);
    let [first, second] = ["libx1_1.0-1_arm64.deb!", "libx1t64_2.0-1+b1_arm64.deb!"];
    let expected = [
        (format!("{first}lib/libc.so.6"), format!("{second}usr/lib/libc.so.6")),
        (format!("{first}lib/15/plugin.so"), format!("{second}lib/17/plugin.so")),
        ("y_1.0-1_arm64.deb!usr/bin/x".to_owned(), "y_1.1~rc1-7_arm64.deb!usr/bin/x".to_owned()),
    ];
    assert_eq!(found, expected);
    assert_eq!(document["only_old"], json!([format!("{old}/z_1.0_arm64.deb")]));
}

#[test]
fn files_of_images_pair_whatever_layer_they_are_in() {
    let scratch = Scratch::new("diff-images");
    let image = |name: &str, layers: &[Members]| {
        let digests: Vec<_> =
            (0..layers.len()).map(|at| json!({"digest": format!("sha256:{at}a")})).collect();
        for (at, layer) in layers.iter().enumerate() {
            scratch.file(&format!("{name}/blobs/sha256/{at}a"), &tar(layer));
        }
        scratch.file(&format!("{name}/oci-layout"), b"{}");
        scratch.file(&format!("{name}/index.json"), br#"{"manifests":[{"digest":"sha256:ff"}]}"#);
        let manifest = json!({ "layers": digests }).to_string();
        scratch.file(&format!("{name}/blobs/sha256/ff"), manifest.as_bytes());
        format!("{}/{name}", scratch.as_str())
    };
    let (a, b) = (members(&[("bin/a.o", LLSC)]), members(&[("bin/b.o", PLAIN)]));
    let old = image("old", &[a.clone(), b.clone()]);
    let new = image("new", &[b.clone(), members(&[("etc/none", PLAIN)]), a.clone()]);
    let (document, output) = diff(&[&old, &new]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    let expected = [
        ("layer 1/2!bin/a.o", "layer 3/3!bin/a.o"),
        ("", "layer 2/3!etc/none"),
        ("layer 2/2!bin/b.o", "layer 1/3!bin/b.o"),
    ];
    assert_eq!(pairs(&document, &old, &new), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    let unpacked = unpack(&scratch, "unpacked", &[a, b].concat());
    let (document, _) = diff(&[&old, &unpacked]);
    let expected = [("layer 1/2!bin/a.o", "bin/a.o"), ("layer 2/2!bin/b.o", "bin/b.o")];
    assert_eq!(pairs(&document, &old, &unpacked), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

#[test]
fn what_a_damaged_package_may_have_held_is_neither_new_nor_gone() {
    let scratch = Scratch::new("diff-damaged");
    // The last has findings that would make the new build worse.
    let mut files = builds().0;
    files.push(("z/last.o".to_owned(), object(LLSC)));
    let bytes = gzip(&tar(&files));
    let whole = scratch.file("whole.tgz", &bytes);
    let cut = scratch.file("cut.tgz", &bytes[..bytes.len() / 2]);
    for (old, new, reason) in [
        (&cut, &whole, "not in what could be read of the old build"),
        (&whole, &cut, "not in what could be read of the new build"),
    ] {
        let (document, output) = diff(&[old, new]);
        assert_eq!(output.status.code(), Some(2));
        let told = stderr(&output);
        assert!(told.starts_with(&format!("deburr: {cut}!")) && told.contains("gzip: cut off"), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        let compared = document["files"].as_array().unwrap();
        assert!(compared.len() > 10, "what came before the cut is kept");
        assert!(compared.iter().all(|file| !file["old"].is_null()), "{compared:?}");
        assert_eq!((&document["only_old"], &document["worse"]), (&json!([]), &json!(false)));
        let skipped = document["skipped"].as_array().unwrap();
        // The member at the cut is one pair, and reported once.
        assert_eq!(compared.len() + skipped.len(), files.len());
        let last = skipped.iter().find(|skip| skip["path"] == format!("{whole}!z/last.o")).unwrap();
        assert_eq!(last["reason"], reason);
    }
    // An archive is no better.
    let (llsc, plain) = (object(LLSC), object(LSE));
    let library = archive(&[("a.o", &plain), ("b.o", &llsc), ("c.o", &plain)]);
    let whole = scratch.file("new/lib.a", &library);
    let cut = scratch.file("old/lib.a", &library[..plain.len() + 1000]);
    let (document, output) = diff(&[&cut, &whole]);
    assert_eq!((output.status.code(), &document["worse"]), (Some(2), &json!(false)), "{document}");
    assert_eq!(pairs(&document, &cut, &whole), [("(a.o)".to_owned(), "(a.o)".to_owned())]);
}

#[test]
fn limits_of_packages_hold_for_both_builds() {
    let scratch = Scratch::new("diff-limits");
    let (old, new) = builds();
    let [old, new] = [scratch.file("a.tgz", &gzip(&tar(&old))), scratch.file("b.tgz", &gzip(&tar(&new)))];
    for (option, value, told) in [
        ("--max-members", "3", "more than 3 members"),
        ("--max-member", "100", "at most 100 are read (--max-member)"),
        ("--max-unpacked", "2k", "unpacks to more than 2048 (--max-unpacked)"),
    ] {
        let (_, output) = diff(&[option, value, &old, &new]);
        assert_eq!(output.status.code(), Some(2), "{option}");
        for package in [&old, &new] {
            let is_told = |line: &str| line.starts_with(&format!("deburr: {package}")) && line.contains(told);
            assert!(stderr(&output).lines().any(is_told), "{option}: {}", stderr(&output));
        }
    }
    let (_, output) = diff(&["--max-depth", "0", &old, &new]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("a.tgz: no ELF file"), "{}", stderr(&output));
}

#[test]
fn standard_input_is_one_of_the_builds() {
    let scratch = Scratch::new("diff-stdin");
    let package = tar(&members(&[("bin/x.o", LLSC)]));
    let path = scratch.file("p.tar", &package);
    for arguments in [[path.as_str(), "-"], ["-", path.as_str()], ["-", "-"]] {
        let mut child = Command::new(crate::program())
            .args(["diff", arguments[0], arguments[1]])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Where it is refused, nobody reads it.
        let _ = child.stdin.take().unwrap().write_all(&package);
        let output = child.wait_with_output().unwrap();
        if arguments == ["-", "-"] {
            assert_eq!(output.status.code(), Some(2));
            assert!(stderr(&output).contains("cannot be both builds"), "{}", stderr(&output));
        } else {
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            assert!(stdout(&output).starts_with("1 file compared: 0 with changes"), "{}", stdout(&output));
        }
    }
}

#[test]
fn allowed_findings_are_in_neither_build() {
    let scratch = Scratch::new("diff-allowed");
    let text = "[[allow]]\nrule = \"llsc-loop\"\nfile = \"bin/x.o\"\nreason = \"start-up only\"\n";
    let config = scratch.file("deburr.toml", text.as_bytes());
    let old = scratch.file("old.tar", &tar(&members(&[("bin/x.o", LSE)])));
    let new = scratch.file("new.tar", &tar(&members(&[("bin/x.o", LLSC)])));
    let (document, output) = diff(&["--config", &config, &old, &new]);
    assert_eq!((output.status.code(), &document["files"][0]["came"]), (Some(0), &json!([])));
    let empty = scratch.file("empty.toml", b"");
    assert_eq!(diff(&["--config", &empty, &old, &new]).1.status.code(), Some(1));
}

#[test]
fn file_and_a_folder_pair_by_its_name() {
    let scratch = Scratch::new("diff-file-folder");
    let file = scratch.file("old/server.o", &object(LLSC));
    let tree = unpack(&scratch, "new", &members(&[("bin/server.o", LLSC), ("bin/other.o", PLAIN)]));
    let (document, output) = diff(&[&file, &tree]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let expected = [("", "bin/other.o"), ("", "bin/server.o")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(pairs(&document, &file, &tree), expected);
    assert_eq!(document["files"][1]["old"], json!(file));
}

#[test]
fn a_build_is_worse_by_what_weighs_most_and_never_in_both_directions() {
    let [fast, plain, unoptimised] = [
        "fast_math_at_load/hit-constructor.o",
        "fast_math_at_load/miss-later.o",
        "unoptimised_code/hit-gcc.o",
    ]
    .map(|name| folder().join(name).display().to_string());
    let said = |old: &str, new: &str| {
        let output = deburr(&["diff", old, new]);
        (output.status.code(), stdout(&output))
    };
    let (status, text) = said(&plain, &fast);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("  flushes subnormal numbers when loaded: no → yes (worse)\n"), "{text}");
    assert!(text.ends_with("The new build is worse.\n"), "{text}");
    let (status, text) = said(&fast, &plain);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.ends_with("The new build is better.\n"), "{text}");
    // One is unoptimised, and the other changes the process: that weighs more.
    let (status, text) = said(&unoptimised, &fast);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("are better; what weighs most: floating-point arithmetic\n"), "{text}");
    assert_eq!(said(&fast, &unoptimised).0, Some(0));
    let (document, _) = diff(&[&plain, &fast]);
    assert_eq!((&document["worse"], &document["better"]), (&json!(true), &json!(false)));
    let row = json!({"what": "fast-math-at-load", "old": "no", "new": "yes", "worse": true, "better": false});
    assert_eq!(document["files"][0]["build"][0], row);
}

#[test]
fn where_no_files_pair_nothing_was_compared() {
    let scratch = Scratch::new("diff-nothing");
    let [old, new] = [("old", "a/one.o"), ("new", "b/other.o")]
        .map(|(build, name)| scratch.file(&format!("{build}.tar"), &tar(&members(&[(name, PLAIN)]))));
    let output = deburr(&["diff", &old, &new]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(stdout(&output).ends_with("Nothing was compared.\n"), "{}", stdout(&output));
    // One that the new build alone has, with findings, is worse than nothing.
    let worse = scratch.file("worse.tar", &tar(&members(&[("b/other.o", LLSC)])));
    assert_eq!(deburr(&["diff", &old, &worse]).status.code(), Some(1));
}

#[test]
fn a_module_that_was_renamed_pairs_with_the_one_that_is_left() {
    let scratch = Scratch::new("diff-renamed");
    let package = |name: &str, files: &[(&str, &str)]| scratch.file(name, &tar(&members(files)));
    let old = package("old.tar", &[("m/m.abi3.so", PLAIN), ("lib/liba.so.1", PLAIN)]);
    let new = package("new.tar", &[("m/_m.abi3.so", PLAIN), ("lib/liba.so.1", PLAIN)]);
    let (document, output) = diff(&[&old, &new]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let named = |names: &[(&str, &str)]| {
        names.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(
        pairs(&document, &old, &new),
        named(&[("m/m.abi3.so", "m/_m.abi3.so"), ("lib/liba.so.1", "lib/liba.so.1")])
    );
    // Two candidates make no pair, and a library is not a module.
    let two =
        package("two.tar", &[("m/_m.abi3.so", PLAIN), ("m/_n.abi3.so", PLAIN), ("lib/libb.so.1", PLAIN)]);
    let (document, _) = diff(&[&old, &two]);
    assert_eq!(document["only_old"].as_array().map(Vec::len), Some(2), "{document}");
}

/// Findings of the files of both builds count, whichever of them has a partner.
#[test]
fn a_file_that_is_gone_counts_against_one_that_came() {
    let scratch = Scratch::new("diff-gone");
    let package = |name: &str, files: &[(&str, &str)]| scratch.file(name, &tar(&members(files)));
    let old = package("old.tar", &[("bin/x.o", PLAIN), ("lib/gone.o", LLSC)]);
    let new = package("new.tar", &[("bin/x.o", PLAIN), ("opt/came.o", LLSC)]);
    assert_eq!(deburr(&["diff", &old, &new]).status.code(), Some(0));
    let fewer = package("fewer.tar", &[("bin/x.o", PLAIN)]);
    assert_eq!(deburr(&["diff", &old, &fewer]).status.code(), Some(0));
    assert_eq!(deburr(&["diff", &fewer, &new]).status.code(), Some(1));
}

/// A level is not worse if all machines of the user have it. The old build may lack the file.
#[test]
fn a_level_that_all_machines_have_is_not_worse() {
    let scratch = Scratch::new("diff-stated");
    let wide = "above_baseline/hit-bmi.o";
    let old = scratch.file("old.tar", &tar(&members(&[("bin/x.o", PLAIN)])));
    for files in [&[("bin/x.o", wide)][..], &[("bin/x.o", PLAIN), ("bin/new.o", wide)]] {
        let new = scratch.file("new.tar", &tar(&members(files)));
        let status = |options: &[&str]| {
            deburr(&[&["diff", "--fail-on", "error", &old, &new], options].concat()).status.code()
        };
        assert_eq!((status(&[]), status(&["--baseline", "x86-64-v3"])), (Some(1), Some(0)), "{files:?}");
        assert_eq!(status(&["--baseline", "x86-64-v2"]), Some(1), "{files:?}");
    }
}
