//! Sites in random surroundings, before and after `fix`: whatever else enters, reads, calls or relies on the code around a
//! rewritten sequence, each program must leave the same.
//!
//! ```text
//! DEBURR_CAMPAIGN_SEED=1        other programs
//! DEBURR_CAMPAIGN_FIRST=0       the first program's number
//! DEBURR_CAMPAIGN_PROGRAMS=1    how many
//! ```

use deburr_patch::{ApplyOptions, PlanRequest, apply, plan};
use deburr_tests::campaign::{AROUND, Around, Batch, Different, Kind, Linking, Outcome, Program, program};
use deburr_tests::rewrite::with_lse;
use deburr_tests::toolchain::work_dir;
use rayon::prelude::*;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::Path;

/// Programs in one file.
const BATCH: usize = 250;
const LINKINGS: [Linking; 4] = [Linking::Fixed, Linking::Pie, Linking::Fixed, Linking::Shared];
/// Programs that are shown whole where they differ.
const SHOWN: usize = 3;

fn number(name: &str, default: usize) -> usize {
    let value = std::env::var(name);
    value.map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name}={value}: no number")))
}

fn seed() -> u64 {
    number("DEBURR_CAMPAIGN_SEED", 1) as u64
}

/// How the program of a number is linked: all in one file alike.
fn linking_of(number: usize) -> Linking {
    LINKINGS[number / BATCH % LINKINGS.len()]
}

/// Numbers of programs, cut where files begin.
fn batches(numbers: Range<usize>) -> Vec<Range<usize>> {
    let first = numbers.start / BATCH;
    let cut = |batch: usize| numbers.start.max(batch * BATCH)..numbers.end.min((batch + 1) * BATCH);
    (first..numbers.end.div_ceil(BATCH)).map(cut).collect()
}

/// Programs that share a file, with its name and how it is linked. Cache maintenance keeps all barriers of a file, so that
/// programs with it have one of their own.
fn files(numbers: Range<usize>) -> Vec<(String, Vec<Program>, Linking)> {
    let (first, linking) = (numbers.start, linking_of(numbers.start));
    let programs = numbers.map(|number| program(seed(), number, linking));
    let (maintaining, others): (Vec<_>, Vec<_>) =
        programs.partition(|program| program.around.contains(&Around::CacheMaintenance));
    [(format!("{first}-maintaining"), maintaining), (first.to_string(), others)]
        .into_iter()
        .filter(|(_, programs)| !programs.is_empty())
        .map(|(name, programs)| (name, programs, linking))
        .collect()
}

/// Runs programs, with and without added space.
fn campaign(dir: &Path, numbers: Range<usize>) -> Outcome {
    let one = |(name, programs, linking): (String, Vec<Program>, Linking)| {
        let batch = Batch::build(dir, &name, programs, linking);
        let mut outcome = batch.compare(false);
        let added = batch.compare(true);
        // Each program counts once: with added space more is rewritten.
        let without = std::mem::replace(&mut outcome, added);
        let is_new = |one: &Different| {
            without.different.iter().all(|other| other.program.number != one.program.number)
        };
        outcome.different.retain(is_new);
        outcome.different.extend(without.different);
        outcome.contradictions.extend(without.contradictions);
        batch.remove();
        outcome
    };
    let add = |mut sums: Outcome, outcome: Outcome| {
        sums.add(outcome);
        sums
    };
    let files: Vec<_> = batches(numbers).into_iter().flat_map(files).collect();
    files.into_par_iter().map(one).reduce(Outcome::default, add)
}

fn shown(outcome: &Outcome) -> String {
    let mut text = format!("{} programs of seed {}\n", outcome.programs, seed());
    for (kind, number) in &outcome.kinds {
        let rewritten = outcome.rewritten.get(kind).copied().unwrap_or_default();
        let _ = writeln!(text, "{rewritten:8} of {number:6} rewritten: {kind:?}");
    }
    for (around, number) in &outcome.around {
        let rewritten = outcome.rewritten_around.get(around).copied().unwrap_or_default();
        let _ = writeln!(text, "{rewritten:8} of {number:6} rewritten: with {around:?}");
    }
    for (reason, number) in &outcome.refused {
        let _ = writeln!(text, "{number:8} refused: {reason}");
    }
    text
}

/// The differences: all in a line each, some with their programs.
fn described(different: &[Different]) -> String {
    let mut text = String::new();
    for Different { program, linking, trampolines, what, .. } in different {
        let space = if *trampolines { ", in added space" } else { "" };
        let (number, kind, size, around) = (program.number, program.kind, program.size, &program.around);
        let _ = writeln!(text, "{number} ({kind:?} of {size} bytes, {linking:?}{space}): {what}; {around:?}");
    }
    for Different { program, written, .. } in different.iter().take(SHOWN) {
        let _ = writeln!(
            text,
            "\nDEBURR_CAMPAIGN_SEED={} DEBURR_CAMPAIGN_FIRST={} DEBURR_CAMPAIGN_PROGRAMS=1 \
             cargo test -p deburr-tests campaign -- --nocapture surroundings\n{written}{}",
            seed(),
            program.number,
            program.text
        );
    }
    text
}

/// Runs so many programs, all of which must leave the same.
fn hold(name: &str, programs: usize) {
    let dir = work_dir(name);
    let first = number("DEBURR_CAMPAIGN_FIRST", 0);
    let programs = number("DEBURR_CAMPAIGN_PROGRAMS", programs);
    let outcome = campaign(&dir, first..first + programs);
    let table = shown(&outcome);
    println!("{table}");
    fs::write(dir.join("table"), &table).expect("room on the disk");
    let text = described(&outcome.different);
    fs::write(dir.join("differences"), &text).expect("room on the disk");
    assert_eq!(outcome.programs, programs);
    let contradictions = &outcome.contradictions;
    assert!(contradictions.is_empty(), "written and not verified: {contradictions:#?}");
    let count = outcome.different.len();
    assert!(count == 0, "{count} of {programs} programs differ; {}:\n{text}", dir.display());
    // What is always refused shows nothing.
    if programs >= 2000 {
        assert_is_broad(&outcome);
    }
}

/// Insists that enough was rewritten, of every kind, and that everything that can be around a site was.
fn assert_is_broad(outcome: &Outcome) {
    let rewritten: usize = outcome.rewritten.values().sum();
    assert!(10 * rewritten >= 3 * outcome.programs, "{rewritten} of {} rewritten", outcome.programs);
    for (kind, &number) in &outcome.kinds {
        let rewritten = outcome.rewritten.get(kind).copied().unwrap_or_default();
        // What looks like a helper is none.
        let least = if *kind == Kind::Impostor { 0 } else { number / 40 };
        assert!(rewritten >= least, "{rewritten} of {number} rewritten: {kind:?}");
    }
    for around in AROUND {
        let number = outcome.around.get(&around).copied().unwrap_or_default();
        assert!(number >= outcome.programs / 1000, "{number} programs with {around:?}");
    }
}

#[test]
fn programs_leave_the_same_in_whatever_surroundings() {
    hold("campaign", 2000);
}

#[test]
#[ignore = "100,000 programs under the emulator; the nightly task runs it"]
fn many_programs_leave_the_same_in_whatever_surroundings() {
    hold("campaign-long", 100_000);
}

/// Whether the programs would show a fault at all: another operation in the place of an addition.
#[test]
fn a_planted_fault_is_noticed() {
    let programs = (0..BATCH).map(|number| program(seed(), number, Linking::Fixed)).collect();
    let batch = Batch::build(&work_dir("campaign-planted"), "planted", programs, Linking::Fixed);
    let bytes = fs::read(batch.original()).expect("the programs");
    let request = PlanRequest { target: Some(with_lse()), ..PlanRequest::default() };
    let plan = plan(&bytes, &request).expect("a plan");
    let (mut planted, mut noticed) = (0, 0);
    for site in &plan.sites {
        // ldadd, of any order and size, of which bit 12 makes ldclr
        let is_addition = |word: u32| word & 0x3f20_fc00 == 0x3820_0000;
        let Some(at) = site.new.iter().position(|&word| is_addition(word)) else { continue };
        let mut bytes = apply(&bytes, &plan, &ApplyOptions::default()).expect("the patched file");
        let offset = site.file_offset as usize + 4 * at;
        bytes[offset + 1] ^= 0x10;
        planted += 1;
        noticed += usize::from(!batch.differences(&bytes, false).is_empty());
        if planted == 4 {
            break;
        }
    }
    assert!(planted > 0);
    assert_eq!(noticed, planted);
}
