//! Programs compiled here for x86-64 above the first level: deburr's features against objdump's mnemonics.

use deburr_tests::command::check;
use deburr_tests::oracle::{Listing, above_x86_64_v1};
use deburr_tests::toolchain::{compile, require, run, stripped, work_dir};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Source whose functions name the feature that the flags let the compiler use.
const SOURCE: &str = r"
#include <stdint.h>
#include <stddef.h>
int population(uint64_t x) { return __builtin_popcountll(x); }
int leading(uint64_t x) { return __builtin_clzll(x); }
int trailing(uint64_t x) { return __builtin_ctzll(x); }
uint64_t andnot(uint64_t x, uint64_t y) { return ~x & y; }
uint64_t lowest(uint64_t x) { return x & -x; }
uint64_t shift(uint64_t x, int by) { return x << by; }
uint64_t swap(const uint64_t *p) { return __builtin_bswap64(*p); }
double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
void add(float *restrict a, const float *restrict b, size_t n) { for (size_t i = 0; i < n; i++) a[i] += b[i]; }
void widen(int32_t *restrict a, const int16_t *restrict b, size_t n) { for (size_t i = 0; i < n; i++) a[i] += b[i]; }
int main(void) { return 0; }
";

fn features_agree(march: &str) {
    let dir = work_dir(&format!("x86-{march}"));
    for level in ["-O1", "-O2", "-O3"] {
        let flag = format!("-march={march}");
        let program = compile(&dir, &format!("levels{level}"), ("c", SOURCE), "gcc", &[&flag, level, "-lm"]);
        let expected = above_x86_64_v1(&Listing::of("objdump", &program));
        let small = stripped("strip", &program);
        for (what, checked) in [("unstripped", check(&program, &[])), ("stripped", check(&small, &[]))] {
            for feature in ["POPCNT", "LZCNT", "MOVBE", "BMI2", "FMA"] {
                let counted = expected.get(feature).copied().unwrap_or_default();
                assert_eq!(checked.feature(feature), counted, "{march} {level} {what}: {feature}");
            }
            let named = if march == "x86-64" { "x86-64-v1" } else { march };
            assert_eq!(checked.0["level_present"], named, "{march} {level} {what}");
            assert_eq!(checked.0["level"], "x86-64-v1", "{march} {level} {what}: nothing calls these");
        }
    }
}

#[test]
fn a_program_for_the_third_level_needs_it() {
    features_agree("x86-64-v3");
}

#[test]
fn a_program_for_the_first_level_needs_no_more() {
    features_agree("x86-64");
}

#[test]
fn instructions_above_the_baseline_are_errors_and_those_below_are_none() {
    let dir = work_dir("x86-baseline");
    // A library: nothing in a program calls these functions.
    let flags = ["-march=x86-64-v3", "-O2", "-fPIC", "-shared", "-lm"];
    let program = compile(&dir, "levels", ("c", SOURCE), "gcc", &flags);
    let above = check(&program, &["--baseline", "x86-64-v1", "--select", "above-baseline"]);
    let below = check(&program, &["--baseline", "x86-64-v3", "--select", "above-baseline"]);
    let count =
        |checked: &deburr_tests::command::Checked| checked.0["findings"].as_array().map_or(0, Vec::len);
    assert!(count(&above) >= 5, "{}", above.0["findings"]);
    assert_eq!(count(&below), 0, "{}", below.0["findings"]);
}

const KERNEL: &str = "float total(const float *a, int n) { float s = 1; for (int i = 0; i < n; i++) s += a[i] * s; return s; }";
const CALLER: &str = "float total(const float *, int);
int main(int count, char **words) { float a[4] = {count, 2, 3, 4}; return (int)total(a, 4); }";

/// The flags that remove findings, with their compilers.
fn flags(program: &Path, options: &[&str]) -> Vec<(String, String)> {
    let advice = check(program, options).0["advice"].clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of = |it: &Value| (text(&it["compiler"]).split(' ').next().unwrap().to_owned(), text(&it["flags"]));
    advice.as_array().unwrap().iter().map(of).collect()
}

#[test]
fn a_function_gets_the_flag_of_the_compiler_that_its_debug_information_names() {
    let dir = work_dir("makers");
    let old = ("clang".to_owned(), "-march=x86-64".to_owned());
    // DWARF 5 has clang's name by its index in a table, DWARF 4 by its place.
    for (debug, expected) in [("-gdwarf-5", vec![old.clone()]), ("-gdwarf-4", vec![old]), ("-g0", vec![])] {
        let kernel = [debug, "-c", "-O2", "-march=x86-64-v3", "--target=x86_64-linux-gnu"];
        let kernel = compile(&dir, &format!("kernel{debug}.o"), ("c", KERNEL), "clang", &kernel);
        let other = if debug == "-g0" { "-g0" } else { "-g" };
        let link = [other, "-O1", kernel.to_str().unwrap()];
        let program = compile(&dir, &format!("main{debug}"), ("c", CALLER), "x86_64-linux-gnu-gcc", &link);
        assert_eq!(flags(&program, &["--baseline", "x86-64-v1"]), expected, "{debug}");
        assert_eq!(flags(&program, &[]), expected, "{debug}, without a baseline");
    }
}

#[test]
fn go_is_built_for_the_level_that_it_is_to_run_on() {
    require("go");
    let dir = work_dir("go-levels");
    let source = dir.join("main.go");
    std::fs::write(&source, "package main\n\nfunc main() { println(1) }\n").unwrap();
    for (variable, built, baseline, expected) in [
        ("GOAMD64", "v3", "x86-64-v1", Some("GOAMD64=v1")),
        ("GOAMD64", "v3", "x86-64-v2", Some("GOAMD64=v2")),
        ("GOAMD64", "v1", "x86-64-v1", None),
        ("GOARM64", "v8.1", "armv8.0-a", Some("GOARM64=v8.0")),
        ("GOARM64", "v8.0", "armv8.0-a", None),
    ] {
        let program = dir.join(format!("{variable}-{built}"));
        let architecture = variable.trim_start_matches("GO").to_lowercase();
        let mut go = Command::new("go");
        go.current_dir(&dir).args(["build", "-o"]).arg(&program).arg(&source);
        go.envs([(variable, built), ("GOARCH", &architecture), ("GOOS", "linux"), ("CGO_ENABLED", "0")]);
        run(go.envs([("GOPROXY", "off"), ("GOTOOLCHAIN", "local"), ("GOFLAGS", "")]));
        let expected: Vec<_> =
            expected.map(|flags| ("Go".to_owned(), flags.to_owned())).into_iter().collect();
        assert_eq!(flags(&program, &["--baseline", baseline]), expected, "{variable}={built} for {baseline}");
    }
}
