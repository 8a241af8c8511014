//! Debian's archives.

use super::held::{Held, debian, gzip, sha256, stanza, xz};
use super::{Folder, all, clean, names, paths, refused, remarked};
use deburr_archive::{Entry, Error, Fetch, Kind, Place, Selection};
use std::io::{self, ErrorKind, Read};

const DEBIAN: Kind = Kind::Debian;

fn suite(name: &str) -> Selection {
    Selection { suites: names(&[name]), ..Selection::default() }
}

fn every() -> Selection {
    Selection { all_versions: true, ..suite("s") }
}

#[test]
fn a_real_suite_has_the_packages_that_its_index_names() {
    let updates = Selection {
        components: names(&["main"]),
        architectures: names(&["arm64"]),
        all_versions: true,
        ..suite("bookworm-updates")
    };
    let found = clean(&Folder("debian"), DEBIAN, &updates);
    assert_eq!(found.len(), 31);
    assert!(found.iter().all(|entry| entry.architecture == "arm64"));
    // The same architecture by its other name, and the newest of each: the suite has no package twice.
    let newest = Selection { architectures: names(&["aarch64"]), all_versions: false, ..updates.clone() };
    assert_eq!(clean(&Folder("debian"), DEBIAN, &newest).len(), 31);
    // Where none is named, those for all architectures, too; the sample has the index of one of the others.
    let every = Selection { architectures: Vec::new(), ..updates };
    let (found, remarks) = remarked(&Folder("debian"), DEBIAN, &every);
    assert_eq!(found.len(), 38);
    let is_missing = |remark: &String| remark.ends_with("listed, but none of its forms is there");
    assert!(remarks.iter().all(is_missing), "{remarks:?}");
    let client =
        found.iter().find(|entry| entry.package == "ca-certificates").expect("a package of the suite");
    let expected = Entry {
        path: "pool/main/c/ca-certificates/ca-certificates_20230311+deb12u1_all.deb".to_owned(),
        size: Some(155_260),
        sha256: Some("0d5f444f594e48c1e16a41d8fc628a09b24c658916a1274025c2330f2a802bed".to_owned()),
        package: "ca-certificates".to_owned(),
        version: "20230311+deb12u1".to_owned(),
        architecture: "all".to_owned(),
    };
    assert_eq!(*client, expected);
}

#[test]
fn a_suite_has_to_be_named_and_to_be_there() {
    let error = refused(&Folder("debian"), DEBIAN, &Selection::default());
    assert!(error.contains("--suite"), "{error}");
    let error = refused(&Folder("debian"), DEBIAN, &suite("trixie"));
    assert!(error.contains("there is no suite trixie (--suite)"), "{error}");
    for outside in ["../../etc", "/etc", "a/../..", ""] {
        let held = Held::default();
        assert!(refused(&held, DEBIAN, &suite(outside)).contains("--suite"));
        assert!(held.asked.borrow().is_empty(), "{outside}");
    }
}

#[test]
fn what_the_suite_does_not_have_is_an_error_that_says_what_it_has() {
    let held = debian(
        "arm64 amd64",
        "main",
        &[("main/binary-arm64/Packages", b""), ("main/binary-amd64/Packages", b"")],
    );
    let error = refused(&held, DEBIAN, &Selection { components: names(&["contrib"]), ..suite("s") });
    assert!(error.contains("no component \"contrib\" (--component): it has \"main\""), "{error}");
    let error = refused(&held, DEBIAN, &Selection { architectures: names(&["armhf"]), ..suite("s") });
    assert!(error.contains("no architecture \"armhf\" (--architecture): it has \"arm64 amd64\""), "{error}");
    assert!(clean(&held, DEBIAN, &suite("s")).is_empty());
}

#[test]
fn the_smallest_form_that_is_there_is_read() {
    let text = stanza("a", "1", "arm64");
    let (compressed, smaller) = (gzip(text.as_bytes()), xz(text.as_bytes()));
    let forms: [(&str, &[u8]); 3] = [
        ("main/binary-arm64/Packages", text.as_bytes()),
        ("main/binary-arm64/Packages.gz", &compressed),
        ("main/binary-arm64/Packages.xz", &smaller),
    ];
    let mut held = debian("arm64", "main", &forms);
    for form in ["Packages.xz", "Packages.gz", "Packages"] {
        held.asked.borrow_mut().clear();
        assert_eq!(paths(&clean(&held, DEBIAN, &every())), ["pool/a_1_arm64.deb"]);
        let path = format!("dists/s/main/binary-arm64/{form}");
        assert_eq!(held.asked.borrow().last(), Some(&path));
        held.files.remove(&path);
    }
    let both = Selection { architectures: names(&["arm64"]), components: names(&["main"]), ..suite("s") };
    let error = refused(&held, DEBIAN, &both);
    assert!(error.contains("main/binary-arm64/Packages: listed, but none of its forms is there"), "{error}");
    // Nobody named it, but there is no other.
    assert!(refused(&held, DEBIAN, &suite("s")).contains("no index that it lists is there"));
}

#[test]
fn an_index_that_cannot_be_read_is_no_index_that_is_missing() {
    let text = stanza("a", "1", "arm64");
    let compressed = xz(text.as_bytes());
    let mut held = debian(
        "arm64",
        "main",
        &[("main/binary-arm64/Packages.xz", &compressed), ("main/binary-arm64/Packages", text.as_bytes())],
    );
    for path in ["dists/s/InRelease", "dists/s/Release", "dists/s/main/binary-arm64/Packages.xz"] {
        held.failing = Some((path.to_owned(), ErrorKind::PermissionDenied));
        let error = refused(&held, DEBIAN, &every());
        assert_eq!(error, format!("{path}: it fails"));
    }
}

#[test]
fn an_architecture_that_a_mirror_leaves_out_is_a_remark() {
    let text = stanza("a", "1", "arm64");
    let indices: [(&str, &[u8]); 2] =
        [("main/binary-arm64/Packages", text.as_bytes()), ("main/binary-armhf/Packages", b"")];
    let mut held = debian("arm64 armhf mips", "main", &indices);
    held.files.remove("dists/s/main/binary-armhf/Packages");
    let (found, remarks) = remarked(&held, DEBIAN, &every());
    assert_eq!(paths(&found), ["pool/a_1_arm64.deb"]);
    assert_eq!(remarks.len(), 2, "{remarks:?}");
    assert_eq!(remarks[0], "dists/s/Release: lists no index of main, mips, which it names");
    assert_eq!(remarks[1], "dists/s/main/binary-armhf/Packages: listed, but none of its forms is there");
}

/// As in Debian's security archive.
#[test]
fn a_component_is_named_with_its_folder_or_without() {
    let text = stanza("a", "1", "arm64");
    let indices: [(&str, &[u8]); 2] =
        [("main/binary-arm64/Packages", text.as_bytes()), ("contrib/binary-arm64/Packages", b"")];
    let held = debian("arm64", "updates/main updates/contrib", &indices);
    for (component, count) in [("main", 1), ("updates/main", 1), ("contrib", 0)] {
        let selection = Selection { components: names(&[component]), ..every() };
        assert_eq!(clean(&held, DEBIAN, &selection).len(), count, "{component}");
    }
    let error = refused(&held, DEBIAN, &Selection { components: names(&["updates"]), ..every() });
    assert!(error.contains("no component \"updates\""), "{error}");
}

#[test]
fn what_a_release_names_and_does_not_list_is_an_error_if_it_was_asked_for() {
    let text = stanza("a", "1", "arm64");
    let held = debian("arm64 armhf", "main contrib", &[("main/binary-arm64/Packages", text.as_bytes())]);
    let arm = Selection { architectures: names(&["arm64"]), ..every() };
    let (found, remarks) = remarked(&held, DEBIAN, &arm);
    assert_eq!(found.len(), 1);
    assert_eq!(remarks, ["dists/s/Release: lists no index of contrib, arm64, which it names"]);
    let contrib = Selection { components: names(&["contrib"]), ..arm };
    assert!(refused(&held, DEBIAN, &contrib).contains("lists no index of contrib, arm64"));
}

#[test]
fn an_index_that_is_not_as_stated_is_an_error() {
    let text = [stanza("a", "1", "arm64"), stanza("b", "1", "arm64")].concat();
    let other = text.replace("Size: 1000", "Size: 1001");
    let longer = [text.as_str(), &stanza("c", "1", "arm64")].concat();
    let shorter = stanza("a", "1", "arm64");
    type Form = fn(&[u8]) -> Vec<u8>;
    for (form, compress) in [("", (|bytes| bytes.to_vec()) as Form), (".gz", gzip), (".xz", xz)] {
        let path = format!("main/binary-arm64/Packages{form}");
        let compressed = compress(text.as_bytes());
        let mut held = debian("arm64", "main", &[(&path, &compressed)]);
        assert_eq!(clean(&held, DEBIAN, &every()).len(), 2);
        let trailing = [compressed.as_slice(), &compressed].concat();
        for changed in [
            compress(other.as_bytes()),
            compress(longer.as_bytes()),
            compress(shorter.as_bytes()),
            Vec::new(),
            trailing,
        ] {
            held.files.insert(format!("dists/s/{path}"), changed);
            let (_, result) = all(&held, DEBIAN, &every());
            let error = result.expect_err("a changed index");
            assert!(matches!(&error, Error::Read { index, .. } if index.ends_with(&path)), "{form}: {error}");
        }
    }
}

/// A server that never ends: of `Packages`, the release states a few bytes.
struct Endless(Held);

impl Fetch for Endless {
    fn read(&self, path: &str, headers: &[(&str, &str)], most: u64) -> io::Result<Box<dyn io::Read + '_>> {
        let read = self.0.read(path, headers, most)?;
        Ok(if path.ends_with("Packages") { Box::new(read.chain(io::repeat(b'\n'))) } else { read })
    }
}

#[test]
fn no_more_of_an_index_is_read_than_is_stated() {
    let text = stanza("a", "1", "arm64");
    let held = debian("arm64", "main", &[("main/binary-arm64/Packages", text.as_bytes())]);
    let error = refused(&Endless(held), DEBIAN, &every());
    let bytes = format!("or more where {} are stated", text.len());
    assert!(error.contains(&bytes), "{error}");
}

#[test]
fn the_newest_version_of_each_package_and_architecture_is_found_once() {
    let text = [
        stanza("a", "1.0-1", "arm64"),
        stanza("a", "1.0-1~bpo1", "arm64"),
        stanza("a", "1:0.1", "all"),
        stanza("b", "9", "arm64"),
        stanza("b", "10", "arm64"),
        stanza("b", "10~rc1", "arm64"),
    ]
    .concat();
    let other = [stanza("a", "1.0-2", "amd64"), stanza("a", "1:0.1", "all")].concat();
    let held = debian(
        "arm64 amd64",
        "main",
        &[("main/binary-arm64/Packages", text.as_bytes()), ("main/binary-amd64/Packages", other.as_bytes())],
    );
    let newest = clean(&held, DEBIAN, &suite("s"));
    let expected =
        ["pool/a_1:0.1_all.deb", "pool/a_1.0-2_amd64.deb", "pool/a_1.0-1_arm64.deb", "pool/b_10_arm64.deb"];
    assert_eq!(paths(&newest), expected);
    let every = clean(&held, DEBIAN, &every());
    assert_eq!(every.len(), 7, "{:?}", paths(&every));
    let arm = Selection { architectures: names(&["arm64"]), ..suite("s") };
    assert_eq!(paths(&clean(&held, DEBIAN, &arm)), [expected[2], expected[3]]);
    let (named, remarks) =
        remarked(&held, DEBIAN, &Selection { packages: names(&["b", "no-such", "B"]), ..suite("s") });
    assert_eq!(paths(&named), ["pool/b_10_arm64.deb"]);
    assert_eq!(remarks, ["the archive: names no package \"B\"", "the archive: names no package \"no-such\""]);
}

#[test]
fn the_newest_of_several_suites_is_found() {
    let mut held =
        debian("arm64", "main", &[("main/binary-arm64/Packages", stanza("a", "1", "arm64").as_bytes())]);
    let other =
        debian("arm64", "main", &[("main/binary-arm64/Packages", stanza("a", "2", "arm64").as_bytes())]);
    held.files.extend(other.files.into_iter().map(|(path, bytes)| (path.replace("/s/", "/t/"), bytes)));
    for suites in [["s", "t"], ["t", "s"]] {
        let both = Selection { suites: names(&suites), ..Selection::default() };
        assert_eq!(paths(&clean(&held, DEBIAN, &both)), ["pool/a_2_arm64.deb"]);
    }
    // Of the same version the one that is met first.
    let rebuilt = stanza("a", "1", "arm64").replace("pool/", "rebuilt/");
    let other = debian("arm64", "main", &[("main/binary-arm64/Packages", rebuilt.as_bytes())]);
    held.files.extend(other.files.into_iter().map(|(path, bytes)| (path.replace("/s/", "/t/"), bytes)));
    for (suites, path) in [(["s", "t"], "pool/a_1_arm64.deb"), (["t", "s"], "rebuilt/a_1_arm64.deb")] {
        let both = Selection { suites: names(&suites), ..Selection::default() };
        assert_eq!(paths(&clean(&held, DEBIAN, &both)), [path]);
    }
}

#[test]
fn the_index_of_all_is_read_where_the_others_lack_it() {
    let (arm, all) = (stanza("a", "1", "arm64"), stanza("d", "1", "all"));
    let indices: [(&str, &[u8]); 2] =
        [("main/binary-all/Packages", all.as_bytes()), ("main/binary-arm64/Packages", arm.as_bytes())];
    let mut held = debian("all arm64", "main", &indices);
    let of = |architectures: &[&str]| Selection { architectures: names(architectures), ..every() };
    for selection in [of(&[]), of(&["arm64", "all"])] {
        assert_eq!(paths(&clean(&held, DEBIAN, &selection)), ["pool/d_1_all.deb", "pool/a_1_arm64.deb"]);
    }
    let release = held.files.get_mut("dists/s/Release").expect("a release");
    *release = [b"No-Support-for-Architecture-all: Packages\n".as_slice(), release].concat();
    assert_eq!(paths(&clean(&held, DEBIAN, &of(&[]))), ["pool/a_1_arm64.deb"]);
    assert_eq!(paths(&clean(&held, DEBIAN, &of(&["all"]))), ["pool/d_1_all.deb"]);
}

#[test]
fn packages_for_all_architectures_are_wanted_by_name_where_some_are_named() {
    let arm = [stanza("a", "1", "arm64"), stanza("d", "1", "all")].concat();
    let all = stanza("d", "1", "all");
    let indices: [(&str, &[u8]); 2] =
        [("main/binary-all/Packages", all.as_bytes()), ("main/binary-arm64/Packages", arm.as_bytes())];
    let held = debian("all arm64", "main", &indices);
    let of = |architectures: &[&str]| Selection { architectures: names(architectures), ..every() };
    for architectures in [&["arm64", "all"][..], &[]] {
        assert_eq!(clean(&held, DEBIAN, &of(architectures)).len(), 2, "{architectures:?}");
    }
    held.asked.borrow_mut().clear();
    assert_eq!(paths(&clean(&held, DEBIAN, &of(&["aarch64"]))), ["pool/a_1_arm64.deb"]);
    assert!(!held.asked.borrow().iter().any(|path| path.contains("binary-all")), "its index is not read");
    assert_eq!(paths(&clean(&held, DEBIAN, &of(&["all"]))), ["pool/d_1_all.deb"]);
    // One that is named and for others is not passed over without a word.
    let (found, remarks) = remarked(&held, DEBIAN, &Selection { packages: names(&["d"]), ..of(&["arm64"]) });
    assert!(found.is_empty());
    assert_eq!(remarks, ["the archive: names no package \"d\" of a wanted architecture"]);
}

/// What a faulty stanza is left out with; the ones before and after it are found.
fn fault(stanza_text: &str) -> String {
    let text =
        [&stanza("a", "1", "arm64"), stanza_text.trim_end(), "\n\n", &stanza("z", "1", "arm64")].concat();
    let held = debian("arm64", "main", &[("main/binary-arm64/Packages", text.as_bytes())]);
    let (found, remarks) = remarked(&held, DEBIAN, &every());
    assert_eq!(paths(&found), ["pool/a_1_arm64.deb", "pool/z_1_arm64.deb"], "{stanza_text}");
    assert_eq!(remarks.len(), 1, "{remarks:?}");
    let place = "dists/s/main/binary-arm64/Packages, line 8: ";
    remarks[0].strip_prefix(place).unwrap_or_else(|| panic!("{remarks:?}")).to_owned()
}

#[test]
fn a_faulty_stanza_is_a_remark_and_no_end() {
    let whole = stanza("f", "1", "arm64");
    for field in ["Package", "Version", "Architecture", "Filename"] {
        let without: String =
            whole.lines().filter(|line| !line.starts_with(field)).map(|line| format!("{line}\n")).collect();
        let what = fault(&without);
        assert!(what.ends_with(&format!("has no {field}: left out")), "{what}");
        let twice = format!("{field}: x\n{}", whole.trim_end());
        assert!(fault(&twice).contains(&format!("has {field} twice")));
    }
    for (old, new, what) in [
        ("Size: 1000", "Size: 1e3", "Size \"1e3\" is no number"),
        ("Size: 1000", "Size: +1", "Size \"+1\" is no number"),
        ("Size: 1000", "Size: 99999999999999999999", "is no number"),
        ("SHA256: ", "SHA256: g", "is none"),
        ("Version: 1", "Version: ^1", "Version \"^1\" is none of Debian's"),
        ("Filename: pool/", "Filename: /pool/", "is absolute"),
        ("Filename: pool/", "Filename: ../pool/", "leaves the root"),
        ("Filename: pool/", "Filename: pool/../../", "leaves the root"),
        ("Filename: pool/", "Filename: https://elsewhere/", "is no path"),
        ("Version: 1", "Version: 1\n 2", "Version goes on in a second line"),
        ("Version: 1", "no colon", "\"no colon\" is no field"),
        ("Package: f", " Package: f", "begins with a line that continues nothing"),
        ("Package: f", "Package: f\x1b[2J", "Package is no text"),
        ("Package: f", "Package: f\0", "Package is no text"),
    ] {
        let changed = whole.replacen(old, new, 1);
        assert_ne!(changed, whole);
        let found = fault(changed.trim_end());
        assert!(found.contains(what), "{new}: {found}");
        assert!(!found.contains('\x1b') && !found.contains('\0'), "{found:?}");
    }
}

#[test]
fn what_is_no_fault_is_no_remark() {
    let text = "package:a\nVERSION:  1 \r\nDescription: x\n .\n and: on\n\tPackage: b\nArchitecture: arm64\n\
                Filename: ./pool//a.deb\nTag: a::b\n";
    let other =
        "\n \n\nPackage: b\nVersion: 1\nArchitecture: arm64\nFilename: b.deb\nMaintainer: J\u{fc}rgen\n";
    let mut bytes = [text, other].concat().into_bytes();
    // Latin-1 where nobody reads.
    bytes.extend(b"Homepage: \xfc\n");
    let held = debian("arm64", "main", &[("main/binary-arm64/Packages", &bytes)]);
    let found = clean(&held, DEBIAN, &every());
    assert_eq!(paths(&found), ["pool/a.deb", "b.deb"]);
    assert_eq!((found[0].version.as_str(), found[0].size, &found[0].sha256), ("1", None, &None));
}

#[test]
fn one_file_with_two_hashes_is_a_remark() {
    let text = stanza("a", "1", "arm64");
    let other = text.replacen("SHA256: ", &format!("SHA256: {}\nX: ", sha256(b"other")), 1);
    let held = debian("arm64", "main", &[("main/binary-arm64/Packages", [text, other].concat().as_bytes())]);
    let (found, remarks) = remarked(&held, DEBIAN, &every());
    assert_eq!(found.len(), 1);
    assert!(remarks[0].contains("\"pool/a_1_arm64.deb\" is named before with another hash"), "{remarks:?}");
}

/// The release of [`debian`] with something changed.
fn release(change: impl Fn(&str) -> String) -> String {
    let text = stanza("a", "1", "arm64");
    let mut held = debian("arm64", "main", &[("main/binary-arm64/Packages", text.as_bytes())]);
    let release = held.files.get_mut("dists/s/Release").expect("a release");
    *release = change(&String::from_utf8_lossy(release)).into_bytes();
    match all(&held, DEBIAN, &every()) {
        (_, Err(error)) => error.to_string(),
        (found, Ok(remarks)) => format!("{} found, {remarks:?}", found.len()),
    }
}

#[test]
fn a_release_that_is_not_whole_is_an_error() {
    assert!(release(str::to_owned).starts_with("1 found"));
    let cut = |by: usize| move |text: &str| text[..text.len() - by].to_owned();
    assert!(release(cut(1)).contains("cut off in a line"));
    assert!(release(|text| text.replace("SHA256:", "SHA512:")).contains("has no section SHA256"));
    assert!(release(|text| text.replace("Components", "X")).contains("no Components"));
    assert!(release(|text| text.replace("Suite: s", "Suite s")).contains("line 1: \"Suite s\" is no field"));
    assert!(
        release(|text| text.replace("Components: main", "Components: main\nComponents: main"))
            .contains("twice")
    );
    assert!(release(|text| format!("{text}SHA256:\n")).contains("line 6: SHA256 twice"));
    assert!(
        release(|text| text.replace("main/binary", "../main/binary")).contains("no path below the suite")
    );
    assert!(release(|text| format!("{text} 00 1 main/binary-arm64/Packages.gz\n")).contains("is no SHA-256"));
    let other = format!(
        "MD5Sum:\n {0} 1 main/binary-arm64/Packages\n {0} 1 main/binary-arm64/Packages.gz\n",
        "0".repeat(32)
    );
    let error = release(|text| other.clone() + text);
    assert!(
        error.contains("\"main/binary-arm64/Packages.gz\" has no SHA256 though it has another hash"),
        "{error}"
    );
}

#[test]
fn a_release_names_no_file_outside_its_suite() {
    let text = stanza("a", "1", "arm64");
    let outside = "../../binary-arm64/Packages";
    let held = debian("arm64", "../..", &[(outside, text.as_bytes())]);
    assert!(refused(&held, DEBIAN, &every()).contains("no path below the suite"));
    assert_eq!(*held.asked.borrow(), ["dists/s/InRelease", "dists/s/Release"]);
}

#[test]
fn a_signed_release_begins_and_ends_with_its_frame() {
    let text = stanza("a", "1", "arm64");
    let mut held = debian("arm64", "main", &[("main/binary-arm64/Packages", text.as_bytes())]);
    let plain = held.files.remove("dists/s/Release").expect("a release");
    let plain = String::from_utf8(plain).expect("text");
    let signed = format!(
        "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n{}-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----\n",
        plain.replace("Suite:", "- Suite:")
    );
    let mut with = |text: &str| {
        held.files.insert("dists/s/InRelease".to_owned(), text.as_bytes().to_vec());
        match all(&held, DEBIAN, &every()) {
            (_, Err(error)) => error.to_string(),
            (found, Ok(_)) => format!("{} found", found.len()),
        }
    };
    assert_eq!(with(&signed), "1 found");
    assert!(with(&plain).contains("line 1: begins no signed message"));
    for end in ["-----END PGP SIGNATURE-----\n", "-----BEGIN PGP SIGNATURE-----\n"] {
        let cut = &signed[..signed.find(end).expect("a line")];
        assert!(with(cut).contains("cut off before its signature ends"), "{end}");
    }
    assert!(with("").contains("cut off before its signature ends"));
}

#[test]
fn a_place_is_that_of_the_fault() {
    let text = format!("{}Package: b\nVersion", stanza("a", "1", "arm64"));
    let held = debian("arm64", "main", &[("main/binary-arm64/Packages", text.as_bytes())]);
    let (found, result) = all(&held, DEBIAN, &every());
    assert_eq!(found.len(), 1);
    match result.expect_err("cut off") {
        Error::Index { index, place: Place::Line(9), what } => {
            assert_eq!(
                (index.as_str(), what.as_str()),
                ("dists/s/main/binary-arm64/Packages", "cut off in a line")
            );
        }
        error => panic!("{error:?}"),
    }
}
