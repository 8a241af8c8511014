//! What is recognised and not read: programs of other systems, and containers that nothing here opens.
//!
//! In: the first block of something that is neither ELF nor a package that is read. Out: its name. Sources: PE/COFF,
//! sections 1 and 3.1; Mach-O's `loader.h` and `fat.h`; the WebAssembly core specification, section 5.5.16; LLVM's "Bitcode
//! File Format"; for file systems and other containers the headers of their own projects.

use crate::number::{be32, le16, le32};

/// A format that is recognised and not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Known {
    /// A program or library of Windows, or for UEFI.
    Pe,
    /// A program or library of macOS.
    MachO,
    /// Several Mach-O files in one.
    MachOFat,
    /// WebAssembly.
    Wasm,
    /// LLVM's bitcode.
    Bitcode,
    /// An image of the Linux kernel that unpacks itself.
    LinuxKernel,
    /// ext2, ext3 or ext4.
    Ext,
    /// EROFS.
    Erofs,
    /// squashfs, big-endian or older than version 4.
    OldSquashfs,
    /// cramfs.
    Cramfs,
    /// DwarFS.
    Dwarfs,
    /// A FAT file system.
    Fat,
    /// A disk with a partition table.
    Disk,
    /// UBI or UBIFS.
    Ubi,
    /// The disk of a virtual machine: qcow2, VMDK, VDI.
    VirtualDisk,
    /// LUKS.
    Luks,
    /// Android's sparse images.
    AndroidSparse,
    /// Android's boot images.
    AndroidBoot,
    /// RAR.
    Rar,
    /// Windows' cabinets.
    Cabinet,
    /// macOS' packages.
    Xar,
    /// Windows' installers, and documents of the same make.
    Ole,
    /// lzip.
    Lzip,
    /// lzop.
    Lzop,
    /// compress, `.Z`.
    Compress,
    /// cpio as it was before it wrote numbers in text.
    BinaryCpio,
    /// A script of makeself, with an archive after it.
    Makeself,
    /// Another script with data after its text: it unpacks itself.
    Script,
    /// An object file for Windows.
    Coff,
    /// A program that Nuitka unpacks at its start.
    Nuitka,
    /// A disk image of macOS.
    MacDisk,
}

impl Known {
    /// Its name, for people: `PE`, `Mach-O`, `ext4 file system`.
    pub const fn name(self) -> &'static str {
        match self {
            Known::Pe => "PE",
            Known::MachO => "Mach-O",
            Known::MachOFat => "Mach-O (universal)",
            Known::Wasm => "wasm",
            Known::Bitcode => "LLVM bitcode",
            Known::LinuxKernel => "Linux kernel image",
            Known::Ext => "ext2/3/4 file system",
            Known::Erofs => "EROFS file system",
            Known::OldSquashfs => "squashfs before version 4",
            Known::Cramfs => "cramfs file system",
            Known::Dwarfs => "DwarFS file system",
            Known::Fat => "FAT file system",
            Known::Disk => "disk image",
            Known::Ubi => "UBI image",
            Known::VirtualDisk => "virtual disk",
            Known::Luks => "LUKS volume",
            Known::AndroidSparse => "Android sparse image",
            Known::AndroidBoot => "Android boot image",
            Known::Rar => "RAR archive",
            Known::Cabinet => "cabinet archive",
            Known::Xar => "xar archive",
            Known::Ole => "OLE file",
            Known::Lzip => "lzip stream",
            Known::Lzop => "lzop stream",
            Known::Compress => "compress stream",
            Known::BinaryCpio => "binary cpio archive",
            Known::Makeself => "self-extracting script (makeself)",
            Known::Script => "script with data after it",
            Known::Coff => "COFF object",
            Known::Nuitka => "Nuitka archive",
            Known::MacDisk => "macOS disk image",
        }
    }
}

/// What begins with these bytes; [`crate::DEEP`] of them show more than a block does.
pub(crate) fn known(first: &[u8]) -> Option<Known> {
    let at = |at: usize, magic: &[u8]| first.get(at..).is_some_and(|rest| rest.starts_with(magic));
    let by_magic = match first {
        // A JAVA class begins with the same four bytes and its version, the first of which was 45.
        [0xca, 0xfe, 0xba, 0xbe | 0xbf, ..] => {
            be32(first, 4).filter(|count| (1..=30).contains(count)).map(|_| Known::MachOFat)
        }
        [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..] | [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..] => Some(Known::MachO),
        [0, b'a', b's', b'm', ..] => Some(Known::Wasm),
        [b'B', b'C', 0xc0, 0xde, ..] | [0xde, 0xc0, 0x17, 0x0b, ..] => Some(Known::Bitcode),
        [b's', b'q', b's', b'h', ..] => Some(Known::OldSquashfs),
        [0x45, 0x3d, 0xcd, 0x28, ..] | [0x28, 0xcd, 0x3d, 0x45, ..] => Some(Known::Cramfs),
        [b'D', b'W', b'A', b'R', b'F', b'S', 2, ..] => Some(Known::Dwarfs),
        [b'U', b'B', b'I', b'#', ..] | [0x31, 0x18, 0x10, 0x06, ..] => Some(Known::Ubi),
        [b'Q', b'F', b'I', 0xfb, ..] | [b'K', b'D', b'M', b'V', ..] => Some(Known::VirtualDisk),
        [b'L', b'U', b'K', b'S', 0xba, 0xbe, ..] => Some(Known::Luks),
        [0x3a, 0xff, 0x26, 0xed, ..] => Some(Known::AndroidSparse),
        [b'R', b'a', b'r', b'!', 0x1a, 7, ..] => Some(Known::Rar),
        [b'M', b'S', b'C', b'F', 0, 0, 0, 0, ..] => Some(Known::Cabinet),
        [b'x', b'a', b'r', b'!', ..] => Some(Known::Xar),
        [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, ..] => Some(Known::Ole),
        [b'L', b'Z', b'I', b'P', 1, ..] => Some(Known::Lzip),
        [0x89, b'L', b'Z', b'O', 0, b'\r', b'\n', 0x1a, ..] => Some(Known::Lzop),
        [0x1f, 0x9d, 0x80..=0x90, ..] => Some(Known::Compress),
        [0xc7, 0x71, ..] | [0x71, 0xc7, ..] if le16(first, 20).is_some_and(|name| name > 0) => {
            Some(Known::BinaryCpio)
        }
        [b'K', b'A', b'X' | b'Y', 0x28 | 0, ..] => Some(Known::Nuitka),
        _ if first.starts_with(b"ANDROID!") => Some(Known::AndroidBoot),
        _ => None,
    };
    by_magic.or_else(|| match () {
        () if at(0x202, b"HdrS") => Some(Known::LinuxKernel),
        () if is_coff(first) => Some(Known::Coff),
        () if is_pe(first) => Some(Known::Pe),
        () if first.starts_with(b"#!") && contains(first, b"Makeself") => Some(Known::Makeself),
        () if at(0x438, &[0x53, 0xef]) && is_ext(first) => Some(Known::Ext),
        () if at(0x400, &[0xe2, 0xe1, 0xf5, 0xe0]) => Some(Known::Erofs),
        () if at(0x40, &[0x7f, 0x10, 0xda, 0xbe]) => Some(Known::VirtualDisk),
        () if at(510, &[0x55, 0xaa]) && (at(54, b"FAT1") || at(82, b"FAT32   ")) => Some(Known::Fat),
        () if at(510, &[0x55, 0xaa]) && (at(512, b"EFI PART") || has_partitions(first)) => Some(Known::Disk),
        () => None,
    })
}

/// Whether a DOS header leads to a PE header, as far as can be seen.
fn is_pe(first: &[u8]) -> bool {
    let Some(new) = first.strip_prefix(b"MZ").and_then(|_| le32(first, 0x3c)) else { return false };
    let new = usize::try_from(new).unwrap_or(usize::MAX);
    match first.get(new..new.saturating_add(4)) {
        Some(magic) => magic == b"PE\0\0",
        // The header is after the bytes that are there: no linker puts it far away.
        None => (first.len()..0x2000).contains(&new) && new % 8 == 0,
    }
}

/// Whether a COFF header for x86-64 or Arm64 has no optional header and at least one section, whose name is printable (PE/COFF, 3.3
/// and 4).
fn is_coff(first: &[u8]) -> bool {
    let is_machine = matches!(first, [0x64, 0x86 | 0xaa, ..]);
    let has_sections = le16(first, 2).is_some_and(|count| (1..=0xfeff).contains(&count));
    let name = first.get(20..28).unwrap_or_default();
    let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    let is_name = length > 0
        && name.iter().take(length).all(u8::is_ascii_graphic)
        && name.iter().skip(length).all(|byte| *byte == 0);
    is_machine && has_sections && le16(first, 16) == Some(0) && is_name
}

/// Whether the superblock of ext has a state and a revision that there are.
fn is_ext(first: &[u8]) -> bool {
    le16(first, 0x43a).is_some_and(|state| state <= 7)
        && le32(first, 0x44c).is_some_and(|revision| revision <= 1)
}

/// Whether a boot sector has partitions that make sense: a state, and a beginning and a length for each.
fn has_partitions(first: &[u8]) -> bool {
    let entries = first.get(446..510).unwrap_or_default().chunks_exact(16);
    let mut used = entries.filter(|entry| entry.iter().any(|byte| *byte != 0)).peekable();
    used.peek().is_some()
        && used.all(|entry| {
            let is_state = matches!(entry.first(), Some(0 | 0x80));
            is_state
                && le32(entry, 8).is_some_and(|start| start > 0)
                && le32(entry, 12).is_some_and(|size| size > 0)
        })
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_other_systems_are_named() {
        let mut pe = vec![0; 512];
        pe[..2].copy_from_slice(b"MZ");
        pe[0x3c] = 0x80;
        pe[0x80..0x84].copy_from_slice(b"PE\0\0");
        assert_eq!(known(&pe), Some(Known::Pe));
        pe[0x80] = b'X';
        assert_eq!(known(&pe), None, "a program of DOS");
        assert_eq!(known(b"MZ is how this text begins"), None);
        assert_eq!(known(b"\xcf\xfa\xed\xfe"), Some(Known::MachO));
        assert_eq!(known(&[0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 2]), Some(Known::MachOFat));
        assert_eq!(known(&[0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 61]), None, "a class of Java 17");
        assert_eq!(known(b"\0asm\x01\0\0\0"), Some(Known::Wasm));
        assert_eq!(known(b"BC\xc0\xde"), Some(Known::Bitcode));
        let mut coff = vec![0; 60];
        coff[..4].copy_from_slice(&[0x64, 0x86, 1, 0]);
        coff[20..25].copy_from_slice(b".text");
        assert_eq!(known(&coff), Some(Known::Coff));
        coff[16] = 0xf0;
        assert_eq!(known(&coff), None, "an object has no optional header");
        assert_eq!(known(b"d\x86 is how this begins, and goes on"), None);
    }

    #[test]
    fn file_systems_are_seen_past_the_first_block() {
        let mut ext = vec![0; 2048];
        ext[0x438..0x43a].copy_from_slice(&[0x53, 0xef]);
        ext[0x43a] = 1;
        ext[0x44c] = 1;
        assert_eq!((known(&ext), known(&ext[..512])), (Some(Known::Ext), None));
        assert_eq!(known(&[0; 2048]), None);
    }
}
