//! What an ELF file itself holds of a hash or a signature of its bytes.
//!
//! In: the file's bytes. Out: the signature of a kernel module after its end (Linux, "Kernel module signing facility"); sections
//! that hold a signature (Solaris' elfsign, bsign, HarmonyOS, notes of signers) or a keyed hash (libgcrypt since 1.10 in
//! `.note.fdo.integrity`, before in `.rodata1`).

use super::attestation::Attestation;
use deburr_core::image::layout::{Layout, Names};

/// The last line of a signed kernel module.
pub(crate) const MODULE_SIGNATURE: &[u8] = b"~Module signature appended~";

/// Names of sections that hold a signature, without the dots before them.
const SIGNATURES: [&str; 10] = [
    "signature",
    "sig",
    "sign",
    "SUNW_signature",
    "sig_ima",
    "ima_sig",
    "rpmsign",
    "codesign",
    "code_signature",
    "text_sig",
];

/// Bytes of a section header, and of the HMAC-SHA-256 in `.rodata1`.
const SECTION_HEADER: usize = 64;
const HMAC: u64 = 32;

/// What a file says of itself.
pub(crate) fn attestations(bytes: &[u8]) -> Vec<Attestation> {
    let mut found = Vec::new();
    let end = bytes.get(bytes.len().saturating_sub(MODULE_SIGNATURE.len() + 1)..).unwrap_or_default();
    if end.starts_with(MODULE_SIGNATURE) || end.ends_with(MODULE_SIGNATURE) {
        found.push(Attestation::new("a kernel module's signature at its end"));
    }
    let Ok(layout) = Layout::of(bytes) else { return found };
    let Names::Section(_, names) = layout.section_names() else { return found };
    for header in layout.section_headers().chunks_exact(SECTION_HEADER) {
        let Some((name, size)) = name_and_size(header, names) else { continue };
        if is_signature(name) {
            found.push(Attestation::new(format!("a signature in its section {name}")));
        } else if name == ".note.fdo.integrity" || name == ".rodata1" && size == HMAC {
            found.push(Attestation::new(format!("a keyed hash in its section {name}")));
        }
    }
    found
}

fn is_signature(name: &str) -> bool {
    let is_note = name.starts_with(".note") && name.to_ascii_lowercase().ends_with("signature");
    is_note || SIGNATURES.contains(&name.trim_start_matches('.'))
}

/// A section's name and its size, from its header (gABI, "Sections").
fn name_and_size<'n>(header: &[u8], names: &'n [u8]) -> Option<(&'n str, u64)> {
    let at = u32::from_le_bytes(header.get(..4)?.try_into().ok()?);
    let size = u64::from_le_bytes(header.get(32..40)?.try_into().ok()?);
    let name = names.get(usize::try_from(at).ok()?..)?.split(|byte| *byte == 0).next()?;
    Some((std::str::from_utf8(name).ok()?, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &[u8] = include_bytes!("../../../../tests/data/libcounters.so");

    /// The library with another name for its section `.comment`.
    fn renamed(name: &[u8]) -> Vec<u8> {
        let mut bytes = LIBRARY.to_vec();
        let at = bytes.windows(10).rposition(|window| window == b"\0.comment\0").unwrap() + 1;
        bytes[at..at + name.len() + 1].copy_from_slice(&[name, b"\0"].concat());
        bytes
    }

    #[test]
    fn signatures_in_a_file_are_found_by_their_sections_and_by_their_mark() {
        let by = |bytes: &[u8]| attestations(bytes).into_iter().map(|found| found.by).collect::<Vec<_>>();
        assert_eq!(by(LIBRARY), [""; 0]);
        assert_eq!(by(&renamed(b".sig")), ["a signature in its section .sig"]);
        assert_eq!(by(&renamed(b".sigs")), [""; 0]);
        let module = [LIBRARY, b"0\x82", MODULE_SIGNATURE, b"\n"].concat();
        assert_eq!(by(&module), ["a kernel module's signature at its end"]);
        assert_eq!(by(b"no ELF"), [""; 0]);
        assert!(is_signature(".note.vendor.signature") && is_signature(".SUNW_signature"));
        assert!(!is_signature(".note.gnu.build-id") && !is_signature(".signal"));
    }
}
