//! What compilers make of every atomic operation, and how much of it a plan rewrites: the table of `docs/results/fix-coverage.tsv`.
//!
//! What is found is held against objdump's load-exclusives. Each compiler's rows of the table must be what is counted here;
//! those of other versions than this machine's are left alone. With `DEBURR_BLESS` set the rows are written.

use deburr_cpu::FeatureSet;
use deburr_patch::{Obstacle, Plan, Reason, Refused};
use deburr_tests::catalogue::{c_forms, c_source, rust_source};
use deburr_tests::compare::assert_same_sites;
use deburr_tests::languages::{go_server, rustc_for_arm64};
use deburr_tests::oracle::{Atomics, Listing};
use deburr_tests::rewrite::{Rewritten, rewrite, with_lse};
use deburr_tests::toolchain::{compile, repository, require, run, work_dir};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

const GCC: &str = "aarch64-linux-gnu-gcc";
/// The table's titles, in its first line.
const TITLES: &str = "compiler\tflags\twhat\tfound\tplanned\tleft, and why";
const LEVELS: [&str; 5] = ["-O0", "-O1", "-O2", "-O3", "-Os"];

/// clang stores what a weak compare-and-swap of constants made through a copy of the address, which no rule sees through.
const NOT_FOUND: &str = "not found: the address of the store is a copy";

/// What is counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Exclusives of strong operations.
    Strong,
    /// Exclusives of weak compare-and-swaps.
    Weak,
    /// Exclusives that compute what LSE has no instruction for.
    Nand,
    /// Exclusives of 16 bytes.
    Pair,
    /// Calls of outlined helpers.
    Call,
    /// Needless barriers.
    Barrier,
    /// Reloads of Go's small frames.
    Frame,
    /// `yield` in a spin loop.
    Hint,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Strong => "strong operations",
            Kind::Weak => "weak compare-and-swap",
            Kind::Nand => "nand",
            Kind::Pair => "16 bytes",
            Kind::Call => "calls of outlined helpers",
            Kind::Barrier => "barriers around atomics",
            Kind::Frame => "reloads of Go's small frames",
            Kind::Hint => "yield in spin loops",
        })
    }
}

/// By the rule and, for exclusives, by what the catalogue calls the function.
fn kind(rule: &str, function: Option<&str>) -> Kind {
    let function = function.unwrap_or_default();
    let is = |names: &[&str]| names.iter().any(|name| function.contains(name));
    match rule {
        "outlined-atomic" => Kind::Call,
        "barrier-around-atomic" => Kind::Barrier,
        "split-frame-reload" => Kind::Frame,
        "yield-in-spin-loop" => Kind::Hint,
        "llsc-pair" => Kind::Pair,
        // Go's names are none of the catalogue's.
        _ if function.contains('.') => Kind::Strong,
        _ if is(&["nand"]) => Kind::Nand,
        _ if is(&["weak", "cas_maximum", "fetch_update"]) || function.starts_with("loop_") => Kind::Weak,
        _ => Kind::Strong,
    }
}

/// How many there are of one kind in one build.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Count {
    planned: usize,
    refused: BTreeMap<String, usize>,
}

impl Count {
    fn found(&self) -> usize {
        self.planned + self.refused.values().sum::<usize>()
    }
}

type Counts = BTreeMap<Kind, Count>;

fn count(plan: &Plan) -> Counts {
    let mut counts = Counts::new();
    for site in &plan.sites {
        counts.entry(kind(site.rule, site.function.as_deref())).or_default().planned += 1;
    }
    for refused in &plan.refused {
        let count = counts.entry(kind(refused.rule, refused.function.as_deref())).or_default();
        *count.refused.entry(refused.reason.to_string()).or_default() += 1;
    }
    counts
}

/// Rewrites a build, holds what was found against objdump, and counts.
fn counted(file: &Path, target: Option<FeatureSet>) -> (Counts, Rewritten) {
    let rewritten = rewrite(file, target);
    let plan = &rewritten.plan;
    let oracle = Atomics::of(&Listing::of("aarch64-linux-gnu-objdump", file));
    let places = plan.sites.iter().map(|site| (site.rule, site.at, &site.function));
    let places =
        places.chain(plan.refused.iter().map(|refused| (refused.rule, refused.at, &refused.function)));
    let exclusives = places.filter(|(rule, ..)| rule.starts_with("llsc-"));
    let found: BTreeMap<u64, String> = exclusives
        .map(|(_, at, function)| (at.0, function.as_deref().unwrap_or_default().to_owned()))
        .collect();
    let mut counts = count(plan);
    let mut expected = oracle.load_exclusives.clone();
    for (at, function) in &oracle.load_exclusives {
        if !found.contains_key(at) && kind("llsc-loop", Some(function)) == Kind::Weak {
            let count = counts.entry(Kind::Weak).or_default();
            *count.refused.entry(NOT_FOUND.to_owned()).or_default() += 1;
            expected.remove(at);
        }
    }
    assert_same_sites(&file.display().to_string(), &found, &expected, false);
    rewritten.assert_sites_are_free_of_exclusives();
    rewritten.assert_sites_are_clean();
    (counts, rewritten)
}

/// A row for each kind.
fn rows(compiler: &str, flags: &str, counts: &Counts) -> Vec<String> {
    let row = |(kind, count): (&Kind, &Count)| {
        let refused: Vec<String> =
            count.refused.iter().map(|(reason, number)| format!("{number} {reason}")).collect();
        let (found, planned) = (count.found(), count.planned);
        format!("{compiler}\t{flags}\t{kind}\t{found}\t{planned}\t{}", refused.join("; "))
    };
    counts.iter().map(row).collect()
}

/// Holds one compiler's rows against the document, or writes them there.
fn hold_table(compiler: &str, rows: &[String]) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    println!("{}", rows.join("\n"));
    let path = repository().join("docs/results/fix-coverage.tsv");
    let text = fs::read_to_string(&path).expect("docs/results/fix-coverage.tsv");
    let told = text.strip_prefix(TITLES).expect("the table's titles").lines().skip(1);
    // `gcc 12.2.0, outlined` goes by `gcc`, as do other versions.
    let family = |row: &str| row.split_whitespace().next().map(str::to_owned);
    let mine: BTreeSet<_> = rows.iter().map(|row| family(row)).collect();
    if std::env::var_os("DEBURR_BLESS").is_some() {
        let others = told.filter(|row| !mine.contains(&family(row)));
        let mut all: Vec<&str> = others.chain(rows.iter().map(String::as_str)).collect();
        all.sort_by_key(|row| family(row));
        let text = format!("{TITLES}\n{}\n", all.join("\n"));
        fs::write(&path, text).expect("docs/results/fix-coverage.tsv can be written");
    } else if text.contains(&format!("\n{compiler}\t")) {
        let told: Vec<&str> = told.filter(|row| mine.contains(&family(row))).collect();
        assert_eq!(
            told, rows,
            "docs/results/fix-coverage.tsv: DEBURR_BLESS=1 cargo test -p deburr-tests planned"
        );
    }
}

/// The last word of the first line that looks like a version.
fn version_of(compiler: &str) -> String {
    let told = run(Command::new(compiler).arg("--version"));
    let first = told.lines().next().unwrap_or_default();
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    first.split_whitespace().rfind(is_version).unwrap_or_default().to_owned()
}

/// A shared library of all C functions, with nothing else in it.
fn c_library(dir: &Path, compiler: &str, flags: &[&str]) -> PathBuf {
    let is_clang = compiler == "clang";
    let source = c_source(is_clang).replace("int main(void) { return 0; }\n", "") + &c_forms();
    let mut all = vec!["-march=armv8-a", "-shared", "-nostdlib", "-fPIC"];
    if is_clang {
        require("ld.lld");
        all.extend(["--target=aarch64-linux-gnu", "-fuse-ld=lld", "-Wno-atomic-alignment"]);
    }
    all.extend(flags);
    // The helpers' bodies.
    all.push("-lgcc");
    compile(dir, &format!("atomics{}.so", flags.concat()), ("c", &source), compiler, &all)
}

/// The library at each level, in the table's rows; returns what was counted, by level.
fn levels(name: &str, compiler: &str) -> Vec<(&'static str, Counts)> {
    require(compiler);
    let dir = work_dir(&format!("planned-{name}"));
    let title = format!("{name} {}", version_of(compiler));
    let (mut all, mut table) = (Vec::new(), Vec::new());
    for level in LEVELS {
        let (counts, _) = counted(&c_library(&dir, compiler, &["-mno-outline-atomics", level]), None);
        table.extend(rows(&title, level, &counts));
        all.push((level, counts));
    }
    let outlined = c_library(&dir, compiler, &["-moutline-atomics", "-O2"]);
    let (counts, _) = counted(&outlined, Some(with_lse()));
    table.extend(rows(&title, "-O2 -moutline-atomics", &counts));
    all.push(("-moutline-atomics", counts));
    hold_table(&title, &table);
    all
}

fn planned_and_found(counts: &Counts, kind: Kind) -> (usize, usize) {
    counts.get(&kind).map_or((0, 0), |count| (count.planned, count.found()))
}

#[test]
#[ignore = "half a minute of compiling; `cargo xtask nightly` runs it"]
fn every_strong_and_weak_operation_of_gcc_is_planned() {
    for (level, counts) in levels("gcc", GCC) {
        for kind in [Kind::Strong, Kind::Weak, Kind::Call] {
            let (planned, found) = planned_and_found(&counts, kind);
            assert_eq!(planned, found, "{level}: {kind}");
        }
        let (strong, weak) =
            (planned_and_found(&counts, Kind::Strong).0, planned_and_found(&counts, Kind::Weak).0);
        let calls = planned_and_found(&counts, Kind::Call).0;
        assert!(strong > 2500 && weak > 200 || calls > 3000, "{level}: {strong}, {weak}, {calls}");
    }
}

#[test]
#[ignore = "a minute of compiling; `cargo xtask nightly` runs it"]
fn every_strong_operation_of_clang_is_planned() {
    for (level, counts) in levels("clang", "clang") {
        for kind in [Kind::Strong, Kind::Call] {
            let (planned, found) = planned_and_found(&counts, kind);
            assert_eq!(planned, found, "{level}: {kind}");
        }
        let (strong, calls) =
            (planned_and_found(&counts, Kind::Strong).0, planned_and_found(&counts, Kind::Call).0);
        assert!(strong > 3000 || calls > 3000, "{level}: {strong}, {calls}");
        // At -O0 nothing is moved between the exclusives.
        let (planned, found) = planned_and_found(&counts, Kind::Weak);
        assert!(planned == found || level != "-O0" && 3 * planned >= found, "{level}: {planned} of {found}");
    }
}

/// A shared library of the Rust functions, with nothing else in it.
fn rust_library(test: &str, flags: &[&str]) -> (String, PathBuf) {
    let dir = work_dir(test);
    let library = ["--crate-type=lib", "--emit=obj", "-Cpanic=abort", "-Crelocation-model=pic"];
    let flags: Vec<&str> = library.iter().chain(flags).copied().collect();
    let (version, object) = rustc_for_arm64(&dir, ("atomics", &rust_source()), &flags);
    require(GCC);
    let path = dir.join("atomics.so");
    run(Command::new(GCC).args(["-shared", "-nostdlib"]).arg(object).arg("-lgcc").arg("-o").arg(&path));
    (format!("rustc {version}"), path)
}

#[test]
#[ignore = "minutes of compiling; `cargo xtask nightly` runs it"]
fn every_strong_operation_of_rustc_is_planned_but_comparisons_with_narrow_arguments() {
    let mut table = Vec::new();
    let mut title = String::new();
    for level in ["0", "1", "2", "3", "s"] {
        let flag = format!("-Copt-level={level}");
        let inline = "-Ctarget-feature=-outline-atomics";
        let (compiler, file) = rust_library(&format!("planned-rust-{level}"), &[&flag, inline]);
        let (counts, rewritten) = counted(&file, None);
        table.extend(rows(&compiler, &flag, &counts));
        let (planned, found) = planned_and_found(&counts, Kind::Strong);
        // Without optimisation nothing bounds the tables of `match`, and what follows one is taken for more of it.
        let is_after_match = |reason: &Reason| {
            let entered = [Obstacle::Entered, Obstacle::StillArmed].map(Reason::Obstacle);
            level == "0" && entered.contains(reason)
        };
        let most = if level == "0" { 40 } else { 30 };
        assert!(planned >= 150 && found - planned <= most, "{flag}: {planned} of {found}");
        // Rust's callers extend narrow arguments, of which nothing in the function tells.
        for refused in rewritten.plan.refused.into_iter().filter(|it| !is_after_match(&it.reason)) {
            let function = refused.function.as_deref().unwrap_or_default();
            let is_narrow = function.contains("_8_") || function.contains("_16_");
            let compares =
                ["fetch_max", "fetch_min", "compare_exchange"].iter().any(|name| function.contains(name));
            assert!(
                kind(refused.rule, Some(function)) != Kind::Strong || is_narrow && compares,
                "{flag}: {function}: {}",
                refused.reason
            );
        }
        title = compiler;
    }
    let (_, file) = rust_library("planned-rust-outlined", &["-Copt-level=2"]);
    let (counts, _) = counted(&file, Some(with_lse()));
    table.extend(rows(&title, "-Copt-level=2 -Ctarget-feature=+outline-atomics", &counts));
    let (planned, found) = planned_and_found(&counts, Kind::Call);
    assert!(found > 100 && planned == found, "outlined: {planned} of {found}");
    hold_table(&title, &table);
}

/// What Go's compiler has inline is behind its own choice, with LSE in the other arm.
fn assert_go_chooses(plan: &Plan) {
    let exclusives = plan.refused.iter().filter(|refused| refused.rule == "llsc-loop");
    let (mut chosen, mut other) = (0, Vec::new());
    for refused in exclusives {
        match refused.reason {
            Reason::RunTimeChoice => chosen += 1,
            // The exit of one in the runtime goes on at addresses that nothing knows.
            Reason::Obstacle(Obstacle::StillArmed) => {}
            _ => other.push(refused),
        }
    }
    assert!(chosen > 50 && other.is_empty(), "{chosen}; {other:?}");
}

#[test]
fn atomics_of_go_are_its_own_choice_at_run_time() {
    let rewritten = rewrite(&go_server("planned-go", "local", &[], false), None);
    println!("{:#?}", count(&rewritten.plan));
    assert_go_chooses(&rewritten.plan);
}

#[test]
#[ignore = "downloads Go 1.23.4, some 70 MB; `cargo xtask nightly` runs it"]
fn small_frames_of_go_1_23_are_planned_and_then_no_longer_found() {
    let rewritten = rewrite(&go_server("planned-go-1.23", "go1.23.4", &[], false), None);
    let counts = count(&rewritten.plan);
    let (planned, found) = planned_and_found(&counts, Kind::Frame);
    // A number in data that happens to be the address of the second word speaks against the site.
    let is_pointed_to = |refused: &&Refused| refused.reason == Reason::Obstacle(Obstacle::Entered);
    let frames = rewritten.plan.refused.iter().filter(|refused| refused.rule == "split-frame-reload");
    assert!(planned > 5000 && found - planned <= found / 200, "{planned} of {found}");
    assert_eq!(frames.filter(is_pointed_to).count(), found - planned);
    assert_go_chooses(&rewritten.plan);
    rewritten.assert_sites_are_clean();
    hold_table("go1.23.4", &rows("go1.23.4", "GOARM64=v8.0", &counts));
}
