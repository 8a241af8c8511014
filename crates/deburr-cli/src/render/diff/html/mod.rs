//! The page of `deburr diff`: what was compared → one HTML file to look at, search and print.
//!
//! In: the files that were compared, each with its part of the page, and the sums of the run. Out: the records that
//! [`view`](crate::render::page::view) draws. [`record`] documents them.

pub(crate) mod drawn;
pub(crate) mod listed;
mod record;
#[cfg(test)]
mod tests;

use super::{Compared, DiffSummary};
use crate::config::allow::NO_NAME;
use crate::render::page::script::embedded;
use crate::render::page::view::plain::PlainTable;
use crate::render::page::view::room::Rooms;
use crate::render::page::view::{Records, begin, end};
use std::io::{self, Write};

/// Writes the page.
pub(crate) fn page(
    out: &mut dyn Write,
    compared: &[Compared],
    summary: &DiffSummary,
    rooms: &Rooms,
) -> io::Result<()> {
    begin(out, "deburr diff")?;
    let mut records = Records::default();
    for (number, it) in compared.iter().enumerate() {
        records.add(out, &record::file(it, summary))?;
        let Some(drawn) = &it.drawn else { continue };
        for (code, build) in [(&drawn.new_code, ""), (&drawn.old_code, " data-build=\"old\"")] {
            if !code.is_empty() {
                let functions = embedded(&code.join(","));
                let mark = format!("class=\"code\" data-file=\"{number}\"{build}");
                writeln!(out, "<script type=\"application/json\" {mark}>[{functions}]</script>")?;
            }
        }
    }
    records.finish(out)?;
    let mut plain = PlainTable::new(&["Change", "Severity", "Rule", "File", "Place", "Function", "Message"]);
    for it in compared {
        let levels =
            it.diff.levels.iter().map(|change| format!("{} {} → {}", change.what, change.old, change.new));
        plain.file(&it.new, &levels.collect::<Vec<String>>().join(", "));
        for (change, groups) in [("appeared", &it.diff.came), ("gone", &it.diff.went)] {
            for group in groups {
                let place = group.section.as_deref().map(|name| format!("{name}+")).unwrap_or_default();
                let place = format!("{place}{}", group.svma);
                let function = group.function.as_deref().unwrap_or(NO_NAME);
                let (severity, rule) = (group.severity.name(), &*group.rule);
                plain.row([change, severity, rule, &it.new, &place, function, &group.message]);
            }
        }
    }
    end(out, &plain, &record::run(compared, summary, rooms))
}
