//! `PERF_RECORD_COMPRESSED`: parts of one zstd frame → records.
//!
//! perf compresses what it takes from the ring buffers as one stream and flushes it after each piece, so that the frame goes on
//! from record to record and has no end (`tools/perf/util/zstd.c`). Whatever is a whole block is decoded at once. The decoder
//! gives back only what has left its window; the rest comes at the end, after an empty last block that is added here.

use crate::error::Error;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Bytes of history that a frame may demand: `zstd --ultra -22` takes 128 MiB.
const WINDOW: u64 = 128 << 20;
/// How many bytes a compressed byte may become; what gives less than `HARMLESS` bytes is no bomb.
const RATIO: u64 = 1000;
const HARMLESS: u64 = 64 << 20;
/// The longest header of a frame: magic number, descriptor, window, dictionary, content size.
const LONGEST_HEADER: usize = 18;
/// An empty raw block that is the last of its frame, and a checksum that nobody compares.
const LAST_BLOCK: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// The decoder of all compressed records of a file.
pub(super) struct Unpacker {
    decoder: FrameDecoder,
    is_in_frame: bool,
    /// What is no whole block yet.
    pending: Vec<u8>,
    consumed: usize,
    read: u64,
    written: u64,
    /// Where the last compressed record is.
    offset: u64,
}

impl Unpacker {
    pub(super) fn new() -> Unpacker {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW);
        Unpacker {
            decoder,
            is_in_frame: false,
            pending: Vec::new(),
            consumed: 0,
            read: 0,
            written: 0,
            offset: 0,
        }
    }

    /// Where the last compressed record is.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Takes what a record contains.
    pub(super) fn push(&mut self, compressed: &[u8], offset: u64) {
        self.pending.drain(..self.consumed.min(self.pending.len()));
        self.consumed = 0;
        self.pending.extend_from_slice(compressed);
        self.read = self.read.saturating_add(compressed.len() as u64);
        self.offset = offset;
    }

    /// Decodes one block into `unpacked`, if a whole one is there. Returns whether it was.
    pub(super) fn step(&mut self, unpacked: &mut Vec<u8>) -> Result<bool, Error> {
        let rest = self.pending.get(self.consumed..).unwrap_or_default();
        if !self.is_in_frame {
            // The shortest frame has a header of 6 bytes and a block of 3: no data is lost by waiting for more.
            let Some(length) = header_length(rest) else { return Ok(false) };
            let Some(header) = rest.get(..length) else { return Ok(false) };
            self.decoder.reset(header).map_err(|error| self.fault(&error))?;
            self.consumed += length;
            self.is_in_frame = true;
            return Ok(true);
        }
        let Some(block) = block_length(rest).and_then(|length| rest.get(..length)) else { return Ok(false) };
        let is_last = block.first().is_some_and(|byte| byte & 1 != 0);
        let mut source = if is_last { rest } else { block };
        let before = source.len();
        if let Err(error) = self.decoder.decode_blocks(&mut source, BlockDecodingStrategy::UptoBlocks(1)) {
            return Err(self.fault(&error));
        }
        self.consumed += before - source.len();
        self.is_in_frame = !is_last;
        self.collect(unpacked)?;
        Ok(true)
    }

    /// Ends the frame: decodes what the window still holds.
    pub(super) fn finish(&mut self, unpacked: &mut Vec<u8>) -> Result<(), Error> {
        if self.consumed < self.pending.len() {
            return Err(Error::new(self.offset, "a whole zstd block: the compressed records are cut off"));
        }
        if !std::mem::take(&mut self.is_in_frame) {
            return Ok(());
        }
        let ended = self.decoder.decode_blocks(LAST_BLOCK.as_slice(), BlockDecodingStrategy::UptoBlocks(1));
        ended.map_err(|error| self.fault(&error))?;
        self.collect(unpacked)
    }

    fn collect(&mut self, unpacked: &mut Vec<u8>) -> Result<(), Error> {
        let count = self.decoder.collect_to_writer(&mut *unpacked);
        let count = count.map_err(|error| Error::new(self.offset, format!("zstd: {error}")))?;
        self.written = self.written.saturating_add(count as u64);
        if self.written > HARMLESS.max(self.read.saturating_mul(RATIO)) {
            let read = self.read;
            let expected =
                format!("at most {RATIO} bytes from each of {read} compressed bytes, as records give");
            return Err(Error::new(self.offset, expected));
        }
        Ok(())
    }

    fn fault(&self, error: &dyn std::fmt::Display) -> Error {
        Error::new(self.offset, format!("a zstd stream: {error}"))
    }
}

/// The length of a frame's header, where enough of it is there (RFC 8878, section 3.1.1.1).
fn header_length(bytes: &[u8]) -> Option<usize> {
    let descriptor = *bytes.get(4)?;
    let dictionary = [0, 1, 2, 4].get(usize::from(descriptor & 3))?;
    let is_single = descriptor & 0x20 != 0;
    let content = match descriptor >> 6 {
        0 => usize::from(is_single),
        1 => 2,
        2 => 4,
        _ => 8,
    };
    let length = 5 + usize::from(!is_single) + dictionary + content;
    (bytes.len() >= length && length <= LONGEST_HEADER).then_some(length)
}

/// The length of a block with its header (section 3.1.1.2): bit 0 is "last", then two bits of type and 21 of size.
fn block_length(bytes: &[u8]) -> Option<usize> {
    let [one, two, three] = *bytes.first_chunk::<3>()?;
    let header = u32::from_le_bytes([one, two, three, 0]);
    let size = header >> 3;
    // A block of one repeated byte has that byte alone.
    let size = if header >> 1 & 3 == 1 { 1 } else { size };
    Some(3 + usize::try_from(size).ok()?)
}
