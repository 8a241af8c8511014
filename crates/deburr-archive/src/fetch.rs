//! Where the bytes of an archive come from: the caller's side.

use crate::error::{Error, Place};
use crate::limits::PAGE;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

/// What is to be read of an archive.
pub trait Fetch {
    /// Reads what is at a path below the archive's root, as `dists/bookworm/Release`, or at a URL. The headers are for HTTP. No more
    /// than `most` bytes are of use: who fetches the whole before it is read need not fetch a larger file.
    ///
    /// # Errors
    /// `NotFound` where nothing is there; any other error says that it cannot be known or read.
    fn read(&self, path: &str, headers: &[(&str, &str)], most: u64) -> io::Result<Box<dyn Read + '_>>;
}

/// A stream that has begun.
pub(crate) type Opened<'a> = BufReader<Box<dyn Read + 'a>>;

/// Opens an index, and reads its first block; `None` where there is none. A folder is none: a file system opens it, and then reads
/// nothing.
pub(crate) fn open<'a>(
    fetch: &'a dyn Fetch,
    path: &str,
    headers: &[(&str, &str)],
    most: u64,
) -> Result<Option<Opened<'a>>, Error> {
    match begun(fetch, path, headers, most) {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if is_absence(error.kind()) => Ok(None),
        Err(error) => Err(Error::read(path, Place::Whole, error)),
    }
}

fn begun<'a>(
    fetch: &'a dyn Fetch,
    path: &str,
    headers: &[(&str, &str)],
    most: u64,
) -> io::Result<Opened<'a>> {
    let mut opened = BufReader::with_capacity(64 << 10, fetch.read(path, headers, most)?);
    loop {
        match opened.fill_buf() {
            Ok(_) => return Ok(opened),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// How what is at a path begins, for those who want to know what it is: some servers answer to everything. `None` where there is
/// nothing.
pub(crate) fn begin(
    fetch: &dyn Fetch,
    path: &str,
    headers: &[(&str, &str)],
) -> Result<Option<String>, Error> {
    const BLOCK: u64 = 8 << 10;
    let Some(opened) = open(fetch, path, headers, PAGE)? else { return Ok(None) };
    let mut begin = Vec::new();
    opened.take(BLOCK).read_to_end(&mut begin).map_err(|error| Error::read(path, Place::Whole, error))?;
    Ok(Some(String::from_utf8_lossy(&begin).into_owned()))
}

fn is_absence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory)
}
