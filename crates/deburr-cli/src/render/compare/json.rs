//! The JSON document of `deburr compare`; `schema-compare.json` describes it.
//!
//! In: the documents of a run. Out: one object: the first document, with the further ones in it.

use super::document::{CompareDocument, Measured, Point};
use super::quantity::{better, first_run};
use crate::render::by_function;
use deburr_lab::comparison::{Comparison, Fitness, Stolen};
use deburr_lab::stats::Probabilities;
use deburr_lab::stats::benchstat::Summary;
use deburr_lab::stats::placement::Placement;
use deburr_lab::stats::position::Position;
use deburr_text::ShownPath as _;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Writes the first document, which has the others in it.
pub(crate) fn render(documents: &[CompareDocument], out: &mut dyn Write) -> io::Result<()> {
    let mut wholes = documents.iter().map(whole);
    let mut first = wholes.next().unwrap_or_default();
    first.insert("further".to_owned(), json!(wholes.collect::<Vec<Map<String, Value>>>()));
    serde_json::to_writer_pretty(&mut *out, &first)?;
    writeln!(out)
}

/// One document.
pub(crate) fn whole(document: &CompareDocument) -> Map<String, Value> {
    let comparison = |one: &Comparison| comparison(one, document.has_marks);
    let mut whole = document.comparisons.first().map(comparison).unwrap_or_default();
    let (commands, names, files, record, seed) = match &document.measured {
        Measured::Commands { commands, names, seed, record, .. } => {
            let names = names.iter().any(|name| !name.is_empty()).then_some(names);
            (json!(commands), json!(names), Value::Null, json!(record.shown().into_owned()), json!(seed))
        }
        Measured::Files { .. } => {
            (Value::Null, Value::Null, json!(document.measured.sides()), Value::Null, Value::Null)
        }
    };
    let others: Vec<Map<String, Value>> = document.comparisons.iter().skip(1).map(comparison).collect();
    let rest = [
        ("schema_version", json!(2)),
        ("is_aa", json!(document.is_aa)),
        ("fitness", json!(document.fitness.as_ref().map(fitness))),
        ("tool_version", json!(env!("CARGO_PKG_VERSION"))),
        ("commands", commands),
        ("names", names),
        ("files", files),
        ("record", record),
        ("seed", seed),
        ("provenance", json!(document.provenance)),
        ("other_metrics", json!(others)),
        ("notes", json!(document.notes)),
        ("further", json!([])),
        ("sweep", json!(document.sweep.as_ref().map(|(name, points)| sweep(name, points, &comparison)))),
    ];
    let functions = document.by_function.as_ref().map(|found| ("functions", by_function::json(found)));
    whole.extend(rest.into_iter().chain(functions).map(|(name, value)| (name.to_owned(), value)));
    whole
}

fn fitness(fitness: &Fitness) -> Value {
    let Fitness { noise, foreign, stolen, waited, resolves } = fitness;
    let resolves: Vec<Value> = resolves
        .iter()
        .map(|(pairs, effect, seconds)| json!({"pairs": pairs, "effect": effect, "seconds": seconds}))
        .collect();
    json!({"noise": noise, "foreign_load": foreign, "stolen": stolen, "waited": waited, "resolves": resolves})
}

fn sweep(name: &str, points: &[Point], comparison: &dyn Fn(&Comparison) -> Map<String, Value>) -> Value {
    let point = |point: &Point| {
        let metrics: Vec<Map<String, Value>> = point.comparisons.iter().map(comparison).collect();
        json!({"value": point.value, "metrics": metrics})
    };
    json!({"param": name, "points": points.iter().map(point).collect::<Vec<Value>>()})
}

fn comparison(comparison: &Comparison, has_marks: bool) -> Map<String, Value> {
    let Comparison {
        question,
        verdict,
        unpaired,
        sides: [a, b],
        benchstat,
        adjusted_p,
        warnings,
        placement,
        shape,
        ..
    } = comparison;
    let (change, interval) = comparison.change();
    let better = better(question.direction);
    let fields = [
        ("metric", json!({"name": question.name, "unit": question.unit, "better": better})),
        ("verdict", json!(comparison.outcome().to_string())),
        ("effect", json!(change)),
        ("interval", json!(interval.map(|(low, high)| [low, high]))),
        ("confidence", json!(interval.and(verdict.as_ref()).map(|verdict| verdict.effect.level))),
        ("interval_pairs", json!(interval.and(verdict.as_ref()).map(|verdict| verdict.effect.pairs))),
        ("pairs", json!(verdict.as_ref().map(|verdict| verdict.pairs))),
        ("pairs_needed", json!(verdict.as_ref().and_then(|verdict| verdict.pairs_needed))),
        ("paired", json!(verdict.as_ref().map(|verdict| probabilities(&verdict.paired)))),
        ("unpaired", json!(unpaired.as_ref().map(probabilities))),
        (
            "benchstat",
            json!({
                "a": summary(a),
                "b": summary(b),
                "delta": benchstat.delta(a.center, b.center),
                "p": benchstat.p,
                "p_adjusted": adjusted_p,
                "n": [benchstat.n1, benchstat.n2],
            }),
        ),
        ("position", position(comparison)),
        ("steal", steal(&comparison.series.stolen)),
        ("region", json!(shape.region.1)),
        ("placement", json!(placement.as_ref().map(layouts))),
        ("warnings", json!(warnings.iter().map(ToString::to_string).collect::<Vec<String>>())),
    ];
    // Only on request, so that nobody takes them for a verdict.
    let marks = has_marks.then(|| ("marks", json!(unpaired.as_ref().map(marks))));
    fields.into_iter().chain(marks).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn position(comparison: &Comparison) -> Value {
    let position = comparison.verdict.as_ref().and_then(|verdict| verdict.position);
    let effect = |Position { first: [a, b], p, .. }: Position| json!({"first": {"a": a, "b": b}, "effect": first_run(comparison), "p": p});
    json!(position.map(effect))
}

fn steal(stolen: &Stolen) -> Value {
    let Stolen { pairs, shares: [a, b] } = stolen;
    json!({"pairs": pairs, "a": a, "b": b})
}

fn marks(numbers: &Probabilities) -> Value {
    let marks = numbers.marks();
    let mark = |good: bool, bad: bool| match (good, bad) {
        (true, _) => json!(":)"),
        (false, true) => json!(":("),
        (false, false) => Value::Null,
    };
    json!({"mean": mark(marks.mean_good, marks.mean_bad), "next": mark(marks.next_good, marks.next_bad)})
}

fn layouts(placement: &Placement) -> Value {
    json!({
        "layouts": placement.layouts(),
        "rounds": placement.rounds(),
        "deviation": placement.deviation().exp_m1(),
        "noise": placement.noise().exp_m1(),
    })
}

fn probabilities(numbers: &Probabilities) -> Value {
    let Probabilities { worse, same, better, next } = numbers;
    json!({"worse": worse, "same": same, "better": better, "next": next})
}

/// An interval without an end has none here: JSON knows no infinity.
fn summary(side: &Summary) -> Value {
    let interval = (side.low.is_finite() && side.high.is_finite()).then_some([side.low, side.high]);
    json!({"median": side.center, "interval": interval})
}
