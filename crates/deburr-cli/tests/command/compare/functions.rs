//! `deburr compare --by-function`: with a perf that is a script whose samples are known, and with the real one.

use super::{Value, compare, scratch, stderr, stdout};
use deburr_test_support::Scratch;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

/// `perf record` runs the command and keeps its last word; `perf script` prints what the program of that word is known to do.
const PERF: &str = r#"#!/bin/sh
verb=$1
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    case $1 in -o|-i) file=$2 ;; esac
    shift
done
if [ "$verb" = record ]; then
    shift
    for word; do :; done
    echo "$word" > "$file"
    exec "$@"
fi
sample() { yes "prog 1 1.0: 250000 cpu-clock:      55d7166862b6 $1 ($2)" | head -n "$3"; }
case $(cat "$file") in
old) sample slow /x/prog-old 2000; sample same /lib/libc.so.6 2000 ;;
new) sample slow /y/prog-new 500; sample same /lib/libc.so.6 2000; sample '<b>' /y/prog-new 1000 ;;
esac
"#;

fn by_function(scratch: &Scratch, perf: &str, arguments: &[&str]) -> Output {
    let folder = scratch.join("bin");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("perf"), perf).unwrap();
    fs::set_permissions(folder.join("perf"), PermissionsExt::from_mode(0o755)).unwrap();
    // Records are never written over.
    let _ = fs::remove_file(scratch.join("runs"));
    let others = std::env::var_os("PATH").unwrap_or_default();
    let paths = [folder.to_path_buf()].into_iter().chain(std::env::split_paths(&others));
    let mut command = Command::new(crate::program());
    command
        .current_dir(scratch.path())
        .args(["compare", "--by-function", "--record", "runs"])
        .args(arguments);
    command.env("PATH", std::env::join_paths(paths).unwrap()).output().unwrap()
}

/// Both take some time, A twice that of B, and so much that what starting a process takes beside load is little.
const SIDES: [&str; 4] = ["--a", "sh -c 'sleep 0.2' old", "--b", "sh -c 'sleep 0.1' new"];
/// As few pairs as name a function.
const QUICK: [&str; 3] = ["--pairs", "8", "--under-load"];

/// Whether the kernel samples anything here: not in some containers, where `--by-function` says so before anything runs.
fn is_sampled(output: &Output) -> bool {
    !stderr(output).contains("perf_event")
}

#[test]
fn functions_that_changed_are_named_and_others_are_not() {
    let scratch = scratch("functions");
    let output = by_function(
        &scratch,
        PERF,
        &[&SIDES[..], &QUICK, &["--format", "json", "--html", "page.html"]].concat(),
    );
    if !is_sampled(&output) {
        assert_eq!(output.status.code(), Some(2));
        return;
    }
    let document: Value =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let functions = &document["functions"];
    assert_eq!(
        (functions["samples"]["a"].as_u64(), functions["samples"]["b"].as_u64()),
        (Some(4000), Some(3500))
    );
    let portion = |name: &str| {
        let all = functions["portions"].as_array().unwrap();
        all.iter().find(|portion| portion["function"] == name).unwrap_or_else(|| panic!("{functions:#}"))
    };
    // Its share fell from a half to a seventh, in a program that has another name now.
    let slow = portion("slow");
    assert_eq!(slow["object"], "prog-old, prog-new");
    assert_eq!(slow["samples"]["b"], 500);
    assert!((slow["share"]["a"].as_f64().unwrap() - 0.5).abs() < 1e-9, "{slow:#}");
    assert_eq!(portion("<b>")["change"], "lost");
    let page = fs::read_to_string(scratch.join("page.html")).unwrap();
    assert!(
        page.contains("<h2>By function</h2>") && page.contains("&lt;b&gt; (prog-old, prog-new)"),
        "{page}"
    );
    let value =
        format!("<data class=\"difference\" value=\"{}\">", portion("<b>")["difference"].as_f64().unwrap());
    assert!(page.contains(&value), "{value}");
    // Without the option, nothing is said of functions.
    let plain = compare(&scratch, &[&SIDES[..], &QUICK, &["--format", "json"]].concat());
    assert!(!stdout(&plain).contains("\"functions\""));
}

#[test]
fn what_cannot_be_sampled_is_said_and_the_verdict_is_there_all_the_same() {
    let scratch = scratch("functions-faults");
    let silent = PERF.replace("new) sample", "new) true ;;\nnever) sample");
    let output = by_function(&scratch, &silent, &[&SIDES[..], &QUICK].concat());
    assert_eq!(output.status.code(), Some(2));
    if is_sampled(&output) {
        assert!(
            stderr(&output).contains("perf has no sample of B; are its runs too short?"),
            "{}",
            stderr(&output)
        );
        assert!(stdout(&output).contains("wall"), "{}", stdout(&output));
    }
    let failing = PERF.replace("exec \"$@\"", "echo no room >&2; exit 9");
    let output = by_function(&scratch, &failing, &[&SIDES[..], &QUICK].concat());
    if is_sampled(&output) {
        let said = stderr(&output);
        assert!(
            said.contains("a run of A under perf ended with exit status 9") && said.contains("no room"),
            "{said}"
        );
    }
    // Where a run of B may fail and leaves no profile, that of A is not taken for it.
    let lost = PERF.replace("    echo", "    [ \"$word\" = old ] || exit 9\n    echo");
    let output = by_function(&scratch, &lost, &[&SIDES[..], &QUICK, &["--ignore-failure"]].concat());
    if is_sampled(&output) {
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        assert!(stderr(&output).contains("perf has no sample of B"), "{}", stderr(&output));
    }
    for other in [&["--param", "n=1,2"][..], &["--client", "x"]] {
        let output = by_function(&scratch, PERF, &[&SIDES[..], other].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    }
}

/// A program whose work is in one function, as often as its argument says.
const WORK: &str = "
#include <stdlib.h>
static volatile unsigned sink;
__attribute__((noinline)) void work(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void rest(unsigned n) { for (unsigned i = 0; i < n; i++) sink ^= i; }
int main(int argc, char **argv) { work(atoi(argv[1]) * 1000000u); rest(30000000u); return argc == 9; }
";

#[test]
fn the_real_perf_finds_the_function_that_takes_more() {
    let scratch = scratch("functions-real");
    let is_there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !is_there("perf") || !is_there("cc") {
        panic!("perf and cc are needed: scripts/install-tools installs them");
    }
    scratch.file("work.c", WORK.as_bytes());
    let built = Command::new("cc")
        .current_dir(scratch.path())
        .args(["-O1", "-o", "work", "work.c"])
        .status()
        .unwrap();
    assert!(built.success());
    let arguments =
        ["--by-function", "--a", "./work 100", "--b", "./work 300", "--record", "runs", "--format", "json"];
    let output = compare(&scratch, &[&arguments[..], &QUICK].concat());
    if !is_sampled(&output) {
        return;
    }
    let document: Value =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let portions = document["functions"]["portions"].as_array().unwrap();
    // The largest difference comes first.
    assert_eq!(
        (&portions[0]["function"], &portions[0]["object"]),
        (&"work".into(), &"work".into()),
        "{portions:#?}"
    );
    assert!(portions[0]["difference"].as_f64().unwrap() > 0.0);
    let rest = portions.iter().find(|portion| portion["function"] == "rest").unwrap();
    assert!(rest["difference"].as_f64().unwrap().abs() < portions[0]["difference"].as_f64().unwrap() / 2.0);
}
