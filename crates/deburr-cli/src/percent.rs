//! Percent-encoding (RFC 3986, section 2.1).

use std::fmt::Write;

/// The text with all bytes encoded but letters, digits and those that are kept.
pub(crate) fn encoded(text: &str, kept: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for &byte in text.as_bytes() {
        if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
