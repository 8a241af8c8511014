//! Lists of checksums: what `sha256sum` and its kin write, also with `--tag`, and GnuTLS's files of keyed hashes.
//!
//! In: a list's path and bytes, a name as the list has it, and the named file's bytes. Out: whether the list vouches for these bytes. A
//! hash that deburr computes (SHA-2) must be that of the bytes: lists keep lines of older files. Lines with other hashes count by the name
//! alone; SHA-3 and BLAKE have the lengths of SHA-2, and show in the list's own name or in the line's tag.

use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use std::path::{Component, Path};

/// Bytes of the longest list that is read; one line of 100 bytes for each of 40,000 files.
pub(crate) const MAX_LIST_BYTES: u64 = 4 << 20;

/// Whether a file is a list of checksums, by its name: `SHA256SUMS`, `checksums.txt`, `SHASUMS256.txt`, `.libgnutls.so.30.hmac`.
pub(crate) fn is_list(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // Signatures of lists are no lists.
    let is_text =
        !["asc", "sig", "gpg", "minisig", "sign"].iter().any(|end| name.ends_with(&format!(".{end}")));
    let is_sums = ["sums", "checksum", "sha1sum", "sha256sum", "sha512sum", "md5sum", "b2sum"];
    let is_named = ["hashes", "hashes.txt", "digests", "digests.txt", "sha256.txt", "sha512.txt", "md5.txt"];
    is_text
        && (is_sums.iter().any(|part| name.contains(part))
            || is_named.contains(&name.as_str())
            || name.ends_with(".hmac"))
}

/// Whether the list at a path vouches for `bytes` under a name from the list's folder on.
pub(crate) fn vouches(path: &Path, list: &[u8], name: &Path, bytes: &[u8]) -> bool {
    let is_other = path.file_name().is_some_and(|it| is_other_hash(&it.to_string_lossy()));
    String::from_utf8_lossy(list).lines().any(|line| match entry(line) {
        Some(Entry { tag, hash, listed }) => {
            is_same(Path::new(listed), name) && (is_other || is_other_hash(tag) || holds(hash, bytes))
        }
        // A section of GnuTLS's file has the library's own name.
        None => line
            .trim()
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .is_some_and(|it| Path::new(it) == name),
    })
}

/// Whether a word names a hash that has a length of SHA-2 and is none.
fn is_other_hash(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    ["b2", "b3", "blake", "sha3", "sm3", "streebog"].iter().any(|name| word.contains(name))
}

/// A line of a list.
struct Entry<'l> {
    /// The name of the hash, where the line has it.
    tag: &'l str,
    hash: &'l str,
    listed: &'l str,
}

/// The parts of a line: `HASH  NAME`, `HASH *NAME` or `SHA256 (NAME) = HASH`.
fn entry(line: &str) -> Option<Entry<'_>> {
    let line = line.trim_end();
    let is_hash = |text: &str| text.len() >= 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some((start, hash)) = line.rsplit_once(") = ") {
        let (tag, listed) = start.split_once(" (")?;
        return is_hash(hash).then_some(Entry { tag, hash, listed });
    }
    let (hash, name) = line.split_once([' ', '\t'])?;
    let name = name.trim_start_matches([' ', '\t']);
    let listed = name.strip_prefix('*').unwrap_or(name);
    is_hash(hash).then_some(Entry { tag: "", hash, listed })
}

/// Whether two relative paths are one.
fn is_same(listed: &Path, name: &Path) -> bool {
    let without_dots = |path: &Path| {
        path.components().filter(|part| !matches!(part, Component::CurDir)).collect::<Vec<_>>()
            == name.components().collect::<Vec<_>>()
    };
    without_dots(listed)
}

/// Whether a hash is that of the bytes; true for hashes of kinds that are not computed.
fn holds(hash: &str, bytes: &[u8]) -> bool {
    let is = |computed: &[u8]| {
        let digits: String = computed.iter().map(|byte| format!("{byte:02x}")).collect();
        digits.eq_ignore_ascii_case(hash)
    };
    match hash.len() {
        56 => is(&Sha224::digest(bytes)),
        64 => is(&Sha256::digest(bytes)),
        96 => is(&Sha384::digest(bytes)),
        128 => is(&Sha512::digest(bytes)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sha256::sha256;

    fn named(list: &str, name: &str) -> bool {
        vouches(Path::new("SHA256SUMS"), list.as_bytes(), Path::new(name), b"bytes")
    }

    #[test]
    fn list_vouches_for_what_it_has_the_present_hash_of() {
        let (hash, other) = (sha256([&b"bytes"[..]]), sha256([&b"other"[..]]));
        let upper = hash.to_uppercase();
        for list in [
            format!("{hash}  lib/a.so\n"),
            format!("{other}  b.so\r\n{hash} *./lib/a.so\r\n"),
            format!("SHA256 (lib/a.so) = {upper}"),
            "0123456789abcdef0123456789abcdef  lib/a.so".to_owned(),
        ] {
            assert!(named(&list, "lib/a.so"), "{list}");
            assert!(!named(&list, "a.so") && !named(&list, "b.so"), "{list}");
        }
        for list in [
            format!("{other}  lib/a.so\n"),
            format!("{hash}  lib/a.so.1\n"),
            "lib/a.so\n".to_owned(),
            "short  lib/a.so".to_owned(),
        ] {
            assert!(!named(&list, "lib/a.so"), "{list}");
        }
        let sha512: String = Sha512::digest(b"bytes").iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(named(&format!("{sha512}  a"), "a") && !named(&format!("{}  a", "0".repeat(128)), "a"));
    }

    #[test]
    fn hashes_that_are_not_computed_count_by_the_name_alone() {
        let line = format!("{}  a", "0".repeat(128));
        let vouches =
            |path: &str, list: &str| vouches(Path::new(path), list.as_bytes(), Path::new("a"), b"bytes");
        assert!(
            vouches("B2SUMS", &line)
                && vouches("dist/sha3-512sums.txt", &line)
                && !vouches("SHA512SUMS", &line)
        );
        let tagged = |tag: &str| format!("{tag} (a) = {}", "0".repeat(64));
        assert!(
            vouches("checksums.txt", &tagged("BLAKE2b-256")) && !vouches("checksums.txt", &tagged("SHA256"))
        );
        assert!(!vouches("B2SUMS", "0123  a"));
    }

    #[test]
    fn gnutls_vouches_for_the_libraries_it_is_linked_with() {
        let list =
            "[global]\nformat-version = 1\n[libnettle.so.8]\npath = /usr/lib64/libnettle.so.8\nhmac = 00\n";
        assert!(named(list, "libnettle.so.8"));
        assert!(!named(list, "libnettle.so.9"));
    }

    #[test]
    fn lists_are_recognised_by_their_names() {
        for name in [
            "SHA256SUMS",
            "SHASUMS256.txt",
            "tool_1.0_checksums.txt",
            "MD5SUMS",
            "b2sums.txt",
            ".libgnutls.so.30.hmac",
        ] {
            assert!(is_list(name), "{name}");
        }
        for name in ["SHA256SUMS.asc", "SHASUMS256.txt.sig", "RECORD", "a.so", "summary.txt", "Consumer"] {
            assert!(!is_list(name), "{name}");
        }
    }
}
