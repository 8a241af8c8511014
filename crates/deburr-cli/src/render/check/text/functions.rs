//! Text for people: the functions above the first level, by verdict, worst first.
//!
//! In: one report. Out: a line of counts; below it the functions that need a feature without a sufficient
//! check, each with its path; all functions where every detail is wanted.

use super::detail::Detail;
use crate::render::line::fit;
use crate::render::number::counted;
use deburr_core::Report;
use deburr_core::report::{GuardKind, Hex, IsaFunction, Reach};
use std::io::{self, Write};

/// Functions named where not all are.
const SHOWN: usize = 3;

/// Verdicts in the order in which they are shown, and their names.
const VERDICTS: [(Reach, &str); 6] = [
    (Reach::Required, "required"),
    (Reach::UnderGuarded, "under-guarded"),
    (Reach::Unknown, "unknown"),
    (Reach::Covered, "covered"),
    (Reach::Guarded, "guarded"),
    (Reach::Unreached, "unreached"),
];

const KINDS: [(GuardKind, &str); 5] = [
    (GuardKind::Ifunc, "ifunc"),
    (GuardKind::Branch, "branch"),
    (GuardKind::Pointer, "pointer"),
    (GuardKind::Table, "table"),
    (GuardKind::Stated, "stated"),
];

/// Renders the functions of a file.
pub(super) fn write(out: &mut dyn Write, report: &Report, detail: &Detail) -> io::Result<()> {
    let functions = &report.isa_functions;
    if functions.is_empty() {
        return Ok(());
    }
    let of = |reach: Reach| functions.iter().filter(move |function| function.reach == reach);
    let count = |&(reach, name): &(Reach, &str)| match of(reach).count() {
        0 => None,
        n if reach == Reach::Guarded => Some(format!("{n} {name}{}", kinds(of(reach)))),
        n => Some(format!("{n} {name}")),
    };
    let counts: Vec<String> = VERDICTS.iter().filter_map(count).collect();
    let head = counted(functions.len() as u64, "function");
    let line = format!("  {head} above the first level: {}", counts.join(", "));
    writeln!(out, "{}", fit(&line, detail.width))?;
    let named = if detail.verbose { VERDICTS.as_slice() } else { VERDICTS.get(..2).unwrap_or_default() };
    let all: Vec<(&str, &IsaFunction)> = named
        .iter()
        .flat_map(|&(reach, name)| {
            let mut order: Vec<_> = of(reach).collect();
            order.sort_by_key(|function| std::cmp::Reverse(function.features.values().sum::<u64>()));
            order.into_iter().map(move |function| (name, function))
        })
        .collect();
    let limit = if detail.verbose { all.len() } else { SHOWN };
    for (verdict, function) in all.iter().take(limit) {
        let line = format!("    {verdict:13}  {}", described(function));
        writeln!(out, "{}", fit(&line, detail.width))?;
    }
    if all.len() > limit {
        let more = format!("… and {} more (--verbose shows all)", all.len() - limit);
        writeln!(out, "    {}", detail.palette.dim(&more))?;
    }
    Ok(())
}

/// How many functions each kind of check guards, the commonest first: ` (110 ifunc, 7 branch)`.
fn kinds<'r>(functions: impl Iterator<Item = &'r IsaFunction> + Clone) -> String {
    let count = |wanted: GuardKind| {
        let kinds = functions.clone().filter_map(|function| Some(function.guard.as_ref()?.kind));
        kinds.filter(|kind| *kind == wanted).count()
    };
    let mut counts: Vec<(usize, &str)> = KINDS.iter().map(|&(kind, name)| (count(kind), name)).collect();
    counts.retain(|(count, _)| *count > 0);
    counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let texts: Vec<String> = counts.iter().map(|(count, name)| format!("{count} {name}")).collect();
    if texts.is_empty() { String::new() } else { format!(" ({})", texts.join(", ")) }
}

/// `sum (AVX AVX2): _start → main → sum`.
fn described(function: &IsaFunction) -> String {
    let features: Vec<_> = function.features.keys().map(String::as_str).collect();
    let mut text = format!("{} ({})", named(function.function.as_deref(), function.svma), features.join(" "));
    if function.path.len() > 1 {
        let path = function.path.iter().map(|step| named(step.function.as_deref(), step.svma));
        text.push_str(": ");
        text.push_str(&path.collect::<Vec<_>>().join(" → "));
    }
    if let Some(guard) = &function.guard {
        let kind = KINDS.iter().find(|(kind, _)| *kind == guard.kind).map_or("check", |(_, name)| name);
        let within = guard.function.as_ref().map(|name| format!(" in {name}")).unwrap_or_default();
        text.push_str(&format!("; {kind} at {}{within}", guard.svma));
    }
    text
}

fn named(name: Option<&str>, svma: Hex) -> String {
    name.map_or_else(|| svma.to_string(), str::to_owned)
}
