//! The text of the committed inputs, `fuzz/corpus/<target>.hex`: text → inputs → text.
//!
//! In and out: one input a line in lower-case hexadecimal digits, the lines sorted and each there once. A line that begins with `#`
//! is a comment. A contract between two programs: the test of the stages runs the inputs, and `cargo xtask corpus` replaces them.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;

/// An input of a fuzz target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its line in the file, from 1.
    pub line: usize,
    /// What the target is given.
    pub bytes: Vec<u8>,
}

/// Reads the text of a file of inputs. A file without an input is an error, as is a line that [`write_inputs`] does not write.
pub fn parse_inputs(text: &str) -> Result<Vec<Input>, String> {
    let mut inputs = Vec::new();
    let mut previous = "";
    for (line, digits) in (1..).zip(text.lines()).filter(|(_, digits)| !digits.starts_with('#')) {
        let bytes = parse_digits(digits)
            .ok_or_else(|| format!("line {line}: expected pairs of lower-case hexadecimal digits"))?;
        if digits <= previous {
            return Err(format!("line {line}: expected sorted lines, each there once"));
        }
        previous = digits;
        inputs.push(Input { line, bytes });
    }
    if inputs.is_empty() { Err("expected at least one input".to_owned()) } else { Ok(inputs) }
}

/// Writes inputs as the text of a file, after a comment that names their target. An empty input is left out: a line shows nothing of it.
pub fn write_inputs(target: &str, inputs: &[Vec<u8>]) -> String {
    let lines: BTreeSet<String> =
        inputs.iter().filter(|bytes| !bytes.is_empty()).map(|bytes| write_digits(bytes)).collect();
    let mut text =
        format!("# Inputs of the fuzz target {target}, one a line: `cargo xtask corpus` writes them.\n");
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// The value of a lower-case hexadecimal digit.
fn digit_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

fn parse_digits(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if pairs.is_empty() || !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit_value(*high)? << 4 | digit_value(*low)?)).collect()
}

fn write_digits(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(if value < 10 { b'0' + value } else { b'a' + value - 10 });
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_sorted_and_survive_their_text() {
        let every_byte: Vec<u8> = (0..=255).collect();
        let text = write_inputs("image", &[vec![0x9f, 0xa0], every_byte.clone(), vec![], vec![0x9f, 0xa0]]);
        let expected = [Input { line: 2, bytes: every_byte }, Input { line: 3, bytes: vec![0x9f, 0xa0] }];
        assert_eq!(parse_inputs(&text), Ok(expected.to_vec()));
    }

    #[test]
    fn a_file_that_was_cut_or_edited_wrongly_is_an_error() {
        let faults =
            ["", "# a comment\n", "0\n", "0g\n", "0A\n", "00\n\n01\n", "01\n00\n", "00\n00\n", "00\r01\n"];
        for text in faults {
            assert!(parse_inputs(text).is_err(), "{text:?}");
        }
    }
}
