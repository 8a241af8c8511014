//! Findings held against the oracle's counts, site by site.

use crate::command::Checked;
use crate::oracle::Atomics;
use std::collections::BTreeMap;

/// Insists that two lists of sites are the same, and shows the first differences if not.
///
/// # Panics
/// If they differ.
pub fn assert_same_sites(
    what: &str,
    deburr: &BTreeMap<u64, String>,
    oracle: &BTreeMap<u64, String>,
    values: bool,
) {
    let missed: Vec<_> = oracle.iter().filter(|(at, _)| !deburr.contains_key(at)).take(8).collect();
    let invented: Vec<_> = deburr.iter().filter(|(at, _)| !oracle.contains_key(at)).take(8).collect();
    assert!(
        missed.is_empty() && invented.is_empty(),
        "{what}: deburr {}, objdump {}; missed {missed:x?}, invented {invented:x?}",
        deburr.len(),
        oracle.len()
    );
    if values {
        let differing: Vec<_> =
            oracle.iter().filter(|(at, value)| deburr.get(at) != Some(value)).take(8).collect();
        assert!(differing.is_empty(), "{what}: other names at {differing:x?}, deburr says {deburr:x?}");
    }
}

/// Insists that deburr's view of a file's atomics is the oracle's: helper bodies, call sites with the helpers' names, and
/// the load-exclusives of `expected_loops` as findings of `llsc-loop` or, of 16 bytes, of `llsc-pair`, where a load is no
/// loop that LSE would do without.
///
/// # Panics
/// If they differ.
pub fn assert_atomics(
    what: &str,
    checked: &Checked,
    oracle: &Atomics,
    expected_loops: &BTreeMap<u64, String>,
) {
    assert_same_sites(
        &format!("{what}: outlined-atomic"),
        &checked.findings("outlined-atomic", "helper"),
        &oracle.helper_calls,
        true,
    );
    let mut loops = checked.findings("llsc-loop", "operation");
    let mut pairs = checked.findings("llsc-pair", "operation");
    pairs.retain(|_, operation| operation != "load");
    loops.extend(pairs);
    assert_same_sites(&format!("{what}: llsc-loop and llsc-pair"), &loops, expected_loops, false);
    assert_eq!(checked.atomics("helper_bodies"), oracle.helpers.len() as u64, "{what}: helper bodies");
}
