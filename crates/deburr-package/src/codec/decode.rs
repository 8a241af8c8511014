//! Compressed bytes → bytes, as they are read.
//!
//! In: a codec and a counted source. Out: a reader with bounded window and bounded gain, over any number of
//! streams one after another. It stays at its first failure, which the meter keeps.

use super::bzip2::Bzip2;
use super::lz4::Lz4;
use super::meter::{Counted, Failure, Meter};
use super::zstd::Zstd;
use crate::limits::Limits;
use crate::sniff::Codec;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use lzma_rust2::{LzmaReader, XzReader};
use std::cell::Cell;
use std::io::{self, BufRead, ErrorKind, Read};
use std::rc::Rc;

/// Bytes of history that an xz or zstd stream may demand: `xz -9` takes 64 MiB, `zstd --ultra -22` takes 128.
pub(crate) const WINDOW: u64 = 128 << 20;

/// A decoder that counts, keeps the limits, and stays at its first failure.
pub(crate) struct Metered<'a> {
    decoder: Box<dyn Read + 'a>,
    name: &'static str,
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
            Codec::Zlib => Box::new(ZlibDecoder::new(compressed)),
            Codec::Lz4 => Box::new(Lz4::new(compressed)),
        };
        Metered::over(codec.name(), decoder, read, meter)
    }

    /// Meters a decoder that counts what it has read itself.
    pub(crate) fn over(
        name: &'static str,
        decoder: Box<dyn Read + 'a>,
        read: Rc<Cell<u64>>,
        meter: &Rc<Meter>,
    ) -> Metered<'a> {
        let meter = Rc::clone(meter);
        Metered { decoder, name, number: meter.number(), read, written: 0, failed: false, meter }
    }

    /// The number by which a failure names this decoder.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    fn fail(&mut self, what: &str, is_over: bool) -> io::Error {
        self.failed = true;
        let (name, read, written) = (self.name, self.read.get(), self.written);
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
        if let Some(what) = self.meter.count(read as u64) {
            return Err(self.fail(&what, true));
        }
        let limits = self.meter.limits;
        if limits.is_bomb(self.written, self.read.get()) {
            return Err(self.fail(&limits.of_bomb(), false));
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

/// A decoder for whoever has one compressed stream and no package: of the limits, it keeps the unpacked bytes and the ratio. An error
/// says the codec, the reason, and how far it came.
pub fn decoder<'a>(codec: Codec, compressed: impl BufRead + 'a, limits: &Limits) -> impl Read + 'a {
    let meter = Meter::new(limits, &[]);
    let compressed = Counted::new(Box::new(compressed), None, &meter);
    Alone { metered: Metered::new(codec, compressed, &meter), meter, reason: None }
}

/// A decoder whose failure is its own error.
struct Alone<'a> {
    metered: Metered<'a>,
    meter: Rc<Meter>,
    reason: Option<String>,
}

impl Read for Alone<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.metered.read(into).map_err(|error| {
            if error.kind() == ErrorKind::Interrupted {
                return error;
            }
            let reason = self.reason.get_or_insert_with(|| self.meter.reason(&error));
            io::Error::other(reason.clone())
        })
    }
}

/// Bytes as they are, or what a decoder makes of them.
pub(crate) fn decoded<'a>(codec: Option<Codec>, bytes: &'a [u8], meter: &Rc<Meter>) -> Box<dyn Read + 'a> {
    match codec {
        None => Box::new(bytes),
        Some(codec) => Box::new(Metered::new(codec, Counted::new(Box::new(bytes), None, meter), meter)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    fn unpacked(compressed: &[u8], limits: &Limits) -> Result<Vec<u8>, String> {
        let mut unpacked = Vec::new();
        let mut decoder = decoder(Codec::Gzip, compressed, limits);
        let read = decoder.read_to_end(&mut unpacked);
        let again = decoder.read(&mut [0; 16]);
        match read {
            Ok(_) => Ok(unpacked),
            Err(error) => {
                // It stays at its first failure, and says the same of it.
                assert_eq!(again.expect_err("no failure").to_string(), error.to_string());
                Err(error.to_string())
            }
        }
    }

    #[test]
    fn a_lone_stream_is_unpacked_or_says_why_not() {
        let text = b"not much, but more than one block of anything".repeat(3000);
        let compressed = gzip(&text);
        assert_eq!(unpacked(&compressed, &Limits::default()), Ok(text.clone()));
        for end in [1, 10, compressed.len() / 2, compressed.len() - 1] {
            let why = unpacked(&compressed[..end], &Limits::default()).expect_err("cut off");
            assert!(why.starts_with("gzip: cut off ("), "{why}");
        }
        let mut changed = compressed.clone();
        let at = changed.len() - 6;
        changed[at] ^= 1;
        assert!(unpacked(&changed, &Limits::default()).is_err());
        let few = Limits { unpacked_bytes: 1000, ..Limits::default() };
        assert!(unpacked(&compressed, &few).expect_err("too much").contains("more than 1000"));
    }
}
