//! Tables for a fixed-width font, to the space as benchstat lays them out.
//!
//! A table is a grid of narrow columns (label; centre, interval, notes; and for later columns change, p,
//! notes) with cells that may span several. Columns get the width of their widest cell; what a spanning cell
//! lacks is spread over the columns that stretch.

use super::table::{Table, Tables};
use super::unit::common_scale;

/// Narrow columns of the label, of a centre, and of a comparison.
const LABEL: usize = 1;
const CENTER: usize = 3;
const DELTA: usize = 3;

/// Where a column of the table begins in the grid.
fn start(column: usize) -> usize {
    if column == 0 { LABEL } else { LABEL + CENTER + (column - 1) * (CENTER + DELTA) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Center,
    Right,
}

#[derive(Debug, Clone)]
struct Cell {
    row: usize,
    column: usize,
    span: usize,
    text: String,
    margin: &'static str,
    align: Align,
}

#[derive(Debug, Default)]
struct Grid {
    cells: Vec<Cell>,
    /// Columns that a spanning cell does not widen.
    fixed: Vec<usize>,
    rows: usize,
}

impl Grid {
    fn row(&mut self) {
        self.rows += 1;
    }

    fn put(&mut self, column: usize, text: impl Into<String>, align: Align) {
        let text = text.into();
        let margin = if column == 0 || text.is_empty() { "" } else { " " };
        self.span(column, 1, text, margin, align);
    }

    fn span(
        &mut self,
        column: usize,
        span: usize,
        text: impl Into<String>,
        margin: &'static str,
        align: Align,
    ) {
        let row = self.rows.saturating_sub(1);
        self.cells.push(Cell { row, column, span, text: text.into(), margin, align });
    }

    /// The width of every column with its margin, and the margins.
    fn widths(&self) -> (Vec<usize>, Vec<usize>) {
        let columns = self.cells.iter().map(|cell| cell.column + cell.span).max().unwrap_or(0);
        let mut margins = vec![0usize; columns];
        for cell in &self.cells {
            widen(&mut margins, cell.column, width(cell.margin));
        }
        let mut widths = vec![0usize; columns];
        let mut by_span: Vec<&Cell> = self.cells.iter().collect();
        by_span.sort_by_key(|cell| cell.span);
        for cell in by_span {
            let mut lacks = width(&cell.text) + at(&margins, cell.column);
            let covered = cell.column..cell.column + cell.span;
            if cell.span == 1 {
                widen(&mut widths, cell.column, lacks);
                continue;
            }
            if covered.clone().map(|column| at(&widths, column)).sum::<usize>() >= lacks {
                continue;
            }
            let (fixed, mut stretching): (Vec<usize>, Vec<usize>) =
                covered.partition(|column| self.fixed.contains(column));
            lacks = lacks.saturating_sub(fixed.iter().map(|&column| at(&widths, column)).sum());
            // The widest first: what it has beyond its share is left to the others.
            stretching.sort_by_key(|&column| std::cmp::Reverse(at(&widths, column)));
            for (done, &column) in stretching.iter().enumerate() {
                let share = lacks.div_ceil(stretching.len() - done);
                widen(&mut widths, column, share);
                lacks = lacks.saturating_sub(at(&widths, column));
            }
        }
        (widths, margins)
    }

    fn render(mut self, out: &mut String) {
        let (widths, margins) = self.widths();
        let offset = |column: usize| widths.iter().take(column).sum::<usize>();
        self.cells.sort_by_key(|cell| (cell.row, cell.column));
        let (mut row, mut position) = (0, 0);
        // Empty cells would leave spaces at the ends of lines.
        for cell in
            self.cells.iter().filter(|cell| !cell.text.trim().is_empty() || !cell.margin.trim().is_empty())
        {
            while row < cell.row {
                out.push('\n');
                (row, position) = (row + 1, 0);
            }
            let margin = at(&margins, cell.column);
            let begin = offset(cell.column);
            // What is longer than its columns moves the next cell by as much again, as upstream prints it.
            out.extend(std::iter::repeat_n(' ', begin.abs_diff(position)));
            out.push_str(&format!("{:>margin$}", cell.margin));
            let room = offset(cell.column + cell.span).saturating_sub(begin + margin);
            let pad = match cell.align {
                Align::Left => 0,
                Align::Center => room.saturating_sub(width(&cell.text)) / 2,
                Align::Right => room.saturating_sub(width(&cell.text)),
            };
            out.extend(std::iter::repeat_n(' ', pad));
            out.push_str(&cell.text);
            position = begin + margin + pad + width(&cell.text);
        }
        if !self.cells.is_empty() {
            out.push('\n');
        }
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn at(widths: &[usize], column: usize) -> usize {
    widths.get(column).copied().unwrap_or(0)
}

fn widen(widths: &mut [usize], column: usize, to: usize) {
    if let Some(width) = widths.get_mut(column) {
        *width = (*width).max(to);
    }
}

/// Notes below a table, numbered as they come up.
#[derive(Debug, Default)]
struct Footnotes {
    texts: Vec<String>,
}

impl Footnotes {
    fn marks(&mut self, notes: impl IntoIterator<Item = String>) -> String {
        let mark = |note: String| {
            let known = self.texts.iter().position(|text| *text == note);
            let place = known.unwrap_or_else(|| {
                self.texts.push(note);
                self.texts.len() - 1
            });
            superscript(place + 1)
        };
        notes.into_iter().map(mark).collect::<Vec<_>>().join(" ")
    }
}

fn superscript(number: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digit = |c: char| c.to_digit(10).and_then(|digit| DIGITS.get(digit as usize)).copied();
    number.to_string().chars().filter_map(digit).collect()
}

pub(super) fn render(tables: &Tables) -> String {
    let mut out = String::new();
    for (index, (table, heading)) in tables.tables.iter().zip(tables.headings()).enumerate() {
        if index > 0 {
            out.push('\n');
        }
        for line in heading {
            out.push_str(&line);
            out.push('\n');
        }
        one(table, &mut out);
    }
    out
}

fn one(table: &Table, out: &mut String) {
    let (mut grid, mut footnotes) = (Grid::default(), Footnotes::default());
    header(table, &mut grid);
    body(table, &mut grid, &mut footnotes);
    if table.rows.len() > 1 {
        geomeans(table, &mut grid, &mut footnotes);
    }
    grid.render(out);
    for (index, text) in footnotes.texts.iter().enumerate() {
        out.push_str(&format!("{} {text}\n", superscript(index + 1)));
    }
}

/// Names of the columns, level by level, each over all columns that share it and what is above it; then the
/// unit.
fn header(table: &Table, grid: &mut Grid) {
    let count = table.columns.len();
    let edge = start(count + 1);
    let levels = table.columns.first().map_or(0, Vec::len);
    for level in 0..levels {
        grid.row();
        let name = |column: usize| table.columns.get(column).and_then(|values| values.get(..=level));
        let mut from = 0;
        while from < count {
            let same = (from..count).take_while(|&column| name(column) == name(from)).count().max(1);
            let text = name(from).and_then(<[String]>::last).cloned().unwrap_or_default();
            let (left, right) = (start(from), start(from + same));
            grid.span(left, right - left, text, " │ ", Align::Center);
            from += same;
        }
        grid.span(edge, 1, "", " │", Align::Left);
    }
    grid.row();
    for column in 0..count {
        let left = start(column);
        grid.span(left, CENTER, table.unit.clone(), " │ ", Align::Center);
        if column > 0 {
            grid.span(left + CENTER, DELTA, "vs base", "  ", Align::Left);
        }
        // What is between the first and the last of a column keeps its width.
        let right = left + CENTER + if column > 0 { DELTA } else { 0 };
        grid.fixed.extend(left + 1..right);
    }
    grid.span(edge, 1, "", " │", Align::Left);
}

fn body(table: &Table, grid: &mut Grid, footnotes: &mut Footnotes) {
    for (name, cells) in table.rows.iter().zip(&table.cells) {
        grid.row();
        grid.put(0, name.clone(), Align::Left);
        let centers: Vec<f64> = cells.iter().flatten().map(|cell| cell.summary.center).collect();
        let scale = common_scale(&centers, table.class);
        for (column, cell) in cells.iter().enumerate() {
            let Some(cell) = cell else { continue };
            let at = start(column);
            grid.put(at, scale.format(cell.summary.center), Align::Right);
            // The sign is in the margin, so that centres with and without an interval line up.
            grid.span(at + 1, 1, cell.summary.percent(), " ± ", Align::Right);
            let notes = cell.notes.iter().cloned().chain(cell.summary.notes.iter().map(ToString::to_string));
            grid.put(at + 2, footnotes.marks(notes), Align::Left);
            if let Some((base, comparison)) = &cell.baseline {
                grid.put(at + CENTER, comparison.delta(*base, cell.summary.center), Align::Right);
                grid.put(at + CENTER + 1, format!("({comparison})"), Align::Left);
                let notes = comparison.notes.iter().map(ToString::to_string);
                grid.put(at + CENTER + 2, footnotes.marks(notes), Align::Left);
            }
        }
    }
}

fn geomeans(table: &Table, grid: &mut Grid, footnotes: &mut Footnotes) {
    grid.row();
    grid.put(0, "geomean", Align::Left);
    for (column, summaries) in table.summaries.iter().enumerate() {
        if let Some(center) = summaries.center {
            let scale = common_scale(&[center], table.class);
            grid.put(start(column), scale.format(center), Align::Right);
        }
        if column > 0 {
            let align = if summaries.ratio.is_some() { Align::Right } else { Align::Left };
            grid.put(start(column) + CENTER, summaries.change(), align);
        }
        grid.put(start(column + 1) - 1, footnotes.marks(summaries.notes.iter().cloned()), Align::Left);
    }
}
