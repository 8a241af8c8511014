//! Versions, in the orders of Debian, RPM and Python.
//!
//! The three differ: `1.0~rc1` is before `1.0` in Debian and RPM, `1.0a` after it; in Python `1.0a` is a pre-release.

mod debian;
mod pep440;
mod rpm;

pub(crate) use debian::DebianVersion;
pub(crate) use pep440::Pep440;
pub(crate) use rpm::RpmVersion;

use std::cmp::Ordering;

/// Numbers by their decimal digits, of any length.
fn compare_digits(one: &[u8], other: &[u8]) -> Ordering {
    let (one, other) = (trimmed(one), trimmed(other));
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

fn trimmed(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    digits.get(zeros..).unwrap_or_default()
}

/// What fulfils a condition at the start, and the rest.
fn split_while(text: &[u8], is_part: impl Fn(&u8) -> bool) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| !is_part(byte)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, &[]))
}
