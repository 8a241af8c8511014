//! Listings as rows of the page's data.
//!
//! In: the listings of a file's functions, and the reader of source files. Out: an object for each function, with a row for each
//! instruction. An address that follows from the instruction before is left out.

use super::texts::{Texts, row};
use deburr_core::listing::{Edge, Line, Listing, Target};
use deburr_core::profile::Share;
use deburr_core::report::SourceLocation;
use serde_json::{Value, json};
use std::sync::Arc;

/// The columns of an instruction. `loops` has a letter for each loop around it, the outermost first: `F`irst, `I`nside, `L`ast,
/// `O`nly one of its instructions. `source` is a file, a line and its text where it begins another one.
pub(crate) const INSN: [&str; 13] = [
    "text",
    "size",
    "at",
    "skipped",
    "gap",
    "to",
    "label",
    "jumps",
    "loops",
    "exclusive",
    "features",
    "source",
    "weight",
];

/// A share of what a profile saw, from 0 to 1; nothing is left out.
pub(crate) fn weight(share: Option<Share>) -> Value {
    share.filter(|share| *share != Share::default()).map_or(Value::Null, |share| share.fraction().into())
}

/// Reads source files by the names that debug information has.
pub(crate) type Sources<'s> = dyn FnMut(&str) -> Option<Arc<[String]>> + 's;

/// One function's code.
pub(crate) fn function(listing: &Listing, sources: &mut Sources<'_>) -> Value {
    let mut texts = Texts::default();
    let mut next: Option<u64> = None;
    let mut last_source: Option<&SourceLocation> = None;
    let mut rows = Vec::with_capacity(listing.insns.len());
    for line in &listing.insns {
        let size = line.bytes.len() as u64 / 2;
        let follows = next == Some(line.svma.0);
        next = line.svma.0.checked_add(size);
        let begins = line.source.as_ref().filter(|&source| Some(source) != last_source);
        last_source = line.source.as_ref().or(last_source);
        rows.push(insn(line, size, follows, begins, sources, &mut texts));
    }
    let of = &listing.function;
    json!({
        "name": of.name.as_deref().map(super::texts::shown),
        "at": of.svma.to_string(),
        "in": of.section.as_deref().map(super::texts::shown),
        "size": of.size,
        "count": listing.instructions,
        "after": listing.skipped_after,
        "texts": texts.finish(),
        "rows": rows,
    })
}

fn insn(
    line: &Line,
    size: u64,
    follows: bool,
    begins: Option<&SourceLocation>,
    sources: &mut Sources<'_>,
    texts: &mut Texts,
) -> Value {
    let set = |is: bool| if is { Value::from(1) } else { Value::Null };
    let some =
        |text: String, texts: &mut Texts| if text.is_empty() { Value::Null } else { texts.number(&text) };
    let loops: String = line.loops.iter().map(|within| letter(within.edge)).collect();
    let target = line.target.as_ref();
    let source = begins.map_or(Value::Null, |source| {
        let text = source.line.checked_sub(1).and_then(|at| sources(&source.file)?.get(at as usize).cloned());
        row([
            texts.number(&source.file),
            source.line.into(),
            texts.optional(text.as_deref().map(str::trim_end)),
        ])
    });
    row([
        texts.number(&line.text),
        size.into(),
        if follows { Value::Null } else { line.svma.to_string().into() },
        if line.skipped > 0 { line.skipped.into() } else { Value::Null },
        set(line.after_gap),
        target.and_then(|target| target.svma).map_or(Value::Null, |svma| svma.to_string().into()),
        target.map_or(Value::Null, |target| some(label(target), texts)),
        set(target.is_some_and(|target| target.is_transfer)),
        some(loops, texts),
        line.exclusive.map_or(Value::Null, |edge| letter(edge).to_string().into()),
        some(line.features.join(" "), texts),
        source,
        weight(line.share),
    ])
}

/// `name+0x1c`, as far as it has a name.
fn label(target: &Target) -> String {
    match (&target.name, target.offset) {
        (Some(name), 0) => name.clone(),
        (Some(name), offset) => format!("{name}+{offset:#x}"),
        (None, _) => String::new(),
    }
}

const fn letter(edge: Edge) -> char {
    match edge {
        Edge::First => 'F',
        Edge::Inside => 'I',
        Edge::Last => 'L',
        Edge::Only => 'O',
    }
}
