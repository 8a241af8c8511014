//! Sections of debug information, and where more of it can be found.
//!
//! In: a file. Out: the decompressed, and in relocatable objects relocated, bytes of a debug section; which
//! separate debug file the file points to; the decompressed `.gnu_debugdata`. All of it bounded, because a few
//! compressed bytes can expand to gigabytes.
//! Follows the gABI, "Compressed Sections", and GDB's manual, "Separate Debug Files" and "MiniDebugInfo".

use super::relocated::relocated;
use crate::image::elf::{Elf, SHF_COMPRESSED, SHT_NOBITS, u32_at, u64_at};
use crate::image::{Error, Kind};
use std::borrow::Cow;
use std::io::Read;

const ELFCOMPRESS_ZLIB: u32 = 1;
const ELFCOMPRESS_ZSTD: u32 = 2;
/// `Elf64_Chdr`
const COMPRESSION_HEADER: usize = 24;

/// The bytes of a section of debug information, decompressed; `None` where a file does not have it.
///
/// # Errors
/// [`Error`], where the file is not an ELF file that deburr reads, or the section does not decompress to at most `limit` bytes.
pub fn debug_section<'a>(bytes: &'a [u8], name: &str, limit: u64) -> Result<Option<Cow<'a, [u8]>>, Error> {
    let elf = Elf::parse(bytes)?;
    let Some(section) = elf.section(name).filter(|section| section.kind != SHT_NOBITS) else {
        return Ok(None);
    };
    let expected = || format!("a section {name} of at most {limit} bytes, decompressed");
    let found = DebugSection::find(&elf, name, limit);
    found.map(Some).ok_or_else(|| Error::Malformed { offset: section.offset, expected: expected() })
}

/// Access to the sections of debug information.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DebugSection;

impl DebugSection {
    /// The bytes of a section, if it is there, whole, and at most `limit` long when decompressed.
    pub(crate) fn find<'a>(elf: &Elf<'a>, name: &str, limit: u64) -> Option<Cow<'a, [u8]>> {
        let section = elf.section(name).filter(|section| section.kind != SHT_NOBITS)?;
        let bytes = elf.data(section)?;
        let bytes = if section.flags & SHF_COMPRESSED == 0 {
            Cow::Borrowed(bytes)
        } else {
            Cow::Owned(decompress(bytes, limit)?)
        };
        if bytes.len() as u64 > limit && matches!(bytes, Cow::Owned(_)) {
            return None;
        }
        if elf.kind == Kind::Relocatable {
            return Some(Cow::Owned(relocated(elf, section, &bytes)));
        }
        Some(bytes)
    }

    /// How long a section is, decompressed, as far as its header says.
    pub(crate) fn length(elf: &Elf<'_>, name: &str) -> u64 {
        let Some(section) = elf.section(name).filter(|section| section.kind != SHT_NOBITS) else { return 0 };
        if section.flags & SHF_COMPRESSED == 0 {
            return section.size;
        }
        elf.data(section).and_then(|bytes| u64_at(bytes, 8)).unwrap_or(0)
    }
}

/// Reads to the end, if that comes within `limit` bytes.
fn read_to_end(reader: impl Read, limit: u64) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    reader.take(limit.saturating_add(1)).read_to_end(&mut out).ok()?;
    (out.len() as u64 <= limit).then_some(out)
}

/// Decompresses a section with `SHF_COMPRESSED`.
fn decompress(bytes: &[u8], limit: u64) -> Option<Vec<u8>> {
    let stated = u64_at(bytes, 8)?;
    if stated > limit {
        return None;
    }
    let compressed = bytes.get(COMPRESSION_HEADER..)?;
    match u32_at(bytes, 0)? {
        ELFCOMPRESS_ZLIB => read_to_end(flate2::read::ZlibDecoder::new(compressed), stated),
        ELFCOMPRESS_ZSTD => read_to_end(ruzstd::decoding::StreamingDecoder::new(compressed).ok()?, stated),
        _ => None,
    }
}

/// Maximum number of bytes that decompressed symbols or debug sections may take: memory stays in proportion to the
/// file.
pub(crate) fn limit(bytes: &[u8]) -> usize {
    bytes.len() / 4 + (16 << 20)
}

/// Decompresses `.gnu_debugdata`, where the file has it.
///
/// # Errors
/// [`Error::Malformed`] if it does not decompress to at most [`limit`] bytes.
pub(crate) fn mini_debug(elf: &Elf<'_>) -> Result<Option<Vec<u8>>, Error> {
    let limit = limit(elf.bytes);
    let Some(section) = elf.section(".gnu_debugdata") else { return Ok(None) };
    let malformed =
        |expected: &str| Error::Malformed { offset: section.offset, expected: expected.to_owned() };
    let compressed = elf.data(section).ok_or_else(|| malformed("the bytes of .gnu_debugdata"))?;
    // The dictionary is allocated as the stream requests: 64 MiB is what the highest preset uses.
    let reader = lzma_rust2::XzReader::new_mem_limit(compressed, false, 1 << 17);
    let expected = format!("an xz stream of at most {limit} bytes in .gnu_debugdata");
    read_to_end(reader, limit as u64).map(Some).ok_or_else(|| malformed(&expected))
}
