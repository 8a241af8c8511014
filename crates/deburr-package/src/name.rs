//! Names as a package has them → text for people.
//!
//! Names are bytes that the maker of the package chose. They go to terminals, free of control characters, and
//! are never opened.

use std::fmt::Write;

/// A name as UTF-8, with control characters escaped: it goes to a terminal, and the maker of the package
/// chose it.
pub fn shown(name: &[u8]) -> String {
    let mut text = String::new();
    for c in String::from_utf8_lossy(name).chars() {
        // The formatting characters that turn the direction of text could make one name look like another.
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        match c {
            c if c.is_control() && c.is_ascii() => drop(write!(text, "\\x{:02x}", u32::from(c))),
            c if c.is_control() || turns => drop(write!(text, "{}", c.escape_unicode())),
            c => text.push(c),
        }
    }
    text
}

/// A name within a package, without the `./` and `/` that archivers put before it.
pub(crate) fn tidied(mut name: &[u8]) -> &[u8] {
    while let Some(rest) = name.strip_prefix(b"./").or_else(|| name.strip_prefix(b"/")) {
        name = rest;
    }
    name.strip_suffix(b"/").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(shown(b"a\x1b[2Jb\n"), "a\\x1b[2Jb\\x0a");
        assert_eq!(shown("\u{202e}os.x\u{9b}ü".as_bytes()), "\\u{202e}os.x\\u{9b}ü");
        assert_eq!(shown(b"\xff"), "\u{fffd}");
    }

    #[test]
    fn name_begins_where_the_archiver_ended() {
        assert_eq!(tidied(b"./usr/bin/"), b"usr/bin");
        assert_eq!(tidied(b"/etc"), b"etc");
        assert_eq!(tidied(b"../x"), b"../x");
    }
}
