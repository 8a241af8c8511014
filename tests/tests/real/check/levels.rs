//! Programs compiled here for x86-64 above the first level: deburr's features against objdump's mnemonics.

use deburr_tests::command::check;
use deburr_tests::oracle::{Listing, above_x86_64_v1};
use deburr_tests::toolchain::{compile, stripped, work_dir};

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
