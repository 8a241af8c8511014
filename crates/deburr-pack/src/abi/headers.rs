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
    /// Whether one of them puts names together (`##`).
    makes_names: bool,
}

impl Headers {
    /// Adds a header by the name of its file, without folders.
    pub fn add(&mut self, name: &str, text: Vec<u8>) {
        self.names.insert(name.as_bytes().to_owned());
        self.makes_names |= memchr::memmem::find(&text, b"##").is_some();
        self.texts.push(text);
    }

    /// Whether no header was added.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Whether users can see the definition of a type, which is in a file of this name.
    pub(super) fn show(&self, file: &[u8], name: &[u8]) -> bool {
        // Headers may be joined when they are installed, so the file is not all that counts; and `##` makes names that no text has.
        let is_named = || self.texts.iter().any(|text| uses(text, name).next().is_some());
        self.names.contains(file)
            || self.texts.iter().any(|text| may_define(text, name))
            || (self.makes_names && !is_named())
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

/// Whether a text may define a type of a name. Where it only names it, nothing but words come after the name, and then the end of a
/// declaration or a `*`: after a macro, an attribute, a comment, a base class or a condition of the preprocessor a brace may come.
fn may_define(text: &[u8], name: &[u8]) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || byte.is_ascii_whitespace();
    uses(text, name)
        .any(|after| !after.iter().find(|byte| !is_word(byte)).is_some_and(|byte| b";,)*".contains(byte)))
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

    #[test]
    fn in_doubt_a_type_is_shown() {
        let shown = |text: &str| {
            let mut headers = Headers::default();
            headers.add("all.h", text.as_bytes().to_vec());
            headers.show(b"types.h", b"Item")
        };
        for text in [
            "struct Item { int x; };",
            "struct Item /* a, b; */ { int x; };",
            "struct Item // note, with commas\n{ int x; };",
            "class Item final : public Base<int, 4> { int x; };",
            "struct Item ALIGNED(16) { int x; };",
            "struct Item\n#ifdef __AVX__\n ALIGNED\n#endif\n{ int x; };",
            "#define ITEM Item\nstruct ITEM { int x; };",
            "#define T(x) Item##x\nstruct Other;",
            "#define P(x) It##x\nstruct P(em) { int x; };",
            "template<> struct Item<int> { int x; };",
            "enum Item",
        ] {
            assert!(shown(text), "{text}");
        }
        for text in [
            "struct Item;",
            "typedef struct Item Handle;",
            "struct Item *make(int, struct Item *const, const struct Item *);",
            "void take(struct Item *item, int);",
            "class Item;\nstruct Other { Item *item; };",
        ] {
            assert!(!shown(text), "{text}");
        }
    }
}
