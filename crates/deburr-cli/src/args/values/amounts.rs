//! Amounts as options have them: steps, bytes and times.

use std::time::Duration;

/// A number, and by its last letter the unit that it counts.
fn amount(text: &str, units: &[(char, u64)]) -> Option<u64> {
    let last = text.chars().next_back()?.to_ascii_uppercase();
    let unit = units.iter().find(|(letter, _)| *letter == last);
    let digits = if unit.is_some() { &text[..text.len() - 1] } else { text };
    digits.parse::<u64>().ok()?.checked_mul(unit.map_or(1, |(_, unit)| *unit))
}

/// A number of steps, such as 500M or 2G; the units are powers of 1000.
pub(crate) fn steps(text: &str) -> Result<u64, String> {
    const UNITS: [(char, u64); 3] = [('K', 1_000), ('M', 1_000_000), ('G', 1_000_000_000)];
    amount(text, &UNITS).ok_or_else(|| "expected a number of steps, such as 500M or 2G".to_owned())
}

/// A number of bytes, such as 512M or 2G; the units are powers of 1024.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(char, u64); 4] = [('K', 1 << 10), ('M', 1 << 20), ('G', 1 << 30), ('T', 1 << 40)];
    amount(text, &UNITS).ok_or_else(|| "expected a number of bytes, such as 512M or 2G".to_owned())
}

/// A time, such as 90, 90s, 10m or 2h.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    const UNITS: [(char, u64); 3] = [('S', 1), ('M', 60), ('H', 3600)];
    let seconds = amount(text, &UNITS);
    seconds.map(Duration::from_secs).ok_or_else(|| "expected a time, such as 90s, 10m or 2h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units() {
        assert_eq!(
            [steps("7"), steps("5k"), steps("500M"), steps("2G")],
            [7, 5_000, 500_000_000, 2_000_000_000].map(Ok)
        );
        let seconds = ["90", "90s", "10m", "2h"].map(|text| time(text).map(|time| time.as_secs()));
        assert_eq!(seconds, [90, 90, 600, 7200].map(Ok));
        assert_eq!(
            [size("7"), size("1k"), size("512M"), size("3T")],
            [7, 1 << 10, 512 << 20, 3 << 40].map(Ok)
        );
        for wrong in ["", "M", "-1", "1.5M", "99999999999G", "1d"] {
            assert!(steps(wrong).is_err() && (wrong == "99999999999G" || time(wrong).is_err()), "{wrong}");
        }
    }
}
