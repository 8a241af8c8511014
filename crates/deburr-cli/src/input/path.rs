//! Which files a table of the configuration means: a pattern describes a path, or the end of one.

use deburr_core::pattern;

/// Whether a pattern describes a path, or the end of one.
pub(crate) fn is_file(wanted: &str, path: &str) -> bool {
    ends_of(path).any(|end| pattern::matches(plain(wanted), end))
}

/// A path, and its ends from each folder or file name on. A file in a package is `package!inner/path`.
pub(crate) fn ends_of(path: &str) -> impl Iterator<Item = &str> {
    let path = plain(path);
    let marks = path.match_indices(['/', '!']);
    std::iter::once(path).chain(marks.filter_map(|(at, _)| path.get(at + 1..)))
}

/// A path without the `./` in front that makes no difference.
pub(crate) fn plain(path: &str) -> &str {
    path.strip_prefix("./").filter(|rest| !rest.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_meant_by_path_or_by_the_end_of_its_path() {
        for (wanted, path) in [
            ("lib/*.so", "usr/lib/x.so"),
            ("x.so", "usr/lib/x.so"),
            ("usr/*", "usr/a/b"),
            ("./x.so", "x.so"),
            ("lib/x.so", "./lib/x.so"),
            ("x.so", "a.deb!usr/lib/x.so"),
            ("usr/lib/x.so", "pool/a.deb!usr/lib/x.so"),
            ("a.deb!*", "pool/a.deb!usr/lib/x.so"),
            ("data.zip!x.so", "a.whl!data.zip!x.so"),
        ] {
            assert!(is_file(wanted, path), "{wanted} {path}");
        }
        for (wanted, path) in
            [("x.so", "usr/lib/xx.so"), ("lib/x.so", "usr/mylib/x.so"), ("x.so", "a.deb!usr/xx.so")]
        {
            assert!(!is_file(wanted, path), "{wanted} {path}");
        }
    }
}
