//! RPM repositories: `repodata/repomd.xml` → `primary.xml`, plain or compressed → packages.
//!
//! Source: createrepo_c, whose documents have no other specification.

mod primary;
mod repomd;

use crate::choice::Choice;
use crate::entry::{Entry, Selection};
use crate::error::{Error, Place, Remarks, quoted};
use crate::fetch::Fetch;
use crate::index::{self, Stated, number};
use crate::limits::{PAGE, UNPACKED};
use crate::location::{below_root, checked_url};
use crate::version::RpmVersion;
use primary::Package;

/// The first index of a repository.
pub(crate) const REPOMD: &str = "repodata/repomd.xml";

pub(crate) fn entries(
    fetch: &dyn Fetch,
    selection: &Selection,
    found: &mut dyn FnMut(Entry),
) -> Result<Remarks, Error> {
    let (mut remarks, mut choice) = (Remarks::default(), Choice::new(selection, found));
    let listed =
        index::read(fetch, REPOMD, &Stated::default(), PAGE, |stream| repomd::parse(stream, REPOMD))?;
    let Some(listed) = listed else {
        return Err(Error::index(REPOMD, Place::Whole, "is not there"));
    };
    let path = place_of(listed.base.as_deref(), &listed.href)
        .map_err(|why| Error::index(REPOMD, Place::Whole, format!("the location of primary {why}")))?;
    let parsed = index::read(fetch, &path, &listed.stated, UNPACKED, |stream| {
        primary::parse(stream, &path, &mut |package, place| {
            choice.take(package.name.as_deref(), entry(&package), (&path, place), &mut remarks)
        })
    })?;
    if parsed.is_none() {
        return Err(Error::index(&path, Place::Whole, format!("is not there, though {REPOMD} names it")));
    }
    choice.finish(&path, &mut remarks);
    Ok(remarks)
}

/// A location: below the root, or below the URL that is its base.
fn place_of(base: Option<&str>, href: &str) -> Result<String, String> {
    let path = below_root(href).map_err(|why| format!("{} {why}", quoted(href)))?;
    match base {
        None => Ok(path),
        Some(base) => {
            let base = checked_url(base).map_err(|why| format!("{} {why}", quoted(base)))?;
            Ok(format!("{}/{path}", base.trim_end_matches('/')))
        }
    }
}

/// What an element `package` says, or what is wrong with it.
fn entry(package: &Package) -> Result<(RpmVersion, Entry), String> {
    if let Some(fault) = &package.fault {
        return Err(fault.clone());
    }
    let required = |value: &Option<String>, what: &str| -> Result<String, String> {
        let value = value.as_deref().map(str::trim).filter(|value| !value.is_empty());
        let value = value.ok_or_else(|| format!("has no {what}"))?;
        let is_text = !value.contains(|c: char| c.is_control());
        if is_text { Ok(value.to_owned()) } else { Err(format!("its {what} has a control character")) }
    };
    let version = required(&package.version, "version")?;
    let release = required(&package.release, "release")?;
    let epoch = match package.epoch.as_deref() {
        None | Some("") => 0,
        Some(epoch) => number(epoch).ok_or_else(|| format!("the epoch {} is no number", quoted(epoch)))?,
    };
    let size = package
        .size
        .as_deref()
        .map(|size| number(size).ok_or_else(|| format!("the size {} is no number", quoted(size))));
    let sha256 = package.checksum.as_ref().filter(|(kind, _)| kind == "sha256").map(|(_, text)| {
        index::hexadecimal(text.trim(), 64)
            .ok_or_else(|| format!("the checksum {} is no SHA-256", quoted(text)))
    });
    let href = required(&package.href, "location")?;
    let prefix = if epoch == 0 { String::new() } else { format!("{epoch}:") };
    let entry = Entry {
        path: place_of(package.base.as_deref(), &href).map_err(|why| format!("the location {why}"))?,
        size: size.transpose()?,
        sha256: sha256.transpose()?,
        package: required(&package.name, "name")?,
        version: format!("{prefix}{version}-{release}"),
        architecture: required(&package.architecture, "architecture")?,
    };
    Ok((RpmVersion::new(epoch, &version, &release), entry))
}
