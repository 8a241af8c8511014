//! Versions of glibc, as symbols and platform tags name them.

use std::fmt;

/// A version of two numbers: `2.17`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    /// The first number.
    pub(crate) major: u32,
    /// The second number.
    pub(crate) minor: u32,
}

/// The first version with `DT_RELR`, whose files need `GLIBC_ABI_DT_RELR` (glibc 2.36, NEWS).
pub(crate) const WITH_PACKED_RELOCATIONS: Version = Version { major: 2, minor: 36 };

impl Version {
    /// The version in which glibc got a symbol version: `GLIBC_2.17`, `GLIBC_2.2.5`. `GLIBC_PRIVATE` is of no version.
    pub(crate) fn of_glibc(name: &str) -> Option<Version> {
        let numbers = match name.strip_prefix("GLIBC_")? {
            "ABI_DT_RELR" => return Some(WITH_PACKED_RELOCATIONS),
            numbers => numbers,
        };
        let mut numbers = numbers.split('.').map(|number| number.parse().ok());
        Some(Version { major: numbers.next()??, minor: numbers.next()?? })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_symbols_are_those_of_glibc() {
        let of = |name: &str| Version::of_glibc(name).map(|version| version.to_string());
        assert_eq!(of("GLIBC_2.2.5").as_deref(), Some("2.2"));
        assert_eq!(of("GLIBC_2.34").as_deref(), Some("2.34"));
        assert_eq!(of("GLIBC_ABI_DT_RELR").as_deref(), Some("2.36"));
        for name in
            ["GLIBC_PRIVATE", "GLIBCXX_3.4.9", "GLIBC_2", "GLIBC_", "GLIBC_2.x", "GLIBC_99999999999.1"]
        {
            assert_eq!(of(name), None, "{name}");
        }
        let newest = [Version::of_glibc("GLIBC_2.9"), Version::of_glibc("GLIBC_2.17")].into_iter().max();
        assert_eq!(newest.flatten().map(|version| version.minor), Some(17));
    }
}
