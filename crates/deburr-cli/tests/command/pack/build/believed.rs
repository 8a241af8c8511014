//! What a check of variants is told to believe, what it does not decide, and how both are seen afterwards.

use super::tree;
use crate::{stderr, stdout};
use deburr_test_support::Scratch;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A program that adds integers of 256 bits where its argument says so: nobody can see that it is only said on CPUs that can.
const HOT: &str = "#include <immintrin.h>
__attribute__((noinline, target(\"avx2\"))) int hot(const int *at) {
    return _mm256_extract_epi32(_mm256_add_epi32(_mm256_loadu_si256((const void *)at), _mm256_set1_epi32(1)), 0);
}
int main(int count, char **names) { int a[8] = {count}; (void)names; return count > 1 ? hot(a) : 0; }
";
/// The same, where it is not known what a pointer leads to.
const UNDECIDED: &str = "#include <functional>
#include <vector>
#include <immintrin.h>
__attribute__((noinline, target(\"avx2\"))) int hot(const int *at) {
    return _mm256_extract_epi32(_mm256_add_epi32(_mm256_loadu_si256((const __m256i *)at), _mm256_set1_epi32(1)), 0);
}
std::vector<std::function<int(const int *)>> all;
int main(int count, char **) { all.push_back(hot); int a[8] = {count}; return count > 7 ? all[0](a) : 0; }
";

fn sources(scratch: &Scratch, name: &str, text: &str) -> PathBuf {
    scratch.file(&format!("src/{name}"), text.as_bytes());
    scratch.join("src")
}

fn build(folder: &Path, options: &[&str], script: &str) -> Output {
    let mut command = Command::new(crate::program());
    command.current_dir(folder).args(["pack", "build", "--levels", "x86-64-v1"]).args(options);
    command.args(["--", "sh", "-c", script]).env_remove("CC").env_remove("CXX").stdin(Stdio::null());
    command.output().unwrap()
}

fn status(folder: &Path) -> (Option<i32>, String, Value) {
    let run = |more: &[&str]| {
        let mut command = Command::new(crate::program());
        command.current_dir(folder).args(["pack", "status"]).args(more).arg("deburr-pack").output().unwrap()
    };
    let (text, json) = (run(&[]), run(&["--format", "json"]));
    assert_eq!(text.status, json.status);
    (text.status.code(), stdout(&text), serde_json::from_slice(&json.stdout).unwrap())
}

const GCC: &str = "gcc -O2 -o prog prog.c";

#[test]
fn function_that_is_accepted_rejects_nothing_and_is_seen_afterwards() {
    let scratch = Scratch::new("pack-accept");
    let folder = sources(&scratch, "prog.c", HOT);
    let refused = build(&folder, &[], GCC);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("x86-64-v1: rejected: prog: hot at 0x"), "{}", stderr(&refused));
    let (code, text, _) = status(&folder);
    assert_eq!(
        (code, text.as_str()),
        (Some(1), "x86-64-v1: rejected: not what its level says\nnot all is whole\n")
    );
    let other = build(&folder, &["--accept", "cold*"], GCC);
    assert_eq!(other.status.code(), Some(2), "{}", stderr(&other));
    for pattern in ["hot", "h?t"] {
        let accepted = build(&folder, &["--accept", pattern], GCC);
        assert_eq!(accepted.status.code(), Some(0), "{}", stderr(&accepted));
        let said = stderr(&accepted);
        assert!(said.contains("x86-64-v1: accepted: prog: hot at 0x") && said.contains("AVX2"), "{said}");
        // What is kept is still believed, and said again.
        let again = stderr(&build(&folder, &["--accept", pattern], GCC));
        assert!(
            again.contains("unchanged since it was built") && again.contains("accepted: prog: hot at 0x"),
            "{again}"
        );
    }
    let (code, text, json) = status(&folder);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("x86-64-v1: built and checked\n  accepted: prog: hot at 0x"), "{text}");
    assert_eq!(json["variants"][0]["check"]["accepted"][0]["function"][0], "hot");
    let id = json["found"][0]["build_id"].as_str().unwrap();
    assert!(id.len() == 40 && text.contains(&format!("  x86-64-v1/tree/prog  {id}\n")), "{text}");
    // Whoever takes it back gets the fault.
    assert_eq!(build(&folder, &[], GCC).status.code(), Some(2));
}

#[test]
fn stated_guard_counts_and_is_named() {
    let scratch = Scratch::new("pack-guard");
    let folder = sources(&scratch, "prog.c", HOT);
    let guard =
        "[[guard]]\nfunction = \"hot\"\nfile = \"prog\"\nimplies = \"AVX2\"\nreason = \"main is told so\"\n";
    fs::write(folder.join("deburr.toml"), guard).unwrap();
    let built = build(&folder, &[], GCC);
    assert_eq!(built.status.code(), Some(0), "{}", stderr(&built));
    let said = stderr(&built);
    assert!(said.contains("deburr.toml: 1 stated guard\n"), "{said}");
    assert!(
        said.contains("x86-64-v1: believed: the guard of ") && said.contains("deburr.toml:1\n"),
        "{said}"
    );
    let (_, text, json) = status(&folder);
    assert!(text.contains("believed: the guard of "), "{text}");
    assert!(json["variants"][0]["check"]["accepted"].is_null());
    // A guard for another file, or for a feature that is not enough, is none.
    for (from, to) in [("\"prog\"", "\"other\""), ("AVX2", "SSE4.2")] {
        fs::write(folder.join("deburr.toml"), guard.replace(from, to)).unwrap();
        let refused = build(&folder, &[], GCC);
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    }
    let named = scratch.file("named.toml", guard.as_bytes());
    let built = build(&folder, &["--config", &named], GCC);
    assert_eq!(built.status.code(), Some(0), "{}", stderr(&built));
}

#[test]
fn variant_that_is_not_decided_is_built_with_a_note() {
    let scratch = Scratch::new("pack-undecided");
    let folder = sources(&scratch, "prog.cc", UNDECIDED);
    let script = "g++ -O2 -o prog prog.cc";
    let built = build(&folder, &[], script);
    assert_eq!(built.status.code(), Some(0), "{}", stderr(&built));
    let note = "undecided: prog: 1 function not followed, such as hot(int const*)";
    assert!(stderr(&built).contains(&format!("x86-64-v1: {note}\n")), "{}", stderr(&built));
    let (code, text, json) = status(&folder);
    assert!(code == Some(0) && text.contains(&format!("  {note}\n")), "{text}");
    assert_eq!(json["variants"][0]["check"]["undecided"][0]["functions"], 1);
    // Accepted, it is decided.
    let accepted = build(&folder, &["--accept", "hot(int const*)"], script);
    assert!(!stderr(&accepted).contains("undecided"), "{}", stderr(&accepted));
    // A check that ends before it has begun decides nothing, and says so.
    for options in [["--budget", "1"], ["--max-time", "0s"]] {
        let built = build(&folder, &options, script);
        assert_eq!(built.status.code(), Some(0), "{}", stderr(&built));
        let said = stderr(&built);
        assert!(said.contains("undecided: prog: ") && said.contains(options[0]), "{said}");
    }
}

#[test]
fn variant_that_nobody_checked_says_so() {
    let scratch = Scratch::new("pack-no-check");
    let folder = sources(&scratch, "prog.c", HOT);
    let built = build(&folder, &["--no-check"], GCC);
    assert_eq!(built.status.code(), Some(0), "{}", stderr(&built));
    assert!(stderr(&built).contains("x86-64-v1: built, not checked, "), "{}", stderr(&built));
    let (code, text, json) = status(&folder);
    assert!(code == Some(0) && text.starts_with("x86-64-v1: built, not checked\n"), "{text}");
    assert_eq!(json["variants"][0]["check"]["left_out"], true);
    // It is no reason to leave the next check out.
    assert_eq!(build(&folder, &[], GCC).status.code(), Some(2));
    fs::remove_dir_all(tree(&folder, "x86-64-v1")).unwrap();
    assert_eq!(status(&folder).0, Some(1));
}
