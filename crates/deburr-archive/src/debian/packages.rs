//! `Packages`: stanzas of fields, as deb822(5) has them.

use crate::entry::Entry;
use crate::error::{Error, Place, quoted};
use crate::index::{Lines, hexadecimal, number};
use crate::limits::FIELD;
use crate::location::below_root;
use crate::version::DebianVersion;
use std::io::BufRead;

/// The fields that make an entry.
const FIELDS: [&str; 6] = ["Package", "Version", "Architecture", "Filename", "Size", "SHA256"];

/// The fields of one package.
#[derive(Debug, Default)]
pub(super) struct Stanza {
    values: [Option<String>; FIELDS.len()],
    /// The first fault of its grammar.
    fault: Option<String>,
    /// The field that a line may continue: one of those above, or another.
    open: Option<Option<usize>>,
}

/// Calls `found` for each stanza, with the line of its first field.
///
/// # Errors
/// Where the index ends within a line, or `found` fails.
pub(super) fn parse(
    stream: &mut dyn BufRead,
    index: &str,
    found: &mut dyn FnMut(Stanza, Place) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut lines = Lines::new(stream, index, FIELD);
    let mut stanza: Option<(Stanza, u64)> = None;
    while let Some((number, line)) = lines.next()? {
        if line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
            if let Some((stanza, first)) = stanza.take() {
                found(stanza, Place::Line(first))?;
            }
        } else {
            stanza.get_or_insert_with(|| (Stanza::default(), number)).0.add(line);
        }
    }
    stanza.map_or(Ok(()), |(stanza, first)| found(stanza, Place::Line(first)))
}

impl Stanza {
    fn add(&mut self, line: &[u8]) {
        if line.first().is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
            match self.open {
                Some(None) => {}
                Some(Some(at)) => self.note(|| format!("{} goes on in a second line", name(at))),
                None => self.note(|| "begins with a line that continues nothing".to_owned()),
            }
            return;
        }
        let colon = line.iter().position(|byte| *byte == b':').filter(|colon| *colon > 0);
        let Some((field, value)) = colon.and_then(|colon| line.split_at_checked(colon)) else {
            self.open = Some(None);
            return self.note(|| format!("{} is no field", quoted(&String::from_utf8_lossy(line))));
        };
        let at = FIELDS.iter().position(|known| field.eq_ignore_ascii_case(known.as_bytes()));
        self.open = Some(at);
        let Some((at, slot)) = at.and_then(|at| Some((at, self.values.get_mut(at)?))) else { return };
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        match std::str::from_utf8(value) {
            Ok(value) if !value.contains(|c: char| c.is_control()) => {
                if slot.replace(value.to_owned()).is_some() {
                    self.note(|| format!("has {} twice", name(at)));
                }
            }
            _ => self.note(|| format!("{} is no text", name(at))),
        }
    }

    fn note(&mut self, fault: impl FnOnce() -> String) {
        if self.fault.is_none() {
            self.fault = Some(fault());
        }
    }

    /// The package's name, for a remark.
    pub(super) fn package(&self) -> Option<&str> {
        self.value(0)
    }

    fn value(&self, at: usize) -> Option<&str> {
        self.values.get(at)?.as_deref()
    }

    fn required(&self, at: usize) -> Result<&str, String> {
        self.value(at).filter(|value| !value.is_empty()).ok_or_else(|| format!("has no {}", name(at)))
    }

    /// What the fields say, or what is wrong with them. A package without size or hash is one that cannot be compared; one whose size
    /// or hash is none is faulty.
    pub(super) fn entry(&self) -> Result<(DebianVersion, Entry), String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let (package, version, architecture) = (self.required(0)?, self.required(1)?, self.required(2)?);
        let path = self.required(3)?;
        let order = DebianVersion::parse(version)
            .ok_or_else(|| format!("Version {} is none of Debian's", quoted(version)))?;
        let path = below_root(path).map_err(|why| format!("Filename {} {why}", quoted(path)))?;
        let size = self
            .value(4)
            .map(|text| number(text).ok_or_else(|| format!("Size {} is no number", quoted(text))));
        let sha256 = self
            .value(5)
            .map(|text| hexadecimal(text, 64).ok_or_else(|| format!("SHA256 {} is none", quoted(text))));
        let entry = Entry {
            path,
            size: size.transpose()?,
            sha256: sha256.transpose()?,
            package: package.to_owned(),
            version: version.to_owned(),
            architecture: architecture.to_owned(),
        };
        Ok((order, entry))
    }
}

fn name(at: usize) -> &'static str {
    FIELDS.get(at).copied().unwrap_or_default()
}
