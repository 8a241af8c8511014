//! Names of files that hold a hash or a signature of another file: its name → the names that vouch for it.
//!
//! Conventions: NSS (`shlibsign` writes `libX.chk` for `libX.so`); libfipscheck, hmaccalc, libgcrypt, GnuTLS and RHEL's OpenSSL
//! (`.X.hmac` beside it, or `X.hmac` in `fipscheck/` or `hmaccalc/` of the library folder); `sha256sum` and its kin; GnuPG,
//! signify, minisign, sigstore, in-toto and PKCS #7; fs-verity's signatures.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What follows the whole name.
const SUFFIXES: [&str; 43] = [
    // Keyed hashes and NSS's signed ones.
    ".hmac",
    ".chk",
    // Hashes.
    ".md5",
    ".sha1",
    ".sha224",
    ".sha256",
    ".sha384",
    ".sha512",
    ".sha3",
    ".sha3-256",
    ".sha3-512",
    ".b2",
    ".b3",
    ".blake2",
    ".blake2b",
    ".blake3",
    ".md5sum",
    ".sha1sum",
    ".sha224sum",
    ".sha256sum",
    ".sha384sum",
    ".sha512sum",
    ".b2sum",
    ".checksum",
    // Signatures.
    ".sig",
    ".asc",
    ".sign",
    ".signature",
    ".minisig",
    ".signify",
    ".p7s",
    ".p7",
    ".pkcs7",
    ".cms",
    ".ed25519",
    ".sigstore",
    ".sigstore.json",
    ".intoto.jsonl",
    ".attestation",
    ".provenance",
    ".fsv_sig",
    ".fsverity_sig",
    ".idsig",
];

/// Folders of keyed hashes, in a folder of libraries.
const HASH_FOLDERS: [&str; 2] = ["fipscheck", "hmaccalc"];

/// The paths that vouch for a file of this name, from its folder on.
pub(crate) fn beside(name: &OsStr) -> Vec<PathBuf> {
    let joined = |parts: &[&[u8]]| PathBuf::from(OsString::from_vec(parts.concat()));
    let name = name.as_bytes();
    let mut paths: Vec<PathBuf> = SUFFIXES.iter().map(|suffix| joined(&[name, suffix.as_bytes()])).collect();
    paths.push(joined(&[b".", name, b".hmac"]));
    paths.extend(HASH_FOLDERS.map(|folder| joined(&[folder.as_bytes(), b"/", name, b".hmac"])));
    paths.extend(name.strip_suffix(b".so").map(|stem| joined(&[stem, b".chk"])));
    paths
}

/// The paths that vouch for a file of this name, from each folder above its own on.
pub(crate) fn above(name: &OsStr) -> Vec<PathBuf> {
    let mut file = name.to_owned();
    file.push(".hmac");
    let in_folder =
        |library: &'static str| HASH_FOLDERS.map(|folder| Path::new(library).join(folder).join(&file));
    ["lib", "lib64"].into_iter().flat_map(in_folder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vouches(sibling: &str, name: &str) -> bool {
        beside(OsStr::new(name)).iter().any(|path| path == Path::new(sibling))
    }

    #[test]
    fn names_that_vouch_for_a_file_are_those_of_its_own() {
        for (sibling, name) in [
            ("libfreebl3.chk", "libfreebl3.so"),
            (".libgcrypt.so.20.hmac", "libgcrypt.so.20"),
            ("fipscheck/libssl.so.10.hmac", "libssl.so.10"),
            ("server.hmac", "server"),
            ("app.sha256", "app"),
            ("app.asc", "app"),
            ("libx.so.1.minisig", "libx.so.1"),
        ] {
            assert!(vouches(sibling, name), "{sibling} {name}");
        }
        for (sibling, name) in [
            ("foo.hmac", "bar.so"),
            ("README.sig", "libx.so"),
            ("libfreebl3.chk", "libfreebl3.so.1"),
            ("libx.so.txt", "libx.so"),
            ("libx.sig", "libx.so"),
            ("libx.so", "libx.so"),
        ] {
            assert!(!vouches(sibling, name), "{sibling} {name}");
        }
        assert!(above(OsStr::new("sshd")).contains(&PathBuf::from("lib64/fipscheck/sshd.hmac")));
    }
}
