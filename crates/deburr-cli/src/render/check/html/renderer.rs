//! The renderer: it writes the data of each file when it comes, and holds sums only.

use super::code::{self, INSN};
use super::record;
use super::room::{Rooms, SKIPPED};
use super::rows::{FINDING, FUNCTION, OTHER};
use super::texts::{shown, shown_value};
use crate::input::source_lines::SourceLines;
use crate::render::check::renderer::{Checked, Finished, Renderer};
use crate::render::page::head_with_script;
use crate::render::page::script::{data_element, embedded, source_of};
use deburr_core::rule::RULES;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// The body of the page before it is filled in.
const SKELETON: &str = include_str!("page/skeleton.html");
const STYLES: &str = include_str!("page/page.css");
/// One script: its parts share a scope.
const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("page/data.js"),
    include_str!("page/element.js"),
    include_str!("page/state.js"),
    include_str!("page/table.js"),
    include_str!("page/prose.js"),
    include_str!("page/summary.js"),
    include_str!("page/treemap.js"),
    include_str!("page/code.js"),
    include_str!("page/detail.js"),
    include_str!("page/main.js"),
    "})();\n",
);

/// Records of files are written together until they have this size.
const CHUNK: usize = 1 << 18;

/// Writes one page.
#[derive(Default)]
pub(crate) struct Html {
    rooms: Rooms,
    files: u64,
    /// Records that are not written yet.
    waiting: String,
    /// Rules that found something.
    rules: BTreeSet<String>,
}

impl Renderer for Html {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{}{SKELETON}", head_with_script("deburr check", &source_of(SCRIPT), STYLES))
    }

    fn file(&mut self, out: &mut dyn Write, file: Checked<'_>) -> io::Result<()> {
        let rules = file.report.findings.iter().map(|finding| &*finding.rule);
        let new: Vec<&str> = rules.filter(|rule| !self.rules.contains(*rule)).collect();
        self.rules.extend(new.into_iter().map(str::to_owned));
        self.waiting.push(if self.waiting.is_empty() { '[' } else { ',' });
        self.waiting.push_str(&record::file(file, &mut self.rooms).to_string());
        if self.waiting.len() > CHUNK {
            self.write_waiting(out)?;
        }
        self.rooms.code.leave_out(file.code.left_out);
        let mut sources = SourceLines::default();
        let mut functions = Vec::new();
        for listing in file.code.listings {
            match self.rooms.code.take_all(listing.insns.len()) {
                true => functions.push(code::function(listing, &mut |name| sources.of(name))),
                false => self.rooms.code.leave_out(1),
            }
        }
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
        self.write_waiting(out)?;
        self.rules.extend(run.across.iter().map(|finding| finding.rule.clone().into_owned()));
        data_element(out, "id=\"run\"", &self.run(run))?;
        write!(out, "<script>{SCRIPT}</script>\n</body>\n</html>\n")
    }
}

impl Html {
    fn write_waiting(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if !self.waiting.is_empty() {
            let records = embedded(&std::mem::take(&mut self.waiting));
            writeln!(out, "<script type=\"application/json\" class=\"files\">{records}]</script>")?;
        }
        Ok(())
    }

    /// The record of the run.
    fn run(&self, run: Finished<'_>) -> Value {
        let rules: BTreeMap<&str, Value> = RULES
            .iter()
            .filter(|rule| self.rules.contains(rule.id))
            .map(|rule| {
                (rule.id, json!({"summary": rule.summary, "page": rule.page, "preview": rule.preview}))
            })
            .collect();
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
            "version": env!("CARGO_PKG_VERSION"),
            "columns": {"finding": FINDING, "function": FUNCTION, "other": OTHER, "insn": INSN},
            "statistics": run.totals,
            "levels": levels,
            "rules": rules,
            "across": shown_value(json!(run.across)),
            "skipped": skipped,
            "stale_guards": run.stale_guards.len(),
            "stale_allowances": run.remarks.stale.len(),
            "exceeded_allowances": run.remarks.exceeded.len(),
            "room": self.rooms.value(),
        })
    }
}
