//! Bytes of one record → its fields, little-endian, never past the record's end.

use crate::error::Error;

/// The most bytes that are kept of a name. Names of C++ templates reach some ten thousand.
const LONGEST_NAME: usize = 1 << 16;

/// A record that is read from its beginning to its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    /// Where the record begins in the file.
    offset: u64,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], offset: u64) -> Cursor<'a> {
        Cursor { rest: bytes, offset }
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// An error in this record.
    pub(crate) fn fault(&self, expected: impl Into<String>) -> Error {
        Error::new(self.offset, expected)
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        match self.rest.split_at_checked(count) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(self.fault(format!("{count} more bytes in this record, which has {}", self.left()))),
        }
    }

    pub(crate) fn skip(&mut self, count: u64) -> Result<(), Error> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        self.take(count).map(drop)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        match self.rest.split_first_chunk::<N>() {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(*taken)
            }
            None => Err(self.fault(format!("{N} more bytes in this record, which has {}", self.left()))),
        }
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_le_bytes)
    }

    /// A string up to its NUL, or to the end of the record.
    pub(crate) fn string(&mut self) -> String {
        let end = self.rest.iter().position(|byte| *byte == 0).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, &[]));
        self.rest = rest.get(1..).unwrap_or_default();
        name(text)
    }

    /// A string after its length, which counts padding of NULs: `perf_header_string`.
    pub(crate) fn counted_string(&mut self) -> Result<String, Error> {
        let length = self.u32()?;
        let text = self.take(usize::try_from(length).unwrap_or(usize::MAX))?;
        Ok(Cursor::new(text, self.offset).string())
    }
}

/// A name of others as text: what is no UTF-8 is replaced, and what is too long is cut.
pub(crate) fn name(bytes: &[u8]) -> String {
    match bytes.get(..LONGEST_NAME) {
        Some(beginning) if bytes.len() > LONGEST_NAME => deburr_text::shown(beginning).into_owned() + "…",
        _ => deburr_text::shown(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_read_past_the_end() {
        let mut cursor = Cursor::new(&[1, 0, 0, 0, b'a', 0, 2], 0x40);
        assert_eq!((cursor.u32(), cursor.string(), cursor.left()), (Ok(1), "a".to_owned(), 1));
        let error = cursor.u16().unwrap_err();
        assert_eq!(error.to_string(), "at offset 0x40: expected 2 more bytes in this record, which has 1");
        assert_eq!(
            (cursor.skip(u64::MAX).is_err(), cursor.string(), cursor.string()),
            (true, r"\x02".into(), "".into())
        );
    }

    #[test]
    fn long_and_foreign_names_are_bounded() {
        assert_eq!(name(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(name(&vec![b'x'; LONGEST_NAME]).len(), LONGEST_NAME);
        let long = name(&vec![b'x'; LONGEST_NAME + 1]);
        assert!(long.ends_with("x…") && long.len() < LONGEST_NAME + 4);
    }
}
