//! `deburr show` and `deburr diff` on the rules' own fixtures: sessions, what has no answer, and the JSON
//! documents.

use super::fixtures::{archive, folder, run};
use super::{Scratch, assert_as_recorded, deburr, stderr, stdout};
use deburr_test_support::schema_faults;

const LLSC: &str = "llsc_loop/hit-cas.o";
const AVX512: &str = "above_baseline/hit-avx512-above-v3.o";
const PLAIN: &str = "above_baseline/miss-first-level.o";

#[test]
fn sessions_of_show_and_diff_are_as_recorded() {
    let sessions: [(&str, &[&str]); 7] = [
        ("show-function", &["show", "--no-source", LLSC, "cas_4_seq_cst"]),
        ("show-address", &["show", "--no-source", "--context", "1", "--bytes", LLSC, ".text+0x3c"]),
        (
            "show-intel",
            &["show", "--syntax", "intel", "--baseline", "x86-64-v3", "--no-source", AVX512, "mixed"],
        ),
        ("show-several", &["show", LLSC, "cas_"]),
        ("show-none", &["show", LLSC, "cas_4_seq_cts"]),
        ("diff-same", &["diff", LLSC, LLSC]),
        ("diff-worse", &["diff", PLAIN, AVX512]),
    ];
    for (name, arguments) in sessions {
        let output = run(arguments);
        let status = output.status.code().unwrap();
        let line = arguments.join(" ");
        let session =
            format!("$ deburr {line}\n{}{}[exit status {status}]\n", stdout(&output), stderr(&output));
        assert_as_recorded(&format!("{name}.session"), &session);
    }
}

#[test]
fn source_lines_come_before_their_instructions() {
    // The object names its source by a path from the root of the repository, where there is none from here.
    let with = stdout(&run(&["show", LLSC, "cas_4_seq_cst"]));
    assert!(with.contains("hit-cas.s:7"), "{with}");
    let without = stdout(&run(&["show", "--no-source", LLSC, "cas_4_seq_cst"]));
    assert!(!without.contains("hit-cas.s:"), "{without}");
}

#[test]
fn documents_of_show_and_diff_follow_their_schemas() {
    for (verb, arguments) in [
        ("show", &["show", "--format", "json", LLSC, "cas_4_seq_cst"][..]),
        ("show", &["show", "--format", "json", AVX512, ".text+0x0"]),
        ("diff", &["diff", "--format", "json", PLAIN, AVX512]),
        ("diff", &["diff", "--format", "json", "llsc_loop", "outlined_atomic"]),
    ] {
        let schema: serde_json::Value = serde_json::from_slice(&deburr(&["schema", verb]).stdout).unwrap();
        let output = run(arguments);
        let mut document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let faults = schema_faults(&schema, &document);
        assert!(faults.is_empty(), "{arguments:?}: {faults:?}");
        document["schema_version"] = serde_json::json!("1");
        assert!(!schema_faults(&schema, &document).is_empty(), "{verb}");
    }
}

#[test]
fn member_of_an_archive_is_shown_by_the_name_that_check_gives_it() {
    let scratch = Scratch::new("show-archive");
    let object = std::fs::read(folder().join(LLSC)).unwrap();
    let path = scratch.file("lib.a", &archive(&[("a.o", &object), ("b.o", &object)]));
    let output = deburr(&["show", &format!("{path}(b.o)"), "cas_4_seq_cst"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).starts_with(&format!("{path}(b.o): cas_4_seq_cst at .text+0x0: aarch64")));
    let output = deburr(&["show", &path, "cas_4_seq_cst"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("in ") && stderr(&output).contains("lib.a(a.o)"), "{}", stderr(&output));
}

#[test]
fn what_cannot_be_shown_or_compared_is_reported() {
    let scratch = Scratch::new("show-nothing");
    let text = scratch.file("notes.txt", b"no program");
    let object = folder().join(LLSC).display().to_string();
    for (arguments, told) in [
        (&["show", "/nonexistent", "main"][..], "no such file"),
        (&["show", &text, "main"], "no ELF file"),
        (&["show", &object, "0x10000000"], "no code at 0x10000000"),
        (&["show", &object, ".text+0x10000000"], "no code at .text+0x10000000"),
        (&["show", &object, "main", "--select", "llsc-lop"], "did you mean `llsc-loop`?"),
        (&["diff", "/nonexistent", &object], "no such file"),
        (&["diff", &object, &text], "no ELF file"),
    ] {
        let output = deburr(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(told), "{arguments:?}: {}", stderr(&output));
    }
    let other = folder().join(AVX512).display().to_string();
    let output = deburr(&["diff", &object, &other]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("another architecture"), "{}", stderr(&output));
}

#[test]
fn files_of_two_folders_pair_without_versions_and_new_files_count() {
    let scratch = Scratch::new("diff-folders");
    let [plain, high] = [PLAIN, AVX512].map(|name| std::fs::read(folder().join(name)).unwrap());
    scratch.file("old/lib/1.2/libx.so.1.2.3", &plain);
    scratch.file("new/lib/1.3/libx.so.1.3.0", &plain);
    let [old, new] = ["old", "new"].map(|name| scratch.join(name).display().to_string());
    let output = deburr(&["diff", &old, &new]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).starts_with("1 file compared: 0 with changes"), "{}", stdout(&output));
    scratch.file("new/lib/fast.so", &high);
    let output = deburr(&["diff", &old, &new, "--baseline", "x86-64-v3", "--fail-on", "error"]);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stdout(&output).contains("1 only in the new build"), "{}", stdout(&output));
    let output = deburr(&["diff", &new, &old, "--baseline", "x86-64-v3", "--fail-on", "error"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
}
