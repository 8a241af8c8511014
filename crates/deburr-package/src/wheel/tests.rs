//! Wheels that are made here, sound and faulty.

use super::*;

const NAME: &str = "x-1.0-cp311-cp311-linux_x86_64.whl";
const WHEEL: &str = "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n";

/// Files with their modes; `RECORD` is added.
fn zipped(files: &[(&str, bool, &[u8])]) -> Vec<u8> {
    let mut record: String =
        files.iter().map(|(path, _, bytes)| line(path, &Sum::of(bytes).to_string())).collect();
    record.push_str("x-1.0.dist-info/RECORD,,\n");
    with_record(files, &record)
}

fn with_record(files: &[(&str, bool, &[u8])], record: &str) -> Vec<u8> {
    let stored = |(name, is_executable, bytes): &(&'static str, bool, &'static [u8])| Stored {
        is_executable: *is_executable,
        ..new_stored(name, bytes)
    };
    let files: Vec<(&'static str, bool, &'static [u8])> = files
        .iter()
        .map(|(name, mode, bytes)| (&*name.to_string().leak(), *mode, &*bytes.to_vec().leak()))
        .collect();
    let record = record.to_owned();
    let mut members: Vec<Stored<'_>> = files.iter().map(stored).collect();
    members.push(new_stored("x-1.0.dist-info/RECORD", record.as_bytes()));
    compose(&members, ZipTime::from_unix(1_000_000_000)).unwrap()
}

fn new_stored<'m>(name: &'m str, bytes: &'m [u8]) -> Stored<'m> {
    Stored { method: 0, ..new_file(name, bytes, bytes) }
}

fn sound() -> Vec<u8> {
    zipped(&[
        ("x-1.0.dist-info/WHEEL", false, WHEEL.as_bytes()),
        ("x-1.0.dist-info/METADATA", false, b"Name: x\nVersion: 1.0\n"),
        ("x/tool.sh", true, b"#!/bin/sh\n"),
        ("x/a, \"b\".py", false, b"1\n"),
    ])
}

fn parse<'a>(name: &str, bytes: &'a [u8]) -> Result<Wheel<'a>, String> {
    Wheel::parse(name, bytes, &Limits::default()).map_err(|error| error.to_string())
}

#[test]
fn a_variant_has_its_document_a_whole_record_and_the_modes() {
    let bytes = sound();
    let wheel = parse(NAME, &bytes).unwrap();
    assert_eq!(wheel.machines, Machines::Level("x86-64".to_owned()));
    assert!(!wheel.is_variant() && !wheel.is_signed());
    let mut metadata = VariantMetadata::new(VariantSchema::V0_2_0);
    let label = metadata.add(LevelProperty::from_level("x86-64-v3").as_ref());
    let made = wheel.with_variant(Some(&metadata.to_bytes()), ZipTime::from_unix(0)).unwrap();
    let name = wheel.name.with_label(Some(&label));
    assert_eq!(name, "x-1.0-cp311-cp311-linux_x86_64-x86_64_v3.whl");

    // Read strictly, its record has all of its files.
    let variant = parse(&name, &made).unwrap();
    assert!(variant.is_variant());
    assert_eq!(variant.machines, Machines::Level("x86-64-v3".to_owned()));
    let files: Vec<(&str, bool)> = variant.files().map(|(path, file)| (path, file.is_executable)).collect();
    let expected = [
        ("x-1.0.dist-info/METADATA", false),
        ("x-1.0.dist-info/RECORD", false),
        ("x-1.0.dist-info/WHEEL", false),
        ("x-1.0.dist-info/variant.json", false),
        ("x/a, \"b\".py", false),
        ("x/tool.sh", true),
    ];
    assert_eq!(files, expected);
    assert_eq!(variant.read("x-1.0.dist-info/variant.json").unwrap(), metadata.to_bytes());
    let Ok(directory) = Directory::parse(&made, 10) else { panic!("not read") };
    let order: Vec<&[u8]> = directory.entries.iter().map(|entry| entry.name).collect();
    assert_eq!(order.first(), Some(&&b"x/a, \"b\".py"[..]));
    assert_eq!(order.last(), Some(&&b"x-1.0.dist-info/RECORD"[..]));
}

#[test]
fn the_same_files_give_the_same_bytes_in_any_order_and_at_any_time() {
    let files = |order: [usize; 3]| {
        let all: [(&str, bool, &[u8]); 3] = [
            ("x-1.0.dist-info/WHEEL", false, WHEEL.as_bytes()),
            ("x-1.0.dist-info/METADATA", false, b"Name: x\n"),
            ("x/a.py", false, b"1\n"),
        ];
        zipped(&order.map(|at| all[at]))
    };
    let (one, other) = (files([0, 1, 2]), files([2, 0, 1]));
    assert_ne!(one, other);
    let made = |bytes: &[u8]| parse(NAME, bytes).unwrap().with_variant(None, ZipTime::from_unix(0)).unwrap();
    assert_eq!(made(&one), made(&other));
    // What is written is what would be written of it.
    assert_eq!(made(&made(&one)), made(&one));
}

#[test]
fn a_variant_becomes_another_or_a_plain_wheel() {
    let bytes = sound();
    let time = ZipTime::from_unix(0);
    let plain = parse(NAME, &bytes).unwrap().with_variant(None, time).unwrap();
    let variant = parse(NAME, &bytes).unwrap().with_variant(Some(b"{}"), time).unwrap();
    let again = parse(NAME, &variant).unwrap();
    assert!(again.is_variant());
    assert_eq!(again.with_variant(None, time).unwrap(), plain);
}

#[test]
fn a_faulty_wheel_is_refused() {
    let metadata: [(&str, bool, &[u8]); 2] = [
        ("x-1.0.dist-info/WHEEL", false, WHEEL.as_bytes()),
        ("x-1.0.dist-info/METADATA", false, b"Name: x\n"),
    ];
    let with = |path: &'static str| {
        let mut files = metadata.to_vec();
        files.push((path, false, b"1\n"));
        zipped(&files)
    };
    for (bytes, complaint) in [
        (with("../a.py"), "a name that is not a plain relative path"),
        (with("/etc/passwd"), "a name that is not a plain relative path"),
        (with("x//a.py"), "a name that is not a plain relative path"),
        (with("x\\..\\a.py"), "a name that is not a plain relative path"),
        (with("C:a.py"), "a name that is not a plain relative path"),
        (with("x/\u{1b}[2J.py"), "a name that is not a plain relative path"),
        (with("x-1.0.dist-info/WHEEL"), "more than one member named x-1.0.dist-info/WHEEL"),
        (with("x-1.0.dist-info/WHEEL/a"), "a file, and a folder of x-1.0.dist-info/WHEEL/a"),
        (with("y-1.0.dist-info/METADATA"), "expected one folder *.dist-info, found 2"),
        (zipped(&metadata[..1]), "x-1.0.dist-info/METADATA is missing"),
        (b"PK\x05\x06".to_vec(), "zip: no end of the directory"),
        (Vec::new(), "zip: no end of the directory"),
    ] {
        let error = parse(NAME, &bytes).unwrap_err();
        assert!(error.contains(complaint), "{complaint}: {error}");
    }
    let bytes = sound();
    assert!(parse("y-1.0-cp311-cp311-linux_x86_64.whl", &bytes).unwrap_err().contains("is not of y-1.0"));
    assert!(parse("x-1.1-cp311-cp311-linux_x86_64.whl", &bytes).unwrap_err().contains("is not of x-1.1"));
    assert!(parse("x.zip", &bytes).unwrap_err().contains("expected the name of a wheel"));
    let elsewhere = parse("x-1.0-cp311-cp311-linux_aarch64.whl", &bytes).unwrap_err();
    assert!(elsewhere.contains("contradicting claims"), "{elsewhere}");
}

#[test]
fn a_record_that_says_something_else_is_refused() {
    let files: [(&str, bool, &[u8]); 3] = [
        ("x-1.0.dist-info/WHEEL", false, WHEEL.as_bytes()),
        ("x-1.0.dist-info/METADATA", false, b"Name: x\n"),
        ("x/a.py", false, b"1\n"),
    ];
    let lines: Vec<String> =
        files.iter().map(|(path, _, bytes)| line(path, &Sum::of(bytes).to_string())).collect();
    let rest = lines[..2].concat();
    let other = Sum::of(b"2\n");
    for (last, complaint) in [
        (String::new(), "RECORD has no line for x/a.py"),
        (line("x/a.py", &other.to_string()), "x/a.py: the file has another hash or size"),
        (line("x/a.py", ","), "x/a.py: expected the file's SHA-256 and size"),
        (line("x/a.py", "md5=abc,2"), "x/a.py: expected the file's SHA-256 and size"),
        (lines[2].clone() + &line("x/b.py", ","), "x/b.py: there is no such file"),
    ] {
        let bytes = with_record(&files, &(rest.clone() + &last));
        let error = parse(NAME, &bytes).unwrap_err();
        assert!(error.contains(complaint), "{complaint}: {error}");
    }
    let sound = with_record(&files, &(rest + "\r\n" + &lines[2] + "x-1.0.dist-info/RECORD,,\n"));
    assert!(parse(NAME, &sound).is_ok());
}

#[test]
fn a_wheel_that_is_changed_anywhere_is_refused_or_has_the_same_files() {
    let bytes = sound();
    let sums = |wheel: &Wheel<'_>| -> Vec<(String, String)> {
        wheel.files().map(|(path, file)| (path.to_owned(), file.sum.clone())).collect()
    };
    let wanted = sums(&parse(NAME, &bytes).unwrap());
    let (mut refused, mut taken) = (0, 0);
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x11;
        match parse(NAME, &changed) {
            Err(_) => refused += 1,
            Ok(wheel) => {
                taken += 1;
                assert_eq!(sums(&wheel), wanted, "changed at {at}");
            }
        }
        assert!(parse(NAME, &bytes[..at]).is_err(), "cut off at {at}");
    }
    // Times, versions and modes may change.
    assert!(refused > taken, "{refused} refused, {taken} taken");
}
