//! ELF files among other bytes, by their headers (gABI, chapter 4).
//!
//! In: the bytes of a payload whose own layout is not read. Out: where each ELF file in it is, to the end of all that its
//! headers lead to.

use crate::extent::extent;
use crate::number::le16;
use std::iter::from_fn;
use std::ops::Range;

/// Whether bytes begin with the header of an ELF file that a loader would take: it has a type, a machine, and one of its tables
/// has entries of the right size. Linux looks at nothing else in the identification than its first four bytes.
pub(super) fn is_elf(bytes: &[u8]) -> bool {
    let is_64 = match bytes {
        [0x7f, b'E', b'L', b'F', 1, 1, ..] => false,
        [0x7f, b'E', b'L', b'F', 2, 1, ..] => true,
        _ => return false,
    };
    let half = |at_64, at_32| le16(bytes, if is_64 { at_64 } else { at_32 });
    let (segment, section) = if is_64 { (56, 64) } else { (32, 40) };
    le16(bytes, 16).is_some_and(|kind| (1..=4).contains(&kind))
        && le16(bytes, 18).is_some_and(|machine| machine != 0)
        && (half(54, 42) == Some(segment) || half(58, 46) == Some(section))
}

/// Where ELF files are in some bytes, in their order.
pub(super) fn embedded(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut from = 0;
    from_fn(move || {
        loop {
            let at = from + next_mark(bytes.get(from..)?)?;
            let file = bytes.get(at..)?;
            from = at + 1;
            if is_elf(file) {
                let end = at + extent(file).map_or(file.len(), |extent| extent.end).max(1);
                from = end;
                return Some(at..end.min(bytes.len()));
            }
        }
    })
}

/// Where the next byte is that an ELF file begins with; by blocks, as a payload may be as large as a file.
fn next_mark(bytes: &[u8]) -> Option<usize> {
    const BLOCK: usize = 4096;
    let block = BLOCK * bytes.chunks(BLOCK).position(|block| block.contains(&0x7f))?;
    Some(block + bytes.get(block..)?.iter().position(|byte| *byte == 0x7f)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of an object file for x86-64, without anything that it leads to.
    fn header() -> Vec<u8> {
        let mut header = vec![0; 64];
        header[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (header[16], header[18], header[58]) = (1, 62, 64);
        header
    }

    #[test]
    fn elf_files_are_found_at_any_offset() {
        let bytes = [b"J\x7f", &header()[..], b"\x7fELF\x02\x01 and text", &header()].concat();
        assert_eq!(embedded(&bytes).collect::<Vec<_>>(), [2..66, bytes.len() - 64..bytes.len()]);
    }

    #[test]
    fn words_that_begin_as_elf_files_are_none() {
        for at in [16, 18, 58] {
            let mut bytes = header();
            bytes[at] = 0;
            assert_eq!(embedded(&bytes).count(), 0, "{at}");
        }
        assert!(!is_elf(b"\x7fELF"));
    }
}
