//! What packages of every kind say that they are: name, version, architecture, and when they were built.

use super::claims::deb;
use crate::making::{cut, gzip, tar, zip};
use deburr_package::Limits;
use deburr_package::claim::{Identity, identity};

fn of(path: &str, bytes: &[u8]) -> Identity {
    identity(path, bytes, &Limits::default())
}

fn said(texts: [&str; 3], built: Option<i64>) -> Identity {
    let [name, version, architecture] = texts.map(|text| Some(text.to_owned()));
    Identity { name, version, architecture, built }
}

/// A Debian package whose control file was added at a moment.
fn deb_of(control: &str, moment: &str) -> Vec<u8> {
    let mut bytes = deb(control);
    let at = bytes.windows(11).position(|part| part == b"control.tar").unwrap() + 16;
    bytes[at..at + 12].copy_from_slice(format!("{moment:<12}").as_bytes());
    bytes
}

#[test]
fn a_debian_package_is_what_its_control_file_says_since_that_was_added() {
    let control =
        "Package: store\nVersion: 1:2.0-1\nArchitecture: arm64\nDescription: a store\n Version: 9\n";
    let expected = said(["store", "1:2.0-1", "arm64"], Some(1_700_000_000));
    assert_eq!(of("x.deb", &deb_of(control, "1700000000")), expected);
    assert_eq!(of("x.deb", &deb_of(control, "0")).built, None, "no date");
    assert_eq!(of("x.deb", &deb_of(control, "soon")).built, None);
    assert_eq!(of("x.deb", &deb_of("Description: none\n", "0")), Identity::default());
    // Control characters do not reach a terminal.
    assert_eq!(of("x.deb", &deb("Package: a\x1b[2J\n")).name.as_deref(), Some("a\\x1b[2J"));
}

fn rpm(tags: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let header = |tags: &[(u32, u32, &[u8])]| {
        let (mut index, mut store) = (Vec::new(), Vec::new());
        for (tag, kind, value) in tags {
            index.extend([*tag, *kind, store.len() as u32, 1].map(u32::to_be_bytes).concat());
            store.extend(*value);
        }
        let mut header = vec![0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0];
        header.extend((tags.len() as u32).to_be_bytes());
        header.extend((store.len() as u32).to_be_bytes());
        [header, index, store].concat()
    };
    let mut file = vec![0xed, 0xab, 0xee, 0xdb, 3, 0];
    file.resize(96, 0);
    file.extend(header(&[]));
    file.extend(header(tags));
    file
}

#[test]
fn an_rpm_package_is_what_its_header_says() {
    let whole = rpm(&[
        (1006, 4, &1_700_000_000_u32.to_be_bytes()),
        (1000, 6, b"store\0"),
        (1001, 6, b"2.0\0"),
        (1002, 6, b"3.fc40\0"),
        (1022, 6, b"aarch64\0"),
    ]);
    let expected = said(["store", "2.0-3.fc40", "aarch64"], Some(1_700_000_000));
    assert_eq!(of("x.rpm", &whole), expected);
    // Cut off anywhere, it says nothing else.
    for length in 0..whole.len() {
        let found = of("x.rpm", &whole[..length]);
        assert!(found.name.is_none() || found.name == expected.name, "{found:?}");
        assert!(found.built.is_none() || found.built == expected.built, "{found:?}");
    }
    // A tag of another type is another thing.
    assert_eq!(of("x.rpm", &rpm(&[(1000, 4, b"store\0"), (1006, 6, b"1700\0")])), Identity::default());
}

#[test]
fn a_wheel_is_what_its_metadata_says() {
    let metadata = b"Metadata-Version: 2.1\nName: store\nVersion: 1.0\n\nVersion: 9 is better\n";
    let wheel = b"Wheel-Version: 1.0\nTag: cp312-cp312-manylinux_2_28_x86_64\n";
    let bytes =
        zip(&[("store-1.0.dist-info/METADATA", metadata), ("store-1.0.dist-info/WHEEL", wheel)], true);
    let expected = said(["store", "1.0", "manylinux_2_28_x86_64"], None);
    assert_eq!(of("store-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", &bytes), expected);
    assert_eq!(of("renamed", &bytes), expected);
    assert_eq!(
        of("x.zip", &zip(&[("store-1.0.dist-info/METADATA", metadata)], true)),
        Identity::default(),
        "no wheel"
    );
}

#[test]
fn packages_of_conda_and_npm_are_what_their_documents_say() {
    let conda = |timestamp: i64| {
        let index = format!(
            r#"{{"name": "store", "version": "2.0", "build": "h1_0", "subdir": "linux-64", "timestamp": {timestamp}}}"#
        );
        let info = gzip(&tar(&[("info/index.json", index.as_bytes())]));
        of("x.conda", &zip(&[("metadata.json", b"{}"), ("info-x.tar.zst", &info)], false))
    };
    let expected = said(["store", "2.0-h1_0", "linux-64"], Some(1_700_000_000));
    assert_eq!(conda(1_700_000_000_123), expected, "in milliseconds");
    assert_eq!(conda(1_700_000_000), expected, "in seconds, as before 2017");
    let npm = br#"{"name": "@a/store", "version": "1.2.3", "cpu": ["arm64"]}"#;
    let bytes = gzip(&tar(&[("package/package.json", npm)]));
    assert_eq!(of("x.tgz", &bytes), said(["@a/store", "1.2.3", "arm64"], None));
    assert_eq!(of("x.tgz", &gzip(&tar(&[("package/package.json", b"[1")]))), Identity::default());
}

#[test]
fn packages_of_alpine_and_arch_linux_are_what_pkginfo_says() {
    let info = b"# made by hand\npkgname = store\npkgver = 2.0-r1\nbuilddate = 1700000000\narch = aarch64\n";
    let expected = said(["store", "2.0-r1", "aarch64"], Some(1_700_000_000));
    let arch = gzip(&tar(&[(".BUILDINFO", b"x"), (".PKGINFO", info), ("usr/bin/x", b"\x7fELF")]));
    assert_eq!(of("x.pkg.tar.gz", &arch), expected);
    // A signature, metadata, and the files, one compressed stream after the other.
    let signature = gzip(cut(&tar(&[(".SIGN.RSA.key.pub", b"signed")])));
    let (metadata, files) =
        (gzip(cut(&tar(&[(".PKGINFO", info)]))), gzip(&tar(&[("usr/bin/x", b"\x7fELF")])));
    assert_eq!(of("x.apk", &[signature, metadata, files].concat()), expected);
    // Some file of that name in an archive is no metadata.
    assert_eq!(of("x.tar.gz", &gzip(&tar(&[("usr/x", b""), (".PKGINFO", info)]))), Identity::default());
}

#[test]
fn bytes_that_are_no_package_are_nothing() {
    for bytes in
        [&b""[..], b"\x7fELF", b"PK\x03\x04", b"\x1f\x8b\x08\x00", b"!<arch>\ndebian-binary   ", b"BZh9"]
    {
        assert_eq!(of("x.whl", bytes), Identity::default());
    }
}
