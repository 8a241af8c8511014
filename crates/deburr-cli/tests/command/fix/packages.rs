//! `deburr fix` on packages that are made here: a wheel whose members are stored, so that all of them are at
//! hand, and a `.deb`.

use super::super::fixtures::{archive, folder};
use super::super::packages::{gzip, tar};
use super::super::{Scratch, stderr, stdout};
use super::{LIBRARY, X86, assert_sessions_as_recorded, document, files, fix, fixed, refused};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

pub(super) type Members = Vec<(String, Vec<u8>)>;

/// A zip file without compression (APPNOTE.TXT, section 4.3).
pub(super) fn zip(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        let mut common: Vec<u8> = [20_u16, 0, 0, 0, 0x21].into_iter().flat_map(u16::to_le_bytes).collect();
        let size = bytes.len() as u32;
        common.extend([crc32fast::hash(bytes), size, size].into_iter().flat_map(u32::to_le_bytes));
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0; 2]);
        let offset = file.len() as u32;
        file.extend([b"PK\x03\x04", common.as_slice(), name.as_bytes(), bytes].concat());
        directory.extend([b"PK\x01\x02\x14\x03", common.as_slice(), &[0; 6]].concat());
        directory.extend([0o100_644_u32 << 16, offset].into_iter().flat_map(u32::to_le_bytes));
        directory.extend(name.as_bytes());
    }
    let [start, length, count] = [file.len(), directory.len(), members.len()].map(|number| number as u32);
    file.extend(directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend([count as u16; 2].into_iter().flat_map(u16::to_le_bytes));
    file.extend([length, start].into_iter().flat_map(u32::to_le_bytes));
    file.extend([0; 2]);
    file
}

/// The members of such a file.
pub(super) fn unzip(mut file: &[u8]) -> Members {
    let mut members = Vec::new();
    while let Some(rest) = file.strip_prefix(b"PK\x03\x04") {
        let number = |at: usize| usize::from(u16::from_le_bytes(rest[at..at + 2].try_into().unwrap()));
        let (size, name) = (u32::from_le_bytes(rest[18..22].try_into().unwrap()) as usize, number(22));
        assert_eq!((number(4), number(24)), (0, 0));
        let (name, rest) = rest[26..].split_at(name);
        members.push((String::from_utf8(name.to_vec()).unwrap(), rest[..size].to_vec()));
        file = &rest[size..];
    }
    members
}

/// A wheel's line for a file: urlsafe base64 (RFC 4648, section 5) of its SHA-256.
fn line(name: &str, bytes: &[u8]) -> String {
    let letters: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['-', '_']).collect();
    let bits: Vec<u8> =
        Sha256::digest(bytes).iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let six = |bits: &[u8]| (0..6).fold(0, |six, at| six << 1 | usize::from(*bits.get(at).unwrap_or(&0)));
    format!(
        "{name},sha256={},{}\n",
        bits.chunks(6).map(|bits| letters[six(bits)]).collect::<String>(),
        bytes.len()
    )
}

const RECORD: &str = "counters-1.dist-info/RECORD";
pub(super) const MEMBER: &str = "counters/libcounters.so";

/// The members of a wheel around the library.
pub(super) fn wheel(library: &[u8]) -> Members {
    let x86 = fs::read(folder().join(X86)).unwrap();
    let files =
        [("counters/__init__.py", &b"import ctypes\n"[..]), (MEMBER, library), ("counters/x86.o", &x86)];
    let lines: String = files.iter().map(|(name, bytes)| line(name, bytes)).collect();
    let record = format!("{lines}{RECORD},,\n");
    let others = [(RECORD, record.as_bytes()), ("counters-1.dist-info/RECORD.jws", b"{}")];
    files.into_iter().chain(others).map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).collect()
}

/// A Debian package around the library.
fn deb() -> Vec<u8> {
    let member = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
    let data =
        [member("usr/lib/libcounters.so", LIBRARY), member("usr/share/doc/counters/copyright", b"free\n")];
    let library = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/libcounters.so");
    let summed = stdout(&Command::new("md5sum").arg(library).output().unwrap());
    let sums = format!("{}  usr/lib/libcounters.so\n", &summed[..32]);
    let control = [
        member("./control", b"Package: counters\nVersion: 1\nInstalled-Size: 6\n"),
        member("./md5sums", sums.as_bytes()),
    ];
    archive(&[
        ("debian-binary", b"2.0\n"),
        ("control.tar.gz", &gzip(&tar(&control))),
        ("data.tar.gz", &gzip(&tar(&data))),
    ])
}

/// What is in an archive of the Debian package at a path.
fn part(package: &[u8], name: &str) -> Members {
    let at = package.windows(name.len()).position(|window| window == name.as_bytes()).unwrap();
    let size: usize = std::str::from_utf8(&package[at + 48..at + 58]).unwrap().trim_end().parse().unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(&package[at + 60..at + 60 + size]));
    let mut members = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        members.push((entry.path().unwrap().display().to_string(), bytes));
    }
    members
}

fn scratch(name: &str) -> Scratch {
    let scratch = Scratch::new(&format!("fix-package-{name}"));
    scratch.file("app.whl", &zip(&wheel(LIBRARY)));
    scratch.file("app.deb", &deb());
    scratch
}

#[test]
fn sessions_with_packages_are_as_recorded() {
    let scratch = scratch("sessions");
    let sessions: [(&str, &[&str]); 5] = [
        ("fix-wheel-plan", &["--limit", "1", "app.whl"]),
        ("fix-wheel", &["--target", "armv8.1-a", "app.whl", "-o", "app-lse.whl"]),
        ("fix-wheel-again", &["app-lse.whl", "-o", "app-twice.whl"]),
        ("fix-wheel-revert", &["--revert", "app-lse.whl", "-o", "app-old.whl"]),
        ("fix-deb", &["--in-place", "--only", "llsc-loop", "app.deb"]),
    ];
    assert_sessions_as_recorded(&scratch, &sessions);
}

#[test]
fn wheel_differs_in_the_library_and_its_record_only() {
    let scratch = scratch("wheel");
    let path = scratch.join("app.whl");
    fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    let before = files(scratch.path());
    fixed(&scratch, &["app.whl"]);
    assert!(files(scratch.path()) == before, "a plan wrote something");
    fixed(&scratch, &["app.whl", "-o", "new.whl"]);
    let new = fs::read(scratch.join("new.whl")).unwrap();
    assert_eq!(fs::metadata(scratch.join("new.whl")).unwrap().mode() & 0o777, 0o640);
    let members = unzip(&new);
    let library = &members.iter().find(|(name, _)| name == MEMBER).unwrap().1;
    assert!(library != LIBRARY);
    // With the right lines in RECORD, and whole.
    assert!(new == zip(&wheel(library)));
    let [old, new] = [("old.so", LIBRARY), ("new.so", library)].map(|(name, it)| scratch.file(name, it));
    fixed(&scratch, &["--verify", &old, &new]);
    // And both packages at once: nothing else is changed, and nothing else may be.
    let verified = fixed(&scratch, &["--verify", "app.whl", "new.whl"]);
    assert!(verified.contains("llsc-loop"), "{verified}");
    let told = document(&scratch, &["--verify", "app.whl", "new.whl"]);
    assert_eq!(told["files"][0]["changes"]["llsc-loop"], 4);
    let same = fixed(&scratch, &["--verify", "app.whl", "app.whl"]);
    assert!(same.contains("nothing to prove"), "{same}");
    let mut other = wheel(library);
    other[0].1.push(b'\n');
    scratch.file("text.whl", &zip(&other));
    let mut other = library.clone();
    *other.last_mut().unwrap() ^= 1;
    scratch.file("bit.whl", &zip(&wheel(&other)));
    for (patched, why) in
        [("text.whl", "something else was changed"), ("bit.whl", "app.whl!counters/libcounters.so: ")]
    {
        let output = fix(&scratch, &["--verify", "app.whl", patched]);
        assert_eq!(output.status.code(), Some(1), "{patched}");
        assert!(stdout(&output).contains(why), "{patched}: {}", stdout(&output));
    }
    // What is patched already stays as it is.
    let again = fixed(&scratch, &["new.whl", "-o", "again.whl"]);
    assert!(again.contains("deburr has patched it already"), "{again}");
    assert!(fs::read(scratch.join("again.whl")).unwrap() == fs::read(scratch.join("new.whl")).unwrap());
    fixed(&scratch, &["--revert", "new.whl", "-o", "old.whl"]);
    assert!(fs::read(scratch.join("old.whl")).unwrap() == fs::read(&path).unwrap());
}

#[test]
fn debian_package_is_replaced_with_its_sums_made_right() {
    let scratch = scratch("deb");
    let path = scratch.join("app.deb");
    fixed(&scratch, &["--in-place", "app.deb"]);
    assert!(fs::read(scratch.join("app.deb.orig")).unwrap() == deb());
    let new = fs::read(&path).unwrap();
    let data = part(&new, "data.tar.gz");
    for (name, bytes) in &data {
        scratch.file(&format!("unpacked/{name}"), bytes);
    }
    assert!(data[0].1 != LIBRARY && data[1] == part(&deb(), "data.tar.gz")[1]);
    let control = part(&new, "control.tar.gz");
    scratch.file("unpacked/md5sums", &control[1].1);
    let mut checking = Command::new("md5sum");
    let checked =
        checking.args(["--check", "md5sums"]).current_dir(scratch.join("unpacked")).output().unwrap();
    assert!(checked.status.success(), "{}", stdout(&checked));
    fixed(&scratch, &["--verify", "app.deb.orig", "app.deb"]);
    fixed(&scratch, &["--revert", "--in-place", "app.deb"]);
    let reverted = fs::read(&path).unwrap();
    for name in ["control.tar.gz", "data.tar.gz"] {
        assert!(part(&reverted, name) == part(&deb(), name), "{name}");
    }
    // Once more, there is nothing left to give back.
    let told = fixed(&scratch, &["--revert", "--in-place", "app.deb"]);
    assert!(told.contains("app.deb: deburr rewrote no file in it, nothing to give back"), "{told}");
    assert!(told.contains("left as it is") && fs::read(&path).unwrap() == reverted, "{told}");
    refused(&scratch, &["--in-place", "app.deb"], "the backup");
}

#[test]
fn archives_of_every_compression_that_is_written_are_rewritten() {
    let scratch = scratch("tar");
    let plain = tar(&wheel(LIBRARY));
    for (name, bytes) in [("app.tar", plain.clone()), ("app.tgz", gzip(&plain))] {
        scratch.file(name, &bytes);
        let told = document(&scratch, &[name, "-o", "new"]);
        let changed = &told["files"].as_array().unwrap().last().unwrap()["changed"];
        assert_eq!(changed, &json!([format!("{name}!{MEMBER}")]));
        let told = document(&scratch, &["--revert", "new", "-o", "old"]);
        assert_eq!(told["files"][0]["changed"], json!([format!("new!{MEMBER}")]));
    }
}

#[test]
fn documents_list_the_members_and_the_package() {
    let scratch = scratch("json");
    let plan = document(&scratch, &["app.whl"]);
    assert_eq!(plan["files"][0]["path"], format!("app.whl!{MEMBER}"));
    assert_eq!(plan["files"][0]["sites"].as_array().unwrap().len(), 5);
    assert_eq!(plan["files"][1], json!({"path": "app.whl", "changed": [], "breaks": [], "written": null}));
    assert_eq!(plan["left"][0]["path"], "app.whl!counters/x86.o");
    assert_eq!(plan["left"][0]["is_fault"], false);
    let told = document(&scratch, &["app.whl", "-o", "new.whl"]);
    let [member, package] = [0, 1].map(|at| &told["files"][at]);
    let sha256 = |bytes: &[u8]| -> Value {
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
    };
    let new = fs::read(scratch.join("new.whl")).unwrap();
    assert_eq!(member["written"]["path"], format!("new.whl!{MEMBER}"));
    assert_eq!(member["written"]["sha256"], sha256(&unzip(&new)[1].1));
    assert_eq!(
        (&package["written"]["path"], &package["written"]["sha256"]),
        (&"new.whl".into(), &sha256(&new))
    );
    assert_eq!(package["breaks"][0]["what"], "package");
    assert!(package["breaks"][0]["text"].as_str().unwrap().contains("RECORD.jws"), "{package}");
    assert_eq!(told["statistics"]["files_rewritten"], 1);
}

#[test]
fn what_cannot_be_done_with_packages_is_reported_and_nothing_is_written() {
    let scratch = scratch("refused");
    let whole = zip(&wheel(LIBRARY));
    scratch.file("cut.whl", &whole[..whole.len() - 10]);
    scratch.file("image.rpm", &[&[0xed, 0xab, 0xee, 0xdb, 3, 0][..], &[0; 200]].concat());
    scratch.file("app.so.gz", &gzip(LIBRARY));
    let twice = [wheel(LIBRARY), vec![(MEMBER.to_owned(), LIBRARY.to_vec())]].concat();
    scratch.file("twice.whl", &zip(&twice));
    scratch.file("libcounters.so", LIBRARY);
    fixed(&scratch, &["-o", "new.so", "libcounters.so"]);
    let mut broken = fs::read(scratch.join("new.so")).unwrap();
    let note = broken.windows(9).rposition(|window| window == b"\"sha256\":").unwrap();
    broken[note + 12] ^= 1;
    fs::remove_file(scratch.join("new.so")).unwrap();
    scratch.file("broken.tar", &tar(&[("libcounters.so".to_owned(), broken)]));
    for (arguments, message) in [
        (&["cut.whl"][..], "cut.whl: zip: "),
        (&["image.rpm"], "image.rpm: an RPM package"),
        (&["app.so.gz"], "no tar archive in it"),
        (&["-o", "new.whl", "twice.whl"], "more than one member named"),
        (&["-o", "app.whl", "app.whl"], "the same file"),
        (&["-o", "no/where.whl", "app.whl"], "no such file"),
        (&["--max-depth", "0", "app.whl"], "looks into none"),
        (&["--max-member", "1K", "app.whl"], "--max-member"),
        (&["--site", "0x460", "-o", "new.whl", "app.whl"], "--site 0x460: no selected rule"),
        (&["--revert", "-o", "new.whl", "broken.tar"], "no file in it gives its original back"),
        (&["--verify", "app.whl", "cut.whl"], "cut off"),
        (&["--verify", "cut.whl", "app.whl"], "cut.whl: zip: "),
    ] {
        refused(&scratch, arguments, message);
    }
    let output = fix(&scratch, &["--dispatch", "dist", "app.whl"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("app.whl: a package: unpack it"), "{}", stderr(&output));
}

#[test]
fn a_package_in_which_nothing_was_rewritten_is_its_own_original() {
    let scratch = scratch("nothing-to-revert");
    let told = fixed(&scratch, &["--revert", "app.whl", "-o", "old.whl"]);
    assert!(told.contains("app.whl: deburr rewrote no file in it, nothing to give back"), "{told}");
    assert!(told.contains("copied as it is to old.whl") && !told.contains("note:"), "{told}");
    assert!(fs::read(scratch.join("old.whl")).unwrap() == fs::read(scratch.join("app.whl")).unwrap());
    let told = document(&scratch, &["--revert", "--in-place", "app.whl"]);
    assert_eq!(
        (&told["files"][0]["changed"], &told["files"][0]["written"]["is_changed"]),
        (&json!([]), &json!(false))
    );
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 3);
}

#[test]
fn packages_in_trees_are_rewritten_like_those_that_are_named() {
    let scratch = scratch("tree");
    scratch.file("tree/app.whl", &zip(&wheel(LIBRARY)));
    scratch.file("tree/text.zip", &zip(&[("text".to_owned(), b"text".to_vec())]));
    let told = fixed(&scratch, &["-o", "new", "tree"]);
    assert!(told.contains("tree/app.whl: 1 file in it rewritten and verified"), "{told}");
    assert!(!told.contains("text.zip"), "{told}");
    let new = fs::read(scratch.join("new/app.whl")).unwrap();
    assert!(new != zip(&wheel(LIBRARY)));
    assert!(
        fs::read(scratch.join("new/text.zip")).unwrap() == fs::read(scratch.join("tree/text.zip")).unwrap()
    );
    fixed(&scratch, &["--verify", "tree/app.whl", "new/app.whl"]);
    fixed(&scratch, &["--in-place", "tree"]);
    assert!(fs::read(scratch.join("tree/app.whl")).unwrap() == new);
    assert!(fs::read(scratch.join("tree/app.whl.orig")).unwrap() == zip(&wheel(LIBRARY)));
    // Once more, everything is as it should be.
    let before = files(scratch.path());
    fixed(&scratch, &["--in-place", "tree"]);
    assert!(files(scratch.path()) == before);
}

#[test]
fn package_of_a_tree_that_cannot_be_rewritten_is_a_fault_where_it_holds_programs() {
    let scratch = scratch("tree-kept");
    let [ours, others] = [LIBRARY, b"text"].map(|bytes| tar(&[("x".to_owned(), bytes.to_vec())]));
    let nested = |inner: &[u8]| tar(&[("a/inner.tar".to_owned(), inner.to_vec())]);
    let digest = "0".repeat(64);
    for (name, bytes, status) in [
        ("with-text.tar", nested(&others), 0),
        ("with-program.tar", nested(&ours), 2),
        ("program.so.gz", gzip(LIBRARY), 2),
        ("text.gz", gzip(b"text"), 0),
        (format!("blobs/sha256/{digest}").as_str(), ours.clone(), 2),
        (format!("blobs/sha256/1{}", &digest[1..]).as_str(), others.clone(), 0),
        ("image/0/layer.tar", ours.clone(), 2),
    ] {
        let path = scratch.file(&format!("tree/{name}"), &bytes);
        scratch.file("tree/image/manifest.json", b"[]");
        let output = fix(&scratch, &["-o", "new", "tree"]);
        let told = format!("{name}: {}{}", stderr(&output), stdout(&output));
        assert_eq!(output.status.code(), Some(status), "{told}");
        assert_eq!(stderr(&output).contains(name), status == 2, "{told}");
        let new = fs::read(scratch.join("new").join(name)).unwrap();
        assert!(new == bytes, "{name}");
        fs::remove_file(path).unwrap();
        fs::remove_dir_all(scratch.join("new")).unwrap();
    }
}

#[test]
fn programs_of_packages_in_packages_are_missed_aloud() {
    let scratch = scratch("nested");
    let inner = zip(&wheel(LIBRARY));
    let deep = tar(&[("y/x.tar".to_owned(), tar(&[("app.whl".to_owned(), inner.clone())]))]);
    let outer = tar(&[("lib.so".to_owned(), LIBRARY.to_vec()), ("deep.tgz".to_owned(), gzip(&deep))]);
    scratch.file("outer.tar", &outer);
    let output = fix(&scratch, &["-o", "new.tar", "outer.tar"]);
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert!(told.contains("outer.tar!deep.tgz: not looked into, with 1 AArch64 file in it"), "{told}");
    // The rest is done.
    fixed(&scratch, &["--verify", "outer.tar", "new.tar"]);
}

/// What `docker save` writes: an image of two layers, the upper of which hides nothing.
fn image() -> Vec<u8> {
    let member = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
    let sha256 =
        |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let layers = [
        tar(&[member("usr/lib/libcounters.so", LIBRARY)]),
        tar(&[member("usr/share/x", b"text"), member("opt/second.so", LIBRARY)]),
    ];
    let ids = layers.each_ref().map(|layer| format!("sha256:{}", sha256(layer)));
    let config = serde_json::to_vec(&json!({"rootfs": {"type": "layers", "diff_ids": ids}})).unwrap();
    let name = format!("{}.json", sha256(&config));
    let saved = json!([{"Config": name, "RepoTags": ["x:1"], "Layers": ["aa/layer.tar", "bb/layer.tar"]}]);
    let [first, second] = layers;
    tar(&[
        ("aa/layer.tar".to_owned(), first),
        ("bb/layer.tar".to_owned(), second),
        (name, config),
        member("manifest.json", &serde_json::to_vec(&saved).unwrap()),
    ])
}

#[test]
fn image_is_rewritten_proven_and_given_back() {
    let scratch = scratch("image");
    for (name, bytes) in [("image.tar", image()), ("image.tgz", gzip(&image()))] {
        scratch.file(name, &bytes);
        let told = document(&scratch, &[name, "-o", "new"]);
        let package = told["files"].as_array().unwrap().last().unwrap();
        assert_eq!(package["changed"].as_array().unwrap().len(), 2, "{package}");
        let breaks = package["breaks"].as_array().unwrap();
        assert!(breaks.iter().any(|it| it["text"].as_str().unwrap().contains("new digests")), "{package}");
        fixed(&scratch, &["--verify", name, "new"]);
        fixed(&scratch, &["--revert", "new", "-o", "old"]);
        let plain = |name: &str| {
            let bytes = fs::read(scratch.join(name)).unwrap();
            let mut plain = Vec::new();
            match bytes.starts_with(&[0x1f, 0x8b]) {
                true => drop(flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap()),
                false => plain = bytes,
            }
            plain
        };
        assert!(plain("old") == image() && plain("new") != image());
    }
}
