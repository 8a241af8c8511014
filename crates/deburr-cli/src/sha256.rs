//! SHA-256, as reports and manifests have it.

use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The hash in lower-case hexadecimal digits.
pub(crate) fn sha256<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> String {
    let hash = pieces.into_iter().fold(Sha256::new(), Sha256::chain_update);
    hash.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
