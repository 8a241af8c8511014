//! What bytes are, by their first block: an ELF file, a static archive, a compressed stream, a package. No
//! name plays a part.
//!
//! In: up to [`BLOCK`] bytes, or [`DEEP`] where [`wants_more`] says so. Magic numbers: gABI; ar(5) and deb(5); RFC 1952;
//! RFC 8878, sections 3.1.1 and 3.1.2; the .xz file format, 1.0.4, section 2.1.1.1; bzip2's block magic; POSIX pax, "ustar
//! Interchange Format"; APPNOTE.TXT, sections 4.3.7 and 4.3.16; RPM's lead; the LZ4 frame format, with its legacy frame;
//! cpio(5); the squashfs superblock; 7zFormat.txt; ECMA-119, section 8; JEP 261 (`JM`).

use crate::known::{Known, known};

/// Bytes that are enough to recognise a format, where there are so many: one block of a tar archive.
pub const BLOCK: usize = 512;

/// Bytes that are enough where the first block is empty, or a boot sector: an ISO 9660 image begins with 32 KiB for others,
/// and the descriptor of the volume follows.
pub const DEEP: usize = 36 << 10;

/// Where an ISO 9660 image has its descriptor (ECMA-119, section 6.2.1).
pub(crate) const ISO_DESCRIPTOR: usize = 0x8000;

/// What bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// An ELF file.
    Elf,
    /// A static archive.
    Archive,
    /// A compressed stream, of whatever.
    Compressed(Codec),
    /// A package.
    Package(Format),
    /// A program or a container that is recognised and not read.
    Known(Known),
    /// Something else, or nothing.
    Other,
}

/// A compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// RFC 1952, any number of members.
    Gzip,
    /// The .xz format, any number of streams.
    Xz,
    /// RFC 8878, any number of frames.
    Zstd,
    /// bzip2, any number of streams.
    Bzip2,
    /// The .lzma format of LZMA Utils; no magic number, so that only an RPM's payload is taken for it.
    Lzma,
    /// RFC 1951: members of zip files.
    Deflate,
    /// RFC 1950: members of PyInstaller's archives, blocks of squashfs.
    Zlib,
    /// The LZ4 frame format, with its legacy frames, any number of them.
    Lz4,
}

/// How a package lays out its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// tar; a container image, too.
    Tar,
    /// zip: wheels, jars, conda packages.
    Zip,
    /// A Debian package.
    Deb,
    /// An RPM package.
    Rpm,
    /// A package of apk-tools 3, which is known by sight only.
    Adb,
    /// A squashfs image, as of an AppImage or a snap.
    Squashfs,
    /// 7z.
    SevenZip,
    /// cpio, as of an initramfs: several archives one after another.
    Cpio,
    /// An ISO 9660 image.
    Iso,
    /// A module of the Java development kit: a zip file after four bytes.
    Jmod,
}

impl Format {
    /// Its name, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Tar => "tar",
            Format::Zip => "zip",
            Format::Deb => "deb",
            Format::Rpm => "rpm",
            Format::Adb => "adb",
            Format::Squashfs => "squashfs",
            Format::SevenZip => "7z",
            Format::Cpio => "cpio",
            Format::Iso => "iso9660",
            Format::Jmod => "jmod",
        }
    }
}

impl Codec {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Codec::Gzip => "gzip",
            Codec::Xz => "xz",
            Codec::Zstd => "zstd",
            Codec::Bzip2 => "bzip2",
            Codec::Lzma => "lzma",
            Codec::Deflate => "deflate",
            Codec::Zlib => "zlib",
            Codec::Lz4 => "lz4",
        }
    }
}

/// What begins with these bytes.
pub fn sniff(first: &[u8]) -> Found {
    match first {
        [0x7f, b'E', b'L', b'F', ..] => Found::Elf,
        [0x1f, 0x8b, 8, ..] => Found::Compressed(Codec::Gzip),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Found::Compressed(Codec::Xz),
        // Parallel compressors begin with a skippable frame.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Found::Compressed(Codec::Zstd),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..] => {
            Found::Compressed(Codec::Bzip2)
        }
        [0x04, 0x22, 0x4d, 0x18, ..] | [0x02, 0x21, 0x4c, 0x18, ..] => Found::Compressed(Codec::Lz4),
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Found::Package(Format::Zip),
        [0xed, 0xab, 0xee, 0xdb, ..] => Found::Package(Format::Rpm),
        [b'A', b'D', b'B', b'.' | b'c' | b'd', ..] => Found::Package(Format::Adb),
        _ if first.starts_with(b"!<arch>\ndebian-binary") => Found::Package(Format::Deb),
        _ if first.starts_with(b"!<arch>\n") => Found::Archive,
        [b'h', b's', b'q', b's', ..] => Found::Package(Format::Squashfs),
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => Found::Package(Format::SevenZip),
        [b'J', b'M', 1, 0, b'P', b'K', 3, 4, ..] => Found::Package(Format::Jmod),
        [b'0', b'7', b'0', b'7', b'0', b'1' | b'2' | b'7' | b'X', ..] if is_cpio(first) => {
            Found::Package(Format::Cpio)
        }
        _ if is_tar(first) => Found::Package(Format::Tar),
        _ if is_iso(first) => Found::Package(Format::Iso),
        _ => known(first).map_or(Found::Other, Found::Known),
    }
}

/// What bytes are that are there as a whole: also a script with something after it, such as a pex.
pub fn sniff_whole(bytes: &[u8]) -> Found {
    let tail = bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default();
    sniff_with_tail(bytes, tail)
}

/// What a file is by its first block and its last [`TAIL`] bytes, which show what follows a script: a zip file, as in a pex, or data.
pub fn sniff_with_tail(first: &[u8], tail: &[u8]) -> Found {
    match sniff(first) {
        Found::Other | Found::Known(Known::Makeself) if first.starts_with(b"#!") && ends_in_zip(tail) => {
            Found::Package(Format::Zip)
        }
        Found::Other if first.starts_with(b"#!") && !ends_in_text(tail) => Found::Known(Known::Script),
        Found::Other if ends_in_koly(tail) => Found::Known(Known::MacDisk),
        found => found,
    }
}

/// Whether the last block is the trailer of a disk image of macOS, with its version and its size.
fn ends_in_koly(bytes: &[u8]) -> bool {
    let trailer = bytes.len().checked_sub(BLOCK).and_then(|start| bytes.get(start..));
    trailer.is_some_and(|trailer| trailer.starts_with(b"koly\0\0\0\x04\0\0\x02\0"))
}

/// Whether the last block may be text: of what is compressed or compiled, at least one byte in fifty is a control character that no
/// text has.
fn ends_in_text(bytes: &[u8]) -> bool {
    let end = bytes.get(bytes.len().saturating_sub(BLOCK)..).unwrap_or_default();
    let is_control = |byte: &&u8| matches!(byte, 0..=6 | 0xe..=0x1a | 0x1c..=0x1f | 0x7f);
    end.iter().filter(is_control).count() * 50 <= end.len()
}

/// Whether more than the first block may show what something is: an image of a disk begins with nothing, or with a boot sector.
pub fn wants_more(first: &[u8]) -> bool {
    let is_empty = || first.get(..64).is_some_and(|start| start.iter().all(|byte| *byte == 0));
    first.len() >= BLOCK && (first.get(510..512) == Some(&[0x55, 0xaa]) || is_empty())
}

/// Whether the end of a file may show what its beginning does not: of a script, and of a stream of zlib, with which most disk images
/// of macOS begin. Most objects of git do, too, but are shorter than the trailer of an image.
pub fn wants_tail(first: &[u8]) -> bool {
    let is_zlib = matches!(first, [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..]);
    first.starts_with(b"#!") || is_zlib && first.len() >= BLOCK
}

/// Bytes at the end of a file that are enough for [`ends_in_zip`]: the last record, and the longest comment.
pub const TAIL: usize = 22 + 0xffff;

/// Whether a file ends in the last record of a zip file (APPNOTE.TXT, section 4.3.16), the comment of which goes to its end.
pub fn ends_in_zip(bytes: &[u8]) -> bool {
    let tail = bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default();
    let is_record = |record: &[u8]| {
        let comment = record.get(20..22).and_then(|field| field.try_into().ok()).map(u16::from_le_bytes);
        record.starts_with(b"PK\x05\x06")
            && comment.is_some_and(|size| usize::from(size) + 22 == record.len())
    };
    (0..tail.len()).rev().skip(21).any(|at| tail.get(at..).is_some_and(is_record))
}

/// Whether a header of cpio has digits where its numbers are.
fn is_cpio(first: &[u8]) -> bool {
    first.get(6..76).is_some_and(|fields| fields.iter().all(u8::is_ascii_hexdigit))
}

fn is_iso(first: &[u8]) -> bool {
    first.get(ISO_DESCRIPTOR + 1..ISO_DESCRIPTOR + 6) == Some(b"CD001")
}

/// Whether a block is a tar header: the checksum says so, also of headers older than `ustar`, and of the one of an extended header,
/// which need not have a name (POSIX, pax).
fn is_tar(first: &[u8]) -> bool {
    let (Some(block), Some(field)) = (first.get(..BLOCK), first.get(148..156)) else { return false };
    let digits =
        field.iter().skip_while(|byte| **byte == b' ').take_while(|byte| matches!(byte, b'0'..=b'7'));
    let (stated, count) =
        digits.fold((0_u32, 0), |(sum, n), digit| (sum * 8 + u32::from(digit - b'0'), n + 1));
    let outside = block.iter().enumerate().filter(|(at, _)| !(148..156).contains(at));
    let sum = outside.map(|(_, byte)| u32::from(*byte)).sum::<u32>() + 8 * u32::from(b' ');
    count > 0 && sum == stated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tar_header_is_known_by_its_checksum() {
        let mut header = tar::Header::new_old();
        header.set_path("a").unwrap();
        header.set_size(0);
        header.set_cksum();
        assert_eq!(sniff(header.as_bytes()), Found::Package(Format::Tar));
        let mut damaged = header.as_bytes().to_vec();
        damaged[0] = b'b';
        assert_eq!(sniff(&damaged), Found::Other);
        assert_eq!(sniff(&[0; BLOCK]), Found::Other);
        let mut nameless = tar::Header::new_ustar();
        nameless.set_entry_type(tar::EntryType::XHeader);
        nameless.set_size(0);
        nameless.set_cksum();
        assert_eq!(sniff(nameless.as_bytes()), Found::Package(Format::Tar));
    }

    #[test]
    fn debian_package_is_no_static_archive() {
        assert_eq!(sniff(b"!<arch>\ndebian-binary   "), Found::Package(Format::Deb));
        assert_eq!(sniff(b"!<arch>\nmember.o/       "), Found::Archive);
    }

    #[test]
    fn disk_image_of_macos_is_known_by_its_trailer() {
        let mut image = [&[0x78, 0xda][..], &[1; 2 * BLOCK]].concat();
        assert!(wants_tail(&image));
        assert_eq!(sniff_whole(&image), Found::Other);
        image.extend(b"koly\0\0\0\x04\0\0\x02\0");
        image.resize(image.len() + BLOCK - 12, 0);
        assert_eq!(sniff_whole(&image), Found::Known(Known::MacDisk));
    }
}
