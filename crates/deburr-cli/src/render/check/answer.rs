//! The answers in words: whether every machine of the baseline, or of the claim, runs a file, and how many files do.
//!
//! In: a report, or the sums of a run. Out: a clause (`undecided on x86-64-v1 (723 functions)`), a sentence for formats
//! with a line a finding, and the last line of a run.

use crate::render::check::totals::Answers;
use crate::text::line::fit_middle;
use crate::text::number::{counted, grouped};
use deburr_core::Report;
use deburr_core::report::{Answer, OnBaseline, UnreadPayload};

/// Columns for the name of the file with most undecided functions.
const WORST_NAME: usize = 40;

/// The answer on a file as a clause; `None` where it has none.
pub(crate) fn clause(report: &Report) -> Option<String> {
    let (answer, on) = report.answer.zip(report.on_baseline.as_ref())?;
    let name = &on.name;
    let mut text = match answer {
        Answer::Runs => format!("runs on {name}"),
        Answer::RunsPresumed => {
            let count = counted(on.presumed_functions, "function");
            format!("runs on {name} (presumed of {count})")
        }
        Answer::Undecided => format!("undecided on {name} ({})", open(report, on)),
        Answer::Dies => dies(on),
    };
    if report.answer_allowed {
        text.push_str(" (allowed)");
    }
    Some(text)
}

/// Where a file dies: on the baseline itself, or on some machines that have it.
fn dies(on: &OnBaseline) -> String {
    match (on.required_functions, on.dies_on.as_slice()) {
        _ if on.refuses => format!("dies on {}", on.name),
        (0, [only]) => format!("dies on {only}, of {}", on.name),
        (0, [first, rest @ ..]) => {
            format!("dies on {first} and {}, of {}", counted(rest.len() as u64, "more CPU"), on.name)
        }
        _ => format!("dies on {}", on.name),
    }
}

/// What is open in an undecided file.
fn open(report: &Report, on: &OnBaseline) -> String {
    let functions = (on.undecided_functions > 0).then(|| counted(on.undecided_functions, "function"));
    let payloads = report.unread_payload.iter().map(unread);
    functions.into_iter().chain(payloads).collect::<Vec<_>>().join("; ")
}

/// A payload that was not read.
fn unread(payload: &UnreadPayload) -> String {
    format!("{} of {} not read", payload.format, counted(payload.bytes, "byte"))
}

/// Why a file is undecided, in a sentence; `None` where it is not, or the user accepts that.
pub(crate) fn why_undecided(report: &Report) -> Option<String> {
    let is_open = report.answer == Some(Answer::Undecided) && !report.answer_allowed;
    let on = report.on_baseline.as_ref().filter(|_| is_open)?;
    let mut parts = Vec::new();
    if on.undecided_functions > 0 {
        let (count, verb) = (counted(on.undecided_functions, "function"), verb(on.undecided_functions));
        parts.push(format!(
            "{count} that {verb} more may be reached by paths that were not followed (--verbose lists them)"
        ));
    }
    parts.extend(
        report.unread_payload.iter().map(|payload| format!("{}: {}", unread(payload), payload.reason)),
    );
    Some(format!("undecided on {}: {}", on.name, parts.join("; ")))
}

const fn verb(count: u64) -> &'static str {
    if count == 1 { "needs" } else { "need" }
}

/// The last line of a run: how many files have which answer.
pub(crate) fn line(answers: &Answers) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (count, of_one, of_several) in [
        (answers.runs, "runs", "run"),
        (answers.runs_presumed, "runs (presumed)", "run (presumed)"),
        (answers.dies, "dies", "die"),
        (answers.undecided, "undecided", "undecided"),
    ] {
        if count == 0 {
            continue;
        }
        let said = if count == 1 { of_one } else { of_several };
        // The first one names the files and the machines.
        let mut part = match parts.is_empty() {
            true => format!("{} {said} on {}", counted(count, "file"), answers.machines(count)),
            false => format!("{} {said}", grouped(count)),
        };
        if of_one == "undecided" {
            part.push_str(&format!(" ({})", open_of_run(answers)));
        }
        parts.push(part);
    }
    let mut text = parts.join(", ");
    if answers.allowed > 0 {
        text.push_str(&format!("; allowed: {}", grouped(answers.allowed)));
    }
    if answers.not_judged > 0 {
        let separator = if text.is_empty() { "" } else { "; " };
        text.push_str(&format!("{separator}not judged: {}", grouped(answers.not_judged)));
    }
    text
}

/// What is open in the undecided files of a run.
fn open_of_run(answers: &Answers) -> String {
    let functions =
        (answers.undecided_functions > 0).then(|| counted(answers.undecided_functions, "function"));
    let payloads = (answers.unread_payloads > 0)
        .then(|| format!("{} not read", counted(answers.unread_payloads, "payload")));
    let worst = answers.worst.as_ref().filter(|_| answers.undecided > 1);
    let worst = worst.map(|(_, path)| {
        let name = path.rsplit(['/', '!']).next().unwrap_or(path);
        format!("worst {}", fit_middle(name, Some(WORST_NAME)))
    });
    functions.into_iter().chain(payloads).chain(worst).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::check::example::example_with;
    use serde_json::json;

    fn on(required: u64, undecided: u64, presumed: u64, dies_on: &[&str]) -> OnBaseline {
        serde_json::from_value(json!({
            "name": "x86-64-v1", "dying_functions": required, "required_functions": required,
            "undecided_functions": undecided, "presumed_functions": presumed, "dies_on": dies_on,
        }))
        .unwrap()
    }

    fn report(answer: Answer, on: OnBaseline) -> Report {
        example_with(|report| (report.answer, report.on_baseline) = (Some(answer), Some(on)))
    }

    fn said(answer: Answer, on: OnBaseline) -> String {
        clause(&report(answer, on)).unwrap()
    }

    #[test]
    fn clause_names_the_answer_the_baseline_and_what_decides() {
        assert_eq!(said(Answer::Runs, on(0, 0, 0, &[])), "runs on x86-64-v1");
        assert_eq!(
            said(Answer::RunsPresumed, on(0, 0, 2, &[])),
            "runs on x86-64-v1 (presumed of 2 functions)"
        );
        assert_eq!(said(Answer::Undecided, on(0, 1723, 0, &[])), "undecided on x86-64-v1 (1,723 functions)");
        assert_eq!(said(Answer::Dies, on(3, 9, 0, &["core2"])), "dies on x86-64-v1");
        assert_eq!(said(Answer::Dies, on(0, 9, 0, &["core2"])), "dies on core2, of x86-64-v1");
        let several = on(0, 0, 0, &["core2", "k8", "nocona"]);
        assert_eq!(said(Answer::Dies, several), "dies on core2 and 2 more CPUs, of x86-64-v1");
        let mut allowed = report(Answer::Dies, on(3, 0, 0, &[]));
        allowed.answer_allowed = true;
        assert_eq!(clause(&allowed).unwrap(), "dies on x86-64-v1 (allowed)");
        assert_eq!(clause(&example_with(|_| ())), None);
    }

    #[test]
    fn a_payload_that_was_not_read_is_named_with_its_size() {
        let mut report = report(Answer::Runs, on(0, 0, 0, &[]));
        report.add_unread_payload(UnreadPayload::new("squashfs".into(), 4096, 12_345, "encrypted".into()));
        assert_eq!(clause(&report).unwrap(), "undecided on x86-64-v1 (squashfs of 12,345 bytes not read)");
        let why = why_undecided(&report).unwrap();
        assert_eq!(why, "undecided on x86-64-v1: squashfs of 12,345 bytes not read: encrypted");
        let plain = self::report(Answer::Undecided, on(0, 1, 0, &[]));
        let why = why_undecided(&plain).unwrap();
        assert!(
            why.starts_with("undecided on x86-64-v1: 1 function that needs more may be reached"),
            "{why}"
        );
        assert_eq!(why_undecided(&self::report(Answer::Dies, on(1, 1, 0, &[]))), None);
    }

    #[test]
    fn the_last_line_counts_all_answers() {
        let mut answers = Answers::default();
        for _ in 0..12 {
            answers.add(&report(Answer::Runs, on(0, 0, 0, &[])));
        }
        assert_eq!(line(&answers), "12 files run on x86-64-v1");
        answers.add(&report(Answer::Dies, on(1, 0, 0, &[])));
        let undecided = |path: &str, count| {
            let mut report = report(Answer::Undecided, on(0, count, 0, &[]));
            report.path = path.to_owned();
            report
        };
        answers.add(&undecided("a.whl!lib/pcodec.cpython-311-x86_64-linux-gnu.so", 720));
        answers.add(&undecided("a.whl!lib/other.so", 3));
        answers.add(&example_with(|_| ()));
        assert_eq!(
            line(&answers),
            "12 files run on x86-64-v1, 1 dies, 2 undecided (723 functions, worst pcodec.cpython-311-x86_64-linux-gnu.so); \
             not judged: 1"
        );
        let mut presumed = Answers::default();
        presumed.add(&report(Answer::RunsPresumed, on(0, 0, 4, &[])));
        assert_eq!(line(&presumed), "1 file runs (presumed) on x86-64-v1");
        let mut none = Answers::default();
        none.add(&example_with(|_| ()));
        assert_eq!(line(&none), "not judged: 1");
    }

    #[test]
    fn several_baselines_and_claims_are_named_as_such() {
        let mut answers = Answers::default();
        answers.add(&report(Answer::Runs, on(0, 0, 0, &[])));
        let mut arm = on(0, 0, 0, &[]);
        arm.name = "armv8.0-a".to_owned();
        answers.add(&report(Answer::Runs, arm));
        assert_eq!(line(&answers), "2 files run on armv8.0-a and x86-64-v1");
        let mut claimed = report(Answer::Dies, on(1, 0, 0, &[]));
        claimed.claim =
            serde_json::from_value(json!({"level": "x86-64-v1", "text": "t", "part": "p"})).unwrap();
        let mut answers = Answers::default();
        answers.add(&claimed);
        assert_eq!(line(&answers), "1 file dies on the machines that it claims");
        answers.add(&claimed);
        assert_eq!(line(&answers), "2 files die on the machines that they claim");
    }
}
