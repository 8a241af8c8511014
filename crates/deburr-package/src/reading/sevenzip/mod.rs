//! 7z (7zFormat.txt of the LZMA SDK): folders of one stream each → the files that follow one another in it.
//!
//! In: an archive, which is held in memory where it comes as a stream: its header is at its end. Out: its files in the order of
//! the archive, each folder decoded once. Checksums are compared.

mod coders;
mod header;

use super::reader::{Bytes, Flow, Nesting, Reader, Trouble};
use crate::codec::decode::Metered;
use crate::name::{shown, tidied};
use crate::number::{le32, le64};
use crate::sink::Sink;
use coders::decoder;
use flate2::Crc;
use header::{Archive, Folder, Header, SIGNATURE, parse};
use std::cell::Cell;
use std::io::{self, ErrorKind, Read};
use std::rc::Rc;

/// Bytes of a header: that of a million files with long names.
const LONGEST_HEADER: u64 = 256 << 20;
/// Headers that are compressed, each in the one before.
const MOST_HEADERS: u32 = 4;

/// Reads an archive.
pub(crate) fn read<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    bytes: Bytes<'_>,
    nesting: Nesting,
) -> Flow {
    reader.whole(path, bytes, |reader, whole| archive(reader, path, whole, nesting))
}

fn archive<S: Sink>(reader: &mut Reader<'_, S>, path: &str, bytes: &[u8], nesting: Nesting) -> Flow {
    let found = match found(reader, path, bytes)? {
        Ok(Some(found)) => found,
        // An empty archive, or one that was reported.
        Ok(None) => return Ok(()),
        Err(why) => return reader.skip(path, &format!("7z: {why}"), true),
    };
    let mut files = found.files.iter().filter(|file| file.has_stream);
    for (number, folder) in found.folders.iter().enumerate() {
        let of_folder: Vec<_> = files.by_ref().take(folder.streams.len()).collect();
        let stream = match opened(reader, bytes, &found, folder) {
            Ok(stream) => stream,
            Err(why) => {
                let first = of_folder.first().map(|file| shown(tidied(file.name.as_bytes())));
                let more = of_folder.len().saturating_sub(1);
                let inner = first.map_or_else(|| path.to_owned(), |first| format!("{path}!{first}"));
                let others = if more > 0 {
                    format!(" (and {more} more files of folder {number})")
                } else {
                    String::new()
                };
                reader.skip(&inner, &format!("7z: {why}{others}"), true)?;
                continue;
            }
        };
        reader.metered(stream, |reader, stream| {
            for ((size, crc), file) in folder.streams.iter().zip(of_folder) {
                let name = shown(tidied(file.name.as_bytes()));
                let inner = format!("{path}!{name}");
                reader.begin_member()?;
                let mut member = Verified { inner: &mut *stream, left: *size, crc: Crc::new(), stated: *crc };
                if !file.is_special {
                    reader.content(&inner, Bytes::Stream(&mut member, Some(*size)), nesting.within())?;
                }
                // The next one begins at its end.
                match io::copy(&mut member, &mut io::sink()) {
                    Ok(_) => {}
                    Err(error) if member.left == 0 => reader.failed(&inner, &error, true)?,
                    Err(error) => {
                        reader.failed(&inner, &error, true)?;
                        return Ok(());
                    }
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Finds the header, and unpacks it where it is compressed; `None` after the reason was reported, and of an empty archive.
fn found<S: Sink>(
    reader: &mut Reader<'_, S>,
    path: &str,
    bytes: &[u8],
) -> Flow<Result<Option<Archive>, String>> {
    let place = || {
        let (offset, size, crc) = (le64(bytes, 12)?, le64(bytes, 20)?, le32(bytes, 28)?);
        let start = usize::try_from(offset.checked_add(SIGNATURE as u64)?).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        Some((bytes.get(start..end)?, crc))
    };
    let Some((stored, crc)) = place() else { return Ok(Err("cut off: its header is at its end".to_owned())) };
    if stored.is_empty() {
        return Ok(Ok(None));
    }
    if sum_of(stored) != crc {
        return Ok(Err("the checksum of its header does not match".to_owned()));
    }
    let mut header = stored.to_vec();
    for _ in 0..MOST_HEADERS {
        let packed = match parse(&header) {
            Ok(Header::Plain(archive)) => return Ok(Ok(Some(archive))),
            Ok(Header::Packed(packed)) => packed,
            Err(why) => return Ok(Err(why)),
        };
        let Some((folder, size)) = packed.folders.first().and_then(|folder| Some((folder, folder.size()?)))
        else {
            return Ok(Err("its header is not there".to_owned()));
        };
        if size > LONGEST_HEADER {
            return Ok(Err(format!("a header of {size} bytes")));
        }
        let mut stream = match opened(reader, bytes, &packed, folder) {
            Ok(stream) => stream,
            Err(why) => return Ok(Err(format!("its header: {why}"))),
        };
        let number = stream.number();
        header.clear();
        if let Err(error) = (&mut stream).take(size).read_to_end(&mut header) {
            return match reader.failed(path, &error, true) {
                Err(Trouble::Broken(broken)) if broken == number => Ok(Ok(None)),
                result => result.map(|()| Ok(None)),
            };
        }
    }
    Ok(Err("its header is compressed again and again".to_owned()))
}

/// The stream of a folder.
fn opened<'a, S: Sink>(
    reader: &Reader<'_, S>,
    bytes: &'a [u8],
    archive: &Archive,
    folder: &Folder,
) -> Result<Metered<'a>, String> {
    let packed: u64 =
        folder.packed.iter().filter_map(|at| archive.packed.get(*at)).map(|(_, size)| *size).sum();
    let decoder = decoder(bytes, archive, folder)?;
    Ok(Metered::over("7z", decoder, Rc::new(Cell::new(packed)), &reader.meter))
}

fn sum_of(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// One file of a folder's stream, whose checksum is compared at its end.
struct Verified<'s, R> {
    inner: &'s mut R,
    left: u64,
    crc: Crc,
    stated: Option<u32>,
}

impl<R: Read> Read for Verified<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        if self.left == 0 {
            return match self.stated.take() {
                Some(stated) if stated != self.crc.sum() => {
                    Err(io::Error::new(ErrorKind::InvalidData, "7z: the checksum does not match"))
                }
                _ => Ok(0),
            };
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        let read = self.inner.read(into.get_mut(..most).unwrap_or_default())?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.crc.update(into.get(..read).unwrap_or_default());
        self.left -= read as u64;
        Ok(read)
    }
}
