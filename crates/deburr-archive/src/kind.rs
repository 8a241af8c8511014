//! What an archive is, by what is there.

use crate::entry::{Kind, Selection};
use crate::error::Error;
use crate::fetch::{Fetch, begin};
use crate::limits::PAGE;
use crate::{pypi, rpm};
use std::io::{self, ErrorKind};

/// The kind of an archive; `None` where it is none of those that are known, such as a folder of packages.
///
/// # Errors
/// Where something cannot be read, and nothing else says what it is.
pub fn kind_of(fetch: &dyn Fetch, selection: &Selection) -> Result<Option<Kind>, Error> {
    let mut first = None;
    for (kind, is_there) in
        [(Kind::Rpm, is_rpm as Probe), (Kind::Debian, is_debian), (Kind::PyPi, pypi::is_there)]
    {
        match is_there(fetch, selection) {
            Ok(true) => return Ok(Some(kind)),
            Ok(false) => {}
            Err(error) => drop(first.get_or_insert(error)),
        }
    }
    first.map_or(Ok(None), Err)
}

type Probe = fn(&dyn Fetch, &Selection) -> Result<bool, Error>;

fn is_rpm(fetch: &dyn Fetch, _: &Selection) -> Result<bool, Error> {
    begins(fetch, rpm::REPOMD, |begin| begin.contains("<repomd"))
}

/// A release of a wanted suite, or of one that many archives have; else a folder `dists`, so that it can be said what is missing. A folder
/// on disk cannot be read, and a server answers by a list of what is in it.
fn is_debian(fetch: &dyn Fetch, selection: &Selection) -> Result<bool, Error> {
    const FIELDS: [&str; 6] = ["origin:", "label:", "suite:", "codename:", "components:", "architectures:"];
    let is_release = |begin: &str| {
        let begin = begin.to_ascii_lowercase();
        begin.contains("begin pgp signed message") || FIELDS.iter().any(|field| begin.starts_with(field))
    };
    for suite in selection.suites.iter().map(String::as_str).chain(["stable"]) {
        for name in ["InRelease", "Release"] {
            if begins(fetch, &format!("dists/{suite}/{name}"), is_release)? {
                return Ok(true);
            }
        }
    }
    if fetch
        .read("dists/", &[], PAGE)
        .and_then(|mut folder| folder.read(&mut [0]))
        .is_err_and(|error| is_folder(&error))
    {
        return Ok(true);
    }
    begins(fetch, "dists/", |begin| begin.contains("Index of") || begin.contains("Directory listing"))
}

fn is_folder(error: &io::Error) -> bool {
    error.kind() == ErrorKind::IsADirectory
}

fn begins(fetch: &dyn Fetch, path: &str, is_so: impl Fn(&str) -> bool) -> Result<bool, Error> {
    Ok(begin(fetch, path, &[])?.is_some_and(|begin| is_so(&begin)))
}
