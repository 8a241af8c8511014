//! `deburr show` and `deburr diff` on programs compiled here: listings against objdump, and builds whose differences are
//! known because the flags make them.

use deburr_tests::command::deburr;
use deburr_tests::oracle::Listing;
use deburr_tests::toolchain::{compile, work_dir};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "
#include <stdatomic.h>
atomic_int shared;
static int KEPT kept(int x) { return x / 7 + 1; }
void scale(float *a, int n) { for (int i = 0; i < n; i++) a[i] = a[i] * 2.0f + 1.0f; }
int bump(void) { return atomic_fetch_add(&shared, 1); }
int swap_in(int v) { return atomic_exchange(&shared, v); }
int first(int x) { return kept(x) + bump(); }
int second(int x) { return kept(x + 1) * 2; }
int third(int x) { return kept(x + 2) - 3; }
double nest(const double *a, int rows, int columns) {
    double s = 0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            s += a[i * columns + j] * (i ^ j);
    return s;
}
";

/// One build: `KEPT` says whether the small function is inlined.
fn build(test: &str, name: &str, compiler: &str, kept: &str, flags: &[&str]) -> PathBuf {
    let kept = match kept {
        "apart" => "-DKEPT=__attribute__((noinline))",
        _ => "-DKEPT=__attribute__((always_inline))",
    };
    let all = [&["-shared", "-fPIC", "-O3", "-g", kept][..], flags].concat();
    compile(&dir(test), name, ("c", SOURCE), compiler, &all)
}

/// The folder of a test, emptied at its first use.
fn dir(test: &str) -> PathBuf {
    use std::sync::{Mutex, PoisonError};
    static MADE: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry(test.to_owned()).or_insert_with(|| work_dir(test)).clone()
}

fn json(arguments: &[&str]) -> (Value, Option<i32>) {
    let output = Command::new(deburr()).args(arguments).args(["--format", "json"]).output().unwrap();
    let document = serde_json::from_slice(&output.stdout);
    let told = String::from_utf8_lossy(&output.stderr);
    (document.unwrap_or_else(|error| panic!("{arguments:?}: {error}: {told}")), output.status.code())
}

fn diff(old: &Path, new: &Path) -> (Value, Option<i32>) {
    let (document, status) = json(&["diff", old.to_str().unwrap(), new.to_str().unwrap()]);
    assert_eq!(document["files"].as_array().map(Vec::len), Some(1));
    (document["files"][0].clone(), status)
}

fn change<'a>(file: &'a Value, function: &str, what: &str) -> Option<(&'a str, &'a str)> {
    let functions = file["functions"].as_array().unwrap();
    let of = functions.iter().find(|it| it["function"] == function)?;
    let change = of["changes"].as_array().unwrap().iter().find(|change| change["what"] == what)?;
    Some((change["old"].as_str().unwrap(), change["new"].as_str().unwrap()))
}

fn calls(file: &Value, function: &str) -> Option<(u64, u64)> {
    let of = file["calls"].as_array().unwrap().iter().find(|it| it["function"] == function)?;
    Some((of["old_calls"].as_u64().unwrap(), of["new_calls"].as_u64().unwrap()))
}

fn hexadecimal(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

/// Every address and every branch of the listing is objdump's, and the loops are those of the source.
fn assert_listing_is_objdumps(file: &Path, objdump: &str) {
    let theirs = Listing::of(objdump, file);
    for function in ["scale", "bump", "nest", "third"] {
        let (shown, status) = json(&["show", file.to_str().unwrap(), function, "--whole"]);
        assert_eq!(status, Some(0), "{function}");
        let lines = shown["insns"].as_array().unwrap();
        assert_eq!(shown["instructions"].as_u64(), Some(lines.len() as u64));
        let expected: Vec<_> = theirs.lines.iter().filter(|line| theirs.function(line) == function).collect();
        // Padding behind the last instruction is no part of the function.
        assert!(lines.len() <= expected.len() && lines.len() + 16 > expected.len(), "{function}");
        for (ours, theirs) in lines.iter().zip(expected) {
            assert_eq!(hexadecimal(&ours["svma"]), Some(theirs.address), "{function}");
            let is_branch =
                |prefix| theirs.mnemonic.starts_with(prefix) && !theirs.mnemonic.starts_with("bi");
            let is_direct = ["j", "call", "cbz", "cbnz", "b.", "tb"].into_iter().any(is_branch)
                || ["b", "bl"].contains(&theirs.mnemonic.as_str());
            if is_direct {
                let target = ours["target"]["svma"].as_str();
                let expected = theirs.target().map(|target| format!("{target:#x}"));
                assert_eq!(target, expected.as_deref(), "{function} at {:#x}", theirs.address);
                assert_eq!(ours["target"]["is_transfer"], true);
            }
        }
        let depth = lines.iter().map(|line| line["loops"].as_array().unwrap().len()).max();
        let loops = match function {
            "nest" => 2,
            "scale" => 1,
            // A load-exclusive/store-exclusive loop, unless helpers or `lock` do it.
            _ => lines.iter().any(|line| line["exclusive"] != Value::Null).into(),
        };
        assert_eq!(depth, Some(loops), "{function} of {}", file.display());
        assert!(lines.iter().all(|line| line["source"]["line"].as_u64() > Some(1)), "{function}");
    }
}

#[test]
fn listings_of_x86_64_code_are_objdumps() {
    let file = build("listings-x86", "lib.so", "gcc", "apart", &[]);
    assert_listing_is_objdumps(&file, "objdump");
}

#[test]
fn listings_of_a64_code_are_objdumps() {
    let file = build("listings-a64", "lib.so", "aarch64-linux-gnu-gcc", "apart", &["-mno-outline-atomics"]);
    assert_listing_is_objdumps(&file, "aarch64-linux-gnu-objdump");
    let (shown, _) = json(&["show", file.to_str().unwrap(), "bump"]);
    let edges: Vec<&str> =
        shown["insns"].as_array().unwrap().iter().filter_map(|line| line["exclusive"].as_str()).collect();
    assert_eq!(edges, ["first", "inside", "last"]);
    let found = shown["insns"].as_array().unwrap().iter().find(|line| line["exclusive"] == "first").unwrap();
    assert_eq!(found["findings"][0]["rule"], "llsc-loop");
}

#[test]
fn a_higher_level_is_worse_and_wider_vectors_are_told() {
    let old = build("diff-levels", "old.so", "gcc", "apart", &[]);
    let new = build("diff-levels", "new.so", "gcc", "apart", &["-march=x86-64-v3"]);
    let (file, status) = diff(&old, &new);
    assert_eq!(status, Some(1));
    assert_eq!(file["levels"][0]["what"], "needed");
    assert_eq!(file["levels"][0]["raised"], true);
    assert_eq!(change(&file, "scale", "vector-width"), Some(("128 bits", "256 bits")));
    assert_eq!(change(&file, "bump", "vector-width"), None);
    assert_eq!(change(&file, "bump", "atomics"), None);
    let (file, status) = diff(&new, &old);
    assert_eq!((status, &file["levels"][0]["raised"]), (Some(0), &Value::Bool(false)));
}

#[test]
fn the_class_of_atomics_is_told() {
    let compiler = "aarch64-linux-gnu-gcc";
    let in_line = build("diff-atomics", "in-line.so", compiler, "apart", &["-mno-outline-atomics"]);
    let outlined = build("diff-atomics", "outlined.so", compiler, "apart", &["-moutline-atomics"]);
    let lse = build("diff-atomics", "lse.so", compiler, "apart", &["-march=armv8.1-a"]);
    let (file, status) = diff(&in_line, &outlined);
    assert_eq!(change(&file, "swap_in", "atomics"), Some(("LL/SC", "outlined")));
    assert_eq!((status, file["went"].as_array().unwrap().len()), (Some(0), 2), "{:#}", file["went"]);
    let (file, status) = diff(&outlined, &in_line);
    assert_eq!(status, Some(1));
    assert!(file["came"].as_array().unwrap().iter().all(|group| group["rule"] == "llsc-loop"));
    let (file, status) = diff(&outlined, &lse);
    assert_eq!(change(&file, "bump", "atomics"), Some(("outlined", "LSE")));
    assert_eq!(status, Some(1), "armv8.1-a is a higher level");
}

#[test]
fn an_inlined_function_is_told_by_its_calls() {
    let old = build("diff-inlined", "old.so", "gcc", "apart", &[]);
    let new = build("diff-inlined", "new.so", "gcc", "inline", &[]);
    let (file, status) = diff(&old, &new);
    assert_eq!((calls(&file, "kept"), status), (Some((3, 0)), Some(0)));
    assert_eq!(file["functions_went"], 1);
}

#[test]
fn the_same_build_has_no_differences() {
    let old = build("diff-same", "old.so", "gcc", "apart", &[]);
    let new = build("diff-same", "new.so", "gcc", "apart", &[]);
    let (file, status) = diff(&old, &new);
    assert_eq!(status, Some(0));
    for list in ["levels", "came", "went", "moved", "functions", "calls"] {
        assert_eq!(file[list].as_array().map(Vec::len), Some(0), "{list}: {:#}", file[list]);
    }
}
