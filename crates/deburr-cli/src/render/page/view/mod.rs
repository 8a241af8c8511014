//! Pages that are searched and opened: a skeleton, data, and the one script that draws them, for `deburr check` and `deburr diff`.
//!
//! In: records of files and of the run, as JSON. Out: one HTML file. The script in `script/` is written by hand and needs no
//! other; it makes elements and sets their text, and never reads text as HTML. `kind` in the record of the run says what the data
//! is: `check` or `diff`.

pub(crate) mod code;
#[cfg(test)]
pub(crate) mod read;
pub(crate) mod room;
pub(crate) mod texts;

use super::head_with_script;
use super::script::{data_element, source_of};
use deburr_core::rule::RULES;
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
    write!(out, "{}{SKELETON}", head_with_script(title, &source_of(SCRIPT), STYLES))
}

/// Closes it, with the record of the run.
pub(crate) fn end(out: &mut dyn Write, run: &Value) -> io::Result<()> {
    data_element(out, "id=\"run\"", run)?;
    write!(out, "<script>{SCRIPT}</script>\n</body>\n</html>\n")
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
