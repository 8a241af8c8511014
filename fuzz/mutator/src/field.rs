//! Fields of a file: little-endian numbers at offsets, and values that often matter.
//!
//! Reads outside the file give 0, and writes outside it do nothing.

use crate::random::Sequence;

/// The number in `width` bytes, at most 8.
pub(crate) fn read(bytes: &[u8], at: usize, width: usize) -> u64 {
    let field = at.checked_add(width).and_then(|end| bytes.get(at..end)).unwrap_or_default();
    field.iter().take(8).rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

/// As [`read`], as a length or an offset.
pub(crate) fn read_size(bytes: &[u8], at: usize, width: usize) -> usize {
    usize::try_from(read(bytes, at, width)).unwrap_or(usize::MAX)
}

/// Writes the low `width` bytes of a number; whether the field is in the file.
pub(crate) fn write(bytes: &mut [u8], at: usize, width: usize, value: u64) -> bool {
    let field = at.checked_add(width).and_then(|end| bytes.get_mut(at..end));
    let Some(field) = field else { return false };
    field.iter_mut().zip(value.to_le_bytes()).for_each(|(byte, new)| *byte = new);
    true
}

/// A value for a field that holds `old`: next to it, at a power of two, at the length of the file, or any.
pub(crate) fn interesting(old: u64, length: usize, random: &mut Sequence) -> u64 {
    const VALUES: [u64; 14] = [
        0,
        1,
        2,
        4,
        8,
        16,
        u64::MAX,
        1 << 63,
        i64::MAX as u64,
        u32::MAX as u64,
        i32::MAX as u64,
        1 << 40,
        0xffff,
        0xff,
    ];
    match random.below(9) {
        0 => random.one_of(&VALUES),
        1 => length as u64,
        2 => (length as u64).wrapping_sub(random.below(64) as u64),
        3 => random.below(length) as u64,
        4 => old.wrapping_add(1 << random.below(12)),
        5 => old.wrapping_sub(1 << random.below(12)),
        6 => old ^ 1 << random.below(64),
        7 => 1 << random.below(64),
        _ => random.below(64) as u64,
    }
}
