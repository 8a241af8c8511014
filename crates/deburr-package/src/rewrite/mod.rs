//! A package with some of its binaries replaced: bytes → bytes. All else stays as it is, byte for byte, and
//! the hashes that a package has of its files are made right.
//!
//! In: a wheel or another zip file, a `.deb`, a container image in a tar archive, or another tar archive,
//! with gzip, xz, zstd or no compression; and a function that gets every ELF file and static archive, and
//! returns what replaces it. Out: the new package, what was replaced, signatures that hold no longer, and
//! notes for people, as of inner packages that were not opened.
//!
//! What else is a package is refused by name, as is what has two readings: a new package must mean to every
//! tool what the old one meant.

mod deb;
mod error;
mod image;
mod job;
mod payload;
mod rewritten;
mod tar;
pub(crate) mod zip;

pub use error::RewriteError;
pub use rewritten::Rewritten;

use crate::codec::encode::Coding;
use crate::codec::meter::Meter;
use crate::image::archive::find;
use crate::image::unpacked::unpacked_image;
use crate::limits::Limits;
use crate::object::Object;
use crate::sniff::{Codec, Format, Found, sniff};
use error::Made;
use job::Job;
use payload::Payload;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;
use tar::stream::{Stream, rewritten};

/// What is to be known of a zstd stream that was made anew.
const RAW: &str = "a zstd frame without compression: compress it again with zstd";

/// Makes a package anew. `path` appears only in what comes out; `change` gets every binary of the package,
/// though none of a package in it, and returns its replacement, or `None` to keep it.
///
/// # Errors
/// [`RewriteError`]: the first obstacle. There is no package with some of the changes.
pub fn rewrite<'a>(
    path: &str,
    bytes: &'a [u8],
    limits: &Limits,
    change: &mut dyn FnMut(&Object) -> Option<Vec<u8>>,
) -> Made<Rewritten<'a>> {
    let mut job = Job {
        path: path.to_owned(),
        meter: Meter::new(limits, bytes),
        change,
        members: 0,
        changed: Vec::new(),
        unopened: Vec::new(),
        kept: BTreeMap::new(),
        signatures: Vec::new(),
        notes: Vec::new(),
    };
    let made = match sniff(bytes) {
        Found::Package(Format::Zip) => zip::rewrite(&mut job, bytes)?,
        Found::Package(Format::Deb) => deb::rewrite(&mut job, bytes)?,
        Found::Package(Format::Tar) => match find(bytes) {
            Some(found) => image::rewrite(&mut job, &found, bytes, Coding::Plain)?,
            None => archive(&mut job, bytes, None)?,
        },
        Found::Package(Format::Rpm) => {
            let what = "an RPM package: its header's digests are not made anew; rewrite its unpacked files (rpm2cpio), and \
                        build it again";
            return Err(job.refused(what));
        }
        Found::Package(Format::Adb) => return Err(job.refused("a package of apk-tools 3: not read")),
        Found::Package(
            format @ (Format::Squashfs | Format::SevenZip | Format::Cpio | Format::Iso | Format::Jmod),
        ) => {
            return Err(job.refused(&format!("{} is read, but not written", format.name())));
        }
        Found::Compressed(codec) => {
            let first = job.first_block(Some(codec), bytes)?;
            match sniff(&first) {
                Found::Package(Format::Tar) => compressed(&mut job, bytes, codec)?,
                _ => {
                    let reason = format!("{}, but no tar archive in it: no package", codec.name());
                    return Err(job.refused(&reason));
                }
            }
        }
        Found::Elf | Found::Archive | Found::Known(_) | Found::Other => return Err(job.refused("no package")),
    };
    let Job { changed, unopened, kept, signatures, mut notes, .. } = job;
    notes.extend(kept.into_iter().map(|(why, names)| names.listed(&why)));
    Ok(Rewritten {
        bytes: made.map_or(Cow::Borrowed(bytes), Cow::Owned),
        changed,
        unopened,
        signatures,
        notes,
    })
}

/// How to compress a tar archive that is no other package's.
fn coding(job: &Job<'_>, bytes: &[u8], codec: Option<Codec>) -> Made<Coding> {
    match codec {
        // Its name says zstd, and a frame of raw blocks is that.
        Some(Codec::Zstd) => Ok(Coding::ZstdRaw),
        codec => Coding::like(codec, bytes).ok_or_else(|| {
            let name = codec.map_or("", Codec::name);
            job.refused(&format!("{name} is read, but not written"))
        }),
    }
}

/// A compressed tar archive.
fn compressed(job: &mut Job<'_>, bytes: &[u8], codec: Codec) -> Made<Option<Vec<u8>>> {
    let whole = unpacked_image(&job.meter.limits, bytes, codec).map_err(|reason| job.unreadable(&reason))?;
    match whole.as_deref().and_then(find) {
        Some(found) => {
            let coding = coding(job, bytes, Some(codec))?;
            let made = image::rewrite(job, &found, whole.as_deref().unwrap_or_default(), coding)?;
            if codec == Codec::Zstd && made.is_some() {
                job.notes.push(RAW.to_owned());
            }
            Ok(made)
        }
        None => archive(job, bytes, Some(codec)),
    }
}

/// A tar archive that is no other package's.
fn archive(job: &mut Job<'_>, bytes: &[u8], codec: Option<Codec>) -> Made<Option<Vec<u8>>> {
    let coding = coding(job, bytes, codec)?;
    let is_raw = matches!(coding, Coding::ZstdRaw);
    let (path, meter) = (job.path.to_owned(), Rc::clone(&job.meter));
    let mut payload = Payload::new(job, false);
    let made = rewritten(&path, &meter, Stream { codec, bytes }, coding, &mut payload)?;
    if is_raw && made.is_some() {
        job.notes.push(RAW.to_owned());
    }
    Ok(made)
}
