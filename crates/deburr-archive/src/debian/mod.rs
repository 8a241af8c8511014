//! Debian's archives: `dists/SUITE/InRelease` or `Release` → `Packages` of components and architectures → stanzas.
//!
//! Source: the repository format of the Debian wiki (<https://wiki.debian.org/DebianRepository/Format>); deb822(5).

mod packages;
mod release;

use crate::choice::Choice;
use crate::entry::{Entry, Selection};
use crate::error::{Error, Place, Remarks};
use crate::fetch::Fetch;
use crate::index;
use crate::limits::UNPACKED;
use release::{Packages, Release, missing};

pub(crate) fn entries(
    fetch: &dyn Fetch,
    selection: &Selection,
    found: &mut dyn FnMut(Entry),
) -> Result<Remarks, Error> {
    if selection.suites.is_empty() {
        let what = "a Debian archive does not list its suites: name one or more (--suite)";
        return Err(Error::Selection(what.to_owned()));
    }
    let mut remarks = Remarks::default();
    let mut choice = Choice::new(selection, found);
    for suite in &selection.suites {
        let release = Release::read(fetch, suite)?;
        let mut read = 0;
        for packages in release.wanted(selection, &mut remarks)? {
            if read_packages(fetch, &packages, &mut choice, &mut remarks)? {
                read += 1;
            } else {
                let what = "listed, but none of its forms is there".to_owned();
                missing(&packages.name, what, selection, &mut remarks)?;
            }
        }
        if read == 0 {
            return Err(Error::index(&release.path, Place::Whole, "no index that it lists is there"));
        }
    }
    choice.finish("the archive", &mut remarks);
    Ok(remarks)
}

type DebianChoice<'a> = Choice<'a, crate::version::DebianVersion>;

/// Reads an index in the first of its forms that is there; `false` where none is.
fn read_packages(
    fetch: &dyn Fetch,
    packages: &Packages,
    choice: &mut DebianChoice,
    remarks: &mut Remarks,
) -> Result<bool, Error> {
    for (path, stated) in &packages.forms {
        let parsed = index::read(fetch, path, stated, UNPACKED, |stream| {
            packages::parse(stream, path, &mut |stanza, place| {
                choice.take(stanza.package(), stanza.entry(), (path, place), remarks)
            })
        });
        if parsed?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
