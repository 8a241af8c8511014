//! A package with some of its binaries replaced: bytes → bytes. All else stays as it is, byte for byte, and the hashes that a
//! package has of its files are made right.
//!
//! In: a wheel or another zip file, a `.deb`, a container image in a tar archive, or another tar archive, with gzip, xz, zstd or
//! no compression; and a function that is shown every ELF file and static archive, and says what is to stand in its place. Out: the new package, what was replaced,
//! signatures that hold no longer, and notes for people, as of packages in the package that were not looked into.
//!
//! What else is a package is refused by name, as is what has two readings: a new package must mean to every tool what the
//! old one meant.

mod control;
mod deb;
mod encode;
mod image;
mod pax;
mod record;
mod tar;
mod zip;

use crate::decode::Metered;
use crate::meter::{Counted, Meter};
use crate::name::{shown, tidied};
use crate::sniff::{Codec, Format, Found, sniff};
use crate::{Kind, Limits, Object, image as reading, reader, sniff_inside};
use encode::{Coding, Stream};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::rc::Rc;

/// Names that one note tells in full.
const TOLD: usize = 3;

/// What is to be known of a zstd stream that was made anew.
const RAW: &str = "a zstd frame without compression: compress it again with zstd";

/// Bytes of a member that tell what it is, even if it is compressed: the first block of each codec ends within them.
const PEEK: u64 = 192 << 10;

/// What became of a package.
#[derive(Debug, PartialEq, Eq)]
pub struct Rewritten<'a> {
    /// The package; borrowed, if nothing in it was changed.
    pub bytes: Cow<'a, [u8]>,
    /// The paths of the binaries that were replaced, as [`Object::path`], in the package's order.
    pub changed: Vec<String>,
    /// The paths of packages and compressed binaries in it that were not looked into.
    pub unopened: Vec<String>,
    /// Signatures and hashes, of what the package was, that hold no longer; one line each.
    pub signatures: Vec<String>,
    /// What else a person should know of the new package, one line each.
    pub notes: Vec<String>,
}

/// Why there is no new package.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RewriteError {
    /// Such a package is not rewritten, whatever is in it.
    Refused {
        /// What it is about: `package!inner/path`, free of control characters.
        path: String,
        /// Why.
        reason: String,
    },
    /// The bytes are not what they should be, or go beyond one of the [`Limits`].
    Unreadable {
        /// As above.
        path: String,
        /// What is wrong, and where.
        reason: String,
    },
}

impl fmt::Display for RewriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (RewriteError::Refused { path, reason } | RewriteError::Unreadable { path, reason }) = self;
        write!(f, "{path}: {reason}")
    }
}

impl std::error::Error for RewriteError {}

type Made<T> = Result<T, RewriteError>;

/// Makes a package anew. `path` is only told in what comes out; `change` gets every binary of the package, though none of a
/// package in it, and returns what is to stand in its place, or `None` to keep it.
///
/// # Errors
/// [`RewriteError`]: the first thing that stands in the way. There is no package with some of the changes.
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
        Found::Package(Format::Tar) => match reading::find(bytes) {
            Some(found) => image::rewrite(&mut job, &found, bytes, Coding::Plain)?,
            None => archive(&mut job, bytes, None)?,
        },
        Found::Package(Format::Rpm) => {
            let what = "an RPM package: its header's digests are not made anew; rewrite its unpacked files (rpm2cpio), and \
                        build it again";
            return Err(job.refused(what));
        }
        Found::Package(Format::Adb) => return Err(job.refused("a package of apk-tools 3: not read")),
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
        Found::Elf | Found::Archive | Found::Other => return Err(job.refused("no package")),
    };
    let Job { changed, unopened, kept, signatures, mut notes, .. } = job;
    notes.extend(kept.into_iter().map(|(why, names)| names.told(&why)));
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
    let whole = unpacked_image(&job.path, &job.meter.limits, bytes, codec)?;
    match whole.as_deref().and_then(reading::find) {
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

/// An archive that may be an image is unpacked in memory, as its files refer to one another; its names say first whether it may
/// be one.
pub(crate) fn unpacked_image(
    path: &str,
    limits: &Limits,
    bytes: &[u8],
    codec: Codec,
) -> Made<Option<Vec<u8>>> {
    let meter = Meter::new(limits, bytes);
    if !reading::is_named(&mut decoded(Some(codec), bytes, &meter)) {
        return Ok(None);
    }
    let (meter, most) = (Meter::new(limits, bytes), limits.member_bytes);
    let mut whole = Vec::new();
    let read = decoded(Some(codec), bytes, &meter).take(most.saturating_add(1)).read_to_end(&mut whole);
    read.map_err(|error| failed(path, &meter, error))?;
    if whole.len() as u64 > most {
        let reason = format!("an image of more than {most} bytes to be held in memory (--max-member)");
        return Err(RewriteError::Unreadable { path: path.to_owned(), reason });
    }
    Ok(Some(whole))
}

/// A tar archive that is no other package's.
fn archive(job: &mut Job<'_>, bytes: &[u8], codec: Option<Codec>) -> Made<Option<Vec<u8>>> {
    let coding = coding(job, bytes, codec)?;
    let is_raw = matches!(coding, Coding::ZstdRaw);
    let (path, meter) = (job.path.to_owned(), Rc::clone(&job.meter));
    let mut payload = tar::Payload::new(job, false);
    let made = encode::rewritten(&path, &meter, Stream { codec, bytes }, coding, &mut payload)?;
    if is_raw && made.is_some() {
        job.notes.push(RAW.to_owned());
    }
    Ok(made)
}

/// Names, of which only the first few are told.
#[derive(Default)]
struct Names {
    first: Vec<String>,
    more: u64,
}

impl Names {
    fn push(&mut self, name: String) {
        if self.first.len() < TOLD {
            self.first.push(name);
        } else {
            self.more += 1;
        }
    }

    fn told(&self, why: &str) -> String {
        let more = if self.more > 0 { format!(" and {} more", self.more) } else { String::new() };
        format!("{}{more}: {why}", self.first.join(", "))
    }
}

/// The state of one rewriting.
struct Job<'j> {
    path: String,
    meter: Rc<Meter>,
    change: &'j mut dyn FnMut(&Object) -> Option<Vec<u8>>,
    members: u64,
    changed: Vec<String>,
    unopened: Vec<String>,
    /// Members that stay as they are though they may hold binaries, by the reason.
    kept: BTreeMap<String, Names>,
    signatures: Vec<String>,
    notes: Vec<String>,
}

impl Job<'_> {
    fn refused(&self, reason: &str) -> RewriteError {
        RewriteError::Refused { path: self.path.to_owned(), reason: reason.to_owned() }
    }

    fn unreadable(&self, reason: &str) -> RewriteError {
        RewriteError::Unreadable { path: self.path.to_owned(), reason: reason.to_owned() }
    }

    /// Where a member is, for people.
    fn inner(&self, name: &[u8]) -> String {
        format!("{}!{}", self.path, shown(tidied(name)))
    }

    /// Begins a member of the package.
    fn begin_member(&mut self) -> Made<()> {
        self.members += 1;
        let most = self.meter.limits.members;
        if self.members > most {
            return Err(self.unreadable(&format!("more than {most} members (--max-members)")));
        }
        Ok(())
    }

    /// Sees that a member may be held in memory.
    fn admit(&self, name: &[u8], size: u64) -> Made<()> {
        let most = self.meter.limits.member_bytes;
        if size > most {
            let reason = format!("{size} bytes, where at most {most} are read (--max-member)");
            return Err(RewriteError::Unreadable { path: self.inner(name), reason });
        }
        Ok(())
    }

    fn keep(&mut self, name: &[u8], why: &str) {
        self.kept.entry(why.to_owned()).or_default().push(shown(tidied(name)));
    }

    /// Keeps what is not looked into, though there may be binaries in it.
    fn leave(&mut self, name: &[u8], why: &str) {
        self.keep(name, why);
        self.unopened.push(self.inner(name));
    }

    /// What a member is, if it is to be offered; `first`: as much of it as [`PEEK`].
    fn told_by(&mut self, name: &[u8], first: &[u8]) -> Option<Kind> {
        match sniff(first) {
            Found::Elf => return Some(Kind::Elf),
            Found::Archive => return Some(Kind::Archive),
            Found::Package(_) => self.leave(name, "a package in the package, kept as it is"),
            Found::Compressed(codec) => match sniff_inside(codec, first) {
                Ok(Found::Package(_)) => self.leave(name, "a package in the package, kept as it is"),
                Ok(Found::Elf | Found::Archive) => self.leave(name, "a compressed binary, kept as it is"),
                Ok(Found::Compressed(_) | Found::Other) | Err(_) => {}
            },
            Found::Other => {}
        }
        None
    }

    /// Offers a binary: what the member shall hold, and whether that is new.
    fn offered(&mut self, name: &[u8], kind: Kind, bytes: Vec<u8>) -> (Vec<u8>, bool) {
        let object = Object { path: self.inner(name), kind, bytes };
        match (self.change)(&object) {
            Some(new) if new != object.bytes => {
                self.changed.push(object.path);
                (new, true)
            }
            _ => (object.bytes, false),
        }
    }

    fn first_block(&self, codec: Option<Codec>, bytes: &[u8]) -> Made<Vec<u8>> {
        let mut stream = decoded(codec, bytes, &self.meter);
        reader::first_block(&mut stream).map_err(|error| failed(&self.path, &self.meter, error))
    }
}

/// Bytes as they are, or what a decoder makes of them.
fn decoded<'a>(codec: Option<Codec>, bytes: &'a [u8], meter: &Rc<Meter>) -> Box<dyn Read + 'a> {
    match codec {
        None => Box::new(bytes),
        Some(codec) => Box::new(Metered::new(codec, Counted::new(Box::new(bytes), None, meter), meter)),
    }
}

/// What a failed read says: its own error, if it carries one; or why a decoder gave up.
fn failed(path: &str, meter: &Meter, error: io::Error) -> RewriteError {
    let error = match error.downcast::<RewriteError>() {
        Ok(own) => return own,
        Err(error) => error,
    };
    let reason = match meter.failure() {
        Some(failure) => failure.reason,
        None if error.kind() == io::ErrorKind::UnexpectedEof => "cut off".to_owned(),
        None => error.to_string(),
    };
    RewriteError::Unreadable { path: path.to_owned(), reason }
}
