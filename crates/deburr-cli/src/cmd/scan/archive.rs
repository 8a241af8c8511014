//! What an archive holds, by its indices where it has some, by what is below it where it has none.
//!
//! In: a folder or a URL, and what is wanted of it. Out: its items, and what could not be listed, with the reason. An index
//! that is cut off, or is not what another states of it, is an error: a list that is too short would look like a good one.

use super::cache::Fault;
use super::folder;
use super::network::curl::{Curl, is_url, without_credentials};
use crate::input::content::Content;
use crate::product::scan_item::{Item, Place};
use deburr_archive::{Entry, Fetch, Kind, Selection, entries, kind_of};
use deburr_text::ShownPath as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A folder as the root of an archive.
struct Folder(PathBuf);

impl Fetch for Folder {
    fn read(&self, path: &str, _: &[(&str, &str)], _: u64) -> io::Result<Box<dyn Read + '_>> {
        if is_url(path) {
            return Err(io::Error::other(
                "a folder whose index leads to another machine: give its URL instead",
            ));
        }
        Ok(Box::new(File::open(self.0.join(path))?))
    }
}

/// Lists an archive. `scratch`: where what is fetched may lie.
///
/// # Errors
/// With the index and the place in it, for people.
pub(super) fn list(
    archive: &Path,
    (selection, has_index): (&Selection, bool),
    scratch: &Path,
    threads: usize,
) -> Result<(Vec<Item>, Vec<Fault>), String> {
    let url = archive.to_str().filter(|archive| is_url(archive));
    let fetch: Box<dyn Fetch> = match url {
        Some(url) => Box::new(Curl::new(url, scratch)),
        None => Box::new(Folder(archive.to_owned())),
    };
    let shown = url.map_or_else(|| archive.shown().into_owned(), without_credentials);
    let failed = |error: deburr_archive::Error| format!("{shown}: {error}");
    let kind = match (has_index, url.is_some() || archive.is_dir()) {
        (true, true) => kind_of(&*fetch, selection).map_err(failed)?,
        _ => None,
    };
    match (kind, url) {
        (Some(kind), _) => {
            indexed(&*fetch, kind, selection, |path| place(archive, url, path)).map_err(failed)
        }
        (None, None) if *selection != Selection::default() => Err(format!(
            "{shown}: no index of packages, which --suite, --component, --architecture, --package, --packages-from \
             and --all-versions select from"
        )),
        (None, None) => folder::list(archive, threads),
        (None, Some(_)) => Err(format!(
            "{shown}: neither a Debian archive (give its --suite) nor an RPM repository nor a simple index of Python"
        )),
    }
}

fn place(archive: &Path, url: Option<&str>, path: &str) -> Place {
    match url {
        _ if is_url(path) => Place::There(path.to_owned()),
        Some(root) => Place::There(Curl::url(root, path)),
        None => Place::Here(archive.join(path)),
    }
}

fn indexed(
    fetch: &dyn Fetch,
    kind: Kind,
    selection: &Selection,
    place: impl Fn(&str) -> Place,
) -> Result<(Vec<Item>, Vec<Fault>), deburr_archive::Error> {
    let mut items = Vec::new();
    let remarks = entries(fetch, kind, selection, &mut |entry: Entry| {
        items.push(Item {
            place: place(&entry.path),
            path: without_credentials(&entry.path),
            size: entry.size.unwrap_or(0),
            content: Content::Package,
            is_stated: entry.sha256.is_some(),
            sha256: entry.sha256,
        });
    })?;
    let mut faults: Vec<Fault> =
        remarks.first.into_iter().map(|it| (format!("{}{}", it.index, it.place), it.what)).collect();
    if remarks.more > 0 {
        faults.push(("…".to_owned(), format!("{} more remarks on indices", remarks.more)));
    }
    Ok((items, faults))
}
