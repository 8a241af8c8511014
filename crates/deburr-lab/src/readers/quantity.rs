//! The kinds of numbers that programs report, and numbers as programs write them.
//!
//! In: text, and where it is. Out: finite numbers in seconds, bytes or a second of either; anything else is
//! an error with its line or field.

use super::error::{ReadError, ReportPlace};
use crate::stats::Direction;

/// A unit, and whether more or less of it is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quantity {
    pub(super) unit: &'static str,
    pub(super) direction: Direction,
}

pub(super) const TIME: Quantity = Quantity { unit: "s", direction: Direction::Smaller };
pub(super) const RATE: Quantity = Quantity { unit: "1/s", direction: Direction::Larger };
pub(super) const BANDWIDTH: Quantity = Quantity { unit: "B/s", direction: Direction::Larger };

/// A finite number.
pub(super) fn number(place: ReportPlace, what: &str, text: &str) -> Result<f64, ReadError> {
    let text = text.trim();
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| ReadError::at(place, format!("{what}: {:?} is no number", shortened(text))))
}

/// A number before the unit that `steps` knows, with how many of the base unit are in one, or one in how
/// many. Powers of ten divide, so that the nearest number comes out.
pub(super) fn scaled(
    place: ReportPlace,
    what: &str,
    text: &str,
    steps: &[(&str, UnitFactor)],
) -> Result<f64, ReadError> {
    let text = text.trim();
    let unit_at = text.find(|c: char| c.is_alphabetic() && c != 'e' && c != 'E').unwrap_or(text.len());
    let (digits, unit) = text.split_at_checked(unit_at).unwrap_or((text, ""));
    match steps.iter().find(|(name, _)| *name == unit.trim()) {
        Some((_, UnitFactor::Times(by))) => Ok(number(place, what, digits)? * by),
        Some((_, UnitFactor::Of(whole))) => Ok(number(place, what, digits)? / whole),
        None => Err(ReadError::at(place, format!("{what}: {:?} is no number with a unit", shortened(text)))),
    }
}

/// A unit in base units.
#[derive(Debug, Clone, Copy)]
pub(super) enum UnitFactor {
    /// So many of them.
    Times(f64),
    /// So many make one of them.
    Of(f64),
}

/// Milliseconds in seconds.
pub(super) fn milliseconds(value: f64) -> f64 {
    value / 1e3
}

/// What a message has room for.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// `p99` of `99.000`.
pub(super) fn percentile(place: ReportPlace, text: &str) -> Result<String, ReadError> {
    let share = number(place.clone(), "a percentile", text)?;
    if (0.0..=100.0).contains(&share) {
        Ok(format!("p{share}"))
    } else {
        Err(ReadError::at(place, format!("{share} is no percentile")))
    }
}

/// Lines with their numbers, counted from 1, without what a progress line left before a carriage return.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| {
        let shown = line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or_default();
        (index + 1, shown)
    })
}
