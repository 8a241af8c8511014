//! Amounts as options have them: steps and times.

use std::time::Duration;

/// A number of steps, such as 500M or 2G; the units are powers of 1000.
pub(crate) fn steps(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'm' | 'M')) => (&text[..at], 1_000_000),
        Some((at, 'g' | 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let steps = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    steps.ok_or_else(|| "expected a number of steps, such as 500M or 2G".to_owned())
}

/// A time, such as 90, 90s, 10m or 2h.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let (digits, unit) = match text.char_indices().next_back() {
        Some((at, 's')) => (&text[..at], 1),
        Some((at, 'm')) => (&text[..at], 60),
        Some((at, 'h')) => (&text[..at], 3600),
        _ => (text, 1),
    };
    let seconds = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
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
        for wrong in ["", "M", "-1", "1.5M", "99999999999G", "1d"] {
            assert!(steps(wrong).is_err() && (wrong == "99999999999G" || time(wrong).is_err()), "{wrong}");
        }
    }
}
