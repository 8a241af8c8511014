//! What an archive holds: indices → entries, one for each package.
//!
//! In: a [`Fetch`], which reads what is asked for by name, and a [`Selection`]. Out: an [`Entry`] for each package that is selected, and
//! [`Remarks`] on what was left out. Three kinds of archives: Debian's (the repository format of the Debian wiki, deb822(5)), RPM
//! repositories (`repodata/repomd.xml`, as createrepo_c writes it), and Python's simple index (PEP 503, PEP 691).
//!
//! The crate opens nothing and prints nothing. Indices are read as streams, within limits (`limits.rs`); in memory are only names: what has been
//! found so far, so that a package appears once and in its newest version. Where an index states size and hash of another, both are
//! compared while that is read. No signature is verified. Whatever the bytes are, there is an [`Error`] or all of the index, and no
//! panic. `docs/explanation/archives.md` has the reasons.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod architecture;
mod choice;
mod debian;
mod entries;
mod entry;
mod error;
mod fetch;
mod index;
mod kind;
mod limits;
mod location;
mod pypi;
mod rpm;
mod version;
mod xml;

pub use entries::entries;
pub use entry::{Entry, Kind, Selection};
pub use error::{Error, Place, Remark, Remarks};
pub use fetch::Fetch;
pub use kind::kind_of;
