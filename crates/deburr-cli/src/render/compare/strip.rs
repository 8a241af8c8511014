//! A chart of two lines: where the runs of A and of B are between the least and the largest value of both.
//!
//! In: a comparison and the columns of the terminal. Out: one line of block characters for each side, on a
//! common axis.

use super::quantity::shown;
use crate::render::style::Palette;
use deburr_lab::comparison::Comparison;
use std::io::{self, Write};

/// From one run to the most that any column has.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The columns before the bars.
const INDENT: usize = 14;
/// The maximum of columns, and those of a terminal of unknown width.
const WIDEST: usize = 60;
/// Columns at least: with fewer there is no shape.
const NARROWEST: usize = 10;

/// Writes the chart, where there is room and the values differ.
pub(super) fn render(
    comparison: &Comparison,
    width: Option<usize>,
    palette: Palette,
    out: &mut dyn Write,
) -> io::Result<()> {
    let columns = width.map_or(WIDEST, |width| width.saturating_sub(INDENT + 1).min(WIDEST));
    let sides = &comparison.series.values;
    let (low, high) = sides
        .iter()
        .flatten()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    if columns < NARROWEST || low.is_nan() || low >= high {
        return Ok(());
    }
    let counts = sides.each_ref().map(|values| counts(values, low, high, columns));
    let most = counts.iter().flatten().copied().max().unwrap_or(1).max(1);
    for (index, (name, counts)) in ["A", "B"].into_iter().zip(&counts).enumerate() {
        let bars: String = counts.iter().map(|count| bar(*count, most)).collect();
        writeln!(out, "  {name:<w$}{}", palette.side(index == 1, bars.trim_end()), w = INDENT - 2)?;
    }
    let unit = &comparison.question.unit;
    let (low, high) = (shown(low, unit), shown(high, unit));
    let between = columns.saturating_sub(low.chars().count() + high.chars().count()).max(1);
    writeln!(out, "{:INDENT$}{}", "", palette.dim(&format!("{low}{:between$}{high}", "")))
}

/// How many values each column has.
fn counts(values: &[f64], low: f64, high: f64, columns: usize) -> Vec<usize> {
    let mut counts = vec![0; columns];
    for value in values {
        let share = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
        let column = (share * columns as f64) as usize;
        if let Some(count) = counts.get_mut(column.min(columns - 1)) {
            *count += 1;
        }
    }
    counts
}

fn bar(count: usize, most: usize) -> char {
    let height = (count * BARS.len()).div_ceil(most);
    height.checked_sub(1).and_then(|height| BARS.get(height).copied()).unwrap_or(' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_lab::comparison::{self, Question, Series};
    use deburr_lab::stats::benchstat::Upstream;
    use deburr_lab::stats::verdict::{Order, Rule};
    use deburr_lab::stats::{Direction, Rope};

    fn chart(values: [Vec<f64>; 2], width: usize) -> String {
        let question =
            Question { name: "wall".to_owned(), unit: "s".to_owned(), direction: Direction::Smaller };
        let series = Series::of(values, Order::Unknown);
        let rule = Rule::once(Rope::ONE_PERCENT, 2).unwrap();
        let comparison = comparison::compare(question, &series, &rule, 0, Upstream::Corrected).unwrap();
        let mut out = Vec::new();
        render(&comparison, Some(width), Palette::new(false), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn runs_are_placed_between_the_least_and_the_largest() {
        let chart = chart([vec![0.010, 0.010, 0.010, 0.010, 0.012], vec![0.0152, 0.020]], 35);
        assert_eq!(
            chart,
            "  A           █   ▂\n\
            \x20 B                     ▂        ▂\n\
            \x20             10.00 ms    20.00 ms\n"
        );
    }

    #[test]
    fn equal_values_or_a_narrow_terminal_have_no_chart() {
        assert_eq!(chart([vec![1.0, 1.0], vec![1.0, 1.0]], 80), "");
        assert_eq!(chart([vec![1.0, 2.0], vec![1.0, 2.0]], 20), "");
        assert!(chart([vec![1e-308, 1.0], vec![1e308, 1.0]], 80).contains('█'));
    }
}
