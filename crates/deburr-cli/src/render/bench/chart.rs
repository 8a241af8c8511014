//! Charts for a terminal: rates by number of threads, both logarithmic.
//!
//! In: a record and the columns of the terminal. Out: for each table with two numbers of threads a chart in braille, eight dots a
//! character. A letter is at each measured rate, and again at the right, next to the variant's name.

use super::curves::{Curve, curves, threads};
use super::scale::{LogScale, spread, tick};
use super::tables::{is_same_table, setting};
use crate::render::style::Palette;
use deburr_lab::bench::record::{BenchRecord, Rates};
use deburr_text::one_line;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// The columns of a terminal of unknown width.
const USUAL: usize = 80;
/// Columns of a curve at least: with fewer there is no shape.
const NARROWEST: usize = 12;
/// Lines of a curve, where there are no more variants than that.
const LINES: usize = 12;
/// The dots of a character, by column and line: U+2800 and these bits (Unicode 16.0, Braille Patterns).
const DOTS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// Writes the charts of a record.
pub(crate) fn charts(
    out: &mut dyn Write,
    record: &BenchRecord,
    width: Option<usize>,
    palette: Palette,
) -> io::Result<()> {
    let mut drawn = 0;
    for points in record.points.chunk_by(is_same_table) {
        let curves = curves(points);
        let Some(first) = points.first().filter(|_| !curves.is_empty()) else { continue };
        let title = format!("{}{}", one_line(&first.kernel), one_line(&setting(points)));
        writeln!(out, "\n{}: operations per second of all threads", palette.bold(&title))?;
        chart(out, &curves, width.unwrap_or(USUAL), palette)?;
        drawn += 1;
    }
    match drawn {
        0 => writeln!(out, "\nNo chart: nothing was measured with two numbers of threads."),
        _ => Ok(()),
    }
}

/// What is drawn on: characters, each of which has a mark or dots.
struct Raster {
    columns: usize,
    lines: usize,
    dots: Vec<u32>,
    marks: Vec<Option<char>>,
}

impl Raster {
    fn new(columns: usize, lines: usize) -> Raster {
        Raster { columns, lines, dots: vec![0; columns * lines], marks: vec![None; columns * lines] }
    }

    /// The dot of two shares, the second one upwards.
    fn dot(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let [across, down] = [2 * self.columns - 1, 4 * self.lines - 1].map(|most| most as f64);
        ((x * across).round(), ((1.0 - y) * down).round())
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        let ((x, y), (to_x, to_y)) = (self.dot(from), self.dot(to));
        let steps = (to_x - x).abs().max((to_y - y).abs()).max(1.0);
        for step in 0..=steps as usize {
            let share = step as f64 / steps;
            let at = |from: f64, to: f64| (from + share * (to - from)).round() as usize;
            let (x, y) = (at(x, to_x), at(y, to_y));
            self.dots[y / 4 * self.columns + x / 2] |= DOTS[x % 2][y % 4];
        }
    }

    /// The column and the line of two shares.
    fn place(&self, at: (f64, f64)) -> (usize, usize) {
        let (x, y) = self.dot(at);
        (x as usize / 2, y as usize / 4)
    }

    /// A mark; the first one of a place stays.
    fn mark(&mut self, at: (f64, f64), mark: char) {
        let (column, line) = self.place(at);
        self.marks[line * self.columns + column].get_or_insert(mark);
    }

    fn row(&self, line: usize) -> String {
        let places = line * self.columns..(line + 1) * self.columns;
        let shown = |place: usize| match (self.marks[place], self.dots[place]) {
            (Some(mark), _) => mark,
            (None, 0) => ' ',
            (None, dots) => char::from_u32(0x2800 + dots).unwrap_or(' '),
        };
        places.map(shown).collect()
    }
}

/// Both axes of a chart.
struct Axes {
    rates: LogScale,
    across: LogScale,
    counts: BTreeSet<usize>,
}

impl Axes {
    fn of(curves: &[Curve<'_>]) -> Axes {
        let counts = threads(curves);
        let rates = curves.iter().flat_map(|curve| curve.points.iter().map(|(_, rates)| rates.rate));
        let across = LogScale::exact(counts.iter().map(|&threads| threads as f64));
        Axes { rates: LogScale::of_rates(rates), across, counts }
    }

    /// The curves, and the lines in which they end.
    fn drawn(&self, curves: &[Curve<'_>], columns: usize) -> (Raster, Vec<f64>) {
        let mut raster = Raster::new(columns, LINES.max(curves.len()));
        let mut ends = Vec::new();
        for (curve, letter) in curves.iter().zip(letters()) {
            let share = |&(threads, rates): &(usize, &Rates)| {
                (self.across.share(threads as f64), self.rates.share(rates.rate))
            };
            let places: Vec<(f64, f64)> = curve.points.iter().map(share).collect();
            places.windows(2).for_each(|pair| raster.line(pair[0], pair[1]));
            places.iter().for_each(|&at| raster.mark(at, letter));
            ends.push(places.last().map_or(0, |&at| raster.place(at).1) as f64);
        }
        (raster, ends)
    }
}

fn chart(out: &mut dyn Write, curves: &[Curve<'_>], width: usize, palette: Palette) -> io::Result<()> {
    let axes = Axes::of(curves);
    let ticks: Vec<(f64, String)> =
        axes.rates.ticks(LINES / 2).into_iter().map(|rate| (axes.rates.share(rate), tick(rate))).collect();
    let left = ticks.iter().map(|(_, name)| name.chars().count()).max().unwrap_or_default();
    let names: Vec<String> = curves.iter().map(|curve| one_line(curve.name).into_owned()).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    // Next to the curves: two blanks, a tick, a blank and the axis; then a blank, a letter, a blank and a name.
    let free = width.saturating_sub(left + 4 + 3);
    if free < 2 * NARROWEST {
        return writeln!(out, "  no chart: the terminal is too narrow");
    }
    let right = longest.min(free / 2);
    let (raster, ends) = axes.drawn(curves, free - right);
    let labels = spread(&ends, 1.0, (0.0, (raster.lines - 1) as f64));
    for line in 0..raster.lines {
        let tick = ticks.iter().find(|(share, _)| raster.place((0.0, *share)).1 == line);
        let name = tick.map_or("", |(_, name)| name);
        let axis = format!("{name:>left$} {}", if tick.is_some() { '┤' } else { '│' });
        let mut named = names.iter().zip(letters()).zip(&labels);
        let label = named.find(|(_, label)| label.round() as usize == line);
        let label = label.map(|((name, letter), _)| format!(" {letter} {}", shortened(name, right)));
        let row = format!("{}{}", raster.row(line), label.unwrap_or_default());
        writeln!(out, "{}", format!("  {}{row}", palette.dim(&axis)).trim_end())?;
    }
    let column = |&threads: &usize| (raster.place((axes.across.share(threads as f64), 0.0)).0, threads);
    for line in below(&axes.counts.iter().map(column).collect::<Vec<_>>(), raster.columns) {
        writeln!(out, "  {:left$} {}", "", palette.dim(&line))?;
    }
    Ok(())
}

/// The axis of threads, in two lines: a tick for each number, and the numbers as far as there is room.
fn below(counts: &[(usize, usize)], columns: usize) -> [String; 2] {
    let is_tick = |column: usize| counts.iter().any(|(at, _)| *at == column);
    let axis = (0..columns).map(|column| if is_tick(column) { '┬' } else { '─' });
    let mut numbers = String::new();
    for (column, threads) in counts {
        let number = threads.to_string();
        // Below the tick, which is one to the right of the corner.
        let from = (column + 1).saturating_sub((number.len() - 1) / 2);
        if numbers.is_empty() || from > numbers.len() {
            numbers = format!("{numbers:<from$}{number}");
        }
    }
    [std::iter::once('└').chain(axis).collect(), format!("{numbers} threads")]
}

/// The marks of curves.
fn letters() -> impl Iterator<Item = char> {
    ('a'..='z').chain('A'..='Z').cycle()
}

fn shortened(name: &str, most: usize) -> String {
    match name.chars().count() > most {
        true => name.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> BenchRecord {
        serde_json::from_str(include_str!("example.json")).unwrap()
    }

    fn drawn(record: &BenchRecord, width: Option<usize>) -> String {
        let mut out = Vec::new();
        charts(&mut out, record, width, Palette::new(false)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_curve_ends_at_its_name_and_has_a_letter_at_each_rate() {
        let expected = "
fetch-add (same-word): operations per second of all threads
  200 M ┤a⠒⠢⠤⣀
        │b⠢⢄  ⠉⠑⠒⠤⢄⣀
  100 M ┤   ⠉⠒⢄⡀    ⠉⠑⠢⠤⣀⡀
        │      ⠈⠑⠤⡀      ⠈⠉⠒⠢⠤⣀⡀
        │         ⠈⠑⠢⣀         ⠈⠑⠒⠤⢄⣀
   50 M ┤             ⠉⠢⢄⡀           ⠉⠑⠒⠤⣀⡀
        │                ⠈⠒⠤⡀             ⠈⠉a a lock xadd
        │                   ⠈⠑⠢⣀
        │                       ⠉⠢⢄⡀
   20 M ┤                          ⠈⠒⢄⡀
        │                             ⠈⠑⠤⣀
   10 M ┤                                 ⠑⠢b b cmpxchg loop
        └┬──────────────────────────────────┬
         1                                  2 threads
";
        assert_eq!(drawn(&example(), Some(60)), expected);
    }

    #[test]
    fn a_chart_is_as_wide_as_the_terminal_and_80_columns_where_that_is_unknown() {
        let mut record = example();
        record.points[0].variants[0].name = "x".repeat(300);
        record.points[1].variants[0].name = "x".repeat(300);
        for (width, expected) in [(None, 80), (Some(120), 120), (Some(50), 50)] {
            let chart = drawn(&record, width);
            let widest = chart.lines().skip(2).map(|line| line.chars().count()).max();
            assert_eq!(widest, Some(expected), "{chart}");
        }
        assert!(drawn(&record, Some(20)).contains("no chart: the terminal is too narrow"));
    }

    #[test]
    fn what_has_one_number_of_threads_has_no_chart() {
        let mut record = example();
        record.points.truncate(1);
        assert_eq!(drawn(&record, None), "\nNo chart: nothing was measured with two numbers of threads.\n");
    }

    #[test]
    fn a_record_of_nonsense_has_charts_all_the_same() {
        for number in [0.0, -1.0, 1e308, f64::MAX, 5e-324] {
            let mut record = example();
            record.points[0].kernel = "\u{1b}[31m".to_owned();
            record.points[1].kernel = "\u{1b}[31m".to_owned();
            record.points[0].processors = vec![7; 3];
            record.points[1].processors = vec![0; 100_000];
            for variant in record.points.iter_mut().flat_map(|point| &mut point.variants) {
                variant.name.push_str("\u{1b}\r\n");
                variant.measured.iter_mut().for_each(|rates| rates.rate = number);
            }
            let variant = record.points[1].variants[0].clone();
            record.points[1].variants.extend(vec![variant.clone(); 60]);
            record.points[1].variants[1].measured.as_mut().unwrap().rate = 1.0;
            for width in [None, Some(0), Some(39), Some(1_000)] {
                assert!(!drawn(&record, width).contains(['\u{1b}', '\r']), "{number}");
            }
        }
    }
}
