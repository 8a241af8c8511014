//! Pairs of runs → verdicts: each metric is judged at each value of what is swept over, and over all.
//!
//! In: a [`ComparePlan`] and the pairs of each point. Out: a document with a comparison for each metric. The
//! statistics are `deburr_lab`'s; here is decided which of them is applied to what.

use super::metric::ChosenMetric;
use super::plan::ComparePlan;
use crate::args::compare::Compare;
use crate::render::compare::document::{CompareDocument, Measured, Point};
use deburr_lab::comparison::{self, Comparison, Family, Question, Series};
use deburr_lab::measure::layouts;
use deburr_lab::measure::pairs::Pair;
use deburr_lab::measure::record::{Header, RecordedRun};
use deburr_lab::stats::Rope;
use deburr_lab::stats::placement::Placement;
use deburr_lab::stats::verdict::{ALPHA, INTERIM_ANALYSES, Outcome, Rule};
use deburr_lab::stats::warning::Warning;
use std::path::Path;

/// The rule for a maximum of pairs: the interim analyses before it, and one at the end.
pub(super) fn rule(rope: Rope, most: u32) -> Result<Rule, String> {
    let most = most as usize;
    let analyses: Vec<usize> =
        INTERIM_ANALYSES.into_iter().filter(|pairs| *pairs < most).chain([most]).collect();
    Rule::new(rope, &analyses, ALPHA).map_err(|error| format!("--pairs {most}: {error}"))
}

/// What was measured at a value of what is swept over.
pub(super) struct Measurements {
    pub(super) value: String,
    pub(super) pairs: Vec<Pair>,
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
    rule: &Rule,
) -> Result<Vec<Criterion>, String> {
    let of = |chosen: &ChosenMetric| {
        let Some(extent) = plan.layouts else { return Ok(Criterion { rule: rule.clone(), placement: None }) };
        let name = &chosen.question.name;
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
    rule: &Rule,
    options: &Compare,
    path: &Path,
) -> Result<CompareDocument, String> {
    let of = |chosen: &ChosenMetric, pairs: &[Pair]| {
        let question = &chosen.question;
        let series =
            comparison::series(pairs, &question.name, Some(&chosen.conditions(pairs, plan.header.cores)));
        series.ok_or_else(|| format!("metric {}: not every run in the record has it", question.name))
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
    let (questions, notes) = comparable(plan, points);
    let mut curve = Vec::new();
    for Measurements { value, pairs, criteria } in points {
        let criteria: Vec<&Criterion> =
            questions.iter().filter_map(|(place, _)| criteria.get(*place)).collect();
        let metrics = questions.iter().zip(&criteria).map(|((_, chosen), criterion)| {
            Ok((chosen.question.clone(), of(chosen, pairs)?, criterion.rule.clone()))
        });
        let mut comparisons = compare(metrics.collect::<Result<Vec<_>, String>>()?)?;
        for (comparison, criterion) in comparisons.iter_mut().zip(criteria) {
            comparison.placement = criterion.placement;
        }
        curve.push(Point { value: value.clone(), comparisons });
    }
    let own = points.first().zip(curve.first()).filter(|_| plan.has("aa"));
    let fitness = own.and_then(|(point, at)| {
        comparison::fitness(&point.pairs, at.comparisons.first()?, &point.criteria.first()?.rule)
    });
    let (mut comparisons, sweep) = match &plan.sweep {
        None => (curve.into_iter().next().map_or_else(Vec::new, |point| point.comparisons), None),
        Some(sweep) => {
            let blocks: Vec<usize> = points.iter().map(|point| point.pairs.len()).collect();
            let pooled = questions.iter().map(|&(index, chosen)| {
                let question = &chosen.question;
                let all = points
                    .iter()
                    .map(|point| of(chosen, &point.pairs))
                    .collect::<Result<Vec<Series>, String>>()?;
                let pooled = comparison::pooled(&all)
                    .ok_or_else(|| format!("metric {}: a value that is not positive", question.name))?;
                let rope = widest(points, index).map_or(rule.rope(), |criterion| criterion.rule.rope());
                let rule = Rule::over(rope, &blocks).map_err(|error| error.to_string())?;
                let question = Question { unit: "× the point's mean".to_owned(), ..question.clone() };
                Ok((question, pooled, rule))
            });
            let mut comparisons = compare(pooled.collect::<Result<Vec<_>, String>>()?)?;
            for (comparison, (place, _)) in comparisons.iter_mut().zip(&questions) {
                comparison.placement = widest(points, *place).and_then(|criterion| criterion.placement);
            }
            (comparisons, Some((sweep.name.clone(), curve)))
        }
    };
    if !plan.has("relink") && are_other_programs(&plan.header) {
        comparisons.iter_mut().for_each(warn_of_placement);
    }
    Ok(CompareDocument {
        fitness,
        comparisons,
        sweep,
        measured: Measured::Commands {
            commands: plan.header.commands.clone(),
            seed: plan.header.seed,
            record: path.to_owned(),
            cores: plan.header.cores,
        },
        notes,
        is_aa: plan.has("aa"),
        has_marks: options.marks,
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
        let runs = points.iter().flat_map(|point| &point.pairs).flat_map(|pair| &pair.runs);
        let mut values = runs.filter_map(|run| run.metrics.get(name));
        match values.find(|value| **value <= 0.0).filter(|_| place > 0) {
            Some(value) => {
                notes.push(format!("{name}: a run has {value}: relative differences need positive numbers"));
            }
            None => questions.push((place, chosen)),
        }
    }
    (questions, notes)
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
    /// Twice the standard deviation that layouts alone make in small programs (docs/compare.md, "Placement").
    const PLACEMENT: f64 = 0.06;
    let is_proven = matches!(comparison.outcome(), Outcome::Better | Outcome::Worse);
    if is_proven && comparison.change().0.abs() < PLACEMENT {
        comparison.warnings.push(Warning::Placement);
    }
}
