//! The renderer: it writes the data of each file when it comes, and holds sums only.

use super::record;
use super::rows::{FINDING, FUNCTION, OTHER};
use crate::input::source_lines::SourceLines;
use crate::render::check::renderer::{Checked, Finished, Renderer};
use crate::render::page::script::data_element;
use crate::render::page::view::code::{self, INSN};
use crate::render::page::view::room::{Rooms, SKIPPED};
use crate::render::page::view::texts::{shown, shown_value};
use crate::render::page::view::{Records, begin, end, rules};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Writes one page.
#[derive(Default)]
pub(crate) struct Html {
    rooms: Rooms,
    files: u64,
    records: Records,
    /// Rules that found something.
    rules: BTreeSet<String>,
}

impl Renderer for Html {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        begin(out, "deburr check")
    }

    fn file(&mut self, out: &mut dyn Write, file: Checked<'_>) -> io::Result<()> {
        let rules = file.report.findings.iter().map(|finding| &*finding.rule);
        let new: Vec<&str> = rules.filter(|rule| !self.rules.contains(*rule)).collect();
        self.rules.extend(new.into_iter().map(str::to_owned));
        self.records.add(out, &record::file(file, &mut self.rooms))?;
        self.rooms.code.leave_out(file.code.left_out);
        let mut sources = SourceLines::default();
        let fitting =
            file.code.listings.iter().filter(|listing| self.rooms.code.take_all(listing.insns.len()));
        let functions: Vec<Value> =
            fitting.map(|listing| code::function(listing, &mut |name| sources.of(name))).collect();
        if !functions.is_empty() {
            data_element(
                out,
                &format!("class=\"code\" data-file=\"{}\"", self.files),
                &Value::Array(functions),
            )?;
        }
        self.files += 1;
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write, run: Finished<'_>) -> io::Result<()> {
        self.records.finish(out)?;
        self.rules.extend(run.across.iter().map(|finding| finding.rule.clone().into_owned()));
        end(out, &self.run(run))
    }
}

impl Html {
    /// The record of the run.
    fn run(&self, run: Finished<'_>) -> Value {
        let levels: Vec<Value> = run
            .totals
            .levels
            .iter()
            .map(|((arch, level), files)| shown_value(json!([arch, level, files.count, files.examples])))
            .collect();
        let skipped: Vec<Value> = run
            .skipped
            .iter()
            .take(SKIPPED)
            .map(|skip| json!([shown(&skip.path), shown(&skip.reason)]))
            .collect();
        json!({
            "kind": "check",
            "version": env!("CARGO_PKG_VERSION"),
            "columns": {"finding": FINDING, "function": FUNCTION, "other": OTHER, "insn": INSN},
            "statistics": run.totals,
            "levels": levels,
            "rules": rules(&self.rules),
            "across": shown_value(json!(run.across)),
            "skipped": skipped,
            "stale_guards": run.stale_guards.len(),
            "stale_allowances": run.remarks.stale.len(),
            "exceeded_allowances": run.remarks.exceeded.len(),
            "room": self.rooms.value(),
        })
    }
}
