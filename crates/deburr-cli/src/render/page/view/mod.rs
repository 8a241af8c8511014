//! Pages that are searched and opened: a skeleton, data, and the one script that draws them, for `deburr check` and `deburr diff`.
//!
//! In: records of files and of the run, as JSON. Out: one HTML file. The script in `script/` is written by hand and needs no
//! other; it makes elements and sets their text, and never reads text as HTML. `kind` in the record of the run says what the data
//! is: `check` or `diff`.

pub(crate) mod code;
pub(crate) mod plain;
#[cfg(test)]
pub(crate) mod read;
pub(crate) mod room;
pub(crate) mod texts;

use super::head_with_script;
use super::script::{data_element, embedded, source_of};
use deburr_core::rule::RULES;
use plain::PlainTable;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// The body of the page before it is filled in.
const SKELETON: &str = include_str!("script/skeleton.html");
const STYLES: &str = include_str!("script/view.css");
/// One script: its parts share a scope.
const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("script/data.js"),
    include_str!("script/element.js"),
    include_str!("script/state.js"),
    include_str!("script/table.js"),
    include_str!("script/prose.js"),
    include_str!("script/check.js"),
    include_str!("script/difference.js"),
    include_str!("script/treemap.js"),
    include_str!("script/code.js"),
    include_str!("script/detail.js"),
    include_str!("script/main.js"),
    "})();\n",
);

/// Opens the page.
pub(crate) fn begin(out: &mut dyn Write, title: &str) -> io::Result<()> {
    let body = SKELETON.replace("TITLE", title);
    write!(out, "{}{body}", head_with_script(title, &source_of(SCRIPT), STYLES))
}

/// Closes it, with the findings as a table without the script, and the record of the run.
pub(crate) fn end(out: &mut dyn Write, plain: &PlainTable, run: &Value) -> io::Result<()> {
    plain.write(out)?;
    data_element(out, "id=\"run\"", run)?;
    write!(out, "<script>{SCRIPT}</script>\n</body>\n</html>\n")
}

/// Records of files are written together until they have this size.
const CHUNK: usize = 1 << 18;

/// Writes records of files, many in one element. Those that wait are written by [`finish`](Records::finish).
#[derive(Default)]
pub(crate) struct Records {
    waiting: String,
}

impl Records {
    /// Adds the record of the next file.
    pub(crate) fn add(&mut self, out: &mut dyn Write, record: &Value) -> io::Result<()> {
        self.waiting.push(if self.waiting.is_empty() { '[' } else { ',' });
        self.waiting.push_str(&record.to_string());
        if self.waiting.len() > CHUNK { self.finish(out) } else { Ok(()) }
    }

    /// Writes those that are not written yet.
    pub(crate) fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if !self.waiting.is_empty() {
            let records = embedded(&std::mem::take(&mut self.waiting));
            writeln!(out, "<script type=\"application/json\" class=\"files\">{records}]</script>")?;
        }
        Ok(())
    }
}

/// What the page says of some rules.
pub(crate) fn rules(found: &BTreeSet<String>) -> Value {
    let found = RULES.iter().filter(|rule| found.contains(rule.id));
    let rule = |rule: &deburr_core::rule::Rule| {
        let record = json!({"summary": rule.summary, "page": rule.page, "preview": rule.preview});
        (rule.id.to_owned(), record)
    };
    Value::Object(found.map(rule).collect::<Map<String, Value>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_is_written_once_and_in_order_whatever_its_size() {
        let files: Vec<Value> =
            [3, CHUNK, 3, 3, 2 * CHUNK, 3].iter().map(|&size| "<".repeat(size).into()).collect();
        let (mut out, mut records) = (Vec::new(), Records::default());
        for file in &files {
            records.add(&mut out, file).unwrap();
        }
        records.finish(&mut out).unwrap();
        records.finish(&mut out).unwrap();
        let page = String::from_utf8(out).unwrap();
        assert_eq!(read::files(&page), files);
        assert_eq!(read::scripts(&page, "class=\"files\"").len(), 3);
        assert!(!page.contains("[]"), "no element for nothing");
    }
}
