//! What `--metric` names → where a number comes from, and in which direction it is better.
//!
//! In: the text of an option. Out: one [`ChosenMetric`], or those that a program always reports.

use deburr_lab::comparison::{self, Conditions, Question, Series};
use deburr_lab::measure::metric::{Metric, Source};
use deburr_lab::measure::pairs::Pair;
use deburr_lab::measure::record::RecordedRun;
use deburr_lab::readers::Format;
use deburr_lab::stats::Direction;
use regex::Regex;

/// A metric with what it means.
#[derive(Debug, Clone)]
pub(super) struct ChosenMetric {
    pub(super) question: Question,
    pub(super) metric: Metric,
    /// As the user wrote it, for the record.
    pub(super) text: String,
}

impl ChosenMetric {
    /// The conditions under which some pairs ran, as far as this metric feels them.
    pub(super) fn conditions(&self, pairs: &[Pair], cores: usize) -> Conditions {
        self.conditions_of(pairs.iter().flat_map(|pair| &pair.runs), cores)
    }

    /// The values of some pairs, with what the load may have done to them; `None`: a run without it.
    pub(super) fn series(&self, pairs: &[Pair], cores: usize, is_under_load: bool) -> Option<Series> {
        let series = comparison::series(pairs, &self.question.name, Some(&self.conditions(pairs, cores)))?;
        let is_bounded = is_bounded(&self.question, &self.metric.source);
        Some(Series { is_bounded, is_under_load, ..series })
    }

    /// As [`ChosenMetric::conditions`], of single runs.
    pub(super) fn conditions_of<'r>(
        &self,
        runs: impl IntoIterator<Item = &'r RecordedRun>,
        cores: usize,
    ) -> Conditions {
        Conditions::of(runs, cores, self.metric.source.counts_waiting())
    }
}

/// Whether load can only have slowed it down in proportion to what it took: so times of the run and rates, but
/// not what the slowest of many requests took, or memory.
fn is_bounded(question: &Question, source: &Source) -> bool {
    match source {
        Source::Wall | Source::User | Source::System | Source::Cpu => true,
        Source::Pattern(_) | Source::Reported(..) => question.direction == Direction::Larger,
        _ => false,
    }
}

/// That memory could not be seen below what this process itself had, where it was so in some run.
pub(super) fn memory_note<'r>(
    chosen: &[ChosenMetric],
    runs: impl Iterator<Item = &'r RecordedRun>,
) -> Option<String> {
    let memory = chosen.iter().find(|chosen| matches!(chosen.metric.source, Source::PeakMemory))?;
    let floor = runs.map(|run| run.usage.memory_floor).max().filter(|floor| *floor > 0)?;
    let (name, floor) = (&memory.question.name, floor as f64 / 1e6);
    Some(format!(
        "{name}: below {floor:.1} MB it cannot be seen here: deburr's own memory counts as the command's"
    ))
}

/// Reads what `--metric` says: one metric, or those that a program always reports.
pub(super) fn parse(text: &str) -> Result<Vec<ChosenMetric>, String> {
    let made = |name: &str, unit: &str, direction: Direction, source: Source| ChosenMetric {
        question: Question { name: name.to_owned(), unit: unit.to_owned(), direction },
        metric: Metric { name: name.to_owned(), source },
        text: text.to_owned(),
    };
    let own = match text {
        "wall" => Some(("s", Source::Wall)),
        "user" => Some(("s", Source::User)),
        "system" => Some(("s", Source::System)),
        "cpu" => Some(("s", Source::Cpu)),
        "memory" => Some(("B", Source::PeakMemory)),
        "voluntary-switches" => Some(("", Source::VoluntarySwitches)),
        "involuntary-switches" => Some(("", Source::InvoluntarySwitches)),
        _ => None,
    };
    if let Some((unit, source)) = own {
        return Ok(vec![made(text, unit, Direction::Smaller, source)]);
    }
    let (program, name) = text.split_once(':').unwrap_or((text, ""));
    if let Ok(format) = program.parse() {
        return reported(format, name);
    }
    let (head, expression) = text.split_once('=').ok_or_else(|| {
        let programs = Format::ALL.map(|format| format!("{format}:…")).join(", ");
        format!(
            "--metric {text:?}: unknown; expected wall, user, system, cpu, memory, voluntary-switches, \
             involuntary-switches, {programs}, or NAME,larger|smaller[,UNIT]=REGEX"
        )
    })?;
    let mut parts = head.split(',');
    let name =
        parts.next().filter(|name| !name.is_empty()).ok_or_else(|| format!("--metric {text:?}: no name"))?;
    let direction = match parts.next() {
        Some("larger") => Direction::Larger,
        Some("smaller") => Direction::Smaller,
        _ => {
            return Err(format!(
                "--metric {text:?}: say which direction is better: {name},larger=… or {name},smaller=…"
            ));
        }
    };
    let unit = parts.next().unwrap_or_default();
    let pattern = Regex::new(expression).map_err(|error| format!("--metric {text:?}: {error}"))?;
    Ok(vec![made(name, unit, direction, Source::Pattern(pattern))])
}

/// A metric of a program's report, or those that all of its reports have.
fn reported(format: Format, name: &str) -> Result<Vec<ChosenMetric>, String> {
    let names = match (name, format.usual()) {
        ("", []) => {
            let names = format.metrics().map(|name| format!("{format}:{name}")).collect::<Vec<String>>();
            return Err(match names.as_slice() {
                [] => format!("--metric {format}: say which, as {format}:NAME:UNIT"),
                names => format!("--metric {format}: say which, such as {}", names.join(", ")),
            });
        }
        ("", usual) => usual.to_vec(),
        (name, _) => vec![name],
    };
    let chosen = names.into_iter().map(|text| {
        let (name, turned) = turned(text);
        let (unit, direction) = format.quantity(name).ok_or_else(|| {
            let names = format.metrics().collect::<Vec<&str>>().join(", ");
            format!("--metric {format}:{name}: {format} has {names}; what of goes before that, a percentile (:p99) after it")
        })?;
        let called = format!("{format}:{name}");
        Ok(ChosenMetric {
            question: Question { name: called.clone(), unit, direction: turned.unwrap_or(direction) },
            metric: Metric { name: called, source: Source::Reported(format, name.to_owned()) },
            text: format!("{format}:{text}"),
        })
    });
    chosen.collect()
}

/// A metric's name, and in which direction it is better if `,larger` or `,smaller` after it says so.
pub(super) fn turned(text: &str) -> (&str, Option<Direction>) {
    match text.rsplit_once(',') {
        Some((name, "larger")) => (name, Some(Direction::Larger)),
        Some((name, "smaller")) => (name, Some(Direction::Smaller)),
        _ => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_lab::measure::metric::read_all;
    use deburr_lab::measure::process::Usage;

    fn one(text: &str) -> ChosenMetric {
        let mut all = parse(text).expect("a metric");
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    fn read(metric: &str, text: &str) -> f64 {
        read_all(&[one(metric).metric], &Usage::default(), text).remove(0).expect("a number")
    }

    #[test]
    fn numbers_of_well_known_programs_are_found_in_what_they_print() {
        let pgbench = "latency average = 0.123 ms\ninitial connection time = 3.1 ms\ntps = 8123.456 (without initial connection time)\n";
        assert_eq!(read("pgbench:tps", pgbench), 8123.456);
        assert_eq!(read("pgbench:latency", pgbench), 0.123 / 1e3);
        let older = "tps = 99.5 (including connections establishing)\ntps = 100.5 (excluding connections establishing)\n";
        assert_eq!(read("pgbench:tps", older), 100.5);
        assert_eq!(read("sysbench:events", "    events per second:   123.45\n"), 123.45);
        assert_eq!(read("sysbench:transactions", "    transactions:     1234   (61.69 per sec.)\n"), 61.69);
        assert_eq!(read("redis-benchmark:SET:requests", "SET: 61.5 requests per second\n"), 61.5);
        assert_eq!(read("go:E/f=json-8:sec/op", "BenchmarkE/f=json-8 1 2 sec/op\n"), 2.0);
    }

    #[test]
    fn a_program_alone_means_what_it_always_reports() {
        let all = parse("pgbench").expect("metrics");
        let names: Vec<&str> = all.iter().map(|chosen| chosen.question.name.as_str()).collect();
        assert_eq!(names, ["pgbench:tps", "pgbench:latency"]);
        assert_eq!(all[1].text, "pgbench:latency");
        for (wrong, why) in [
            ("sysbench", "say which, such as sysbench:events, sysbench:transactions"),
            ("go", "say which, as go:NAME:UNIT"),
            ("pgbench:tips", "pgbench has tps, latency"),
        ] {
            let error = parse(wrong).expect_err("no metric");
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn memory_that_was_measured_with_that_of_deburr_is_noted() {
        let run = |memory_floor| RecordedRun {
            usage: Usage { memory_floor, ..Usage::default() },
            ..RecordedRun::default()
        };
        let runs = [run(0), run(5_300_000)];
        let [memory, wall] = ["memory", "wall"].map(|name| parse(name).expect("a metric"));
        let noted = memory_note(&memory, runs.iter()).expect("a note");
        assert!(noted.starts_with("memory: below 5.3 MB it cannot be seen here"), "{noted}");
        assert_eq!(memory_note(&memory, runs[..1].iter()), None);
        assert_eq!(memory_note(&wall, runs.iter()), None);
    }

    #[test]
    fn user_may_turn_a_metric_around() {
        let chosen = one("google-benchmark:BM_x:hits,larger");
        assert_eq!(
            (chosen.question.direction, chosen.question.name.as_str()),
            (Direction::Larger, "google-benchmark:BM_x:hits")
        );
        assert_eq!(one("google-benchmark:BM_x:hits").question.direction, Direction::Smaller);
    }

    #[test]
    fn patterns_need_a_name_and_a_direction() {
        let chosen = one("rate,larger,1/s=([0-9]+) op=s");
        assert_eq!((chosen.question.unit.as_str(), chosen.question.direction), ("1/s", Direction::Larger));
        assert_eq!(read("rate,larger=([0-9]+) op=s", "17 op=s"), 17.0);
        for (wrong, why) in [
            ("speed", "unknown"),
            ("rate=x", "say which direction"),
            (",larger=x", "no name"),
            ("rate,larger=(", "regex"),
        ] {
            let error = parse(wrong).expect_err("no metric");
            assert!(error.contains(why), "{error}");
        }
    }
}
