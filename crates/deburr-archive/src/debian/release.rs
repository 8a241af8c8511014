//! `InRelease` and `Release`: which indices a suite has, with sizes and hashes.
//!
//! The signature of `InRelease` is not verified; its frame (RFC 9580, section 7) shows that the file is whole. A `Release` has no end of
//! its own: lists of other hashes, where there are any, must name the same indices.

use crate::architecture;
use crate::entry::Selection;
use crate::error::{Error, Place, Remarks, quoted};
use crate::fetch::Fetch;
use crate::index::{self, Hash, Lines, Stated, hexadecimal, number};
use crate::limits::{FIELD, PAGE};
use crate::location::below_root;
use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

/// What is read of a release.
#[derive(Debug, Default)]
pub(super) struct Release {
    /// Its path below the root.
    pub(super) path: String,
    /// The folder of the suite.
    folder: String,
    components: Vec<String>,
    architectures: Vec<String>,
    /// Whether the indices of each architecture have the packages for all.
    all_is_everywhere: bool,
    has_sha256: bool,
    /// Indices of packages, with size and hash.
    packages: BTreeMap<String, (u64, String)>,
    /// Indices of packages that the lists of other hashes name.
    otherwise: BTreeSet<String>,
}

/// An index of packages in its forms, the smallest first.
#[derive(Debug, Default)]
pub(super) struct Packages {
    /// Its path without an extension.
    pub(super) name: String,
    pub(super) forms: Vec<(String, Stated)>,
}

/// The forms that are read, in order of preference.
const FORMS: [&str; 3] = [".xz", ".gz", ""];

impl Release {
    /// The release of a suite: signed within itself, or not.
    pub(super) fn read(fetch: &dyn Fetch, suite: &str) -> Result<Release, Error> {
        let suite = below_root(suite)
            .map_err(|why| Error::Selection(format!("the suite {} {why} (--suite)", quoted(suite))))?;
        let folder = format!("dists/{suite}");
        for (name, is_signed) in [("InRelease", true), ("Release", false)] {
            let path = format!("{folder}/{name}");
            let stated = Stated::default();
            let parsed = index::read(fetch, &path, &stated, PAGE, |stream| parse(stream, &path, is_signed))?;
            if let Some(release) = parsed {
                return Release { path, folder, ..release }.whole();
            }
        }
        Err(Error::Selection(format!(
            "there is no suite {suite} (--suite): neither {folder}/InRelease nor Release"
        )))
    }

    /// What has to be there.
    fn whole(self) -> Result<Release, Error> {
        let what = if !self.has_sha256 {
            "has no section SHA256"
        } else if self.components.is_empty() || self.architectures.is_empty() {
            "has no Components or no Architectures"
        } else if let Some(missing) = self.otherwise.iter().find(|path| !self.packages.contains_key(*path)) {
            let what = format!("{} has no SHA256 though it has another hash: cut off", quoted(missing));
            return Err(Error::index(&self.path, Place::Whole, what));
        } else {
            return Ok(self);
        };
        Err(Error::index(&self.path, Place::Whole, what))
    }

    /// The indices that are wanted, by component and architecture.
    pub(super) fn wanted(
        &self,
        selection: &Selection,
        remarks: &mut Remarks,
    ) -> Result<Vec<Packages>, Error> {
        for wanted in &selection.components {
            if !self.components.iter().any(|it| is_component(it, wanted)) {
                return Err(self.unknown("component", "--component", wanted, &self.components));
            }
        }
        for wanted in &selection.architectures {
            if wanted != "all" && !self.architectures.iter().any(|it| architecture::same(it, wanted)) {
                return Err(self.unknown("architecture", "--architecture", wanted, &self.architectures));
            }
        }
        let wanted = &selection.components;
        let components = self.components.iter().filter(|component| {
            wanted.is_empty() || wanted.iter().any(|wanted| is_component(component, wanted))
        });
        let mut found = Vec::new();
        for component in components {
            for architecture in &self.architectures {
                let is_all = architecture == "all";
                let is_named = selection.architectures.iter().any(|it| architecture::same(it, architecture));
                // Where all are wanted, the indices of the others may have these packages.
                let is_wanted =
                    is_named || selection.architectures.is_empty() && !(is_all && self.all_is_everywhere);
                if !is_wanted || architecture == "source" {
                    continue;
                }
                match self.packages_of(component, architecture) {
                    Some(packages) => found.push(packages),
                    None => {
                        let what = format!("lists no index of {component}, {architecture}, which it names");
                        missing(&self.path, what, selection, remarks)?;
                    }
                }
            }
        }
        if found.is_empty() {
            return Err(Error::index(&self.path, Place::Whole, "lists no index of packages that is wanted"));
        }
        Ok(found)
    }

    fn packages_of(&self, component: &str, architecture: &str) -> Option<Packages> {
        [component, short(component)].into_iter().find_map(|component| {
            let name = format!("{component}/binary-{architecture}/Packages");
            let forms: Vec<(String, Stated)> = FORMS
                .iter()
                .filter_map(|form| {
                    let listed = format!("{name}{form}");
                    let (size, sha256) = self.packages.get(&listed)?;
                    let stated = Stated { size: Some(*size), hash: Some(Hash::Sha256(sha256.clone())) };
                    Some((format!("{}/{listed}", self.folder), stated))
                })
                .collect();
            let name = format!("{}/{name}", self.folder);
            (!forms.is_empty()).then_some(Packages { name, forms })
        })
    }

    fn unknown(&self, what: &str, option: &str, wanted: &str, has: &[String]) -> Error {
        let has = quoted(&has.join(" "));
        Error::Selection(format!("{} has no {what} {} ({option}): it has {has}", self.path, quoted(wanted)))
    }
}

/// An index that is not there: an error where its component and its architecture were asked for, a remark otherwise, since a mirror may
/// have a part of an archive.
pub(super) fn missing(
    index: &str,
    what: String,
    selection: &Selection,
    remarks: &mut Remarks,
) -> Result<(), Error> {
    if !selection.components.is_empty() && !selection.architectures.is_empty() {
        return Err(Error::index(index, Place::Whole, what));
    }
    remarks.add(index, Place::Whole, what);
    Ok(())
}

/// Debian's security archive says `updates/main`, has its indices in `main`, and everybody asks for `main`.
fn is_component(component: &str, wanted: &str) -> bool {
    component == wanted || short(component) == wanted
}

fn short(component: &str) -> &str {
    component.rsplit('/').next().unwrap_or(component)
}

/// The parts of a release's frame: before it, its header, its text, its signature, after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Before,
    Header,
    Text,
    Signature,
    After,
}

fn parse(stream: &mut dyn BufRead, path: &str, is_signed: bool) -> Result<Release, Error> {
    let mut lines = Lines::new(stream, path, FIELD);
    let mut release = Release::default();
    let mut part = if is_signed { Part::Before } else { Part::Text };
    let mut section = Section::Other;
    while let Some((number, line)) = lines.next()? {
        let place = Place::Line(number);
        let line =
            std::str::from_utf8(line).map_err(|_| Error::index(path, place, "is no UTF-8"))?.trim_end();
        match (part, line) {
            (Part::Before, "-----BEGIN PGP SIGNED MESSAGE-----") => part = Part::Header,
            (Part::Before, _) => return Err(Error::index(path, place, "begins no signed message")),
            (Part::Header, "") => part = Part::Text,
            (Part::Text, "-----BEGIN PGP SIGNATURE-----") if is_signed => part = Part::Signature,
            (Part::Signature, "-----END PGP SIGNATURE-----") => part = Part::After,
            (Part::Text, line) => {
                let line = line.strip_prefix("- ").filter(|_| is_signed).unwrap_or(line);
                section = release.add(section, line).map_err(|what| Error::index(path, place, what))?;
            }
            (Part::Header | Part::Signature | Part::After, _) => {}
        }
    }
    let is_whole = part == if is_signed { Part::After } else { Part::Text };
    if is_whole {
        Ok(release)
    } else {
        Err(Error::index(path, Place::Whole, "cut off before its signature ends"))
    }
}

/// Which list a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Sha256,
    OtherHash,
    Other,
}

impl Release {
    /// One line of the text; returns the section that the next one may continue.
    fn add(&mut self, section: Section, line: &str) -> Result<Section, String> {
        if line.starts_with([' ', '\t']) {
            self.list(section, line)?;
            return Ok(section);
        }
        if line.is_empty() {
            return Ok(Section::Other);
        }
        let (field, value) = line.split_once(':').ok_or_else(|| format!("{} is no field", quoted(line)))?;
        let words = || value.split_ascii_whitespace().map(str::to_owned).collect();
        match field.to_ascii_lowercase().as_str() {
            "components" => once(&mut self.components, words(), field)?,
            "architectures" => once(&mut self.architectures, words(), field)?,
            "no-support-for-architecture-all" => {
                self.all_is_everywhere = value.split_ascii_whitespace().any(|word| word == "Packages");
            }
            "sha256" if self.has_sha256 => return Err("SHA256 twice".to_owned()),
            "sha256" => {
                self.has_sha256 = true;
                return Ok(Section::Sha256);
            }
            "md5sum" | "sha1" | "sha512" => return Ok(Section::OtherHash),
            _ => {}
        }
        Ok(Section::Other)
    }

    /// ` hash size path`
    fn list(&mut self, section: Section, line: &str) -> Result<(), String> {
        if section == Section::Other {
            return Ok(());
        }
        let mut words = line.split_ascii_whitespace();
        let (Some(hash), Some(size), Some(path), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err("a hash, a size and a path are expected".to_owned());
        };
        let size = number(size).ok_or_else(|| format!("the size {} is no number", quoted(size)))?;
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let is_packages = FORMS.iter().any(|form| file.strip_prefix("Packages") == Some(form));
        if !is_packages || !folder.contains("/binary-") {
            return Ok(());
        }
        // What is listed is read: it stays below the suite.
        if below_root(path).as_deref() != Ok(path) {
            return Err(format!("{} is no path below the suite", quoted(path)));
        }
        if section == Section::OtherHash {
            self.otherwise.insert(path.to_owned());
            return Ok(());
        }
        let sha256 = hexadecimal(hash, 64).ok_or_else(|| format!("{} is no SHA-256", quoted(hash)))?;
        match self.packages.insert(path.to_owned(), (size, sha256.clone())) {
            Some(before) if before != (size, sha256) => Err(format!("{} twice", quoted(path))),
            _ => Ok(()),
        }
    }
}

fn once(slot: &mut Vec<String>, words: Vec<String>, field: &str) -> Result<(), String> {
    if slot.is_empty() {
        *slot = words;
        Ok(())
    } else {
        Err(format!("{} twice", quoted(field)))
    }
}
