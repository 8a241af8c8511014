//! What a program carries: bytes after the end of an ELF file, and sections that it reads itself → [`Appended`].
//!
//! An AppImage is a program with a squashfs image after it (type 2), or an ISO 9660 image that begins as a program (type 1);
//! a self-extracting program has a zip file, a 7z archive or a compressed tar archive; PyInstaller has an archive of its own,
//! after the end or in the section `pydata`. What is not recognised may be anything, machine code too.

use crate::extent::{Extent, extent};
use crate::known::Known;
use crate::number::{be32, le32, le64};
use crate::sniff::{Format, Found, ISO_DESCRIPTOR, ends_in_zip, sniff};
use std::ops::Range;

/// What becomes of something that a program carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// [`crate::read_appended`] opens it.
    Opens,
    /// It may hold machine code, and nothing here opens it.
    Closed,
    /// It holds no machine code: a signature, a script, a few bytes.
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

/// Bytes of an ELF header: no section begins in it.
const ELF_HEADER: usize = 52;

/// Bytes that a linker, a signer or an archiver may leave after the end.
const PADDING: usize = 4096;

/// What a signed module of the Linux kernel ends in (`include/linux/module_signature.h`).
const MODULE_SIGNATURE: &[u8] = b"~Module signature appended~\n";
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
    for (name, range) in &extent.unloaded {
        found.extend(of_section(bytes, name, range));
    }
    if extent.notes.iter().any(|range| is_script_of_node(bytes.get(range.clone()).unwrap_or_default())) {
        let range = extent.notes.last().cloned().unwrap_or_default();
        found.push(carried(range, "Node.js program", Reading::Inert, Kind::Unread));
    }
    after(bytes, extent.end, &mut found);
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

/// What a section holds that is not loaded: nothing, mostly.
fn of_section(bytes: &[u8], name: &[u8], range: &Range<usize>) -> Option<Appended> {
    // The file itself is not what it carries.
    let content = bytes.get(range.clone()).filter(|_| range.start >= ELF_HEADER)?;
    // Debug information has compressed sections, and a compressed file of symbols.
    if [&b".debug"[..], b".zdebug", b".gnu", b".comment", b".llvm"]
        .iter()
        .any(|known| name.starts_with(known))
    {
        return None;
    }
    if let Some(archive) = py_installer(content) {
        let range = range.start + archive.start..range.start + archive.end;
        return Some(carried(range, "PyInstaller archive", Reading::Opens, Kind::PyInstaller));
    }
    if name == b".bun" && content.len() > PADDING {
        return Some(carried(range.clone(), "bun program", Reading::Inert, Kind::Unread));
    }
    match opens(content)? {
        (name, reading @ (Reading::Opens | Reading::Closed)) => {
            let kind = if reading == Reading::Opens { Kind::Found } else { Kind::Unread };
            Some(carried(range.clone(), name, reading, kind))
        }
        _ => None,
    }
}

/// What some bytes are, as far as they are recognised.
fn opens(bytes: &[u8]) -> Option<(&'static str, Reading)> {
    match sniff(bytes) {
        Found::Elf => Some(("ELF file", Reading::Opens)),
        Found::Archive => Some(("static archive", Reading::Opens)),
        Found::Compressed(codec) => Some((codec.name(), Reading::Opens)),
        Found::Package(Format::Adb) => Some((Format::Adb.name(), Reading::Closed)),
        Found::Package(format) => Some((format.name(), Reading::Opens)),
        Found::Known(known) => Some((known.name(), Reading::Closed)),
        Found::Other => None,
    }
}

/// What is after the end, one after another where the first says how long it is.
fn after(bytes: &[u8], mut from: usize, found: &mut Vec<Appended>) {
    // Few programs carry more than one thing.
    for _ in 0..8 {
        let Some(rest) = bytes.get(from..) else { return };
        let Some(zeros) = zeros(rest) else { return };
        let start = from + zeros;
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
        let next = one(bytes, start, rest);
        let end = next.range.end;
        found.push(next);
        from = end;
    }
}

/// Zeros that are looked at: a sparse file may have any number of them, and each page that is touched costs memory.
const MOST_ZEROS: usize = 64 << 20;

/// The number of zeros before the first other byte; of more than are looked at, all but the end; `None` where there is nothing else.
fn zeros(bytes: &[u8]) -> Option<usize> {
    const PAGE: [u8; 4096] = [0; 4096];
    let near = bytes.get(..bytes.len().min(MOST_ZEROS)).unwrap_or_default();
    let page = near.chunks(PAGE.len()).position(|chunk| PAGE.get(..chunk.len()) != Some(chunk));
    let from = match page {
        Some(page) => page * PAGE.len(),
        None => near.len().max(bytes.len().saturating_sub(COOKIE_REACH)),
    };
    let rest = bytes.get(from..).unwrap_or_default();
    rest.iter().take(COOKIE_REACH).position(|byte| *byte != 0).map(|at| from + at)
}

/// What begins at a place after the end.
fn one(bytes: &[u8], start: usize, rest: &[u8]) -> Appended {
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
    if rest.ends_with(MODULE_SIGNATURE) {
        return carried(whole, "module signature", Reading::Inert, Kind::Unread);
    }
    if let Some(name) = script(rest) {
        return carried(whole, name, Reading::Inert, Kind::Unread);
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
    let reading = if rest.len() > PADDING { Reading::Closed } else { Reading::Inert };
    carried(whole, "unknown data", reading, Kind::Unread)
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

/// The program of a language whose interpreter the file is: scripts, which hold no machine code.
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
