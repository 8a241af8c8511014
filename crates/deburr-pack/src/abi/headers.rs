//! The headers that are installed with a library → which types its users can see.
//!
//! In: the names and texts of headers. Out: whether a type is shown to users. One that is defined in another file, and that no header
//! defines, is opaque to them, whatever the library does with it. In doubt a type is shown.

use std::collections::BTreeSet;

/// The headers that are installed with a library.
#[derive(Debug, Clone, Default)]
pub struct Headers {
    names: BTreeSet<Vec<u8>>,
    texts: Vec<Vec<u8>>,
}

impl Headers {
    /// Adds a header by the name of its file, without folders.
    pub fn add(&mut self, name: &str, text: Vec<u8>) {
        self.names.insert(name.as_bytes().to_owned());
        self.texts.push(text);
    }

    /// Whether there is no header, so that nothing is known.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Whether users can see the definition of a type, which is in a file of this name.
    pub(super) fn show(&self, file: &[u8], name: &[u8]) -> bool {
        // Headers may be joined when they are installed, so the file is not all that counts.
        self.names.contains(file) || self.texts.iter().any(|text| has_definition(text, name))
    }

    /// Whether users can see a typedef, which is in a file of this name.
    pub(super) fn show_typedef(&self, file: &[u8], name: &[u8]) -> bool {
        self.names.contains(file) || self.texts.iter().any(|text| uses(text, name).next().is_some())
    }
}

/// Where a text has a name as a word: what comes after it.
fn uses<'t>(text: &'t [u8], name: &[u8]) -> impl Iterator<Item = &'t [u8]> {
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    // Arguments of a template are not part of the name in a header.
    let name: Vec<u8> = name.iter().copied().take_while(|byte| *byte != b'<').collect();
    let length = name.len();
    let places: Vec<usize> = memchr::memmem::find_iter(text, &name).collect();
    places.into_iter().filter_map(move |at| {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        let after = text.get(at + length..)?;
        (length > 0 && !is_word(before) && !is_word(after.first())).then_some(after)
    })
}

/// Whether a text may define a type of a name: after it comes a brace, and nothing that ends a declaration.
fn has_definition(text: &[u8], name: &[u8]) -> bool {
    uses(text, name)
        .any(|after| after.iter().find(|byte| b"{;,)*&=".contains(byte)).is_some_and(|byte| *byte == b'{'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_type_is_not_shown_and_a_defined_one_is() {
        let mut headers = Headers::default();
        let text = "typedef struct Handle_s Handle;\nHandle *make(struct Handle_s *, int Handle_size);\n\
                    struct API Item : Base<int> { int x; };\ntypedef struct { int y; } Plain;\n";
        headers.add("lib.h", text.as_bytes().to_vec());
        assert!(!headers.show(b"internal.h", b"Handle_s"));
        assert!(headers.show(b"lib.h", b"Handle_s"));
        assert!(headers.show(b"internal.h", b"Item") && headers.show(b"internal.h", b"Item<int>"));
        assert!(!headers.show(b"internal.h", b"Ite") && !headers.show(b"internal.h", b""));
        assert!(headers.show_typedef(b"internal.h", b"Plain") && headers.show_typedef(b"a.h", b"Handle"));
        assert!(!headers.show_typedef(b"internal.h", b"Other"));
    }
}
