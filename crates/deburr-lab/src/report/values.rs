//! Numbers, one a line; empty lines and those that begin with `#` are none.

use super::gathered::Gathered;
use super::quantity::{Quantity, shortened};
use super::{Format, Measurement, Place, ReadError};
use crate::stats::Direction;

/// Which way is better is for the caller to say.
pub(super) const METRICS: &[(&str, Quantity)] =
    &[("value", Quantity { unit: "", direction: Direction::Smaller })];

pub(super) fn read(text: &str) -> Result<Vec<Measurement>, ReadError> {
    let mut found = Gathered::new(Format::Values);
    for (index, line) in text.lines().enumerate() {
        let (place, line) = (Place::Line(index + 1), line.trim());
        if !line.is_empty() && !line.starts_with('#') {
            let value = line.parse().ok().filter(|value: &f64| value.is_finite());
            let wrong = || ReadError::at(place.clone(), format!("{:?} is no number", shortened(line)));
            found.push(place.clone(), "value", value.ok_or_else(wrong)?)?;
        }
    }
    found.finish()
}
