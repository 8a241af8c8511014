//! Debian packages: their archives, sums and sizes.

use super::{changed, refusal, rewritten, unpacked, with_one_changed};
use crate::making::{ar, deb, fixture, gzip, objects, tar};
use md5::{Digest, Md5};
use std::io::Write;

fn packed(codec: &str, bytes: &[u8]) -> Vec<u8> {
    match codec {
        "gz" => gzip(bytes),
        "zst" => ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest),
        "xz" => {
            let mut encoder =
                lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::default()).unwrap();
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        _ => bytes.to_vec(),
    }
}

fn sums(members: &[(&str, &[u8])]) -> String {
    let line = |(name, bytes): &(&str, &[u8])| {
        let sum = Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        format!("{sum}  {}\n", name.trim_start_matches("./"))
    };
    members.iter().map(line).collect()
}

fn control(members: &[(&str, &[u8])], size: usize) -> Vec<u8> {
    let control = format!("Package: x\nInstalled-Size: {size}\nDescription: of x\n");
    let sums = sums(members);
    tar(&[("./control", control.as_bytes()), ("./md5sums", sums.as_bytes()), ("./postinst", b"#!/bin/sh\n")])
}

fn suffix(codec: &str) -> String {
    if codec.is_empty() { String::new() } else { format!(".{codec}") }
}

/// A package with sums and a size.
pub(crate) fn package(codec: &str, members: &[(&str, &[u8])]) -> Vec<u8> {
    let suffix = suffix(codec);
    ar(&[
        ("debian-binary", b"2.0\n"),
        (&format!("control.tar{suffix}"), &packed(codec, &control(members, 100))),
        (&format!("data.tar{suffix}"), &packed(codec, &tar(members))),
        ("_gpgorigin", b"sig"),
    ])
}

/// Headers and bytes of an ar archive's members.
fn parts(bytes: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut parts, mut at) = (Vec::new(), 8);
    while at < bytes.len() {
        let size: usize = std::str::from_utf8(&bytes[at + 48..at + 58]).unwrap().trim().parse().unwrap();
        parts.push((bytes[at..at + 60].to_vec(), bytes[at + 60..at + 60 + size].to_vec()));
        at += (60 + size).next_multiple_of(2);
    }
    assert_eq!(at, bytes.len());
    parts
}

#[test]
fn sums_and_size_follow_and_nothing_else() {
    let [a, b] = objects();
    let members: [(&str, &[u8]); 3] = [("./usr/a.so", &a), ("./usr/b.so", &b), ("./usr/text", b"text")];
    let new_a = changed(&a);
    let new_members: [(&str, &[u8]); 3] = [("./usr/a.so", &new_a), members[1], members[2]];
    for codec in ["", "gz", "xz"] {
        let old = package(codec, &members);
        let (new, notes) = with_one_changed(&old, "a.so");
        assert_eq!(notes, ["_gpgorigin: signs the package as it was, and holds no longer"]);
        let (old, new) = (parts(&old), parts(&new));
        assert_eq!(new.len(), 4);
        assert_eq!([&old[0], &old[3]], [&new[0], &new[3]]);
        for (old, new) in old.iter().zip(&new) {
            // Names, times, owners and modes.
            assert_eq!((&old.0[..48], &old.0[58..]), (&new.0[..48], &new.0[58..]));
        }
        let kib = |bytes: &[u8]| bytes.len().div_ceil(1024);
        let wanted = control(&new_members, 100 + kib(&new_a) - kib(&a));
        assert!(unpacked(codec, &new[1].1) == wanted, "{codec}");
        assert!(unpacked(codec, &new[2].1) == tar(&new_members), "{codec}");
    }
}

#[test]
fn sum_of_a_hard_link_follows_its_file() {
    let [a, b] = objects();
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in [("./a.so", &a), ("./b.so", &b)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        builder.append_data(&mut header, name, bytes.as_slice()).unwrap();
    }
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Link);
    header.set_size(0);
    builder.append_link(&mut header, "./twin", "./a.so").unwrap();
    let data = builder.into_inner().unwrap();
    let all = |a: &[u8], size| control(&[("a.so", a), ("b.so", &b), ("twin", a)], size);
    let before = all(&a, 50);
    let old = ar(&[("debian-binary", b"2.0\n"), ("control.tar", &before), ("data.tar", &data)]);
    let (new, _) = with_one_changed(&old, "a.so");
    let new_a = changed(&a);
    let more = new_a.len().div_ceil(1024) - a.len().div_ceil(1024);
    assert!(parts(&new)[1].1 == all(&new_a, 50 + more));
}

#[test]
fn package_without_sums_stays_without_and_missing_lines_are_noted() {
    let [a, b] = objects();
    let data = tar(&[("./a.so", &a), ("./b.so", &b)]);
    let (new, notes) = with_one_changed(&deb("data.tar", &data), "a.so");
    assert_eq!(notes, [""; 0]);
    assert_eq!(parts(&new)[1], parts(&deb("data.tar", &data))[1]);
    let incomplete = control(&[("b.so", &b)], 7);
    let old = ar(&[("debian-binary", b"2.0\n"), ("control.tar", &incomplete), ("data.tar", &data)]);
    let (_, notes) = with_one_changed(&old, "a.so");
    assert_eq!(notes, ["a.so: md5sums has no line for it"]);
}

#[test]
fn codec_that_is_not_written_becomes_xz() {
    let [a, b] = objects();
    let old = package("zst", &[("./usr/a.so", &a), ("./usr/b.so", &b)]);
    let (new, notes) = with_one_changed(&old, "a.so");
    let why = "its compression is read, but not written";
    assert_eq!(
        notes[1..],
        ["control", "data"].map(|it| format!("{it}.tar.zst has become {it}.tar.xz: {why}"))
    );
    let new_a = changed(&a);
    let members: [(&str, &[u8]); 2] = [("./usr/a.so", &new_a), ("./usr/b.so", &b)];
    let more = new_a.len().div_ceil(1024) - a.len().div_ceil(1024);
    assert!(unpacked("xz", &parts(&new)[1].1) == control(&members, 100 + more));
    assert!(unpacked("xz", &parts(&new)[2].1) == tar(&members));

    let (new, notes) = with_one_changed(&deb("data.tar.bz2", &fixture("members.tar.bz2")), "llsc_loop.o");
    assert_eq!(notes, ["data.tar.bz2 has become data.tar.xz: its compression is read, but not written"]);
    let parts = parts(&new);
    assert_eq!(&parts[2].0[..16], b"data.tar.xz     ");
    let plain = unpacked("xz", &parts[2].1);
    assert_eq!(tar::Archive::new(&plain[..]).entries().unwrap().count(), 3);
}

#[test]
fn package_that_dpkg_would_not_read_is_refused() {
    let [a, _] = objects();
    let data = tar(&[("./a.so", &a)]);
    let version = ar(&[("debian-binary", b"3.0\n"), ("control.tar", &data), ("data.tar", &data)]);
    assert!(refusal(&version).contains("version 2"));
    let twice = ar(&[
        ("debian-binary", b"2.0\n"),
        ("control.tar", &data),
        ("data.tar", &data),
        ("data.tar.gz", &gzip(&data)),
    ]);
    assert!(refusal(&twice).contains("more than one data.tar"));
    assert!(refusal(&deb("data.tar.lzma", &data)).contains("data.tar.lzma: not read"));
    let misnamed = rewritten(&deb("data.tar.xz", &data), "").unwrap_err();
    assert_eq!(misnamed.to_string(), "p: deb: data.tar.xz is not what its name says");
    let missing = ar(&[("debian-binary", b"2.0\n"), ("data.tar", &data)]);
    assert!(rewritten(&missing, "").unwrap_err().to_string().contains("no control.tar"));
}
