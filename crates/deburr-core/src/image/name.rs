//! The name of a symbol, read from the file when it is first wanted: most names never are.
//!
//! In: the rest of a string table from where a name begins. Out: the name, up to the next zero byte. Follows the gABI,
//! "String Table".

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// Names are cut here: no compiler's names are longer, and a hostile file could share one name of megabytes
/// among all of its symbols.
pub(super) const LIMIT: usize = 1 << 16;

/// A name that a file has for something: text, found as it is read.
#[derive(Clone)]
pub struct Name<'a>(Form<'a>);

#[derive(Clone)]
enum Form<'a> {
    /// What begins with the name, which a zero byte ends.
    Unread(&'a str),
    Read(Cow<'a, str>),
}

impl<'a> Name<'a> {
    /// The name at an offset of a string table that is plain text as a whole; `None` where this does not show that the name is.
    pub(super) fn unread(strings: &'a str, at: usize) -> Option<Name<'a>> {
        let end = strings.len().min(at.saturating_add(LIMIT));
        strings.get(at..end).map(|rest| Name(Form::Unread(rest)))
    }

    /// A name of any bytes; what is not UTF-8 in it is replaced, and what would act upon a terminal is spelt out.
    pub(super) fn shown(name: &'a [u8]) -> Name<'a> {
        Name(Form::Read(deburr_text::shown(name)))
    }

    /// Reads the name, so that it is not searched for its end again.
    pub(super) fn read(&mut self) {
        if let Form::Unread(rest) = self.0 {
            self.0 = Form::Read(Cow::Borrowed(first(rest)));
        }
    }

    /// Its first byte, 0 where it has none.
    pub(super) fn touch(&self) -> u8 {
        let bytes = match &self.0 {
            Form::Unread(rest) => rest.as_bytes(),
            Form::Read(name) => name.as_bytes(),
        };
        bytes.first().copied().unwrap_or(0)
    }

    /// The same name without the file.
    pub(super) fn into_owned(self) -> Name<'static> {
        Name::from((*self).to_owned())
    }
}

/// The first string of some that zero bytes end.
fn first(rest: &str) -> &str {
    memchr::memchr(0, rest.as_bytes()).and_then(|end| rest.get(..end)).unwrap_or(rest)
}

impl Deref for Name<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Form::Unread(rest) => first(rest),
            Form::Read(name) => name,
        }
    }
}

impl AsRef<str> for Name<'_> {
    fn as_ref(&self) -> &str {
        self
    }
}

impl<'a> From<&'a str> for Name<'a> {
    fn from(name: &'a str) -> Name<'a> {
        Name(Form::Read(Cow::Borrowed(name)))
    }
}

impl From<String> for Name<'_> {
    fn from(name: String) -> Self {
        Name(Form::Read(Cow::Owned(name)))
    }
}

impl PartialEq for Name<'_> {
    fn eq(&self, other: &Name<'_>) -> bool {
        **self == **other
    }
}

impl Eq for Name<'_> {}

impl PartialEq<str> for Name<'_> {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Name<'_> {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}
