//! A file → its sections of debug information, decompressed; and which separate file holds them (gABI, "Compressed Sections"; GDB's
//! manual, "Separate Debug Files").
//!
//! In: the bytes of an ELF file. Out: the sections for gimli, or why there are none.

use super::limits::MAX_SECTION_BYTES;
use gimli::DwarfSections;
use object::LittleEndian;
use object::elf::{
    CompressionHeader64, ELF_NOTE_GNU, ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD, FileHeader64, NT_GNU_BUILD_ID,
    SHF_COMPRESSED, SHT_NOBITS, SHT_NOTE,
};
use object::read::elf::{CompressionHeader as _, FileHeader, SectionHeader};
use std::borrow::Cow;
use std::io::Read;

/// The sections of debug information of a file.
pub(super) type Sections<'a> = DwarfSections<Cow<'a, [u8]>>;

/// Reads the sections; `None` where there is no `.debug_info`.
///
/// # Errors
/// Why they cannot be read.
pub(super) fn sections(bytes: &[u8]) -> Result<Option<Sections<'_>>, String> {
    let fault = |error: object::Error| format!("its sections cannot be read: {error}");
    let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(fault)?;
    let endian = header.endian().map_err(fault)?;
    let table = header.sections(endian, bytes).map_err(fault)?;
    let has = |name: &[u8]| {
        let section = table.section_by_name(endian, name).map(|(_, section)| section);
        section.is_some_and(|section| section.sh_type(endian) != SHT_NOBITS && section.sh_size(endian) > 0)
    };
    if has(b".zdebug_info") {
        return Err(
            "its debug information is compressed in the old form of GNU; build with -gz=zlib".to_owned()
        );
    }
    if !has(b".debug_info") {
        return Ok(None);
    }
    let load = |id: gimli::SectionId| -> Result<Cow<'_, [u8]>, String> {
        let Some((_, section)) = table.section_by_name(endian, id.name().as_bytes()) else {
            return Ok(Cow::Borrowed(&[]));
        };
        if section.sh_type(endian) == SHT_NOBITS {
            return Ok(Cow::Borrowed(&[]));
        }
        let data = section.data(endian, bytes).map_err(fault)?;
        let bytes = match section.sh_flags(endian).contains(SHF_COMPRESSED) {
            true => Cow::Owned(decompress(data).ok_or_else(|| format!("{} does not decompress", id.name()))?),
            false => Cow::Borrowed(data),
        };
        if bytes.len() as u64 > MAX_SECTION_BYTES {
            return Err(format!("{} has more than {MAX_SECTION_BYTES} bytes", id.name()));
        }
        Ok(bytes)
    };
    DwarfSections::load(load).map(Some)
}

/// Decompresses a section with `SHF_COMPRESSED` to the size that its header states.
fn decompress(bytes: &[u8]) -> Option<Vec<u8>> {
    let (header, compressed) = object::pod::from_bytes::<CompressionHeader64<LittleEndian>>(bytes).ok()?;
    let stated = header.ch_size(LittleEndian);
    if stated > MAX_SECTION_BYTES {
        return None;
    }
    let mut made = Vec::new();
    let read = match header.ch_type(LittleEndian) {
        ELFCOMPRESS_ZLIB => {
            flate2::read::ZlibDecoder::new(compressed).take(stated + 1).read_to_end(&mut made)
        }
        ELFCOMPRESS_ZSTD => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(compressed).ok()?;
            decoder.take(stated + 1).read_to_end(&mut made)
        }
        _ => return None,
    };
    (read.is_ok() && made.len() as u64 == stated).then_some(made)
}

/// The name of the separate debug file that a file names, and the checksum of that (`.gnu_debuglink`).
pub(crate) fn debug_link(bytes: &[u8]) -> Option<(&str, u32)> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).ok()?;
    let table = header.sections(LittleEndian, bytes).ok()?;
    let (_, section) = table.section_by_name(LittleEndian, b".gnu_debuglink")?;
    let data = section.data(LittleEndian, bytes).ok()?;
    let end = data.iter().position(|byte| *byte == 0)?;
    let name =
        std::str::from_utf8(data.get(..end)?).ok().filter(|name| !name.is_empty() && !name.contains('/'))?;
    // The checksum is at the next multiple of 4.
    let at = (end + 4) & !3;
    let checksum = data.get(at..at + 4)?.try_into().ok()?;
    Some((name, u32::from_le_bytes(checksum)))
}

/// The build ID of a file, also of one that has no code: a debug file.
pub(super) fn build_id(bytes: &[u8]) -> Option<&[u8]> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).ok()?;
    let table = header.sections(LittleEndian, bytes).ok()?;
    for section in table.iter().filter(|section| section.sh_type(LittleEndian) == SHT_NOTE) {
        let Ok(Some(mut notes)) = section.notes(LittleEndian, bytes) else { continue };
        while let Ok(Some(note)) = notes.next() {
            if note.name() == ELF_NOTE_GNU && note.n_type(LittleEndian) == NT_GNU_BUILD_ID {
                return Some(note.desc());
            }
        }
    }
    None
}

/// Whether a debug file is that of a file: by the build ID, or where there is none by the checksum of the link.
pub(crate) fn is_debug_file_of(debug: &[u8], file: &[u8], checksum: Option<u32>) -> bool {
    match (build_id(file), build_id(debug)) {
        (Some(wanted), Some(found)) => wanted == found,
        _ => checksum.is_some_and(|checksum| {
            let mut crc = flate2::Crc::new();
            crc.update(debug);
            crc.sum() == checksum
        }),
    }
}
