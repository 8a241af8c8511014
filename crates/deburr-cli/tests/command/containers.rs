//! Containers and what programs carry, as their own tools make them: each is read, or named; nothing is answered *runs* of which a
//! part was not read.

use super::{Scratch, deburr, json, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// An object of the core's fixtures for `above-baseline`.
fn fixture(name: &str) -> Vec<u8> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deburr-core/fixtures/above_baseline");
    fs::read(fixtures.join(name)).unwrap()
}

/// A program that runs on every machine, and a library that needs AVX.
fn program() -> Vec<u8> {
    fixture("miss-runs-everywhere.o")
}

fn library() -> Vec<u8> {
    fixture("hit-vector-widths.o")
}

/// Runs a tool in the folder; its output is shown only where it fails.
fn tool(scratch: &Scratch, program: &str, arguments: &[&str], input: &[u8]) {
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(scratch.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}: scripts/install-tools installs it"));
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program}: {} {}", stdout(&output), stderr(&output));
}

/// What Python makes of a few lines, in the folder.
fn python(scratch: &Scratch, lines: &str) {
    let modules = "import io, os, struct, tarfile, zipfile, zlib\nfrom pathlib import Path\n";
    tool(scratch, "python3", &["-c", &format!("{modules}{lines}")], b"");
}

/// A folder `in/usr/lib/libx.so`, and a program.
fn prepared(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.file("in/usr/lib/libx.so", &library());
    scratch.file("in/readme", b"hello");
    scratch.file("stub", &program());
    scratch
}

/// Makes containers of every kind that is read; their names.
fn open_containers(scratch: &Scratch) -> Vec<&'static str> {
    for (codec, file) in [("gzip", "a.squashfs"), ("zstd", "b.squashfs"), ("xz", "x.snap")] {
        let options = ["-comp", codec, "-all-root", "-no-progress", "-quiet"];
        tool(scratch, "mksquashfs", &[&["in", file][..], &options].concat(), b"");
    }
    tool(scratch, "7zz", &["a", "-bd", "x.7z", "./in/usr"], b"");
    tool(scratch, "genisoimage", &["-quiet", "-R", "-o", "x.iso", "in"], b"");
    tool(scratch, "sh", &["-c", "cd in && find . | cpio -o -H newc --quiet >../x.cpio"], b"");
    tool(scratch, "tar", &["cf", "x.tar", "-C", "in", "usr", "readme"], b"");
    tool(scratch, "lz4", &["-q", "x.tar", "x.tar.lz4"], b"");
    tool(scratch, "lz4", &["-q", "-l", "x.cpio", "initrd.main"], b"");
    python(
        scratch,
        r##"
stub, lib = Path("stub").read_bytes(), "in/usr/lib/libx.so"
read = lambda name: Path(name).read_bytes()
def zipped(front=b""):
    out = io.BytesIO()
    out.write(front)
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.write(lib, "usr/lib/libx.so")
        archive.writestr("pad", os.urandom(900))
    return out.getvalue()
Path("initrd.img").write_bytes(read("x.cpio") + bytes(512) + read("initrd.main"))
Path("App.AppImage").write_bytes(stub + read("a.squashfs"))
Path("padded.AppImage").write_bytes(stub + bytes(-len(stub) % 4096) + read("b.squashfs"))
Path("sfx-zip").write_bytes(stub + zipped())
Path("sfx-zip-a").write_bytes(zipped(stub))
Path("sfx-7z").write_bytes(stub + b";!@Install@!UTF-8!\n;!@InstallEnd@!" + read("x.7z"))
out = io.BytesIO()
with tarfile.open(fileobj=out, mode="w:xz") as archive:
    archive.add(lib, "usr/lib/libx.so")
Path("sfx-tar").write_bytes(stub + out.getvalue())
Path("x.pex").write_bytes(b"#!/usr/bin/env python3\n" + zipped())
Path("x.jmod").write_bytes(b"JM\1\0" + zipped())
data = zlib.compress(read(lib))
name = b"usr/lib/libx.so\0"
table = struct.pack("!IIIIBc", 18 + len(name), 0, len(data), len(read(lib)), 1, b"b") + name
cookie = struct.pack("!8sIIII64s", b"MEI\14\13\12\13\16", len(data) + len(table) + 88, len(data), len(table), 311, b"libpython3.11.so")
Path("pyinstaller").write_bytes(stub + data + table + cookie)
Path("x.pkg").write_bytes(data + table + cookie)
"##,
    );
    tool(scratch, "objcopy", &["--add-section", "pydata=x.pkg", "stub", "pyinstaller-section"], b"");
    vec![
        "a.squashfs",
        "b.squashfs",
        "x.snap",
        "x.7z",
        "x.iso",
        "x.cpio",
        "x.tar.lz4",
        "initrd.img",
        "App.AppImage",
        "padded.AppImage",
        "sfx-zip",
        "sfx-zip-a",
        "sfx-7z",
        "sfx-tar",
        "x.pex",
        "x.jmod",
        "pyinstaller",
        "pyinstaller-section",
    ]
}

fn answers(document: &Value) -> Vec<(String, String)> {
    let files = document["files"].as_array().unwrap();
    let text = |file: &Value, key: &str| file[key].as_str().unwrap_or_default().to_owned();
    files.iter().map(|file| (text(file, "path"), text(file, "answer"))).collect()
}

#[test]
fn every_container_is_opened_and_its_library_dies_on_v1() {
    let scratch = prepared("containers");
    for name in open_containers(&scratch) {
        let path = scratch.join(name).display().to_string();
        let (document, output) = json(&["--baseline", "x86-64-v1", "--no-debug-files", &path]);
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), ""), "{name}");
        assert_eq!(document["skipped"], Value::Array(Vec::new()), "{name}");
        let answers = answers(&document);
        let library = answers.iter().find(|(path, _)| path.ends_with("usr/lib/libx.so"));
        let library = library.unwrap_or_else(|| panic!("{name}: {answers:?}"));
        assert!(library.0.starts_with(&format!("{path}!")) && library.1 == "dies", "{name}: {answers:?}");
        let program = answers.iter().find(|(other, _)| *other == path);
        assert!(program.is_none_or(|(_, answer)| answer == "runs"), "{name}: {answers:?}");
    }
}

#[test]
fn an_appimage_is_an_error_of_its_library() {
    let scratch = prepared("containers-appimage");
    tool(&scratch, "mksquashfs", &["in", "a.squashfs", "-quiet", "-no-progress"], b"");
    let image = [program(), fs::read(scratch.join("a.squashfs")).unwrap()].concat();
    let path = scratch.file("App.AppImage", &image);
    for threads in ["1", "4"] {
        let arguments = ["check", "-j", threads, "--baseline", "x86-64-v1", "--format", "concise", &path];
        let output = deburr(&arguments);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let line = format!("{path}!usr/lib/libx.so:");
        assert!(
            stdout(&output).lines().any(|it| it.starts_with(&line) && it.contains("error above-baseline"))
        );
    }
    // Not looked into, it is not known to run.
    let closed = ["--max-depth", "0", "--baseline", "x86-64-v1", &path];
    let (document, _) = json(&closed);
    assert_eq!(answers(&document), [(path.clone(), "undecided".to_owned())]);
    assert_eq!(document["files"][0]["unread_payload"][0]["format"], "squashfs");
    // So it is where the image is damaged.
    let cut = scratch.file("cut.AppImage", &image[..program().len() + 600]);
    let (document, output) = json(&["--baseline", "x86-64-v1", &cut]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(answers(&document).last(), Some(&(cut, "undecided".to_owned())));
}

#[test]
fn what_stays_closed_is_undecided_and_named() {
    let scratch = prepared("containers-closed");
    let noise: Vec<u8> = (0..9000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8 | 1).collect();
    let fields = b"\0\0\x02\0\0\0\0\0\0\0\x02\x58";
    let signed = [&noise[..600], fields, b"~Module signature appended~\n"].concat();
    let bun = [&noise[..], b"\n---- Bun! ----\n\x01\x02\x03\x04\x05\x06\x07\x08"].concat();
    let rar = [b"Rar!\x1a\x07\x01\0", &noise[..]].concat();
    for (name, after, answer, told) in [
        ("unknown", &noise[..], "undecided", "unknown data, 9000 bytes"),
        ("rar", &rar, "undecided", "RAR archive, 9008 bytes"),
        ("signed.ko", &signed, "runs", "module signature, 640 bytes"),
        ("bun", &bun, "runs", "bun program, 9024 bytes"),
        ("small", &noise[..100], "undecided", "unknown data, 100 bytes"),
        ("number", &noise[..32], "runs", "unknown data, 32 bytes"),
    ] {
        let path = scratch.file(name, &[&program()[..], after].concat());
        let (document, output) = json(&["--baseline", "x86-64-v1", &path]);
        assert_eq!(
            (output.status.code(), stderr(&output).contains(told)),
            (Some(0), true),
            "{name}: {}",
            stderr(&output)
        );
        assert_eq!(answers(&document), [(path.clone(), answer.to_owned())]);
        let skipped = &document["skipped"][0];
        assert!(skipped["reason"].as_str().unwrap().starts_with(told), "{skipped}");
        assert_eq!((&skipped["is_part"], &skipped["bytes"]), (&true.into(), &after.len().into()));
        let text = stdout(&deburr(&["check", "--show-skipped", &path]));
        assert!(text.contains(told), "{text}");
    }
}

/// A PE file, as little of one as there can be.
fn pe() -> Vec<u8> {
    let mut pe = vec![0; 600];
    pe[..2].copy_from_slice(b"MZ");
    pe[0x3c] = 0x80;
    pe[0x80..0x84].copy_from_slice(b"PE\0\0");
    pe
}

#[test]
fn programs_of_other_systems_are_named_and_fail_where_the_user_names_them() {
    let scratch = Scratch::new("containers-others");
    let big_endian = [&b"\x7fELF\x02\x02\x01"[..], &[0; 9], &[0, 3, 0, 183], &[0; 44]].concat();
    let mut ext = vec![0; 4096];
    ext[0x438..0x43a].copy_from_slice(&[0x53, 0xef]);
    (ext[0x43a], ext[0x44c]) = (1, 1);
    let elf = scratch.file("tree/ok.o", &program());
    let kinds = [
        ("setup.exe", pe(), "PE"),
        ("lib.dylib", b"\xcf\xfa\xed\xfe\x07\0\0\x01".to_vec(), "Mach-O"),
        ("fat.dylib", vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 2], "Mach-O (universal)"),
        ("a.wasm", b"\0asm\x01\0\0\0".to_vec(), "wasm"),
        ("a.bc", b"BC\xc0\xde".to_vec(), "LLVM bitcode"),
        ("arm", super::arm32(), "32-bit Arm ELF"),
        ("be", big_endian, "big-endian AArch64 ELF"),
        ("disk.img", ext, "ext2/3/4 file system"),
        (
            "a.run",
            b"#!/bin/sh\n# This script was generated using Makeself 2.4\n".to_vec(),
            "self-extracting script (makeself)",
        ),
        (
            "b.run",
            [&b"#!/bin/sh\ntail -n +3 \"$0\" | tar x\n"[..], &program()].concat(),
            "script with data after it",
        ),
        ("a.obj", [&[0x64, 0x86, 1, 0][..], &[0; 16], b".text", &[0; 60]].concat(), "COFF object"),
    ];
    for (name, bytes, kind) in &kinds {
        let path = scratch.file(&format!("tree/{name}"), bytes);
        let output = deburr(&["check", &elf, &path]);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", stderr(&output));
        assert!(stderr(&output).contains(&format!("{path}: {kind}")), "{name}: {}", stderr(&output));
    }
    scratch.file("tree/notes.txt", b"#!/bin/sh\n# na\xc3\xafve, caf\xe9\necho nothing\n");
    // In a folder they are counted.
    let tree = format!("{}/tree", scratch.as_str());
    let (document, output) = json(&[&tree]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    assert_eq!(document["statistics"]["other_files"], 1);
    let mut found: Vec<_> =
        document["skipped"].as_array().unwrap().iter().map(|skip| skip["kind"].as_str().unwrap()).collect();
    let mut wanted = kinds.each_ref().map(|kind| kind.2).to_vec();
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
    scratch.file("tree/second.exe", &pe());
    let text = stdout(&deburr(&["check", &tree]));
    assert!(text.contains("Not checked: 2 × PE, 1 × "), "{text}");
    assert!(text.contains("1 other file passed over: neither ELF nor archive"), "{text}");
}

#[test]
fn a_wheel_for_windows_is_not_found_clean() {
    let scratch = Scratch::new("containers-wheel");
    scratch.file("x.pyd", &pe());
    scratch.file("libx.o", &program());
    python(
        &scratch,
        r#"
def wheel(tag, name):
    with zipfile.ZipFile(f"x-1.0-cp311-cp311-{tag}.whl", "w") as archive:
        for name in name.split():
            archive.write(name, f"x/{name}")
        archive.writestr("x-1.0.dist-info/WHEEL", f"Wheel-Version: 1.0\nTag: cp311-cp311-{tag}\n")
wheel("win_amd64", "x.pyd")
wheel("manylinux_2_28_x86_64", "x.pyd libx.o")
"#,
    );
    let path = scratch.join("x-1.0-cp311-cp311-win_amd64.whl").display().to_string();
    for arguments in [&["check", &path][..], &["check", "--baseline", "claim", &path]] {
        let output = deburr(arguments);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("nothing in it could be checked: 1 × PE"), "{}", stderr(&output));
        assert!(!stderr(&output).contains("does not say"), "{}", stderr(&output));
    }
    // Where something is checked, the rest is counted.
    let mixed = scratch.join("x-1.0-cp311-cp311-manylinux_2_28_x86_64.whl").display().to_string();
    let output = deburr(&["check", "--baseline", "claim", &mixed]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    assert!(stdout(&output).contains("Not checked: 1 × PE"), "{}", stdout(&output));
}

#[test]
fn an_archive_of_objects_for_another_system_is_not_found_clean() {
    let scratch = Scratch::new("archive-of-coff");
    let coff = [&[0x64, 0x86, 1, 0][..], &[0; 16], b".text", &[0; 60]].concat();
    let archive = |members: &[(&str, &[u8])]| {
        let mut bytes = b"!<arch>\n".to_vec();
        for (name, content) in members {
            let header = format!("{name}/{:<1$}{2:<10}`\n", "", 47 - name.len(), content.len());
            bytes.extend([header.as_bytes(), content, &b"\n"[..content.len() % 2]].concat());
        }
        bytes
    };
    let alone = scratch.file("tree/a.lib", &archive(&[("a.obj", &coff), ("b.obj", &coff)]));
    let output = deburr(&["check", &alone]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("nothing in it could be checked: 2 × COFF object"),
        "{}",
        stderr(&output)
    );
    // Beside an object that is checked they are counted, as they are in a folder.
    scratch.file("tree/a.o", &program());
    let mixed = scratch.file("b.a", &archive(&[("a.obj", &coff), ("a.o", &program()), ("notes", b"text\n")]));
    for (path, members) in [(mixed.as_str(), 1), (&format!("{}/tree", scratch.as_str()), 2)] {
        let (document, output) = json(&[path]);
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
        let skipped = document["skipped"].as_array().unwrap();
        let named = skipped.iter().filter(|skip| skip["kind"] == "COFF object").count();
        assert_eq!((named, skipped.len()), (members, members), "{document}");
    }
    assert_eq!(json(&[&mixed]).0["statistics"]["other_files"], 1);
}
