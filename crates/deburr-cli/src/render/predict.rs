//! A forecast → tables for people, after those of the record: one for each kernel. Every row says that it is predicted.

use super::bench::{nanoseconds, rate};
use super::number::counted;
use super::style::Palette;
use deburr_lab::bench::forecast::{Forecast, PredictedPoint};
use std::io::{self, Write};

/// Prints a forecast.
pub(crate) fn text(out: &mut dyn Write, forecast: &Forecast, palette: Palette) -> io::Result<()> {
    writeln!(
        out,
        "\n{}, in preview, by a model of one cache line: transfer {}, share {}, request {}",
        palette.bold("Predicted, not measured"),
        nanoseconds(forecast.transfer_ns),
        nanoseconds(forecast.share_ns),
        nanoseconds(forecast.request_ns),
    )?;
    let points = counted(forecast.fitted_points as u64, "measured point");
    writeln!(
        out,
        "Fitted to {points} with up to {} threads, which it is {:.2}× off on average; docs/contention-model.md has its errors.",
        forecast.fitted_threads, forecast.fit_error,
    )?;
    if forecast.fitted_threads == 2 {
        writeln!(
            out,
            "With two threads, transfers and requests cannot be distinguished: measure four or more for a better prediction."
        )?;
    }
    for points in forecast.points.chunk_by(|one, next| one.kernel == next.kernel) {
        table(out, points, palette)?;
    }
    if !forecast.left_out.is_empty() {
        writeln!(out, "\nNot predicted: {}.", forecast.left_out.join("; "))?;
    }
    Ok(())
}

fn table(out: &mut dyn Write, points: &[PredictedPoint], palette: Palette) -> io::Result<()> {
    let Some(first) = points.first() else { return Ok(()) };
    writeln!(out, "\n{} (predicted)", palette.bold(&first.kernel))?;
    let names = points.iter().map(|point| point.variant.chars().count());
    let width = names.max().unwrap_or_default().max("variant".len());
    let header = format!(
        "  threads  {:width$}  {:9}  {:>10}  {:>11}  fairness  longest wait  retries",
        "variant", "", "time", "rate"
    );
    writeln!(out, "{}", palette.dim(&header))?;
    for point in points {
        let fairness = point.fairness.map_or("-".to_owned(), |fairness| format!("{:.0}%", 100.0 * fairness));
        writeln!(
            out,
            "  {:>7}  {:width$}  {}  {:>10}  {:>9}/s  {fairness:>8}  {:>12}  {:>7.2}",
            point.threads,
            point.variant,
            point.kind,
            nanoseconds(point.ns),
            rate(point.rate),
            nanoseconds(point.longest_wait_ns),
            point.retries,
        )?;
    }
    Ok(())
}
