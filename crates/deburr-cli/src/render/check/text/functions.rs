//! Text for people: the functions above the first level, by verdict, worst first.
//!
//! In: one report. Out: a line of counts; below it the functions that need a feature without a sufficient
//! check, each with its path, and the causes of what is not proven; all functions where every detail is wanted. In a
//! path, `→ f` calls f, and `⇒ f` only stores or passes on its address.

use super::detail::Detail;
use crate::text::line::{fit, fit_middle, shortened};
use crate::text::number::{counted, grouped};
use deburr_core::Report;
use deburr_core::report::{
    GuardKind, Hex, IsaFunction, PresumedCopy, Reach, Settlement, Step, Tried, TriedRuns,
};
use std::io::{self, Write};

/// Functions named where not all are.
const SHOWN: usize = 3;

/// Verdicts in the order in which they are shown, and their names.
const VERDICTS: [(Reach, &str); 8] = [
    (Reach::Required, "required"),
    (Reach::UnderGuarded, "under-guarded"),
    (Reach::Unknown, "unknown"),
    (Reach::Presumed, "presumed"),
    (Reach::Covered, "covered"),
    (Reach::Guarded, "guarded"),
    (Reach::Offered, "offered"),
    (Reach::Unreached, "unreached"),
];

const KINDS: [(GuardKind, &str); 6] = [
    (GuardKind::Ifunc, "ifunc"),
    (GuardKind::Branch, "branch"),
    (GuardKind::Pointer, "pointer"),
    (GuardKind::Table, "table"),
    (GuardKind::Stated, "stated"),
    (GuardKind::Name, "name"),
];

/// What settles unknown verdicts, in the order in which it is shown.
const SETTLEMENTS: [(Settlement, &str); 3] = [
    (Settlement::Closure, "--closure, which analyses the libraries that the file needs"),
    (
        Settlement::Guard,
        "a [[guard]] in deburr.toml, where you know of the check (--verbose prints some to paste)",
    ),
    (Settlement::Run, "a run on a CPU without the level"),
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
        n if reach == Reach::Guarded => Some(format!("{} {name}{}", grouped(n as u64), kinds(of(reach)))),
        n => Some(format!("{} {name}", grouped(n as u64))),
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
        let head = format!("    {verdict:13}  ");
        let room = detail.width.map(|width| width.saturating_sub(head.chars().count()));
        writeln!(out, "{head}{}", described(function, room))?;
    }
    if all.len() > limit {
        let more = format!("… and {} more (--verbose shows all)", grouped((all.len() - limit) as u64));
        writeln!(out, "    {}", detail.palette.dim(&more))?;
    }
    presumed(out, report, detail)?;
    offered(out, report, detail)?;
    unknown(out, report, detail)?;
    tried(out, report, detail)
}

/// Renders what the presumed verdicts rest on.
fn presumed(out: &mut dyn Write, report: &Report, detail: &Detail) -> io::Result<()> {
    let Some(presumption) = &report.presumption else { return Ok(()) };
    let copy = |copy: &PresumedCopy| {
        let against = match copy.contradictions {
            0 => String::new(),
            count => format!(", contradict {}", grouped(count.into())),
        };
        format!("{} (tests agree with {}{against})", copy.place, counted(copy.agreements.into(), "function"))
    };
    let by_name = presumption.names.as_ref().map_or(0, |names| names.count);
    if let Some(vocabulary) = presumption.vocabulary {
        let copies: Vec<String> = presumption.copies.iter().map(copy).collect();
        let vocabulary = named(presumption.function.as_deref(), vocabulary);
        let chosen = counted(presumption.count.saturating_sub(by_name), "function");
        let line = format!(
            "    presumed       {chosen} chosen by bits of {}, if they mean what {vocabulary} says: not proven",
            copies.join(", ")
        );
        writeln!(out, "{}", fit_middle(&line, detail.width))?;
    }
    if let Some(names) = &presumption.names {
        let more = match names.contradictions {
            0 => String::new(),
            count => format!(", {} use more", grouped(count.into())),
        };
        let line = format!(
            "    presumed       {} chosen for the CPUs that their names say ({} use no more{more}): not proven",
            counted(names.count, "function"),
            grouped(names.agreements.into())
        );
        writeln!(out, "{}", fit_middle(&line, detail.width))?;
    }
    Ok(())
}

/// Renders what only callers in other files choose.
fn offered(out: &mut dyn Write, report: &Report, detail: &Detail) -> io::Result<()> {
    let Some(offered) = &report.offered else { return Ok(()) };
    let level = match offered.beyond.as_slice() {
        [] => offered.level.clone(),
        beyond => format!("{} with {}", offered.level, beyond.join(", ")),
    };
    let line = format!(
        "    offered        {} up to {level}, chosen by callers in other files, by name or by the vectors that they pass",
        counted(offered.count, "function"),
    );
    writeln!(out, "{}", fit_middle(&line, detail.width))
}

/// Renders the causes of unknown verdicts, those of most functions first, and what would settle them.
fn unknown(out: &mut dyn Write, report: &Report, detail: &Detail) -> io::Result<()> {
    let groups = &report.isa_groups;
    // The findings say it already.
    let is_found = report.findings.iter().any(|finding| finding.evidence.get("because").is_some());
    let shown = match (detail.verbose, is_found) {
        (true, _) => groups.len(),
        (false, true) => 0,
        (false, false) => SHOWN,
    };
    for group in groups.iter().take(shown) {
        let line = format!("    not proven     {}", group.message);
        writeln!(out, "{}", fit_middle(&line, detail.width))?;
        for line in group.stated_as.iter().filter(|_| detail.verbose).flat_map(|tables| tables.lines()) {
            writeln!(out, "{:19}{}", "", detail.palette.dim(line))?;
        }
    }
    if let Some(rest) = groups.get(shown..).filter(|rest| !rest.is_empty() && shown > 0) {
        let functions = counted(rest.iter().map(|group| group.count).sum(), "function");
        let more = format!(
            "… and {functions} for {} (--verbose shows all)",
            counted(rest.len() as u64, "other cause")
        );
        writeln!(out, "    {}", detail.palette.dim(&more))?;
    }
    for (settlement, how) in SETTLEMENTS {
        let count =
            groups.iter().filter(|group| group.settled_by == settlement).map(|group| group.count).sum();
        if count > 0 {
            let line = format!("    To settle {}: {how}", counted(count, "function"));
            writeln!(out, "{}", fit(&line, detail.width))?;
        }
    }
    Ok(())
}

/// Renders what runs as other CPUs showed.
fn tried(out: &mut dyn Write, report: &Report, detail: &Detail) -> io::Result<()> {
    for TriedRuns { cpu, runs, above, entered, executed, died, .. } in &report.tried {
        let harm = match (*died, *executed) {
            (0, 0) => "without harm".to_owned(),
            (0, executed) => {
                format!("{} executed what that CPU does not have", counted(executed, "function"))
            }
            (died, _) => format!("{} died of SIGILL", counted(died, "process")),
        };
        let line = format!(
            "    tried          {} as {cpu} entered {} of {} that need more: {harm}",
            counted(*runs, "run"),
            grouped(*entered),
            counted(*above, "function"),
        );
        writeln!(out, "{}", fit(&line, detail.width))?;
    }
    Ok(())
}

/// `; entered in 3 of 3 runs as x86-64-v2 without harm`.
fn evidence_of(tried: &[Tried]) -> String {
    let of = |tried: &Tried| {
        let harm = match (tried.died, tried.executed) {
            (0, 0) => "without harm".to_owned(),
            (0, executed) => format!("which executed {} of more", counted(executed, "instruction")),
            (died, _) => format!("{} died", counted(died, "process")),
        };
        let (entered, runs) = (grouped(tried.entered), counted(tried.runs, "run"));
        format!("; entered in {entered} of {runs} as {}: {harm}", tried.cpu)
    };
    tried.iter().map(of).collect()
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
    let texts: Vec<String> =
        counts.iter().map(|(count, name)| format!("{} {name}", grouped(*count as u64))).collect();
    if texts.is_empty() { String::new() } else { format!(" ({})", texts.join(", ")) }
}

/// `sum (AVX AVX2): _start → main → sum`, in the room that there is: features and the path are shortened in the middle.
fn described(function: &IsaFunction, room: Option<usize>) -> String {
    let features: Vec<String> = function.features.keys().cloned().collect();
    let mut name = named(function.function.as_deref(), function.svma);
    if let Some(near) = &function.near {
        name = format!("{name} (no name; {near})");
    }
    let guard = function.guard.as_ref().map_or_else(String::new, |guard| {
        let kind = KINDS.iter().find(|(kind, _)| *kind == guard.kind).map_or("check", |(_, name)| name);
        let within = guard.function.as_ref().map(|name| format!(" in {name}")).unwrap_or_default();
        format!("; {kind} at {}{within}", guard.svma)
    });
    let guard = guard + &evidence_of(&function.tried);
    let steps: Vec<(&str, String)> = if function.path.len() > 1 {
        let step = |step: &Step| {
            (if step.is_stored { " ⇒ " } else { " → " }, named(step.function.as_deref(), step.svma))
        };
        function.path.iter().map(step).collect()
    } else {
        Vec::new()
    };
    let width = |text: &str| text.chars().count();
    let lists = [features.len(), LISTED.min(features.len())].map(|listed| {
        let list = shortened(function.features.keys().map(String::as_str), listed, " ");
        format!("{name} ({list})")
    });
    let most = steps.len().saturating_sub(KEPT);
    // By how many steps are left out, how wide the path is: a long one is not written to be measured.
    let widths = path_widths(&steps);
    let fits = |list: &String, left_out: usize| {
        let path = widths.get(left_out).copied().unwrap_or_default();
        room.is_none_or(|room| width(list) + path + width(&guard) <= room)
    };
    let candidates = || lists.iter().flat_map(|list| (0..=most).map(move |left_out| (list, left_out)));
    let shortest =
        candidates().find(|&(list, left_out)| fits(list, left_out)).or_else(|| candidates().last());
    let text = shortest.map(|(list, left_out)| format!("{list}{}{guard}", path(&steps, left_out)));
    fit_middle(&text.unwrap_or_default(), room)
}

/// Features named, and steps of a path, where there is no room for all.
const LISTED: usize = 3;
const KEPT: usize = 3;

/// `: _start → main → … 3 more … → sum`: steps are left out after the second.
fn path(steps: &[(&str, String)], left_out: usize) -> String {
    let Some(((_, root), rest)) = steps.split_first() else { return String::new() };
    let mut text = format!(": {root}");
    let (before, after) = match left_out {
        0 => (rest, &[][..]),
        n => (rest.get(..1).unwrap_or_default(), rest.get(1 + n..).unwrap_or_default()),
    };
    for (arrow, name) in before {
        text.push_str(arrow);
        text.push_str(name);
    }
    if left_out > 0 {
        text.push_str(&path_mark(left_out));
    }
    for (arrow, name) in after {
        text.push_str(arrow);
        text.push_str(name);
    }
    text
}

/// The columns of [`path`], by how many steps are left out.
fn path_widths(steps: &[(&str, String)]) -> Vec<usize> {
    let width = |(arrow, name): &(&str, String)| arrow.chars().count() + name.chars().count();
    // What the steps after each place take.
    let mut after: Vec<usize> = vec![0; steps.len() + 1];
    for (index, step) in steps.iter().enumerate().rev() {
        let wide = after.get(index + 1).copied().unwrap_or_default() + width(step);
        if let Some(slot) = after.get_mut(index) {
            *slot = wide;
        }
    }
    let Some(all) = after.first().filter(|_| !steps.is_empty()) else { return vec![0] };
    // The first has a colon and a blank in place of its arrow.
    let first = steps.first().map_or(0, |(_, name)| ": ".len() + name.chars().count());
    let whole = all - steps.first().map_or(0, width) + first;
    let begun = first + steps.get(1).map_or(0, width);
    let shorter = (1..=steps.len()).map(|left_out| {
        let mark = path_mark(left_out).chars().count();
        begun + mark + after.get(2 + left_out).copied().unwrap_or_default()
    });
    std::iter::once(whole).chain(shorter).collect()
}

fn path_mark(left_out: usize) -> String {
    format!(" → … {left_out} more …")
}

fn named(name: Option<&str>, svma: Hex) -> String {
    name.map_or_else(|| svma.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_of_a_path_is_that_of_its_text() {
        for count in 0..9 {
            let arrow = |index: usize| if index.is_multiple_of(3) { " ⇒ " } else { " → " };
            let steps: Vec<(&str, String)> =
                (0..count).map(|index| (arrow(index), "é".repeat(index + 1))).collect();
            let widths = path_widths(&steps);
            for left_out in 0..=steps.len().saturating_sub(KEPT) {
                let text = path(&steps, left_out);
                assert_eq!(widths.get(left_out), Some(&text.chars().count()), "{count}, {left_out}: {text}");
            }
        }
    }
}
