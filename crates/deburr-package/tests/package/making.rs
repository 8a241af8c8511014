//! Small packages of every kind, made from objects of the core's fixtures. What only other tools write is in
//! `fixtures/`.

use flate2::{Compression, Crc, write::DeflateEncoder, write::GzEncoder};
use std::fs;
use std::io::Write;
use std::path::Path;

/// A name and its bytes.
pub(crate) type Member<'a> = (&'a str, &'a [u8]);

fn read(path: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The two objects that the files in `fixtures/` hold, as `lib/llsc_loop.o` and `lib/outlined_atomic.o`.
pub(crate) fn objects() -> [Vec<u8>; 2] {
    ["llsc_loop/hit-bit-clear.o", "outlined_atomic/hit-16-bytes.o"]
        .map(|name| read(&format!("../deburr-core/fixtures/{name}")))
}

/// A file of `fixtures/`.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    read(&format!("fixtures/{name}"))
}

pub(crate) fn tar(members: &[Member]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

/// As Alpine's tools cut it: without the marker at the end.
pub(crate) fn cut(tar: &[u8]) -> &[u8] {
    &tar[..tar.len() - 1024]
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A zip file; `deflated`: how its members are stored.
pub(crate) fn zip(members: &[Member], deflated: bool) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        let data = if deflated { deflate(bytes) } else { bytes.to_vec() };
        let mut crc = Crc::new();
        crc.update(bytes);
        let mut common = Vec::new();
        for half in [20_u16, 0, if deflated { 8 } else { 0 }, 0, 0x21] {
            common.extend(half.to_le_bytes());
        }
        for word in [crc.sum(), data.len() as u32, bytes.len() as u32] {
            common.extend(word.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        let offset = file.len() as u32;
        file.extend(b"PK\x03\x04");
        file.extend(&common);
        file.extend(name.as_bytes());
        file.extend(data);
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(common);
        directory.extend([0; 6]);
        directory.extend((0o100_644_u32 << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, length, count) = (file.len() as u32, directory.len() as u32, members.len() as u16);
    file.extend(directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    file.extend([length.to_le_bytes(), start.to_le_bytes()].concat());
    file.extend([0, 0]);
    file
}

pub(crate) fn ar(members: &[Member]) -> Vec<u8> {
    let mut file = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let size = bytes.len();
        file.extend(format!("{name:<16}{0:<12}{0:<6}{0:<6}{1:<8}{size:<10}`\n", 0, "100644").as_bytes());
        file.extend(*bytes);
        file.resize(file.len().next_multiple_of(2), b'\n');
    }
    file
}

/// A Debian package around its `data.tar.*`.
pub(crate) fn deb(name: &str, data: &[u8]) -> Vec<u8> {
    let control = gzip(&tar(&[("./control", b"Package: x\n")]));
    ar(&[("debian-binary", b"2.0\n"), ("control.tar.gz", &control), (name, data)])
}

pub(crate) fn cpio(members: &[Member], magic: &str) -> Vec<u8> {
    let mut file = Vec::new();
    for (name, bytes) in members.iter().chain([&("TRAILER!!!", &b""[..])]) {
        let fields = [1, 0o100_644, 0, 0, 1, 0, bytes.len(), 0, 0, 0, 0, name.len() + 1, 0];
        file.extend(magic.as_bytes());
        file.extend(fields.map(|field| format!("{field:08x}")).concat().as_bytes());
        file.extend(name.as_bytes());
        file.push(0);
        file.resize(file.len().next_multiple_of(4), 0);
        file.extend(*bytes);
        file.resize(file.len().next_multiple_of(4), 0);
    }
    file
}

/// An RPM package around its payload.
pub(crate) fn rpm(payload: &[u8]) -> Vec<u8> {
    let header = |size: u32| {
        let mut header = vec![0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0, 0, 0, 0, 1];
        header.extend(size.to_be_bytes());
        header.resize(header.len() + 16 + size as usize, 0);
        header
    };
    let mut file = vec![0xed, 0xab, 0xee, 0xdb, 3, 0];
    file.resize(96, 0);
    file.extend(header(5));
    file.resize(96 + (file.len() - 96).next_multiple_of(8), 0);
    file.extend(header(21));
    file.extend(payload);
    file
}
