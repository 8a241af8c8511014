//! LZ4 frames, also those of `lz4 -l` that the Linux kernel reads, any number of them one after another.
//!
//! The decoder of `lz4_flex` ends each frame with an empty read; blocks have at most 8 MiB. Skippable frames are skipped here.

use lz4_flex::frame::FrameDecoder;
use std::io::{self, BufRead, Read};

pub(super) struct Lz4<R: Read> {
    decoder: FrameDecoder<R>,
}

impl<R: BufRead> Lz4<R> {
    pub(super) fn new(source: R) -> Lz4<R> {
        Lz4 { decoder: FrameDecoder::new(source) }
    }
}

impl<R: BufRead> Read for Lz4<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            let read = self.decoder.read(into)?;
            if read > 0 {
                return Ok(read);
            }
            let source = self.decoder.get_mut();
            let is_at_end = source.fill_buf()?.is_empty();
            if is_at_end {
                return Ok(0);
            }
            // Images of disks are padded; a kernel stops at the first zero.
            if source.fill_buf()?.first() == Some(&0) {
                io::copy(source, &mut io::sink())?;
                return Ok(0);
            }
        }
    }
}
