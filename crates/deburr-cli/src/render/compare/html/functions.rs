//! What functions gained or lost, as a table.

use crate::render::by_function::{ByFunction, amount, name, signed};
use crate::render::page::markup::{Escaped, data, sentence};
use deburr_lab::comparison::functions::{Change, PortionTimes};
use std::fmt::Write;

/// How many changes are shown.
const MOST: usize = 30;

/// The section.
pub(super) fn section(found: &ByFunction) -> String {
    let times = &found.times;
    let changed: Vec<&PortionTimes> =
        times.portions.iter().filter(|row| row.change != Change::Unclear).collect();
    let mut text = String::from("<section class=\"functions\">\n<h2>By function</h2>\n");
    let [a, b] = times.samples;
    let what = if found.has_kernel { "CPU time" } else { "CPU time outside of the kernel" };
    let said = match changed.len() {
        0 => "no function changed beyond chance (5 %, all functions together)".to_owned(),
        _ => format!(
            "what changed beyond chance (5 %, all functions together), of {} functions",
            times.portions.len()
        ),
    };
    let _ = writeln!(
        text,
        "<p>{}</p>",
        sentence(&format!(
            "{what} of a run, by {a} and {b} samples of runs after those that were measured: {said}."
        ))
    );
    if !changed.is_empty() {
        text.push_str(
            "<div class=\"numbers table\"><table>\n<thead><tr><th scope=\"col\">function</th><th scope=\"col\">A</th>\
             <th scope=\"col\">B</th><th scope=\"col\">difference</th></tr></thead>\n<tbody>\n",
        );
        changed.iter().take(MOST).for_each(|row| text.push_str(&line(found, row)));
        text.push_str("</tbody></table></div>\n");
    }
    let rest: Vec<&PortionTimes> = changed.iter().skip(MOST).copied().collect();
    if !rest.is_empty() {
        let sum: f64 = rest.iter().map(|row| row.difference).sum();
        let _ =
            writeln!(text, "<p>{} more changed, by {} together.</p>", rest.len(), signed(&times.unit, sum));
    }
    text.push_str("</section>\n");
    text
}

fn line(found: &ByFunction, row: &PortionTimes) -> String {
    let unit = &found.times.unit;
    let [a, b] = row.amounts;
    let margin = row.margin.map_or_else(String::new, |margin| format!(" ± {}", amount(unit, margin)));
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}{}</td></tr>\n",
        Escaped(&name(&row.portion)),
        data("a", a, &amount(unit, a)),
        data("b", b, &amount(unit, b)),
        data("difference", row.difference, &signed(unit, row.difference)),
        Escaped(&margin),
    )
}
