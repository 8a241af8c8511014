//! A Debian package with some of its files changed: deb(5).
//!
//! `data.tar` is made anew and compressed as it was. `md5sums` and `Installed-Size` in `control.tar` follow,
//! and so do the sizes in the headers of the ar archive; nothing else changes.

mod control;

use super::error::Made;
use super::job::Job;
use super::payload::Payload;
use super::tar::stream::{Stream, rewritten};
use crate::codec::encode::Coding;
use crate::name::shown;
use crate::sniff::{Codec, Format, Found, sniff};
use control::Control;
use lzma_rust2::CheckType;
use std::collections::BTreeMap;
use std::rc::Rc;

const MAGIC: usize = 8;
const HEADER: usize = 60;
/// Packages have three members, and a few signatures.
const MOST: usize = 100;

struct Part<'a> {
    /// As it is in the file.
    header: &'a [u8],
    name: &'a [u8],
    bytes: &'a [u8],
}

pub(crate) fn rewrite(job: &mut Job<'_>, bytes: &[u8]) -> Made<Option<Vec<u8>>> {
    let parts = parts(job, bytes)?;
    if !parts.first().is_some_and(|first| first.name == b"debian-binary" && first.bytes.starts_with(b"2.")) {
        return Err(job.refused("deb: no package of version 2"));
    }
    let (control_at, data_at) = (only(job, &parts, "control.tar")?, only(job, &parts, "data.tar")?);
    let (Some(control), Some(data)) = (parts.get(control_at), parts.get(data_at)) else {
        return Err(job.unreadable("deb: cut off"));
    };
    let (path, meter) = (job.path.to_owned(), Rc::clone(&job.meter));
    let (stream, name, coding) = stream(job, data)?;
    let mut payload = Payload::new(job, true);
    let new_data = rewritten(&path, &meter, stream, coding, &mut payload)?;
    let replaced = std::mem::take(&mut payload.replaced);
    let Some(new_data) = new_data else { return Ok(None) };
    let mut new = BTreeMap::from([(data_at, (name, new_data))]);

    let inner = format!("{path}!{}", shown(control.name));
    let (stream, name, coding) = self::stream(job, control)?;
    let mut editor = Control::new(&inner, &replaced, meter.limits.member_bytes);
    if let Some(new_control) = rewritten(&inner, &meter, stream, coding, &mut editor)? {
        new.insert(control_at, (name, new_control));
    }
    for missing in editor.missing {
        job.notes.push(format!("{missing}: md5sums has no line for it"));
    }
    for signature in parts.iter().filter(|part| part.name.starts_with(b"_")) {
        job.signatures
            .push(format!("{}: signs the package as it was, and holds no longer", shown(signature.name)));
    }

    let mut made = bytes.get(..MAGIC).unwrap_or_default().to_vec();
    for (at, part) in parts.iter().enumerate() {
        let new = new.get(&at);
        let (name, bytes) = new.map_or((part.name, part.bytes), |(name, bytes)| (name, bytes));
        if name != part.name {
            let (old, new) = (shown(part.name), shown(name));
            job.notes.push(format!("{old} has become {new}: its compression is read, but not written"));
        }
        let header = header(part, name, bytes.len());
        made.extend(header.ok_or_else(|| job.refused("deb: a member's size has more than ten digits"))?);
        made.extend_from_slice(bytes);
        if bytes.len() % 2 == 1 {
            made.push(b'\n');
        }
    }
    Ok(Some(made))
}

/// All members, to the last byte.
fn parts<'a>(job: &Job<'_>, bytes: &'a [u8]) -> Made<Vec<Part<'a>>> {
    let mut parts = Vec::new();
    let mut rest = bytes.get(MAGIC..).unwrap_or_default();
    while !rest.is_empty() {
        let at = bytes.len() - rest.len();
        if parts.len() == MOST {
            return Err(job.unreadable(&format!("deb: more than {MOST} members, at byte {at}")));
        }
        let Some((header, after)) = rest.split_at_checked(HEADER) else {
            return Err(job.unreadable(&format!("deb: cut off at byte {at}")));
        };
        let text = |range| std::str::from_utf8(header.get(range)?).ok();
        let size = text(48..58).and_then(|digits| digits.trim_end().parse::<usize>().ok());
        let (Some(size), Some(name), b"`\n") = (size, text(0..16), header.get(58..).unwrap_or_default())
        else {
            return Err(job.unreadable(&format!("deb: no header of a member at byte {at}")));
        };
        let name = name.trim_end().trim_end_matches('/').as_bytes();
        let Some((body, after)) = after.split_at_checked(size) else {
            return Err(job.unreadable(&format!("deb: cut off in {}, from byte {at}", shown(name))));
        };
        // The last byte of padding may be left out.
        rest = after.get(size % 2..).unwrap_or_default();
        parts.push(Part { header, name, bytes: body });
    }
    Ok(parts)
}

fn only(job: &Job<'_>, parts: &[Part<'_>], name: &str) -> Made<usize> {
    let found = parts.iter().enumerate().filter(|(_, part)| part.name.starts_with(name.as_bytes()));
    match *found.map(|(at, _)| at).collect::<Vec<_>>().as_slice() {
        [at] => Ok(at),
        [] => Err(job.unreadable(&format!("deb: cut off: no {name}"))),
        _ => Err(job.refused(&format!("deb: more than one {name}"))),
    }
}

/// The tar archive in a member, compressed as its name says: dpkg goes by the name. And how to compress it
/// anew, and the name for that: what cannot be as it was becomes xz, dpkg's own default.
fn stream<'a>(job: &Job<'_>, part: &Part<'a>) -> Made<(Stream<'a>, &'a [u8], Coding)> {
    let Some((base, suffix)) = [&b"control.tar"[..], b"data.tar"]
        .into_iter()
        .find_map(|base| Some((base, part.name.strip_prefix(base)?)))
    else {
        return Err(job.unreadable("deb: cut off"));
    };
    let codec = match suffix {
        b"" => None,
        b".gz" => Some(Codec::Gzip),
        b".xz" => Some(Codec::Xz),
        b".zst" => Some(Codec::Zstd),
        b".bz2" => Some(Codec::Bzip2),
        _ => return Err(job.refused(&format!("deb: {}: not read", shown(part.name)))),
    };
    if sniff(part.bytes) != codec.map_or(Found::Package(Format::Tar), Found::Compressed) {
        return Err(job.unreadable(&format!("deb: {} is not what its name says", shown(part.name))));
    }
    let stream = Stream { codec, bytes: part.bytes };
    Ok(match Coding::like(codec, part.bytes) {
        Some(coding) => (stream, part.name, coding),
        None if base == b"data.tar" => (stream, b"data.tar.xz", Coding::Xz(CheckType::Crc32)),
        None => (stream, b"control.tar.xz", Coding::Xz(CheckType::Crc32)),
    })
}

/// A member's header with another size, and another name if it has one.
fn header(part: &Part<'_>, name: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut header = part.header.to_vec();
    if name != part.name {
        let field = header.get_mut(..16)?;
        field.fill(b' ');
        field.get_mut(..name.len())?.copy_from_slice(name);
    }
    if size != part.bytes.len() {
        let digits = format!("{size:<10}");
        header
            .get_mut(48..58)
            .filter(|field| field.len() == digits.len())?
            .copy_from_slice(digits.as_bytes());
    }
    Some(header)
}
