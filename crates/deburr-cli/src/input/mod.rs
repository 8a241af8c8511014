//! Input: paths → files to check, and their bytes. Nothing here reads code; nothing that is read is run.

pub(crate) mod closure;
pub(crate) mod debug_file;
pub(crate) mod gate;
pub(crate) mod mapped;
pub(crate) mod pairs;
pub(crate) mod walk;

use deburr_cpu::Arch;

/// What a file is, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Begins with the ELF magic.
    Elf,
    /// A static archive.
    Archive,
    /// A thin archive: names of files, without their contents.
    ThinArchive,
    /// No bytes at all.
    Empty,
    /// Something else.
    Other,
}

impl Content {
    /// Recognises a file by its first 8 bytes or more.
    pub(crate) fn of(first: &[u8]) -> Content {
        match first {
            [] => Content::Empty,
            [0x7f, b'E', b'L', b'F', ..] => Content::Elf,
            _ if first.starts_with(b"!<arch>\n") => Content::Archive,
            _ if first.starts_with(b"!<thin>\n") => Content::ThinArchive,
            _ => Content::Other,
        }
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
