//! A wheel's `RECORD`: CSV of path, hash and size (Binary distribution format, "The .dist-info directory";
//! Recording installed projects, "The RECORD file"). Lines of changed files get the new SHA-256, in urlsafe
//! base64 without padding, and size; all others stay as they are. A line without a hash has none to be made
//! right.

use crate::name::tidied;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt;

/// A file's hash and size, as a line has them.
pub(crate) struct Sum {
    hash: String,
    size: usize,
}

impl Sum {
    pub(crate) fn of(bytes: &[u8]) -> Sum {
        let mut sum = Sum::begin();
        sum.update(bytes);
        sum.finish()
    }

    /// That of a file which is read in blocks.
    pub(crate) fn begin() -> Summing {
        Summing { hash: Sha256::new(), size: 0 }
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.hash, self.size)
    }
}

/// A file's hash and size so far.
pub(crate) struct Summing {
    hash: Sha256,
    size: usize,
}

impl Summing {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.size += bytes.len();
    }

    pub(crate) fn finish(self) -> Sum {
        Sum { hash: format!("sha256={}", base64(&self.hash.finalize())), size: self.size }
    }
}

/// The lines of a `RECORD`: path, hash and size, as they are written; an empty hash and size where a line has none.
pub(crate) fn recorded(record: &[u8]) -> impl Iterator<Item = (Vec<u8>, &[u8], &[u8])> {
    lines(record).map(fields).filter(|fields| fields.iter().any(|field| !field.is_empty())).map(|fields| {
        let field = |at: usize| fields.get(at).copied().unwrap_or_default();
        (unquoted(field(0)), field(1), field(2))
    })
}

/// Whether a member is a wheel's RECORD.
pub(crate) fn is_record(name: &[u8]) -> bool {
    name.strip_suffix(b".dist-info/RECORD").is_some_and(|project| !project.contains(&b'/'))
}

/// The file with the lines of changed files made right; how many lines of each there are is counted.
pub(crate) fn updated(record: &[u8], sums: &mut HashMap<&[u8], (Sum, u64)>) -> Vec<u8> {
    let mut made = Vec::with_capacity(record.len());
    for line in lines(record) {
        let fields = fields(line);
        let sum = fields.first().and_then(|name| sums.get_mut(tidied(&unquoted(name))));
        match (sum, fields.as_slice()) {
            (Some((sum, lines)), [name, hash, _, rest @ ..]) => {
                *lines += 1;
                if hash.is_empty() {
                    made.extend_from_slice(line);
                    continue;
                }
                made.extend_from_slice(name);
                made.extend(format!(",{sum}").into_bytes());
                for field in rest {
                    made.push(b',');
                    made.extend_from_slice(field);
                }
                let end = line.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |at| at + 1);
                made.extend_from_slice(line.get(end..).unwrap_or_default());
            }
            _ => made.extend_from_slice(line),
        }
    }
    made
}

/// Lines with their ends; a quoted field may hold line ends.
fn lines(record: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut is_quoted = false;
    record.split_inclusive(move |byte| {
        is_quoted ^= *byte == b'"';
        *byte == b'\n' && !is_quoted
    })
}

/// Fields as they are written.
fn fields(line: &[u8]) -> Vec<&[u8]> {
    let end = line.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |at| at + 1);
    let mut is_quoted = false;
    let commas = |byte: &u8| {
        is_quoted ^= *byte == b'"';
        *byte == b',' && !is_quoted
    };
    line.get(..end).unwrap_or_default().split(commas).collect()
}

fn unquoted(field: &[u8]) -> Vec<u8> {
    let Some(inner) = field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")) else {
        return field.to_vec();
    };
    let mut plain = Vec::with_capacity(inner.len());
    let mut was_quote = false;
    for byte in inner {
        was_quote = *byte == b'"' && !was_quote;
        if !was_quote {
            plain.push(*byte);
        }
    }
    plain
}

/// RFC 4648, section 5, without padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word =
            group.iter().chain(&[0, 0]).take(3).fold(0, |word: usize, byte| word << 8 | usize::from(*byte));
        for place in 0..=group.len() {
            let letter = ALPHABET.get(word >> (18 - 6 * place) & 63);
            text.extend(letter.map(|letter| char::from(*letter)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_specification() {
        // RFC 4648, section 10.
        let vectors =
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE")];
        for (plain, text) in vectors {
            assert_eq!(base64(plain.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "-_8");
    }

    #[test]
    fn only_the_lines_of_changed_files_change() {
        // The SHA-256 of "abc" (FIPS 180-4, example).
        const ABC: &str = "sha256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0,3";
        let names: [&[u8]; 4] = [b"a.so", b"b \"c\",\nd.so", b"none.so", b"x-1.dist-info/RECORD"];
        let mut sums = names.into_iter().map(|name| (name, (Sum::of(b"abc"), 0))).collect();
        let text = |sum: &str| {
            format!(
                "other.so,sha256=AAA,1\r\n./a.so,{sum}\r\n\"b \"\"c\"\",\nd.so\",{sum}\nx-1.dist-info/RECORD,,\na.so.py,sha256=a,9"
            )
        };
        let made = updated(text("sha512=AAAA,77").as_bytes(), &mut sums);
        assert_eq!(String::from_utf8(made).unwrap(), text(ABC));
        assert_eq!(names.map(|name| sums[name].1), [1, 1, 0, 1]);
    }

    #[test]
    fn record_is_the_one_of_the_wheel_itself() {
        assert!(is_record(b"x-1.0.dist-info/RECORD"));
        assert!(!is_record(b"x/_vendor/y-1.0.dist-info/RECORD"));
        assert!(!is_record(b"x-1.0.dist-info/RECORD.jws"));
    }
}
