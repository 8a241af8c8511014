//! PostgreSQL's checksum of a page: what vectors are worth, and what several pages at a time.
//!
//! [`page`] is the algorithm, [`pages`] what is read, [`compiled`] what a compiler makes of it, `vector` the same by hand. The same
//! variants run on pages in the caches ([`cached`]), and on more than the caches hold ([`distant`]); [`read`] is the limit of the
//! latter.

pub(super) mod cached;
mod compiled;
pub(super) mod distant;
mod page;
mod pages;
pub(super) mod read;
#[cfg(target_arch = "aarch64")]
mod sve;
mod variants;
mod vector;
