//! What a file is: its first bytes → [`Content`], and of an ELF header the architecture.

use deburr_cpu::Arch;
use deburr_package::{BLOCK, Found, sniff, sniff_inside};
use std::io::{self, BufRead};

/// What a file is, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Begins with the ELF magic.
    Elf,
    /// A static archive.
    Archive,
    /// A thin archive: names of files, without their contents.
    ThinArchive,
    /// A package, or a compressed binary.
    Package,
    /// Code made at run time, and its names.
    Jitdump,
    /// A folder that is a container image.
    Layout,
    /// No bytes at all.
    Empty,
    /// Something else.
    Other,
}

impl Content {
    /// Recognises a file by its first bytes, [`deburr_package::BLOCK`] or all there are; what is compressed,
    /// by what `whole` holds.
    pub(crate) fn of<R: BufRead>(first: &[u8], whole: impl FnOnce() -> io::Result<R>) -> io::Result<Content> {
        if first.is_empty() {
            return Ok(Content::Empty);
        }
        if first.starts_with(b"!<thin>\n") {
            return Ok(Content::ThinArchive);
        }
        if deburr_profile::begins_jitdump(first) {
            return Ok(Content::Jitdump);
        }
        Ok(match sniff(first) {
            Found::Elf => Content::Elf,
            Found::Archive => Content::Archive,
            Found::Package(_) => Content::Package,
            Found::Compressed(codec) => match sniff_inside(codec, whole()?)? {
                Found::Other => Content::Other,
                _ => Content::Package,
            },
            Found::Other => Content::Other,
        })
    }

    /// Recognises bytes that are available as a whole.
    pub(crate) fn of_all(bytes: &[u8]) -> Content {
        let first = bytes.get(..BLOCK.min(bytes.len())).unwrap_or_default();
        Content::of(first, || Ok(bytes)).unwrap_or(Content::Other)
    }

    /// Whether there may be many binaries in it, read one after another.
    pub(crate) fn is_package(self) -> bool {
        matches!(self, Content::Package | Content::Layout)
    }
}

/// The architecture in an ELF header (`e_machine`), if it is one that targets are given for.
pub(crate) fn arch_of(elf: &[u8]) -> Option<Arch> {
    match elf.get(18..20)? {
        [62, 0] => Some(Arch::X86_64),
        [183, 0] => Some(Arch::Aarch64),
        _ => None,
    }
}
