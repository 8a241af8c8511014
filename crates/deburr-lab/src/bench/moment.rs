//! The time of a measurement, as a record keeps it.
//!
//! In: the system's clock. Out: RFC 3339 in UTC with whole seconds, `2026-01-31T12:00:00Z`.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds of a day.
const DAY: u64 = 86_400;
/// Days of 400 years of the Gregorian calendar, after which it repeats.
const CYCLE: u64 = 146_097;
/// Days from 1 March of the year 0 to 1 January 1970.
const EPOCH: u64 = 719_468;

/// This moment; `None` where the clock is before 1970.
pub fn now() -> Option<String> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some(rfc3339(since.as_secs()))
}

/// So many seconds after the beginning of 1970. Years begin in March here, so that a leap day is the last of its year.
pub fn rfc3339(seconds: u64) -> String {
    let (days, second) = (seconds / DAY + EPOCH, seconds % DAY);
    let day = days % CYCLE;
    // What leap days add is taken away: every 4 years but not every 100, and at the end of the cycle.
    let year = (day - day / 1_460 + day / 36_524 - day / (CYCLE - 1)) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    // From March on, five months have 153 days, twice and a part.
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let is_next = month >= 10;
    let month = if is_next { month - 9 } else { month + 3 };
    let year = 400 * (days / CYCLE) + year + u64::from(is_next);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("{year:04}-{month:02}-{of_month:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `date -u --date=@SECONDS +%FT%TZ` has them.
    #[test]
    fn a_moment_is_written_as_date_writes_it() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_709_210_096, "2024-02-29T12:34:56Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(seconds), expected);
        }
    }

    #[test]
    fn every_day_of_400_years_follows_the_one_before_it() {
        let mut last = String::new();
        for day in 0..CYCLE {
            let date = rfc3339(day * DAY);
            assert!(date > last, "{date} after {last}");
            last = date;
        }
        assert_eq!(last, "2369-12-31T00:00:00Z");
    }
}
