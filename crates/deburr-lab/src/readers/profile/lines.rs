//! A stream of bytes → its lines, none of them longer than a limit.
//!
//! In: whatever can be read. Out: one line after the other without its end, and its number. A last line without an end is
//! refused: every program that writes profiles ends its lines, so the file is cut off.

use crate::readers::error::ReadError;
use std::io::{BufRead, Read};

/// The longest line that is read, in bytes. Names of C++ templates reach some ten thousand.
pub(super) const LONGEST_LINE: u64 = 1 << 20;

/// The lines of a stream.
pub(super) struct Lines<'i> {
    input: &'i mut dyn BufRead,
    line: Vec<u8>,
    number: usize,
}

impl<'i> Lines<'i> {
    pub(super) fn new(input: &'i mut dyn BufRead) -> Lines<'i> {
        Lines { input, line: Vec::new(), number: 0 }
    }

    /// The next line and its number, from 1. `None`: there is no further one.
    pub(super) fn next(&mut self) -> Result<Option<(usize, &[u8])>, ReadError> {
        self.line.clear();
        self.number += 1;
        let mut limited = (&mut *self.input).take(LONGEST_LINE + 1);
        limited
            .read_until(b'\n', &mut self.line)
            .map_err(|error| ReadError::line(self.number, format!("cannot be read: {error}")))?;
        if self.line.is_empty() {
            return Ok(None);
        }
        if self.line.pop() != Some(b'\n') {
            let reason = if self.line.len() as u64 >= LONGEST_LINE {
                format!("longer than {} KiB, which no line of a profile is", LONGEST_LINE >> 10)
            } else {
                "the file ends within this line: cut off".to_owned()
            };
            return Err(ReadError::line(self.number, reason));
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        Ok(Some((self.number, &self.line)))
    }

    /// The number of the line that [`Lines::next`] gave last, or would have given.
    pub(super) fn number(&self) -> usize {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<Vec<(usize, Vec<u8>)>, String> {
        let mut input = text;
        let mut lines = Lines::new(&mut input);
        let mut found = Vec::new();
        while let Some((number, line)) = lines.next().map_err(|error| error.to_string())? {
            found.push((number, line.to_vec()));
        }
        Ok(found)
    }

    #[test]
    fn lines_come_with_their_numbers_and_without_their_ends() {
        let all = vec![(1, b"a".to_vec()), (2, Vec::new()), (3, b"b".to_vec())];
        assert_eq!(read(b"a\n\nb\r\n"), Ok(all));
        assert_eq!(read(b""), Ok(Vec::new()));
    }

    #[test]
    fn a_line_that_does_not_end_or_is_too_long_is_refused() {
        assert_eq!(read(b"a\nb"), Err("line 2: the file ends within this line: cut off".to_owned()));
        let longest = LONGEST_LINE as usize;
        let whole = [vec![b'x'; longest], b"\n".to_vec()].concat();
        assert_eq!(read(&whole).map(|lines| lines.len()), Ok(1));
        let long = [b"\n".to_vec(), vec![b'x'; 10 << 20], b"\n".to_vec()].concat();
        assert_eq!(
            read(&long),
            Err("line 2: longer than 1024 KiB, which no line of a profile is".to_owned())
        );
    }
}
