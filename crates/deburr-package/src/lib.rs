//! From packages to the binaries in them: bytes → ELF files and static archives, one at a time, never
//! unpacked to disk. And back: [`rewrite()`] puts changed binaries in their places, and [`layout`]
//! writes container images.
//!
//! In: the bytes of a package, or the blobs of a container image. Out: calls of a [`Sink`], in the package's
//! order. Wheels, jars, jmods, conda packages and other zip files; `.deb`, `.rpm` and Alpine's `.apk`; tar with
//! gzip, xz, zstd, bzip2, lz4 or none; npm's packages; OCI image layouts and what `docker save` writes; squashfs (snaps), 7z,
//! cpio (an initramfs), ISO 9660; what programs carry after their end or in a section of its own ([`appended()`]): AppImages,
//! PyInstaller's programs, self-extracting archives; and all of these in one another. [`Known`] names what is recognised and
//! not read.
//!
//! [`claim`] reads what a package says of the machines that it is for; [`wheel`] takes a wheel apart and writes it as a variant.
//!
//! The crate opens nothing and prints nothing. Streams are decoded as they are read; in memory are one member
//! at a time, the decoders' windows, and a zip file within a stream, as its directory is at its end.
//! [`Limits`] bound all of that. A member's path is text for people and is never opened. Whatever the bytes
//! are, there is no panic of this crate's.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod appended;
pub mod claim;
mod codec;
mod extent;
mod image;
mod inside;
mod known;
pub mod layout;
mod limits;
mod member;
mod name;
mod number;
mod object;
mod reading;
mod rewrite;
mod sink;
mod sniff;
mod sparse;
mod tar;
pub mod wheel;

pub use appended::{Appended, Reading, appended};
pub use codec::decode::decoder;
pub use image::{Blobs, archive};
pub use inside::sniff_inside;
pub use known::Known;
pub use limits::Limits;
pub use member::Member;
pub use object::{Kind, Object};
pub use reading::{read, read_appended, read_every, read_layout};
pub use rewrite::{RewriteError, Rewritten, rewrite};
pub use sink::{Sink, Stopped};
pub use sniff::{
    BLOCK, Codec, DEEP, Format, Found, TAIL, ends_in_zip, sniff, sniff_whole, sniff_with_tail, wants_more,
    wants_tail,
};
