//! Text that may act → text that is seen: what acts is spelt out.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes as text of one line; what is not UTF-8 in them is replaced (U+FFFD).
///
/// ```
/// assert_eq!(deburr_text::shown(b"a\x1b[2J\n::error::b"), r"a\x1b[2J\x0a::error::b");
/// ```
pub fn shown(bytes: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => one_line(text),
        Cow::Owned(text) => Cow::Owned(one_line(&text).into_owned()),
    }
}

/// Text on one line, as [`shown`].
pub fn one_line(text: &str) -> Cow<'_, str> {
    spelt(text, is_active)
}

/// Text as [`shown`], which keeps its lines.
pub fn lines(text: &str) -> Cow<'_, str> {
    spelt(text, |c| c != '\n' && is_active(c))
}

/// A text in which some characters are spelt out.
pub fn spelt(text: &str, is_spelt: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_spelt) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    text.chars().for_each(|c| if is_spelt(c) { spell(&mut out, c) } else { out.push(c) });
    Cow::Owned(out)
}

/// The name of a file as text of one line.
pub trait ShownPath {
    /// As [`shown`].
    fn shown(&self) -> Cow<'_, str>;
}

impl ShownPath for Path {
    fn shown(&self) -> Cow<'_, str> {
        shown(self.as_os_str().as_bytes())
    }
}

impl ShownPath for OsStr {
    fn shown(&self) -> Cow<'_, str> {
        shown(self.as_bytes())
    }
}

/// Bytes as text, where they are UTF-8 and nothing in them has to be spelt out.
pub fn plain(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    (!text.contains(is_active)).then_some(text)
}

/// A table of names, each of which a zero byte ends, as text, where [`plain`] would return every one of them.
pub fn plain_table(names: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(names).ok()?;
    (is_printable(names) || !text.contains(|c| c != '\0' && is_active(c))).then_some(text)
}

/// Whether bytes hold no more than printable ASCII and zero bytes.
fn is_printable(bytes: &[u8]) -> bool {
    bytes.iter().fold(true, |all, byte| all & (matches!(byte, b' '..=b'~') | (*byte == 0)))
}

/// Whether a character acts upon what shows it, rather than being seen: control characters (C0, DEL, C1), separators of
/// lines and paragraphs, characters without a width, and what turns the direction of writing (Unicode Standard Annex 9, 2.1 to
/// 2.7).
pub fn is_active(c: char) -> bool {
    match c {
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{e0000}'..='\u{e007f}' => true,
        other => other.is_control(),
    }
}

/// Appends a character as its number.
pub fn spell(out: &mut String, c: char) {
    match c {
        // To a `String`, writing does not fail.
        c if c.is_ascii() => drop(write!(out, "\\x{:02x}", u32::from(c))),
        c => drop(write!(out, "{}", c.escape_unicode())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_characters_are_spelt_out() {
        assert_eq!(shown(b"a\x1b[2Jb\n"), "a\\x1b[2Jb\\x0a");
        assert_eq!(shown(b"a\r::error::x\t\x7f"), "a\\x0d::error::x\\x09\\x7f");
        assert_eq!(shown("\u{202e}os.x\u{9b}ü".as_bytes()), "\\u{202e}os.x\\u{9b}ü");
        assert_eq!(shown("a\u{2028}b\u{85}c\u{61c}".as_bytes()), "a\\u{2028}b\\u{85}c\\u{61c}");
    }

    #[test]
    fn other_text_stays_and_is_not_copied() {
        for text in ["", "operator new[](unsigned long)", "größer → λ 関数", "\\x1b"] {
            assert!(matches!(shown(text.as_bytes()), Cow::Borrowed(same) if same == text), "{text}");
        }
        assert_eq!(shown(b"\xff"), "\u{fffd}");
        assert_eq!(Path::new("a\nb").shown(), "a\\x0ab");
        assert_eq!((one_line("a\nb\t"), lines("a\nb\t")), ("a\\x0ab\\x09".into(), "a\nb\\x09".into()));
    }

    #[test]
    fn plain_text_is_what_nothing_is_spelt_out_in() {
        for byte in 0..=u8::MAX {
            let text = [byte];
            assert_eq!(
                plain(&text).is_some(),
                *shown(&text) == String::from_utf8_lossy(&text) && byte.is_ascii(),
                "{byte:#x}"
            );
        }
        assert_eq!(plain("größer".as_bytes()), Some("größer"));
        assert_eq!(plain_table(b"main\0_init\0"), Some("main\0_init\0"));
        assert_eq!(plain_table("größer\0".as_bytes()), Some("größer\0"));
        assert_eq!((plain_table(b"main\0\x1b[m\0"), plain_table(b"\xff\0")), (None, None));
    }
}
