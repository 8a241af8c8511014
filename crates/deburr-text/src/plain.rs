//! A writer for people: text → the same text, in which nothing acts upon the terminal other than what deburr prints itself.
//!
//! It is the second wall behind [`shown`](crate::shown), for text that nobody made harmless where it was read. Ends of lines
//! and tabs pass; where the output is coloured, so do the sequences that set colours (ECMA-48, SGR), which change nothing
//! other than how text looks.

use crate::shown::{is_active, spell};
use std::io::{self, Write};

/// The longest sequence of colours that deburr prints: `ESC [ 1 ; 38 ; 5 ; 255 m` and some more.
const LONGEST_STYLE: usize = 24;

/// Lets text through, and spells out what would act.
pub struct Plain<W> {
    to: W,
    is_coloured: bool,
    /// The beginning of a character or of a sequence, whose rest has yet to come.
    begun: Vec<u8>,
}

/// What the next bytes are.
enum Piece {
    /// So many bytes that pass.
    Pass(usize),
    /// A character to be spelt out, of so many bytes.
    Spell(char, usize),
    /// A byte that is not UTF-8.
    Broken,
    /// The beginning of something.
    Begun,
}

impl<W: Write> Plain<W> {
    /// A writer before another one; `is_coloured`: whether deburr prints colours to it.
    pub fn new(to: W, is_coloured: bool) -> Plain<W> {
        Plain { to, is_coloured, begun: Vec::new() }
    }

    fn write_pieces(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        let mut out = String::new();
        while !rest.is_empty() {
            let plain = rest.iter().take_while(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')).count();
            let (passed, after) = rest.split_at(plain);
            self.to.write_all(passed)?;
            rest = after;
            let length = match self.piece(rest) {
                Piece::Begun => {
                    self.begun.extend_from_slice(rest);
                    return Ok(());
                }
                Piece::Pass(length) => {
                    self.to.write_all(rest.get(..length).unwrap_or_default())?;
                    length
                }
                Piece::Spell(c, length) => {
                    out.clear();
                    spell(&mut out, c);
                    self.to.write_all(out.as_bytes())?;
                    length
                }
                Piece::Broken => {
                    self.to.write_all("\u{fffd}".as_bytes())?;
                    1
                }
            };
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(())
    }

    /// What is at the beginning of bytes of which the first is no printable ASCII.
    fn piece(&self, bytes: &[u8]) -> Piece {
        let Some(&first) = bytes.first() else { return Piece::Pass(0) };
        if first == 0x1b && self.is_coloured {
            return match style(bytes) {
                Some(Some(length)) => Piece::Pass(length),
                Some(None) => Piece::Begun,
                None => Piece::Spell('\x1b', 1),
            };
        }
        let width = match first {
            ..0x80 => 1,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => return Piece::Broken,
        };
        let bytes = bytes.get(..width.min(bytes.len())).unwrap_or_default();
        match std::str::from_utf8(bytes) {
            Ok(text) => match text.chars().next() {
                Some(c) if is_active(c) => Piece::Spell(c, width),
                _ => Piece::Pass(width),
            },
            Err(error) if error.error_len().is_none() => Piece::Begun,
            Err(_) => Piece::Broken,
        }
    }
}

/// The length of a sequence that sets colours at the beginning of bytes; `Some(None)`: it may be one, and is not whole yet.
fn style(bytes: &[u8]) -> Option<Option<usize>> {
    let Some(rest) = bytes.get(1..).filter(|rest| !rest.is_empty()) else { return Some(None) };
    let parameters = rest.strip_prefix(b"[")?;
    let digits = parameters.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    if digits > LONGEST_STYLE {
        return None;
    }
    match parameters.get(digits) {
        Some(b'm') => Some(Some(digits + 3)),
        Some(_) => None,
        None => Some(None),
    }
}

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.begun.is_empty() {
            self.write_pieces(bytes)?;
        } else {
            let mut all = std::mem::take(&mut self.begun);
            all.extend_from_slice(bytes);
            self.write_pieces(&all)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pieces: &[&[u8]], is_coloured: bool) -> String {
        let mut out = Vec::new();
        let mut plain = Plain::new(&mut out, is_coloured);
        pieces.iter().for_each(|piece| plain.write_all(piece).unwrap());
        drop(plain);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_pass_and_what_acts_is_spelt_out() {
        let text = "a\tb\n\x1b[31mred\r\u{9b}31m \u{202e}evil ü\x07";
        let spelt = "a\tb\n\\x1b[31mred\\x0d\\u{9b}31m \\u{202e}evil ü\\x07";
        assert_eq!(written(&[text.as_bytes()], false), spelt);
        // However the bytes come.
        let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(written(&single, false), spelt);
    }

    #[test]
    fn only_colours_pass_where_there_are_any() {
        let text = "\x1b[1m\x1b[38;5;9mbold\x1b[0m\x1b[2Jgone\x1b]0;title\x07\x1b[31";
        let spelt = "\x1b[1m\x1b[38;5;9mbold\x1b[0m\\x1b[2Jgone\\x1b]0;title\\x07";
        assert_eq!(written(&[text.as_bytes()], true), spelt);
        let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(written(&single, true), spelt);
        let endless = [b"\x1b[".as_slice(), &b"1;".repeat(100), b"m"].concat();
        assert!(!written(&[&endless], true).contains('\x1b'));
    }

    #[test]
    fn broken_text_is_replaced() {
        assert_eq!(written(&[b"a\xff\xc3(\xe2\x80b"], false), "a\u{fffd}\u{fffd}(\u{fffd}\u{fffd}b");
    }
}
