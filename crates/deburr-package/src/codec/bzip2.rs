//! bzip2: any number of streams one after another, as parallel compressors write them.
//!
//! Each is cut out by its signature for `bzip2-rs`, which reads ahead and decodes one stream.

use bzip2_rs::DecoderReader;
use std::cell::RefCell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

/// Streams of bzip2 one after another, as parallel compressors write them. The decoder reads ahead and does
/// one stream, so that each is cut out for it: a stream begins at a byte with ten that no other place has
/// except by a chance of 2⁻⁷⁷.
pub(super) struct Bzip2<R> {
    parts: Rc<RefCell<Parts<R>>>,
    decoder: DecoderReader<Part<R>>,
}

impl<R: BufRead> Bzip2<R> {
    pub(super) fn new(source: R) -> Bzip2<R> {
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
