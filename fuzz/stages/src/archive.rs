//! Indices of archives: bytes → entries, which lead nowhere but into the archive.

use crate::input::split;
use deburr_archive::{Entry, Fetch, Kind, Remarks, Selection, entries, kind_of};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Read};

/// An archive of a few files.
struct Archive<'a>(Vec<(&'static str, &'a [u8])>);

impl Fetch for Archive<'_> {
    fn read(&self, path: &str, _: &[(&str, &str)], _: u64) -> io::Result<Box<dyn Read + '_>> {
        let file = self.0.iter().find(|(name, _)| *name == path);
        file.map(|(_, bytes)| Box::new(*bytes) as Box<dyn Read>).ok_or(ErrorKind::NotFound.into())
    }
}

/// Reads an index, of which the choice says what it is: in its archive, with the hash that is stated of it. All versions, and the newest.
///
/// # Panics
/// Where an entry lies outside the archive or appears twice, or the newest versions are not among all.
pub fn archive(data: &[u8]) {
    let Some((choice, bytes)) = split(data) else { return };
    let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let release = format!(
        "Architectures: all arm64\nComponents: main\nSHA256:\n {digest} {} main/binary-arm64/Packages\n",
        bytes.len()
    );
    let repomd = format!(
        "<repomd><data type=\"primary\"><checksum type=\"sha256\">{digest}</checksum><location href=\"p.xml\"/></data></repomd>"
    );
    let (kind, files): (Kind, Vec<(&'static str, &[u8])>) = match choice.number() % 6 {
        0 => (Kind::Debian, vec![("dists/s/InRelease", bytes)]),
        1 => (Kind::Debian, vec![("dists/s/Release", bytes)]),
        2 => (
            Kind::Debian,
            vec![("dists/s/Release", release.as_bytes()), ("dists/s/main/binary-arm64/Packages", bytes)],
        ),
        3 => (Kind::Rpm, vec![("repodata/repomd.xml", bytes)]),
        4 => (Kind::Rpm, vec![("repodata/repomd.xml", repomd.as_bytes()), ("p.xml", bytes)]),
        _ => (Kind::PyPi, vec![("simple/numpy/", bytes)]),
    };
    let archive = Archive(files);
    let newest = Selection { suites: vec!["s".to_owned()], packages: names(kind), ..Selection::default() };
    let every = Selection { all_versions: true, ..newest.clone() };
    let (all, remarks) = found(&archive, kind, &every);
    let (few, few_remarks) = found(&archive, kind, &newest);
    assert_eq!(remarks.is_some(), few_remarks.is_some(), "one selection fails, and another does not");
    if remarks.is_some() {
        assert_eq!(all.is_empty(), few.is_empty(), "there is a version, and none is the newest");
    }
    let paths: BTreeSet<&str> = all.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths.len(), all.len(), "a path appears twice");
    assert!(few.iter().all(|entry| paths.contains(entry.path.as_str())), "the newest is not among all");
    all.iter().chain(&few).for_each(hold);
    assert!(kind_of(&archive, &newest).is_ok());
}

fn names(kind: Kind) -> Vec<String> {
    if kind == Kind::PyPi { vec!["numpy".to_owned()] } else { Vec::new() }
}

fn found(archive: &Archive, kind: Kind, selection: &Selection) -> (Vec<Entry>, Option<Remarks>) {
    let mut found = Vec::new();
    let result = entries(archive, kind, selection, &mut |entry| found.push(entry));
    let texts = match &result {
        Ok(remarks) => remarks.first.iter().map(ToString::to_string).collect(),
        Err(error) => vec![error.to_string()],
    };
    assert!(texts.iter().all(|text| !text.contains(char::is_control) && text.len() < 4096), "{texts:?}");
    (found, result.ok())
}

fn hold(entry: &Entry) {
    let is_url =
        ["http://", "https://"].iter().any(|scheme| entry.path.to_ascii_lowercase().starts_with(scheme));
    let is_below = entry.path.split('/').all(|part| !["", ".", ".."].contains(&part));
    assert!(is_url || is_below && !entry.path.contains("://"), "{}", entry.path);
    let texts = [&entry.path, &entry.package, &entry.version, &entry.architecture];
    assert!(texts.iter().all(|text| !text.is_empty() && !text.contains(char::is_control)), "{entry:?}");
    let is_hash = |hash: &String| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(entry.sha256.as_ref().is_none_or(is_hash), "{entry:?}");
}
