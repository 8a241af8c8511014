//! A stream, of which some bytes are looked at before they are read: what follows the end of an archive.

use crate::sniff::BLOCK;
use std::io::{self, Read};

pub(super) struct Ahead<'b> {
    front: Vec<u8>,
    used: usize,
    inner: &'b mut dyn Read,
    /// Bytes that were taken out of the stream.
    taken: u64,
}

impl<'b> Ahead<'b> {
    pub(super) fn new(inner: &'b mut dyn Read) -> Ahead<'b> {
        Ahead { front: Vec::new(), used: 0, inner, taken: 0 }
    }

    /// Where the next byte is in the stream.
    pub(super) fn position(&self) -> u64 {
        self.taken - self.front.len().saturating_sub(self.used) as u64
    }

    /// Skips zeros, and looks at the block after them; empty at the end.
    pub(super) fn after_zeros(&mut self) -> io::Result<&[u8]> {
        loop {
            self.front.drain(..self.used.min(self.front.len()));
            self.used = 0;
            let wanted = BLOCK.saturating_sub(self.front.len()) as u64;
            self.taken += self.inner.take(wanted).read_to_end(&mut self.front)? as u64;
            self.used = self.front.iter().take_while(|byte| **byte == 0).count();
            if self.used == 0 || self.front.is_empty() {
                return Ok(&self.front);
            }
        }
    }
}

impl Read for Ahead<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.front.get(self.used..).filter(|front| !front.is_empty()) {
            Some(mut front) => {
                let read = front.read(into)?;
                self.used += read;
                Ok(read)
            }
            None => {
                let read = self.inner.read(into)?;
                self.taken += read as u64;
                Ok(read)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_skipped_and_nothing_else() {
        let bytes = [&[7; 3][..], &[0; 700], &[8; 600], &[0; 9]].concat();
        let mut stream = bytes.as_slice();
        let mut ahead = Ahead::new(&mut stream);
        ahead.read_exact(&mut [0; 3]).unwrap();
        assert_eq!(ahead.after_zeros().unwrap(), &[8; BLOCK]);
        assert_eq!(ahead.position(), 703);
        let mut read = [0; 600];
        ahead.read_exact(&mut read).unwrap();
        assert_eq!((read, ahead.position()), ([8; 600], 1303));
        assert_eq!(ahead.after_zeros().unwrap(), &[0_u8; 0]);
    }
}
