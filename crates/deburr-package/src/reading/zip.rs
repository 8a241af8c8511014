//! zip: the central directory (APPNOTE.TXT, section 4.3.12) → members, in its order.
//!
//! The directory is at the end, so that a zip file in a stream is first read into memory. Sizes and checksums
//! are compared.

use super::reader::{Bytes, Flow, Nesting, Reader};
use crate::claim::android::maps_libraries;
use crate::codec::decode::decoded;
use crate::codec::meter::Meter;
use crate::member::{Link, Member};
use crate::name::{shown, tidied};
use crate::sink::Sink;
use crate::sniff::{Codec, Found, sniff};
use crate::tar::LONGEST_NAME;
use rawzip::{CompressionMethod, ZipArchive, ZipFileHeaderRecord, ZipSliceArchive};
use std::collections::BTreeMap;
use std::io::{self, Read};

/// Reads a zip file.
pub(crate) fn read<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    bytes: Bytes<'_>,
    nesting: Nesting,
) -> Flow {
    reader.whole(path, bytes, |reader, whole| members(reader, path, whole, nesting))
}

fn members<S: Sink>(reader: &mut Reader<'_, S>, path: &str, bytes: &[u8], nesting: Nesting) -> Flow {
    let archive = match ZipArchive::from_slice(bytes) {
        Ok(archive) => archive,
        Err(error) => {
            return reader.skip(path, &format!("zip: no directory at its end, cut off? ({error})"), true);
        }
    };
    let is_mapped = path.to_ascii_lowercase().ends_with(".apk")
        && maps_libraries(bytes, &Meter::new(&reader.meter.limits, bytes));
    let mut entries = archive.entries();
    let (mut last, mut encrypted) = (String::new(), 0_u64);
    let mut taken = Taken::default();
    loop {
        let entry = match entries.next_entry() {
            Ok(Some(entry)) => entry,
            Ok(None) => break,
            Err(error) => {
                reader.skip(path, &format!("zip: the directory is damaged after {last:?}: {error}"), true)?;
                break;
            }
        };
        last = shown(tidied(entry.file_path().as_ref()));
        if entry.is_dir() {
            continue;
        }
        reader.begin_member()?;
        let inner = format!("{path}!{last}");
        let is_link = entry.mode().is_symlink();
        let target = is_link.then(|| target(reader, &archive, &entry)).flatten();
        let leads_to =
            target.map(|target| Link::Symbolic(&target).leads_to(path, entry.file_path().as_ref()));
        reader.sink.member(Member { path: inner.clone(), leads_to, is_signed: false });
        if is_link {
            continue;
        }
        if entry.flags().is_encrypted() {
            encrypted += 1;
            continue;
        }
        if !taken.take(&archive, &entry) {
            // As Python's zipfile does since CVE-2024-0450.
            reader.skip(&inner, "zip: its bytes are a part of another member's: refused", true)?;
            continue;
        }
        member(reader, &inner, (&archive, is_mapped), &entry, nesting.within())?;
    }
    if encrypted > 0 {
        reader.skip(path, &format!("zip: encrypted members are not read: {encrypted}"), true)?;
    }
    Ok(())
}

/// The bytes of the members so far, by where they begin: of bytes that several members share, a small file unpacks without an end
/// (Fifield, "A better zip bomb", WOOT 2019).
#[derive(Default)]
struct Taken(BTreeMap<u64, u64>);

impl Taken {
    /// Takes the bytes of a member; whether they were free. Of bytes that are not there, who reads them complains.
    fn take(&mut self, archive: &ZipSliceArchive<&[u8]>, record: &ZipFileHeaderRecord<'_>) -> bool {
        let Ok(entry) = archive.get_entry(record.wayfinder()) else { return true };
        let (start, end) = entry.compressed_data_range();
        if start >= end {
            return true;
        }
        let before = self.0.range(..end).next_back();
        let is_free = before.is_none_or(|(_, taken)| *taken <= start);
        if is_free {
            self.0.insert(start, end);
        }
        is_free
    }
}

/// What a symbolic link leads to, which a zip file holds as the link's bytes; `None` where these cannot be read.
fn target<S>(
    reader: &Reader<'_, S>,
    archive: &ZipSliceArchive<&[u8]>,
    record: &ZipFileHeaderRecord<'_>,
) -> Option<Vec<u8>> {
    let entry = archive.get_entry(record.wayfinder()).ok()?;
    let codec = match record.compression_method() {
        CompressionMethod::STORE => None,
        CompressionMethod::DEFLATE => Some(Codec::Deflate),
        _ => return None,
    };
    let mut target = Vec::new();
    // A decoder of its own: what it cannot read ends nothing else.
    let meter = Meter::new(&reader.meter.limits, entry.data());
    decoded(codec, entry.data(), &meter).take(LONGEST_NAME as u64).read_to_end(&mut target).ok()?;
    Some(target)
}

/// `is_mapped`: whether a loader maps what is stored in it as it is.
fn member<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    (archive, is_mapped): (&ZipSliceArchive<&[u8]>, bool),
    record: &ZipFileHeaderRecord<'_>,
    nesting: Nesting,
) -> Flow {
    let entry = match archive.get_entry(record.wayfinder()) {
        Ok(entry) => entry,
        Err(error) => return reader.skip(path, &format!("zip: no such bytes: {error}"), true),
    };
    let data = entry.data();
    let codec = match record.compression_method() {
        CompressionMethod::STORE => {
            // A package in it is read in place; a binary's checksum is compared.
            return match sniff(data) {
                Found::Elf | Found::Archive => {
                    let mut verified = entry.verifying_reader(data);
                    let stored_at = is_mapped.then_some(entry.compressed_data_range().0);
                    let bytes = Bytes::Stream(&mut verified, Some(data.len() as u64));
                    reader.content(path, bytes, Nesting { stored_at, ..nesting })
                }
                _ => reader.content(path, Bytes::Slice(data), nesting),
            };
        }
        CompressionMethod::DEFLATE => Codec::Deflate,
        CompressionMethod::BZIP2 => Codec::Bzip2,
        CompressionMethod::ZSTD => Codec::Zstd,
        CompressionMethod::XZ => Codec::Xz,
        other => {
            let reason = format!("zip: compressed by method {}: not read", other.as_u16());
            return reader.skip(path, &reason, true);
        }
    };
    let size = record.uncompressed_size_hint();
    reader.decoded(codec, Bytes::Slice(data), |reader, stream| {
        let mut verified = entry.verifying_reader(&mut *stream as &mut dyn io::Read);
        reader.content(path, Bytes::Stream(&mut verified, Some(size)), nesting)
    })
}
