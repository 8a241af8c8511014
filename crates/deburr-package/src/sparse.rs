//! Sparse files of pax archives → their bytes, holes as zeros.
//!
//! In: the records of a member's extended header, and its stored bytes. Out: the file's name, its size, and a reader. GNU tar writes three
//! formats (manual of GNU tar 1.35, "Storing Sparse Files"): 0.0 and 0.1 have the map in the header, 1.0 before the data.

use crate::sniff::BLOCK;
use ::tar::PaxExtensions;
use std::io::{self, Read};
use std::mem;

/// Bytes that a map before the data may take, in decimal numbers of a line each.
const LONGEST_MAP: u64 = 16 << 20;

/// A part of the file that is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    offset: u64,
    size: u64,
}

/// What an extended header says of a sparse file.
#[derive(Debug, Default)]
pub(crate) struct Sparse {
    /// The file's own name; the member's is made up.
    pub(crate) name: Option<Vec<u8>>,
    /// Bytes of the file, holes included.
    pub(crate) size: u64,
    /// `None`: before the data.
    map: Option<Vec<Piece>>,
}

impl Sparse {
    /// What the records say. `None` where the file is not sparse.
    ///
    /// # Errors
    /// Where they say it, and not how.
    pub(crate) fn of(records: PaxExtensions<'_>) -> io::Result<Option<Sparse>> {
        let (mut sparse, mut is_sparse, mut map) = (Sparse::default(), false, Vec::new());
        let (mut begun, mut is_before) = (None, false);
        for record in records.filter_map(Result::ok) {
            let Some(key) = record.key_bytes().strip_prefix(b"GNU.sparse.") else { continue };
            is_sparse = true;
            let value = record.value_bytes();
            match key {
                b"name" => sparse.name = Some(value.to_vec()),
                b"realsize" | b"size" => sparse.size = number(value)?,
                b"major" => is_before = value == b"1",
                b"offset" => begun = Some(number(value)?),
                b"numbytes" => {
                    let offset = begun.take().ok_or_else(|| bad("a size without an offset"))?;
                    map.push(Piece { offset, size: number(value)? });
                }
                b"map" => {
                    let numbers =
                        value.split(|byte| *byte == b',').map(number).collect::<io::Result<Vec<u64>>>()?;
                    let (pairs, []) = numbers.as_chunks() else {
                        return Err(bad("an offset without a size"));
                    };
                    map = pairs.iter().map(|&[offset, size]| Piece { offset, size }).collect();
                }
                _ => {}
            }
        }
        sparse.map = (!is_before).then_some(map);
        Ok(is_sparse.then_some(sparse))
    }

    /// The file's bytes, from what is stored.
    pub(crate) fn reader<R: Read>(self, stored: R) -> Filled<R> {
        let is_map_due = self.map.is_none();
        Filled { stored, pieces: self.map.unwrap_or_default(), next: 0, at: 0, size: self.size, is_map_due }
    }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("sparse file: {what}"))
}

fn number(digits: &[u8]) -> io::Result<u64> {
    let text = std::str::from_utf8(digits).ok();
    text.and_then(|text| text.parse().ok()).ok_or_else(|| bad("a number was expected in its map"))
}

/// The bytes of a sparse file.
pub(crate) struct Filled<R> {
    stored: R,
    pieces: Vec<Piece>,
    /// The piece that is read next, or now.
    next: usize,
    /// Where in the file.
    at: u64,
    size: u64,
    /// Whether the map is still to be read.
    is_map_due: bool,
}

impl<R: Read> Filled<R> {
    /// Reads the map that is stored before the data: how many pieces, and of each its offset and size, in decimal lines, filled up to a block.
    fn map(&mut self) -> io::Result<Vec<Piece>> {
        let mut read = 0_u64;
        let mut line = |stored: &mut R| -> io::Result<u64> {
            let mut digits = Vec::new();
            loop {
                let mut byte = [0];
                stored.read_exact(&mut byte)?;
                read += 1;
                match byte {
                    [b'\n'] => return number(&digits),
                    _ if digits.len() > 20 || read > LONGEST_MAP => return Err(bad("a map that has no end")),
                    [digit] => digits.push(digit),
                }
            }
        };
        let count = line(&mut self.stored)?;
        let mut pieces = Vec::new();
        for _ in 0..count {
            pieces.push(Piece { offset: line(&mut self.stored)?, size: line(&mut self.stored)? });
        }
        let rest = read.next_multiple_of(BLOCK as u64) - read;
        io::copy(&mut self.stored.by_ref().take(rest), &mut io::sink())?;
        Ok(pieces)
    }
}

impl<R: Read> Read for Filled<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if mem::take(&mut self.is_map_due) {
            self.pieces = self.map()?;
        }
        let left = usize::try_from(self.size - self.at).unwrap_or(usize::MAX).min(into.len());
        let mut into = into.get_mut(..left).unwrap_or_default();
        if into.is_empty() {
            return Ok(0);
        }
        while let Some(piece) = self.pieces.get(self.next) {
            let end = piece.offset.saturating_add(piece.size);
            if end > self.size || self.at > end {
                return Err(bad("its map is not in order, or goes past its end"));
            }
            if self.at == end {
                self.next += 1;
                if self.pieces.get(self.next).is_some_and(|next| next.offset < end) {
                    return Err(bad("its map is not in order, or goes past its end"));
                }
            } else if let Some(stored) = self.at.checked_sub(piece.offset) {
                let most = usize::try_from(piece.size - stored).unwrap_or(usize::MAX).min(into.len());
                let read = self.stored.read(into.get_mut(..most).unwrap_or_default())?;
                self.at += read as u64;
                return if read == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(read) };
            } else {
                let hole = usize::try_from(piece.offset - self.at).unwrap_or(usize::MAX).min(into.len());
                into = into.get_mut(..hole).unwrap_or_default();
                break;
            }
        }
        into.fill(0);
        self.at += into.len() as u64;
        Ok(into.len())
    }
}
