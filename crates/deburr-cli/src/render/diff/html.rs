//! A page for people: what differs between two builds, the worst first. One file that needs no other, and no script.
//!
//! In: the files that were compared, and the sums of the run. Out: HTML. Numbers are in `<data>` elements.

use super::{Compared, DiffSummary};
use crate::render::number::counted;
use crate::render::page::head;
use crate::render::page::markup::{Escaped, data};
use deburr_core::diff::{FileDiff, FindingGroup};
use std::io::{self, Write};

/// Lines of one kind of change of one file.
const MOST_LINES: usize = 500;

/// Writes the page.
pub(crate) fn page(out: &mut dyn Write, compared: &[Compared], summary: &DiffSummary) -> io::Result<()> {
    let verdict = match summary.is_worse {
        true => "The new build is worse",
        false if compared.is_empty() => "Nothing was compared",
        false => "Nothing is worse",
    };
    write!(out, "{}<header>\n<p class=\"tool\">deburr diff</p>\n<h1>{verdict}</h1>\n", head(verdict))?;
    let pairs = compared.iter().filter(|it| it.old.is_some()).count();
    let sum = |of: fn(&FileDiff) -> u64| compared.iter().map(|it| of(&it.diff)).sum::<u64>();
    let came = sum(|diff| diff.came.iter().map(|group| group.count).sum());
    let went = sum(|diff| diff.went.iter().map(|group| group.count).sum());
    let moved = sum(|diff| diff.moved.iter().map(|moved| moved.count).sum());
    let same = sum(|diff| diff.same);
    let number = |name: &str, count: u64| data(name, count as f64, &counted(count, "finding"));
    writeln!(
        out,
        "<p>{} compared: {} came, {} went, {} moved, {} the same.</p>\n</header>\n<main>",
        counted(pairs as u64, "file"),
        number("came", came),
        number("went", went),
        number("moved", moved),
        number("same", same)
    )?;
    let mut changed: Vec<&Compared> =
        compared.iter().filter(|it| it.old.is_none() || !it.diff.is_empty()).collect();
    changed.sort_by_key(|it| (!it.diff.is_worse(summary.fail_on), &it.new));
    for it in changed {
        file(out, it, summary)?;
    }
    let only_old: Vec<String> = summary.only_old.iter().map(|path| Escaped(path).to_string()).collect();
    list(out, "Only in the old build", &only_old)?;
    let skipped = summary.skipped.iter().map(|it| format!("{}: {}", Escaped(&it.path), Escaped(&it.reason)));
    list(out, "Not compared", &skipped.collect::<Vec<String>>())?;
    write!(out, "</main>\n</body>\n</html>\n")
}

fn file(out: &mut dyn Write, it: &Compared, summary: &DiffSummary) -> io::Result<()> {
    let diff = &it.diff;
    let mark = if diff.is_worse(summary.fail_on) { "<span class=\"verdict worse\">worse</span>" } else { "" };
    writeln!(out, "<section class=\"metric\">\n<h2><code>{}</code>{mark}</h2>", Escaped(&it.new))?;
    match &it.old {
        None => writeln!(out, "<p class=\"muted\">Only in the new build; needs {}.</p>", Escaped(&it.level))?,
        Some(old) if *old != it.new => {
            writeln!(out, "<p class=\"muted\">Was <code>{}</code>.</p>", Escaped(old))?
        }
        Some(_) => {}
    }
    let levels = diff.levels.iter().map(|level| {
        let what = match level.what {
            "needed" => "level needed",
            "guarded" => "level with checks",
            _ => "level contained",
        };
        let raised = if level.raised { "raised" } else { "lowered" };
        vec![what.to_owned(), level.old.clone(), level.new.clone(), raised.to_owned()]
    });
    table(out, "Levels", ["what", "old", "new", "change"], levels.collect())?;
    let columns = ["severity", "rule", "function", "what"];
    table(out, "Findings that came", columns, diff.came.iter().map(finding).collect())?;
    table(out, "Findings that went", columns, diff.went.iter().map(finding).collect())?;
    let moved = diff.moved.iter().map(|moved| {
        vec![moved.rule.to_string(), moved.from.clone(), moved.to.clone(), moved.count.to_string()]
    });
    table(out, "Findings that moved", ["rule", "from", "to", "findings"], moved.collect())?;
    let functions = diff.functions.iter().flat_map(|function| {
        let row = |change: &deburr_core::diff::Change| {
            vec![
                function.function.clone(),
                change.what.replace('-', " "),
                change.old.clone(),
                change.new.clone(),
            ]
        };
        function.changes.iter().map(row).collect::<Vec<_>>()
    });
    table(
        out,
        "Functions that came out differently",
        ["function", "what", "old", "new"],
        functions.collect(),
    )?;
    let calls = diff.calls.iter().map(|call| {
        let is_there = match (call.is_old, call.is_new) {
            (false, _) => "new",
            (_, false) => "gone",
            _ => "",
        };
        vec![
            call.function.clone(),
            is_there.to_owned(),
            call.old_calls.to_string(),
            call.new_calls.to_string(),
        ]
    });
    table(out, "Calls", ["function", "function is", "old", "new"], calls.collect())?;
    for (count, what) in [(diff.functions_came, "new"), (diff.functions_went, "gone")] {
        if count > 0 {
            writeln!(out, "<p class=\"muted\">{}: {what}.</p>", counted(count, "function"))?;
        }
    }
    writeln!(out, "</section>")
}

/// The cells of a finding.
fn finding(group: &FindingGroup) -> Vec<String> {
    let name = group.function.as_deref().unwrap_or("(no name)");
    let section = group.section.as_ref().map(|it| format!("{it}+")).unwrap_or_default();
    let times = if group.count > 1 { format!(" ×{}", group.count) } else { String::new() };
    let function = format!("{name} at {section}{}", group.svma);
    vec![
        group.severity.name().to_owned(),
        group.rule.to_string(),
        function,
        format!("{}{times}", group.message),
    ]
}

/// A table, if there is anything to say.
fn table(out: &mut dyn Write, title: &str, columns: [&str; 4], rows: Vec<Vec<String>>) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let kind = if columns.contains(&"severity") { " found" } else { "" };
    let heads: String = columns.iter().map(|column| format!("<th scope=\"col\">{column}</th>")).collect();
    writeln!(
        out,
        "<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\">\n<table class=\"changes{kind}\"><caption>{title}: {}</caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>",
        rows.len()
    )?;
    for row in rows.iter().take(MOST_LINES) {
        let cells: String = row.iter().map(|cell| format!("<td>{}</td>", Escaped(cell))).collect();
        writeln!(out, "<tr>{cells}</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")?;
    if rows.len() > MOST_LINES {
        writeln!(out, "<p class=\"muted\">… and {} more.</p>", rows.len() - MOST_LINES)?;
    }
    Ok(())
}

/// A list of escaped lines, if there are any.
fn list(out: &mut dyn Write, title: &str, lines: &[String]) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "<section class=\"metric\">\n<h2>{title}</h2>\n<ul>")?;
    for line in lines.iter().take(MOST_LINES) {
        writeln!(out, "<li>{line}</li>")?;
    }
    if lines.len() > MOST_LINES {
        writeln!(out, "<li>… and {} more</li>", lines.len() - MOST_LINES)?;
    }
    writeln!(out, "</ul>\n</section>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_core::{Request, compare, inspect};

    #[test]
    fn what_came_is_on_the_page_and_names_are_text() {
        let read = |name: &str| {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../deburr-core/fixtures/llsc_loop/");
            inspect(&std::fs::read(format!("{folder}{name}")).unwrap(), &Request::default()).unwrap()
        };
        let (old, new) = (read("miss-lse.o"), read("hit-cas.o"));
        let diff = compare(Some(&old), &new);
        let came: u64 = diff.came.iter().map(|group| group.count).sum();
        let (level, path) = (new.report.level.clone(), "<b>&\".o".to_owned());
        let compared = [Compared { old: Some(path.clone()), new: path, level, old_level: None, diff }];
        let fail_on = Some(deburr_core::finding::Severity::Warning);
        let summary = DiffSummary { fail_on, is_worse: true, ..DiffSummary::default() };
        let mut out = Vec::new();
        page(&mut out, &compared, &summary).unwrap();
        let page = String::from_utf8(out).unwrap();
        assert!(page.contains(&format!("<data class=\"came\" value=\"{came}\">")), "{page}");
        assert!(page.contains("&lt;b&gt;&amp;&quot;.o") && !page.contains("<b>"));
        assert!(page.contains("<h1>The new build is worse</h1>") && page.contains("llsc-loop"));
    }
}
