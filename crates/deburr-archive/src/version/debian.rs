//! Debian's order of versions: the Debian Policy Manual, section 5.6.12; deb-version(7).

use super::{compare_digits, split_while};
use std::cmp::Ordering;

/// `[epoch:]upstream[-revision]`
#[derive(Debug, Clone)]
pub(crate) struct DebianVersion {
    epoch: u64,
    upstream: String,
    revision: String,
}

impl DebianVersion {
    /// `None` where the text is no version.
    pub(crate) fn parse(text: &str) -> Option<DebianVersion> {
        let (epoch, rest) = match text.split_once(':') {
            Some((epoch, rest)) if epoch.bytes().all(|byte| byte.is_ascii_digit()) => {
                (epoch.parse().ok()?, rest)
            }
            Some(_) => return None,
            None => (0, text),
        };
        let (upstream, revision) = rest.rsplit_once('-').unwrap_or((rest, ""));
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || ".+-~:".contains(c);
        let is_version = !upstream.is_empty() && rest.chars().all(is_allowed) && !rest.ends_with('-');
        is_version.then(|| DebianVersion {
            epoch,
            upstream: upstream.to_owned(),
            revision: revision.to_owned(),
        })
    }
}

impl Ord for DebianVersion {
    fn cmp(&self, other: &DebianVersion) -> Ordering {
        self.epoch
            .cmp(&other.epoch)
            .then_with(|| compare(self.upstream.as_bytes(), other.upstream.as_bytes()))
            .then_with(|| compare(self.revision.as_bytes(), other.revision.as_bytes()))
    }
}

/// Turns of what is no digit and what is.
fn compare(mut one: &[u8], mut other: &[u8]) -> Ordering {
    while !one.is_empty() || !other.is_empty() {
        let ((words, one_rest), (other_words, other_rest)) = (
            split_while(one, |byte| !byte.is_ascii_digit()),
            split_while(other, |byte| !byte.is_ascii_digit()),
        );
        let ((digits, one_rest), (other_digits, other_rest)) =
            (split_while(one_rest, u8::is_ascii_digit), split_while(other_rest, u8::is_ascii_digit));
        let order = compare_words(words, other_words).then_with(|| compare_digits(digits, other_digits));
        if order.is_ne() {
            return order;
        }
        (one, other) = (one_rest, other_rest);
    }
    Ordering::Equal
}

/// `~` before the end, the end before letters, letters before all else.
fn compare_words(one: &[u8], other: &[u8]) -> Ordering {
    let rank = |word: &[u8], at: usize| match word.get(at) {
        Some(b'~') => (-1, 0),
        None => (0, 0),
        Some(byte) if byte.is_ascii_alphabetic() => (1, *byte),
        Some(byte) => (2, *byte),
    };
    let places = 0..one.len().max(other.len());
    places
        .map(|at| rank(one, at).cmp(&rank(other, at)))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

impl PartialOrd for DebianVersion {
    fn partial_cmp(&self, other: &DebianVersion) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// As the order has it: `1.0` and `1.00` are equal.
impl PartialEq for DebianVersion {
    fn eq(&self, other: &DebianVersion) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for DebianVersion {}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(one: &str, other: &str) -> Ordering {
        let of = |text: &str| DebianVersion::parse(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(of(one).cmp(&of(other)).reverse(), of(other).cmp(&of(one)), "{one} {other}");
        of(one).cmp(&of(other))
    }

    /// The policy's own: `~~`, `~~a`, `~`, the empty part, `a`.
    #[test]
    fn the_examples_of_the_policy_are_in_order() {
        let sorted = ["1~~", "1~~a", "1~", "1", "1a"];
        for (at, one) in sorted.iter().enumerate() {
            for (other_at, other) in sorted.iter().enumerate() {
                assert_eq!(order(one, other), at.cmp(&other_at), "{one} {other}");
            }
        }
    }

    #[test]
    fn epochs_revisions_and_numbers_count() {
        for (less, more) in [
            ("9", "10"),
            ("2:1", "10:0"),
            ("9.9", "1:0.1"),
            ("1.0-1", "1.0-1+deb12u1"),
            ("1.0-1~bpo12+1", "1.0-1"),
            ("1.0", "1.0-1"),
            ("1.0-9", "1.0-10"),
            ("1.0a", "1.0+b"),
            ("1.0z", "1.0."),
            ("1-2-3", "1-10-1"),
            ("99999999999999999999998", "99999999999999999999999"),
        ] {
            assert_eq!(order(less, more), Ordering::Less, "{less} {more}");
        }
        for (one, other) in [("1.0", "1.00"), ("0:1", "1"), ("1-0", "1"), ("1.0-1", "01.0-01")] {
            assert_eq!(order(one, other), Ordering::Equal, "{one} {other}");
        }
    }

    #[test]
    fn what_is_no_version_is_none() {
        for text in
            ["", "-", "-1", "1-", "a:1", "1:", ":", "1 2", "1_2", "1/2", "1\0", "ü", "99999999999999999999:1"]
        {
            assert!(DebianVersion::parse(text).is_none(), "{text:?}");
        }
    }
}
