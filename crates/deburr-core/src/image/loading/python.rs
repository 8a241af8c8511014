//! Which versions of CPython define a name of its C API: `knowledge/python-symbols.txt`.
//!
//! In: a name, and the versions that a module is for, as bits: bit 11 is Python 3.11. Out: those of them that do not define it. The data is of
//! CPython 3.6.15, 3.7.16, 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1 and 3.13.0, built with `--enable-shared`, and of 3.14.10 and 3.15.2 of Debian; what another version defines, and
//! names that no version of these defines, is not known.

use std::collections::HashMap;
use std::sync::LazyLock;

const SYMBOLS: &str = include_str!("../../knowledge/python-symbols.txt");

/// The versions that the data is of, and by name those that define it. Names that all of them define are not listed.
static DEFINED: LazyLock<(u32, HashMap<&'static str, u32>)> = LazyLock::new(|| {
    let mut all = 0;
    let mut defined = HashMap::new();
    for line in SYMBOLS.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, ranges)) = line.split_once(' ') else { continue };
        let versions = ranges.split(' ').filter_map(bits).fold(0, |all, bits| all | bits);
        match name {
            "all" => all = versions,
            name => drop(defined.insert(name, versions)),
        }
    }
    (all, defined)
});

/// `6-8`, or `10`.
fn bits(range: &str) -> Option<u32> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
    Some((first..=last).filter_map(|minor| 1u32.checked_shl(minor)).fold(0, |all, bit| all | bit))
}

/// The versions among some that do not define a name.
pub(crate) fn without(name: &str, versions: u32) -> u32 {
    let (all, defined) = &*DEFINED;
    defined.get(name).map_or(0, |defined| versions & all & !defined)
}

/// Versions as people read them: `Python 3.8, 3.9`.
pub(crate) fn listed(versions: u32) -> String {
    let minors = (0..u32::BITS).filter(|minor| versions >> minor & 1 != 0).map(|minor| format!("3.{minor}"));
    format!("Python {}", minors.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_lack_a_name_are_known_by_the_data() {
        let of = |minors: &[u32]| minors.iter().fold(0, |all, minor| all | 1 << minor);
        // "What's New": added in 3.10, and in 3.11. Another was added in 3.9, and compiled into modules until it had a symbol.
        assert_eq!(without("PyModule_AddObjectRef", of(&[8, 9, 10])), of(&[8, 9]));
        assert_eq!(without("PyObject_CallOneArg", of(&[9, 10, 11])), of(&[9, 10]));
        assert_eq!(without("_PyDict_Pop_KnownHash", 0), 0);
        assert_eq!(without("PyThreadState_EnterTracing", of(&[8, 9, 10, 11, 12, 13])), of(&[8, 9, 10]));
        // All have it, nobody has it, and a version that is not known.
        assert_eq!((without("PyObject_Call", u32::MAX), without("PyFoo_Bar", u32::MAX)), (0, 0));
        assert_eq!(without("PyModule_AddObjectRef", of(&[31, 2])), 0);
        assert_eq!(listed(of(&[8, 11])), "Python 3.8, 3.11");
    }

    #[test]
    fn every_line_of_the_data_is_understood() {
        let lines = SYMBOLS.lines().filter(|line| !line.starts_with('#')).count();
        let (all, defined) = &*DEFINED;
        assert_eq!((defined.len() + 1, all.count_ones()), (lines, 10));
        assert!(defined.values().all(|versions| *versions != 0 && versions != all && versions & !all == 0));
    }
}
