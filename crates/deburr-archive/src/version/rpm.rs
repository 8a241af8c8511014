//! RPM's order of versions: rpm-version(7), which `rpmvercmp` implements.

use super::{compare_digits, split_while};
use std::cmp::Ordering;

/// Epoch, version and release.
#[derive(Debug, Clone)]
pub(crate) struct RpmVersion {
    epoch: u64,
    version: String,
    release: String,
}

impl RpmVersion {
    pub(crate) fn new(epoch: u64, version: &str, release: &str) -> RpmVersion {
        RpmVersion { epoch, version: version.to_owned(), release: release.to_owned() }
    }
}

impl Ord for RpmVersion {
    fn cmp(&self, other: &RpmVersion) -> Ordering {
        self.epoch
            .cmp(&other.epoch)
            .then_with(|| compare(self.version.as_bytes(), other.version.as_bytes()))
            .then_with(|| compare(self.release.as_bytes(), other.release.as_bytes()))
    }
}

/// Segments of digits and of letters, whatever is between them. `~` is before the end, and `^` after it but before all else.
fn compare(mut one: &[u8], mut other: &[u8]) -> Ordering {
    'segments: loop {
        let is_between = |byte: &u8| !byte.is_ascii_alphanumeric() && *byte != b'~' && *byte != b'^';
        (_, one) = split_while(one, is_between);
        (_, other) = split_while(other, is_between);
        for sign in [b'~', b'^'] {
            match (one.first() == Some(&sign), other.first() == Some(&sign)) {
                (true, true) => {
                    (one, other) = (after(one), after(other));
                    continue 'segments;
                }
                (false, false) => {}
                (true, false) if sign == b'^' && other.is_empty() => return Ordering::Greater,
                (false, true) if sign == b'^' && one.is_empty() => return Ordering::Less,
                (true, false) => return Ordering::Less,
                (false, true) => return Ordering::Greater,
            }
        }
        let Some(first) = one.first().filter(|_| !other.is_empty()) else {
            return one.len().min(1).cmp(&other.len().min(1));
        };
        let is_number = first.is_ascii_digit();
        let is_part = |byte: &u8| if is_number { byte.is_ascii_digit() } else { byte.is_ascii_alphabetic() };
        let ((segment, one_rest), (other_segment, other_rest)) =
            (split_while(one, is_part), split_while(other, is_part));
        // Of a number and letters the number is newer.
        let order = match (other_segment.is_empty(), is_number) {
            (true, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, true) => compare_digits(segment, other_segment),
            (false, false) => segment.cmp(other_segment),
        };
        if order.is_ne() {
            return order;
        }
        (one, other) = (one_rest, other_rest);
    }
}

fn after(text: &[u8]) -> &[u8] {
    text.get(1..).unwrap_or_default()
}

impl PartialOrd for RpmVersion {
    fn partial_cmp(&self, other: &RpmVersion) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// As the order has it: `1.0` and `1_00` are equal.
impl PartialEq for RpmVersion {
    fn eq(&self, other: &RpmVersion) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for RpmVersion {}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(one: &str, other: &str) -> Ordering {
        let forward = compare(one.as_bytes(), other.as_bytes());
        assert_eq!(forward.reverse(), compare(other.as_bytes(), one.as_bytes()), "{one} {other}");
        forward
    }

    #[test]
    fn segments_tildes_and_carets_are_in_order() {
        for (less, more) in [
            ("1.0", "1.1"),
            ("9", "10"),
            ("1.0a", "1.0.1"),
            ("1.0", "1.0a"),
            ("1.0~rc1", "1.0"),
            ("1.0~rc1", "1.0~rc2"),
            ("1.0", "1.0^git1"),
            ("1.0^git1", "1.0.1"),
            ("1.0^git1", "1.01"),
            ("1.0~rc1", "1.0~rc1^git1"),
            ("1.0^git1~pre", "1.0^git1"),
            ("abc", "1"),
            ("a", "b"),
            ("99999999999999999999998", "99999999999999999999999"),
        ] {
            assert_eq!(order(less, more), Ordering::Less, "{less} {more}");
        }
        for (one, other) in [("1.0", "1_00"), ("1..0", "1.0"), ("", ""), ("1.0^", "1.0^"), ("1.", "1")] {
            assert_eq!(order(one, other), Ordering::Equal, "{one} {other}");
        }
    }

    #[test]
    fn an_epoch_counts_first_and_a_release_last() {
        let of = RpmVersion::new;
        assert!(of(1, "1", "1") > of(0, "9", "9"));
        assert!(of(0, "2", "1") > of(0, "1", "9"));
        assert!(of(0, "1", "2.fc40") > of(0, "1", "1.fc41"));
        assert_eq!(of(0, "1.0", "1"), of(0, "1.00", "01"));
    }

    #[test]
    fn a_version_of_nothing_but_signs_ends() {
        for part in ["~", "^", "a1", "-"] {
            let text = part.repeat(100_000);
            assert_eq!(order(&text, &format!("{text}~")), Ordering::Greater, "{part}");
        }
    }
}
