//! Sites in random surroundings, before and after `fix`: whatever else enters, reads, calls or relies on the code around a
//! rewritten sequence, each program must leave the same.
//!
//! ```text
//! DEBURR_CAMPAIGN_SEED=1        other programs
//! DEBURR_CAMPAIGN_FIRST=0       the first program's number
//! DEBURR_CAMPAIGN_PROGRAMS=1    how many
//! ```
//!
//! `scripts/campaign` runs many, and goes on where it was stopped.

use deburr_patch::{ApplyOptions, PlanRequest, apply, plan};
use deburr_tests::campaign::{
    AROUND, Batch, CLASSES, Class, Counted, Different, Form, Kind, Linking, Outcome, Program, Shown, program,
};
use deburr_tests::rewrite::with_lse;
use deburr_tests::toolchain::work_dir;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Programs in one file.
const BATCH: usize = 250;
const LINKINGS: [Linking; 8] = [
    Linking::Fixed,
    Linking::Pie,
    Linking::Fixed,
    Linking::Shared,
    Linking::Relr,
    Linking::Rel,
    Linking::Fixed,
    Linking::Android,
];
/// Programs of every push.
const PUSHED: usize = 2000;
/// Programs of any seed among which every class is, in both forms.
const BROAD: usize = 10_000;
/// Programs that are shown whole where they differ.
const SHOWN: usize = 3;

fn number(name: &str, default: usize) -> usize {
    let value = std::env::var(name);
    value.map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name}={value}: no number")))
}

fn seed(default: u64) -> u64 {
    number("DEBURR_CAMPAIGN_SEED", default as usize) as u64
}

fn first() -> usize {
    number("DEBURR_CAMPAIGN_FIRST", 0)
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

/// Programs that share a file, with its name and how it is linked: those whose surroundings reach into others have one of
/// their own.
fn files(seed: u64, numbers: Range<usize>) -> Vec<(String, Vec<Program>, Linking)> {
    let (first, linking) = (numbers.start, linking_of(numbers.start));
    let mut files: BTreeMap<&str, Vec<Program>> = BTreeMap::new();
    for program in numbers.map(|number| program(seed, number, linking)) {
        files.entry(program.reach()).or_default().push(program);
    }
    files.into_iter().map(|(reach, programs)| (format!("{first}{reach}"), programs, linking)).collect()
}

/// Runs programs, with and without added space.
fn campaign(dir: &Path, seed: u64, numbers: Range<usize>) -> Outcome {
    let one = |(name, programs, linking): (String, Vec<Program>, Linking)| {
        let batch = Batch::build(dir, &name, programs, linking);
        let mut outcome = batch.compare(false);
        let added = batch.compare(true);
        // Each program counts once: with added space more is rewritten.
        let without = std::mem::replace(&mut outcome, added);
        let (all, more) = (&mut outcome.different, without.different);
        all.retain(|one| more.iter().all(|other| other.program.number != one.program.number));
        all.extend(more);
        outcome.contradictions.extend(without.contradictions);
        for (class, [noticed, tried]) in batch.noticed() {
            let counted = outcome.classes.entry((class, Form::Harmful)).or_default();
            counted.noticed[0] += noticed;
            counted.noticed[1] += tried;
        }
        batch.remove();
        outcome
    };
    let add = |mut sums: Outcome, outcome: Outcome| {
        sums.add(outcome);
        sums
    };
    let files: Vec<_> = batches(numbers).into_iter().flat_map(|numbers| files(seed, numbers)).collect();
    files.into_par_iter().map(one).reduce(Outcome::default, add)
}

fn shown(seed: u64, outcome: &Outcome) -> String {
    let mut text = format!("{} programs of seed {}\n", outcome.programs, seed);
    for (kind, number) in &outcome.kinds {
        let rewritten = outcome.rewritten.get(kind).copied().unwrap_or_default();
        let _ = writeln!(text, "{rewritten:8} of {number:6} rewritten: {kind:?}");
    }
    for (around, number) in &outcome.around {
        let rewritten = outcome.rewritten_around.get(around).copied().unwrap_or_default();
        let _ = writeln!(text, "{rewritten:8} of {number:6} rewritten: with {around:?}");
    }
    for (&(class, form), counted) in &outcome.classes {
        let Counted { programs, rewritten, alone, rewritten_alone, entered, noticed: [noticed, tried] } =
            counted;
        let _ = match form {
            Form::Harmful => {
                writeln!(
                    text,
                    "{rewritten:8} of {programs:6} rewritten: harmful {class:?}; shown by {noticed} of {tried}"
                )
            }
            Form::Harmless => writeln!(
                text,
                "{rewritten:8} of {programs:6} rewritten: harmless {class:?}; without others {rewritten_alone} of {alone}, \
                 {entered} entered"
            ),
        };
    }
    for (reason, number) in &outcome.refused {
        let _ = writeln!(text, "{number:8} refused: {reason}");
    }
    text
}

/// The differences: all in a line each, some with their programs.
fn described(seed: u64, different: &[Different]) -> String {
    let mut text = String::new();
    for Different { program, linking, trampolines, what, .. } in different {
        let space = if *trampolines { ", in added space" } else { "" };
        let Program { number, kind, size, around, met, .. } = program;
        let _ = writeln!(
            text,
            "{number} ({kind:?} of {size} bytes, {linking:?}{space}): {what}; {met:?}, {around:?}"
        );
    }
    for Different { program, written, .. } in different.iter().take(SHOWN) {
        let _ = writeln!(
            text,
            "\nDEBURR_CAMPAIGN_SEED={seed} DEBURR_CAMPAIGN_FIRST={} DEBURR_CAMPAIGN_PROGRAMS=1 \
             cargo test -p deburr-tests campaign -- --nocapture surroundings\n{written}{}",
            program.number, program.text
        );
    }
    text
}

/// Runs so many programs of a seed, all of which must leave the same.
fn hold(name: &str, seed: u64, programs: usize) {
    let first = first();
    let programs = number("DEBURR_CAMPAIGN_PROGRAMS", programs);
    let dir = work_dir(name);
    judge(&dir, seed, &campaign(&dir, seed, first..first + programs), programs);
}

/// Shows what became of programs, and insists that none differs.
fn judge(dir: &Path, seed: u64, outcome: &Outcome, programs: usize) {
    let table = shown(seed, outcome);
    println!("{table}");
    fs::write(dir.join("table"), &table).expect("room on the disk");
    let text = described(seed, &outcome.different);
    fs::write(dir.join("differences"), &text).expect("room on the disk");
    assert_eq!(outcome.programs, programs);
    let contradictions = &outcome.contradictions;
    assert!(contradictions.is_empty(), "written and not verified: {contradictions:#?}");
    let count = outcome.different.len();
    assert!(count == 0, "{count} of {programs} programs differ; {}:\n{text}", dir.display());
    // What is always refused shows nothing. In few programs of any seed a class may be missing.
    if programs >= BROAD || (seed, programs) == (1, PUSHED) && first() == 0 {
        assert_is_broad(outcome);
    }
}

/// Insists that enough was rewritten, of every kind, and that everything that can be around a site was.
fn assert_is_broad(outcome: &Outcome) {
    let rewritten: usize = outcome.rewritten.values().sum();
    assert!(4 * rewritten >= outcome.programs, "{rewritten} of {} rewritten", outcome.programs);
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
    assert_both_forms_occur(outcome);
}

/// Insists that each class occurred in both forms: that the harmful one shows, and that the harmless one is rewritten.
fn assert_both_forms_occur(outcome: &Outcome) {
    let mut never = Vec::new();
    for row in &CLASSES {
        let class = row.class;
        let [harmful, harmless] = [Form::Harmful, Form::Harmless]
            .map(|form| outcome.classes.get(&(class, form)).copied().unwrap_or_default());
        assert!(harmful.programs > 0, "no program with a harmful {class:?}");
        assert!(harmless.programs > 0, "no program with a harmless {class:?}");
        if harmless.rewritten == 0 && row.shown != Shown::Whole {
            never.push(class);
        }
        // What is harmless is no reason to refuse a site for what enters it.
        let Counted { alone, entered, .. } = harmless;
        // A pointer that is loaded from memory which may be written to may be any other before something is added to it.
        let may_be_any = class == Class::PointerOffset;
        assert!(
            may_be_any || 5 * entered <= alone + 5,
            "{entered} of {alone} programs with a harmless {class:?} are refused"
        );
        if row.refuses {
            assert_eq!(harmful.rewritten, 0, "programs are rewritten although {class:?} is there");
        }
        if row.shown == Shown::Running {
            let [noticed, tried] = harmful.noticed;
            assert!(noticed > 0 && 2 * noticed + 5 >= tried, "{noticed} of {tried}: {class:?} does not show");
        }
    }
    // Something else may refuse the few that a class has among those of a push.
    let most = if outcome.programs < BROAD { CLASSES.len() / 8 } else { 0 };
    assert!(never.len() <= most, "never rewritten, although harmless: {never:?}");
}

#[test]
fn programs_leave_the_same_in_whatever_surroundings() {
    hold("campaign", seed(1), PUSHED);
}

#[test]
#[ignore = "ten minutes under the emulator; the nightly task runs it"]
fn a_sample_of_the_day_leaves_the_same_in_whatever_surroundings() {
    const PATIENCE: Duration = Duration::from_secs(600);
    const DAY: u64 = 24 * 60 * 60;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock that is set");
    // Seed 1 is that of every push.
    let seed = seed(since.as_secs() / DAY);
    println!("DEBURR_CAMPAIGN_SEED={seed}");
    let (dir, start, mut outcome) = (work_dir("campaign-sample"), Instant::now(), Outcome::default());
    let mut programs = 0;
    while programs == 0 || start.elapsed() < PATIENCE {
        outcome.add(campaign(&dir, seed, programs..programs + PUSHED));
        programs += PUSHED;
    }
    judge(&dir, seed, &outcome, programs);
}

/// Whether the programs would show a fault at all: another operation in the place of an addition.
#[test]
fn a_planted_fault_is_noticed() {
    let programs = (0..BATCH).map(|number| program(seed(1), number, Linking::Fixed));
    let programs = programs.filter(|program| program.reach().is_empty()).collect();
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
