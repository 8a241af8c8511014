//! Names as a package has them → text for people.
//!
//! Names are bytes that the maker of the package chose. They go to terminals, free of control characters, and
//! are never opened.

/// A name that is kept, as text of one line.
pub(crate) fn shown(name: &[u8]) -> String {
    deburr_text::shown(name).into_owned()
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
    fn name_begins_where_the_archiver_ended() {
        assert_eq!(tidied(b"./usr/bin/"), b"usr/bin");
        assert_eq!(tidied(b"/etc"), b"etc");
        assert_eq!(tidied(b"../x"), b"../x");
    }
}
