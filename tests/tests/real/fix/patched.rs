//! Contended programs before and after `patch`: each checks itself and says the same whatever the schedule, so both forms
//! must end well and say the same.
//!
//! The emulator runs an exclusive pair as a compare-and-swap on a host that is ordered more strongly than AArch64: what is
//! shown is that no update is lost or doubled, not that the orders are right. Those the prover compares, letter by letter.

use deburr_tests::rewrite::{Rewritten, emulated, rewrite, with_lse};
use deburr_tests::toolchain::{compile, repository, work_dir};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const GCC: &str = "aarch64-linux-gnu-gcc";
const PROGRAMS: [&str; 3] = ["counters", "locks", "structures"];

fn build(dir: &Path, program: &str, compiler: &str, flags: &[&str]) -> PathBuf {
    let sources = repository().join("tests/patched");
    let text = fs::read_to_string(sources.join(format!("{program}.c"))).expect("the program's source");
    let include = format!("-I{}", sources.display());
    let mut all = vec!["-march=armv8-a", "-mno-outline-atomics", "-pthread", "-Wall", "-Werror", &include];
    if compiler == "clang" {
        all.push("--target=aarch64-linux-gnu");
    }
    all.extend(flags);
    compile(dir, &format!("{program}{}", flags.concat()), ("c", &text), compiler, &all)
}

/// What may be left as it is.
struct Left {
    compiler: &'static str,
    rule: &'static str,
    /// Parts of the names of the functions that it is in.
    functions: &'static [&'static str],
    /// What the plan says of it.
    reasons: &'static [&'static str],
}

const LEFT: [Left; 2] = [
    // The full barrier after `__sync_*`: the atomic before it is no full barrier itself.
    Left {
        compiler: GCC,
        rule: "barrier-around-atomic",
        functions: &["imum_", "sync_lock", "add_rw_"],
        reasons: &["not shown to be needless"],
    },
    // Weak compare-and-swaps in a loop: clang moves what makes the new value, or the loop's own counter, between the
    // exclusives and over what it is made from.
    Left {
        compiler: "clang",
        rule: "llsc-loop",
        functions: &[
            "weak_",
            "swap_",
            "compare_half",
            "compare_long",
            "compare_rw_",
            "main",
            "use_",
            "queue",
        ],
        reasons: &[
            "a branch inside the sequence",
            "a memory access, a call, a barrier or an unknown instruction between the exclusives",
            "not proven: the sequences differ in what memory holds afterwards",
            "not proven: the sequences differ in whether they store",
            "the replacement is longer than the sequence",
        ],
    },
];

fn is_known(compiler: &str, rule: &str, reason: &str, place: &str) -> bool {
    LEFT.iter().any(|left| {
        (left.compiler, left.rule) == (compiler, rule)
            && left.reasons.contains(&reason)
            && left.functions.iter().any(|function| place.contains(function))
    })
}

/// Rewrites the programs as one compiler makes them, and runs both forms with so many seeds for each level.
fn hold(test: &str, compiler: &str, levels: &[&str], seeds: usize) {
    let dir = work_dir(test);
    let mut said = BTreeSet::new();
    for program in PROGRAMS {
        for (number, level) in levels.iter().enumerate() {
            let rewritten = rewrite(&build(&dir, program, compiler, &[level]), None);
            println!("{compiler} {level} {program}: {} sites", rewritten.plan.sites.len());
            assert!(rewritten.plan.sites.len() >= 15, "{:?}", rewritten.refusals());
            let mut refusals = rewritten.refusals();
            refusals.retain(|(rule, reason), places| {
                places.retain(|place| !is_known(compiler, rule, reason, place));
                !places.is_empty()
            });
            assert!(refusals.is_empty(), "{compiler} {level} {program}: {refusals:#?}");
            rewritten.assert_sites_are_free_of_exclusives();
            rewritten.assert_sites_are_clean();
            for seed in (number..).take(seeds) {
                said.insert((program, rewritten.assert_same_behaviour(&[&seed.to_string()])));
            }
        }
    }
    assert_eq!(said.len(), PROGRAMS.len(), "what a program says depends on its seed or its compiler's flags");
}

#[test]
fn programs_of_gcc_do_the_same_when_patched() {
    hold("patched-gcc", GCC, &["-O2"], 1);
}

#[test]
#[ignore = "minutes of emulation; `cargo xtask nightly` runs it"]
fn programs_of_clang_do_the_same_when_patched() {
    hold("patched-clang", "clang", &["-O0", "-O2"], 1);
}

#[test]
#[ignore = "minutes of emulation; `cargo xtask nightly` runs it"]
fn programs_of_all_levels_do_the_same_when_patched_with_many_seeds() {
    for compiler in [GCC, "clang"] {
        hold(&format!("patched-{compiler}-all"), compiler, &["-O0", "-O1", "-O2", "-O3", "-Os"], 10);
    }
}

/// Whether the programs would see a fault at all.
#[test]
fn a_counter_that_loses_updates_is_noticed() {
    let torn = "-D__atomic_fetch_sub(cell,by,order)=(*(volatile __typeof__(*(cell))*)(cell)-=(by))";
    let program = build(&work_dir("patched-torn"), "counters", GCC, &["-O2", torn]);
    let is_noticed =
        |seed: u32| !emulated(&program).arg(seed.to_string()).output().is_ok_and(|o| o.status.success());
    assert!((0..8).any(is_noticed));
}

/// Everything in one file: the C library's locks and its allocator's are calls of outlined helpers.
#[test]
#[ignore = "minutes of emulation; `cargo xtask nightly` runs it"]
fn static_programs_with_their_c_library_do_the_same_when_patched() {
    let dir = work_dir("patched-static");
    for program in PROGRAMS {
        let rewritten: Rewritten = rewrite(&build(&dir, program, GCC, &["-O2", "-static"]), Some(with_lse()));
        let calls = rewritten.plan.sites.iter().filter(|site| site.rule == "outlined-atomic").count();
        println!(
            "static {program}: {} sites, {calls} calls; {:?}",
            rewritten.plan.sites.len(),
            rewritten.refusals()
        );
        assert!(calls > 100);
        for seed in 0..10 {
            rewritten.assert_same_behaviour(&[&seed.to_string()]);
        }
    }
}
