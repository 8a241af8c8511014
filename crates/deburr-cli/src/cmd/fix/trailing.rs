//! Bytes after the last section and segment: stray ones, which stay where they are, or something that is sought at the end of the file.
//!
//! In: the bytes. Out: whether they are stray. Linkers and packers leave such: protoc 3.12.0 for AArch64 ends in 28 bytes, 18 of them
//! zeros.

use super::attested::MODULE_SIGNATURE;
use deburr_package::{Found, ends_in_zip, sniff};

/// Bytes of the longest stray tail: a signature and its frame are longer than a hash of 512 bits.
const MAX_STRAY_BYTES: usize = 64;

/// Marks that somebody seeks at the end of a file: of a kernel module's signature, PEM and minisign, of a zip file's directory
/// (APPNOTE.TXT, section 4.3.16), of PyInstaller's archive, bun's and deno's programs, UPX, and of an AppImage's signature.
const MARKS: [&[u8]; 9] = [
    MODULE_SIGNATURE,
    b"-----BEGIN",
    b"untrusted comment:",
    b"PK\x05\x06",
    b"MEI\x0c\x0b\x0a\x0b\x0e",
    b"---- Bun! ----",
    b"d3n0l4nd",
    b"UPX!",
    b"SIGNATURE",
];

/// Lengths of hashes and signatures without a frame: MD5, SHA-1, SHA-2 of 224 to 512 bits and Ed25519.
const HASHES: [usize; 6] = [16, 20, 28, 32, 48, 64];

/// Bytes after the last section that were left in their place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trailing {
    pub(super) length: u64,
    /// Whether nobody seeks them.
    pub(super) is_stray: bool,
}

/// Whether nobody seeks these bytes at the end of a file: they are few, and neither a signature, a hash nor an archive.
pub(super) fn is_stray(rest: &[u8]) -> bool {
    let is_marked = || MARKS.iter().any(|mark| rest.windows(mark.len()).any(|window| window == *mark));
    rest.len() <= MAX_STRAY_BYTES
        && matches!(sniff(rest), Found::Other)
        && !is_marked()
        && !ends_in_zip(rest)
        && !is_hash(rest)
        && !is_der(rest)
}

/// Whether bytes may be a hash or a signature without a frame, or the digits of a hash. Of as many random bytes nearly all differ.
fn is_hash(rest: &[u8]) -> bool {
    let text = rest.trim_ascii();
    if text.len() >= 2 * 16 && text.iter().all(u8::is_ascii_hexdigit) {
        return true;
    }
    let mut sorted = rest.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let is_text = rest.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r'));
    HASHES.contains(&rest.len()) && !is_text && sorted.len() * 2 > rest.len()
}

/// Whether bytes are a sequence of DER to their end, as signatures are (ITU-T X.690, section 8.9).
fn is_der(rest: &[u8]) -> bool {
    matches!(rest, [0x30, length, body @ ..] if usize::from(*length) == body.len() && !body.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256, Sha512};

    #[test]
    fn what_a_linker_left_is_stray() {
        let protoc = b"\x01\0\0\0\0\0\x0c\0 \x8f@\0\0\0\0\0\0\0\0\0\0\0\0\0\0$x\0";
        for rest in [&protoc[..], b"\n", b"GCC: (GNU) 4.8.5", &[0xaa; 64], b"0123456789abcdef"] {
            assert!(is_stray(rest), "{rest:?}");
        }
    }

    #[test]
    fn what_is_sought_at_the_end_is_not_stray() {
        let digits: String = Sha256::digest(b"x").iter().map(|byte| format!("{byte:02x}")).collect();
        let zip = [&b"PK\x05\x06"[..], &[0; 18]].concat();
        let der = [&[0x30, 6, 2, 1][..], &[1, 2, 1, 1]].concat();
        for rest in [
            &b"~Module signature appended~\n"[..],
            b"junk~Module signature appended~\n",
            b"-----BEGIN PGP SIGNATURE-----",
            &zip,
            b"\x1f\x8b\x08\0\0\0\0\0",
            b"7z\xbc\xaf\x27\x1c\0\0",
            b"\x7fELF",
            &Sha256::digest(b"x"),
            &Sha512::digest(b"x"),
            digits.as_bytes(),
            &der,
            &[0xaa; 65],
        ] {
            assert!(!is_stray(rest), "{rest:?}");
        }
    }
}
