//! A zip file with some members changed: APPNOTE.TXT, section 4.3.
//!
//! The records are copied, and in them only checksums, sizes and offsets change, each as wide as it was
//! (zip64, section 4.5.3). Unchanged members keep their compressed bytes.

pub(crate) mod directory;
mod field;
pub(crate) mod record;

use super::error::{Made, RewriteError, failed};
use super::job::{Job, PEEK};
use crate::codec::decode::decoded;
use crate::codec::encode::{Coding, encoded};
use crate::inside::first_block;
use crate::name::{shown, tidied};
use crate::sniff::{Codec, Found, sniff};
use directory::{Directory, ENCRYPTED, Entry, Reason, STREAMED};
use field::put;
use flate2::Crc;
use record::{Sum, is_record, updated};
use std::collections::{BTreeMap, HashMap};
use std::io::Read;

const NO_ROOM: &str = "zip: a size or an offset that would need zip64";

/// A member's new data.
struct New {
    size: u64,
    crc: u32,
    data: Vec<u8>,
}

pub(super) fn rewrite(job: &mut Job<'_>, bytes: &[u8]) -> Made<Option<Vec<u8>>> {
    let most = job.meter.limits.members;
    let directory = Directory::parse(bytes, most).map_err(|reason| match reason {
        Reason::Refused(reason) => job.refused(&format!("zip: {reason}")),
        Reason::TooMany => job.unreadable(&format!("more than {most} members (--max-members)")),
        Reason::Broken(reason, at) => job.unreadable(&format!("zip: {reason}, at byte {at}")),
    })?;
    if let Some(format) = foreign(&directory.entries) {
        return Err(job.refused(&format!("{format}: its hashes and signatures are not made anew")));
    }
    let is_wheel = directory.entries.iter().any(|entry| is_record(entry.name));
    let mut sums = HashMap::new();
    let (mut new, mut held) = (BTreeMap::new(), 0_u64);
    for (at, entry) in directory.entries.iter().enumerate() {
        job.begin_member()?;
        let Some(bytes) = changed(job, entry)? else { continue };
        let name = tidied(entry.name);
        if is_wheel {
            sums.insert(name, (Sum::of(&bytes), 0));
        }
        let made = compressed(job, entry, &bytes)?;
        held = held.saturating_add(made.data.len() as u64);
        job.admit(entry.name, held)?;
        new.insert(at, made);
    }
    if new.is_empty() {
        return Ok(None);
    }
    let mut times: HashMap<&[u8], u64> = HashMap::new();
    directory.entries.iter().for_each(|entry| *times.entry(tidied(entry.name)).or_default() += 1);
    for entry in new.keys().filter_map(|at| directory.entries.get(*at)) {
        if times.get(tidied(entry.name)).is_some_and(|times| *times > 1) {
            return Err(job.refused(&format!("zip: more than one member named {}", shown(entry.name))));
        }
    }
    for (at, entry) in directory.entries.iter().enumerate().filter(|(_, entry)| is_record(entry.name)) {
        let Some(codec) = codec(entry).filter(|_| entry.flags & ENCRYPTED == 0) else {
            let reason = "zip: the wheel's RECORD is stored by a method that is not read".to_owned();
            return Err(RewriteError::Refused { path: job.inner(entry.name), reason });
        };
        let old = whole(job, entry, &mut decoded(codec, entry.data, &job.meter), Vec::new())?;
        let record = updated(&old, &mut sums);
        if record != old {
            new.insert(at, compressed(job, entry, &record)?);
        }
    }
    note(job, &directory.entries, is_wheel, &sums);
    write(bytes.len(), &directory, &new).ok_or_else(|| job.refused(NO_ROOM)).map(Some)
}

/// What a zip file is whose members have hashes or signatures in places that are not made anew.
fn foreign(entries: &[Entry<'_>]) -> Option<&'static str> {
    let is_conda = |name: &[u8]| name.starts_with(b"pkg-") && name.windows(5).any(|part| part == b".tar.");
    entries.iter().find_map(|entry| match entry.name {
        b"AndroidManifest.xml" | b"base/manifest/AndroidManifest.xml" => Some("an Android package"),
        name if is_conda(name) => Some("a conda package"),
        _ => None,
    })
}

/// Says what a person should know of a package with changes.
fn note(job: &mut Job<'_>, entries: &[Entry<'_>], is_wheel: bool, sums: &HashMap<&[u8], (Sum, u64)>) {
    let mut missing: Vec<_> =
        sums.iter().filter(|(_, (_, lines))| *lines == 0).map(|(name, _)| name).collect();
    missing.sort();
    for name in missing {
        job.notes.push(format!("{}: the wheel's RECORD has no line for it", shown(name)));
    }
    for name in entries.iter().map(|entry| entry.name) {
        let is_of_record = is_wheel
            && name.strip_suffix(b".jws").or_else(|| name.strip_suffix(b".p7s")).is_some_and(is_record);
        let is_of_jar = name.strip_prefix(b"META-INF/").is_some_and(|name| {
            [&b".SF"[..], b".RSA", b".DSA", b".EC"].iter().any(|end| name.ends_with(end))
        });
        if is_of_record || is_of_jar || name == b".signature.p7s" {
            job.signatures.push(format!("{}: signs the package as it was, and holds no longer", shown(name)));
        }
    }
}

/// What a member is compressed by; the outer `None`: by what is not written.
#[expect(clippy::option_option, reason = "no compression is one, too")]
fn codec(entry: &Entry<'_>) -> Option<Option<Codec>> {
    match entry.method {
        0 => Some(None),
        8 => Some(Some(Codec::Deflate)),
        95 => Some(Some(Codec::Xz)),
        _ => None,
    }
}

/// A member's new bytes, if it is a binary and changed.
fn changed(job: &mut Job<'_>, entry: &Entry<'_>) -> Made<Option<Vec<u8>>> {
    if entry.name.ends_with(b"/") || entry.is_symlink || entry.data.is_empty() {
        return Ok(None);
    }
    if entry.flags & ENCRYPTED != 0 {
        job.keep(entry.name, "encrypted, kept as it is");
        return Ok(None);
    }
    let Some(codec) = codec(entry) else {
        job.keep(entry.name, &format!("compressed by method {}, kept as it is", entry.method));
        return Ok(None);
    };
    let mut stream = decoded(codec, entry.data, &job.meter);
    let path = job.inner(entry.name);
    let mut first = first_block(&mut stream).map_err(|error| failed(&path, &job.meter, error))?;
    if matches!(sniff(&first), Found::Compressed(_)) {
        let more = (&mut stream).take(PEEK).read_to_end(&mut first);
        more.map_err(|error| failed(&path, &job.meter, error))?;
    }
    let Some(kind) = job.recognised(entry.name, &first) else { return Ok(None) };
    let bytes = whole(job, entry, &mut stream, first)?;
    let (bytes, is_new) = job.offered(entry.name, kind, bytes);
    Ok(is_new.then_some(bytes))
}

/// All of a member, whose first bytes were read; its size and checksum are compared.
fn whole(job: &Job<'_>, entry: &Entry<'_>, stream: &mut dyn Read, first: Vec<u8>) -> Made<Vec<u8>> {
    let size = entry.size.value;
    job.admit(entry.name, size)?;
    let path = job.inner(entry.name);
    let mut bytes = first;
    let left = size.saturating_add(1).saturating_sub(bytes.len() as u64);
    stream.take(left).read_to_end(&mut bytes).map_err(|error| failed(&path, &job.meter, error))?;
    let mut crc = Crc::new();
    crc.update(&bytes);
    if bytes.len() as u64 != size || crc.sum() != entry.crc {
        let reason = "zip: not of the size and the checksum that the directory states".to_owned();
        return Err(RewriteError::Unreadable { path, reason });
    }
    Ok(bytes)
}

fn compressed(job: &Job<'_>, entry: &Entry<'_>, bytes: &[u8]) -> Made<New> {
    let coding = match codec(entry).flatten() {
        Some(Codec::Deflate) => Coding::Deflate,
        other => Coding::like(other, entry.data).unwrap_or(Coding::Plain),
    };
    let most = job.meter.limits.member_bytes;
    let data = encoded(coding, &mut &*bytes, most);
    let data = data.map_err(|error| failed(&job.inner(entry.name), &job.meter, error))?;
    let mut crc = Crc::new();
    crc.update(bytes);
    Ok(New { size: bytes.len() as u64, crc: crc.sum(), data })
}

/// The new file; `None` if a number does not fit in its field.
fn write(length: usize, directory: &Directory<'_>, new: &BTreeMap<usize, New>) -> Option<Vec<u8>> {
    let more = new.values().map(|new| new.data.len()).sum::<usize>();
    let mut made = Vec::new();
    made.try_reserve(length.saturating_add(more)).ok()?;
    let mut offsets = vec![0; directory.entries.len()];
    for at in &directory.order {
        let entry = directory.entries.get(*at)?;
        *offsets.get_mut(*at)? = made.len() as u64;
        let (mut header, mut descriptor) = (entry.header.to_vec(), entry.descriptor.to_vec());
        let data = match new.get(at) {
            None => entry.data,
            Some(new) => {
                entry.set_local(&mut header, new)?;
                entry.set_descriptor(&mut descriptor, new)?;
                new.data.as_slice()
            }
        };
        made.extend_from_slice(&header);
        made.extend_from_slice(data);
        made.extend_from_slice(&descriptor);
    }
    let start = made.len() as u64;
    for (at, entry) in directory.entries.iter().enumerate() {
        let mut record = entry.record.to_vec();
        entry.offset.set(&mut record, *offsets.get(at)?)?;
        if let Some(new) = new.get(&at) {
            put(&mut record, 16, &new.crc.to_le_bytes())?;
            entry.compressed.set(&mut record, new.data.len() as u64)?;
            entry.size.set(&mut record, new.size)?;
        }
        made.extend(record);
    }
    let mut tail = directory.tail.to_vec();
    for field in &directory.starts {
        field.set(&mut tail, start)?;
    }
    if let Some(locator) = directory.locator {
        locator.set(&mut tail, start.checked_add(directory.length)?)?;
    }
    made.extend(tail);
    Some(made)
}

impl Entry<'_> {
    /// States the new data in a copy of the local header. Where a descriptor follows, it may have been left 0
    /// there.
    fn set_local(&self, header: &mut [u8], new: &New) -> Option<()> {
        let (crc, compressed, size) = directory::local(header)?;
        if self.flags & STREAMED != 0 && (crc, compressed.value, size.value) == (0, 0, 0) {
            return Some(());
        }
        put(header, 14, &new.crc.to_le_bytes())?;
        size.set(header, new.size)?;
        compressed.set(header, new.data.len() as u64)
    }

    fn set_descriptor(&self, descriptor: &mut [u8], new: &New) -> Option<()> {
        let Some((crc, compressed, size)) = directory::described(descriptor) else { return Some(()) };
        put(descriptor, crc, &new.crc.to_le_bytes())?;
        compressed.set(descriptor, new.data.len() as u64)?;
        size.set(descriptor, new.size)
    }
}
