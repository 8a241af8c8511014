//! Zip files of every shape, and wheels.

use super::{changed, refusal, rewritten, with_one_changed};
use crate::making::{self, Member, objects};
use deburr_package::{Limits, Object, rewrite};
use flate2::{Compression, Crc, write::DeflateEncoder};
use rawzip::ZipArchive;
use sha2::{Digest, Sha256};
use std::io::Write;

/// How a zip file states what is in it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Shape {
    /// Descriptors after the data: with a signature, with 8 bytes a size.
    pub(crate) descriptor: Option<(bool, bool)>,
    /// Whether everything is in zip64 fields.
    pub(crate) is_wide: bool,
    /// Whether the directory begins with the last member.
    pub(crate) is_backwards: bool,
}

pub(crate) fn shaped(members: &[Member], shape: Shape) -> Vec<u8> {
    let (mut file, mut records) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        let data = encoder.finish().unwrap();
        let mut crc = Crc::new();
        crc.update(bytes);
        let (crc, size, packed, offset) =
            (crc.sum(), bytes.len() as u64, data.len() as u64, file.len() as u64);
        let flags = if shape.descriptor.is_some() { 8_u16 + 2 } else { 2 };
        let head = |crc: u32, size: u64, packed: u64| {
            let word = |value: u64| if shape.is_wide { [0xff; 4] } else { (value as u32).to_le_bytes() };
            let mut head = [45_u16, flags, 8, 0x6000, 0x5a21].map(u16::to_le_bytes).concat();
            head.extend([crc.to_le_bytes(), word(packed), word(size)].concat());
            head.extend((name.len() as u16).to_le_bytes());
            head
        };
        let extra = |numbers: &[u64]| {
            // A time, before the zip64 field.
            let mut extra = b"UT\x05\0\x01abcd".to_vec();
            if shape.is_wide {
                extra.extend([1, 0, 8 * numbers.len() as u8, 0]);
                extra.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            }
            extra
        };
        let streamed = shape.descriptor.is_some();
        let (head_local, extra_local) = if streamed {
            (head(0, 0, 0), extra(&[0, 0]))
        } else {
            (head(crc, size, packed), extra(&[size, packed]))
        };
        file.extend(b"PK\x03\x04");
        file.extend(head_local);
        file.extend((extra_local.len() as u16).to_le_bytes());
        file.extend(name.as_bytes());
        file.extend(extra_local);
        file.extend(&data);
        if let Some((signed, wide)) = shape.descriptor {
            file.extend(if signed { &b"PK\x07\x08"[..] } else { b"" });
            file.extend(crc.to_le_bytes());
            let width = if wide { 8 } else { 4 };
            file.extend([packed, size].iter().flat_map(|number| number.to_le_bytes()[..width].to_vec()));
        }
        let mut record = b"PK\x01\x02\x2d\x03".to_vec();
        let extra = extra(&[size, packed, offset]);
        record.extend(head(crc, size, packed));
        record.extend((extra.len() as u16).to_le_bytes());
        record.extend([7, 0, 0, 0, 1, 0]);
        record.extend((0o100_755_u32 << 16).to_le_bytes());
        record.extend(if shape.is_wide { [0xff; 4] } else { (offset as u32).to_le_bytes() });
        record.extend(name.as_bytes());
        record.extend(extra);
        record.extend(b"comment");
        records.push(record);
    }
    if shape.is_backwards {
        records.reverse();
    }
    let (start, directory) = (file.len() as u64, records.concat());
    file.extend(&directory);
    let (end, length, count) = (file.len() as u64, directory.len() as u64, members.len() as u16);
    if shape.is_wide {
        file.extend(b"PK\x06\x06");
        file.extend(44_u64.to_le_bytes());
        // Versions and disks.
        file.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        file.extend(
            [u64::from(count), u64::from(count), length, start].iter().flat_map(|it| it.to_le_bytes()),
        );
        file.extend(b"PK\x06\x07\0\0\0\0");
        file.extend(end.to_le_bytes());
        file.extend(1_u32.to_le_bytes());
    }
    file.extend(b"PK\x05\x06\0\0\0\0");
    if shape.is_wide {
        file.extend([0xff; 12]);
    } else {
        file.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
        file.extend([length as u32, start as u32].iter().flat_map(|it| it.to_le_bytes()));
    }
    file.extend(b"\x03\0abc");
    file
}

/// A wheel's line for a file.
fn line(name: &str, bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let bits = digest.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).chain([0, 0]);
    let bits: Vec<u8> = bits.collect();
    let letter = |six: &[u8]| {
        let value = six.iter().fold(0_u8, |value, bit| value << 1 | bit);
        char::from(match value {
            0..=25 => b'A' + value,
            26..=51 => b'a' + value - 26,
            52..=61 => b'0' + value - 52,
            62 => b'-',
            _ => b'_',
        })
    };
    format!("{name},sha256={},{}\n", bits.chunks(6).map(letter).collect::<String>(), bytes.len())
}

fn record(a: &[u8], b: &[u8]) -> String {
    let lines = [line("lib/a.so", a), line("lib/b.so", b), "x-1.dist-info/RECORD,,\n".to_owned()];
    lines.concat() + &line("x.py", b"pass\n")
}

pub(crate) fn wheel(a: &[u8], b: &[u8]) -> Vec<u8> {
    let record = record(a, b);
    let members: [Member; 4] =
        [("x-1.dist-info/RECORD", record.as_bytes()), ("lib/a.so", a), ("x.py", b"pass\n"), ("lib/b.so", b)];
    making::zip(&members, true)
}

/// All that a zip file says of its members but sizes and checksums, and the data of those that stay.
fn described(bytes: &[u8], but: &str) -> Vec<String> {
    let archive = ZipArchive::from_slice(bytes).unwrap();
    let (mut entries, mut told) = (archive.entries(), Vec::new());
    while let Some(record) = entries.next_entry().unwrap() {
        let entry = archive.get_entry(record.wayfinder()).unwrap();
        let local = entry.local_header();
        let name = String::from_utf8(record.file_path().as_ref().to_vec()).unwrap();
        let extra: Vec<_> =
            record.extra_fields().filter(|(id, _)| id.as_u16() != 1).map(|(_, it)| it.to_vec()).collect();
        let local_extra: Vec<_> =
            local.extra_fields().filter(|(id, _)| id.as_u16() != 1).map(|(_, it)| it.to_vec()).collect();
        let facts = (
            record.flags(),
            record.compression_method(),
            record.last_modified_dos(),
            record.version_made_by(),
            record.external_attributes(),
            record.comment().as_bytes().to_vec(),
        );
        let data = if name == but { Vec::new() } else { entry.data().to_vec() };
        let times = (local.last_modified_dos(), local.flags());
        told.push(format!("{name} {facts:?} {extra:?} {local_extra:?} {times:?} {data:?}"));
    }
    told.push(format!(
        "{:?} {}",
        archive.comment().as_bytes(),
        archive.get_ref().len() as u64 - archive.end_offset()
    ));
    told
}

fn all_shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for is_wide in [false, true] {
        for is_backwards in [false, true] {
            for descriptor in
                [None, Some((true, false)), Some((false, false)), Some((true, true)), Some((false, true))]
            {
                shapes.push(Shape { descriptor, is_wide, is_backwards });
            }
        }
    }
    shapes
}

#[test]
fn every_shape_keeps_all_but_the_changed_member() {
    let [a, b] = objects();
    let members: [Member; 3] = [("a.so", &a), ("text", b"text"), ("b.so", &b)];
    for shape in all_shapes() {
        let old = shaped(&members, shape);
        for (name, member) in [("a.so", 0), ("b.so", 2)] {
            let (new, notes) = with_one_changed(&old, name);
            assert_eq!(notes, [""; 0]);
            assert_eq!(described(&new, name), described(&old, name));
            let mut wanted = members;
            let bytes = changed(members[member].1);
            wanted[member].1 = &bytes;
            assert!(new == shaped(&wanted, shape), "as if it had been made so");
        }
    }
    for deflated in [true, false] {
        let old = making::zip(&members, deflated);
        let (new, _) = with_one_changed(&old, "a.so");
        assert!(new == making::zip(&[("a.so", &changed(&a)), members[1], members[2]], deflated));
    }
}

#[test]
fn record_of_a_wheel_follows() {
    let [a, b] = objects();
    let (new, notes) = with_one_changed(&wheel(&a, &b), "a.so");
    assert!(new == wheel(&changed(&a), &b));
    assert_eq!(notes, [""; 0]);
    let old = wheel(&a, &b);
    let both = rewritten(&old, ".so").unwrap();
    assert!(both.bytes == wheel(&changed(&a), &changed(&b)));
    assert_eq!(both.changed, ["p!lib/a.so", "p!lib/b.so"]);
}

#[test]
fn what_signs_a_package_is_noted() {
    let [a, b] = objects();
    let record = record(&a, &b);
    let old = making::zip(
        &[
            ("lib/a.so", &a),
            ("lib/other.so", &b),
            ("x-1.dist-info/RECORD", record.as_bytes()),
            ("x-1.dist-info/RECORD.jws", b"{}"),
            ("x-1.dist-info/RECORD.p7s", b"x"),
            ("META-INF/KEY.SF", b"x"),
        ],
        true,
    );
    let (_, notes) = with_one_changed(&old, "other.so");
    assert_eq!(
        notes,
        [
            "x-1.dist-info/RECORD.jws: signs the package as it was, and holds no longer",
            "x-1.dist-info/RECORD.p7s: signs the package as it was, and holds no longer",
            "META-INF/KEY.SF: signs the package as it was, and holds no longer",
            "lib/other.so: the wheel's RECORD has no line for it",
        ]
    );
}

#[test]
fn bytes_that_belong_to_no_member_are_refused() {
    let [a, b] = objects();
    let members: [Member; 2] = [("a.so", &a), ("b.so", &b)];
    for shape in all_shapes() {
        let bytes = shaped(&members, shape);
        let second = bytes.windows(4).rposition(|window| window == b"PK\x03\x04").unwrap();
        let directory = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
        let end = bytes.windows(4).rposition(|window| window == b"PK\x05\x06").unwrap();
        for at in [second, directory, end, bytes.len()] {
            let mut bytes = bytes.clone();
            bytes.splice(at..at, *b"nobody's");
            assert!(rewritten(&bytes, ".so").is_err(), "at {at}");
        }
    }
    // Two records for one member's bytes.
    let mut bytes = making::zip(&members, false);
    let directory = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    bytes[directory + 46 + 4 + 42..directory + 46 + 4 + 46].copy_from_slice(&[0; 4]);
    assert!(rewritten(&bytes, ".so").is_err());
    // An end of the directory in the comment of the end of the directory.
    let mut bytes = making::zip(&members, false);
    let end = bytes.len() - 22;
    let copy = bytes[end..].to_vec();
    bytes[end + 20] = 22;
    bytes.extend(copy);
    assert!(rewritten(&bytes, ".so").is_err());
}

#[test]
fn members_that_cannot_be_rewritten_stay_or_are_refused() {
    let [a, b] = objects();
    let members: [Member; 2] = [("a.so", &a), ("b.so", &b)];
    // Both headers have flags and methods.
    let with = |local: usize, central: usize, byte: u8| {
        let mut bytes = making::zip(&members, false);
        let directory = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
        bytes[local] = byte;
        bytes[directory + central] = byte;
        bytes
    };
    let encrypted = rewritten(&with(6, 8, 1), ".so").map(|made| (made.changed, made.notes)).unwrap();
    assert_eq!(encrypted, (vec!["p!b.so".to_owned()], vec!["a.so: encrypted, kept as it is".to_owned()]));
    let method = rewritten(&with(8, 10, 99), ".so").map(|made| (made.changed, made.notes)).unwrap();
    assert_eq!(method.1, ["a.so: compressed by method 99, kept as it is"]);
    let damaged = rewritten(&with(200, 8, 0), ".so").unwrap_err().to_string();
    assert!(damaged.starts_with("p!a.so: zip: not of the size and the checksum"), "{damaged}");
    assert!(refusal(&making::zip(&[("a.so", &a), ("a.so", &b)], true)).contains("more than one member"));
    let mut split = making::zip(&members, true);
    let end = split.len() - 22;
    split[end + 4] = 1;
    assert!(refusal(&split).contains("several parts"));
    let (mut header, start) = (making::zip(&members, true), 14);
    header[start] ^= 1;
    assert!(refusal(&header).contains("its header and the directory differ"));
}

#[test]
fn new_member_may_not_be_larger_than_the_limit() {
    let [a, _] = objects();
    let bytes = making::zip(&[("a.so", &a)], false);
    let mut change = |object: &Object| Some(changed(&object.bytes));
    let limits = Limits { member_bytes: a.len() as u64 + 100, ..Limits::default() };
    let error = rewrite("p", &bytes, &limits, &mut change).unwrap_err().to_string();
    assert!(error.contains("--max-member"), "{error}");
}
