//! What a file is: its first bytes → [`Content`], and of an ELF header the architecture.

use deburr_cpu::Arch;
use deburr_package::{
    BLOCK, DEEP, Found, Known, TAIL, sniff, sniff_inside, sniff_with_tail, wants_more, wants_tail,
};
use std::io::{self, BufRead, Cursor, Read, Seek, SeekFrom};

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
    /// A program or a container that is recognised and not read.
    Known(Known),
    /// No bytes at all.
    Empty,
    /// Something else.
    Other,
}

impl Content {
    /// Recognises a file by its first bytes, [`deburr_package::BLOCK`] or all there are; what is compressed,
    /// by what `whole` holds; so is what shows past its first block, or at its end.
    pub(crate) fn of<R: BufRead + Seek>(
        first: &[u8],
        whole: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<Content> {
        if first.is_empty() {
            return Ok(Content::Empty);
        }
        if first.starts_with(b"!<thin>\n") {
            return Ok(Content::ThinArchive);
        }
        if deburr_profile::begins_jitdump(first) {
            return Ok(Content::Jitdump);
        }
        let found = match sniff(first) {
            Found::Other | Found::Known(_) if wants_more(first) => {
                let mut more = Vec::new();
                whole()?.take(DEEP as u64).read_to_end(&mut more)?;
                sniff(&more)
            }
            Found::Other | Found::Known(Known::Makeself) if wants_tail(first) => return by_end(first, whole),
            Found::Compressed(codec) => {
                return Ok(match sniff_inside(codec, whole()?)? {
                    Found::Other => Content::Other,
                    _ => Content::Package,
                });
            }
            found => found,
        };
        Ok(match found {
            Found::Elf => Content::Elf,
            Found::Archive => Content::Archive,
            Found::Package(_) | Found::Compressed(_) => Content::Package,
            Found::Known(known) => Content::Known(known),
            Found::Other => Content::Other,
        })
    }

    /// Recognises bytes that are available as a whole.
    pub(crate) fn of_all(bytes: &[u8]) -> Content {
        let first = bytes.get(..BLOCK.min(bytes.len())).unwrap_or_default();
        Content::of(first, || Ok(Cursor::new(bytes))).unwrap_or(Content::Other)
    }

    /// Whether there may be many binaries in it, read one after another.
    pub(crate) fn is_package(self) -> bool {
        matches!(self, Content::Package | Content::Layout)
    }
}

/// By what its end shows: after a script a zip file, as in a pex, or other data; the trailer of a disk image of macOS.
fn by_end<R: BufRead + Seek>(first: &[u8], whole: impl FnOnce() -> io::Result<R>) -> io::Result<Content> {
    let mut tail = Vec::new();
    let mut whole = whole()?;
    let size = whole.seek(SeekFrom::End(0))?;
    whole.seek(SeekFrom::Start(size.saturating_sub(TAIL as u64)))?;
    whole.take(TAIL as u64).read_to_end(&mut tail)?;
    Ok(match sniff_with_tail(first, &tail) {
        Found::Package(_) => Content::Package,
        Found::Known(known) => Content::Known(known),
        _ => Content::Other,
    })
}

/// The architecture in an ELF header (`e_machine`), if it is one that targets are given for.
pub(crate) fn arch_of(elf: &[u8]) -> Option<Arch> {
    match elf.get(18..20)? {
        [62, 0] => Some(Arch::X86_64),
        [183, 0] => Some(Arch::Aarch64),
        _ => None,
    }
}
