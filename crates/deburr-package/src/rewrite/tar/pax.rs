//! A tar header's fields and extensions, to be read and to be changed in place.
//!
//! POSIX pax, "ustar Interchange Format" and "pax Extended Header"; GNU's base-256 numbers. Numbers keep the
//! width of their fields.

use crate::sniff::BLOCK;
use std::ops::Range;

const SIZE: Range<usize> = 124..136;
const CHECKSUM: Range<usize> = 148..156;

/// A block that is a header, by its checksum.
pub(crate) struct Header<'a>(&'a [u8]);

impl<'a> Header<'a> {
    /// `None` if it is none.
    pub(crate) fn parse(block: &'a [u8]) -> Option<Header<'a>> {
        let stated = number(block.get(CHECKSUM)?)?;
        (block.len() == BLOCK && stated == checksum(block)).then_some(Header(block))
    }

    pub(crate) fn kind(&self) -> u8 {
        self.0.get(156).copied().unwrap_or_default()
    }

    pub(crate) fn size(&self) -> Option<u64> {
        number(self.0.get(SIZE)?)
    }

    /// The name, with what `ustar` puts before it.
    pub(crate) fn name(&self) -> Vec<u8> {
        let name = text(self.0.get(..100));
        let is_ustar = self.0.get(257..263) == Some(b"ustar\0");
        match text(self.0.get(345..500)) {
            prefix if is_ustar && !prefix.is_empty() => [prefix, b"/", name].concat(),
            _ => name.to_vec(),
        }
    }

    pub(crate) fn link(&self) -> Vec<u8> {
        text(self.0.get(157..257)).to_vec()
    }

    /// Whether blocks of a sparse file's map follow (GNU).
    pub(crate) fn is_extended(&self) -> bool {
        self.0.get(482).is_some_and(|flag| *flag != 0)
    }
}

fn text(field: Option<&[u8]>) -> &[u8] {
    field.and_then(|field| field.split(|byte| *byte == 0).next()).unwrap_or_default()
}

/// States another size in a header; `false` if its fields are too narrow.
pub(crate) fn set_size(block: &mut [u8], size: u64) -> bool {
    let is_set = block.get_mut(SIZE).is_some_and(|field| set_number(field, size));
    is_set && restate_checksum(block)
}

/// States the checksum of a header that was changed.
pub(crate) fn restate_checksum(block: &mut [u8]) -> bool {
    let sum = checksum(block);
    block.get_mut(CHECKSUM).is_some_and(|field| set_number(field, sum))
}

/// The sum of a header's bytes, its checksum taken as spaces.
fn checksum(block: &[u8]) -> u64 {
    let outside = block.iter().enumerate().filter(|(at, _)| !CHECKSUM.contains(at));
    outside.map(|(_, byte)| u64::from(*byte)).sum::<u64>() + 8 * u64::from(b' ')
}

/// A number: octal digits between spaces and NULs, or base 256 after a set bit. An empty field is 0.
fn number(field: &[u8]) -> Option<u64> {
    if let [0x80, rest @ ..] = field {
        let (high, low) = rest.split_at_checked(rest.len().checked_sub(8)?)?;
        return high.iter().all(|byte| *byte == 0).then_some(u64::from_be_bytes(low.try_into().ok()?));
    }
    let digits = field.get(digits(field))?;
    let after = field.get(digits_end(field)..)?;
    let ends = after.first().is_none_or(|byte| matches!(byte, 0 | b' '));
    ends.then(|| digits.iter().fold(0, |sum: u64, digit| sum * 8 + u64::from(digit - b'0')))
}

fn digits(field: &[u8]) -> Range<usize> {
    let start = field.iter().position(|byte| *byte != b' ').unwrap_or(field.len());
    start..digits_end(field)
}

fn digits_end(field: &[u8]) -> usize {
    let start = field.iter().position(|byte| *byte != b' ').unwrap_or(field.len());
    let rest = field.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|byte| matches!(byte, b'0'..=b'7')).count()
}

/// Writes a number over another, keeping what ends it.
fn set_number(field: &mut [u8], value: u64) -> bool {
    if let [0x80, rest @ ..] = field {
        let Some(at) = rest.len().checked_sub(8) else { return false };
        rest.get_mut(at..).is_some_and(|low| {
            low.copy_from_slice(&value.to_be_bytes());
            true
        })
    } else {
        let end = digits_end(field);
        let Some(digits) = field.get_mut(..end) else { return false };
        let mut left = value;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (left & 7) as u8;
            left >>= 3;
        }
        left == 0 && end > 0
    }
}

/// The records of a pax header, `LENGTH KEY=VALUE\n` each; `None` if one is none. Values may hold any bytes.
pub(crate) fn records(mut body: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut records = Vec::new();
    while !body.is_empty() {
        let space = body.iter().take(20).position(|byte| *byte == b' ')?;
        let length: usize = std::str::from_utf8(body.get(..space)?).ok()?.parse().ok()?;
        let (record, rest) = body.split_at_checked(length)?;
        let record = record.get(space + 1..)?.strip_suffix(b"\n")?;
        let equals = record.iter().position(|byte| *byte == b'=')?;
        records.push((record.get(..equals)?, record.get(equals + 1..)?));
        body = rest;
    }
    Some(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_width_and_their_end() {
        for (before, value, after) in [
            ("00000000017\0", 0o20, "00000000020\0"),
            ("00000000017 ", 0o777, "00000000777 "),
            ("         17\0", 8, "00000000010\0"),
            ("000000000017", 8, "000000000010"),
            ("017\0 ", 0o20, "020\0 "),
        ] {
            let mut field = before.as_bytes().to_vec();
            assert!(number(&field).is_some() && set_number(&mut field, value));
            assert_eq!(String::from_utf8(field.clone()).unwrap(), after);
            assert_eq!(number(&field), Some(value));
        }
        let mut wide = [0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5];
        assert!(set_number(&mut wide, 1 << 40));
        assert_eq!(number(&wide), Some(1 << 40));
        assert!(!set_number(&mut b"7\0".to_vec(), 8));
        assert_eq!(number(b"12x"), None);
        assert_eq!(number(&[0xff; 12]), None);
        assert_eq!(number(b"      "), Some(0));
    }

    #[test]
    fn header_with_another_size_is_one_again() {
        let mut header = ::tar::Header::new_gnu();
        header.set_path("a").unwrap();
        header.set_size(5);
        header.set_cksum();
        let mut block = header.as_bytes().to_vec();
        assert!(set_size(&mut block, 70_000));
        let wanted = {
            header.set_size(70_000);
            header.set_cksum();
            header.as_bytes().to_vec()
        };
        assert_eq!(block, wanted);
        assert_eq!(Header::parse(&block).and_then(|header| header.size()), Some(70_000));
        block[0] ^= 1;
        assert!(Header::parse(&block).is_none());
    }

    #[test]
    fn records_may_hold_line_ends() {
        let body = b"15 path=a\nb=c\n\n11 size=12\n";
        assert_eq!(records(body).unwrap(), [(&b"path"[..], &b"a\nb=c\n"[..]), (b"size", b"12")]);
        for bad in [&b"15 path=a\n"[..], b"x path=a\n", b"9 path=a ", b"0 a=b\n", b"2 a=b\n"] {
            assert_eq!(records(bad), None);
        }
    }
}
