//! Patch stage: a plan and a file → the file with it.
//!
//! In: the bytes of an ELF file and a [`Plan`]. Out: other bytes, in which each [`Site`](crate::Site) holds
//! its new instructions; or an error, and then nothing. Before anything is written every site is checked
//! against the file: it is in executable bytes at its address, and holds the old instructions. Nothing moves.
//! What is appended, in this order:
//!
//! | part | aligned to | |
//! |---|---|---|
//! | `.text.deburr` | 16 | instructions in added space, each run aligned; only where there are any, like the next part |
//! | program headers | 8 | those of the file, and one for the segment of these two parts |
//! | `.note.deburr` | 4 | what was done (`note`); not loaded |
//! | section names | | those of the file and the new ones; the file's own stay as dead bytes |
//! | section headers | 8 | those of the file and the new ones, with one for the names where there was none |
//!
//! Of the ELF header only what describes section headers and, with instructions in added space, program
//! headers changes. The same input gives the same bytes. Follows the gABI, chapters "ELF Header" and
//! "Sections".

use crate::candidate::trampoline;
use crate::change::Change;
use crate::edited::Edited;
use crate::header::{self, SectionFields};
use crate::note::{Added, Hex, Note, Original, SECTION, is_in, sha256};
use crate::site::Plan;
use deburr_core::address::Svma;
use deburr_core::image;
use deburr_core::image::layout::{Layout, Names, NoSpace, Room, SECTION_HEADER};
use sha2::{Digest, Sha256};
use std::fmt;
use std::ops::Range;

/// From this many sections on, the ELF header does not hold their number (`SHN_LORESERVE`).
const SECTIONS: u16 = 0xff00;
/// Bytes of an ELF header.
const ELF_HEADER: usize = 64;
const SHT_PROGBITS: u32 = 1;
const SHT_STRTAB: u32 = 3;
const SHT_NOTE: u32 = 7;

const SHF_ALLOC: u64 = 2;
const SHF_EXECINSTR: u64 = 4;
/// The section of instructions in added space.
const ADDED_SECTION: &[u8] = b".text.deburr\0";

/// How a plan is applied.
#[derive(Debug, Clone, Copy, Default)]
pub struct ApplyOptions {
    /// Whether the file gets a build-id of its own, made from the original's and the change, in the same
    /// place. Debug files are found by the build-id: those of the original are not found any more.
    pub new_build_id: bool,
    /// Whether a file is changed that has bytes after its last section and segment: a signature, an archive.
    /// Whoever seeks them at the end of the file, or after the section headers, finds them no more.
    pub trailer: bool,
}

/// Why nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApplyError {
    /// The file cannot be read, or its headers contradict its length.
    File(image::Error),
    /// The file has deburr's note already.
    AlreadyPatched,
    /// The plan is empty.
    NoSites,
    /// The file has so many sections that one more would need extended numbering.
    Sections,
    /// The names of sections are not in a plain string table that is not loaded.
    SectionNames,
    /// The file goes on after its last section and segment.
    Trailer {
        /// Where the last part ends.
        file_offset: u64,
        /// How many bytes follow.
        length: u64,
    },
    /// A new build-id is wanted, but the file has none.
    NoBuildId,
    /// The old and the new instructions of a site are not equally many, or there are none.
    Lengths {
        /// The site.
        at: Svma,
    },
    /// A site is not executable at its address, or is a header.
    NotCode {
        /// The site.
        at: Svma,
        /// Where it is said to be in the file.
        file_offset: u64,
    },
    /// A site shares bytes with another, or with the build-id that is to be replaced.
    Overlap {
        /// Where both are in the file.
        file_offset: u64,
    },
    /// The file does not hold the old instructions.
    Words {
        /// The address of the first other instruction.
        at: Svma,
        /// Where it is in the file.
        file_offset: u64,
        /// What was expected there.
        expected: u32,
        /// What was found, unless the file ends.
        found: Option<u32>,
    },
    /// Instructions need added space, and there is none.
    NoSpace(NoSpace),
    /// Instructions in added space are elsewhere than after those of the site before, or there are none.
    Trampoline {
        /// The site.
        at: Svma,
    },
    /// The note would not fit in 4 GiB.
    TooLarge,
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApplyError::File(error) => write!(f, "{error}"),
            ApplyError::AlreadyPatched => write!(f, "already patched by deburr: revert it first"),
            ApplyError::NoSites => write!(f, "nothing to write"),
            ApplyError::Sections => write!(f, "too many sections: there must be fewer than {}", SECTIONS - 2),
            ApplyError::SectionNames => {
                write!(f, "the names of sections are not in a plain string table of their own")
            }
            ApplyError::Trailer { file_offset, length } => {
                write!(
                    f,
                    "{length} bytes follow the last section and segment at file offset {file_offset:#x}"
                )
            }
            ApplyError::NoBuildId => write!(f, "no build-id to replace"),
            ApplyError::Lengths { at } => write!(f, "{at}: not as many new words as old ones"),
            ApplyError::NotCode { at, file_offset } => {
                write!(f, "{at}: not executable code at file offset {file_offset:#x}")
            }
            ApplyError::Overlap { file_offset } => {
                write!(f, "two changes of the bytes at file offset {file_offset:#x}")
            }
            ApplyError::Words { at, file_offset, expected, found: Some(found) } => write!(
                f,
                "{at}: expected the word {expected:#010x} at file offset {file_offset:#x}, found {found:#010x}"
            ),
            ApplyError::Words { at, file_offset, expected, found: None } => write!(
                f,
                "{at}: expected the word {expected:#010x} at file offset {file_offset:#x}, but the file ends"
            ),
            ApplyError::NoSpace(why) => write!(f, "no code can be added: {why}"),
            ApplyError::Trampoline { at } => {
                write!(f, "{at}: words in added space that are not where they belong")
            }
            ApplyError::TooLarge => write!(f, "too many sites for one note"),
        }
    }
}

impl std::error::Error for ApplyError {}

/// The file with all that a plan says, and a note of it. Of a plan some sites may have been taken out:
/// instructions in added space move up.
///
/// # Errors
/// [`ApplyError`], where the plan does not fit the file; then there is nothing to write.
pub fn apply(bytes: &[u8], plan: &Plan, options: &ApplyOptions) -> Result<Vec<u8>, ApplyError> {
    edit(bytes, plan, options).map(|edited| edited.to_vec())
}

/// As [`apply`], for a file that is written piece by piece.
///
/// # Errors
/// As [`apply`].
pub fn edit<'a>(bytes: &'a [u8], plan: &Plan, options: &ApplyOptions) -> Result<Edited<'a>, ApplyError> {
    let mut changes: Vec<Change> = plan.sites.iter().map(Change::from).collect();
    move_up(bytes, &mut changes);
    rewrite(bytes, &changes, options, env!("CARGO_PKG_VERSION"), || sha256(bytes))
}

/// Why a plan cannot be applied, if it cannot; cheaper than to apply it.
pub fn obstacle(bytes: &[u8], plan: &Plan, options: &ApplyOptions) -> Option<ApplyError> {
    let mut changes: Vec<Change> = plan.sites.iter().map(Change::from).collect();
    move_up(bytes, &mut changes);
    rewrite(bytes, &changes, options, env!("CARGO_PKG_VERSION"), String::new).err()
}

/// Closes gaps in added space. What cannot be moved stays, and is refused later.
fn move_up(bytes: &[u8], changes: &mut [Change]) {
    if changes.iter().all(|change| change.trampoline.is_none()) {
        return;
    }
    let room = Layout::of(bytes).ok().and_then(|layout| layout.room().ok());
    let mut next = room.map(|room| room.code());
    for change in changes {
        let (Some(placed), Some(at)) = (&change.trampoline, next) else { continue };
        if placed.at != at {
            let words = trampoline::read(change.at, &change.new, placed);
            let moved = words.and_then(|words| trampoline::place((change.at, change.new.len()), &words, at));
            if let Some((new, trampoline)) = moved {
                (change.new, change.trampoline) = (new, Some(trampoline));
            }
        }
        next = change.trampoline.as_ref().and_then(|placed| Room::after(placed.extent().end));
    }
}

/// As [`edit`], by a version of deburr; `sha256` is that of the original.
pub(crate) fn rewrite<'a>(
    original: &'a [u8],
    changes: &[Change],
    options: &ApplyOptions,
    tool: &str,
    sha256: impl FnOnce() -> String,
) -> Result<Edited<'a>, ApplyError> {
    let layout = Layout::of(original).map_err(ApplyError::File)?;
    if is_in(&layout) {
        return Err(ApplyError::AlreadyPatched);
    }
    if !options.trailer {
        refuse_trailer(original, &layout)?;
    }
    let build_id = layout.build_id();
    let replaced = match (options.new_build_id, &build_id) {
        (false, _) => None,
        (true, None) => return Err(ApplyError::NoBuildId),
        (true, Some(range)) => Some(range.clone()),
    };
    check(original, &layout, changes, replaced.clone())?;
    let old_id = build_id.and_then(|range| original.get(range)).map(<[u8]>::to_vec);
    let about = Original {
        length: original.len() as u64,
        sha256: sha256(),
        build_id: old_id.clone().map(Hex),
        build_id_replaced_at: replaced.as_ref().map(|range| range.start as u64),
        header: SectionFields::of(original).ok_or(ApplyError::TooLarge)?,
    };
    let added = Segment::of(&layout, original.len(), changes)?;
    let trampoline = added.as_ref().map(|_| Added::of(original, changes).ok_or(ApplyError::TooLarge));
    let note = Note::new(about, changes, trampoline.transpose()?, tool);
    let note = note.encode(changes).ok_or(ApplyError::TooLarge)?;
    let appended = Appended::of(&layout, original.len(), added, note)?;

    let place = |at: u64| usize::try_from(at).map_err(|_| ApplyError::TooLarge);
    let mut edits = Vec::with_capacity(changes.len().saturating_add(2));
    for change in changes {
        edits.push((place(change.file_offset)?, bytes_of(&change.new)));
    }
    if let (Some(range), Some(old)) = (replaced, old_id) {
        edits.push((range.start, derived_build_id(&old, changes)));
    }
    let mut header = original.get(..ELF_HEADER).ok_or(ApplyError::TooLarge)?.to_vec();
    appended.fields.put(&mut header).ok_or(ApplyError::TooLarge)?;
    if let Some((phoff, phnum)) = appended.program_headers {
        Added::put(phoff, phnum, &mut header).ok_or(ApplyError::TooLarge)?;
    }
    edits.push((0, header));
    Edited::new(original, edits, appended.bytes).ok_or(ApplyError::TooLarge)
}

/// The instructions as a file has them.
pub(crate) fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Zeros are padding; anything else someone put there to be found.
fn refuse_trailer(bytes: &[u8], layout: &Layout<'_>) -> Result<(), ApplyError> {
    let file_offset = layout.end();
    let rest = usize::try_from(file_offset).ok().and_then(|end| bytes.get(end..)).unwrap_or(&[]);
    match rest.iter().any(|byte| *byte != 0) {
        true => Err(ApplyError::Trailer { file_offset, length: rest.len() as u64 }),
        false => Ok(()),
    }
}

/// Holds the changes against the file and against each other.
fn check(
    bytes: &[u8],
    layout: &Layout<'_>,
    changes: &[Change],
    replaced: Option<Range<usize>>,
) -> Result<(), ApplyError> {
    if changes.is_empty() {
        return Err(ApplyError::NoSites);
    }
    let mut written: Vec<Range<u64>> =
        replaced.into_iter().map(|range| range.start as u64..range.end as u64).collect();
    for change in changes {
        let (at, file_offset) = (change.at, change.file_offset);
        if change.old.is_empty() || change.old.len() != change.new.len() {
            return Err(ApplyError::Lengths { at });
        }
        let length = (change.old.len() as u64).saturating_mul(4);
        let range = file_offset..file_offset.saturating_add(length);
        if !layout.is_code(at, &range) {
            return Err(ApplyError::NotCode { at, file_offset });
        }
        for (offset, expected) in (0u64..).step_by(4).zip(&change.old) {
            let file_offset = file_offset.saturating_add(offset);
            let found = word_at(bytes, file_offset);
            if found != Some(*expected) {
                let at = at.offset(offset.cast_signed());
                return Err(ApplyError::Words { at, file_offset, expected: *expected, found });
            }
        }
        written.push(range);
    }
    written.sort_unstable_by_key(|range| range.start);
    let overlap = written.iter().zip(written.iter().skip(1)).find(|(one, next)| next.start < one.end);
    overlap.map_or(Ok(()), |(_, next)| Err(ApplyError::Overlap { file_offset: next.start }))
}

fn word_at(bytes: &[u8], file_offset: u64) -> Option<u32> {
    let at = usize::try_from(file_offset).ok()?;
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// As long as the old one, which it depends on, as on what is written where.
fn derived_build_id(old: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut hash = Sha256::new_with_prefix(b"deburr build-id");
    hash.update(old);
    for change in changes {
        hash.update(change.file_offset.to_le_bytes());
        hash.update(bytes_of(&change.new));
        hash.update(bytes_of(change.trampoline.as_ref().map_or(&[], |trampoline| &trampoline.words)));
    }
    let block = |number: u64| hash.clone().chain_update(number.to_le_bytes()).finalize();
    (0..).flat_map(block).take(old.len()).collect()
}

/// The segment with the instructions in added space.
struct Segment {
    /// The bytes from the end of the original on.
    bytes: Vec<u8>,
    /// Where the program headers are, and how many there are.
    headers: (u64, u16),
    /// Where the instructions are.
    at: Svma,
    code: Range<u64>,
}

impl Segment {
    /// After a file of so many bytes; `None` where no change needs it.
    fn of(layout: &Layout<'_>, length: usize, changes: &[Change]) -> Result<Option<Segment>, ApplyError> {
        if changes.iter().all(|change| change.trampoline.is_none()) {
            return Ok(None);
        }
        let room = layout.room().map_err(ApplyError::NoSpace)?;
        let at = room.code();
        let (mut next, mut code) = (Some(at), Vec::new());
        for change in changes {
            let Some(trampoline) = &change.trampoline else { continue };
            if next != Some(trampoline.at) || trampoline.words.is_empty() {
                return Err(ApplyError::Trampoline { at: change.at });
            }
            // Zeros are no instruction.
            let start = trampoline.at.since(at).and_then(|start| usize::try_from(start).ok());
            code.resize(start.ok_or(ApplyError::TooLarge)?, 0);
            code.extend(bytes_of(&trampoline.words));
            next = Room::after(trampoline.extent().end);
        }
        let start = room.file_offset_of(at);
        let length_of_code = code.len() as u64;
        let headers = layout.headers_with(&room, length_of_code);
        let (headers_at, headers) = headers.ok_or(ApplyError::TooLarge)?;
        let mut bytes = Vec::new();
        let mut put = |at: u64, part: Vec<u8>| {
            let at = usize::try_from(at).ok().and_then(|at| at.checked_sub(length));
            bytes.resize(at.ok_or(ApplyError::TooLarge)?, 0);
            bytes.extend(part);
            Ok(())
        };
        put(start, code)?;
        put(headers_at, headers)?;
        let code = start..start.saturating_add(length_of_code);
        Ok(Some(Segment { bytes, headers: (headers_at, room.header_count()), at, code }))
    }
}

/// What comes after the original, and the fields that point there.
struct Appended {
    bytes: Vec<u8>,
    fields: SectionFields,
    /// Where the program headers are, and how many there are, if they move there.
    program_headers: Option<(u64, u16)>,
}

impl Appended {
    /// For a file of so many bytes.
    fn of(
        layout: &Layout<'_>,
        length: usize,
        segment: Option<Segment>,
        note: Vec<u8>,
    ) -> Result<Appended, ApplyError> {
        let count = layout.section_count().filter(|count| *count < SECTIONS - 2);
        let mut count = count.ok_or(ApplyError::Sections)?;
        let mut headers = layout.section_headers().to_vec();
        if headers.is_empty() {
            // The first section is none: `SHN_UNDEF`.
            headers.resize(SECTION_HEADER as usize, 0);
            count = 1;
        }
        let (index, mut names) = match layout.section_names() {
            Names::Section(index, names) => (index, names.to_vec()),
            Names::Missing => {
                headers.extend(section_header(1, SHT_STRTAB, None, 0..0, 1));
                count += 1;
                (usize::from(count - 1), b"\0.shstrtab\0".to_vec())
            }
            Names::Unusable => return Err(ApplyError::SectionNames),
        };
        if names.last() != Some(&0) {
            names.push(0);
        }
        let mut add_name = |name: &[u8]| {
            let at = u32::try_from(names.len()).map_err(|_| ApplyError::TooLarge);
            names.extend_from_slice(name);
            at
        };
        let mut bytes = Vec::with_capacity(note.len());
        let mut program_headers = None;
        if let Some(segment) = segment {
            let name = add_name(ADDED_SECTION)?;
            headers.extend(section_header(name, SHT_PROGBITS, Some(segment.at), segment.code, 16));
            count = Some(count + 1).filter(|count| *count < SECTIONS - 1).ok_or(ApplyError::Sections)?;
            program_headers = Some(segment.headers);
            bytes = segment.bytes;
        }
        let name = add_name(SECTION)?;

        let pad = |bytes: &mut Vec<u8>, alignment: usize| {
            let end = length.saturating_add(bytes.len());
            bytes.resize(bytes.len() + (end.next_multiple_of(alignment) - end), 0);
            end.next_multiple_of(alignment) as u64
        };
        let note_at = pad(&mut bytes, 4);
        bytes.extend(note);
        let names_at = pad(&mut bytes, 1);
        headers.extend(section_header(name, SHT_NOTE, None, note_at..names_at, 4));
        bytes.extend_from_slice(&names);
        let header = index.saturating_mul(SECTION_HEADER as usize);
        // `sh_offset` and `sh_size`.
        header::put(&mut headers, header.saturating_add(24), &names_at.to_le_bytes())
            .and_then(|()| header::put(&mut headers, header + 32, &(names.len() as u64).to_le_bytes()))
            .ok_or(ApplyError::SectionNames)?;
        let shoff = pad(&mut bytes, 8);
        bytes.extend(headers);
        let fields = SectionFields {
            shoff,
            shentsize: SECTION_HEADER as u16,
            shnum: count + 1,
            shstrndx: u16::try_from(index).map_err(|_| ApplyError::SectionNames)?,
        };
        Ok(Appended { bytes, fields, program_headers })
    }
}

/// The header of a section: of code at an address, or not loaded.
fn section_header(name: u32, kind: u32, at: Option<Svma>, file: Range<u64>, alignment: u64) -> Vec<u8> {
    let mut header = Vec::with_capacity(SECTION_HEADER as usize);
    header.extend(name.to_le_bytes());
    header.extend(kind.to_le_bytes());
    header.extend(at.map_or(0, |_| SHF_ALLOC | SHF_EXECINSTR).to_le_bytes());
    header.extend(at.map_or(0, |at| at.0).to_le_bytes());
    header.extend(file.start.to_le_bytes());
    header.extend(file.end.saturating_sub(file.start).to_le_bytes());
    // Link and information.
    header.extend([0; 8]);
    header.extend(alignment.to_le_bytes());
    // Size of an entry.
    header.extend([0; 8]);
    header
}
