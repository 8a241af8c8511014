//! What `--metric` names → where a number comes from, and in which direction it is better.
//!
//! In: the text of an option. Out: one [`ChosenMetric`], or those that a program always reports.

use deburr_lab::comparison::{self, Conditions, Percentile, Question, Series};
use deburr_lab::measure::metric::{Metric, Source};
use deburr_lab::measure::pairs::Pair;
use deburr_lab::measure::process::Event;
use deburr_lab::measure::record::RecordedRun;
use deburr_lab::readers::Format;
use deburr_lab::side::Side;
use deburr_lab::stats::Direction;
use regex::Regex;
use std::collections::BTreeSet;

/// A metric with what it means.
#[derive(Debug, Clone)]
pub(super) struct ChosenMetric {
    pub(super) question: Question,
    pub(super) metric: Metric,
    /// What of the runs is compared, if not each by itself.
    pub(super) percentile: Option<Percentile>,
    /// As the user wrote it, for the record.
    pub(super) text: String,
}

impl ChosenMetric {
    /// Pairs of runs that make one pair of its values.
    pub(super) fn block(&self) -> usize {
        self.percentile.map_or(1, Percentile::block)
    }

    /// The conditions under which some pairs ran, as far as this metric feels them.
    pub(super) fn conditions(&self, pairs: &[Pair], cores: usize) -> Conditions {
        self.conditions_of(pairs.iter().flat_map(|pair| &pair.runs), cores)
    }

    /// Whether what else the machine does may change it.
    pub(super) fn feels_load(&self) -> bool {
        !matches!(self.metric.source, Source::ValgrindInstructions)
    }

    /// Whether the kernel divides it by its ticks, so that a short run may have none of it (getrusage(2), `cputime_adjust` in Linux).
    pub(super) fn is_by_ticks(&self) -> bool {
        matches!(self.metric.source, Source::User | Source::System)
    }

    /// The values of some pairs, with what the load may have done to them; `None`: a run without it.
    pub(super) fn series(&self, pairs: &[Pair], cores: usize, is_under_load: bool) -> Option<Series> {
        let (name, conditions) = (&self.metric.name, self.conditions(pairs, cores));
        let series = match self.percentile {
            _ if !self.feels_load() => comparison::series(pairs, name, None)?,
            Some(percentile) => comparison::percentiles(pairs, name, percentile, &conditions)?,
            None => comparison::series(pairs, name, Some(&conditions))?,
        };
        let series = if self.is_by_ticks() { series.with_zeros_at_their_limit() } else { series };
        let is_bounded = self.percentile.is_none() && is_bounded(&self.question, &self.metric.source);
        Some(Series { is_bounded, is_under_load, ..series })
    }

    /// As [`ChosenMetric::conditions`], of single runs.
    pub(super) fn conditions_of<'r>(
        &self,
        runs: impl IntoIterator<Item = &'r RecordedRun>,
        cores: usize,
    ) -> Conditions {
        let counts_waiting = self.metric.source.counts_waiting() && !is_of_amounts(&self.question.unit);
        Conditions::of(runs, cores, counts_waiting)
    }
}

/// Whether a unit is of amounts, such as `B/op`, which a program does not change by waiting. One that is not known may be of times or
/// rates.
fn is_of_amounts(unit: &str) -> bool {
    let amount = unit.split_once('/').map_or(unit, |(amount, per)| match per {
        "op" | "iter" | "call" | "item" => amount,
        // A rate.
        _ => "",
    });
    let amounts = [
        "b",
        "bytes",
        "kb",
        "mb",
        "gb",
        "kib",
        "mib",
        "gib",
        "count",
        "allocs",
        "instructions",
        "faults",
        "misses",
    ];
    amounts.contains(&amount.to_ascii_lowercase().as_str())
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

/// That runs have none of a time that the kernel divides by its ticks, where some have.
pub(super) fn ticks_note<'r>(
    chosen: &ChosenMetric,
    runs: impl Iterator<Item = &'r RecordedRun>,
) -> Option<String> {
    let name = &chosen.question.name;
    let values: Vec<f64> = runs.filter_map(|run| run.metrics.get(name).copied()).collect();
    let zeros = values.iter().filter(|value| **value == 0.0).count();
    (chosen.is_by_ticks() && (1..values.len()).contains(&zeros)).then(|| {
        format!(
            "{name}: 0 in {zeros} of {} runs, because the kernel divides CPU time by its ticks; they count as half of the smallest \
             other value. --metric cpu is exact",
            values.len()
        )
    })
}

/// That the machine was busy when runs began, although that was waited for.
pub(super) fn gate_note<'r>(runs: impl Iterator<Item = &'r RecordedRun>) -> Option<String> {
    let runs: Vec<&RecordedRun> = runs.collect();
    let waited: f64 = runs.iter().map(|run| run.waited).sum();
    let ungated = runs.iter().filter(|run| run.is_ungated).count();
    (ungated > 0).then(|| {
        format!(
            "{ungated} of {} runs began on a busy machine: {waited:.1} s of waiting made it no quieter",
            runs.len()
        )
    })
}

/// That counters took turns, where they did.
pub(super) fn turns_note<'r>(runs: impl Iterator<Item = &'r RecordedRun>) -> Option<String> {
    let share = runs.filter_map(|run| run.counted).reduce(f64::min).filter(|share| *share < 0.999)?;
    Some(format!(
        "the processor has fewer counters than there are events: each counted during {:.0} % of a run at least, and is \
         scaled; fewer --metric at a time are exact",
        100.0 * share
    ))
}

/// What runs left running, which may have disturbed the runs after them.
pub(super) fn leftovers_note<'r>(runs: impl Iterator<Item = &'r RecordedRun>) -> Option<String> {
    let (mut all, mut with, mut names) = (0, [0; 2], BTreeSet::new());
    for run in runs {
        all += 1;
        if !run.leftovers.is_empty() {
            with[run.side.index()] += 1;
            names.extend(run.leftovers.iter().map(String::as_str));
        }
    }
    let of = |(side, count): (Side, usize)| (count > 0).then(|| format!("{count} of {side}"));
    let sides: Vec<String> = Side::BOTH.into_iter().zip(with).filter_map(of).collect();
    let names: Vec<&str> = names.into_iter().collect();
    (!sides.is_empty()).then(|| {
        format!(
            "of {all} runs {} left processes behind ({}), which disturb what comes after: let the command wait for \
             them, or end them by --prepare",
            sides.join(" and "),
            names.join(", ")
        )
    })
}

/// What Valgrind counts.
const INSTRUCTIONS: &str = "valgrind:instructions";

/// What is known of every run, whatever it prints.
const OWN: [&str; 14] = [
    "wall",
    "user",
    "system",
    "cpu",
    "memory",
    "page-faults",
    "voluntary-switches",
    "involuntary-switches",
    "cycles",
    "instructions",
    "branches",
    "branch-misses",
    "cache-references",
    "cache-misses",
];

/// The unit of what is known of every run, and where it comes from.
fn own(name: &str) -> Option<(&'static str, Source)> {
    Some(match name {
        "wall" => ("s", Source::Wall),
        "user" => ("s", Source::User),
        "system" => ("s", Source::System),
        "cpu" => ("s", Source::Cpu),
        "memory" => ("B", Source::PeakMemory),
        "page-faults" => ("", Source::PageFaults),
        "voluntary-switches" => ("", Source::VoluntarySwitches),
        "involuntary-switches" => ("", Source::InvoluntarySwitches),
        "cycles" => ("", Source::Counted(Event::Cycles)),
        "instructions" => ("", Source::Counted(Event::Instructions)),
        "branches" => ("", Source::Counted(Event::Branches)),
        "branch-misses" => ("", Source::Counted(Event::BranchMisses)),
        "cache-references" => ("", Source::Counted(Event::CacheReferences)),
        "cache-misses" => ("", Source::Counted(Event::CacheMisses)),
        _ => return None,
    })
}

/// Reads what `--metric` says: one metric, or those that a program always reports.
pub(super) fn parse(text: &str) -> Result<Vec<ChosenMetric>, String> {
    let made = |name: &str, unit: &str, direction: Direction, source: Source| ChosenMetric {
        question: Question { name: name.to_owned(), unit: unit.to_owned(), direction },
        metric: Metric { name: name.to_owned(), source },
        percentile: None,
        text: text.to_owned(),
    };
    if text == INSTRUCTIONS {
        return Ok(vec![made(text, "", Direction::Smaller, Source::ValgrindInstructions)]);
    }
    let (base, percent) = text.split_once(':').map_or((text, None), |(base, percent)| (base, Some(percent)));
    if let Some((unit, source)) = own(base).filter(|_| !text.contains('=')) {
        let percentile = percent.map(str::parse).transpose();
        let percentile = percentile.map_err(|why: String| format!("--metric {base}: {why}"))?;
        let metric = Metric { name: base.to_owned(), source: source.clone() };
        return Ok(vec![ChosenMetric { metric, percentile, ..made(text, unit, Direction::Smaller, source) }]);
    }
    let (program, name) = text.split_once(':').unwrap_or((text, ""));
    if let Ok(format) = program.parse() {
        return reported(format, name);
    }
    let (head, expression) = text.split_once('=').ok_or_else(|| {
        let programs = Format::ALL.map(|format| format!("{format}:…")).join(", ");
        format!(
            "--metric {text:?}: unknown; expected {}, {INSTRUCTIONS}, {programs}, or NAME,larger|smaller[,UNIT]=REGEX",
            OWN.join(", ")
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

/// The program whose reports a metric is to be of that names none of them.
pub(super) fn unnamed(metrics: &[String]) -> Option<Format> {
    let formats = metrics.iter().filter_map(|text| text.trim_end_matches(':').parse::<Format>().ok());
    formats.into_iter().find(|format| format.usual().is_empty())
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
            percentile: None,
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
    use deburr_lab::measure::metric::{Taken, read_all};
    use deburr_lab::measure::process::Usage;

    fn one(text: &str) -> ChosenMetric {
        let mut all = parse(text).expect("a metric");
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    fn read(metric: &str, text: &str) -> f64 {
        let taken = Taken { usage: &Usage::default(), counts: &[], instructions: None };
        read_all(&[one(metric).metric], &taken, text).remove(0).expect("a number")
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
    fn programs_whose_metrics_have_names_of_their_own_are_no_metric_alone() {
        let unnamed =
            |texts: &[&str]| unnamed(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        assert_eq!(unnamed(&["wall", "go"]), Some(Format::Go));
        assert_eq!(unnamed(&["pgbench", "go:E:sec/op"]), None);
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
    fn times_by_ticks_that_some_runs_have_none_of_are_told() {
        let run = |user| RecordedRun {
            metrics: [("user".to_owned(), user)].into_iter().collect(),
            ..RecordedRun::default()
        };
        let [user, cpu] = ["user", "cpu"].map(one);
        let runs = [run(0.0), run(0.004), run(0.0)];
        let noted = ticks_note(&user, runs.iter()).expect("a note");
        assert!(
            noted.starts_with("user: 0 in 2 of 3 runs") && noted.ends_with("--metric cpu is exact"),
            "{noted}"
        );
        for none in [
            ticks_note(&user, runs[1..2].iter()),
            ticks_note(&user, runs[..1].iter()),
            ticks_note(&cpu, runs.iter()),
        ] {
            assert_eq!(none, None);
        }
    }

    #[test]
    fn runs_for_which_the_gate_gave_up_are_told() {
        let run = |is_ungated| RecordedRun { is_ungated, waited: 1.5, ..RecordedRun::default() };
        assert_eq!(gate_note([run(false), run(false)].iter()), None);
        let noted = gate_note([run(false), run(true), run(true)].iter()).expect("a note");
        assert_eq!(noted, "2 of 3 runs began on a busy machine: 4.5 s of waiting made it no quieter");
    }

    #[test]
    fn counters_that_took_turns_are_told() {
        let run = |counted| RecordedRun { counted, ..RecordedRun::default() };
        assert_eq!(turns_note([run(None), run(Some(1.0))].iter()), None);
        let noted = turns_note([run(Some(1.0)), run(Some(0.66))].iter()).expect("a note");
        assert!(noted.contains("66 % of a run"), "{noted}");
    }

    #[test]
    fn processes_that_runs_left_behind_are_named() {
        let run = |side, names: &[&str]| RecordedRun {
            side,
            leftovers: names.iter().map(|name| (*name).to_owned()).collect(),
            ..RecordedRun::default()
        };
        assert_eq!(leftovers_note([run(Side::A, &[]), run(Side::B, &[])].iter()), None);
        let runs = [run(Side::A, &[]), run(Side::B, &["sleep"]), run(Side::B, &["postgres", "sleep"])];
        let noted = leftovers_note(runs.iter()).expect("a note");
        assert!(noted.starts_with("of 3 runs 2 of B left processes behind (postgres, sleep)"), "{noted}");
    }

    #[test]
    fn percentiles_of_runs_are_metrics() {
        let tail = one("wall:p90");
        assert_eq!(
            (tail.question.name.as_str(), tail.metric.name.as_str(), tail.block()),
            ("wall:p90", "wall", 10)
        );
        assert_eq!(one("wall").block(), 1);
        // Those that a message lists are those that are known.
        assert!(OWN.iter().all(|name| own(name).is_some() && parse(name).is_ok()));
        let error = parse("user:p42").expect_err("no metric");
        assert!(error.contains("--metric user: \"p42\": no percentile"), "{error}");
    }

    #[test]
    fn only_amounts_are_not_changed_by_waiting() {
        for amount in ["B", "MiB", "count", "B/op", "allocs/op", "misses"] {
            assert!(is_of_amounts(amount), "{amount}");
        }
        for other in ["", "s", "ns/op", "B/s", "1/s", "count/s", "MB/s", "ops", "fps", "x"] {
            assert!(!is_of_amounts(other), "{other}");
        }
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
