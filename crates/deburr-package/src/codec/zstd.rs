//! zstd (RFC 8878): any number of frames and skippable frames, one after another.
//!
//! Their checksums are compared, and their windows bounded. The decoder of `ruzstd` does single frames.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, ErrorKind, Read};

/// Frames and skippable frames (RFC 8878, section 3.1), one after another.
pub(super) struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    pub(super) fn new(source: R, window: u64) -> Zstd<R> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(window);
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
