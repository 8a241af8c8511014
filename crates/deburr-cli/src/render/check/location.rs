//! Where a finding is, for people and for programs: its address, its file as known from a folder, and as a URI.
//!
//! In: a finding or a path. Out: text for every format that names places in files.

use crate::config::allow::NO_NAME;
use crate::percent::encoded;
use deburr_core::report::PlacedFinding;
use std::borrow::Cow;

/// A finding's address: `0x4a10`, in relocatable objects `.text+0x10`.
pub(in crate::render::check) fn place(finding: &PlacedFinding) -> String {
    let section = finding.section.as_deref().map(|name| format!("{name}+")).unwrap_or_default();
    format!("{section}{}", finding.svma)
}

/// The function that a finding is in. One without a name is marked as such, with the nearest one that has a name.
pub(in crate::render::check) fn function_of(finding: &PlacedFinding) -> Cow<'_, str> {
    match (&finding.function, &finding.near) {
        (Some(name), _) => Cow::Borrowed(name),
        (None, Some(near)) => Cow::Owned(format!("{NO_NAME}; near {near}")),
        (None, None) => Cow::Borrowed(NO_NAME),
    }
}

/// A path as it is known in a folder, if it is there.
pub(super) fn local<'p>(path: &'p str, here: Option<&str>) -> &'p str {
    let below = here.and_then(|here| path.strip_prefix(here)?.strip_prefix('/'));
    let path = below.unwrap_or(path);
    path.strip_prefix("./").unwrap_or(path)
}

/// A path as a URI reference (RFC 3986): relative, or of the scheme `file`.
pub(super) fn uri(path: &str) -> String {
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    // A colon in the first segment would look like a scheme; it is escaped everywhere.
    format!("{scheme}{}", encoded(path, "-._~/!+@"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_without_a_name_is_never_called_by_the_nearest_one() {
        let mut finding = crate::render::check::example::example().findings.remove(0);
        assert_eq!(function_of(&finding), "spin_lock");
        finding.near = Some("init+0x40".into());
        assert_eq!(function_of(&finding), "spin_lock");
        finding.function = None;
        assert_eq!(function_of(&finding), "(no name); near init+0x40");
        finding.near = None;
        assert_eq!(function_of(&finding), "(no name)");
    }

    #[test]
    fn path_is_named_from_the_folder_that_it_is_in() {
        for (path, expected) in [
            ("/work/src/a.c", "src/a.c"),
            ("./a.c", "a.c"),
            ("/workshop/a.c", "/workshop/a.c"),
            ("a.c", "a.c"),
        ] {
            assert_eq!(local(path, Some("/work")), expected);
        }
        assert_eq!(local("/work/a.c", None), "/work/a.c");
    }

    #[test]
    fn uri_escapes_what_a_path_may_hold() {
        assert_eq!(uri("usr/bin/c++ 名:%"), "usr/bin/c++%20%E5%90%8D%3A%25");
        assert_eq!(uri("/usr/lib/x.so"), "file:///usr/lib/x.so");
        assert_eq!(uri("a.deb!usr/x.a(y.o)"), "a.deb!usr/x.a%28y.o%29");
    }
}
