//! What the prover proves, run: each pair of sequences on a processor that knows nothing of it.
//!
//! In: the prover's tests (`crates/deburr-patch/tests/patch/`), assembled into one program for AArch64. Both sequences of a
//! pair start from the same states under qemu-user, and must leave the same registers, flags, memory and exit; what the
//! second interpreter of those tests says is held against both. The pairs that are wrong must be seen to be.

#[path = "../../../../crates/deburr-patch/tests/patch/interpreter.rs"]
mod interpreter;
#[path = "../../../../crates/deburr-patch/tests/patch/listing.rs"]
mod listing;
#[path = "../../../../crates/deburr-patch/tests/patch/pairs.rs"]
mod pairs;
#[path = "../../../../crates/deburr-patch/tests/patch/states.rs"]
mod states;
#[path = "../../../../crates/deburr-patch/tests/patch/wrong.rs"]
mod wrong;

use deburr_patch::{Cause, Difference, Side, State, prove, prove_loads};
use deburr_tests::toolchain::{repository, require, run, work_dir};
use interpreter::execute;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

/// States of each pair.
const STATES: usize = 256;
/// The page with the cell in it, whose 16 bytes are aligned.
const PAGE: u64 = 0x2000_0000;
const CELL: u64 = PAGE + 80;

/// A sequence: words and their text, from address 0.
type Sequence = &'static [(u32, &'static str)];

/// A sequence and what may stand in its place.
struct Pair {
    name: &'static str,
    old: Sequence,
    new: Sequence,
}

/// A sequence and what may not, and why.
struct Wrong {
    name: &'static str,
    refusal: Reason,
    old: Sequence,
    new: Sequence,
}

/// A refusal without its state.
#[expect(dead_code, reason = "the table says more than is asked here")]
enum Reason {
    Different(Difference),
    Old(usize, Cause),
    New(usize, Cause),
    NoAccess(Side),
    StoreExclusives(usize),
    Other,
}

/// A state as the program reads and writes it: x0 to x30, SP, NZCV in bits 31 to 28, what lies before, at and behind the
/// cell, which is two of them; then which sequence, and afterwards where it was left.
type Record = [u64; 38];

/// Two sequences, and what they start from.
struct Run {
    name: String,
    sequences: [Vec<u32>; 2],
    /// Where the state has the address of the cell: a general register, or 31 for SP.
    base: usize,
    states: Vec<(State, [u64; 4])>,
}

fn words(sequence: Sequence) -> Vec<u32> {
    sequence.iter().map(|(word, _)| *word).collect()
}

/// The state with the cell's address in a register.
fn based(state: &State, base: usize) -> State {
    let mut state = state.clone();
    match state.registers.get_mut(base) {
        Some(register) => *register = CELL,
        None => state.sp = CELL,
    }
    state
}

impl Run {
    /// `None`: no register alone says what is accessed, or a sequence goes back to its first word and may never end.
    fn of(name: &str, old: Vec<u32>, new: Vec<u32>) -> Option<Run> {
        let all = states::states(STATES);
        let finds_it = |base: &usize| {
            all.iter().take(8).all(|state| {
                let outcome = execute(&old, &based(state, *base)).ok();
                outcome.and_then(|outcome| outcome.access).is_some_and(|access| access.address == CELL)
            })
        };
        let loads = prove_loads(&old, &new).is_ok();
        let base = if loads { 31 } else { (0..=31).find(finds_it)? };
        let mut random = states::Random(17);
        let prepared = |state: &State| {
            let mut state = based(state, base);
            let [low, high] = [state.memory as u64, (state.memory >> 64) as u64];
            let memory = [random.value(), low, high, random.value()];
            if loads {
                state.loads = memory[..2].to_vec();
            }
            (state, memory)
        };
        let states: Vec<_> = all.iter().map(prepared).collect();
        let ends = |(state, _): &(State, [u64; 4])| {
            [&old, &new].iter().all(|words| execute(words, state).is_ok_and(|outcome| outcome.exit != 0))
        };
        states.iter().all(ends).then_some(())?;
        Some(Run { name: name.to_owned(), sequences: [old, new], base, states })
    }
}

/// What the interpreter says of one state, as the program would write it.
fn interpreted(words: &[u32], state: &State, memory: &[u64; 4]) -> Record {
    let outcome = execute(words, state).expect("a sequence that is understood");
    let mut record = [0; 38];
    record[..32].copy_from_slice(&outcome.registers);
    record[32] = u64::from(outcome.nzcv) << 28;
    record[33..37].copy_from_slice(memory);
    if let Some((stored, bits)) = outcome.access.and_then(|access| Some((access.stored?, access.bits))) {
        let kept = state.memory.checked_shr(bits).unwrap_or(0).checked_shl(bits).unwrap_or(0);
        (record[34], record[35]) = ((kept | stored) as u64, ((kept | stored) >> 64) as u64);
    }
    record[37] = outcome.exit as u64;
    record
}

/// Where a sequence may be left, in words.
fn exits(words: &[u32]) -> BTreeSet<usize> {
    let signed = |word: u32, low: u32, bits: u32| ((word << (32 - low - bits)) as i32 >> (32 - bits)) as i64;
    let target = |(place, word): (usize, &u32)| {
        let offset = match word >> 24 & 0x7e {
            0x14 | 0x16 => signed(*word, 0, 26),
            0x34 | 0x54 => signed(*word, 5, 19),
            0x36 => signed(*word, 5, 14),
            _ => return None,
        };
        Some(usize::try_from(place as i64 + offset).expect("exits lie behind a sequence's first word"))
    };
    let targets = words.iter().enumerate().filter_map(target);
    targets.chain([words.len()]).filter(|exit| *exit >= words.len()).collect()
}

/// The sequences as assembly: each with its exits where they lie, and their table.
fn assembly(runs: &[Run]) -> String {
    let sequences = || runs.iter().flat_map(|run| &run.sequences);
    let mut text = String::from("    .text\n");
    for (number, words) in sequences().enumerate() {
        let exits = exits(words);
        let _ = writeln!(text, "sequence_{number}:\n    ldp x0, x1, [x0]");
        for place in 0..=exits.last().copied().unwrap_or(0) {
            let _ = match words.get(place) {
                Some(word) => writeln!(text, "    .inst {word:#010x}"),
                None if exits.contains(&place) => writeln!(text, "    b exit_{place}"),
                None => writeln!(text, "    udf #0"),
            };
        }
    }
    let exits: BTreeSet<usize> = sequences().flat_map(|words| exits(words)).collect();
    for exit in exits {
        let _ = writeln!(text, "    exit {exit}");
    }
    text += "    .section .rodata\n    .balign 8\n    .global sequences\nsequences:\n";
    for number in 0..sequences().count() {
        let _ = writeln!(text, "    .quad sequence_{number}");
    }
    text
}

/// Runs everything in one process. Gives what became of each state, of each run's first sequence and then its second.
fn emulated(dir: &Path, runs: &[Run]) -> Vec<Record> {
    require("aarch64-linux-gnu-gcc");
    require("qemu-aarch64");
    fs::write(dir.join("sequences.s"), assembly(runs)).expect("the sequences");
    let sources = repository().join("tests/replaced");
    let program = dir.join("program");
    let mut compiler = Command::new("aarch64-linux-gnu-gcc");
    compiler.args(["-O1", "-static", "-march=armv8.1-a"]).arg(format!("-DCELL={PAGE}UL"));
    compiler.arg("-I").arg(dir).args(["harness.c", "enter.S"].map(|source| sources.join(source)));
    run(compiler.arg("-o").arg(&program));
    let mut input = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        for (sequence, (state, memory)) in
            (0..2).flat_map(|at| run.states.iter().map(move |state| (at, state)))
        {
            let mut record: Record = [0; 38];
            record[..31].copy_from_slice(&state.registers);
            (record[31], record[32]) = (state.sp, u64::from(state.nzcv) << 28);
            record[33..37].copy_from_slice(memory);
            record[37] = (2 * number + sequence) as u64;
            input.extend(record.iter().flat_map(|value| value.to_le_bytes()));
        }
    }
    let [before, after] = ["states", "outcomes"].map(|name| dir.join(name));
    fs::write(&before, &input).expect("the states");
    let mut emulator = Command::new("qemu-aarch64");
    emulator.args(["-cpu", "max"]).arg(&program);
    emulator
        .stdin(File::open(&before).expect("the states"))
        .stdout(File::create(&after).expect("the outcomes"));
    let status = emulator.status().expect("qemu-aarch64");
    let output = fs::read(&after).expect("the outcomes");
    assert!(status.success(), "qemu-aarch64: {status} after {} states", output.len() / size_of::<Record>());
    assert_eq!(output.len(), input.len());
    let value = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
    let record = |bytes: &[u8]| std::array::from_fn(|at| value(&bytes[8 * at..8 * at + 8]));
    output.chunks_exact(size_of::<Record>()).map(record).collect()
}

/// Holds both sequences of each run against the interpreter. Gives for each run in how many states the two differ.
fn hold(dir: &Path, runs: &[Run]) -> Vec<usize> {
    let outcomes = emulated(dir, runs);
    let outcomes = outcomes.chunks_exact(2 * STATES);
    assert_eq!(outcomes.len(), runs.len());
    let apart = runs.iter().zip(outcomes).map(|(run, outcomes)| {
        let (old, new) = outcomes.split_at(STATES);
        for (words, outcomes) in run.sequences.iter().zip([old, new]) {
            for ((state, memory), outcome) in run.states.iter().zip(outcomes) {
                let expected = interpreted(words, state, memory);
                let same = *outcome == expected;
                assert!(
                    same,
                    "{}: {words:x?} in {state:x?}: qemu {outcome:x?}, interpreter {expected:x?}",
                    run.name
                );
            }
        }
        old.iter().zip(new).filter(|(old, new)| old != new).count()
    });
    apart.collect()
}

#[test]
#[ignore = "runs 30,000 states under qemu; the nightly task runs it"]
fn proven_pairs_do_the_same_on_an_emulated_processor() {
    let mut runs = Vec::new();
    for pair in pairs::PAIRS.iter() {
        let (old, new) = (words(pair.old), words(pair.new));
        assert!(prove(&old, &new).is_ok(), "{}", pair.name);
        runs.push(Run::of(pair.name, old, new).unwrap_or_else(|| panic!("{} cannot be run", pair.name)));
    }
    for by in [0, 16, 32, 48, 240, 255] {
        // ldp x29, x30, [sp, #-8]; add sp, sp, #by by ldur x29, [sp, #-8]; ldr x30, [sp], #by
        let (old, new) =
            (vec![0xa97f_fbfd, 0x9100_03ff | by << 10], vec![0xf85f_83fd, 0xf840_07fe | by << 12]);
        runs.push(Run::of(&format!("epilogue of {by} bytes"), old, new).expect("loads"));
    }
    let apart = hold(&work_dir("replaced"), &runs);
    for (run, apart) in runs.iter().zip(&apart) {
        assert_eq!(*apart, 0, "{}", run.name);
        // Both ways of a compare-and-swap are taken.
        let stores = |(state, _): &&(State, [u64; 4])| {
            let access = execute(&run.sequences[0], state).ok().and_then(|outcome| outcome.access);
            access.is_some_and(|access| access.stored.is_some())
        };
        let stored = run.states.iter().filter(stores).count();
        assert!(stored >= 8 || run.name.starts_with("epilogue"), "{}: {stored} states store", run.name);
        if run.name.contains("compare-and-swap") {
            assert!(STATES - stored >= 8, "{}: {stored} states store", run.name);
        }
    }
    assert!(runs.iter().any(|run| run.base == 31));
    println!("{} pairs do the same in {STATES} states each", runs.len());
}

#[test]
#[ignore = "runs 10,000 states under qemu; the nightly task runs it"]
fn wrong_pairs_are_seen_to_differ_on_an_emulated_processor() {
    // Order and barriers leave nothing to see; another address may be none.
    const UNSEEN: [Difference; 4] =
        [Difference::Acquire, Difference::Release, Difference::Barriers, Difference::Address];
    let mut runs = Vec::new();
    for wrong in wrong::WRONG.iter() {
        let Reason::Different(difference) = wrong.refusal else { continue };
        if !UNSEEN.contains(&difference) {
            runs.extend(Run::of(wrong.name, words(wrong.old), words(wrong.new)));
        }
    }
    let apart = hold(&work_dir("replaced-wrongly"), &runs);
    for (run, apart) in runs.iter().zip(&apart) {
        println!("{}: {apart} of {STATES} states differ", run.name);
        assert!(*apart > 0, "{}", run.name);
    }
    assert!(runs.len() >= 20, "{}", runs.len());
}
