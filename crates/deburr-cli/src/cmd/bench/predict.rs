//! `deburr bench --predict`: a record and numbers of threads → what the contention model says of them. In preview.

use crate::args::bench::BenchFormat;
use crate::cmd::failure::Failure;
use crate::render::bench;
use crate::render::style::Palette;
use deburr_lab::bench::forecast::{Forecast, ForecastError};
use deburr_lab::bench::record::BenchRecord;
use serde::Serialize;
use std::io::Write;

/// What is predicted; `None` where nothing is to be.
type Predicted = Result<Option<Forecast>, ForecastError>;

/// A record with what is predicted from it, apart from what was measured.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    record: &'a BenchRecord,
    forecast: &'a Forecast,
}

/// Predicts as many threads as are wanted, each number once.
pub(super) fn forecast(record: &BenchRecord, threads: &[u32]) -> Predicted {
    let mut wanted: Vec<usize> = threads.iter().map(|&threads| threads as usize).collect();
    wanted.sort_unstable();
    wanted.dedup();
    (!wanted.is_empty()).then(|| deburr_lab::bench::forecast::forecast(record, &wanted)).transpose()
}

/// The JSON of a record, with the forecast if there is one.
pub(super) fn document(record: &BenchRecord, forecast: Option<&Option<Forecast>>) -> Result<String, Failure> {
    let text = match forecast.and_then(Option::as_ref) {
        Some(forecast) => serde_json::to_string_pretty(&Document { record, forecast }),
        None => serde_json::to_string_pretty(record),
    };
    text.map_err(|error| Failure::Message(error.to_string()))
}

/// Prints the forecast after the record. What was measured is on the output by then, whatever becomes of the forecast.
pub(super) fn conclude(
    out: &mut dyn Write,
    predicted: Predicted,
    format: BenchFormat,
    palette: Palette,
) -> Result<(), Failure> {
    match predicted {
        Ok(Some(forecast)) if format == BenchFormat::Text => bench::forecast(out, &forecast, palette)?,
        Ok(_) => {}
        Err(error) => {
            out.flush()?;
            return Err(Failure::Message(format!("--predict: {error}")));
        }
    }
    Ok(())
}
