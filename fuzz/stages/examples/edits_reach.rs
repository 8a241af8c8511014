//! What the edits of the mutator reach: small files → by kind of edit, how often it changes a file, and what deburr then says.
//!
//!     cargo run --release -p deburr-stages --example edits_reach [EDITS] FILE...
//!
//! A table in Markdown. "says otherwise": the report of `check` differs from that of the file before the edit; "refuses": there is none.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints a table")]

use deburr_core::{Request, check};
use deburr_mutator::{Edit, Sequence, apply};
use std::process::ExitCode;

/// Room for what edits put in between.
const ROOM: usize = 64 << 10;

/// Outcomes of the edits of one kind.
#[derive(Default)]
struct Reached {
    changed: u32,
    otherwise: u32,
    refused: u32,
}

fn report(bytes: &[u8], rules: &[&str]) -> Option<String> {
    let request = Request { rules: Some(rules), ..Request::default() };
    serde_json::to_string(&check(bytes, &request).ok()?).ok()
}

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let edits: u64 = words.first().and_then(|word| word.parse().ok()).unwrap_or(200);
    words.retain(|word| word.parse::<u64>().is_err());
    let rules: Vec<&str> = deburr_core::rule::RULES.iter().map(|rule| rule.id).collect();
    let mut files = Vec::new();
    for path in &words {
        match std::fs::read(path) {
            Ok(bytes) => files.push(bytes),
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::from(2);
            }
        }
    }
    if files.is_empty() {
        eprintln!("edits_reach: name files, such as fuzz/mutator/tests/files/*");
        return ExitCode::from(2);
    }
    let mut kinds: Vec<Edit> = Vec::new();
    kinds.extend(Edit::WEIGHTED);
    kinds.sort_by_key(|kind| format!("{kind:?}"));
    kinds.dedup();
    println!("| edit | changes the file | says otherwise | refuses |\n|---|---:|---:|---:|");
    for kind in kinds {
        let mut reached = Reached::default();
        for file in &files {
            let before = report(file, &rules);
            for seed in 0..edits {
                let mut edited = file.clone();
                if !apply(kind, &mut edited, ROOM, &mut Sequence::scattered(seed)) {
                    continue;
                }
                reached.changed += 1;
                match report(&edited, &rules) {
                    None => reached.refused += 1,
                    after => reached.otherwise += u32::from(after != before),
                }
            }
        }
        let all = edits * files.len() as u64;
        let percent = |count: u32, of: u64| format!("{:.0} %", 100.0 * f64::from(count) / of.max(1) as f64);
        let changed = u64::from(reached.changed);
        let (otherwise, refused) = (percent(reached.otherwise, changed), percent(reached.refused, changed));
        println!("| {kind:?} | {} | {otherwise} | {refused} |", percent(reached.changed, all));
    }
    ExitCode::SUCCESS
}
