//! A stream of text → its lines, none of them longer than a limit.
//!
//! A last line without an end is refused: every program that writes profiles as text ends its lines, so the file is cut off.

use crate::error::Error;
use std::io::{BufRead, BufReader, Read};

/// The longest line that is read, in bytes.
pub(crate) const LONGEST: u64 = 1 << 20;
/// Bytes that are read at once.
const CHUNK: usize = 1 << 16;

/// The lines of a stream.
pub(crate) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    offset: u64,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(input: R) -> Lines<R> {
        Lines { input: BufReader::with_capacity(CHUNK, input), line: Vec::new(), offset: 0 }
    }

    /// The next line without its end, and its offset. `None`: there is no further one.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &[u8])>, Error> {
        let offset = self.offset;
        self.line.clear();
        let read = (&mut self.input).take(LONGEST + 1).read_until(b'\n', &mut self.line);
        self.offset += read.map_err(|error| Error::new(offset, format!("readable bytes: {error}")))? as u64;
        if self.line.is_empty() {
            return Ok(None);
        }
        if self.line.pop() != Some(b'\n') {
            let expected = if self.line.len() as u64 >= LONGEST {
                format!("a line of at most {} KiB", LONGEST >> 10)
            } else {
                "the rest of a line: the file is cut off".to_owned()
            };
            return Err(Error::new(offset, expected));
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        Ok(Some((offset, &self.line)))
    }

    /// The offset of the line after the last one.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }
}

/// The beginning of a text, for messages.
pub(crate) fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}
