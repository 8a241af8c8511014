//! wrk, and wrk2 which prints more percentiles (their `src/wrk.c`, `print_stats_latency`; units in
//! `src/units.c`).
//!
//! A report begins with `Running`. Answers other than 2xx and 3xx are no work done: a run with some of them
//! is refused. What wrk2 calls uncorrected (`--u_latency`) leaves out the time that requests waited to be
//! sent, and does not count.

use crate::readers::error::{ReadError, ReportPlace};
use crate::readers::format::Format;
use crate::readers::gathered::Gathered;
use crate::readers::measurement::Measurement;
use crate::readers::metrics::Metrics;
use crate::readers::quantity::{BANDWIDTH, RATE, TIME, UnitFactor, lines, number, percentile, scaled};

pub(super) const METRICS: Metrics =
    Metrics::fixed(&[("requests", RATE), ("latency", TIME), ("transfer", BANDWIDTH)]);

const TIMES: &[(&str, UnitFactor)] = &[
    ("us", UnitFactor::Of(1e6)),
    ("ms", UnitFactor::Of(1e3)),
    ("s", UnitFactor::Times(1.0)),
    ("m", UnitFactor::Times(60.0)),
    ("h", UnitFactor::Times(3600.0)),
];
const SIZES: &[(&str, UnitFactor)] = &[
    ("B", UnitFactor::Times(1.0)),
    ("KB", UnitFactor::Times(1024.0)),
    ("MB", UnitFactor::Times(1_048_576.0)),
    ("GB", UnitFactor::Times(1_073_741_824.0)),
    ("TB", UnitFactor::Times(1_099_511_627_776.0)),
];

pub(super) fn read(text: &str) -> Result<Vec<Measurement>, ReadError> {
    let mut found = Gathered::new(Format::Wrk, METRICS);
    let mut is_uncorrected = false;
    for (number_of_line, line) in lines(text) {
        let (place, line) = (ReportPlace::Line(number_of_line), line.trim());
        if line.starts_with("Running ") && line.contains(" test @ ") {
            found.report(number_of_line)?;
            is_uncorrected = false;
        } else if line.starts_with("Latency Distribution") {
            is_uncorrected = line.contains("Uncorrected");
        } else if let Some(rest) = line.strip_prefix("Latency ") {
            let average = rest.split_whitespace().next().unwrap_or_default();
            found.once(place.clone(), "latency", scaled(place, "latency", average, TIMES)?)?;
        } else if let Some(rest) = line.strip_prefix("Requests/sec:") {
            found.once(place.clone(), "requests", number(place, "Requests/sec", rest)?)?;
        } else if let Some(rest) = line.strip_prefix("Transfer/sec:") {
            found.once(place.clone(), "transfer", scaled(place, "Transfer/sec", rest, SIZES)?)?;
        } else if let Some(rest) = line.strip_prefix("Non-2xx or 3xx responses:") {
            let reason = format!("{} answers were errors: what was measured is no work done", rest.trim());
            return Err(ReadError::line(number_of_line, reason));
        } else if let Some((share, time)) = line.split_once('%').filter(|_| !is_uncorrected) {
            // Such as `99%   15.22ms`; other lines have their percentage at the end.
            if !time.trim().is_empty() && share.parse::<f64>().is_ok() {
                let name = format!("latency:{}", percentile(place.clone(), share)?);
                found.once(place.clone(), name, scaled(place, "latency", time, TIMES)?)?;
            }
        }
    }
    found.finish_alike()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_distinguished() {
        for (text, expected) in
            [("301.22us", 301.22 / 1e6), ("1.5ms", 0.0015), ("1.21s", 1.21), ("1.10m", 66.0)]
        {
            assert_eq!(scaled(ReportPlace::Line(1), "x", text, TIMES), Ok(expected));
        }
        assert_eq!(scaled(ReportPlace::Line(1), "x", "296.67KB", SIZES), Ok(296.67 * 1024.0));
        let error = scaled(ReportPlace::Line(4), "latency", "-nanus", TIMES).unwrap_err();
        assert!(error.to_string().starts_with("line 4: latency: "), "{error}");
    }

    #[test]
    fn answers_that_are_errors_are_no_work_done() {
        let text = "Running 2s test @ http://x\nNon-2xx or 3xx responses: 17\nRequests/sec:   1511.37\n";
        let error = read(text).unwrap_err().to_string();
        assert_eq!(error, "line 2: 17 answers were errors: what was measured is no work done");
    }
}
