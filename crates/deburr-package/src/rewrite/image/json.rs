//! JSON documents with other digests in them: RFC 8259; image-spec, "Content Descriptors". The text stays as
//! it is, except for strings that are the digest or the file name of something that changed, and the `size`
//! next to such a `digest`.
//!
//! What has two readings is refused: a key that an object has twice, a digest within a string that is
//! neither.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// What something is called now, by the digest that it had; in lower-case hexadecimal digits.
#[derive(Debug, Default)]
pub(super) struct Changes(BTreeMap<String, New>);

/// What it is now.
#[derive(Debug)]
struct New {
    digest: String,
    size: usize,
}

/// A document with its changes.
pub(super) struct Spliced {
    pub(super) bytes: Vec<u8>,
    /// Strings that name the old digest for good: tags of signatures (`sha256-…`).
    pub(super) tags: Vec<String>,
}

impl Changes {
    pub(super) fn insert(&mut self, old: String, digest: String, size: usize) {
        if old != digest {
            self.0.insert(old, New { digest, size });
        }
    }

    /// The digest that a string has in it, if it is a digest or a file's name and that changed.
    fn of<'t>(&self, text: &'t str) -> Option<(&'t str, &New)> {
        let bare = text.strip_prefix("sha256:").or_else(|| text.strip_prefix("blobs/sha256/"));
        let file = || text.strip_suffix(".json").or_else(|| text.strip_suffix(".tar"));
        let old = bare.or_else(file).unwrap_or(text);
        Some((old, self.0.get(old)?))
    }

    /// A document that refers to what changed.
    ///
    /// # Errors
    /// Why it is not understood.
    pub(super) fn splice(&self, text: &str) -> Result<Spliced, &'static str> {
        // Its depth is bounded by that.
        serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|_| "no JSON")?;
        let mut scan = Scan { changes: self, text, at: 0, edits: Vec::new(), tags: Vec::new() };
        scan.value()?;
        let (mut bytes, mut from) = (Vec::with_capacity(text.len()), 0);
        scan.edits.sort_by_key(|(range, _)| range.start);
        for (range, new) in &scan.edits {
            bytes.extend_from_slice(text.as_bytes().get(from..range.start).unwrap_or_default());
            bytes.extend_from_slice(new.as_bytes());
            from = range.end;
        }
        bytes.extend_from_slice(text.as_bytes().get(from..).unwrap_or_default());
        Ok(Spliced { bytes, tags: scan.tags })
    }
}

/// A JSON document, and how far it has been read.
struct Scan<'s> {
    changes: &'s Changes,
    text: &'s str,
    at: usize,
    edits: Vec<(Range<usize>, String)>,
    tags: Vec<String>,
}

impl<'s> Scan<'s> {
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or_default()
    }

    /// Goes over white space, and over one such character if it is there.
    fn skip(&mut self, wanted: u8) -> bool {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
        let is_there = self.peek() == wanted;
        self.at += usize::from(is_there);
        is_there
    }

    fn value(&mut self) -> Result<(), &'static str> {
        if self.skip(b'{') {
            return self.object();
        }
        if self.skip(b'[') {
            while !self.skip(b']') {
                self.value()?;
                self.skip(b',');
            }
            return Ok(());
        }
        match self.peek() {
            b'"' => self.string().map(|_| ()),
            _ => {
                self.bare();
                Ok(())
            }
        }
    }

    fn object(&mut self) -> Result<(), &'static str> {
        let (mut keys, mut size, mut new_size) = (HashSet::new(), None, None);
        while !self.skip(b'}') {
            let (key, _) = self.string()?;
            if !keys.insert(key) {
                return Err("an object with a key twice");
            }
            self.skip(b':');
            self.skip(b' ');
            match (key, self.peek()) {
                ("digest", b'"') => new_size = self.string()?.1,
                ("size", b'0'..=b'9') => size = Some(self.bare()),
                _ => self.value()?,
            }
            self.skip(b',');
        }
        if let (Some(range), Some(new)) = (size, new_size) {
            self.edits.push((range, new.to_string()));
        }
        Ok(())
    }

    /// A number or a literal.
    fn bare(&mut self) -> Range<usize> {
        let start = self.at;
        while self.at < self.text.len()
            && !matches!(self.peek(), b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n')
        {
            self.at += 1;
        }
        start..self.at
    }

    /// A string as it is written, between its quotation marks; and the size of what it refers to, if that
    /// changed.
    fn string(&mut self) -> Result<(&'s str, Option<usize>), &'static str> {
        self.skip(b'"');
        let start = self.at;
        while !matches!(self.peek(), b'"') && self.at < self.text.len() {
            self.at += if self.peek() == b'\\' { 2 } else { 1 };
        }
        let text = self.text.get(start..self.at).ok_or("no JSON")?;
        self.skip(b'"');
        if let Some((old, new)) = self.changes.of(text) {
            let from = start + text.find(old).unwrap_or_default();
            self.edits.push((from..from + old.len(), new.digest.clone()));
            return Ok((text, Some(new.size)));
        }
        if text.len() >= 64 && self.changes.0.keys().any(|old| text.contains(old.as_str())) {
            match text.starts_with("sha256-") {
                true => self.tags.push(text.to_owned()),
                false => return Err("a digest within a text"),
            }
        }
        Ok((text, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(digit: char) -> String {
        digit.to_string().repeat(64)
    }

    fn changes() -> Changes {
        let mut changes = Changes::default();
        changes.insert(hex('a'), hex('b'), 1234);
        changes
    }

    #[test]
    fn digests_and_their_sizes_change_and_nothing_else() {
        let (a, b, c) = (hex('a'), hex('b'), hex('c'));
        let old = format!(
            "{{ \"x\":[1.50, {{\"size\" : 7,\"digest\": \"sha256:{a}\", \"k\":{{\"size\":7}} }}],\n\"sha256:{a}\":null,\
             \"size\":7,\"s\":{{\"digest\":\"sha256:{c}\",\"size\":7}}, \"f\":[\"blobs/sha256/{a}\",\"{a}.json\",\"\\\"{{\"]}}\n"
        );
        let made = changes().splice(&old).unwrap();
        let wanted = old.replacen("7", "1234", 1).replace(&a, &b);
        assert_eq!(String::from_utf8(made.bytes).unwrap(), wanted);
    }

    #[test]
    fn tag_of_a_signature_stays_and_is_named() {
        let text = format!(r#"{{"annotations":{{"name":"sha256-{}.sig"}}}}"#, hex('a'));
        let made = changes().splice(&text).unwrap();
        assert_eq!((made.bytes, made.tags.len()), (text.into_bytes(), 1));
    }

    #[test]
    fn document_with_two_readings_is_refused() {
        let a = hex('a');
        for text in [
            r#"{"size":1,"size":2}"#.to_owned(),
            format!(r#"{{"x":"see sha256:{a}"}}"#),
            format!(r#"{{"x":"blobs\/sha256\/{a}"}}"#),
            "{".to_owned(),
            "[1] 2".to_owned(),
        ] {
            assert!(changes().splice(&text).is_err(), "{text}");
        }
    }
}
