//! From packages to the binaries in them: bytes → ELF files and static archives, one at a time, never unpacked to disk. And
//! back: [`rewrite`] puts changed binaries in their places.
//!
//! In: the bytes of a package, or the blobs of a container image. Out: calls of a [`Sink`], in the package's order. Wheels,
//! jars, conda packages and other zip files; `.deb`, `.rpm` and Alpine's `.apk`; tar with gzip, xz, zstd, bzip2 or none; npm's
//! packages; OCI image layouts and what `docker save` writes; and all of these in one another.
//!
//! The crate opens nothing and prints nothing. Streams are decoded as they are read; in memory are one member at a time, the
//! decoders' windows, and a zip file that lies in a stream, as its directory is at its end. [`Limits`] bound all of that. A
//! member's path is text for people and is never opened. Whatever the bytes are, there is no panic of this crate's.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod cpio;
mod deb;
mod decode;
mod image;
mod meter;
mod name;
mod reader;
mod rewrite;
mod rpm;
mod sniff;
mod tar;
mod zip;

pub use image::Blobs;
pub use name::shown;
pub use rewrite::{RewriteError, Rewritten, rewrite};
pub use sniff::{BLOCK, Codec, Format, Found, sniff};

use decode::Metered;
use meter::{Counted, Meter};
use reader::{Bytes, Place, Reader, Trouble};
use std::io;

/// How much a package may hold. Whatever goes beyond is a fault, with the option's name in its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Packages within packages.
    pub depth: u32,
    /// Members, all levels together.
    pub members: u64,
    /// Bytes of one binary, or of all that a package needs in memory at the same time.
    pub member_bytes: u64,
    /// Bytes that all decoders give together.
    pub unpacked_bytes: u64,
    /// How many times its own size a compressed stream may become, once that is more than 64 MiB.
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { depth: 8, members: 1_000_000, member_bytes: 2 << 30, unpacked_bytes: 64 << 30, ratio: 200 }
    }
}

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
}

/// Nobody wants more: the reading ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// Whoever takes what a package holds.
pub trait Sink {
    /// Leave to hold the bytes of one binary, until it is dropped.
    type Permit;

    /// Asks for leave to read a binary of so many bytes into memory; may wait.
    ///
    /// # Errors
    /// [`Stopped`].
    fn admit(&mut self, bytes: u64) -> Result<Self::Permit, Stopped>;

    /// Says that so many bytes are in memory that no permit covers, or soon will be; may wait. No permit is held meanwhile.
    ///
    /// # Errors
    /// [`Stopped`].
    fn hold(&mut self, bytes: u64) -> Result<(), Stopped>;

    /// Takes a binary.
    ///
    /// # Errors
    /// [`Stopped`].
    fn object(&mut self, object: Object, permit: Self::Permit) -> Result<(), Stopped>;

    /// Counts a member that is neither a binary nor a package.
    fn pass_over(&mut self);

    /// Takes note of what could not be read; `fault`: it was asked for, or begun.
    ///
    /// # Errors
    /// [`Stopped`].
    fn skip(&mut self, path: String, reason: String, fault: bool) -> Result<(), Stopped>;

    /// How far the reading has come, in bytes of the package.
    fn progress(&mut self, bytes: u64);
}

/// Reads a package.
///
/// # Errors
/// [`Stopped`], if the sink says so; all that is wrong with the package goes to [`Sink::skip`].
pub fn read<S: Sink>(path: &str, bytes: &[u8], limits: &Limits, sink: &mut S) -> Result<(), Stopped> {
    let mut reader = Reader::new(path, Meter::new(limits, bytes), sink);
    ended(reader.content(path, Bytes::Slice(bytes), Place::TOP))
}

/// Reads a package as [`rewrite`] does: of an image all files of all layers, also those that a layer above hides, and also where the
/// image is compressed as a whole.
///
/// # Errors
/// As [`read`].
pub fn read_every<S: Sink>(path: &str, bytes: &[u8], limits: &Limits, sink: &mut S) -> Result<(), Stopped> {
    let unpacked = match sniff(bytes) {
        Found::Compressed(codec) => rewrite::unpacked_image(path, limits, bytes, codec).ok().flatten(),
        _ => None,
    };
    let mut reader = Reader::new(path, Meter::new(limits, bytes), sink);
    reader.is_every = true;
    ended(reader.content(path, Bytes::Slice(unpacked.as_deref().unwrap_or(bytes)), Place::TOP))
}

/// Reads a container image that lies as a folder, by its `index.json`.
///
/// # Errors
/// As [`read`].
pub fn read_layout<S: Sink>(
    path: &str,
    blobs: &dyn Blobs,
    limits: &Limits,
    sink: &mut S,
) -> Result<(), Stopped> {
    let mut reader = Reader::new(path, Meter::new(limits, &[]), sink);
    ended(image::read_layout(&mut reader, path, blobs))
}

fn ended(result: Result<(), Trouble>) -> Result<(), Stopped> {
    match result {
        Err(Trouble::Stopped) => Err(Stopped),
        // Told where it was met.
        Ok(()) | Err(Trouble::Broken(_) | Trouble::Over) => Ok(()),
    }
}

/// What a compressed stream holds, by its first block; decodes no more than that takes.
///
/// # Errors
/// Those of the decoder.
pub fn sniff_inside(codec: Codec, compressed: impl io::BufRead) -> io::Result<Found> {
    let meter = Meter::new(&Limits::default(), &[]);
    let mut stream = Metered::new(codec, Counted::new(Box::new(compressed), None, &meter), &meter);
    let first = reader::first_block(&mut stream).map_err(|error| match meter.failure() {
        Some(failure) => io::Error::other(failure.reason),
        None => error,
    })?;
    match sniff(&first) {
        Found::Compressed(inner) => {
            let rest = io::BufReader::new(io::Read::chain(first.as_slice(), stream));
            let mut stream = Metered::new(inner, Counted::new(Box::new(rest), None, &meter), &meter);
            Ok(sniff(&reader::first_block(&mut stream)?))
        }
        found => Ok(found),
    }
}
