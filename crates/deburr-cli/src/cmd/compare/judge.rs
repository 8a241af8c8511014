//! Pairs of runs → verdicts: each metric is judged at each value of what is swept over, and over all.
//!
//! In: a [`ComparePlan`] and the pairs of each point. Out: a document with a comparison for each metric. The
//! statistics are `deburr_lab`'s; here is decided which of them is applied to what.

use super::metric::{self, ChosenMetric};
use super::plan::ComparePlan;
use crate::args::compare::{Compare, PAIRS};
use crate::render::compare::document::{CompareDocument, Measured, Point};
use crate::render::compare::quantity;
use crate::render::compare::text::headline;
use deburr_lab::comparison::{self, Comparison, Ending, Family, Question, Series};
use deburr_lab::measure::layouts;
use deburr_lab::measure::metric::Source;
use deburr_lab::measure::pairs::Pair;
use deburr_lab::measure::record::{Header, RecordedRun};
use deburr_lab::stats::placement::Placement;
use deburr_lab::stats::verdict::{ALPHA, INTERIM_ANALYSES, Outcome, Rule, VerdictLimit};
use deburr_lab::stats::warning::Warning;
use deburr_lab::stats::{Rope, signed_rank};
use std::path::Path;

/// When an experiment ends, as its header says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Terms {
    /// Pairs at most, and at least.
    pub(super) most: u32,
    pub(super) least: u32,
    /// How many comparisons share the error.
    pub(super) comparisons: u32,
    /// How long the pairs of a point may take, in seconds.
    pub(super) max_time: Option<f64>,
    /// Whether load is the user's own risk.
    pub(super) is_under_load: bool,
}

impl Terms {
    /// Those of a record, or of an experiment that begins; `pairs` are what is asked for now.
    pub(super) fn of(plan: &ComparePlan, pairs: Option<u32>) -> Result<Terms, String> {
        let options = &plan.header.options;
        let number = |name: &str| -> Result<Option<f64>, String> {
            let Some(text) = options.get(name) else { return Ok(None) };
            let number = text.parse::<f64>().ok().filter(|number| *number >= 0.0);
            number.map(Some).ok_or_else(|| format!("{name} {text:?}: expected a number"))
        };
        let comparisons = number("comparisons")?.unwrap_or(1.0).max(1.0);
        let points = plan.sweep.as_ref().map_or(1, |sweep| sweep.points().len()) as f64;
        Ok(Terms {
            most: pairs.or(plan.header.pairs).unwrap_or(PAIRS),
            least: number("min-pairs")?.unwrap_or(0.0) as u32,
            comparisons: comparisons as u32,
            max_time: number("max-time")?.map(|seconds| seconds / points / comparisons),
            is_under_load: plan.has("under-load"),
        })
    }

    /// The rule, where so many pairs of runs make one: the interim analyses, and one at the end. Several
    /// comparisons share the error equally (Bonferroni), since each ends by its own pairs, when the others are not
    /// known yet.
    pub(super) fn rule(&self, rope: Rope, block: usize) -> Result<Rule, String> {
        let [most, least] = [self.most, self.least].map(|pairs| pairs as usize);
        if least > most {
            return Err(format!("--min-pairs {least}: more than --pairs {most}"));
        }
        // Of fewer than two there is no verdict, which is said where there are no more.
        let (most, least) = ((most / block).max(2), least.div_ceil(block));
        let between = |pairs: &usize| (least..most).contains(pairs);
        let analyses: Vec<usize> = INTERIM_ANALYSES.into_iter().filter(between).chain([most]).collect();
        Rule::new(rope, &analyses, ALPHA / f64::from(self.comparisons))
            .map_err(|error| format!("--pairs {most}: {error}"))
    }

    /// Whether one pair more would be too late: it takes as long as the last one, or as they did on average. `warm_up`: the seconds
    /// before the first. Never before there are two pairs, which are the fewest that anything can be said of.
    pub(super) fn is_out_of_time(&self, pairs: &[Pair], warm_up: f64) -> bool {
        if pairs.len() < 2 {
            return false;
        }
        let (Some(most), Some(first), Some(last)) = (self.max_time, pairs.first(), pairs.last()) else {
            return false;
        };
        let begins =
            |pair: &Pair| pair.runs.iter().map(|run| run.began - run.waited).fold(f64::INFINITY, f64::min);
        let ends = last.runs.iter().map(|run| run.began + run.usage.wall).fold(0.0, f64::max);
        let measured: f64 = pairs.iter().map(|pair| 1.0 + f64::from(pair.runs[0].attempt)).sum();
        let taken = ends - begins(first);
        warm_up + taken + (taken / measured).max(ends - begins(last)) > most
    }
}

/// What was measured at a value of what is swept over.
pub(super) struct Measurements {
    pub(super) value: String,
    pub(super) pairs: Vec<Pair>,
    /// Seconds that runs took which only warm up.
    pub(super) warm_up: f64,
    /// What each metric is judged by, in their order.
    pub(super) criteria: Vec<Criterion>,
}

/// What a metric is judged by.
#[derive(Clone)]
pub(super) struct Criterion {
    pub(super) rule: Rule,
    /// What placement does, where that was measured; the rule knows it.
    pub(super) placement: Option<Placement>,
}

/// What each metric is judged by. `layouts`: the runs of A's layouts, where those were measured.
pub(super) fn criteria(
    plan: &ComparePlan,
    layouts: &[RecordedRun],
    (terms, rope): (&Terms, Rope),
) -> Result<Vec<Criterion>, String> {
    let of = |chosen: &ChosenMetric| {
        let rule = terms.rule(rope, chosen.block())?;
        let Some(extent) = plan.layouts else { return Ok(Criterion { rule, placement: None }) };
        let name = &chosen.metric.name;
        let table = layouts::table(layouts, extent, name)
            .ok_or_else(|| format!("metric {name}: not every layout was measured, or has it"))?;
        let placement = Placement::of(&table).map_err(|error| format!("metric {name}: {error}"))?;
        let widened = placement
            .widen(rule.rope())
            .and_then(|rope| Rule::new(rope, rule.analyses(), rule.alpha()))
            .map_err(|error| format!("metric {name}, by what placement does: {error}"))?;
        Ok(Criterion { rule: widened, placement: Some(placement) })
    };
    plan.chosen.iter().map(of).collect()
}

/// What the pairs of each point say of each metric, and all points together.
pub(super) fn document(
    plan: &ComparePlan,
    points: &[Measurements],
    (terms, rope): (&Terms, Rope),
    options: &Compare,
    path: &Path,
) -> Result<CompareDocument, String> {
    let of = |chosen: &ChosenMetric, pairs: &[Pair]| {
        let series = chosen.series(pairs, plan.header.cores, terms.is_under_load);
        series.ok_or_else(|| format!("metric {}: not every run in the record has it", chosen.question.name))
    };
    // The first metric decides, and when it does, the pairs end.
    let compare = |metrics: Vec<(Question, Series, Rule)>| {
        let compared =
            comparison::compare_all(&metrics, Family::Primary, plan.header.seed, options.upstream());
        let named = metrics.iter().zip(compared).map(|((question, ..), compared)| {
            compared.map_err(|error| format!("metric {}: {error}", question.name))
        });
        named.collect::<Result<Vec<Comparison>, String>>()
    };
    let (questions, mut notes) = comparable(plan, points);
    let runs = || points.iter().flat_map(|point| &point.pairs).flat_map(|pair| &pair.runs);
    notes.extend(metric::memory_note(&plan.chosen, runs()));
    notes.extend(questions.iter().filter_map(|(_, chosen)| metric::ticks_note(chosen, runs())));
    notes.extend(metric::leftovers_note(runs()));
    notes.extend(metric::turns_note(runs()));
    notes.extend(metric::gate_note(runs()));
    let mut curve = Vec::new();
    for Measurements { value, pairs, warm_up, criteria } in points {
        let criteria: Vec<&Criterion> =
            questions.iter().filter_map(|(place, _)| criteria.get(*place)).collect();
        let ended = ended(
            terms,
            (pairs, *warm_up),
            questions.first().map(|(_, chosen)| *chosen),
            criteria.first().copied(),
            plan,
        )?;
        notes.extend(ended.iter().map(|ended| ended.note(value)));
        let in_force = |chosen: &ChosenMetric, criterion: &Criterion| match ended {
            Some(Ended::OutOfTime { pairs }) => {
                criterion.rule.ended_at(pairs / chosen.block()).map_err(|error| error.to_string())
            }
            _ => Ok(criterion.rule.clone()),
        };
        let metrics = questions.iter().zip(&criteria).map(|((_, chosen), criterion)| {
            Ok((chosen.question.clone(), of(chosen, pairs)?, in_force(chosen, criterion)?))
        });
        let mut comparisons = compare(metrics.collect::<Result<Vec<_>, String>>()?)?;
        for (comparison, criterion) in comparisons.iter_mut().zip(&criteria) {
            comparison.placement = criterion.placement;
        }
        let decides = questions.first().zip(criteria.first()).zip(comparisons.first());
        if let Some((((_, chosen), criterion), comparison)) = decides
            && matches!(chosen.metric.source, Source::Wall)
            && is_limited_by_load(comparison)
        {
            let found = by_cpu_time(plan, pairs, &in_force(chosen, criterion)?, options);
            notes.extend(found.map(|found| {
                let at = if value.is_empty() { String::new() } else { format!(" at {value}") };
                format!("by CPU time{at}: {}", headline(&found))
            }));
        }
        curve.push(Point { value: value.clone(), comparisons });
    }
    let is_by_run = plan.chosen.first().is_some_and(|first| first.percentile.is_none());
    let own = points.first().zip(curve.first()).filter(|_| plan.has("aa") && is_by_run);
    let fitness = own.and_then(|(point, at)| {
        comparison::fitness(&point.pairs, at.comparisons.first()?, &point.criteria.first()?.rule)
    });
    let (mut comparisons, sweep) = match &plan.sweep {
        None => (curve.into_iter().next().map_or_else(Vec::new, |point| point.comparisons), None),
        Some(sweep) => {
            let pooled = questions.iter().map(|&(index, chosen)| {
                let question = &chosen.question;
                let all = points
                    .iter()
                    .map(|point| of(chosen, &point.pairs))
                    .collect::<Result<Vec<Series>, String>>()?;
                let pooled = comparison::pooled(&all)
                    .ok_or_else(|| format!("metric {}: a value that is not positive", question.name))?;
                let (rope, alpha) = widest(points, index)
                    .map_or((rope, ALPHA), |criterion| (criterion.rule.rope(), criterion.rule.alpha()));
                let blocks: Vec<usize> = all.iter().map(|series| series.values[0].len()).collect();
                let over = Rule::over(rope, &blocks).and_then(|over| over.with_alpha(alpha));
                let rule = over.map_err(|error| error.to_string())?;
                let question = Question { unit: "× the point's mean".to_owned(), ..question.clone() };
                Ok((question, pooled, rule))
            });
            let mut comparisons = compare(pooled.collect::<Result<Vec<_>, String>>()?)?;
            for (comparison, (place, _)) in comparisons.iter_mut().zip(&questions) {
                comparison.placement = widest(points, *place).and_then(|criterion| criterion.placement);
            }
            (comparisons, Some((sweep.name(), curve)))
        }
    };
    if !plan.has("relink") && are_other_programs(&plan.header) {
        comparisons.iter_mut().for_each(warn_of_placement);
    }
    Ok(CompareDocument {
        fitness,
        comparisons,
        sweep,
        provenance: plan.header.provenance.clone(),
        runs: points.iter().map(|point| (point.value.clone(), point.pairs.clone())).collect(),
        measured: Measured::Commands {
            commands: plan.header.commands.clone(),
            names: plan.names(),
            seed: plan.header.seed,
            record: path.to_owned(),
            cores: plan.header.cores,
        },
        notes,
        by_function: None,
        is_aa: plan.has("aa"),
        has_marks: options.marks,
    })
}

/// Whether what else the machine did keeps a metric from a verdict.
fn is_limited_by_load(comparison: &Comparison) -> bool {
    let limit = comparison.verdict.as_ref().and_then(|verdict| verdict.limit);
    matches!(limit, Some(VerdictLimit::Contaminated { .. } | VerdictLimit::Stolen { .. }))
}

/// Compares the CPU time of the commands, which does not include waiting for a processor. `None` if that proves nothing, or if a
/// server does the work.
fn by_cpu_time(plan: &ComparePlan, pairs: &[Pair], rule: &Rule, options: &Compare) -> Option<Comparison> {
    let cpu = metric::parse("cpu").ok()?.pop()?;
    let mut pairs = pairs.to_vec();
    for run in pairs.iter_mut().flat_map(|pair| &mut pair.runs) {
        if run.is_client {
            return None;
        }
        run.metrics.insert(cpu.metric.name.clone(), run.usage.user + run.usage.system);
    }
    let series = cpu.series(&pairs, plan.header.cores, false)?;
    let found = comparison::compare(cpu.question, &series, rule, plan.header.seed, options.upstream());
    found.ok().filter(|found| found.outcome() != Outcome::Inconclusive)
}

/// Why a point ended before its last pair without a verdict.
enum Ended {
    /// By `--max-time`, with so many pairs.
    OutOfTime { pairs: usize },
    /// A verdict had become improbable, of which there was such a probability.
    Improbable { pairs: usize, most: usize, chance: f64 },
    /// Too many pairs were disturbed.
    Disturbed { pairs: usize, disturbed: usize, most: usize },
}

impl Ended {
    /// What is said of it, at a value of what is swept over.
    fn note(&self, value: &str) -> String {
        let at = if value.is_empty() { String::new() } else { format!(" at {value}") };
        match self {
            Ended::OutOfTime { pairs } => format!("ended{at} after {pairs} pairs by --max-time"),
            Ended::Improbable { pairs, most, chance } => format!(
                "ended{at} after {pairs} pairs: that {most} would prove anything had become improbable ({:.0} %); \
                 more pairs (--pairs), a quieter machine, longer runs or a metric with less noise may (--metric cpu; --metric wall:p25 \
                 where noise only ever slows runs)",
                100.0 * chance
            ),
            Ended::Disturbed { pairs, disturbed, most } => format!(
                "ended{at} after {pairs} pairs, of which {disturbed} were disturbed: too many for a verdict with {most}; \
                 a quieter machine is needed, processors of its own (--pin), --metric cpu, or --under-load at your own risk"
            ),
        }
    }
}

/// Why a point ended early, if it did: by its first metric. An interrupt is no reason of these.
fn ended(
    terms: &Terms,
    (pairs, warm_up): (&[Pair], f64),
    first: Option<&ChosenMetric>,
    criterion: Option<&Criterion>,
    plan: &ComparePlan,
) -> Result<Option<Ended>, String> {
    let (Some(chosen), Some(criterion)) = (first, criterion) else { return Ok(None) };
    let Some(series) = chosen.series(pairs, plan.header.cores, terms.is_under_load) else { return Ok(None) };
    // What has no ratio is reported elsewhere.
    let Ok(progress) = comparison::progress(chosen.question.direction, &series, &criterion.rule) else {
        return Ok(None);
    };
    let most = criterion.rule.last() * chosen.block();
    Ok(match progress.ending {
        Some(Ending::Improbable(chance)) => Some(Ended::Improbable { pairs: pairs.len(), most, chance }),
        Some(Ending::Disturbed) => {
            let disturbed = series.contaminated * chosen.block();
            Some(Ended::Disturbed { pairs: pairs.len(), disturbed, most })
        }
        None if terms.is_out_of_time(pairs, warm_up) => Some(Ended::OutOfTime { pairs: pairs.len() }),
        Some(Ending::Decided | Ending::Last) | None => None,
    })
}

/// The criterion with the widest region that a metric has at any point.
fn widest(points: &[Measurements], metric: usize) -> Option<&Criterion> {
    let of = |criterion: &Criterion| criterion.rule.rope().relative();
    let all = points.iter().filter_map(|point| point.criteria.get(metric));
    all.max_by(|one, other| of(one).total_cmp(&of(other)))
}

/// The metrics that can be compared, with their places, and why the rest is left out. The first metric
/// decides and has to be comparable; the verdict on it needs none of the others.
fn comparable<'p>(
    plan: &'p ComparePlan,
    points: &[Measurements],
) -> (Vec<(usize, &'p ChosenMetric)>, Vec<String>) {
    let (mut questions, mut notes) = (Vec::new(), Vec::new());
    for (place, chosen) in plan.chosen.iter().enumerate() {
        let name = &chosen.question.name;
        let (block, fewest) =
            (chosen.block(), points.iter().map(|point| point.pairs.len()).min().unwrap_or(0));
        if place > 0 && fewest < 2 * block {
            notes.push(format!(
                "{name}: {fewest} pairs of runs are too few: it takes {block} runs a side to have one"
            ));
            continue;
        }
        if block > 1 {
            notes.push(format!("{name}: one pair of it is of {block} runs a side, one after the other"));
        }
        let runs = points.iter().flat_map(|point| &point.pairs).flat_map(|pair| &pair.runs);
        let values: Vec<f64> = runs.filter_map(|run| run.metrics.get(&chosen.metric.name).copied()).collect();
        // Some zeros of a time by ticks have a limit.
        let is_limited = chosen.is_by_ticks() && values.iter().any(|value| *value > 0.0);
        let without_ratio = values.iter().find(|value| **value < 0.0 || (**value == 0.0 && !is_limited));
        match without_ratio.filter(|_| place > 0) {
            Some(value) => {
                let difference =
                    absolute(points, chosen).map_or_else(String::new, |text| format!("; {text}"));
                notes.push(format!(
                    "{name}: a run has {value}: relative differences need positive numbers{difference}"
                ));
            }
            None => questions.push((place, chosen)),
        }
    }
    (questions, notes)
}

/// The absolute difference of a metric that has no relative one, with the interval of the signed ranks.
fn absolute(points: &[Measurements], chosen: &ChosenMetric) -> Option<String> {
    /// Two-sided 90 %.
    const Z: f64 = 1.644_854;
    let of = |run: &RecordedRun| run.metrics.get(&chosen.metric.name).copied();
    let pairs = points.iter().flat_map(|point| &point.pairs);
    let differences: Vec<f64> =
        pairs.map(|pair| Some(of(&pair.runs[1])? - of(&pair.runs[0])?)).collect::<Option<Vec<f64>>>()?;
    let found = signed_rank::location(&differences, differences.len() as f64, Z).ok()?;
    let unit = &chosen.question.unit;
    let shown = |value: f64| quantity::shown(value, unit);
    Some(match found.interval {
        Some((low, high)) if low < high => {
            format!("B − A is {} [{}, {}] with 90 %", shown(found.estimate), shown(low), shown(high))
        }
        _ => format!("B − A is {} in a typical pair", shown(found.estimate)),
    })
}

/// Whether A and B are different files, whose code is laid out differently. What a shell runs is not known.
fn are_other_programs(header: &Header) -> bool {
    // The client of a server follows after a semicolon.
    let program = |command: &String| {
        let first = shlex::split(command).and_then(|words| words.into_iter().next());
        first.map(|word| word.trim_end_matches(';').to_owned())
    };
    let [a, b] = header.commands.each_ref().map(program);
    header.options.get("shell").is_none_or(|shell| shell == "none") && a != b
}

/// Warns where a difference is proven that no other layout need have.
fn warn_of_placement(comparison: &mut Comparison) {
    /// Twice the standard deviation that layouts alone make in small programs (docs/reference/compare.md, "Placement").
    const PLACEMENT: f64 = 0.06;
    let is_proven = matches!(comparison.outcome(), Outcome::Better | Outcome::Worse);
    if is_proven && comparison.change().0.abs() < PLACEMENT {
        comparison.warnings.push(Warning::Placement);
    }
}
