//! Bytes that something vouches for: a file → what holds a hash or a signature of them and would not match a rewritten file.
//!
//! In: a file on disk with its surroundings and attributes, or a member of a package with all other members. Out:
//! [`attestation::Attestation`]s. `name.rs` and `list.rs` have the conventions, `content.rs` what a file says of itself, `place.rs`
//! brings them together for both kinds of surroundings (`disk.rs`, `members.rs`).

pub(super) mod attestation;
mod content;
pub(super) mod disk;
mod list;
pub(super) mod members;
mod name;
mod place;

pub(super) use content::MODULE_SIGNATURE;
