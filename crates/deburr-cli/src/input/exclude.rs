//! `--exclude`: patterns → which files, folders and members of packages are left out.
//!
//! A pattern describes a path, the end of one, or a folder or package above: `*.o`, `tests`, `usr/lib/debug`, `app.deb!opt/*`.

use super::path::{is_file, plain};

/// What is left out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Excluded {
    patterns: Vec<String>,
}

impl Excluded {
    /// What some patterns describe.
    pub(crate) fn new(patterns: &[String]) -> Excluded {
        let patterns = patterns.iter().map(|pattern| pattern.strip_suffix('/').unwrap_or(pattern).to_owned());
        Excluded { patterns: patterns.filter(|pattern| !pattern.is_empty()).collect() }
    }

    /// Whether a path is left out, or anything above it.
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = plain(path);
        let above = path.match_indices(['/', '!']).filter_map(|(at, _)| path.get(..at));
        let mut all = above.filter(|above| !above.is_empty()).chain([path]);
        !self.patterns.is_empty()
            && all.any(|path| self.patterns.iter().any(|pattern| is_file(pattern, path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_leaves_out_what_it_describes_and_all_below() {
        for (pattern, path) in [
            ("*.o", "build/a/b.o"),
            ("tests", "build/tests/a/b.so"),
            ("tests/", "tests/b.so"),
            ("./build", "./build/b.so"),
            ("app.deb", "pool/app.deb!usr/lib/x.so"),
            ("usr/lib/debug", "pool/app.deb!usr/lib/debug/x.so"),
            ("app.deb!usr/*", "app.deb!usr/lib/x.so"),
            ("*.whl", "all.tar!dist/a.whl!a/x.so"),
            ("*avx2*", "lib/dot_avx2.so"),
        ] {
            assert!(Excluded::new(&[pattern.to_owned()]).has(path), "{pattern} {path}");
        }
        for (pattern, path) in
            [("tests", "build/mytests/b.so"), ("*.o", "a.o.so"), ("b", "build/b.so"), ("", "x"), ("/", "/x")]
        {
            assert!(!Excluded::new(&[pattern.to_owned()]).has(path), "{pattern} {path}");
        }
        assert!(!Excluded::default().has("x.so"));
    }
}
