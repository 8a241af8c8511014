//! Patch stage: what a patched file says of itself.
//!
//! In: the original, the changes, how they were requested. Out: the note in the section `.note.deburr`, owner
//! `deburr`, type 1, whose description is JSON, as in systemd's package metadata notes; and from a patched
//! file's bytes the note again. It holds what the original had and the file has no more, so that with the
//! file it gives the original back; its digest covers the rest of it and the new instructions, so that with
//! the original it shows whether anything else differs. Follows the gABI, "Note Section".

use crate::change::Change;
use crate::header::{self, SectionFields};
use deburr_core::address::Svma;
use deburr_core::image;
use deburr_core::image::layout::Layout;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt;
use std::fmt::Write;
use std::sync::Arc;

pub(crate) const SECTION: &[u8] = b".note.deburr\0";
const OWNER: &[u8] = b"deburr";
const KIND: u32 = 1;
/// What the fields mean, and what is appended to a file: a change in either is another number.
const FORMAT: u32 = 1;
/// The same with instructions in added space.
const FORMAT_TRAMPOLINES: u32 = 2;

/// The description of the note.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Note {
    format: u32,
    /// The version of deburr that wrote it.
    pub(crate) tool: String,
    pub(crate) original: Original,
    /// The ids that `sites` count in.
    rules: Vec<Arc<str>>,
    sites: Vec<Site>,
    /// Where there are instructions in added space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) trampolines: Option<Added>,
    /// SHA-256 of this description with an empty digest, and of the new instructions.
    digest: String,
}

/// What is known of the file before the change.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Original {
    pub(crate) length: u64,
    pub(crate) sha256: String,
    pub(crate) build_id: Option<Hex>,
    /// Where in the file another build-id is now.
    pub(crate) build_id_replaced_at: Option<u64>,
    pub(crate) header: SectionFields,
}

/// What is in added space, and the fields of the ELF header that described the program headers before, by
/// their names without `e_`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Added {
    pub(crate) phoff: u64,
    pub(crate) phnum: u16,
    /// For each site that has some, by its number: how many instructions.
    pub(crate) words: Vec<(usize, usize)>,
}

/// A site: the index of its rule, its address, its file offset, the instructions that were there.
#[derive(Debug, Serialize, Deserialize)]
struct Site(usize, u64, u64, Words);

/// In JSON: eight hexadecimal digits an instruction, as a disassembler shows them.
#[derive(Debug)]
struct Words(Vec<u32>);

/// In JSON: two hexadecimal digits a byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hex(pub(crate) Vec<u8>);

/// Why a file has no note that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoteError {
    /// The headers of the file cannot be read.
    File(image::Error),
    /// There is none: deburr did not write the file, or another tool took the note out.
    Missing,
    /// There are several.
    Several,
    /// It is of a format that this version does not know.
    Format(u32),
    /// It is not what a note is.
    Malformed {
        /// Where its description is in the file.
        file_offset: u64,
        /// What is wrong.
        reason: String,
    },
}

impl fmt::Display for NoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoteError::File(error) => write!(f, "{error}"),
            NoteError::Missing => write!(f, "no note of deburr: not a file that deburr patched"),
            NoteError::Several => write!(f, "several notes of deburr"),
            NoteError::Format(format) => write!(f, "deburr's note is of the unknown format {format}"),
            NoteError::Malformed { file_offset, reason } => {
                write!(f, "malformed note of deburr at file offset {file_offset:#x}: {reason}")
            }
        }
    }
}

impl std::error::Error for NoteError {}

impl Added {
    /// Those of a file; `None` where it is shorter than an ELF header.
    pub(crate) fn of(bytes: &[u8], changes: &[Change]) -> Option<Added> {
        let words = changes.iter().enumerate();
        Some(Added {
            phoff: u64::from_le_bytes(bytes.get(32..40)?.try_into().ok()?),
            phnum: u16::from_le_bytes(bytes.get(56..58)?.try_into().ok()?),
            words: words
                .filter_map(|(site, change)| Some((site, change.trampoline.as_ref()?.words.len())))
                .collect(),
        })
    }

    /// Writes them; `None` where there is no room.
    pub(crate) fn put(phoff: u64, phnum: u16, bytes: &mut [u8]) -> Option<()> {
        header::put(bytes, 32, &phoff.to_le_bytes())?;
        header::put(bytes, 56, &phnum.to_le_bytes())
    }
}

/// Whether a file has such a note.
pub(crate) fn is_in(layout: &Layout<'_>) -> bool {
    !layout.notes(OWNER, KIND).is_empty()
}

impl Note {
    pub(crate) fn new(
        original: Original,
        changes: &[Change],
        trampolines: Option<Added>,
        tool: &str,
    ) -> Note {
        let mut rules: Vec<Arc<str>> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut sites = Vec::with_capacity(changes.len());
        for change in changes {
            // A new rule's index is the number of those before it.
            let index = *known.entry(&change.rule).or_insert(rules.len());
            if index == rules.len() {
                rules.push(Arc::clone(&change.rule));
            }
            sites.push(Site(index, change.at.0, change.file_offset, Words(change.old.clone())));
        }
        let format = if trampolines.is_some() { FORMAT_TRAMPOLINES } else { FORMAT };
        Note { format, tool: tool.to_owned(), original, rules, sites, trampolines, digest: String::new() }
    }

    /// The note as its section holds it, a multiple of four bytes, with the digest of all this; `None` beyond
    /// 4 GiB.
    pub(crate) fn encode(mut self, changes: &[Change]) -> Option<Vec<u8>> {
        self.digest.clear();
        let mut hash = Sha256::new_with_prefix(serde_json::to_vec(&self).ok()?);
        let trampoline = changes.iter().filter_map(|change| change.trampoline.as_ref());
        let trampoline = trampoline.flat_map(|trampoline| &trampoline.words);
        for word in changes.iter().flat_map(|change| &change.new).chain(trampoline) {
            hash.update(word.to_le_bytes());
        }
        self.digest = Hex(hash.finalize().to_vec()).to_string();
        let description = serde_json::to_vec(&self).ok()?;
        let length = u32::try_from(description.len()).ok()?;
        let name = [OWNER, b"\0"].concat();
        let mut note = Vec::with_capacity(description.len().saturating_add(32));
        for field in [name.len() as u32, length, KIND] {
            note.extend(field.to_le_bytes());
        }
        for part in [name, description] {
            note.extend(part);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        Some(note)
    }

    /// The note of a patched file.
    pub(crate) fn of(patched: &[u8]) -> Result<Note, NoteError> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let layout = Layout::of(patched).map_err(NoteError::File)?;
        let notes = layout.notes(OWNER, KIND);
        let range = match notes.as_slice() {
            [] => return Err(NoteError::Missing),
            [range] => range.clone(),
            _ => return Err(NoteError::Several),
        };
        let file_offset = range.start as u64;
        let malformed = |reason: String| NoteError::Malformed { file_offset, reason };
        let json = |error: serde_json::Error| malformed(error.to_string());
        let description = patched.get(range).unwrap_or(&[]);
        let Format { format } = serde_json::from_slice(description).map_err(json)?;
        if format != FORMAT && format != FORMAT_TRAMPOLINES {
            return Err(NoteError::Format(format));
        }
        let note: Note = serde_json::from_slice(description).map_err(json)?;
        if note.trampolines.is_some() != (format == FORMAT_TRAMPOLINES) {
            return Err(malformed(format!("not what format {format} has")));
        }
        match note.sites.iter().find(|site| site.0 >= note.rules.len()) {
            Some(site) => Err(malformed(format!("rule {} of {}", site.0, note.rules.len()))),
            None => Ok(note),
        }
    }

    /// What was changed, without the new instructions: rule, address, file offset and old instructions.
    pub(crate) fn sites(&self) -> impl Iterator<Item = (Arc<str>, Svma, u64, &[u32])> {
        self.sites.iter().filter_map(|Site(rule, at, file_offset, old)| {
            // `of` has seen that every rule is there. One name, however long, is held once.
            Some((Arc::clone(self.rules.get(*rule)?), Svma(*at), *file_offset, old.0.as_slice()))
        })
    }
}

/// The SHA-256 of a file.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Hex(Sha256::digest(bytes).to_vec()).to_string()
}

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The numbers that groups of so many hexadecimal digits mean.
fn digits<'de, D: Deserializer<'de>>(deserializer: D, group: usize) -> Result<Vec<u32>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let number = |group: &[u8]| u32::from_str_radix(std::str::from_utf8(group).ok()?, 16).ok();
    let is_plain = text.len().is_multiple_of(group) && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    let numbers = is_plain.then(|| text.as_bytes().chunks_exact(group).map(number).collect()).flatten();
    numbers.ok_or_else(|| serde::de::Error::custom(format!("expected groups of {group} hexadecimal digits")))
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hex, D::Error> {
        Ok(Hex(digits(deserializer, 2)?.into_iter().map(|byte| byte as u8).collect()))
    }
}

impl Serialize for Words {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::with_capacity(self.0.len().saturating_mul(8));
        for word in &self.0 {
            write!(text, "{word:08x}").map_err(serde::ser::Error::custom)?;
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Words, D::Error> {
        digits(deserializer, 8).map(Words)
    }
}
