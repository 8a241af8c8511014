//! A forecast → tables for people, after those of the record: one for each kernel. Every row says that it is predicted.

use super::tables::rate;
use crate::render::style::Palette;
use crate::text::number::{counted, nanoseconds};
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_says_that_it_is_predicted() {
        let point = |variant: &str, threads, fairness| PredictedPoint {
            kind: "predicted",
            kernel: "fetch-add".to_owned(),
            variant: variant.to_owned(),
            threads,
            rate: 2.5e7,
            ns: 640.0,
            fairness,
            longest_wait_ns: 12_345.0,
            retries: 0.5,
            operations: 20_000,
        };
        let forecast = Forecast {
            preview: true,
            transfer_ns: 40.0,
            share_ns: 20.0,
            request_ns: 40.0,
            fitted_points: 1,
            fitted_threads: 2,
            fit_error: 1.02,
            left_out: vec!["fence: mfence".to_owned()],
            points: vec![point("lock xadd", 16, Some(0.98)), point("cmpxchg loop", 1024, None)],
        };
        let mut out = Vec::new();
        text(&mut out, &forecast, Palette::new(false)).unwrap();
        let expected = "
Predicted, not measured, in preview, by a model of one cache line: transfer 40.0 ns, share 20.0 ns, request 40.0 ns
Fitted to 1 measured point with up to 2 threads, which it is 1.02× off on average; docs/contention-model.md has its errors.
With two threads, transfers and requests cannot be distinguished: measure four or more for a better prediction.

fetch-add (predicted)
  threads  variant                        time         rate  fairness  longest wait  retries
       16  lock xadd     predicted      640 ns     25.0 M/s       98%       12.3 µs     0.50
     1024  cmpxchg loop  predicted      640 ns     25.0 M/s         -       12.3 µs     0.50

Not predicted: fence: mfence.
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
