//! What bytes are, by their first block: an ELF file, a static archive, a compressed stream, a package. No
//! name plays a part.
//!
//! In: up to [`BLOCK`] bytes. Magic numbers: gABI; ar(5) and deb(5); RFC 1952; RFC 8878, sections 3.1.1 and
//! 3.1.2; the .xz file format, 1.0.4, section 2.1.1.1; bzip2's block magic; POSIX pax, "ustar Interchange
//! Format"; APPNOTE.TXT, sections 4.3.7 and 4.3.16; RPM's lead.

/// Bytes that are enough to recognise a format, where there are so many: one block of a tar archive.
pub const BLOCK: usize = 512;

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
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Found::Package(Format::Zip),
        [0xed, 0xab, 0xee, 0xdb, ..] => Found::Package(Format::Rpm),
        [b'A', b'D', b'B', b'.' | b'c' | b'd', ..] => Found::Package(Format::Adb),
        _ if first.starts_with(b"!<arch>\ndebian-binary") => Found::Package(Format::Deb),
        _ if first.starts_with(b"!<arch>\n") => Found::Archive,
        _ if is_tar(first) => Found::Package(Format::Tar),
        _ => Found::Other,
    }
}

/// Whether a block is a tar header: the checksum says so, also of headers older than `ustar`.
fn is_tar(first: &[u8]) -> bool {
    let (Some(block), Some(field)) = (first.get(..BLOCK), first.get(148..156)) else { return false };
    let digits =
        field.iter().skip_while(|byte| **byte == b' ').take_while(|byte| matches!(byte, b'0'..=b'7'));
    let (stated, count) =
        digits.fold((0_u32, 0), |(sum, n), digit| (sum * 8 + u32::from(digit - b'0'), n + 1));
    let outside = block.iter().enumerate().filter(|(at, _)| !(148..156).contains(at));
    let sum = outside.map(|(_, byte)| u32::from(*byte)).sum::<u32>() + 8 * u32::from(b' ');
    count > 0 && block.first() != Some(&0) && sum == stated
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
    }

    #[test]
    fn debian_package_is_no_static_archive() {
        assert_eq!(sniff(b"!<arch>\ndebian-binary   "), Found::Package(Format::Deb));
        assert_eq!(sniff(b"!<arch>\nmember.o/       "), Found::Archive);
    }
}
