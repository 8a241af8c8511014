//! What a program carries: bytes after the end of an ELF file, and sections that it reads itself → [`Appended`].
//!
//! An AppImage is a program with a squashfs image after it (type 2), or an ISO 9660 image that begins as a program (type 1);
//! a self-extracting program has a zip file, a 7z archive or a compressed tar archive; PyInstaller has an archive of its own,
//! after the end or in the section `pydata`. What is not recognised may be anything, machine code too: only what is too little
//! or too plain for a program is left out of the answer. A section that toolchains write is read if it begins as an ELF file.

mod embedded;
mod remnant;

use crate::extent::{Extent, TABLE_ALIGNMENT, Unloaded, extent};
use crate::known::Known;
use crate::number::{be32, le16, le32, le64};
use crate::sniff::{Format, Found, ISO_DESCRIPTOR, ends_in_zip, sniff};
use embedded::{embedded, is_elf};
pub(crate) use remnant::plain;
use remnant::{LONGEST_SIGNATURE, signature};
use std::ops::Range;

/// What becomes of something that a program carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// [`crate::read_appended`] opens it.
    Opens,
    /// It may hold machine code, and nothing here opens it.
    Closed,
    /// It is not read, and is of a kind that does not hold machine code: a signature, a script, a few bytes.
    Inert,
}

/// Something that a program carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// Where it is in the file.
    pub range: Range<usize>,
    /// What it is, for people.
    pub name: &'static str,
    /// What becomes of it.
    pub reading: Reading,
    pub(crate) kind: Kind,
}

/// How it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// By its first bytes, as anything else.
    Found,
    /// A zip file: its offsets may count from the beginning of the program.
    Zip,
    /// An ISO 9660 image that is the whole file.
    Iso,
    /// PyInstaller's archive, which ends in its cookie.
    PyInstaller,
    /// Not at all.
    Unread,
}

/// What is read as a file of its own.
pub(crate) const ELF_FILE: &str = "ELF file";

const ET_REL: u16 = 1;

/// Bytes of an ELF header: no section begins in it.
const ELF_HEADER: usize = 52;

/// Bytes at either end of a payload that are searched for what marks it.
const PADDING: usize = 4096;

/// What PyInstaller's archive ends in (`bootloader/src/pyi_archive.h`): this, and 80 bytes.
pub(crate) const COOKIE: &[u8] = b"MEI\x0c\x0b\x0a\x0b\x0e";
pub(crate) const COOKIE_SIZE: usize = 88;
/// The cookie is near the end: a signature may follow.
const COOKIE_REACH: usize = 64 << 10;

/// What an ELF file carries; nothing of other bytes.
pub fn appended(bytes: &[u8]) -> Vec<Appended> {
    let Some(extent) = extent(bytes) else { return Vec::new() };
    let mut found = Vec::new();
    let is_iso = bytes.get(8..10) == Some(b"AI")
        && bytes.get(ISO_DESCRIPTOR + 1..ISO_DESCRIPTOR + 6) == Some(b"CD001");
    if is_iso {
        found.push(carried(0..bytes.len(), Format::Iso.name(), Reading::Opens, Kind::Iso));
        return found;
    }
    if is_packed(bytes, &extent) {
        found.push(carried(0..bytes.len(), "program packed by UPX", Reading::Closed, Kind::Unread));
        return found;
    }
    for section in &extent.unloaded {
        of_section(bytes, section, &mut found);
    }
    for gap in &extent.gaps {
        of_gap(bytes, (&extent, gap), &mut found);
    }
    if extent.notes.iter().any(|range| is_script_of_node(bytes.get(range.clone()).unwrap_or_default())) {
        let range = extent.notes.last().cloned().unwrap_or_default();
        elf_files(bytes, &range, &mut found);
        found.push(carried(range, "Node.js program", Reading::Inert, Kind::Unread));
    }
    let rest = bytes.get(extent.end..).unwrap_or_default();
    let signed = bytes.len() - signature(rest).unwrap_or(0);
    after(bytes.get(..signed).unwrap_or_default(), extent.end, &mut found);
    if signed < bytes.len() {
        let is_module = le16(bytes, 16) == Some(ET_REL) && bytes.len() - signed <= LONGEST_SIGNATURE;
        let reading = if is_module { Reading::Inert } else { Reading::Closed };
        found.push(carried(signed..bytes.len(), "module signature", reading, Kind::Unread));
    }
    found
}

/// Whether a program carries something that is read.
pub(crate) fn is_carrier(bytes: &[u8]) -> bool {
    appended(bytes).iter().any(|part| part.reading == Reading::Opens)
}

fn carried(range: Range<usize>, name: &'static str, reading: Reading, kind: Kind) -> Appended {
    Appended { range, name, reading, kind }
}

/// Whether `UPX!` follows the program headers of a file without sections (UPX, `src/stub/src/include/linux.h`, `l_info`).
fn is_packed(bytes: &[u8], extent: &Extent) -> bool {
    let start = extent.after_headers.min(bytes.len());
    let after = bytes.get(start..start.saturating_add(256).min(bytes.len())).unwrap_or_default();
    !extent.has_sections && after.windows(4).any(|window| window == b"UPX!")
}

/// Whether notes have that of a single executable of Node.js (postject).
fn is_script_of_node(notes: &[u8]) -> bool {
    let beginning = notes.get(..notes.len().min(64)).unwrap_or_default();
    beginning.windows(13).any(|window| window == b"NODE_SEA_BLOB")
}

/// Programs of bun and deno have some dozens of addons; headers without anything would fit a payload by the million.
const MOST_FILES: usize = 1000;

/// Adds the ELF files that are somewhere in a range.
fn elf_files(bytes: &[u8], range: &Range<usize>, found: &mut Vec<Appended>) {
    let content = bytes.get(range.clone()).unwrap_or_default();
    for (number, file) in embedded(content).take(MOST_FILES + 1).enumerate() {
        let start = range.start + file.start;
        found.push(match number == MOST_FILES {
            true => carried(start..range.end, "further ELF files", Reading::Closed, Kind::Unread),
            false => carried(start..range.start + file.end, ELF_FILE, Reading::Opens, Kind::Found),
        });
    }
}

/// Adds what a section holds that is not loaded: nothing, mostly.
fn of_section(bytes: &[u8], section: &Unloaded, found: &mut Vec<Appended>) {
    let Unloaded { name, range, is_progbits } = section;
    // The file itself is not what it carries.
    let Some(content) = bytes.get(range.clone()).filter(|_| range.start >= ELF_HEADER) else { return };
    if is_elf(content) {
        found.push(carried(range.clone(), ELF_FILE, Reading::Opens, Kind::Found));
        return;
    }
    // Debug information has compressed sections, and a compressed file of symbols.
    if !is_progbits
        || [&b".debug"[..], b".zdebug", b".gnu", b".comment", b".llvm"]
            .iter()
            .any(|known| name.starts_with(known))
    {
        return;
    }
    if let Some(archive) = py_installer(content) {
        let range = range.start + archive.start..range.start + archive.end;
        found.push(carried(range, "PyInstaller archive", Reading::Opens, Kind::PyInstaller));
        return;
    }
    if let Some((name, reading)) = opens(content).filter(|(name, _)| *name != ELF_FILE) {
        let kind = if reading == Reading::Opens { Kind::Found } else { Kind::Unread };
        found.push(carried(range.clone(), name, reading, kind));
        return;
    }
    elf_files(bytes, range, found);
    if name == b".bun" && content.len() > PADDING {
        found.push(carried(range.clone(), "bun program", Reading::Inert, Kind::Unread));
    }
}

/// Adds what is in bytes that no header leads to. Linkers, `strip` and `objcopy` leave zeros there; patchelf and auditwheel leave the old
/// section header table.
fn of_gap(bytes: &[u8], (extent, gap): (&Extent, &Range<usize>), found: &mut Vec<Appended>) {
    let mut from = gap.start;
    let start = loop {
        let Some(zeros) = bytes.get(from..gap.end).and_then(zeros) else { return };
        unseen(from, &zeros, found);
        let start = from + zeros.count;
        // The first bytes of a table may be zeros.
        let table = (start - start % TABLE_ALIGNMENT).max(from);
        match extent.section_headers(bytes.get(table..gap.end).unwrap_or_default(), bytes.len()) {
            0 => break start,
            length => from = table + length,
        }
    };
    let rest = bytes.get(start..gap.end).unwrap_or_default();
    if is_elf(rest) {
        elf_files(bytes, &(start..gap.end), found);
    } else if !rest.is_empty() && plain(rest).is_none() {
        found.push(carried(start..gap.end, "unknown data", Reading::Closed, Kind::Unread));
    }
}

/// What some bytes are, as far as they are recognised.
fn opens(bytes: &[u8]) -> Option<(&'static str, Reading)> {
    match sniff(bytes) {
        Found::Elf => Some((ELF_FILE, Reading::Opens)),
        Found::Archive => Some(("static archive", Reading::Opens)),
        Found::Compressed(codec) => Some((codec.name(), Reading::Opens)),
        Found::Package(Format::Adb) => Some((Format::Adb.name(), Reading::Closed)),
        Found::Package(format) => Some((format.name(), Reading::Opens)),
        Found::Known(known) => Some((known.name(), Reading::Closed)),
        Found::Other => None,
    }
}

/// What a program carries after its end is more than one thing in few programs; what follows so many is not looked at.
const MOST_PARTS: usize = 8;

/// What is after the end, one after another where the first says how long it is.
fn after(bytes: &[u8], mut from: usize, found: &mut Vec<Appended>) {
    for number in 0..=MOST_PARTS {
        let Some(rest) = bytes.get(from..) else { return };
        let Some(zeros) = zeros(rest) else { return };
        let start = from + zeros.count;
        unseen(from, &zeros, found);
        if start == bytes.len() {
            return;
        }
        if number == MOST_PARTS {
            found.push(carried(start..bytes.len(), "further data", Reading::Closed, Kind::Unread));
            return;
        }
        // An image of a disk begins with zeros: it is where the end of the program is, at a multiple of a page from it, or so far
        // before what shows that its first structure is there.
        let places = [
            from,
            from.next_multiple_of(4096),
            start.saturating_sub(ISO_DESCRIPTOR),
            start.saturating_sub(0x400),
        ];
        let is_image = |at: &usize| {
            (from..=start).contains(at) && bytes.get(*at..).is_some_and(|rest| opens(rest).is_some())
        };
        let image = places.into_iter().find(is_image);
        let start = image.unwrap_or(start);
        let Some(rest) = bytes.get(start..) else { return };
        from = one(bytes, start, rest, found);
    }
}

/// Adds what comes after the zeros that were looked at, at a place.
fn unseen(from: usize, zeros: &Zeros, found: &mut Vec<Appended>) {
    if zeros.seen < zeros.count {
        let range = from + zeros.seen..from + zeros.count;
        found.push(carried(range, "data after 64 MiB of zeros", Reading::Closed, Kind::Unread));
    }
}

/// Zeros that are looked at: a sparse file may have any number of them, and each page that is touched costs memory.
const MOST_ZEROS: usize = 64 << 20;

/// The zeros at the beginning of some bytes.
struct Zeros {
    /// Those before the first other byte that is found.
    count: usize,
    /// Those that were looked at: in what follows, up to the end or to what was found near it, may be anything.
    seen: usize,
}

/// The zeros before the first other byte; of more than are looked at, all but the end; `None` where there is nothing else.
fn zeros(bytes: &[u8]) -> Option<Zeros> {
    const PAGE: [u8; 4096] = [0; 4096];
    let near = bytes.get(..bytes.len().min(MOST_ZEROS)).unwrap_or_default();
    let page = near.chunks(PAGE.len()).position(|chunk| PAGE.get(..chunk.len()) != Some(chunk));
    let first_in = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take(COOKIE_REACH).position(|byte| *byte != 0).map(|at| from + at)
    };
    match page {
        Some(page) => first_in(page * PAGE.len()).map(|count| Zeros { count, seen: count }),
        None if near.len() == bytes.len() => None,
        None => {
            let end = bytes.len().saturating_sub(COOKIE_REACH);
            let count = first_in(near.len().max(end)).unwrap_or(bytes.len());
            Some(Zeros { count, seen: if end <= near.len() { count } else { near.len() } })
        }
    }
}

/// Adds what begins at a place after the end, and returns where it ends.
fn one(bytes: &[u8], start: usize, rest: &[u8], found: &mut Vec<Appended>) -> usize {
    let script = script(rest).filter(|_| opens(rest).is_none() && py_installer(rest).is_none());
    let part = match script {
        Some(name) => {
            elf_files(bytes, &(start..bytes.len()), found);
            carried(start..bytes.len(), name, Reading::Inert, Kind::Unread)
        }
        None => recognised(bytes, start, rest),
    };
    let end = part.range.end;
    found.push(part);
    end
}

fn recognised(bytes: &[u8], start: usize, rest: &[u8]) -> Appended {
    let whole = start..bytes.len();
    if let Some((name, reading)) = opens(rest) {
        let length = length_of(rest).unwrap_or(rest.len()).clamp(1, rest.len());
        let kind = match (reading, sniff(rest)) {
            (Reading::Opens, Found::Package(Format::Zip)) => Kind::Zip,
            (Reading::Opens, _) => Kind::Found,
            _ => Kind::Unread,
        };
        // A zip file is found from its end.
        if kind != Kind::Zip || ends_in_zip(bytes) {
            return carried(start..start + length, name, reading, kind);
        }
    }
    if let Some(archive) = py_installer(rest) {
        let range = start + archive.start..start + archive.end;
        return carried(range, "PyInstaller archive", Reading::Opens, Kind::PyInstaller);
    }
    if ends_in_zip(bytes) {
        return carried(whole, Format::Zip.name(), Reading::Opens, Kind::Zip);
    }
    // A self-extracting 7z archive has its configuration before it.
    if let Some(at) = rest.windows(6).take(PADDING).position(|window| window == b"7z\xbc\xaf\x27\x1c") {
        return carried(start + at..bytes.len(), Format::SevenZip.name(), Reading::Opens, Kind::Found);
    }
    if sniff(rest) == Found::Package(Format::Zip) {
        return carried(whole, "zip without its directory", Reading::Closed, Kind::Unread);
    }
    match plain(rest) {
        Some(name) => carried(whole, name, Reading::Inert, Kind::Unread),
        None => carried(whole, "unknown data", Reading::Closed, Kind::Unread),
    }
}

/// The length of what says how long it is.
fn length_of(bytes: &[u8]) -> Option<usize> {
    match sniff(bytes) {
        Found::Package(Format::Squashfs) => usize::try_from(le64(bytes, 40)?).ok(),
        Found::Package(Format::SevenZip) => {
            usize::try_from(le64(bytes, 12)?.checked_add(le64(bytes, 20)?)?.checked_add(32)?).ok()
        }
        // Its own end: what it carries itself is read with it.
        Found::Known(Known::Cramfs) => Some(le32(bytes, 4)? as usize),
        _ => None,
    }
}

/// The program of a language whose interpreter the file is: scripts, and files that these read, such as Node's addons.
fn script(rest: &[u8]) -> Option<&'static str> {
    let ends = [rest.len().saturating_sub(PADDING)..rest.len(), 0..rest.len().min(PADDING)];
    let has = |magic: &[u8]| {
        let mut parts = ends.iter().filter_map(|range| rest.get(range.clone()));
        parts.any(|part| part.windows(magic.len()).any(|window| window == magic))
    };
    match () {
        () if has(b"\n---- Bun! ----\n") => Some("bun program"),
        () if has(b"d3n0l4nd") => Some("deno program"),
        () => None,
    }
}

/// Where PyInstaller's archive is in some bytes: it ends in its cookie, which says how long it is.
fn py_installer(bytes: &[u8]) -> Option<Range<usize>> {
    let from = bytes.len().saturating_sub(COOKIE_REACH);
    let tail = bytes.get(from..)?;
    let at = from + tail.windows(COOKIE.len()).rposition(|window| window == COOKIE)?;
    let end = at.checked_add(COOKIE_SIZE).filter(|end| *end <= bytes.len())?;
    let length = be32(bytes, at + COOKIE.len())? as usize;
    Some(end.checked_sub(length)?..end)
}
