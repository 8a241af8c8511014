//! The JSON form of a project's page (PEP 691), one file after the other.

use super::page::{Linked, check_version};
use crate::error::{Error, Place, said};
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::io::BufRead;

/// Calls `found` for each file, with its number.
///
/// # Errors
/// Where the page is no JSON, is cut off, or is no page of a project.
pub(super) fn parse(
    stream: &mut dyn BufRead,
    page: &str,
    found: &mut dyn FnMut(Linked, u64),
) -> Result<(), Error> {
    let mut document = serde_json::Deserializer::from_reader(stream);
    let read = Page { found }.deserialize(&mut document).and_then(|()| document.end());
    read.map_err(|error| {
        let place = Place::Line(error.line() as u64);
        if error.is_io() {
            Error::read(page, place, error.into())
        } else {
            Error::index(page, place, said(&error))
        }
    })
}

/// The document.
struct Page<'f> {
    found: &'f mut dyn FnMut(Linked, u64),
}

/// Its list of files.
struct Files<'f> {
    found: &'f mut dyn FnMut(Linked, u64),
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "api-version")]
    version: String,
}

#[derive(Deserialize)]
struct File {
    filename: Option<String>,
    url: Option<String>,
    #[serde(default)]
    hashes: Hashes,
    size: Option<u64>,
    #[serde(default)]
    yanked: Yanked,
}

#[derive(Deserialize, Default)]
struct Hashes {
    sha256: Option<String>,
}

/// `false`, `true`, or the reason (PEP 592).
#[derive(Deserialize, Default)]
#[serde(untagged)]
enum Yanked {
    #[default]
    No,
    Is(bool),
    For(String),
}

impl<'de> DeserializeSeed<'de> for Page<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<(), D::Error> {
        document.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Page<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the page of a project")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut has_files, mut has_meta) = (false, false);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "files" if has_files => return Err(de::Error::duplicate_field("files")),
                "files" => {
                    has_files = true;
                    map.next_value_seed(Files { found: &mut *self.found })?;
                }
                "meta" => {
                    has_meta = true;
                    check_version(&map.next_value::<Meta>()?.version).map_err(de::Error::custom)?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        match (has_files, has_meta) {
            (false, _) => Err(de::Error::missing_field("files")),
            (_, false) => Err(de::Error::missing_field("meta")),
            _ => Ok(()),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Files<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, document: D) -> Result<(), D::Error> {
        document.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Files<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of files")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut files: A) -> Result<(), A::Error> {
        let mut record = 0;
        while let Some(file) = files.next_element::<File>()? {
            record += 1;
            let is_yanked = match file.yanked {
                Yanked::No => false,
                Yanked::Is(is_yanked) => is_yanked,
                Yanked::For(reason) => !reason.is_empty(),
            };
            let linked = Linked {
                name: file.filename,
                link: file.url,
                sha256: file.hashes.sha256,
                size: file.size,
                is_yanked,
            };
            (self.found)(linked, record);
        }
        Ok(())
    }
}
