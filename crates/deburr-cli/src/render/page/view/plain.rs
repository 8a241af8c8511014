//! The page without its script: the findings as a table, for those whose browser or reader runs none.
//!
//! In: rows of text. Out: a `<noscript>` element, which a browser with scripts does not lay out.

use super::super::markup::Escaped;
use super::texts::shown;
use crate::text::number::{counted, grouped};
use std::io::{self, Write};

/// Rows of the table: a page with more is read by its script, or as text.
const MAX_ROWS: u64 = 500;

/// A table of findings.
pub(crate) struct PlainTable {
    columns: &'static [&'static str],
    /// One sentence for each file.
    files: Vec<String>,
    rows: Vec<Vec<String>>,
    left_out: u64,
}

impl PlainTable {
    /// An empty one.
    pub(crate) fn new(columns: &'static [&'static str]) -> PlainTable {
        PlainTable { columns, files: Vec::new(), rows: Vec::new(), left_out: 0 }
    }

    /// Adds what is said of a file as a whole.
    pub(crate) fn file(&mut self, path: &str, what: &str) {
        if (self.files.len() as u64) < MAX_ROWS {
            self.files.push(format!("{}: {}", shown(path), shown(what)));
        }
    }

    /// Adds a row, if there is room.
    pub(crate) fn row<'t>(&mut self, cells: impl IntoIterator<Item = &'t str>) {
        if (self.rows.len() as u64) < MAX_ROWS {
            self.rows.push(cells.into_iter().map(|cell| shown(cell).into_owned()).collect());
        } else {
            self.left_out += 1;
        }
    }

    /// Writes it.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "<noscript><section aria-label=\"Findings without a script\">")?;
        writeln!(out, "<ul>")?;
        self.files.iter().try_for_each(|file| writeln!(out, "<li>{}</li>", Escaped(file)))?;
        writeln!(out, "</ul>")?;
        let count = self.rows.len() as u64 + self.left_out;
        writeln!(out, "<table class=\"plain\"><caption>{}</caption>", counted(count, "finding"))?;
        let head: String = self.columns.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
        writeln!(out, "<thead><tr>{head}</tr></thead><tbody>")?;
        for row in &self.rows {
            let cells: String = row.iter().map(|cell| format!("<td>{}</td>", Escaped(cell))).collect();
            writeln!(out, "<tr>{cells}</tr>")?;
        }
        writeln!(out, "</tbody></table>")?;
        if self.left_out > 0 {
            let more = grouped(self.left_out);
            writeln!(
                out,
                "<p>{more} more: the page shows them with its script, and so does --format text.</p>"
            )?;
        }
        writeln!(out, "</section></noscript>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_every_cell_as_text_and_counts_what_it_leaves_out() {
        let mut table = PlainTable::new(&["Severity", "Function"]);
        table.file("</noscript><script>", "needs x86-64-v3");
        for number in 0..MAX_ROWS + 7 {
            table.row(["error", &format!("</noscript><b>{number}")]);
        }
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches("<tr>").count() as u64, MAX_ROWS + 1);
        assert_eq!((text.matches("</noscript>").count(), text.matches("<b>").count()), (1, 0), "{text}");
        assert!(text.contains("507 findings") && text.contains("7 more"), "{text}");
    }
}
