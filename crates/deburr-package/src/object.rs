//! What a package is read for: an ELF file or a static archive, with its path for people.
//!
//! The path is `package!inner/path`. It is never opened.

/// What a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An ELF file.
    Elf,
    /// A static archive.
    Archive,
}

/// A binary in a package.
#[derive(Debug, PartialEq, Eq)]
pub struct Object {
    /// `package!inner/path`, free of control characters.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// All of it.
    pub bytes: Vec<u8>,
    /// Where its bytes begin in the application for Android (`.apk`) that it is in, where they are there as they are: the loader maps them
    /// from there.
    pub stored_at: Option<u64>,
    /// Whether something that it carries ([`crate::appended()`]) could not be read, or not to its end.
    pub lacks: bool,
}
