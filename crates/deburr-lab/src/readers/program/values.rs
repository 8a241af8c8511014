//! Numbers, one a line; empty lines and those that begin with `#` are none.
//!
//! No program's format, but what a shell loop leaves. The metric is `value`, without a unit.

use crate::readers::error::{ReadError, ReportPlace};
use crate::readers::format::Format;
use crate::readers::gathered::Gathered;
use crate::readers::measurement::Measurement;
use crate::readers::metrics::Metrics;
use crate::readers::quantity::{Quantity, shortened};
use crate::stats::Direction;

/// Whether more or less is better is for the caller to say.
pub(super) const METRICS: Metrics =
    Metrics::fixed(&[("value", Quantity { unit: "", direction: Direction::Smaller })]);

pub(super) fn read(text: &str) -> Result<Vec<Measurement>, ReadError> {
    let mut found = Gathered::new(Format::Values, METRICS);
    for (index, line) in text.lines().enumerate() {
        let (place, line) = (ReportPlace::Line(index + 1), line.trim());
        if !line.is_empty() && !line.starts_with('#') {
            let value = line.parse().ok().filter(|value: &f64| value.is_finite());
            let wrong = || ReadError::at(place.clone(), format!("{:?} is no number", shortened(line)));
            found.push(place.clone(), "value", value.ok_or_else(wrong)?)?;
        }
    }
    found.finish()
}
