//! The wire format of protocol buffers → fields (protobuf.dev, "Encoding"). Five messages need no generated code.

use crate::bytes::Cursor;
use crate::error::Error;
use std::io::{BufRead, BufReader, Read};

/// The most bytes of one field.
const LONGEST: u64 = 16 << 20;

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl Value<'_> {
    /// A number; a message in its place is none.
    pub(super) fn number(self) -> u64 {
        match self {
            Value::Number(number) => number,
            Value::Bytes(_) => 0,
        }
    }

    /// The numbers of a repeated field, packed or not, each handed to `each`.
    pub(super) fn numbers(self, offset: u64, mut each: impl FnMut(u64)) -> Result<(), Error> {
        match self {
            Value::Number(number) => each(number),
            Value::Bytes(bytes) => {
                let mut message = Message::new(bytes, offset);
                while message.cursor.left() > 0 {
                    each(message.varint()?);
                }
            }
        }
        Ok(())
    }
}

/// The fields of a message that is in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Message<'a> {
    pub(super) fn new(bytes: &'a [u8], offset: u64) -> Message<'a> {
        Message { cursor: Cursor::new(bytes, offset) }
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let cursor = &mut self.cursor;
        let at = *cursor;
        varint(|| Ok(cursor.take(1)?.first().copied().unwrap_or(0)))?
            .ok_or_else(|| at.fault("a number of at most ten bytes"))
    }

    /// The next field: its number and value.
    pub(super) fn field(&mut self) -> Result<Option<(u64, Value<'a>)>, Error> {
        if self.cursor.left() == 0 {
            return Ok(None);
        }
        let tag = self.varint()?;
        let field = number(tag).ok_or_else(|| self.cursor.fault("a field with a number, found 0"))?;
        let value = match tag & 7 {
            0 => Value::Number(self.varint()?),
            1 => Value::Number(self.cursor.u64()?),
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.cursor.take(usize::try_from(length).unwrap_or(usize::MAX))?)
            }
            5 => Value::Number(u64::from(self.cursor.u32()?)),
            kind => return Err(self.cursor.fault(format!("a wire type of protocol buffers, found {kind}"))),
        };
        Ok(Some((field, value)))
    }
}

/// The fields of a message that is read from a stream.
pub(super) struct Fields<R> {
    input: BufReader<R>,
    offset: u64,
    bytes: Vec<u8>,
}

impl<R: Read> Fields<R> {
    pub(super) fn new(input: R) -> Fields<R> {
        Fields { input: BufReader::with_capacity(1 << 16, input), offset: 0, bytes: Vec::new() }
    }

    fn read(&mut self, count: u64) -> Result<(), Error> {
        let offset = self.offset;
        if count > LONGEST {
            return Err(Error::new(
                offset,
                format!("a field of at most {} MiB, found {count} bytes", LONGEST >> 20),
            ));
        }
        self.bytes.clear();
        let read = (&mut self.input).take(count).read_to_end(&mut self.bytes);
        let read = read.map_err(|error| Error::new(offset, format!("readable bytes: {error}")))? as u64;
        self.offset += read;
        if read < count {
            return Err(Error::new(offset, format!("{count} bytes, found {read}: the profile is cut off")));
        }
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, Error> {
        let offset = self.offset;
        let byte = unread(&mut self.input, offset)?.first().copied();
        let byte = byte.ok_or_else(|| Error::new(offset, "1 bytes, found 0: the profile is cut off"))?;
        self.input.consume(1);
        self.offset += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let offset = self.offset;
        varint(|| self.byte())?.ok_or_else(|| Error::new(offset, "a number of at most ten bytes"))
    }

    /// The next field: its number, its value and the value's offset.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Value<'_>, u64)>, Error> {
        let offset = self.offset;
        if unread(&mut self.input, offset)?.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let field = number(tag).ok_or_else(|| Error::new(offset, "a field with a number, found 0"))?;
        let length = match tag & 7 {
            0 => {
                let number = self.varint()?;
                return Ok(Some((field, Value::Number(number), offset)));
            }
            1 => 8,
            2 => self.varint()?,
            5 => 4,
            kind => return Err(Error::new(offset, format!("a wire type of protocol buffers, found {kind}"))),
        };
        let at = self.offset;
        self.read(length)?;
        // Nothing that is read here is of a fixed width.
        Ok(Some((field, Value::Bytes(&self.bytes), at)))
    }
}

/// The number of a field; none is 0.
fn number(tag: u64) -> Option<u64> {
    Some(tag >> 3).filter(|number| *number > 0)
}

/// What is read ahead of a stream; nothing at its end.
fn unread(input: &mut impl BufRead, offset: u64) -> Result<&[u8], Error> {
    input.fill_buf().map_err(|error| Error::new(offset, format!("readable bytes: {error}")))
}

/// A number in groups of seven bits, the lowest first. `None`: it does not end.
fn varint(mut next: impl FnMut() -> Result<u8, Error>) -> Result<Option<u64>, Error> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = next()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_without_a_number_is_no_field() {
        let zeros = [0u8; 4];
        assert!(Message::new(&zeros, 0).field().is_err());
        assert!(Fields::new(&zeros[..]).next().is_err());
    }

    #[test]
    fn fields_are_read_from_memory_and_from_a_stream() {
        // 1: 300; 2: "ab"; 3: packed 1, 128; 4: fixed32.
        let bytes = [8, 0xac, 2, 0x12, 2, b'a', b'b', 0x1a, 3, 1, 0x80, 1, 0x25, 1, 0, 0, 0];
        let mut message = Message::new(&bytes, 0);
        assert_eq!(message.field(), Ok(Some((1, Value::Number(300)))));
        assert_eq!(message.field(), Ok(Some((2, Value::Bytes(b"ab")))));
        let (_, packed) = message.field().unwrap().unwrap();
        let mut numbers = Vec::new();
        packed.numbers(0, |number| numbers.push(number)).unwrap();
        assert_eq!(numbers, [1, 128]);
        assert_eq!((message.field(), message.field()), (Ok(Some((4, Value::Number(1)))), Ok(None)));
        let mut fields = Fields::new(&bytes[..]);
        assert_eq!(fields.next(), Ok(Some((1, Value::Number(300), 0))));
        assert_eq!(fields.next(), Ok(Some((2, Value::Bytes(b"ab"), 5))));
        assert_eq!(fields.next().unwrap().unwrap().2, 9);
    }

    #[test]
    fn endless_numbers_and_huge_lengths_are_refused() {
        assert!(Message::new(&[0xff; 20], 0).field().is_err());
        assert!(Fields::new(&[0xff; 20][..]).next().is_err());
        let error = Fields::new(&[0x12, 0xff, 0xff, 0xff, 0xff, 0x0f][..]).next().unwrap_err();
        assert_eq!(
            error.to_string(),
            "at offset 0x6: expected a field of at most 16 MiB, found 4294967295 bytes"
        );
        assert!(Message::new(&[0x12, 5, 1], 0).field().is_err());
    }
}
