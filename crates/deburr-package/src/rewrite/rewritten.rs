//! What becomes of a package: its new bytes, and what a person should know of them.
//!
//! All texts are free of control characters, one line each.

use std::borrow::Cow;

/// What became of a package.
#[derive(Debug, PartialEq, Eq)]
pub struct Rewritten<'a> {
    /// The package; borrowed, if nothing in it was changed.
    pub bytes: Cow<'a, [u8]>,
    /// The paths of the binaries that were replaced, as [`crate::Object::path`], in the package's order.
    pub changed: Vec<String>,
    /// The paths of packages and compressed binaries in it that were not opened.
    pub unopened: Vec<String>,
    /// Signatures and hashes, of what the package was, that hold no longer; one line each.
    pub signatures: Vec<String>,
    /// What else a person should know of the new package, one line each.
    pub notes: Vec<String>,
}
