//! RPM repositories.

use super::held::{Held, gzip, package, primary, rpm, sha256, xz, zstd};
use super::{Folder, all, clean, names, paths, refused, remarked};
use deburr_archive::{Entry, Error, Kind, Selection};

const RPM: Kind = Kind::Rpm;

fn every() -> Selection {
    Selection { all_versions: true, ..Selection::default() }
}

#[test]
fn real_repositories_have_the_packages_that_were_indexed() {
    for folder in ["rpm/gz", "rpm/xz"] {
        let found = clean(&Folder(folder), RPM, &every());
        assert_eq!(found.len(), 10, "{folder}");
        let first = found.iter().find(|entry| entry.package == "deburr++d").expect("a package");
        let expected = ("packages/x86_64/deburr++d-0-0.1.fc40.x86_64.rpm", "0-0.1.fc40", "x86_64");
        assert_eq!((first.path.as_str(), first.version.as_str(), first.architecture.as_str()), expected);
        assert!(first.size.is_some_and(|size| size > 1000) && first.sha256.is_some());
        let newest = clean(&Folder(folder), RPM, &Selection::default());
        let newest: Vec<(&str, &str, &str)> = newest
            .iter()
            .map(|entry| (entry.package.as_str(), entry.version.as_str(), entry.architecture.as_str()))
            .collect();
        let expected = [
            ("deburr++d", "0-0.1.fc40", "x86_64"),
            ("deburr-a", "1.0^git1-1", "aarch64"),
            ("deburr-a", "1.0-1", "x86_64"),
            ("deburr-b", "1:9-1", "aarch64"),
            ("deburr-c", "2.01-2", "noarch"),
        ];
        assert_eq!(newest, expected, "{folder}");
    }
}

#[test]
fn every_compression_is_read() {
    let text = primary(&package("a", ("0", "1", "2"), "aarch64"));
    let expected = Entry {
        path: "p/a-0-1-2.aarch64.rpm".to_owned(),
        size: Some(7),
        sha256: Some(sha256(b"a 0 1 2 aarch64")),
        package: "a".to_owned(),
        version: "1-2".to_owned(),
        architecture: "aarch64".to_owned(),
    };
    let bytes = text.as_bytes();
    for (name, bytes) in [
        ("primary.xml", bytes.to_vec()),
        ("1234-primary.xml.gz", gzip(bytes)),
        ("primary.xml.xz", xz(bytes)),
        ("primary.xml.zst", zstd(bytes)),
    ] {
        assert_eq!(clean(&rpm(name, &bytes), RPM, &every()), std::slice::from_ref(&expected), "{name}");
        let mut changed = rpm(name, &bytes);
        let path = format!("repodata/{name}");
        for bytes in [
            xz(b"<metadata/>"),
            b"<metadata></metadata>".to_vec(),
            bytes[..bytes.len() - 1].to_vec(),
            [bytes.as_slice(), b" "].concat(),
        ] {
            changed.files.insert(path.clone(), bytes);
            let error = refused(&changed, RPM, &every());
            assert!(error.starts_with(&path), "{name}: {error}");
        }
    }
}

#[test]
fn architectures_and_names_are_selected() {
    let text = primary(
        &[
            package("a", ("0", "1", "1"), "aarch64"),
            package("a", ("0", "1", "1"), "i686"),
            package("b", ("0", "1", "1"), "noarch"),
        ]
        .concat(),
    );
    let held = rpm("primary.xml", text.as_bytes());
    let arm = Selection { architectures: names(&["arm64"]), ..every() };
    assert_eq!(paths(&clean(&held, RPM, &arm)), ["p/a-0-1-1.aarch64.rpm"]);
    let both = Selection { architectures: names(&["arm64", "noarch"]), ..every() };
    assert_eq!(paths(&clean(&held, RPM, &both)), ["p/a-0-1-1.aarch64.rpm", "p/b-0-1-1.noarch.rpm"]);
    let (found, remarks) = remarked(&held, RPM, &Selection { packages: names(&["b", "c"]), ..every() });
    assert_eq!(paths(&found), ["p/b-0-1-1.noarch.rpm"]);
    assert_eq!(remarks, ["repodata/primary.xml: names no package \"c\""]);
}

/// What a faulty package is left out with; those before and after it are found.
fn fault(faulty: &str) -> String {
    let (before, after) =
        (package("a", ("0", "1", "1"), "aarch64"), package("z", ("0", "1", "1"), "aarch64"));
    let held = rpm("primary.xml", primary(&[before.as_str(), faulty, &after].concat()).as_bytes());
    let (found, remarks) = remarked(&held, RPM, &every());
    assert_eq!(paths(&found), ["p/a-0-1-1.aarch64.rpm", "p/z-0-1-1.aarch64.rpm"], "{faulty}");
    assert_eq!(remarks.len(), 1, "{faulty}: {remarks:?}");
    remarks[0]
        .strip_prefix("repodata/primary.xml, record 2: ")
        .unwrap_or_else(|| panic!("{remarks:?}"))
        .to_owned()
}

#[test]
fn a_faulty_package_is_a_remark_and_no_end() {
    let whole = package("f", ("0", "1", "1"), "aarch64");
    for (old, new, what) in [
        ("<name>f</name>", "", "has no name"),
        ("<arch>aarch64</arch>", "<arch> </arch>", "has no architecture"),
        (" ver=\"1\"", "", "has no version"),
        (" rel=\"1\"", "", "has no release"),
        ("epoch=\"0\"", "epoch=\"x\"", "the epoch \"x\" is no number"),
        ("package=\"7\"", "package=\"-7\"", "the size \"-7\" is no number"),
        ("pkgid=\"YES\">", "pkgid=\"YES\">z", "is no SHA-256"),
        ("href=\"p/", "href=\"/p/", "is absolute"),
        ("href=\"p/", "href=\"../p/", "leaves the root"),
        ("href=\"p/", "href=\"p/..&#47;&#46;./", "leaves the root"),
        ("href=\"p/", "xml:base=\"file:///\" href=\"p/", "is no URL of HTTP"),
        ("href=\"p/", "href=\"https://elsewhere/", "is no path"),
        ("<name>f</name>", "<name>f</name><name>g</name>", "has name twice"),
        ("<size", "<location href=\"x\"/><size", "has location twice"),
        ("<name>f</name>", "<name>f&#27;g</name>", "its name has a control character"),
    ] {
        let changed = whole.replacen(old, new, 1);
        assert_ne!(changed, whole);
        let found = fault(&changed);
        assert!(found.contains(what) && found.ends_with(": left out"), "{new}: {found}");
        assert!(!found.contains('\x1b'), "{found:?}");
    }
}

#[test]
fn text_with_references_is_put_together() {
    let changed =
        package("f", ("0", "1", "1"), "aarch64").replacen("<name>f", "<name>f&amp;<![CDATA[<]]>&#103;", 1);
    let found = clean(&rpm("primary.xml", primary(&changed).as_bytes()), RPM, &every());
    assert_eq!(found[0].package, "f&<g");
}

#[test]
fn a_base_is_a_url_before_the_location() {
    let changed = package("f", ("", "1", "1"), "aarch64").replacen(
        "<location",
        "<location xml:base=\"https://host/r/\"",
        1,
    );
    let found = clean(&rpm("primary.xml", primary(&changed).as_bytes()), RPM, &every());
    assert_eq!(found[0].path, "https://host/r/p/f--1-1.aarch64.rpm");
    assert_eq!(found[0].version, "1-1");
}

#[test]
fn a_checksum_of_another_kind_is_no_sha256() {
    let changed = package("f", ("0", "1", "1"), "aarch64").replacen("\"sha256\"", "\"sha\"", 1);
    let found = clean(&rpm("primary.xml", primary(&changed).as_bytes()), RPM, &every());
    assert_eq!(found[0].sha256, None);
}

#[test]
fn a_repomd_that_is_not_what_it_should_be_is_an_error() {
    let text = primary("");
    let held = rpm("primary.xml", text.as_bytes());
    let repomd = String::from_utf8(held.files["repodata/repomd.xml"].clone()).expect("text");
    let with = |repomd: &str| {
        let held = Held::new([
            ("repodata/repomd.xml", repomd.as_bytes()),
            ("repodata/primary.xml", text.as_bytes()),
        ]);
        match all(&held, RPM, &every()).1 {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(with(&repomd), "");
    assert_eq!(with(&repomd.replace(&format!("<size>{}</size>", text.len()), "")), "");
    let second = "<data type=\"primary\"><checksum type=\"sha256\">00</checksum></data></repomd>";
    for (old, new, what) in [
        ("type=\"primary\"", "type=\"x\"", "lists no primary"),
        ("type=\"sha256\"", "type=\"sha\"", "sha256 or sha512, not \"sha\""),
        ("sha256\">", "sha256\">0", "is no sha256"),
        ("href=\"repodata/primary", "href=\"../primary", "leaves the root"),
        ("href=\"repodata/primary", "href=\"repodata/x", "is not there, though"),
        ("<size>", "<size>x", "is no number"),
        ("<size>", "<size>1", "are stated"),
        ("</size>", "</size><size>1</size>", "two sizes"),
        ("</size>", "</size><checksum/>", "two checksums"),
        ("</size>", "</size><location/>", "two locations"),
        ("</repomd>", second, "primary twice"),
        ("</repomd>", "", "cut off within an element"),
        ("</data></repomd>", "</repomd></data>", "expected `</data>`"),
        ("<repomd", "<html/><repomd", "the element \"html\" where repomd is expected"),
        ("<repomd", "<!DOCTYPE x><repomd", "a document type"),
    ] {
        let changed = repomd.replacen(old, new, 1);
        assert_ne!(changed, repomd, "{old}");
        let error = with(&changed);
        assert!(error.contains(what), "{new}: {error}");
    }
    assert!(with("").contains("no element repomd"));
    assert!(refused(&Held::default(), RPM, &every()).contains("repodata/repomd.xml: is not there"));
}

/// The error of a repository with such a `primary.xml`.
fn hostile(primary: &[u8]) -> String {
    match all(&rpm("primary.xml", primary), RPM, &every()) {
        (_, Err(error @ Error::Index { .. })) => error.to_string(),
        (found, result) => panic!("{} found, {result:?}", found.len()),
    }
}

#[test]
fn hostile_documents_are_refused() {
    let bomb = "<?xml version=\"1.0\"?><!DOCTYPE m [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]><metadata>&b;</metadata>";
    assert!(hostile(bomb.as_bytes()).contains("a document type"));
    let unknown = primary("<package><name>&b;</name></package>");
    assert!(hostile(unknown.as_bytes()).contains("entity \"b\" is not known"));
    let deep = "<metadata>".repeat(1_000_000);
    assert!(hostile(deep.as_bytes()).contains("more than 64 elements"));
    assert!(hostile(b"<metadata><package><name>\xff</name></package></metadata>").contains("record 1"));
    assert!(hostile(b"not XML").contains("no element metadata"));
    assert!(hostile(b"").contains("no element metadata"));
    assert!(hostile(b"<metadata></metadata><metadata></metadata>").contains("where metadata is expected"));
    assert!(hostile(primary("<package><name></package></name>").as_bytes()).contains("expected `</name>`"));
    let twice = primary("<package><location href=\"a\" href=\"b\"/></package>");
    assert!(hostile(twice.as_bytes()).contains("the attribute href twice"));
}

#[test]
fn what_is_too_long_is_refused_before_it_is_held() {
    for (before, after) in [
        ("<package><location href=\"", "\"/></package>"),
        ("<", "/>"),
        ("<!--", "-->"),
        ("", ""),
        ("<package><name>", "</name></package>"),
    ] {
        let text = primary(&[before, &"a".repeat(100 << 20), after].concat());
        let error = hostile(text.as_bytes());
        assert!(error.contains("longer than 1 MiB"), "{before}: {error}");
    }
    // A text in many small parts.
    let parts = primary(&format!("<package><name>{}</name></package>", "&amp;".repeat(2 << 20)));
    let (found, remarks) = remarked(&rpm("primary.xml", parts.as_bytes()), RPM, &every());
    assert!(
        found.is_empty() && remarks[0].contains("name is longer than 1048576 bytes"),
        "{}",
        remarks[0].len()
    );
}

#[test]
fn many_attributes_take_no_more_time_than_they_are_long() {
    let many: String = (0..90_000).map(|number| format!(" a{number}=\"\"")).collect();
    let element =
        package("f", ("0", "1", "1"), "aarch64").replacen("<location", &format!("<location{many}"), 1);
    assert_eq!(clean(&rpm("primary.xml", primary(&element).as_bytes()), RPM, &every()).len(), 1);
}
