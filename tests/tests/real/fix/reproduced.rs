//! Programs that `fix` once rewrote wrongly, with what was seen: none of them is rewritten where it must not be, and those that
//! print something print the same before and after whatever else is rewritten in them.
//!
//! In: the sources of `tests/reproduced`. A name with an `m` at its end is the C program around an assembly file.

use deburr_patch::Site;
use deburr_tests::rewrite::{emulated, rewrite, with_lse};
use deburr_tests::toolchain::{repository, require, run, work_dir};
use std::path::Path;
use std::process::Command;

const SHARED: &[&str] = &["-shared", "-nostdlib"];
const FIXED: &[&str] = &["-no-pie", "-static", "-nostdlib", "-Wl,-e,f"];
const PROGRAM: &[&str] = &["-O2", "-static"];

/// Sources, how they are linked, and the functions that must stay as they are.
const CASES: &[(&[&str], &[&str], &[&str])] = &[
    (&["barrier_behind_entered_other.S"], SHARED, &["f", "f.cold"]),
    (&["barrier_dc2.S"], SHARED, &["f"]),
    (&["offset_table32.S"], SHARED, &["f", "g"]),
    (&["wfe_far.S"], SHARED, &["lock"]),
    (&["literal_pool.S"], FIXED, &["f", "g"]),
    (&["movz_movk_abs.S"], FIXED, &["f", "g"]),
    (&["ptr_table_abs32.S"], FIXED, &["f", "g"]),
    (&["ipara.c"], PROGRAM, &["cas16"]),
    (&["svc1m.c", "svc1.S"], PROGRAM, &["g"]),
    (&["svc2m.c", "svc2.S"], PROGRAM, &["g"]),
    (&["svem.c", "sve.S"], PROGRAM, &["g"]),
    (&["helpm.c", "help.S"], PROGRAM, &["main", "counter_add"]),
];

/// What a program prints in a folder of its own.
fn printed(dir: &Path, program: &Path) -> String {
    let output = emulated(program).current_dir(dir).output().expect("the emulator");
    format!("{} {}", output.status, String::from_utf8_lossy(&output.stdout))
}

#[test]
fn nothing_that_was_rewritten_wrongly_is_rewritten() {
    const GCC: &str = "aarch64-linux-gnu-gcc";
    require(GCC);
    let dir = work_dir("reproduced");
    let sources = repository().join("tests/reproduced");
    for (names, flags, kept) in CASES {
        let file = dir.join(names[0]).with_extension("linked");
        run(Command::new(GCC).current_dir(&sources).args(*flags).args(*names).arg("-o").arg(&file));
        let rewritten = rewrite(&file, Some(with_lse()));
        let is_kept = |site: &&Site| {
            let name = site.function.as_deref().unwrap_or_default();
            // gcc's copies: `cas16 [clone .constprop.0]`
            kept.iter().any(|kept| name.split([' ', '.']).next() == kept.split('.').next())
        };
        let wrong: Vec<_> = rewritten.plan.sites.iter().filter(is_kept).collect();
        assert!(wrong.is_empty(), "{names:?}: {wrong:?}");
        if *flags == PROGRAM {
            let [before, after] = [&file, &rewritten.patched].map(|file| printed(&dir, file));
            assert_eq!(before, after, "{names:?}");
            assert!(before.contains("exit status: 0"), "{names:?}: {before}");
        }
    }
}

#[test]
fn a_barrier_that_a_cold_part_shares_stays() {
    const GCC: &str = "aarch64-linux-gnu-g++";
    require(GCC);
    let file = work_dir("reproduced-cold").join("cold.so");
    let source = repository().join("tests/reproduced/cold.cc");
    run(Command::new(GCC)
        // With shrink-wrapping the cold part is a function's own tail, with a barrier of its own.
        .args(["-O2", "-fno-shrink-wrap", "-shared", "-fPIC", "-march=armv8.1-a"])
        .arg(source)
        .arg("-o")
        .arg(&file));
    let rewritten = rewrite(&file, Some(with_lse()));
    let barriers = rewritten.plan.sites.iter().filter(|site| site.rule == "barrier-around-atomic");
    assert_eq!(barriers.count(), 0, "{:?}", rewritten.plan.sites);
}
