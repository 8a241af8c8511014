//! Compressed bytes → bytes, as they are read.
//!
//! In: a codec and a counted source. Out: a reader with bounded window and bounded gain, over any number of
//! streams one after another. It stays at its first failure, which the meter keeps.

use super::bzip2::Bzip2;
use super::meter::{Counted, Failure, Meter};
use super::zstd::Zstd;
use crate::sniff::Codec;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder};
use lzma_rust2::{LzmaReader, XzReader};
use std::cell::Cell;
use std::io::{self, ErrorKind, Read};
use std::rc::Rc;

/// Bytes of history that an xz or zstd stream may demand: `xz -9` takes 64 MiB, `zstd --ultra -22` takes 128.
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
            Codec::Zstd => Box::new(Zstd::new(compressed, WINDOW)),
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

/// Bytes as they are, or what a decoder makes of them.
pub(crate) fn decoded<'a>(codec: Option<Codec>, bytes: &'a [u8], meter: &Rc<Meter>) -> Box<dyn Read + 'a> {
    match codec {
        None => Box::new(bytes),
        Some(codec) => Box::new(Metered::new(codec, Counted::new(Box::new(bytes), None, meter), meter)),
    }
}
