//! The pages of `deburr check` and `deburr diff` in a browser: `page/check.py` and `page/diff.py` drive Chromium, compare the page
//! with the JSON report of the same run, use it without a pointer, and let axe look for what keeps people out.
//!
//! Pictures of them stay in the build directory, under `real/check-page-…/pictures` and `real/diff-page-…/pictures`.

use super::profile::{functions_of, profile};
use deburr_tests::command::deburr;
use deburr_tests::toolchain::{compile, repository, require, run, target_dir, work_dir};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// One browser at a time: each has several processes, and waits for them no longer than a person would.
static BROWSER: Mutex<()> = Mutex::new(());

/// Looks at a page in `dir`, and returns it.
fn look_with(script: &str, dir: &Path) -> String {
    let _only = BROWSER.lock().unwrap_or_else(PoisonError::into_inner);
    require("chromium");
    let python = target_dir().join("browser-tools/bin/python");
    require(&python.display().to_string());
    let (page, report) = (dir.join("page.html"), dir.join("report.json"));
    let mut browser = Command::new(python);
    browser.arg("-B").arg(repository().join("tests/page").join(script)).arg(&page).arg(&report);
    run(browser.arg(dir.join("pictures")).arg("/usr/bin/chromium"));
    fs::read_to_string(page).expect("the page")
}

/// Checks files, and looks at the page of them.
fn look_at(dir: &Path, arguments: &[&str]) -> String {
    let (page, report) = (dir.join("page.html"), dir.join("report.json"));
    let mut check = Command::new(deburr());
    check.arg("check").current_dir(dir).args(arguments);
    check.args(["--fail-on=never", "--schema-version=1"]).arg(format!("--format=html={}", page.display()));
    run(check.arg(format!("--format=json={}", report.display())));
    look_with("check.py", dir)
}

/// Compares two builds, and looks at the page of that.
fn look_at_diff(dir: &Path, old: &str, new: &str) -> String {
    for (format, file) in [("html", "page.html"), ("json", "report.json")] {
        let mut diff = Command::new(deburr());
        diff.args(["diff", "--format", format, old, new]).current_dir(dir);
        let output = diff.output().expect("deburr runs");
        assert!(
            output.status.code().is_some_and(|code| code < 2),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        fs::write(dir.join(file), output.stdout).expect("a file in a work folder");
    }
    look_with("diff.py", dir)
}

const SOURCE: &str = "#include <stdatomic.h>
static _Atomic int lock;
static int __attribute__((noinline)) sum(const int *p, int n) {
    int s = 0;
    for (int i = 0; i < n; i++)
        s += p[i] * 3;
    return s;
}
void take(void) {
    int free = 0;
    while (!atomic_compare_exchange_weak(&lock, &free, 1))
        free = 0;
}
int add(_Atomic int *p, int v) {
    int old = *p;
    while (!atomic_compare_exchange_weak(p, &old, old + v))
        ;
    return old;
}
int main(int argc, char **argv) {
    int a[64];
    for (int i = 0; i < 64; i++)
        a[i] = argc * i;
    take();
    return sum(a, 64) + add(&lock, argc);
}
";

#[test]
fn the_page_says_what_the_report_says_and_can_be_used_by_everybody() {
    let dir = work_dir("check-page");
    let (gcc, cross) = ("gcc", "aarch64-linux-gnu-gcc");
    compile(&dir, "v3", ("c", SOURCE), gcc, &["-g", "-O2", "-march=x86-64-v3"]);
    compile(&dir, "loops", ("c", SOURCE), cross, &["-g", "-O2", "-mno-outline-atomics"]);
    let page = look_at(&dir, &["--baseline", "x86-64-v1", "v3", "loops"]);
    assert!(page.contains("while (!atomic_compare_exchange_weak(\\u0026lock"), "lines of the source");
}

/// Bits are counted by a helper; what takes most has no finding.
const HELPED: &str = "
static int __attribute__((noinline)) bits(unsigned long x) {
    x -= (x >> 1) & 0x5555555555555555ul;
    x = (x & 0x3333333333333333ul) + ((x >> 2) & 0x3333333333333333ul);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0ful;
    return (int)(x * 0x0101010101010101ul >> 56);
}
long __attribute__((noinline)) many(const unsigned long *p, int n) { long s = 0; for (int i = 0; i < n; i++) s += bits(p[i]); return s; }
long __attribute__((noinline)) few(const unsigned long *p, int n) { long s = 1; for (int i = 0; i < n; i++) s ^= bits(p[i]); return s; }
long __attribute__((noinline)) churn(long v) { for (int i = 0; i < 1000; i++) v = v * 3 + i; return v; }
int main(int argc, char **argv) {
    unsigned long a[64];
    for (int i = 0; i < 64; i++) a[i] = argc * i;
    return many(a, 64) + few(a, argc) + churn(argc);
}
";

#[test]
#[ignore = "half a minute of a browser; `cargo xtask nightly` runs it"]
fn callers_of_a_helper_and_hot_functions_without_findings_are_on_the_page() {
    let dir = work_dir("check-page-profiled");
    let program = compile(&dir, "counts", ("c", HELPED), "gcc", &["-g", "-O2"]);
    let code = run(Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(&program));
    let functions = functions_of(&program, "nm");
    let after_call = |function: &str| {
        let body = code.split_once(&format!("<{function}>:\n")).expect("the function").1;
        let mut lines =
            body.lines().skip_while(|line| !(line.contains("call") && line.ends_with("<bits>"))).skip(1);
        let next = lines.next().and_then(|line| line.trim().split_once(':')).expect("an instruction").0;
        u64::from_str_radix(next, 16).expect("an address") - functions[function].0
    };
    let (many, few) = (after_call("many"), after_call("few"));
    let samples: &[(u64, &[(&str, u64)])] = &[
        (300, &[("bits", 0x10), ("many", many)]),
        (50, &[("bits", 0x14), ("few", few)]),
        (500, &[("churn", 8)]),
        (100, &[("many", 4)]),
        (50, &[("main", 0x10)]),
    ];
    let profile = profile(&dir, &program, samples);
    let profile = profile.display().to_string();
    let page = look_at(&dir, &["--target", "x86-64-v2", "--profile", &profile, "counts"]);
    assert!(page.contains("\"many\"") && page.contains("\"churn\""), "a caller and a hot function");
}

#[test]
#[ignore = "half a minute of a browser; `cargo xtask nightly` runs it"]
fn one_file_without_a_finding_or_without_code_has_a_page() {
    let dir = work_dir("check-page-clean");
    compile(&dir, "clean.o", ("c", "int twice(int x) { return 2 * x; }\n"), "gcc", &["-c", "-O2"]);
    compile(&dir, "data.o", ("c", "int answer = 42;\n"), "gcc", &["-c"]);
    for file in ["clean.o", "data.o"] {
        look_at(&dir, &[file]);
    }
}

/// Names of functions that would do harm where a page took them for anything but text.
const HOSTILE: [&str; 12] = [
    "</script><script>window.injected=1</script>",
    "<img src=x onerror='window.injected=1'>",
    "<!--<script>",
    "__proto__",
    "constructor",
    "left\u{202e}thgir\u{2066}",
    "\u{5e9}\u{5dc}\u{5d5}\u{5dd}_\u{645}\u{631}\u{62d}\u{628}\u{627}",
    "\u{95a2}\u{6570}",
    "\u{1}\u{1b}[31mred",
    "#open=finding:x:0x0:llsc-loop",
    "with spaces & 'quotes'",
    "javascript:alert(1)",
];

#[test]
#[ignore = "half a minute of a browser; `cargo xtask nightly` runs it"]
fn hostile_names_are_text_and_do_not_break_the_page() {
    let dir = work_dir("check-page-hostile");
    let mut source = String::from("\t.text\n");
    let long = "n".repeat(1 << 20);
    for name in HOSTILE.into_iter().chain([long.as_str()]) {
        let body = "ldaxr w2, [x0]\n\tadd w2, w2, #1\n\tstlxr w3, w2, [x0]\n\tcbnz w3, 1b\n\tret";
        let _ =
            writeln!(source, "\t.globl \"{name}\"\n\t.type \"{name}\", %function\n\"{name}\":\n1:\t{body}");
        let _ = writeln!(source, "\t.size \"{name}\", .-\"{name}\"");
    }
    compile(&dir, "<b>&.o", ("s", &source), "aarch64-linux-gnu-gcc", &["-c"]);
    let page = look_at(&dir, &["<b>&.o"]);
    assert!(page.len() < 1 << 20, "{} bytes", page.len());
}

/// One build and the next: what is in one only, what is made for another level, and what calls what differs.
const BUILDS: &str = "#include <stdatomic.h>
static _Atomic int lock;
int __attribute__((noinline)) sum(const int *p, int n) {
    int s = 0;
    for (int i = 0; i < n; i++)
        s += p[i] * 3;
    return s;
}
int __attribute__((noinline)) add(_Atomic int *p, int v) { return atomic_fetch_add(p, v); }
#ifdef NEXT
int __attribute__((noinline)) join(_Atomic int *p, int v) { return atomic_fetch_or(p, v); }
int __attribute__((noinline)) both(_Atomic int *p, int v) { return atomic_fetch_xor(p, v) + atomic_fetch_xor(p + 1, v); }
#else
int __attribute__((noinline)) left(_Atomic int *p, int v) { return atomic_fetch_xor(p, v); }
int __attribute__((noinline)) right(_Atomic int *p, int v) { return atomic_fetch_xor(p, v); }
int __attribute__((noinline)) mask(_Atomic int *p, int v) { return atomic_fetch_and(p, v); }
#endif
int main(int argc, char **argv) {
    int a[64];
    for (int i = 0; i < 64; i++)
        a[i] = argc * i;
#ifdef NEXT
    join(&lock, argc);
    for (int i = 0; i < argc; i++) { add(&lock, 3); add(&lock, i); add(&lock, a[i]); add(&lock, 9); }
#else
    mask(&lock, argc);
#endif
    return sum(a, 64) + add(&lock, argc);
}
";

/// Two builds in folders: files that differ, one that does not, and one that only one has.
fn builds(dir: &Path) {
    let (gcc, cross) = ("gcc", "aarch64-linux-gnu-gcc");
    for (build, next, level) in [("old", "-DFIRST", "-march=x86-64"), ("new", "-DNEXT", "-march=x86-64-v3")] {
        let folder = dir.join(build);
        fs::create_dir_all(&folder).expect("a folder");
        compile(&folder, "wide", ("c", BUILDS), gcc, &["-g", "-O2", next, level]);
        compile(&folder, "loops", ("c", BUILDS), cross, &["-g", "-O2", "-mno-outline-atomics", next]);
        compile(&folder, "loops.o", ("c", BUILDS), cross, &["-c", "-O2", "-mno-outline-atomics", next]);
        compile(&folder, "same", ("c", SOURCE), cross, &["-O2", "-mno-outline-atomics"]);
        compile(&folder, &format!("only-{build}"), ("c", SOURCE), gcc, &["-O2"]);
    }
}

#[test]
#[ignore = "a minute of a browser; `cargo xtask nightly` runs it"]
fn the_page_of_two_builds_says_what_differs_and_can_be_used_by_everybody() {
    let dir = work_dir("diff-page");
    builds(&dir);
    let page = look_at_diff(&dir, "old", "new");
    assert!(
        page.contains("data-build=\"old\"") && page.contains("return atomic_fetch_and(p, v);"),
        "old code"
    );
}

#[test]
#[ignore = "minutes of a browser; `cargo xtask nightly` runs it"]
fn two_builds_the_other_way_round_have_a_page() {
    let dir = work_dir("diff-page-back");
    builds(&dir);
    look_at_diff(&dir, "new", "old");
}

#[test]
#[ignore = "a quarter of a minute of a browser; `cargo xtask nightly` runs it"]
fn a_file_compared_with_itself_has_a_page() {
    let same = look_at_diff(&work_dir("diff-page-same"), "/usr/bin/true", "/usr/bin/true");
    assert!(!same.contains("class=\"code\" data-file=\"0\" data-build"), "code of a build that lost nothing");
}

#[test]
#[ignore = "minutes of a browser; `cargo xtask nightly` runs it"]
fn packages_have_the_page_of_what_is_in_them() {
    let dir = work_dir("diff-page-packages");
    builds(&dir);
    for build in ["old", "new"] {
        run(Command::new("tar").current_dir(dir.join(build)).args([
            "-czf",
            &format!("../{build}.tar.gz"),
            ".",
        ]));
    }
    let page = look_at_diff(&dir, "old.tar.gz", "new.tar.gz");
    assert!(
        page.contains("old.tar.gz!") && page.contains("data-build=\"old\""),
        "members, and code of the old one"
    );
}

#[test]
#[ignore = "minutes of a browser; `cargo xtask nightly` runs it"]
fn thousands_of_rows_and_hostile_names_are_compared_on_a_page() {
    let dir = work_dir("diff-page-hostile");
    let long = "n".repeat(1 << 20);
    let object = |name: &str, names: &[String]| {
        let mut source = String::from("\t.text\n");
        for name in names {
            let body = "ldaxr w2, [x0]\n\tadd w2, w2, #1\n\tstlxr w3, w2, [x0]\n\tcbnz w3, 1b\n\tret";
            let _ = writeln!(
                source,
                "\t.globl \"{name}\"\n\t.type \"{name}\", %function\n\"{name}\":\n1:\t{body}"
            );
            let _ = writeln!(source, "\t.size \"{name}\", .-\"{name}\"");
        }
        fs::create_dir_all(dir.join(name)).expect("a folder");
        compile(&dir.join(name), "<b>&.o", ("s", &source), "aarch64-linux-gnu-gcc", &["-c"]);
    };
    let many = |from: usize| (from..from + 3000).map(|at| format!("f{at}"));
    let hostile: Vec<String> = HOSTILE.iter().map(|&name| name.to_owned()).chain([long]).collect();
    object("old", &many(0).chain(hostile[..6].to_vec()).collect::<Vec<_>>());
    object("new", &many(1500).chain(hostile[3..].to_vec()).collect::<Vec<_>>());
    let page = look_at_diff(&dir, "old", "new");
    assert!(page.len() < 2 << 20, "{} bytes", page.len());
}
