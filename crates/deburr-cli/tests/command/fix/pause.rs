//! `deburr fix --pause`: `sb` in the place of `yield`, only where the target has it.

use super::{LIBRARY, document, fix, fixed, refused, scratch};
use crate::{Scratch, deburr, stderr, stdout};
use serde_json::{Value, json};
use std::fs;

const HINTS: [&str; 2] = ["--only", "yield-in-spin-loop"];

fn plan(scratch: &Scratch, arguments: &[&str]) -> Value {
    document(scratch, &[&HINTS, arguments, &["libcounters.so"]].concat())["files"][0].clone()
}

/// The new instruction of the only site.
fn pause(plan: &Value) -> &str {
    plan["sites"][0]["new"][0]["text"].as_str().unwrap()
}

#[test]
fn sb_needs_a_target_that_has_it_and_is_never_the_default() {
    let scratch = scratch("pause");
    for arguments in [
        &[][..],
        &["--target", "neoverse-v2"],
        &["--pause", "isb", "--target", "neoverse-v2"],
        &["--pause", "auto"],
        &["--pause", "auto", "--target", "neoverse-n1"],
    ] {
        let plan = plan(&scratch, arguments);
        assert_eq!((pause(&plan), &plan["needs"]), ("isb", &json!([])), "{arguments:?}");
    }
    for choice in ["sb", "auto"] {
        let plan = plan(&scratch, &["--pause", choice, "--target", "neoverse-v2"]);
        assert_eq!((pause(&plan), &plan["needs"]), ("sb", &json!(["FEAT_SB"])), "{choice}");
    }
    for arguments in [&["--pause", "sb"][..], &["--pause", "sb", "--target", "armv8.4-a"]] {
        let plan = plan(&scratch, arguments);
        assert_eq!((&plan["sites"], &plan["needs"]), (&json!([]), &json!([])), "{arguments:?}");
        let reason = "the target does not guarantee FEAT_SB (--target armv8.5-a)";
        assert_eq!(plan["refused"][0]["reason"], reason, "{arguments:?}");
    }
    refused(
        &scratch,
        &["--revert", "--pause", "sb", "-o", "old.so", "libcounters.so"],
        "cannot be used with",
    );
}

#[test]
fn a_file_with_sb_is_said_to_need_it_by_every_verb() {
    let scratch = scratch("pause-written");
    let sb = ["--pause", "sb", "--target", "armv8.5-a"];
    let arguments = [&HINTS[..], &sb, &["-o", "new.so", "libcounters.so"]].concat();
    let told = fixed(&scratch, &arguments);
    assert!(
        told.contains("The rewritten file needs FEAT_SB: on CPUs without it it dies of SIGILL."),
        "{told}"
    );
    let new = fs::read(scratch.join("new.so")).unwrap();
    // sb
    assert_eq!(new[0x4f4..0x4f8], 0xd50330ff_u32.to_le_bytes());

    let path = scratch.join("new.so").display().to_string();
    let checked = deburr(&["check", "--format", "json", "--select", "yield-in-spin-loop", &path]);
    let report: Value = serde_json::from_slice(&checked.stdout).unwrap();
    let file = &report["files"][0];
    assert_eq!((&file["level"], &file["features"]["FEAT_SB"]), (&json!("armv8.5-a"), &json!(1)), "{file}");
    assert_eq!(file["findings"], json!([]));

    let verify = ["--verify", "libcounters.so", "new.so"];
    assert!(fixed(&scratch, &[&["--target", "armv8.5-a"], &verify[..]].concat()).contains("verified"));
    for target in [&[][..], &["--target", "armv8.4-a"]] {
        let output = fix(&scratch, &[target, &verify].concat());
        assert_eq!((output.status.code(), &*stderr(&output)), (Some(1), ""), "{target:?}");
        assert!(stdout(&output).contains("does not guarantee FEAT_SB"), "{}", stdout(&output));
    }
    fixed(&scratch, &["--revert", "-o", "old.so", "new.so"]);
    assert!(fs::read(scratch.join("old.so")).unwrap() == LIBRARY);
}

#[test]
fn a_launcher_is_given_both_needs() {
    let scratch = scratch("pause-dispatch");
    let told = document(
        &scratch,
        &["--pause", "auto", "--target", "neoverse-v2", "--dispatch", "dist", "libcounters.so"],
    );
    let variants = &told["manifest"]["files"][0]["variants"];
    assert_eq!((&variants[0]["needs"], &variants[1]["needs"]), (&json!(["FEAT_LSE", "FEAT_SB"]), &json!([])));
}
