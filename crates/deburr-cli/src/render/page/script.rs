//! What a page with a script needs: data as JSON inside of HTML, and the hash by which the page's policy knows its one script.
//!
//! In: values and a script. Out: elements. No text of others can end an element: JSON has `<` only within strings, where it is
//! written `\u003c`.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// Writes data that the page's script reads. Browsers run no script of this type, whatever is in it.
pub(crate) fn data_element(out: &mut dyn Write, attributes: &str, value: &Value) -> io::Result<()> {
    writeln!(out, "<script type=\"application/json\" {attributes}>{}</script>", embedded(&value.to_string()))
}

/// JSON as content of a `script` element (HTML, "Restrictions for contents of script elements"), and as JavaScript, too:
/// older readers end lines at U+2028 and U+2029.
pub(crate) fn embedded(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(character)))
            }
            other => text.push(other),
        }
    }
    text
}

/// The source expression of a script (Content Security Policy Level 3, 2.3.1): `sha256-…`.
pub(crate) fn source_of(script: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(script.as_bytes())))
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, at| bits << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            text.push(if digit <= group.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_element() {
        let hostile =
            serde_json::json!({"name": "</script><script>alert(1)</script><!-- & \u{2028}\u{2029}"});
        let mut out = Vec::new();
        data_element(&mut out, "class=\"x\"", &hostile).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches('<').count(), 2, "{text}");
        assert!(!text.contains(['&', '\u{2028}', '\u{2029}']));
        let json = text.split_once('>').unwrap().1.split_once('<').unwrap().0;
        assert_eq!(serde_json::from_str::<Value>(json).unwrap(), hostile);
    }

    #[test]
    fn base64_is_that_of_its_standard() {
        // RFC 4648, section 10.
        let of = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(of, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn a_script_has_the_hash_that_browsers_compute() {
        // FIPS 180-4's example "abc", in base 64.
        assert_eq!(source_of("abc"), "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }
}
