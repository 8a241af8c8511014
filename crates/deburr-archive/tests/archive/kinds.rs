//! What an archive is, by what is there.

use super::held::{Held, debian, primary, rpm};
use super::{Folder, names, sample};
use deburr_archive::{Kind, Selection, kind_of};
use std::io::ErrorKind;

fn kind(held: &Held, selection: &Selection) -> Option<Kind> {
    kind_of(held, selection).unwrap_or_else(|error| panic!("{error}"))
}

fn of(suites: &[&str], packages: &[&str]) -> Selection {
    Selection { suites: names(suites), packages: names(packages), ..Selection::default() }
}

#[test]
fn real_archives_are_what_they_are() {
    let updates = of(&["bookworm-updates"], &[]);
    assert_eq!(kind_of(&Folder("debian"), &updates).expect("a folder"), Some(Kind::Debian));
    // No suite is known, but there is the folder of suites.
    assert_eq!(kind_of(&Folder("debian"), &Selection::default()).expect("a folder"), Some(Kind::Debian));
    for folder in ["rpm/gz", "rpm/xz"] {
        assert_eq!(kind_of(&Folder(folder), &updates).expect("a folder"), Some(Kind::Rpm));
    }
    for (page, place) in [("pypi/numpy.json", "simple/numpy/"), ("pypi/numpy.html", "numpy/")] {
        assert_eq!(kind(&Held::new([(place, &sample(page))]), &of(&[], &["NumPy"])), Some(Kind::PyPi));
    }
    // Folders of files, and no archives.
    for folder in ["pypi", "rpm", "."] {
        assert_eq!(
            kind_of(&Folder(folder), &of(&["stable"], &["numpy"])).expect("a folder"),
            None,
            "{folder}"
        );
    }
}

#[test]
fn a_list_of_all_projects_is_an_index() {
    let html = b"<!DOCTYPE html><html><head><meta name=\"pypi:repository-version\" content=\"1.3\"><title>Simple index</title>";
    let json = b"{\"meta\": {\"api-version\": \"1.0\"}, \"projects\": [";
    for place in ["simple/", "", "simple/index.html", "index.html"] {
        for page in [html.as_slice(), json] {
            assert_eq!(kind(&Held::new([(place, page)]), &Selection::default()), Some(Kind::PyPi), "{place}");
        }
    }
}

#[test]
fn a_listing_of_suites_is_an_archive() {
    let listing = b"<html><head><title>Index of /debian/dists</title></head>";
    assert_eq!(kind(&Held::new([("dists/", listing)]), &Selection::default()), Some(Kind::Debian));
    assert_eq!(kind(&debian("arm64", "main", &[]), &of(&["s"], &[])), Some(Kind::Debian));
    assert_eq!(kind(&debian("arm64", "main", &[]), &Selection::default()), None);
}

/// A server that answers to every path with the same page.
#[test]
fn an_answer_to_everything_is_no_archive() {
    for page in [
        "<html><head><title>Welcome</title></head><body>Not found</body></html>",
        "{\"error\": \"not found\"}",
        "not found",
        "",
    ] {
        let mut held = Held::default();
        for path in [
            "repodata/repomd.xml",
            "dists/s/InRelease",
            "dists/s/Release",
            "dists/stable/InRelease",
            "dists/stable/Release",
            "dists/",
            "simple/x/",
            "x/",
            "simple/",
            "",
        ] {
            held.files.insert(path.to_owned(), page.as_bytes().to_vec());
        }
        assert_eq!(kind(&held, &of(&["s"], &["x"])), None, "{page}");
    }
}

#[test]
fn what_cannot_be_read_is_an_error_unless_something_else_is_there() {
    let mut held = rpm("primary.xml", primary("").as_bytes());
    held.failing = Some(("dists/".to_owned(), ErrorKind::PermissionDenied));
    assert_eq!(kind(&held, &Selection::default()), Some(Kind::Rpm));
    held.failing = Some(("repodata/repomd.xml".to_owned(), ErrorKind::PermissionDenied));
    let error = kind_of(&held, &Selection::default()).expect_err("it cannot be known");
    assert_eq!(error.to_string(), "repodata/repomd.xml: it fails");
    held.files = debian("arm64", "main", &[]).files;
    assert_eq!(kind(&held, &of(&["s"], &[])), Some(Kind::Debian));
}
