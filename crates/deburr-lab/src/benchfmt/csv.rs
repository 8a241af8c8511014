//! Tables as comma-separated values, and next to them the notes.
//!
//! In: tables. Out: the text that benchstat writes with `-format csv`, and its notes, each with the cell that
//! it belongs to as a spreadsheet names it.

use super::table::{Table, Tables};
use crate::stats::benchstat::shortest;

/// Where a column of the table begins: label; centre and interval; and for later columns change and p.
fn start(column: usize) -> usize {
    if column == 0 { 1 } else { 3 + (column - 1) * 4 }
}

#[derive(Debug, Default)]
struct Sheet {
    out: String,
    notes: String,
    row: Vec<String>,
    rows: usize,
}

impl Sheet {
    fn until(&mut self, column: usize) {
        if self.row.len() < column {
            self.row.resize(column, String::new());
        }
    }

    fn put(&mut self, text: impl Into<String>) {
        self.row.push(text.into());
    }

    fn end(&mut self) {
        let quoted: Vec<String> = self.row.drain(..).map(|field| quoted(&field)).collect();
        self.out.push_str(&quoted.join(","));
        self.out.push('\n');
        self.rows += 1;
    }

    /// Of the cell that comes next.
    fn note<T: ToString>(&mut self, notes: impl IntoIterator<Item = T>) {
        let place = format!("{}{}", column_name(self.row.len()), self.rows + 1);
        for note in notes {
            self.notes.push_str(&format!("{place}: {}\n", note.to_string()));
        }
    }
}

/// A, B, …; as upstream counts, which after Z goes on with BA.
fn column_name(mut column: usize) -> String {
    let mut letters = Vec::new();
    while column > 0 || letters.is_empty() {
        letters.push(char::from(b'A' + (column % 26) as u8));
        column /= 26;
    }
    letters.iter().rev().collect()
}

/// In quotes where a comma, a quote, a line's end or a space in front demands it.
fn quoted(field: &str) -> String {
    let plain =
        !field.contains([',', '"', '\n', '\r']) && !field.starts_with(char::is_whitespace) && field != "\\.";
    if plain { field.to_owned() } else { format!("\"{}\"", field.replace('"', "\"\"")) }
}

pub(super) fn render(tables: &Tables) -> (String, String) {
    let mut sheet = Sheet::default();
    for (index, (table, heading)) in tables.tables.iter().zip(tables.headings()).enumerate() {
        if index > 0 {
            sheet.put("");
            sheet.end();
        }
        for line in heading {
            sheet.put(line);
            sheet.end();
        }
        one(table, tables.column_keys.len(), &mut sheet);
    }
    (sheet.out, sheet.notes)
}

fn one(table: &Table, levels: usize, sheet: &mut Sheet) {
    let count = table.columns.len();
    for level in 0..levels {
        for (column, values) in table.columns.iter().enumerate() {
            sheet.until(start(column));
            sheet.put(values.get(level).cloned().unwrap_or_default());
        }
        sheet.until(start(count));
        sheet.end();
    }
    for column in 0..count {
        sheet.until(start(column));
        sheet.put(table.unit.clone());
        sheet.put("CI");
        if column > 0 {
            sheet.put("vs base");
            sheet.put("P");
        }
    }
    sheet.end();
    for (name, cells) in table.rows.iter().zip(&table.cells) {
        sheet.put(name.clone());
        for (column, cell) in cells.iter().enumerate() {
            let Some(cell) = cell else { continue };
            sheet.until(start(column));
            sheet.note(&cell.notes);
            sheet.note(&cell.summary.notes);
            sheet.put(shortest(cell.summary.center));
            sheet.put(cell.summary.percent());
            if let Some((base, comparison)) = &cell.baseline {
                sheet.note(&comparison.notes);
                sheet.put(comparison.delta(*base, cell.summary.center));
                sheet.put(comparison.to_string());
            }
        }
        sheet.end();
    }
    sheet.put("geomean");
    for (column, summaries) in table.summaries.iter().enumerate() {
        sheet.until(start(column));
        sheet.note(&summaries.notes);
        if let Some(center) = summaries.center {
            sheet.put(shortest(center));
        }
        if column > 0 {
            sheet.until(start(column) + 2);
            sheet.put(summaries.change());
        }
    }
    sheet.until(start(count));
    sheet.end();
}
