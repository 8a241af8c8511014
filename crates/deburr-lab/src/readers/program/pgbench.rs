//! pgbench (PostgreSQL documentation, pgbench, "Notes").
//!
//! A report begins with `transaction type:`. Before version 14 it has `tps` twice: the one without the time
//! to connect counts. With `-C` each transaction connects, and there is only one. What `-P` and `-r` print,
//! and the numbers of single scripts (indented by ` - `), are none of the whole run.

use crate::readers::error::{ReadError, ReportPlace};
use crate::readers::format::Format;
use crate::readers::gathered::Gathered;
use crate::readers::measurement::Measurement;
use crate::readers::metrics::Metrics;
use crate::readers::quantity::{RATE, TIME, lines, milliseconds, number};

pub(super) const METRICS: Metrics = Metrics::fixed(&[("tps", RATE), ("latency", TIME)]);

pub(super) fn read(text: &str) -> Result<Vec<Measurement>, ReadError> {
    let mut found = Gathered::new(Format::Pgbench, METRICS);
    for (number_of_line, line) in lines(text) {
        let place = ReportPlace::Line(number_of_line);
        if line.starts_with("transaction type:") {
            found.report(number_of_line)?;
        } else if let Some(rest) = line.strip_prefix("tps = ") {
            let (digits, said) = rest.split_once(' ').unwrap_or((rest, ""));
            if !said.starts_with("(including connections establishing)") {
                found.once(place.clone(), "tps", number(place, "tps", digits)?)?;
            }
        } else if let Some(rest) = line.strip_prefix("latency average") {
            // Up to 9.5 with a colon.
            let Some(rest) = rest.strip_prefix(" = ").or_else(|| rest.strip_prefix(": ")) else { continue };
            let digits = rest.trim_end().strip_suffix("ms").unwrap_or(rest);
            let latency = milliseconds(number(place.clone(), "latency average", digits)?);
            found.once(place, "latency", latency)?;
        } else if line.contains("Run was aborted") {
            return Err(ReadError::line(number_of_line, "pgbench says that its run was aborted"));
        }
    }
    found.finish_alike()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_version_14_the_time_to_connect_does_not_count() {
        let report = "transaction type: <builtin: TPC-B (sort of)>\nlatency average: 7.021 ms\n\
            tps = 712.165617 (including connections establishing)\ntps = 712.221039 (excluding connections establishing)\n";
        let found = read(&report.repeat(3)).unwrap();
        assert_eq!(
            (found[1].name.as_str(), found[1].values.as_slice()),
            ("latency", [0.007_021; 3].as_slice())
        );
        assert_eq!(
            (found[0].name.as_str(), found[0].values.as_slice()),
            ("tps", [712.221_039; 3].as_slice())
        );
    }

    #[test]
    fn reports_that_are_cut_off_or_say_a_thing_twice_are_refused_with_the_line() {
        let report =
            "transaction type: x\nlatency average = 1 ms\ntps = 5 (without initial connection time)\n";
        let error = |text: String| read(&text).unwrap_err().to_string();
        assert_eq!(error(String::new()), "no result of pgbench in it");
        assert_eq!(
            error(format!("{report}tps = 6 (without initial connection time)\n")),
            "line 4: tps a second time in one report of pgbench"
        );
        assert_eq!(
            error(format!("{report}transaction type: x\n")),
            "line 4: a report of pgbench without results: cut off?"
        );
        assert!(
            error(format!("{report}transaction type: x\nlatency average = 1 ms\n"))
                .starts_with("tps: 1 of 2 reports")
        );
        assert_eq!(
            error("tps = -nan (without initial connection time)".to_owned()),
            "line 1: tps: \"-nan\" is no number"
        );
        let aborted = format!("{report}pgbench: error: Run was aborted; the above results are incomplete.\n");
        assert_eq!(error(aborted), "line 4: pgbench says that its run was aborted");
    }
}
