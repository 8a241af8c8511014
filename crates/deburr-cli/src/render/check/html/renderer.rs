//! The renderer: it writes the data of each file when it comes, and holds sums only.

use super::record;
use super::rows::{FINDING, FUNCTION, OTHER};
use crate::input::source_lines::SourceLines;
use crate::render::check::answer;
use crate::render::check::location::{function_of, place};
use crate::render::check::renderer::{Checked, Finished, Renderer};
use crate::render::check::text::file::verdict;
use crate::render::page::script::data_element;
use crate::render::page::view::code::{self, INSN};
use crate::render::page::view::plain::PlainTable;
use crate::render::page::view::room::{Rooms, SKIPPED};
use crate::render::page::view::texts::{shown, shown_value};
use crate::render::page::view::{Records, begin, end, rules};
use deburr_core::report::PlacedFinding;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Writes one page.
pub(crate) struct Html {
    rooms: Rooms,
    files: u64,
    records: Records,
    /// Rules that found something.
    rules: BTreeSet<String>,
    plain: PlainTable,
}

impl Default for Html {
    fn default() -> Html {
        Html {
            rooms: Rooms::default(),
            files: 0,
            records: Records::default(),
            rules: BTreeSet::new(),
            plain: PlainTable::new(&["Severity", "Rule", "File", "Place", "Function", "Message"]),
        }
    }
}

impl Renderer for Html {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        begin(out, "deburr check")
    }

    fn file(&mut self, out: &mut dyn Write, file: Checked<'_>) -> io::Result<()> {
        let rules = file.report.counted().map(|finding| &*finding.rule);
        let new: Vec<&str> = rules.filter(|rule| !self.rules.contains(*rule)).collect();
        self.rules.extend(new.into_iter().map(str::to_owned));
        self.records.add(out, &record::file(file, &mut self.rooms))?;
        self.plain.file(&file.report.path, &verdict(file.report));
        for finding in file.report.counted() {
            self.add_plain(&file.report.path, finding);
        }
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
        for finding in run.across {
            self.add_plain(&finding.path, &PlacedFinding::from(finding));
        }
        end(out, &self.plain, &self.run(run))
    }
}

impl Html {
    /// Adds a finding to the table that needs no script.
    fn add_plain(&mut self, path: &str, finding: &PlacedFinding) {
        let (severity, rule) = (finding.severity.name(), &*finding.rule);
        self.plain.row([severity, rule, path, &place(finding), &function_of(finding), &finding.message]);
    }

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
            "answers": run.totals.answers.as_ref().map(answer::line),
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
