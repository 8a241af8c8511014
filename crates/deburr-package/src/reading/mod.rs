//! Reading: a package → its binaries, to a [`Sink`], in the package's order.
//!
//! [`content`] recognises what is at a path and calls the format's own file; that reads members, and hands
//! each back to [`content`] through the [`reader`].

mod ahead;
mod carried;
mod content;
mod cpio;
mod deb;
mod iso;
mod layers;
mod pyinstaller;
mod reader;
mod rpm;
mod sevenzip;
mod squashfs;
mod tar;
mod whiteouts;
mod zip;

use crate::codec::meter::Meter;
use crate::image::Blobs;
use crate::image::unpacked::unpacked_image;
use crate::limits::Limits;
use crate::sink::{Sink, Stopped};
use crate::sniff::{Found, sniff};
use reader::{Bytes, Nesting, Reader, Trouble};

/// Reads a package.
///
/// # Errors
/// [`Stopped`], if the sink says so; all that is wrong with the package goes to [`Sink::skip`].
pub fn read<S: Sink>(path: &str, bytes: &[u8], limits: &Limits, sink: &mut S) -> Result<(), Stopped> {
    let mut reader = Reader::new(path, Meter::new(limits, bytes), sink, content::content);
    ended(reader.content(path, Bytes::Slice(bytes), Nesting::TOP))
}

/// Reads what a program carries, which [`crate::appended()`] lists; the program itself is left out.
///
/// # Errors
/// As [`read`].
pub fn read_appended<S: Sink>(
    path: &str,
    program: &[u8],
    limits: &Limits,
    sink: &mut S,
) -> Result<(), Stopped> {
    let mut reader = Reader::new(path, Meter::new(limits, program), sink, content::content);
    ended(carried::read(&mut reader, path, program, Nesting::TOP))
}

/// Reads a package as [`crate::rewrite()`] does: of an image all files of all layers, also those that a layer
/// above hides, and also where the image is compressed as a whole.
///
/// # Errors
/// As [`read`].
pub fn read_every<S: Sink>(path: &str, bytes: &[u8], limits: &Limits, sink: &mut S) -> Result<(), Stopped> {
    let unpacked = match sniff(bytes) {
        Found::Compressed(codec) => unpacked_image(limits, bytes, codec).ok().flatten(),
        _ => None,
    };
    let mut reader = Reader::new(path, Meter::new(limits, bytes), sink, content::content);
    reader.is_every = true;
    ended(reader.content(path, Bytes::Slice(unpacked.as_deref().unwrap_or(bytes)), Nesting::TOP))
}

/// Reads a container image in a folder, by its `index.json`.
///
/// # Errors
/// As [`read`].
pub fn read_layout<S: Sink>(
    path: &str,
    blobs: &dyn Blobs,
    limits: &Limits,
    sink: &mut S,
) -> Result<(), Stopped> {
    let mut reader = Reader::new(path, Meter::new(limits, &[]), sink, content::content);
    ended(layers::read_layout(&mut reader, path, blobs))
}

fn ended(result: Result<(), Trouble>) -> Result<(), Stopped> {
    match result {
        Err(Trouble::Stopped) => Err(Stopped),
        // Reported where it was met.
        Ok(()) | Err(Trouble::Broken(_) | Trouble::Over) => Ok(()),
    }
}
