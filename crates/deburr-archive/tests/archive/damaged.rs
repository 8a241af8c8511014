//! Damaged indices: an error, or entries; never a panic. One that is cut off is always an error, and of a project a remark.

use super::held::{Held, debian, rpm};
use super::{Random, all, names, sample};
use deburr_archive::{Entry, Kind, Selection, kind_of};

/// A real index, alone: as it is, and in the archive that states its hash, if one does.
struct Index {
    name: &'static str,
    bytes: Vec<u8>,
    kind: Kind,
    selection: Selection,
    archive: fn(&[u8]) -> Held,
}

fn in_release(bytes: &[u8]) -> Held {
    let packages = sample("debian/dists/bookworm-updates/main/binary-arm64/Packages.xz");
    Held::new([
        ("dists/bookworm-updates/InRelease", bytes),
        ("dists/bookworm-updates/main/binary-arm64/Packages.xz", &packages),
    ])
}

/// The hash is that of what is there: the parser alone has to find the damage.
fn packages(bytes: &[u8]) -> Held {
    debian("arm64", "main", &[("main/binary-arm64/Packages", bytes)])
}

fn packages_xz(bytes: &[u8]) -> Held {
    debian("arm64", "main", &[("main/binary-arm64/Packages.xz", bytes)])
}

fn repomd(bytes: &[u8]) -> Held {
    Held::new([
        ("repodata/repomd.xml", bytes),
        ("repodata/primary.xml.gz", &sample("rpm/gz/repodata/primary.xml.gz")),
    ])
}

fn page(bytes: &[u8]) -> Held {
    Held::new([("simple/numpy/", bytes)])
}

fn unpacked(compressed: &[u8]) -> Vec<u8> {
    let codec =
        if compressed.starts_with(&[0x1f]) { deburr_package::Codec::Gzip } else { deburr_package::Codec::Xz };
    let mut unpacked = Vec::new();
    let mut decoder = deburr_package::decoder(codec, compressed, &deburr_package::Limits::default());
    std::io::Read::read_to_end(&mut decoder, &mut unpacked).expect("a whole sample");
    unpacked
}

fn indices() -> Vec<Index> {
    let compressed = sample("debian/dists/bookworm-updates/main/binary-arm64/Packages.xz");
    let primary = sample("rpm/gz/repodata/primary.xml.gz");
    let updates = |suite: &str| Selection {
        suites: names(&[suite]),
        components: names(&["main"]),
        architectures: names(&["arm64"]),
        all_versions: true,
        ..Selection::default()
    };
    let every = Selection { all_versions: true, ..Selection::default() };
    let numpy = Selection { packages: names(&["numpy"]), ..every.clone() };
    let index = |name, bytes, kind, selection, archive| Index { name, bytes, kind, selection, archive };
    vec![
        index(
            "InRelease",
            sample("debian/dists/bookworm-updates/InRelease"),
            Kind::Debian,
            updates("bookworm-updates"),
            in_release,
        ),
        index("Packages", unpacked(&compressed), Kind::Debian, updates("s"), packages),
        index("Packages.xz", compressed, Kind::Debian, updates("s"), packages_xz),
        index("repomd.xml", sample("rpm/gz/repodata/repomd.xml"), Kind::Rpm, every.clone(), repomd),
        index("primary.xml", unpacked(&primary), Kind::Rpm, every.clone(), |bytes| rpm("primary.xml", bytes)),
        index("primary.xml.gz", primary, Kind::Rpm, every, |bytes| rpm("primary.xml.gz", bytes)),
        index("numpy.json", sample("pypi/numpy.json"), Kind::PyPi, numpy.clone(), page),
        index("numpy.html", sample("pypi/numpy.html"), Kind::PyPi, numpy, page),
    ]
}

/// What holds of every entry, whatever the index.
fn hold(entry: &Entry) {
    let is_url = entry.path.starts_with("https://") || entry.path.starts_with("http://");
    let is_below =
        !entry.path.starts_with('/') && entry.path.split('/').all(|part| !["", ".", ".."].contains(&part));
    assert!(is_url || is_below && !entry.path.contains("://"), "{entry:?}");
    let texts = [&entry.path, &entry.package, &entry.version, &entry.architecture];
    assert!(texts.iter().all(|text| !text.is_empty() && !text.contains(char::is_control)), "{entry:?}");
    assert!(entry.sha256.as_ref().is_none_or(|hash| hash.len() == 64), "{entry:?}");
}

#[test]
fn an_index_that_is_cut_off_is_an_error_and_a_page_without_its_end_has_no_entry() {
    for index in indices() {
        let (whole, result) = all(&(index.archive)(&index.bytes), index.kind, &index.selection);
        assert!(result.is_ok() && whole.len() >= 10, "{}", index.name);
        // Its last line end is no part of what it says.
        let end = index.bytes.trim_ascii_end().len();
        for end in (0..end).step_by(64).chain([end - 1]) {
            let archive = (index.archive)(&index.bytes[..end]);
            let (found, result) = all(&archive, index.kind, &index.selection);
            found.iter().for_each(hold);
            // A stanza may end with any of its lines; that its hash is stated is what finds it.
            let is_line = index.name == "Packages" && (end == 0 || index.bytes[end - 1] == b'\n');
            let is_seen = match (index.kind, &result) {
                (Kind::PyPi, Ok(remarks)) => found.is_empty() && remarks.first.len() == 1,
                (_, result) => result.is_err(),
            };
            assert!(is_seen || is_line, "{} is cut off at {end}: {result:?}", index.name);
        }
    }
}

#[test]
fn an_index_that_is_shorter_than_stated_is_an_error_wherever_it_ends() {
    for name in ["Packages", "Packages.xz", "primary.xml", "primary.xml.gz"] {
        let index = indices().into_iter().find(|index| index.name == name).expect("an index");
        let mut archive = (index.archive)(&index.bytes);
        let path =
            archive.files.iter().find(|(_, bytes)| **bytes == index.bytes).map(|(path, _)| path.clone());
        let path = path.expect("the index is in its archive");
        for end in (0..index.bytes.len()).step_by(64).chain([index.bytes.len() - 1]) {
            archive.files.insert(path.clone(), index.bytes[..end].to_vec());
            let (_, result) = all(&archive, index.kind, &index.selection);
            assert!(result.is_err(), "{name} is cut off at {end}");
        }
    }
}

#[test]
fn changed_bytes_give_an_error_or_entries() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for index in indices() {
        let (mut errors, mut remarks) = (0, 0);
        for _ in 0..500 {
            let mut changed = index.bytes.clone();
            for _ in 0..=random.below(6) {
                let at = random.below(changed.len());
                match random.below(4) {
                    0 => changed[at] = random.below(256) as u8,
                    1 => changed[at] ^= 1 << random.below(8),
                    2 => drop(changed.remove(at)),
                    _ => {
                        let from = random.below(changed.len());
                        let part = changed[from..changed.len().min(from + 40)].to_vec();
                        changed.splice(at..at, part);
                    }
                }
            }
            let archive = (index.archive)(&changed);
            let (found, result) = all(&archive, index.kind, &index.selection);
            found.iter().for_each(hold);
            match result {
                Ok(said) => remarks += said.first.len(),
                Err(error) => {
                    errors += 1;
                    assert!(!error.to_string().contains(char::is_control), "{error}");
                }
            }
            assert!(kind_of(&archive, &index.selection).is_ok());
        }
        assert!(errors + remarks > 50, "{}: {errors} errors and {remarks} remarks", index.name);
    }
}
