//! Programs compiled here by gcc, clang, Go and rustc: deburr on the stripped program against objdump on the unstripped one.
//!
//! The flags decide how atomics come out: inline as LL/SC, inline as LSE, or outlined. Site by site the findings must be
//! the load-exclusives and helper calls that objdump shows, less what is no missed flag (the `_unmissed` functions of the
//! catalogue; all of a build that already has LSE; Go's inline dispatch).

use deburr_tests::catalogue::{c_source, rust_source};
use deburr_tests::command::{check, deburr};
use deburr_tests::compare::assert_atomics;
use deburr_tests::languages::rustc_for_arm64;
use deburr_tests::oracle::{Atomics, Listing};
use deburr_tests::toolchain::{compile, require, run, stripped, without_section_headers, work_dir};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const OBJDUMP: &str = "aarch64-linux-gnu-objdump";
const STRIP: &str = "aarch64-linux-gnu-strip";
const CROSS_GCC: &str = "aarch64-linux-gnu-gcc";

/// The load-exclusives that `llsc-loop` must report in a build without LSE. No helper computes a minimum or maximum: those stay
/// inline in an outlined build too. Rust's precompiled library holds 128-bit loads and nands of its own.
fn missed_loops(oracle: &Atomics) -> BTreeMap<u64, String> {
    let unmissed = |f: &str| {
        ["_unmissed", "atomic_nand", "fetch_nand", "AtomicU128", "AtomicI128"].iter().any(|m| f.contains(m))
    };
    // What these two functions begin with is the 16-byte load of the old value, which LSE does not have.
    let loads_first = |f: &str| f.starts_with("cas_weak_loop_16_") || f.starts_with("cas_maximum_16_");
    let mut seen = BTreeSet::new();
    let missed = oracle.load_exclusives.iter().filter(|(_, f)| !unmissed(f));
    missed.filter(|(_, f)| !loads_first(f) || !seen.insert(*f)).map(|(at, f)| (*at, f.clone())).collect()
}

/// At -O0 clang turns every operation that its helpers lack into a loop around a compare-and-swap, which with LSE is `cas`
/// or `casp`: there even the `_unmissed` are missed.
fn missed_loops_of_clang(level: &str, oracle: &Atomics) -> BTreeMap<u64, String> {
    if level == "-O0" { oracle.load_exclusives.clone() } else { missed_loops(oracle) }
}

/// In an outlined build clang 14 at -O0 leaves compare-and-swap inline, which no flag but LSE changes; its loop is the one that
/// `-mno-outline-atomics` gives, so only the helpers beside it tell that outlining was asked for.
fn missed_loops_of_outlined_clang(level: &str, oracle: &Atomics) -> BTreeMap<u64, String> {
    let mut loops = missed_loops(oracle);
    loops.retain(|_, f| level != "-O0" || !f.contains("cas"));
    loops
}

fn compare(what: &str, program: &Path, expected: impl Fn(&Atomics) -> BTreeMap<u64, String>) -> Atomics {
    let oracle = Atomics::of(&Listing::of(OBJDUMP, program));
    let loops = expected(&oracle);
    println!(
        "{what}: {} helpers, {} calls, {} load-exclusives ({} missed), {} LSE",
        oracle.helpers.len(),
        oracle.helper_calls.len(),
        oracle.load_exclusives.len(),
        loops.len(),
        oracle.lse.len()
    );
    let small = stripped(STRIP, program);
    assert_atomics(what, &check(program, &[]), &oracle, &loops);
    assert_atomics(&format!("{what}, stripped"), &check(&small, &[]), &oracle, &loops);
    let bare = without_section_headers(&small);
    assert_atomics(&format!("{what}, without section headers"), &check(&bare, &[]), &oracle, &loops);
    oracle
}

/// One way to build the catalogue for every level of optimisation; returns what objdump counted, by level.
fn catalogue(
    test: &str,
    compiler: &str,
    flags: &[&str],
    expected: impl Fn(&str, &Atomics) -> BTreeMap<u64, String>,
) -> Vec<Atomics> {
    let dir = work_dir(test);
    let clang = compiler == "clang";
    let source = c_source(clang);
    let mut counted = Vec::new();
    for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
        let name = format!("catalogue{level}");
        let program = if clang {
            // clang compiles, the cross gcc links: its libc and libgcc are where only it looks.
            let mut all = vec!["--target=aarch64-linux-gnu", "-c", "-Wno-atomic-alignment", level];
            all.extend(flags);
            let object = compile(&dir, &format!("{name}.o"), ("c", &source), "clang", &all);
            require(CROSS_GCC);
            run(Command::new(CROSS_GCC).arg(object).arg("-latomic").arg("-o").arg(dir.join(&name)));
            dir.join(&name)
        } else {
            let mut all = vec![level];
            all.extend(flags);
            compile(&dir, &name, ("c", &source), compiler, &all)
        };
        counted.push(compare(&format!("{compiler} {flags:?} {level}"), &program, |oracle| {
            expected(level, oracle)
        }));
    }
    counted
}

#[test]
fn gcc_without_lse_every_retry_loop_is_reported() {
    for oracle in
        catalogue("gcc-llsc", CROSS_GCC, &["-march=armv8-a", "-mno-outline-atomics"], |_, oracle| {
            missed_loops(oracle)
        })
    {
        assert!(
            oracle.load_exclusives.len() > 400 && oracle.lse.is_empty() && oracle.helper_calls.is_empty()
        );
    }
}

#[test]
fn gcc_with_lse_no_retry_loop_is_reported() {
    for oracle in catalogue("gcc-lse", CROSS_GCC, &["-march=armv8.1-a"], |_, _| BTreeMap::new()) {
        assert!(oracle.lse.len() > 400 && oracle.helper_calls.is_empty());
    }
}

#[test]
fn gcc_outlined_every_call_of_a_helper_is_reported() {
    for oracle in
        catalogue("gcc-outlined", CROSS_GCC, &["-march=armv8-a", "-moutline-atomics"], |_, _| BTreeMap::new())
    {
        assert!(oracle.helper_calls.len() > 400 && oracle.helpers.len() > 60);
    }
}

#[test]
fn clang_without_lse_every_retry_loop_is_reported() {
    for oracle in
        catalogue("clang-llsc", "clang", &["-march=armv8-a", "-mno-outline-atomics"], missed_loops_of_clang)
    {
        assert!(
            oracle.load_exclusives.len() > 400 && oracle.lse.is_empty() && oracle.helper_calls.is_empty()
        );
    }
}

#[test]
fn clang_with_lse_no_retry_loop_is_reported() {
    for oracle in catalogue("clang-lse", "clang", &["-march=armv8.1-a"], |_, _| BTreeMap::new()) {
        assert!(oracle.lse.len() > 300 && oracle.helper_calls.is_empty());
    }
}

#[test]
fn clang_outlined_every_call_of_a_helper_is_reported() {
    for oracle in catalogue(
        "clang-outlined",
        "clang",
        &["-march=armv8-a", "-moutline-atomics"],
        missed_loops_of_outlined_clang,
    ) {
        assert!(oracle.helper_calls.len() > 300 && oracle.helpers.len() > 60);
    }
}

#[test]
fn a_static_c_library_with_outlined_atomics_is_counted_as_objdump_counts_it() {
    let dir = work_dir("gcc-static");
    let program =
        compile(&dir, "static", ("c", &c_source(false)), CROSS_GCC, &["-O2", "-static", "-moutline-atomics"]);
    let oracle = compare("static glibc", &program, |_| BTreeMap::new());
    assert!(oracle.helper_calls.len() > 500);
}

fn rust_program(test: &str, flags: &[&str]) -> PathBuf {
    let dir = work_dir(test);
    require(CROSS_GCC);
    // Exported, so that the linker keeps them.
    let linking = ["-Clinker=aarch64-linux-gnu-gcc", "-Clink-arg=-Wl,--export-dynamic", "-Clink-dead-code"];
    let flags: Vec<&str> = linking.iter().chain(&["-O"]).chain(flags).copied().collect();
    rustc_for_arm64(&dir, ("atomics", &rust_source()), &flags).1
}

#[test]
#[ignore = "half a minute of compiling; `cargo xtask nightly` runs it"]
fn rust_outlined_every_call_of_a_helper_is_reported() {
    let oracle = compare("rustc", &rust_program("rust-outlined", &[]), missed_loops);
    assert!(oracle.helper_calls.len() > 200);
}

#[test]
#[ignore = "a quarter of a minute of compiling; `cargo xtask nightly` runs it"]
fn rust_without_lse_every_retry_loop_is_reported() {
    let oracle = compare(
        "rustc -outline-atomics",
        &rust_program("rust-llsc", &["-Ctarget-feature=-outline-atomics"]),
        missed_loops,
    );
    assert!(missed_loops(&oracle).len() > 200);
}

#[test]
#[ignore = "half a minute of compiling; `cargo xtask nightly` runs it"]
fn rust_with_lse_no_retry_loop_is_reported() {
    let oracle = compare("rustc +lse", &rust_program("rust-lse", &["-Ctarget-feature=+lse"]), missed_loops);
    assert!(oracle.lse.len() > 200);
}

const GO: &str = r#"package main

import (
	"fmt"
	"sync"
	"sync/atomic"
)

func main() {
	var n atomic.Int64
	var u uint32
	var wait sync.WaitGroup
	for i := 0; i < 4; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			n.Add(1)
			for !atomic.CompareAndSwapUint32(&u, atomic.LoadUint32(&u), 7) {
			}
			atomic.OrUint32(&u, 8)
			atomic.SwapUint32(&u, 9)
		}()
	}
	wait.Wait()
	fmt.Println(n.Load(), u)
}
"#;

fn go_program(test: &str, level: &str, link: &str) -> std::path::PathBuf {
    require("go");
    let dir = work_dir(test);
    std::fs::write(dir.join("main.go"), GO).expect("the work folder can be written");
    std::fs::write(dir.join("go.mod"), "module spin\n\ngo 1.19\n").expect("the work folder can be written");
    run(Command::new("go")
        .current_dir(&dir)
        .args(["build", "-o", "spin", link])
        .envs([
            ("GOARCH", "arm64"),
            ("GOOS", "linux"),
            ("GOARM64", level),
            ("CGO_ENABLED", "0"),
            ("GOFLAGS", "-mod=mod"),
        ])
        .envs([("GOPROXY", "off"), ("GOTOOLCHAIN", "local")]));
    dir.join("spin")
}

/// In Go's dispatch, both sequences stand in one function.
fn without_lse_beside(oracle: &Atomics) -> BTreeMap<u64, String> {
    oracle
        .load_exclusives
        .iter()
        // Data in text that objdump shows as instructions (literal pools of the runtime) has no store-exclusive beside it.
        .filter(|(_, f)| {
            !oracle.lse.values().any(|g| &g == f) && oracle.store_exclusives.values().any(|g| &g == f)
        })
        .map(|(at, f)| (*at, f.clone()))
        .collect()
}

#[test]
fn gos_inline_dispatch_is_no_missed_flag() {
    let program = go_program("go-v8.0", "v8.0", "-ldflags=");
    let oracle = compare("go v8.0", &program, without_lse_beside);
    assert!(oracle.load_exclusives.len() > 50 && oracle.lse.len() > 50, "Go no longer dispatches inline?");
    compare("go v8.0 -s -w", &go_program("go-v8.0-s", "v8.0", "-ldflags=-s -w"), |_| {
        without_lse_beside(&oracle)
    });
}

#[test]
fn gos_own_assembly_is_all_that_is_left_with_lse() {
    let oracle = compare("go v8.1", &go_program("go-v8.1", "v8.1", "-ldflags="), without_lse_beside);
    assert!(oracle.lse.len() > 50);
}

const GO_ATOMICS: &str = r#"package main

import (
	"fmt"
	"sync/atomic"
)

var sum int64

//go:noinline
func add(more int64) {
	for {
		old := atomic.LoadInt64(&sum)
		if atomic.CompareAndSwapInt64(&sum, old, old+more) {
			return
		}
	}
}

func main() {
	CALL
	fmt.Println(sum)
}
"#;

/// A finding: the function, whose code that is, and whether it counts.
type Owned = (String, Option<String>, bool);

/// The findings of a program and the exit status.
fn owned(program: &Path, options: &[&str]) -> (Vec<Owned>, Option<i32>) {
    let mut command = Command::new(deburr());
    let output = command
        .args(["check", "--format=json", "--schema-version=1"])
        .args(options)
        .arg(program)
        .output()
        .unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = document["files"][0]["findings"].as_array().unwrap().iter().map(|finding| {
        let text = |name: &str| finding[name].as_str().map(str::to_owned);
        (text("function").unwrap_or_default(), text("origin"), finding["counted"] != false)
    });
    (findings.collect(), output.status.code())
}

#[test]
fn what_is_found_in_gos_runtime_does_not_count_and_what_is_found_in_the_program_does() {
    require("go");
    let dir = work_dir("go-runtime");
    let build = |name: &str, call: &str, flags: &[&str]| {
        let source = dir.join(format!("{name}.go"));
        std::fs::write(&source, GO_ATOMICS.replace("CALL", call)).unwrap();
        let mut go = Command::new("go");
        go.args(["build", "-o"]).arg(dir.join(name)).args(flags).arg(&source);
        run(go.envs([("GOARCH", "amd64"), ("GOOS", "linux"), ("CGO_ENABLED", "0")]));
        dir.join(name)
    };
    for flags in [&[][..], &["-ldflags=-s -w"]] {
        let clean = build("clean", "sum = 1", flags);
        let (findings, status) = owned(&clean, &["--select", "cas-for-rmw"]);
        assert!(
            !findings.is_empty() && findings.iter().all(|(_, origin, counts)| origin.is_some() && !counts)
        );
        assert_eq!(status, Some(0), "{findings:?}");
        let (findings, status) =
            owned(&clean, &["--select", "cas-for-rmw", "--include-runtime", "--fail-on", "note"]);
        assert!(
            findings.iter().all(|(_, origin, counts)| origin.as_deref() == Some("go-runtime") && *counts)
        );
        assert_eq!(status, Some(1), "{findings:?}");
        let (findings, status) =
            owned(&build("adds", "add(2)", flags), &["--select", "cas-for-rmw", "--fail-on", "note"]);
        let own: Vec<&Owned> = findings.iter().filter(|(_, _, counts)| *counts).collect();
        assert_eq!(own, [&("main.add".to_owned(), None, true)]);
        assert_eq!(status, Some(1));
    }
}

#[test]
fn what_is_found_in_a_static_c_library_does_not_count_and_what_is_found_beside_it_does() {
    const SOURCE: &str = "#include <stdatomic.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
        atomic_long sum;\n__attribute__((noinline)) void count(long n) { atomic_fetch_add(&sum, n); }\n\
        static void *work(void *n) { count((long)n); return malloc(9); }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, work, (void *)3); pthread_join(t, 0); printf(\"%ld\\n\", sum); }\n";
    let dir = work_dir("static-c-library");
    let build = |name: &str, flags: &[&str]| {
        let all = [&["-O2", "-pthread", "-mno-outline-atomics"][..], flags].concat();
        compile(&dir, name, ("c", SOURCE), CROSS_GCC, &all)
    };
    let (findings, status) = owned(&build("static", &["-static"]), &[]);
    let (own, others): (Vec<&Owned>, Vec<&Owned>) = findings.iter().partition(|(_, _, counts)| *counts);
    assert!(others.iter().any(|(_, origin, _)| origin.as_deref() == Some("c-library")), "{others:?}");
    assert_eq!(own, [&("count".to_owned(), None, true)]);
    assert_eq!(status, Some(1));
    // Without names nothing is known to be the library's.
    let (findings, _) = owned(&stripped(STRIP, &dir.join("static")), &[]);
    assert!(findings.len() > 1 && findings.iter().all(|(_, origin, counts)| origin.is_none() && *counts));
    // An object has nothing linked into it.
    let (findings, _) = owned(&build("object.o", &["-c"]), &[]);
    assert_eq!(findings, [("count".to_owned(), None, true)]);
}
