//! Numbers in the records of a zip file: little-endian, and where 4 bytes do not hold one, in a zip64 field.
//!
//! APPNOTE.TXT, section 4.5.3. A field remembers where it is, so that a copy of its record gets another value
//! of the same width.

use std::ops::Range;

/// A number in a record: where it is, and whether it has 8 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    pub(super) at: usize,
    pub(super) is_wide: bool,
    pub(crate) value: u64,
}

impl Field {
    /// Writes another value in its place in a copy of the record; `None` if it does not fit.
    pub(super) fn set(self, record: &mut [u8], value: u64) -> Option<()> {
        if self.is_wide {
            put(record, self.at, &value.to_le_bytes())
        } else {
            // The largest value says that the number is elsewhere.
            put(record, self.at, &u32::try_from(value).ok().filter(|value| *value != u32::MAX)?.to_le_bytes())
        }
    }
}

/// The zip64 field among extra fields (section 4.5.3), or nothing.
pub(super) fn zip64(record: &[u8], extra: Range<usize>) -> Range<usize> {
    let mut at = extra.start;
    while at + 4 <= extra.end
        && let (Some(id), Some(length)) = (u16_at(record, at), u16_at(record, at + 2))
    {
        let field = at + 4..at + 4 + usize::from(length);
        if id == 1 && field.end <= extra.end {
            return field;
        }
        at = field.end;
    }
    0..0
}

/// A number of 4 bytes, or the one that the zip64 field has for it, taken from that field's front.
pub(super) fn field(record: &[u8], at: usize, wide: &mut Range<usize>) -> Option<Field> {
    let value = u32_at(record, at)?;
    if value != u32::MAX {
        return Some(Field { at, is_wide: false, value: u64::from(value) });
    }
    let at = wide.start;
    wide.start += 8;
    (wide.start <= wide.end).then_some(Field { at, is_wide: true, value: u64_at(record, at)? })
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn put(record: &mut [u8], at: usize, value: &[u8]) -> Option<()> {
    record.get_mut(at..)?.get_mut(..value.len())?.copy_from_slice(value);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_is_written_where_it_stands_or_not_at_all() {
        let mut record = [1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 9, 0, 0, 0, 0, 0, 0, 0];
        let mut wide = 8..16;
        let narrow = field(&record, 0, &mut wide).unwrap();
        let far = field(&record, 4, &mut wide).unwrap();
        assert_eq!((narrow.value, far.value, wide), (1, 9, 16..16));
        assert!(field(&record, 4, &mut (16..16)).is_none());
        assert!(narrow.set(&mut record, u64::from(u32::MAX)).is_none());
        assert!(narrow.set(&mut record, 1 << 40).is_none());
        assert!(narrow.set(&mut record, u64::from(u32::MAX) - 1).is_some());
        assert!(far.set(&mut record, 1 << 40).is_some());
        assert_eq!(record, [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1, 0, 0]);
    }
}
