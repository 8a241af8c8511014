//! Bytes → a compressed stream like the one that they replace.
//!
//! In: a source and how to compress: the header's times and names, or the kind of checksum, follow the old
//! stream. Out: the stream. It is decoded again before it is given away: a wrong package is worse than none.

use super::decode::decoded;
use super::meter::Meter;
use crate::limits::Limits;
use crate::sniff::Codec;
use flate2::bufread::GzDecoder;
use flate2::write::DeflateEncoder;
use flate2::{Compression, GzBuilder};
use lzma_rust2::{CheckType, XzOptions, XzWriter};
use ruzstd::encoding::{CompressionLevel, FrameCompressor};
use std::cell::{Cell, RefCell};
use std::io::{self, Read, Write};
use std::rc::Rc;

/// What `xz` and dpkg take: a dictionary of 8 MiB.
const PRESET: u32 = 6;

/// A package is made once and fetched often.
const LEVEL: Compression = Compression::best();

/// How to compress.
pub(crate) enum Coding {
    Plain,
    /// RFC 1951.
    Deflate,
    /// RFC 1952, with the times and names of another stream's header.
    Gzip(GzBuilder),
    Xz(CheckType),
    /// RFC 8878, raw blocks only. What compresses in the crate panics at some inputs.
    ZstdRaw,
}

impl Coding {
    /// As another stream was compressed, as far as it shows; `None` where that is not written.
    pub(crate) fn like(codec: Option<Codec>, other: &[u8]) -> Option<Coding> {
        match codec {
            None => Some(Coding::Plain),
            Some(Codec::Gzip) => {
                let mut builder = GzBuilder::new();
                if let Some(header) = GzDecoder::new(other).header() {
                    builder = builder.mtime(header.mtime()).operating_system(header.operating_system());
                    builder = header.filename().into_iter().fold(builder, GzBuilder::filename);
                    builder = header.comment().into_iter().fold(builder, GzBuilder::comment);
                    builder = header.extra().into_iter().fold(builder, GzBuilder::extra);
                }
                Some(Coding::Gzip(builder))
            }
            Some(Codec::Xz) => Some(Coding::Xz(match other.get(7).map(|flags| flags & 0xf) {
                // The stream flags (section 2.1.1.2).
                Some(1) => CheckType::Crc32,
                Some(10) => CheckType::Sha256,
                _ => CheckType::Crc64,
            })),
            Some(Codec::Zstd | Codec::Bzip2 | Codec::Lzma | Codec::Deflate | Codec::Zlib | Codec::Lz4) => {
                None
            }
        }
    }

    fn codec(&self) -> Option<Codec> {
        match self {
            Coding::Plain => None,
            Coding::Deflate => Some(Codec::Deflate),
            Coding::Gzip(_) => Some(Codec::Gzip),
            Coding::Xz(_) => Some(Codec::Xz),
            Coding::ZstdRaw => Some(Codec::Zstd),
        }
    }
}

/// Compresses all of a source, in at most so many bytes.
///
/// # Errors
/// The source's, the encoder's, and where the result is not decoded again.
pub(crate) fn encoded(coding: Coding, source: &mut dyn Read, most: u64) -> io::Result<Vec<u8>> {
    let codec = coding.codec();
    let mut source = Tally { inner: source, read: 0 };
    let drain = Bounded { bytes: Vec::new(), most };
    let made = match coding {
        Coding::Plain => {
            let mut drain = drain;
            io::copy(&mut source, &mut drain)?;
            drain
        }
        Coding::Deflate => {
            let mut encoder = DeflateEncoder::new(drain, LEVEL);
            io::copy(&mut source, &mut encoder)?;
            encoder.finish()?
        }
        Coding::Gzip(builder) => {
            let mut encoder = builder.write(drain, LEVEL);
            io::copy(&mut source, &mut encoder)?;
            encoder.finish()?
        }
        Coding::Xz(check) => {
            let mut options = XzOptions::with_preset(PRESET);
            options.set_check_sum_type(check);
            let mut encoder = XzWriter::new(drain, options)?;
            io::copy(&mut source, &mut encoder)?;
            encoder.finish()?
        }
        Coding::ZstdRaw => zstd(&mut source, drain)?,
    };
    let read = source.read;
    if codec.is_some() && unpacked(codec, &made.bytes).ok() != Some(read) {
        return Err(io::Error::other("what was compressed is not decoded again: a fault of the encoder's"));
    }
    Ok(made.bytes)
}

/// How many bytes a stream gives; its own checksum is compared.
fn unpacked(codec: Option<Codec>, bytes: &[u8]) -> io::Result<u64> {
    let limits = Limits { unpacked_bytes: u64::MAX, ratio: u64::MAX, ..Limits::default() };
    io::copy(&mut decoded(codec, bytes, &Meter::new(&limits, bytes)), &mut io::sink())
}

/// One frame. The encoder panics at errors, which therefore go around it.
fn zstd(source: &mut dyn Read, drain: Bounded) -> io::Result<Bounded> {
    let failure = Rc::new(Failure::default());
    let mut encoder = FrameCompressor::new(CompressionLevel::Uncompressed);
    encoder.set_source(Around { inner: source, failure: Rc::clone(&failure) });
    encoder.set_drain(Around { inner: drain, failure: Rc::clone(&failure) });
    encoder.compress();
    let drain = encoder.take_drain();
    match (failure.error.take(), drain) {
        (None, Some(drain)) => Ok(drain.inner),
        (error, _) => Err(error.unwrap_or_else(|| io::Error::other("zstd: the encoder gives nothing"))),
    }
}

/// The first error of a source or a drain.
#[derive(Default)]
struct Failure {
    error: RefCell<Option<io::Error>>,
    is_over: Cell<bool>,
}

impl Failure {
    fn note(&self, error: io::Error) {
        self.is_over.set(true);
        self.error.borrow_mut().get_or_insert(error);
    }
}

/// A reader or writer whose failure is recorded, and then appears as the end.
struct Around<T> {
    inner: T,
    failure: Rc<Failure>,
}

impl<T: Read> Read for Around<T> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.failure.is_over.get() {
            return Ok(0);
        }
        loop {
            match self.inner.read(into) {
                Ok(read) => return Ok(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failure.note(error);
                    return Ok(0);
                }
            }
        }
    }
}

impl<T: Write> Write for Around<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(error) = self.inner.write_all(bytes) {
            self.failure.note(error);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Tally<'a> {
    inner: &'a mut dyn Read,
    read: u64,
}

impl Read for Tally<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.read += read as u64;
        Ok(read)
    }
}

/// A vector that grows so far.
struct Bounded {
    bytes: Vec<u8>,
    most: u64,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if (self.bytes.len() as u64).saturating_add(bytes.len() as u64) > self.most {
            let what = format!("the new package would have more than {} bytes (--max-member)", self.most);
            return Err(io::Error::other(what));
        }
        self.bytes.try_reserve(bytes.len()).map_err(io::Error::other)?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text, noise and zeros, in one block and in several.
    fn samples() -> Vec<Vec<u8>> {
        let mut state = 1_u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let noise: Vec<u8> = (0..300_000).map(|_| noise()).collect();
        let text: Vec<u8> = (0..60_000).flat_map(|n: u32| format!("{} ", n * n % 977).into_bytes()).collect();
        let far = [&noise[..], &vec![0; 3 << 20], &noise[..], &text].concat();
        let few = noise.iter().map(|byte| byte & 3).collect();
        vec![Vec::new(), vec![7], vec![0; 5 << 20], b"abcdefgh".repeat(40_000), text, noise, far, few]
    }

    fn codings() -> [Coding; 5] {
        let gzip = Coding::Gzip(GzBuilder::new());
        [Coding::Plain, Coding::Deflate, gzip, Coding::Xz(CheckType::Crc32), Coding::ZstdRaw]
    }

    #[test]
    fn what_is_compressed_is_decoded_again() {
        for sample in samples() {
            for coding in codings() {
                let codec = coding.codec();
                let made = encoded(coding, &mut sample.as_slice(), u64::MAX).unwrap();
                let meter = Meter::new(&Limits { ratio: u64::MAX, ..Limits::default() }, &[]);
                let mut back = Vec::new();
                decoded(codec, &made, &meter).read_to_end(&mut back).unwrap();
                assert!(back == sample, "{codec:?} of {} bytes", sample.len());
            }
        }
    }

    #[test]
    fn error_of_a_source_goes_through_every_encoder() {
        struct Broken(u32);
        impl Read for Broken {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                into.fill(self.0 as u8);
                if self.0 > 99 { Err(io::Error::other("torn")) } else { Ok(into.len()) }
            }
        }
        for coding in codings() {
            assert_eq!(encoded(coding, &mut Broken(0), u64::MAX).unwrap_err().to_string(), "torn");
        }
        for coding in codings() {
            let noise = &samples()[5];
            let error = encoded(coding, &mut noise.as_slice(), 1000).unwrap_err().to_string();
            assert!(error.contains("more than 1000 bytes"), "{error}");
        }
    }
}
