//! Text for people: what a command did as another CPU.
//!
//! In: the record of one run. Out: how it ended; by file the places of SIGILL, and the functions entered that need more than the
//! CPU has, those that executed it first; and what the run could not show.

use super::style::Palette;
use crate::product::try_record::{TriedCpu, TriedFile, TriedFunction, TriedRun, TriedTrap, TryRecord};
use crate::text::line::{fit, fit_middle, shortened};
use crate::text::number::{counted, grouped};
use deburr_core::finding::Severity;
use deburr_core::report::{Answer, Hex, Reach, Refusal, Step};
use deburr_lab::measure::process::End;
use deburr_text::one_line;
use std::io::{self, Write};
use std::sync::Arc;

/// Functions, places and programs shown where not all are.
const SHOWN: usize = 5;
/// Features named in one line.
const LISTED: usize = 4;

/// How it is laid out.
pub(crate) struct EmulateLayout {
    pub(crate) palette: Palette,
    /// Columns of a line.
    pub(crate) width: Option<usize>,
    /// Whether all functions are shown.
    pub(crate) verbose: bool,
}

/// Renders the record of one run.
pub(crate) fn write(out: &mut dyn Write, record: &TryRecord, layout: &EmulateLayout) -> io::Result<()> {
    let Some(run) = record.runs.last() else { return Ok(()) };
    let out: &mut dyn Write = &mut layout.palette.plain(out);
    let cpu = &record.cpu;
    let model = cpu.model.split(",check=").next().unwrap_or(&cpu.model);
    let head = format!("As {}, by qemu {} ({model}): {}", cpu.name, cpu.qemu, ended(run.end));
    writeln!(out, "{}", layout.palette.bold(&fit(&one_line(&head), layout.width)))?;
    for file in &record.files {
        of_file(out, file, cpu, layout)?;
    }
    let silent = record.files.iter().all(is_silent);
    if silent {
        let what = if record.files.is_empty() {
            "no function that needs"
        } else {
            "none of the functions that need"
        };
        writeln!(out, "  {what} more than that CPU has was entered")?;
    }
    remarks(out, run, cpu, layout)
}

fn ended(end: End) -> String {
    match end {
        End::Signal(4) => "the command died of SIGILL".to_owned(),
        End::TimedOut => "the command ran until --timeout".to_owned(),
        other => format!("the command ended with {other}"),
    }
}

fn of_file(out: &mut dyn Write, file: &TriedFile, cpu: &TriedCpu, layout: &EmulateLayout) -> io::Result<()> {
    if is_silent(file) && !layout.verbose {
        return Ok(());
    }
    let path = layout.palette.bold(&one_line(&file.path));
    let answer = match file.answer {
        Some(Answer::Dies) => format!(", and dies on {}", cpu.name),
        Some(Answer::Undecided) => format!(", and is undecided on {}", cpu.name),
        Some(Answer::Runs) => format!(", and runs on {}", cpu.name),
        Some(Answer::RunsPresumed) => format!(", and is presumed to run on {}", cpu.name),
        None => String::new(),
    };
    writeln!(out, "\n{path}: needs {}{answer} by its analysis", file.level)?;
    if let Some(refusal) = &file.refused {
        of_refusal(out, refusal, layout)?;
    }
    let mut traps: Vec<&TriedTrap> = file.traps.iter().collect();
    traps.sort_by_key(|trap| std::cmp::Reverse(trap.deaths));
    for trap in traps.iter().take(if layout.verbose { traps.len() } else { SHOWN }) {
        of_trap(out, trap, cpu, layout)?;
    }
    let executed = |function: &&TriedFunction| function.entered.executed > 0;
    for function in
        file.functions.iter().filter(executed).take(if layout.verbose { usize::MAX } else { SHOWN })
    {
        let (count, all) = (function.entered.executed, function.entered.instructions);
        let head = layout.palette.severity(Severity::Error, "executed");
        let text = format!(
            "{}: {} of its {} that need {}, which {} does not have",
            name(function),
            grouped(count),
            counted(all, "instruction"),
            features(&function.entered.features),
            cpu.name
        );
        writeln!(out, "  {head}  {}", fit_middle(&one_line(&text), room(layout, 12)))?;
        verdict(out, function.entered.reach, &function.entered.path, layout)?;
    }
    let mut harmless: Vec<&TriedFunction> =
        file.functions.iter().filter(|it| it.entered.executed == 0).collect();
    let has_died = |it: &&TriedFunction| file.deaths_in(it.entered.svma) > 0;
    let died = file.functions.iter().filter(has_died).count() as u64;
    let survived = file.functions.iter().filter(|it| it.entered.refused > 0 && !has_died(it)).count() as u64;
    harmless.retain(|it| it.entered.refused == 0 && !has_died(it));
    let entered = file.functions.len() as u64;
    let mut ends = Vec::new();
    if died > 0 {
        ends.push(format!("{} of them died of that", grouped(died)));
    }
    if survived > 0 {
        ends.push(format!("{} of them had SIGILL and went on", grouped(survived)));
    }
    if ends.is_empty() || !harmless.is_empty() {
        ends.push(format!("{} of them without executing that", grouped(harmless.len() as u64)));
    }
    if file.above > 0 && entered == 0 {
        let all = counted(file.above, "function");
        writeln!(out, "  none of {all} that need more than {} has was entered", cpu.name)?;
    } else if file.above > 0 {
        writeln!(
            out,
            "  {} of {} that need more than {} has {} entered, {}",
            grouped(entered),
            counted(file.above, "function"),
            cpu.name,
            if entered == 1 { "was" } else { "were" },
            ends.join(", ")
        )?;
    }
    let shown = if layout.verbose { harmless.len() } else { SHOWN.min(harmless.len()) };
    for function in harmless.iter().take(shown) {
        let reach = function.entered.reach.map_or("no verdict", Reach::name);
        let text = format!("{reach:13}  {} ({})", name(function), features(&function.entered.features));
        writeln!(out, "    {}", fit_middle(&one_line(&text), room(layout, 4)))?;
    }
    if harmless.len() > shown {
        let more = format!("… and {} more (--verbose shows all)", grouped((harmless.len() - shown) as u64));
        writeln!(out, "    {}", layout.palette.dim(&more))?;
    }
    Ok(())
}

/// Whether a run showed nothing of a file that matters.
fn is_silent(file: &TriedFile) -> bool {
    file.functions.is_empty() && file.traps.is_empty() && file.refused.is_none()
}

fn of_refusal(out: &mut dyn Write, refusal: &Refusal, layout: &EmulateLayout) -> io::Result<()> {
    let head = layout.palette.severity(Severity::Error, "refused");
    let place = match (&refusal.svma, &refusal.function) {
        (Some(svma), Some(function)) => format!(" (branch at {svma} in {function})"),
        (Some(svma), None) => format!(" (branch at {svma})"),
        (None, _) => {
            refusal.stated.as_ref().map_or_else(String::new, |stated| format!(" (built with {stated})"))
        }
    };
    let why = refusal.text.as_ref().map_or_else(String::new, |text| format!(": \"{text}\""));
    let text = format!("the program {refusal}{place}{why}");
    writeln!(out, "  {head}  {}", fit_middle(&one_line(&text), room(layout, 11)))
}

fn of_trap(out: &mut dyn Write, trap: &TriedTrap, cpu: &TriedCpu, layout: &EmulateLayout) -> io::Result<()> {
    let place = &trap.place;
    let (head, severity) =
        if trap.deaths > 0 { ("died", Severity::Error) } else { ("SIGILL", Severity::Note) };
    let name = place.function.clone().or_else(|| place.start.map(|start| start.to_string()));
    // A cold part is away from the function, mostly before it.
    let offset = place.start.and_then(|start| place.svma.0.checked_sub(start.0));
    let function = match (name, offset) {
        (Some(name), Some(offset)) => format!("{name}+{offset:#x}"),
        (Some(name), None) => name,
        (None, _) => "no known function".to_owned(),
    };
    let instruction = place.instruction.as_deref().unwrap_or("(no instruction)");
    let why = match place.features.as_slice() {
        [] => format!("no feature that {} lacks: it may be there in order to trap", cpu.name),
        needed => format!("needs {}", features(needed)),
    };
    let times = match (trap.deaths, trap.count) {
        (0, 1) => ", and the program went on: it tests so what the CPU has".to_owned(),
        (0, count) => format!(", {} times, and the program went on", grouped(count)),
        (1, 1) => String::new(),
        (deaths, _) => format!(", {} processes", grouped(deaths)),
    };
    let text = format!("at {} in {function}: {instruction}  ({why}){times}", place.svma);
    let head_text = layout.palette.severity(severity, head);
    writeln!(out, "  {head_text}  {}", fit_middle(&one_line(&text), room(layout, head.len() + 4)))?;
    if trap.deaths > 0 {
        verdict(out, place.reach, &place.path, layout)?;
    }
    Ok(())
}

/// What the analysis knew.
fn verdict(
    out: &mut dyn Write,
    reach: Option<Reach>,
    path: &[Step],
    layout: &EmulateLayout,
) -> io::Result<()> {
    let reach = reach.map_or("no verdict", Reach::name);
    let step = |step: &Step| {
        let arrow = if step.is_stored { " ⇒ " } else { " → " };
        (arrow, step.function.clone().unwrap_or_else(|| step.svma.to_string().into()))
    };
    let steps: Vec<(&str, Arc<str>)> = path.iter().map(step).collect();
    let text = match steps.split_first() {
        None => format!("by its analysis {reach}; no path to it is known"),
        Some(((_, first), rest)) => {
            let rest: String = rest.iter().map(|(arrow, name)| format!("{arrow}{name}")).collect();
            format!("by its analysis {reach}: {first}{rest}")
        }
    };
    writeln!(out, "    {}", fit_middle(&one_line(&text), room(layout, 4)))
}

/// What a run could not show.
fn remarks(out: &mut dyn Write, run: &TriedRun, cpu: &TriedCpu, layout: &EmulateLayout) -> io::Result<()> {
    let mut lines = Vec::new();
    if !run.native.is_empty() {
        let count = run.native.values().sum();
        let programs = run.native.keys().map(|path| one_line(path)).collect::<Vec<_>>();
        let list = shortened(programs.iter().map(AsRef::as_ref), SHOWN, ", ");
        lines.push(format!("{} natively, not as {}: {list}", went_on(count), cpu.name));
    }
    if run.is_left {
        let hint = "the command itself did: give the program that it ends up as instead, such as /usr/bin/python3 instead of a wrapper";
        lines.push(hint.to_owned());
    }
    if run.unseen > 0 {
        lines.push(format!("{} was not seen after its start", counted(run.unseen, "process")));
    }
    if run.traps_elsewhere > 0 {
        lines.push(format!("SIGILL came {} in code of no file", counted(run.traps_elsewhere, "time")));
    }
    if run.blocks_elsewhere > 0 {
        let (elsewhere, all) = (grouped(run.blocks_elsewhere), grouped(run.blocks));
        lines.push(format!("{elsewhere} of {all} blocks are in no file: made at run time, or changed"));
    }
    for (path, reason) in &run.not_analysed {
        lines.push(format!("{}: not analysed: {reason}", one_line(path)));
    }
    if run.is_truncated {
        lines.push("there was more than is kept".to_owned());
    }
    if !cpu.lacks.is_empty() {
        lines.push(format!("qemu does not emulate {} of {}", cpu.lacks.join(", "), cpu.name));
    }
    if !cpu.besides.is_empty() {
        let names = shortened(cpu.besides.iter().map(String::as_str), 8, ", ");
        lines.push(format!("the emulated CPU has more than {}: {names}", cpu.name));
    }
    if !lines.is_empty() {
        writeln!(out)?;
    }
    for line in lines {
        writeln!(out, "  {}", fit_middle(&line, room(layout, 2)))?;
    }
    Ok(())
}

fn went_on(count: u64) -> String {
    format!("{} ran", counted(count, "program"))
}

fn room(layout: &EmulateLayout, taken: usize) -> Option<usize> {
    layout.width.map(|width| width.saturating_sub(taken))
}

fn name(function: &TriedFunction) -> String {
    let entered = &function.entered;
    let Hex(svma) = entered.svma;
    match (&entered.function, &entered.near) {
        (Some(name), _) => name.clone(),
        (None, Some(near)) => format!("{svma:#x} (no name; {near})"),
        (None, None) => format!("{svma:#x}"),
    }
}

fn features(names: &[String]) -> String {
    shortened(names.iter().map(String::as_str), LISTED, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(file: &str) -> String {
        let record = format!(
            r#"{{"schema_version":1,"tool_version":"0","cpu":{{"name":"nehalem","arch":"x86_64","model":"Nehalem","qemu":"7.2.22","besides":[],"lacks":[]}},
            "runs":[{{"command":["a"],"end":{{"status":1}},"blocks":1,"blocks_elsewhere":0,"traps_elsewhere":0,"native":{{}},"is_left":false,"unseen":0,"not_analysed":{{}},"is_truncated":false}}],
            "files":[{{"path":"/a","build_id":null,"sha256":"00","level":"x86-64-v3","runs":1,{file}}}]}}"#
        );
        let record: TryRecord = serde_json::from_str(&record).unwrap();
        let layout = EmulateLayout { palette: Palette::new(false), width: None, verbose: false };
        let mut text = Vec::new();
        write(&mut text, &record, &layout).unwrap();
        String::from_utf8(text).unwrap()
    }

    fn function(name: &str, svma: &str, refused: u64) -> String {
        format!(
            r#"{{"function":"{name}","svma":"{svma}","features":["BMI2"],"reach":"unknown","instructions":3,"executed":0,"refused":{refused},"runs":1}}"#
        )
    }

    fn trap(name: &str, start: &str, deaths: u64) -> String {
        format!(
            r#"{{"svma":"{start}","function":"{name}","start":"{start}","instruction":"mulx %rax,%rbx,%rcx","features":["BMI2"],"reach":"unknown","count":1,"deaths":{deaths}}}"#
        )
    }

    #[test]
    fn a_function_in_which_the_program_died_did_not_end_well() {
        let functions =
            [function("mul", "0x10", 1), function("try_it", "0x20", 1), function("idle", "0x30", 0)];
        let traps = [trap("mul", "0x10", 1), trap("try_it", "0x20", 0)];
        let text = rendered(&format!(
            r#""above":9,"functions":[{}],"traps":[{}]"#,
            functions.join(","),
            traps.join(",")
        ));
        let counts = "3 of 9 functions that need more than nehalem has were entered, 1 of them died of that, \
                      1 of them had SIGILL and went on, 1 of them without executing that\n    unknown        idle (BMI2)\n";
        assert!(text.contains(counts), "{text}");
        let one = rendered(&format!(
            r#""above":9,"functions":[{}],"traps":[{}]"#,
            function("mul", "0x10", 1),
            trap("mul", "0x10", 1)
        ));
        assert!(one.ends_with("has was entered, 1 of them died of that\n"), "{one}");
    }

    #[test]
    fn a_cold_part_before_its_function_has_no_offset() {
        let text = |svma: &str| {
            let trap = trap("mul", "0x1200", 1).replace(r#""svma":"0x1200""#, &format!(r#""svma":"{svma}""#));
            rendered(&format!(r#""above":1,"functions":[],"traps":[{trap}]"#))
        };
        assert!(text("0x1072").contains("died  at 0x1072 in mul: mulx"), "{}", text("0x1072"));
        assert!(text("0x1206").contains("died  at 0x1206 in mul+0x6: mulx"), "{}", text("0x1206"));
    }

    #[test]
    fn a_program_that_refused_is_told_in_words_of_its_own() {
        let refusal = r#"{"level":"x86-64-v3","without":[],"features":["AVX2"],"function":"runtime.rt0_go","svma":"0x47c981","text":"only v3"}"#;
        let text = rendered(&format!(r#""above":0,"functions":[],"traps":[],"refused":{refusal}"#));
        assert!(
            text.ends_with(
                "\n/a: needs x86-64-v3 by its analysis\n  refused  the program refuses below x86-64-v3 \
                 (branch at 0x47c981 in runtime.rt0_go): \"only v3\"\n"
            ),
            "{text}"
        );
        let stated = r#"{"level":"x86-64-v3","without":[],"features":["AVX2"],"function":null,"svma":null,"stated":"GOAMD64=v3"}"#;
        let text = rendered(&format!(r#""above":4,"functions":[],"traps":[],"refused":{stated}"#));
        assert!(text.contains("the program refuses below x86-64-v3 (built with GOAMD64=v3)\n"), "{text}");
        assert!(
            text.ends_with("  none of 4 functions that need more than nehalem has was entered\n"),
            "{text}"
        );
    }
}
