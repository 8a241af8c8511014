//! What functions gained or lost → lines, and JSON.
//!
//! In: [`ByFunction`], and what the two sides are called. Out: the largest changes that are more than chance, what the rest is
//! together, and the kernel; in JSON all of them.

use crate::text::number::grouped;
use deburr_lab::comparison::functions::{Change, FEWEST_RUNS, FunctionTimes, Portion, PortionTimes};
use deburr_lab::readers::profile::Unit;
use deburr_text::one_line;
use serde_json::{Value, json};
use std::io::{self, Write};

/// How many changes are shown in each direction.
const MOST: usize = 10;
/// How much of a name is shown.
const LONGEST_NAME: usize = 80;

/// What each function took of a run of A and B.
#[derive(Debug)]
pub(crate) struct ByFunction {
    pub(crate) times: FunctionTimes,
    /// Whether the times are of the kernel, too.
    pub(crate) has_kernel: bool,
}

/// Writes the lines. `names`: of A and B.
pub(crate) fn text(found: &ByFunction, names: [&str; 2], out: &mut dyn Write) -> io::Result<()> {
    let ByFunction { times, has_kernel } = found;
    let [a, b] = names;
    let [before, after] = times.totals.map(|total| amount(&times.unit, total));
    match &times.unit {
        Unit::Time => {
            let [few, many] = times.samples.map(grouped);
            let what = if *has_kernel { "CPU time" } else { "CPU time outside of the kernel" };
            writeln!(
                out,
                "  {what} of a run by function: {before} at {a}, {after} at {b} ({few} and {many} samples)"
            )?;
        }
        Unit::Events(event) => {
            let event = one_line(event);
            let what = if event == "Ir" { "instructions executed" } else { &event };
            writeln!(out, "  {what} by function, which is not time: {before} at {a}, {after} at {b}")?;
        }
    }
    let changed = |change: Change| times.portions.iter().filter(move |row| row.change == change);
    for change in [Change::Gained, Change::Lost] {
        changed(change).take(MOST).try_for_each(|row| line(times, row, out))?;
        let further: Vec<&PortionTimes> = changed(change).skip(MOST).collect();
        if !further.is_empty() {
            let verb = if change == Change::Gained { "gained" } else { "lost" };
            let sum = amount(&times.unit, further.iter().map(|row| row.difference.abs()).sum());
            writeln!(out, "    {} more {verb} {sum} together", grouped(further.len() as u64))?;
        }
    }
    rest(times, out)
}

/// What did not change beyond chance.
fn rest(times: &FunctionTimes, out: &mut dyn Write) -> io::Result<()> {
    let unclear: Vec<&PortionTimes> =
        times.portions.iter().filter(|row| row.change == Change::Unclear).collect();
    let count = unclear.len() as u64;
    if count == 0 {
        return Ok(());
    }
    let difference: f64 = unclear.iter().map(|row| row.difference).sum();
    let sum = signed(&times.unit, difference);
    let fewest = times.runs.iter().copied().min().unwrap_or(0);
    match &times.unit {
        Unit::Time if fewest < FEWEST_RUNS => writeln!(
            out,
            "    {sum:>11}  {} functions: {fewest} runs a side are too few to name a change, which takes {FEWEST_RUNS}",
            grouped(count)
        ),
        Unit::Time => writeln!(
            out,
            "    {sum:>11}  the other {}: no change beyond chance (5 %, all functions together)",
            grouped(count)
        ),
        Unit::Events(_) => writeln!(out, "    {sum:>11}  the other {}: the same", grouped(count)),
    }
}

fn line(times: &FunctionTimes, row: &PortionTimes, out: &mut dyn Write) -> io::Result<()> {
    let [before, after] = row.amounts.map(|one| amount(&times.unit, one));
    let margin = row.margin.map_or_else(String::new, |margin| format!(" ± {}", amount(&times.unit, margin)));
    let name = name(&row.portion);
    writeln!(out, "    {:>11}{margin}  {name}: {before} → {after}", signed(&times.unit, row.difference))
}

/// A portion, for people.
pub(super) fn name(portion: &Portion) -> String {
    match portion {
        Portion::Function(name) => {
            let whole = one_line(&name.function);
            let shown = match whole.char_indices().nth(LONGEST_NAME) {
                Some((end, _)) => format!("{}…", &whole[..end]),
                None => whole.into_owned(),
            };
            format!("{shown} ({})", one_line(&name.object))
        }
        Portion::Kernel => "the kernel".to_owned(),
        Portion::Nameless => "what has no name".to_owned(),
    }
}

/// A difference with its sign.
pub(super) fn signed(unit: &Unit, difference: f64) -> String {
    let sign = if difference < 0.0 { "−" } else { "+" };
    format!("{sign}{}", amount(unit, difference.abs()))
}

/// Seconds with their unit, or a count.
pub(super) fn amount(unit: &Unit, amount: f64) -> String {
    match unit {
        Unit::Events(_) => grouped(amount as u64),
        Unit::Time if amount >= 9.9995 => format!("{amount:.1} s"),
        Unit::Time if amount >= 0.9995 => format!("{amount:.2} s"),
        Unit::Time if amount >= 0.009_995 => format!("{:.0} ms", amount * 1e3),
        Unit::Time if amount >= 0.000_999_5 => format!("{:.1} ms", amount * 1e3),
        Unit::Time => format!("{:.0} µs", amount * 1e6),
    }
}

/// The JSON.
pub(crate) fn json(found: &ByFunction) -> Value {
    let ByFunction { times, has_kernel } = found;
    let sides = |[a, b]: [f64; 2]| json!({"a": a, "b": b});
    let rows = times.portions.iter().map(|row| {
        let (kind, object, function) = match &row.portion {
            Portion::Function(name) => ("function", Some(&name.object), Some(&name.function)),
            Portion::Kernel => ("kernel", None, None),
            Portion::Nameless => ("nameless", None, None),
        };
        let change = match row.change {
            Change::Gained => "gained",
            Change::Lost => "lost",
            Change::Unclear => "unclear",
        };
        json!({
            "kind": kind, "object": object, "function": function, "change": change,
            "share": sides(row.shares), "amount": sides(row.amounts),
            "samples": {"a": row.samples[0], "b": row.samples[1]},
            "difference": row.difference, "margin": row.margin,
        })
    });
    let unit = match &times.unit {
        Unit::Time if *has_kernel => "CPU seconds",
        Unit::Time => "user seconds",
        Unit::Events(event) => event,
    };
    json!({
        "unit": unit,
        "is_time": times.unit == Unit::Time,
        "total": sides(times.totals),
        "samples": {"a": times.samples[0], "b": times.samples[1]},
        "portions": rows.collect::<Vec<Value>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_a_unit_that_leaves_digits() {
        let times =
            [12.34, 9.999_6, 1.234, 0.999_6, 0.123_4, 0.009_996, 0.001_23, 0.000_999_6, 0.000_04, 0.0];
        let shown = times.map(|time| amount(&Unit::Time, time));
        let expected =
            ["12.3 s", "10.0 s", "1.23 s", "1.00 s", "123 ms", "10 ms", "1.2 ms", "1.0 ms", "40 µs", "0 µs"];
        assert_eq!(shown, expected);
        assert_eq!(signed(&Unit::Time, -0.5), "−500 ms");
        assert_eq!(signed(&Unit::Events("Ir".to_owned()), 1_234.0), "+1,234");
    }
}
