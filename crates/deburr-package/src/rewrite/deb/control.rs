//! The control files of a Debian package, for files that were replaced.
//!
//! `md5sums` (dh_md5sums(1): what `md5sum` writes) gets their new sums; `Installed-Size` (deb-substvars(5):
//! KiB, the size of each file rounded up) moves by what they grew.

use crate::name::{shown, tidied};
use crate::rewrite::error::{Made, RewriteError};
use crate::rewrite::payload::Replaced;
use crate::rewrite::tar::edit::{Edit, Member};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// The editor of `control.tar`.
pub(crate) struct Control<'r> {
    path: &'r str,
    replaced: &'r HashMap<Vec<u8>, Replaced>,
    /// Replaced files that `md5sums` does not have, if there is one.
    pub(crate) missing: Vec<String>,
    most: u64,
}

impl<'r> Control<'r> {
    /// `path`: of the archive; `most`: bytes of a control file.
    pub(crate) fn new(path: &'r str, replaced: &'r HashMap<Vec<u8>, Replaced>, most: u64) -> Control<'r> {
        Control { path, replaced, missing: Vec::new(), most }
    }

    fn md5sums(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut made = Vec::with_capacity(bytes.len());
        let mut met = HashSet::new();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            match named(line).and_then(|(at, name)| Some((at, self.replaced.get_key_value(&*name)?))) {
                Some((at, (name, replaced))) => {
                    met.insert(name);
                    made.extend_from_slice(line.get(..at).unwrap_or_default());
                    made.extend(replaced.md5.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()));
                    made.extend_from_slice(line.get(at + 32..).unwrap_or_default());
                }
                None => made.extend_from_slice(line),
            }
        }
        let missing = self.replaced.keys().filter(|name| !met.contains(name));
        self.missing = missing.map(|name| shown(name)).collect();
        self.missing.sort();
        made
    }

    fn installed_size(&self, bytes: &[u8]) -> Vec<u8> {
        const FIELD: &[u8] = b"installed-size:";
        let more = self.replaced.values().fold(0, |sum: i64, replaced| sum.saturating_add(replaced.more));
        if more == 0 {
            return bytes.to_vec();
        }
        let mut made = Vec::with_capacity(bytes.len());
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let value = line.split_at_checked(FIELD.len());
            let value = value.filter(|(field, _)| field.eq_ignore_ascii_case(FIELD)).map(|(_, value)| value);
            let old = value.and_then(|value| std::str::from_utf8(value).ok()?.trim().parse::<i64>().ok());
            match (old, line.split_at_checked(FIELD.len())) {
                (Some(old), Some((field, _))) => {
                    made.extend_from_slice(field);
                    let new = old.saturating_add(more).max(0);
                    made.extend(format!(" {new}").into_bytes());
                    let end =
                        line.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |at| at + 1);
                    made.extend_from_slice(line.get(end..).unwrap_or_default());
                }
                _ => made.extend_from_slice(line),
            }
        }
        made
    }
}

/// Where a line's digits begin, and the name after them. `md5sum` begins a line with a backslash if the name
/// has escaped line ends or backslashes.
fn named(line: &[u8]) -> Option<(usize, Cow<'_, [u8]>)> {
    let at = usize::from(line.starts_with(b"\\"));
    let (digits, name) = line.get(at..)?.split_at_checked(32)?;
    let is_sum = digits.iter().all(u8::is_ascii_hexdigit);
    let name = name.strip_prefix(b"  ").or_else(|| name.strip_prefix(b" *")).filter(|_| is_sum)?;
    let name = tidied(name.strip_suffix(b"\n").unwrap_or(name));
    if at == 0 {
        return Some((at, Cow::Borrowed(name)));
    }
    let mut plain = Vec::with_capacity(name.len());
    let mut bytes = name.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => plain.push(if bytes.next()? == &b'n' { b'\n' } else { b'\\' }),
            byte => plain.push(*byte),
        }
    }
    Some((at, Cow::Owned(plain)))
}

impl Edit for Control<'_> {
    fn wants(&mut self, member: &Member, _first: &[u8]) -> Made<bool> {
        let name = tidied(&member.name);
        let Some(size) = member.size.filter(|_| matches!(name, b"md5sums" | b"control")) else {
            return Ok(false);
        };
        if size > self.most {
            let reason = format!("{size} bytes, where at most {} are read (--max-member)", self.most);
            return Err(RewriteError::Unreadable { path: format!("{}!{}", self.path, shown(name)), reason });
        }
        Ok(true)
    }

    fn edit(&mut self, member: &Member, bytes: Vec<u8>) -> Made<(Vec<u8>, bool)> {
        let made = match tidied(&member.name) {
            b"md5sums" => self.md5sums(&bytes),
            _ => self.installed_size(&bytes),
        };
        let is_new = made != bytes;
        Ok((made, is_new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(names: &[(&str, i64)]) -> HashMap<Vec<u8>, Replaced> {
        let one = |(name, more): &(&str, i64)| {
            (name.as_bytes().to_vec(), Replaced { md5: [0xab; 16], more: *more })
        };
        names.iter().map(one).collect()
    }

    #[test]
    fn only_the_sums_of_replaced_files_change() {
        let replaced = replaced(&[("usr/a", 0), ("usr/b c", 0), ("usr/n\n\\", 0), ("usr/gone", 0)]);
        let mut control = Control::new("p", &replaced, 99);
        let old = "0123456789abcdef0123456789abcdef";
        let lines = |sum: &str| {
            format!("{sum}  usr/a\n{old}  usr/aa\n\\{sum}  usr/n\\n\\\\\nodd\n{sum} *usr/b c\n{old}  usr/z")
        };
        let made = control.md5sums(lines(old).as_bytes());
        assert_eq!(String::from_utf8(made).unwrap(), lines(&"ab".repeat(16)));
        assert_eq!(control.missing, ["usr/gone"]);
    }

    #[test]
    fn installed_size_moves_by_the_blocks_that_files_take() {
        let text =
            |size: &str| format!("Package: x\nInstalled-Size:{size}\nDescription: Installed-Size: 4\n");
        for (more, before, after) in [(3, " 100", " 103"), (-4, " 2", " 0"), (0, " 7", " 7"), (1, " x", " x")]
        {
            let replaced = replaced(&[("a", more)]);
            let made = Control::new("p", &replaced, 99).installed_size(text(before).as_bytes());
            assert_eq!(String::from_utf8(made).unwrap(), text(after));
        }
    }
}
