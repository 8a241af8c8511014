//! Programs that `fix` once rewrote wrongly, with what was seen: none of them is rewritten where it must not be, and those that
//! print something print the same before and after whatever else is rewritten in them.
//!
//! In: the sources of `tests/reproduced`. A name with an `m` at its end is the C program around an assembly file.

use deburr_patch::{PlanRequest, Site, plan};
use deburr_tests::rewrite::{emulated, rewrite, with_lse};
use deburr_tests::toolchain::{repository, require, run, work_dir};
use std::fs;
use std::path::Path;
use std::process::Command;

const SHARED: &[&str] = &["-shared", "-nostdlib"];
const ONE_SEGMENT: &[&str] = &["-shared", "-nostdlib", "-Wl,-z,noseparate-code"];
const FIXED: &[&str] = &["-no-pie", "-static", "-nostdlib", "-Wl,-e,f"];
const PROGRAM: &[&str] = &["-O2", "-static"];

/// Sources, how they are linked, and the functions that must stay as they are.
const CASES: &[(&[&str], &[&str], &[&str])] = &[
    (&["barrier_behind_entered_other.S"], SHARED, &["f", "f.cold"]),
    (&["barrier_dc2.S"], SHARED, &["f"]),
    (&["offset_table32.S"], SHARED, &["f", "g"]),
    (&["wfe_far.S"], SHARED, &["lock"]),
    (&["rodcode.S"], ONE_SEGMENT, &["f"]),
    (&["rodcode_index.S"], ONE_SEGMENT, &["f"]),
    (&["rodcode_table.S"], ONE_SEGMENT, &["f"]),
    (&["rodcode_store.S"], ONE_SEGMENT, &["f"]),
    (&["rodcode_sums.S"], ONE_SEGMENT, &["f"]),
    (&["rodcode_steps.S"], ONE_SEGMENT, &["f"]),
    (&["enteredm.c", "rodcode_index.S"], PROGRAM, &["f"]),
    (&["enteredm.c", "rodcode_table.S"], PROGRAM, &["f"]),
    (&["orphan_pointer.S"], SHARED, &["f", "g"]),
    (&["orphanm.c", "orphan_pointer.S"], PROGRAM, &["f", "g"]),
    (&["orphan_after_pointer.S"], SHARED, &["f"]),
    (&["orphan_after_pointer.S", "-DBY_LINKAGE"], SHARED, &["f"]),
    (&["orphan_after_pointer.S", "-DBY_JUMP"], SHARED, &["f"]),
    (&["comp_adr_idx.S"], SHARED, &["f"]),
    (&["adrp_mov_add.S"], SHARED, &["f"]),
    (&["tbl_data.S"], SHARED, &["f"]),
    (&["tbl_ret.S"], SHARED, &["f"]),
    (&["tbl_mul.S"], SHARED, &["f"]),
    (&["ptr_plus4.S"], SHARED, &["f"]),
    (&["got_plus4.S"], SHARED, &["f"]),
    (&["enteredm.c", "comp_adr_idx.S"], PROGRAM, &["f"]),
    (&["enteredm.c", "adrp_mov_add.S"], PROGRAM, &["f"]),
    (&["enteredm.c", "tbl_data.S"], PROGRAM, &["f"]),
    (&["enteredm.c", "tbl_ret.S"], PROGRAM, &["f"]),
    (&["lp_nohdr.S"], SHARED, &["f"]),
    (&["pair_ctrl.S"], SHARED, &["f"]),
    (&["rseq_post.S"], SHARED, &["f"]),
    (&["rseq_data.S"], SHARED, &["f"]),
    (&["rseq_data.S"], FIXED, &["f"]),
    (&["ex_table.S"], SHARED, &["f"]),
    (&["probe.S"], SHARED, &["f"]),
    (&["own_table.S"], SHARED, &["f"]),
    (&["savem.c", "save_fp.S"], PROGRAM, &["f"]),
    (&["savem.c", "save_x17.S"], PROGRAM, &["f"]),
    // It is rewritten, with x12, which the function overwrites without reading it.
    (&["savem.c", "save_stack_alias.S"], PROGRAM, &[]),
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
fn pointers_are_read_from_relocations_of_every_format() {
    const CLANG: &str = "clang";
    require(CLANG);
    require("ld.lld");
    let dir = work_dir("reproduced-relocations");
    let sources = repository().join("tests/reproduced");
    for (source, format) in [("rel_rel.S", "-z,rel"), ("rel_android.S", "--pack-dyn-relocs=android")] {
        let file = dir.join(source).with_extension("so");
        let link = ["--target=aarch64-linux-gnu", "-fuse-ld=lld", "-shared", "-nostdlib", source];
        run(Command::new(CLANG)
            .current_dir(&sources)
            .args(link)
            .arg(format!("-Wl,{format}"))
            .arg("-o")
            .arg(&file));
        let rewritten = rewrite(&file, Some(with_lse()));
        assert_eq!(rewritten.plan.sites, [], "{source}");
        let refused: Vec<_> = rewritten.refusals().into_keys().map(|(_, reason)| reason).collect();
        assert_eq!(refused, ["something branches or points into it"], "{source}");
    }
    let mut bytes = fs::read(dir.join("rel_android.so")).expect("a linked file");
    let table = bytes.windows(4).position(|bytes| bytes == b"APS2").expect("a packed table");
    bytes[table] = b'X';
    let request = PlanRequest { target: Some(with_lse()), ..PlanRequest::default() };
    let error = plan(&bytes, &request).expect_err("a pointer may be missing").to_string();
    assert!(error.contains("relocations of a format or type that deburr does not read"), "{error}");
}

#[test]
fn a_table_in_a_slot_of_the_frame_is_known_until_others_may_write_there() {
    const GCC: &str = "aarch64-linux-gnu-gcc";
    require(GCC);
    let dir = work_dir("reproduced-slot");
    let sources = repository().join("tests/reproduced");
    let may = ["an indirect jump of its function may go into it"].as_slice();
    for (define, sites, refused) in [
        ("-DKEPT", 1, [].as_slice()),
        ("-DABOVE", 1, &[]),
        ("-DESCAPES", 0, may),
        ("-DTWO_STEPS", 0, may),
        ("-DBY_STORE", 0, may),
        ("-DDOWN", 0, may),
        ("-DSTEP_DOWN", 0, may),
        ("-DKEPT_BY_CALL", 0, may),
        ("-DON_ONE_PATH", 0, may),
        ("-DBACK_FROM_MEMORY", 0, may),
        ("-DBLOCK_OF_ZEROS", 0, may),
        ("-DBACK_BY_INDEX", 0, may),
        ("-DBACK_BY_VECTOR", 0, may),
        ("-DLOW_HALF", 0, may),
    ] {
        let file = dir.join(define).with_extension("so");
        run(Command::new(GCC).current_dir(&sources).args(SHARED).args([define, "slot.S", "-o"]).arg(&file));
        let rewritten = rewrite(&file, Some(with_lse()));
        assert_eq!(rewritten.plan.sites.len(), sites, "{define}: {:?}", rewritten.plan);
        let reasons: Vec<_> = rewritten.refusals().into_keys().map(|(_, reason)| reason).collect();
        assert_eq!(reasons, refused, "{define}");
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
