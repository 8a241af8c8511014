//! A perf.data → its records, one at a time, also those that are compressed.
//!
//! In: a file, and where its records begin and end. Out: kind, `misc` and contents of each. One record is in memory, and as much
//! of the zstd stream as its window demands.

use super::record;
use super::zstd::Unpacker;
use crate::bytes::Cursor;
use crate::error::Error;
use std::io::{BufReader, Read, Seek, SeekFrom};

/// Records that other data follows, which their size does not count (`tools/lib/perf/include/perf/event.h`).
const TRACING_DATA: u32 = 66;
const COMPRESSED: u32 = 81;
const COMPRESSED2: u32 = 83;

/// Bytes that are read at once.
const CHUNK: usize = 1 << 18;
/// Bytes of what follows a record that are read at once.
const PIECE: u64 = 1 << 16;
/// `struct perf_event_header`
const HEADER: usize = 8;
/// Unpacked records that have been read are dropped when they are this many bytes.
const SPENT: usize = 1 << 16;

/// A record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) kind: u32,
    pub(super) misc: u16,
    /// What follows its header.
    pub(super) body: &'a [u8],
    /// Where it is in the file; of a compressed one, where that is.
    pub(super) offset: u64,
}

impl<'a> Record<'a> {
    pub(super) fn cursor(&self) -> Cursor<'a> {
        Cursor::new(self.body, self.offset)
    }
}

/// What [`Stream::next`] found.
enum Next {
    /// A record in the file; it is in `body`.
    Plain {
        kind: u32,
        misc: u16,
        offset: u64,
    },
    /// A record of this many bytes in `unpacked`.
    Unpacked(usize),
    End,
}

/// The records of a file.
pub(super) struct Stream<R> {
    input: BufReader<R>,
    at: u64,
    end: u64,
    /// Bytes before `at` that follow the last record and have not been read.
    following: u64,
    body: Vec<u8>,
    unpacker: Option<Unpacker>,
    unpacked: Vec<u8>,
    spent: usize,
    is_finished: bool,
}

fn unreadable(at: u64, error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::new(at, "the rest of a record: the file is cut off"),
        _ => Error::new(at, format!("readable bytes: {error}")),
    }
}

impl<R: Read + Seek> Stream<R> {
    /// The records between two offsets.
    pub(super) fn new(mut input: R, start: u64, end: u64) -> Result<Stream<R>, Error> {
        input.seek(SeekFrom::Start(start)).map_err(|error| unreadable(start, &error))?;
        Ok(Stream {
            input: BufReader::with_capacity(CHUNK, input),
            at: start,
            end,
            following: 0,
            body: Vec::new(),
            unpacker: None,
            unpacked: Vec::new(),
            spent: 0,
            is_finished: false,
        })
    }

    /// The next record. Samples have an empty body where the caller does not want them.
    pub(super) fn next(&mut self, wants_samples: bool) -> Result<Option<Record<'_>>, Error> {
        match self.advance(wants_samples)? {
            Next::End => Ok(None),
            Next::Plain { kind, misc, offset } => Ok(Some(Record { kind, misc, body: &self.body, offset })),
            Next::Unpacked(size) => {
                let offset = self.unpacker.as_ref().map_or(self.at, Unpacker::offset);
                let record = self.unpacked.get(self.spent..self.spent + size).unwrap_or_default();
                self.spent += size;
                let mut cursor = Cursor::new(record, offset);
                let (kind, misc, _) = (cursor.u32()?, cursor.u16()?, cursor.u16()?);
                Ok(Some(Record { kind, misc, body: record.get(HEADER..).unwrap_or_default(), offset }))
            }
        }
    }

    /// The next piece of the data that follows the last record of the file.
    pub(super) fn following(&mut self) -> Result<Option<&[u8]>, Error> {
        let size = self.following.min(PIECE);
        if size == 0 {
            return Ok(None);
        }
        let at = self.at - self.following;
        self.body.resize(size as usize, 0);
        self.input.read_exact(&mut self.body).map_err(|error| unreadable(at, &error))?;
        self.following -= size;
        Ok(Some(&self.body))
    }

    fn advance(&mut self, wants_samples: bool) -> Result<Next, Error> {
        loop {
            if let Some(size) = self.whole_unpacked()? {
                return Ok(Next::Unpacked(size));
            }
            if let Some(unpacker) = &mut self.unpacker {
                if self.spent >= SPENT {
                    self.unpacked.drain(..self.spent.min(self.unpacked.len()));
                    self.spent = 0;
                }
                if unpacker.step(&mut self.unpacked)? {
                    continue;
                }
            }
            if self.at >= self.end {
                return self.ended();
            }
            let offset = self.at;
            let (kind, misc) = self.plain(wants_samples)?;
            let compressed = match kind {
                COMPRESSED => Some(self.body.as_slice()),
                COMPRESSED2 => {
                    let mut cursor = Cursor::new(&self.body, offset);
                    let size = cursor.u64()?;
                    Some(cursor.take(usize::try_from(size).unwrap_or(usize::MAX))?)
                }
                _ => None,
            };
            let Some(compressed) = compressed else { return Ok(Next::Plain { kind, misc, offset }) };
            self.unpacker.get_or_insert_with(Unpacker::new).push(compressed, offset);
        }
    }

    /// The size of the next unpacked record, where all of it is there.
    fn whole_unpacked(&self) -> Result<Option<usize>, Error> {
        let rest = self.unpacked.get(self.spent..).unwrap_or_default();
        let Some(header) = rest.first_chunk::<HEADER>() else { return Ok(None) };
        let [.., low, high] = *header;
        let size = usize::from(u16::from_le_bytes([low, high]));
        if size < HEADER {
            let offset = self.unpacker.as_ref().map_or(self.at, Unpacker::offset);
            return Err(Error::new(offset, format!("records of 8 bytes or more, compressed; found {size}")));
        }
        Ok((rest.len() >= size).then_some(size))
    }

    fn ended(&mut self) -> Result<Next, Error> {
        if let Some(unpacker) = &mut self.unpacker {
            if !std::mem::replace(&mut self.is_finished, true) {
                unpacker.finish(&mut self.unpacked)?;
            }
            if let Some(size) = self.whole_unpacked()? {
                return Ok(Next::Unpacked(size));
            }
            if self.spent < self.unpacked.len() {
                return Err(Error::new(self.at, "the rest of a compressed record: the file is cut off"));
            }
        }
        Ok(Next::End)
    }

    /// Reads a record of the file itself into `body`.
    fn plain(&mut self, wants_samples: bool) -> Result<(u32, u16), Error> {
        let following = std::mem::take(&mut self.following);
        self.skip(following)?;
        let offset = self.at;
        let mut header = [0; HEADER];
        self.input.read_exact(&mut header).map_err(|error| unreadable(offset, &error))?;
        let mut cursor = Cursor::new(&header, offset);
        let (kind, misc, size) = (cursor.u32()?, cursor.u16()?, cursor.u16()?);
        let body = usize::from(size)
            .checked_sub(HEADER)
            .ok_or_else(|| Error::new(offset, format!("a record of 8 bytes or more, found {size}")))?;
        self.at = offset.saturating_add(u64::from(size));
        if self.at > self.end {
            return Err(Error::new(offset, "a record that ends where the records do: the file is cut off"));
        }
        self.body.clear();
        if kind == record::SAMPLE && !wants_samples {
            self.skip(body as u64)?;
            return Ok((kind, misc));
        }
        self.body.resize(body, 0);
        self.input.read_exact(&mut self.body).map_err(|error| unreadable(offset, &error))?;
        let mut cursor = Cursor::new(&self.body, offset);
        let follows = match kind {
            TRACING_DATA => u64::from(cursor.u32()?).next_multiple_of(8),
            record::AUXTRACE => cursor.u64()?,
            _ => 0,
        };
        if follows > 0 {
            self.at = self.at.saturating_add(follows);
            if self.at > self.end {
                let expected =
                    format!("{follows} bytes after a record, within the records: the file is cut off");
                return Err(Error::new(offset, expected));
            }
            self.following = follows;
        }
        Ok((kind, misc))
    }

    fn skip(&mut self, count: u64) -> Result<(), Error> {
        let count = i64::try_from(count).map_err(|_| Error::new(self.at, "data within the file"))?;
        self.input.seek_relative(count).map_err(|error| unreadable(self.at, &error))
    }
}
