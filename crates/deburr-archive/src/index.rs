//! An index as a stream: unpacked, bounded, and compared with the size and the hash that another index states of it.
//!
//! What a parser makes of an index is a result only after its last byte was compared.

use crate::error::{Error, Place};
use crate::fetch::{Fetch, open};
use crate::limits::FETCHED;
use deburr_package::{Codec, Limits, decoder};
use sha2::{Digest, Sha256, Sha512};
use std::cell::Cell;
use std::fmt::Write;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

/// What another index states of one, as it is in the archive: compressed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stated {
    pub(crate) size: Option<u64>,
    pub(crate) hash: Option<Hash>,
}

/// A hash in hexadecimal digits, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha256(String),
    Sha512(String),
}

/// A hash as an index writes it: as many hexadecimal digits as it must have, in lower case.
pub(crate) fn hexadecimal(text: &str, digits: usize) -> Option<String> {
    let is_hash = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| text.to_ascii_lowercase())
}

/// A number as an index writes it: decimal digits and nothing else.
pub(crate) fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reads an index by a parser; `None` where there is no such index. The end of its name says how it is compressed.
pub(crate) fn read<T>(
    fetch: &dyn Fetch,
    path: &str,
    stated: &Stated,
    most: u64,
    parse: impl FnOnce(&mut dyn BufRead) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let Some(opened) = open(fetch, path, &[], stated.size.unwrap_or(most.min(FETCHED)))? else {
        return Ok(None);
    };
    let mut compared = BufReader::with_capacity(64 << 10, Compared::new(opened, stated));
    let parsed = match codec_of(path) {
        None => parse(&mut bounded(&mut compared, most))?,
        Some(codec) => {
            // The limits are this crate's own, and have no option.
            let limits = Limits { unpacked_bytes: u64::MAX, ratio: u64::MAX, ..Limits::default() };
            parse(&mut bounded(decoder(codec, &mut compared, &limits), most))?
        }
    };
    // What a decoder leaves is a part of the file all the same.
    let rest = io::copy(&mut compared, &mut io::sink()).and_then(|_| compared.into_inner().finish());
    rest.map_err(|error| Error::read(path, Place::Whole, error))?;
    Ok(Some(parsed))
}

fn codec_of(path: &str) -> Option<Codec> {
    let (_, extension) = path.rsplit_once('.')?;
    match extension {
        "gz" => Some(Codec::Gzip),
        "xz" => Some(Codec::Xz),
        "zst" => Some(Codec::Zstd),
        "bz2" => Some(Codec::Bzip2),
        _ => None,
    }
}

/// At most so many bytes of a stream; one more is an error, and not an end.
pub(crate) fn bounded<'a>(stream: impl Read + 'a, most: u64) -> impl BufRead + 'a {
    BufReader::with_capacity(64 << 10, Bounded { stream, left: most, most })
}

struct Bounded<R> {
    stream: R,
    left: u64,
    most: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(into)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::other(format!("the index has more than {} MiB, unpacked", self.most >> 20))
        })?;
        Ok(read)
    }
}

/// A stream that is counted and hashed.
struct Compared<'s, R> {
    stream: R,
    stated: &'s Stated,
    read: u64,
    sha256: Sha256,
    sha512: Sha512,
}

impl<'s, R: Read> Compared<'s, R> {
    fn new(stream: R, stated: &'s Stated) -> Compared<'s, R> {
        Compared { stream, stated, read: 0, sha256: Sha256::new(), sha512: Sha512::new() }
    }

    /// After the last byte.
    fn finish(self) -> io::Result<()> {
        if self.stated.size.is_some_and(|size| size != self.read) {
            return Err(self.differs());
        }
        let same = match &self.stated.hash {
            None => true,
            Some(Hash::Sha256(stated)) => hex(&self.sha256.finalize()) == *stated,
            Some(Hash::Sha512(stated)) => hex(&self.sha512.finalize()) == *stated,
        };
        let changed = "does not have the stated hash: it was changed, or the mirror is being updated";
        if same { Ok(()) } else { Err(io::Error::new(ErrorKind::InvalidData, changed)) }
    }

    fn differs(&self) -> io::Error {
        let stated = self.stated.size.unwrap_or_default();
        let more = if self.read > stated { "or more " } else { "" };
        let what = format!("has {} bytes {more}where {stated} are stated", self.read);
        io::Error::new(ErrorKind::InvalidData, what)
    }
}

impl<R: Read> Read for Compared<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(into)?;
        let bytes = into.get(..read).unwrap_or_default();
        match self.stated.hash {
            Some(Hash::Sha256(_)) => self.sha256.update(bytes),
            Some(Hash::Sha512(_)) => self.sha512.update(bytes),
            None => {}
        }
        self.read += read as u64;
        let is_over = self.stated.size.is_some_and(|size| self.read > size);
        if is_over { Err(self.differs()) } else { Ok(read) }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // A string takes all that is written to it.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The lines of an index, each with an end of its own and within the limit.
pub(crate) struct Lines<'a> {
    stream: &'a mut dyn BufRead,
    index: &'a str,
    line: Vec<u8>,
    number: u64,
    most: u64,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(stream: &'a mut dyn BufRead, index: &'a str, most: u64) -> Lines<'a> {
        Lines { stream, index, line: Vec::new(), number: 0, most }
    }

    /// The next line, with its number and without its end; `None` at the end of the index.
    ///
    /// # Errors
    /// A line without an end is one that was cut off.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &[u8])>, Error> {
        self.line.clear();
        self.number += 1;
        let place = Place::Line(self.number);
        let read = (&mut *self.stream).take(self.most + 1).read_until(b'\n', &mut self.line);
        if read.map_err(|error| Error::read(self.index, place, error))? == 0 {
            return Ok(None);
        }
        if self.line.pop() == Some(b'\n') {
            return Ok(Some((self.number, &self.line)));
        }
        let is_long = self.line.len() as u64 >= self.most;
        let what =
            if is_long { format!("longer than {} bytes", self.most) } else { "cut off in a line".to_owned() };
        Err(Error::index(self.index, place, what))
    }
}

/// A stream of which so many bytes may be taken until the reader begins anew: a parser holds no more than that of it.
pub(crate) struct Rationed<'a> {
    stream: &'a mut dyn BufRead,
    left: &'a Cell<u64>,
}

impl<'a> Rationed<'a> {
    pub(crate) fn new(stream: &'a mut dyn BufRead, left: &'a Cell<u64>) -> Rationed<'a> {
        Rationed { stream, left }
    }
}

impl BufRead for Rationed<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left.get() == 0 {
            return Err(io::Error::other("a tag or a text is longer than 1 MiB"));
        }
        let most = usize::try_from(self.left.get()).unwrap_or(usize::MAX);
        let block = self.stream.fill_buf()?;
        Ok(block.get(..most).unwrap_or(block))
    }

    fn consume(&mut self, bytes: usize) {
        self.left.set(self.left.get().saturating_sub(bytes as u64));
        self.stream.consume(bytes);
    }
}

impl Read for Rationed<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}
