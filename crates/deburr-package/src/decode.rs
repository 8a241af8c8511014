//! Compressed bytes → bytes, as they are asked for: any number of streams one after another, bounded windows, bounded gain.

use crate::meter::{Counted, Failure, Meter};
use crate::sniff::Codec;
use bzip2_rs::DecoderReader;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder};
use lzma_rust2::{LzmaReader, XzReader};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, ErrorKind, Read};
use std::rc::Rc;

/// Bytes of history that an xz or zstd stream may ask for: `xz -9` takes 64 MiB, `zstd --ultra -22` takes 128.
const WINDOW: u64 = 128 << 20;

/// A stream that gives less is no bomb, whatever its ratio.
const HARMLESS: u64 = 64 << 20;

/// A decoder that counts, keeps the limits, and stays at its first failure.
pub(crate) struct Metered<'a> {
    decoder: Box<dyn Read + 'a>,
    codec: Codec,
    number: u32,
    read: Rc<Cell<u64>>,
    written: u64,
    failed: bool,
    meter: Rc<Meter>,
}

impl<'a> Metered<'a> {
    pub(crate) fn new(codec: Codec, compressed: Counted<'a>, meter: &Rc<Meter>) -> Metered<'a> {
        let kib = u32::try_from(WINDOW >> 10).unwrap_or(u32::MAX);
        let read = compressed.read_so_far();
        let decoder: Box<dyn Read + 'a> = match codec {
            Codec::Gzip => Box::new(MultiGzDecoder::new(compressed)),
            Codec::Deflate => Box::new(DeflateDecoder::new(compressed)),
            // The dictionary and some 2 MiB of tables.
            Codec::Xz => Box::new(XzReader::new_mem_limit(compressed, true, kib + (kib >> 4))),
            Codec::Lzma => match LzmaReader::new_mem_limit(compressed, kib + (kib >> 4), None) {
                Ok(decoder) => Box::new(decoder),
                Err(error) => Box::new(Refused(Some(error))),
            },
            Codec::Zstd => Box::new(Zstd::new(compressed)),
            Codec::Bzip2 => Box::new(Bzip2::new(compressed)),
        };
        let meter = Rc::clone(meter);
        Metered { decoder, codec, number: meter.number(), read, written: 0, failed: false, meter }
    }

    /// The number by which a failure names this decoder.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    fn fail(&mut self, what: &str, is_over: bool) -> io::Error {
        self.failed = true;
        let (name, read, written) = (self.codec.name(), self.read.get(), self.written);
        let reason = format!("{name}: {what} ({read} bytes read, {written} unpacked)");
        self.meter.fail(Failure { decoder: self.number, reason, is_over });
        io::Error::other("a decoder failed")
    }
}

impl Read for Metered<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.failed {
            return Err(io::Error::other("a decoder failed"));
        }
        let read = match self.decoder.read(into) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(self.fail("cut off", false)),
            Err(error) => return Err(self.fail(&error.to_string(), false)),
        };
        self.written += read as u64;
        self.meter.unpacked.set(self.meter.unpacked.get() + read as u64);
        let limits = self.meter.limits;
        if self.meter.unpacked.get() > limits.unpacked_bytes {
            let what = format!("the package unpacks to more than {} (--max-unpacked)", limits.unpacked_bytes);
            return Err(self.fail(&what, true));
        }
        if self.written > HARMLESS && self.written / limits.ratio.max(1) > self.read.get() {
            let what = format!("unpacks to more than {} times its size (--max-ratio)", limits.ratio);
            return Err(self.fail(&what, false));
        }
        Ok(read)
    }
}

/// A stream whose header was refused already.
struct Refused(Option<io::Error>);

impl Read for Refused {
    fn read(&mut self, _into: &mut [u8]) -> io::Result<usize> {
        Err(self.0.take().unwrap_or_else(|| io::Error::other("refused")))
    }
}

/// Frames and skippable frames (RFC 8878, section 3.1), one after another.
struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    fn new(source: R) -> Zstd<R> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW);
        Zstd { source, decoder, in_frame: false }
    }

    /// Begins the next frame; `false` at the end.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    if io::copy(&mut self.source.by_ref().take(length), &mut io::sink())? < length {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame {
                if !self.next_frame()? {
                    return Ok(0);
                }
                self.in_frame = true;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, one).map_err(io::Error::other)?;
            }
            let read = self.decoder.read(into)?;
            if read > 0 {
                return Ok(read);
            }
            self.in_frame = false;
            let (stated, found) =
                (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
            if stated.is_some_and(|stated| found.is_some_and(|found| found != stated)) {
                return Err(io::Error::new(ErrorKind::InvalidData, "the checksum does not match"));
            }
        }
    }
}

/// Streams of bzip2 one after another, as parallel compressors write them. The decoder reads ahead and does one stream, so
/// that each is cut out for it: a stream begins at a byte with ten that no other place has but by a chance of 2⁻⁷⁷.
struct Bzip2<R> {
    parts: Rc<RefCell<Parts<R>>>,
    decoder: DecoderReader<Part<R>>,
}

impl<R: BufRead> Bzip2<R> {
    fn new(source: R) -> Bzip2<R> {
        let parts = Parts { source, buffer: Vec::new(), is_first_byte: true, is_at_end: false };
        let parts = Rc::new(RefCell::new(parts));
        let decoder = DecoderReader::new(Part(Rc::clone(&parts)));
        Bzip2 { parts, decoder }
    }
}

impl<R: BufRead> Read for Bzip2<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            let read = self.decoder.read(into)?;
            if read > 0 || !self.parts.borrow_mut().begin_next()? {
                return Ok(read);
            }
            self.decoder = DecoderReader::new(Part(Rc::clone(&self.parts)));
        }
    }
}

struct Parts<R> {
    source: R,
    buffer: Vec<u8>,
    /// Whether the stream in hand has not begun to be read.
    is_first_byte: bool,
    is_at_end: bool,
}

/// The stream in hand.
struct Part<R>(Rc<RefCell<Parts<R>>>);

impl<R: BufRead> Parts<R> {
    const SIGNATURE: usize = 10;
    const CHUNK: usize = 16 << 10;

    /// Whether a stream begins here: the version, the level, and the magic of a block or of the end.
    fn is_beginning(bytes: &[u8]) -> bool {
        matches!(bytes, [b'B', b'Z', b'h', b'1'..=b'9', block @ ..]
            if matches!(block, [0x31, 0x41, 0x59, 0x26, 0x53, 0x59] | [0x17, 0x72, 0x45, 0x38, 0x50, 0x90]))
    }

    fn fill(&mut self) -> io::Result<()> {
        while !self.is_at_end && self.buffer.len() < 2 * Self::SIGNATURE {
            let more = self.source.fill_buf()?;
            let length = more.len().min(Self::CHUNK);
            self.is_at_end = length == 0;
            self.buffer.extend_from_slice(more.get(..length).unwrap_or_default());
            self.source.consume(length);
        }
        Ok(())
    }

    /// Bytes in the buffer that belong to the stream in hand, as far as so many.
    fn own(&self, most: usize) -> usize {
        let from = usize::from(self.is_first_byte);
        let windows = self.buffer.windows(Self::SIGNATURE).enumerate().take(most).skip(from);
        let next =
            windows.filter(|(_, bytes)| bytes.first() == Some(&b'B')).find(|(_, it)| Self::is_beginning(it));
        match next {
            Some((at, _)) => at,
            None if self.is_at_end => self.buffer.len().min(most),
            // What may be the beginning of a signature waits for its rest.
            None => (self.buffer.len() + 1).saturating_sub(Self::SIGNATURE).min(most),
        }
    }

    /// Goes on to the next stream; `false` if there is none.
    fn begin_next(&mut self) -> io::Result<bool> {
        loop {
            self.fill()?;
            match self.own(Self::CHUNK) {
                0 => break,
                own => drop(self.buffer.drain(..own)),
            }
            self.is_first_byte = false;
        }
        self.is_first_byte = true;
        Ok(!self.buffer.is_empty())
    }
}

impl<R: BufRead> Read for Part<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut parts = self.0.borrow_mut();
        parts.fill()?;
        let length = parts.own(into.len());
        let read = parts.buffer.get(..length).unwrap_or_default().read(into)?;
        parts.buffer.drain(..read);
        if read > 0 {
            parts.is_first_byte = false;
        }
        Ok(read)
    }
}
