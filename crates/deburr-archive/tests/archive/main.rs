//! Indices of archives → entries: real ones, constructed ones, damaged ones, and what other programs read in them.

mod compared;
mod damaged;
mod debian;
mod held;
mod kinds;
mod pypi;
mod rpm;

use deburr_archive::{Entry, Error, Fetch, Kind, Remarks, Selection, entries};
use std::io;
use std::path::Path;

/// A sample, all of it.
fn sample(path: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(path);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A folder of the samples, as an archive.
struct Folder(&'static str);

impl Fetch for Folder {
    fn read(&self, path: &str, _: &[(&str, &str)], _: u64) -> io::Result<Box<dyn io::Read + '_>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(self.0);
        Ok(Box::new(std::fs::File::open(root.join(path))?))
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// All entries and remarks, or the error and the entries before it.
fn all(fetch: &dyn Fetch, kind: Kind, selection: &Selection) -> (Vec<Entry>, Result<Remarks, Error>) {
    let mut found = Vec::new();
    let result = entries(fetch, kind, selection, &mut |entry| found.push(entry));
    (found, result)
}

/// All entries where nothing is wrong.
fn clean(fetch: &dyn Fetch, kind: Kind, selection: &Selection) -> Vec<Entry> {
    let (found, result) = all(fetch, kind, selection);
    let remarks = result.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(remarks, Remarks::default());
    found
}

/// All entries, and the remarks as texts.
fn remarked(fetch: &dyn Fetch, kind: Kind, selection: &Selection) -> (Vec<Entry>, Vec<String>) {
    let (found, result) = all(fetch, kind, selection);
    let remarks = result.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(remarks.more, 0);
    (found, remarks.first.iter().map(ToString::to_string).collect())
}

/// The error's text.
fn refused(fetch: &dyn Fetch, kind: Kind, selection: &Selection) -> String {
    all(fetch, kind, selection).1.expect_err("no error").to_string()
}

fn paths(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.path.as_str()).collect()
}

/// xorshift64
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}
