//! What `--metric` names → where a number comes from, and which way of it is better.

use deburr_lab::comparison::Question;
use deburr_lab::measure::metric::{Metric, Source};
use deburr_lab::stats::Direction;
use regex::Regex;

/// A metric with what it means.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) question: Question,
    pub(super) metric: Metric,
    /// As it was asked for, for the record.
    pub(super) text: String,
}

/// What other programs print: name, pattern, unit, direction.
const PRINTED: [(&str, &str, &str, Direction); 4] = [
    (
        "pgbench:tps",
        // Before PostgreSQL 14 also with the time to connect.
        r"(?m)^tps = ([0-9.]+) \((?:without initial connection time|excluding connections establishing|including reconnection times)\)",
        "1/s",
        Direction::Larger,
    ),
    ("pgbench:latency", r"(?m)^latency average = ([0-9.]+) ms", "ms", Direction::Smaller),
    ("sysbench:events", r"events per second:\s*([0-9.]+)", "1/s", Direction::Larger),
    ("sysbench:transactions", r"transactions:\s*[0-9]+\s*\(([0-9.]+) per sec\.\)", "1/s", Direction::Larger),
];

/// Reads what `--metric` says.
pub(super) fn parse(text: &str) -> Result<Asked, String> {
    let made = |name: &str, unit: &str, direction: Direction, source: Source| Asked {
        question: Question { name: name.to_owned(), unit: unit.to_owned(), direction },
        metric: Metric { name: name.to_owned(), source },
        text: text.to_owned(),
    };
    let pattern = |pattern: &str| {
        let wrong = |error: regex::Error| format!("--metric {text:?}: {error}");
        Regex::new(pattern).map(Source::Pattern).map_err(wrong)
    };
    let own = match text {
        "wall" => Some(("s", Source::Wall)),
        "user" => Some(("s", Source::User)),
        "system" => Some(("s", Source::System)),
        "memory" => Some(("B", Source::PeakMemory)),
        _ => None,
    };
    if let Some((unit, source)) = own {
        return Ok(made(text, unit, Direction::Smaller, source));
    }
    if let Some((name, printed, unit, direction)) = PRINTED.iter().find(|printed| printed.0 == text) {
        return Ok(made(name, unit, *direction, pattern(printed)?));
    }
    let (head, expression) = text.split_once('=').ok_or_else(|| {
        format!("--metric {text:?}: unknown; expected wall, user, system, memory, {}, or NAME,larger|smaller[,UNIT]=REGEX", {
            PRINTED.map(|printed| printed.0).join(", ")
        })
    })?;
    let mut parts = head.split(',');
    let name =
        parts.next().filter(|name| !name.is_empty()).ok_or_else(|| format!("--metric {text:?}: no name"))?;
    let direction = match parts.next() {
        Some("larger") => Direction::Larger,
        Some("smaller") => Direction::Smaller,
        _ => {
            return Err(format!(
                "--metric {text:?}: say which way is better: {name},larger=… or {name},smaller=…"
            ));
        }
    };
    let unit = parts.next().unwrap_or_default();
    Ok(made(name, unit, direction, pattern(expression)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_lab::measure::process::Usage;

    fn read(metric: &str, text: &str) -> f64 {
        parse(metric).expect("a metric").metric.read(&Usage::default(), text).expect("a number")
    }

    #[test]
    fn numbers_of_well_known_programs_are_found_in_what_they_print() {
        let pgbench = "latency average = 0.123 ms\ninitial connection time = 3.1 ms\ntps = 8123.456 (without initial connection time)\n";
        assert_eq!(read("pgbench:tps", pgbench), 8123.456);
        assert_eq!(read("pgbench:latency", pgbench), 0.123);
        let older = "tps = 99.5 (including connections establishing)\ntps = 100.5 (excluding connections establishing)\n";
        assert_eq!(read("pgbench:tps", older), 100.5);
        assert_eq!(read("sysbench:events", "    events per second:   123.45\n"), 123.45);
        assert_eq!(read("sysbench:transactions", "    transactions:     1234   (61.69 per sec.)\n"), 61.69);
    }

    #[test]
    fn patterns_need_a_name_and_a_direction() {
        let asked = parse("rate,larger,1/s=([0-9]+) op=s").expect("a metric");
        assert_eq!((asked.question.unit.as_str(), asked.question.direction), ("1/s", Direction::Larger));
        assert_eq!(read("rate,larger=([0-9]+) op=s", "17 op=s"), 17.0);
        for (wrong, why) in [
            ("speed", "unknown"),
            ("rate=x", "say which way"),
            (",larger=x", "no name"),
            ("rate,larger=(", "regex"),
        ] {
            let error = parse(wrong).expect_err("no metric");
            assert!(error.contains(why), "{error}");
        }
    }
}
