//! What is left where no format is recognised: whether it can hold a program.
//!
//! In: bytes after the end of an ELF file, or of an archive. Out: what they are if they are too few or too plain for machine code, and how
//! long the signature at their end is (the kernel's `include/linux/module_signature.h`).

use crate::number::be32;

/// The smallest program with one AVX instruction for x86-64 is an ELF header of which the program header is the end, 112 bytes: raw deflate
/// makes 42 bytes of it, and zlib 48.
const SMALLEST_PROGRAM: usize = 40;

/// A version, or a digest with its name, is shorter. Longer text may encode a program, in lines of any length; base64 needs 56 characters.
const LONGEST_TEXT: usize = 80;

/// What is longer is not looked at byte by byte: padding ends at a page, a block of a disk or an erase block.
const LONGEST_PADDING: usize = 64 << 20;

/// What a signed module of the Linux kernel ends in.
const MODULE_SIGNATURE: &[u8] = b"~Module signature appended~\n";
/// `struct module_signature`.
const SIGNATURE_FIELDS: usize = 12;
/// `sign-file` writes 500 to 1,500 bytes for RSA, and 5 KiB for ML-DSA-87.
pub(super) const LONGEST_SIGNATURE: usize = 8 << 10;

/// What some bytes are that cannot hold a program; `None` of those that can.
pub(crate) fn plain(bytes: &[u8]) -> Option<&'static str> {
    let bytes = Some(bytes).filter(|bytes| bytes.len() <= LONGEST_PADDING)?;
    let (first, last) = (bytes.first()?, bytes.iter().rposition(|byte| *byte != 0)?);
    let bytes = bytes.get(..=last).unwrap_or_default();
    match () {
        () if bytes.iter().all(|byte| byte == first) => Some("padding"),
        () if is_text(bytes) => Some("text"),
        () if bytes.len() < SMALLEST_PROGRAM => Some("unknown data"),
        () => None,
    }
}

/// Whether bytes are a short text.
fn is_text(bytes: &[u8]) -> bool {
    let is_control = |letter: char| letter.is_control() && !letter.is_ascii_whitespace();
    bytes.len() <= LONGEST_TEXT && str::from_utf8(bytes).is_ok_and(|text| !text.contains(is_control))
}

/// The length of the signature of a module of the Linux kernel that ends some bytes, by its own fields.
pub(super) fn signature(bytes: &[u8]) -> Option<usize> {
    let signed = bytes.strip_suffix(MODULE_SIGNATURE)?;
    let fields = signed.get(signed.len().checked_sub(SIGNATURE_FIELDS)?..)?;
    let names: usize = fields.get(3..5)?.iter().map(|length| usize::from(*length)).sum();
    let length = (be32(fields, 8)? as usize).checked_add(names)?;
    (length > 0 && length <= signed.len() - SIGNATURE_FIELDS)
        .then_some(length + SIGNATURE_FIELDS + MODULE_SIGNATURE.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_hold_a_program_is_named() {
        for (bytes, name) in [
            (&[0xff; 9000][..], Some("padding")),
            (&[7; 39], Some("padding")),
            (b"\x01\x02\x03 build 7", Some("unknown data")),
            (b"built by a tool of ours, version 17\nsha256 of the sources in the next line\n", Some("text")),
            (&[], None),
        ] {
            assert_eq!(plain(bytes), name, "{bytes:?}");
        }
        let digest = format!("sha256 {}\n", "0123456789abcdef".repeat(4));
        assert_eq!(plain(digest.as_bytes()), Some("text"));
    }

    #[test]
    fn what_may_hold_a_program_is_not_plain() {
        let noise: Vec<u8> = (0..40_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8 | 1).collect();
        let lines = "f0VMRgIBAQAAAAAAAAAAAAMAPgABAAAAUBAAAAAAAABAAAAAAAAAAAAA\n".repeat(3);
        let short_lines = "f0VMRgIBAQAAAAAAAAAAAAMAPgAB\n".repeat(6);
        let long = "a word and ".repeat(400);
        for bytes in [&noise[..], lines.as_bytes(), short_lines.as_bytes(), long.as_bytes()] {
            assert_eq!(plain(bytes), None);
        }
    }

    #[test]
    fn a_signature_is_as_long_as_its_fields_say() {
        let signed = |length: u32| {
            let fields = [&[0, 0, 2, 0, 0, 0, 0, 0][..], &length.to_be_bytes()].concat();
            signature(&[&[7; 600][..], &fields, MODULE_SIGNATURE].concat())
        };
        assert_eq!(signed(500), Some(540));
        assert_eq!(signed(600), Some(640));
        assert_eq!((signed(0), signed(601), signed(u32::MAX)), (None, None, None));
        assert_eq!(signature(MODULE_SIGNATURE), None);
    }
}
