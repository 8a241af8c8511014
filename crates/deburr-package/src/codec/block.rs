//! Blocks of an image, each compressed by itself: bytes → bytes, no more than a block may have.
//!
//! In: a block, and how it is compressed. Out: its bytes, counted for the image as for a stream.

use super::decode::WINDOW;
use super::meter::{Failure, Meter};
use super::zstd::Zstd;
use flate2::bufread::ZlibDecoder;
use lzma_rust2::{LzmaReader, XzReader};
use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// How the blocks of an image are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockCodec {
    Zlib,
    Lzma,
    Xz,
    Lz4,
    Zstd,
}

/// The decoder of all blocks of one image.
pub(crate) struct Blocks {
    codec: BlockCodec,
    /// The kind of the image, for messages.
    name: &'static str,
    /// The number by which a failure names the image.
    number: u32,
    /// Bytes of the image.
    size: u64,
    unpacked: Cell<u64>,
    meter: Rc<Meter>,
}

impl Blocks {
    pub(crate) fn new(codec: BlockCodec, name: &'static str, size: u64, meter: &Rc<Meter>) -> Blocks {
        let meter = Rc::clone(meter);
        Blocks { codec, name, number: meter.number(), size, unpacked: Cell::new(0), meter }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Unpacks one block, to at most so many bytes.
    pub(crate) fn unpack(&self, block: &[u8], most: usize) -> io::Result<Vec<u8>> {
        let bytes = unpacked(self.codec, block, most)?;
        self.count(bytes.len() as u64)?;
        Ok(bytes)
    }

    /// Counts bytes that came out of the image.
    pub(crate) fn count(&self, bytes: u64) -> io::Result<()> {
        let total = self.unpacked.get().saturating_add(bytes);
        self.unpacked.set(total);
        let limits = self.meter.limits;
        let (what, is_over) = match self.meter.count(bytes) {
            Some(what) => (what, true),
            None if limits.is_bomb(total, self.size) => (limits.of_bomb(), false),
            None => return Ok(()),
        };
        let reason = format!("{}: {what} ({} bytes, {total} unpacked)", self.name, self.size);
        self.meter.fail(Failure { decoder: self.number, reason, is_over });
        Err(io::Error::other("an image unpacks to too much"))
    }
}

fn unpacked(codec: BlockCodec, block: &[u8], most: usize) -> io::Result<Vec<u8>> {
    let kib = u32::try_from(WINDOW >> 10).unwrap_or(u32::MAX);
    if codec == BlockCodec::Lz4 {
        return lz4_flex::block::decompress(block, most).map_err(io::Error::other);
    }
    let decoder: Box<dyn Read + '_> = match codec {
        BlockCodec::Zlib => Box::new(ZlibDecoder::new(block)),
        BlockCodec::Lzma => Box::new(LzmaReader::new_mem_limit(block, kib, None)?),
        BlockCodec::Xz => Box::new(XzReader::new_mem_limit(block, false, kib)),
        BlockCodec::Zstd => Box::new(Zstd::new(block, WINDOW)),
        BlockCodec::Lz4 => return Ok(Vec::new()),
    };
    let mut bytes = Vec::new();
    let read = decoder.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if read > most {
        return Err(io::Error::other(format!("a block of more than {most} bytes")));
    }
    Ok(bytes)
}
