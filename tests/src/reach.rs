//! Programs whose features above the baseline are known to be checked or not: how they are built, run and judged.
//!
//! In: a [`Case`], a table row that names sources in `tests/reach/`. Out: a panic that lists every disagreement, of two
//! kinds. [`assert_runs`] asks qemu-user, which knows nothing of deburr: on a CPU without the feature a program either
//! takes another path or dies with SIGILL. [`assert_verdicts`] asks deburr, on each build with its symbols and without.

use crate::command::{Checked, check};
use crate::toolchain::{repository, require, run, stripped, work_dir};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};

/// One program, what qemu must make of it and what deburr must say of it.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Files of `tests/reach/`, in the linker's order; words after the name are compiler flags for that file alone.
    pub sources: &'static [&'static str],
    /// Where not empty: these become a shared library that the program needs, and the verdicts are about the library.
    pub library: &'static [&'static str],
    /// The compilers and their flags.
    pub builds: &'static [Build],
    /// CPU models of qemu, and what the program does on them.
    pub runs: &'static [(&'static str, Outcome)],
    /// Functions and their verdicts. `|` separates what is equally right, or the names of one function in different builds; no
    /// function but these may be `required` or `under-guarded`. `absent`: nothing in the function lies above the baseline.
    pub expects: &'static [(&'static str, &'static str)],
    /// The path to the first function of `expects`, if it is worth a test: names, root first; or, after `…`, how it ends.
    pub path: &'static [&'static str],
    /// The level that the file needs.
    pub level: &'static str,
}

/// A compiler (`gcc`, `clang`, `aarch64-linux-gnu-gcc`, `aarch64-clang`, `rustc`, `go`) and its flags.
pub type Build = (&'static str, &'static str);

/// How a program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// With status 0 and this one line: `wrong`, or what it `needs`, where it did not do its work.
    Prints(&'static str),
    /// By SIGILL.
    DiesOfSigill,
    /// By SIGABRT: it refused to go on.
    Aborts,
    /// With another status: it refused to go on.
    Fails(i32),
}

/// One build of a case.
#[derive(Debug, Clone)]
struct Built {
    what: String,
    /// What qemu runs.
    program: PathBuf,
    /// What deburr looks at: the program or its library.
    subject: PathBuf,
    is_aarch64: bool,
}

const CROSS_GCC: &str = "aarch64-linux-gnu-gcc";
const CROSS_GXX: &str = "aarch64-linux-gnu-g++";

/// The programs that one compiler's name stands for: the compiler proper and the linker.
fn drivers(compiler: &str, is_cxx: bool) -> (Vec<&str>, &str) {
    match (compiler, is_cxx) {
        ("gcc", true) => (vec!["g++"], "g++"),
        ("clang", true) => (vec!["clang++"], "clang++"),
        (CROSS_GCC, true) => (vec![CROSS_GXX], CROSS_GXX),
        ("aarch64-clang", true) => (vec!["clang++", "--target=aarch64-linux-gnu"], CROSS_GXX),
        // clang compiles, the cross gcc links: its libc and libgcc are where only it looks.
        ("aarch64-clang", _) => (vec!["clang", "--target=aarch64-linux-gnu"], CROSS_GCC),
        (other, _) => (vec![other], other),
    }
}

/// Compiles each source to an object, with the flags of the build and its own.
fn objects(dir: &Path, sources: &[&str], compiler: &str, flags: &[&str]) -> Vec<PathBuf> {
    let folder = repository().join("tests/reach");
    let mut made = Vec::new();
    for source in sources {
        let mut words = source.split_whitespace();
        let name = words.next().unwrap_or_default();
        let (command, _) = drivers(compiler, name.ends_with(".cc"));
        let object = dir.join(format!("{name}.o"));
        require(command[0]);
        run(Command::new(command[0])
            .args(&command[1..])
            .args(flags)
            .args(words)
            .arg("-c")
            .arg(folder.join(name))
            .arg("-o")
            .arg(&object));
        made.push(object);
    }
    made
}

fn link(objects: &[PathBuf], is_cxx: bool, compiler: &str, flags: &[&str], output: &Path) {
    let (_, linker) = drivers(compiler, is_cxx);
    require(linker);
    run(Command::new(linker).args(objects).args(flags).arg("-lpthread").arg("-o").arg(output));
}

fn build(name: &str, case: &Case, (compiler, flags): Build) -> Built {
    let what = format!("{compiler} {flags}");
    let dir = work_dir(&format!("reach/{}/{}", name.replace("::", "/"), what.replace([' ', '='], "_")));
    let words: Vec<&str> = flags.split_whitespace().collect();
    let program = dir.join("program");
    let mut subject = program.clone();
    let source = repository().join("tests/reach").join(case.sources[0]);
    let is_cxx = case.sources.iter().any(|source| source.contains(".cc"));
    match compiler {
        "rustc" => {
            require("rustc");
            run(Command::new("rustc")
                .arg("--edition=2024")
                .args(&words)
                .arg(&source)
                .arg("-o")
                .arg(&program));
        }
        "go" => {
            require("go");
            // A folder is a module of its own.
            let (inside, what) = match source.is_dir() {
                true => (source.as_path(), Path::new(".")),
                false => (dir.as_path(), source.as_path()),
            };
            run(Command::new("go")
                .current_dir(inside)
                .args(["build", "-o"])
                .arg(&program)
                .arg(what)
                .envs(words.iter().filter_map(|word| word.split_once('=')))
                .envs([
                    ("CGO_ENABLED", "0"),
                    ("GOOS", "linux"),
                    ("GOPROXY", "off"),
                    ("GOTOOLCHAIN", "local"),
                ]));
        }
        _ => {
            let mut inputs = objects(&dir, case.sources, compiler, &words);
            if !case.library.is_empty() {
                subject = dir.join("libsubject.so");
                let shared = [words.as_slice(), &["-fPIC", "-shared"]].concat();
                let parts = objects(&dir, case.library, compiler, &shared[..shared.len() - 1]);
                link(&parts, is_cxx, compiler, &shared, &subject);
                inputs.push(subject.clone());
            }
            let linked = [words.as_slice(), &["-Wl,-rpath,$ORIGIN"]].concat();
            link(&inputs, is_cxx, compiler, &linked, &program);
        }
    }
    let is_aarch64 = compiler.starts_with("aarch64") || flags.contains("GOARCH=arm64");
    Built { what, program, subject, is_aarch64 }
}

/// Set, every build of every case is made and judged, as the nightly task does; otherwise the first of each compiler.
const EVERY_BUILD: &str = "DEBURR_TEST_EVERY_BUILD";

/// The builds of a case that are asked for.
fn chosen(case: &Case) -> Vec<Build> {
    let is_every = std::env::var_os(EVERY_BUILD).is_some();
    let is_first = |index: usize, compiler: &str| case.builds[..index].iter().all(|it| it.0 != compiler);
    let builds = case.builds.iter().enumerate();
    builds.filter(|(index, build)| is_every || is_first(*index, build.0)).map(|(_, build)| *build).collect()
}

/// The chosen builds of a case, made once for its two tests.
fn builds(name: &str, case: &Case) -> Arc<Vec<Built>> {
    type Cell = Arc<OnceLock<Arc<Vec<Built>>>>;
    static MADE: OnceLock<Mutex<HashMap<String, Cell>>> = OnceLock::new();
    let made = MADE.get_or_init(Mutex::default);
    let cell = Arc::clone(made.lock().expect("no test panics here").entry(name.to_owned()).or_default());
    let chosen = chosen(case);
    // All at once: the case's other test has a processor, too, and waits.
    let make = || {
        std::thread::scope(|scope| {
            let begin = |&compiler| scope.spawn(move || build(name, case, compiler));
            let begun: Vec<_> = chosen.iter().map(begin).collect();
            let made = begun
                .into_iter()
                .map(|one| one.join().unwrap_or_else(|fault| std::panic::resume_unwind(fault)));
            Arc::new(made.collect())
        })
    };
    Arc::clone(cell.get_or_init(make))
}

fn emulate(built: &Built, cpu: &str) -> Result<Outcome, String> {
    let emulator = if built.is_aarch64 { "qemu-aarch64" } else { "qemu-x86_64" };
    require(emulator);
    let mut command = Command::new(emulator);
    command.args(["-cpu", cpu]).stdin(Stdio::null());
    if built.is_aarch64 {
        command.args(["-L", "/usr/aarch64-linux-gnu"]);
    }
    let output = command.arg(&built.program).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    // The numbers of SIGILL and SIGABRT on Linux, for every architecture.
    match (output.status.code(), output.status.signal()) {
        (Some(0), _) => Ok(Outcome::Prints(text.leak())),
        (_, Some(4)) => Ok(Outcome::DiesOfSigill),
        // Go's run-time library handles the signal.
        (Some(2), _) if output.stderr.starts_with(b"SIGILL: ") => Ok(Outcome::DiesOfSigill),
        (_, Some(6)) => Ok(Outcome::Aborts),
        (Some(status), _) => Ok(Outcome::Fails(status)),
        _ => Err(format!("{}: {text}{}", output.status, String::from_utf8_lossy(&output.stderr))),
    }
}

/// What deburr reports of the chosen builds of a case, with the build's name.
///
/// # Panics
/// If a build fails, or deburr gives no report.
pub fn reports(name: &str, case: &Case) -> Vec<(String, Value)> {
    let report = |built: &Built| (built.what.clone(), check(&built.subject, &[]).0);
    builds(name, case).iter().map(report).collect()
}

/// Holds the chosen builds of a case against qemu.
///
/// # Panics
/// If a build ends in another way than the case says, on any of its CPUs.
pub fn assert_runs(name: &str, case: &Case) {
    let mut wrong = String::new();
    for built in builds(name, case).iter() {
        for (cpu, expected) in case.runs {
            let outcome = emulate(built, cpu);
            if outcome.as_ref() != Ok(expected) {
                let _ = writeln!(wrong, "{} on {cpu}: {outcome:?}, expected {expected:?}", built.what);
            }
        }
    }
    assert!(wrong.is_empty(), "{name}:\n{wrong}");
}

/// The symbols of a program's code: address and demangled name without parameters.
fn symbols(built: &Built) -> Vec<(u64, String)> {
    let nm = if built.is_aarch64 { "aarch64-linux-gnu-nm" } else { "nm" };
    require(nm);
    let listing = run(Command::new(nm).arg("-C").arg(&built.subject));
    let mut found = Vec::new();
    for line in listing.lines() {
        let mut words = line.splitn(3, ' ');
        let (Some(at), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else { continue };
        if let (Ok(at), "t" | "T" | "W" | "w" | "i") = (u64::from_str_radix(at, 16), kind) {
            // Go's receivers are part of a name: `sync.(*Mutex).Lock`.
            let arguments = name.match_indices('(').find(|(at, _)| !name[..*at].ends_with('.'));
            found.push((at, name[..arguments.map_or(name.len(), |(at, _)| at)].to_owned()));
        }
    }
    found
}

/// Whether a demangled name is the one meant: itself, a clone that gcc made of it, or the last part of a path.
fn is_named(name: &str, wanted: &str) -> bool {
    let clone = [".constprop", ".isra", ".part"].iter().find_map(|mark| name.find(mark));
    let name = &name[..clone.unwrap_or(name.len())];
    wanted.split('|').any(|wanted| {
        name.strip_suffix(wanted).is_some_and(|before| before.is_empty() || before.ends_with("::"))
    })
}

/// Whether a path, root first, is the one that a case expects.
fn is_path(entry: &Value, wanted: &[&str], symbols: &[(u64, String)]) -> bool {
    let steps = entry["path"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (wanted, skipped) = match wanted {
        ["…", end @ ..] => (end, steps.len().checked_sub(end.len())),
        all => (all, (steps.len() == all.len()).then_some(0)),
    };
    let Some(skipped) = skipped else { return false };
    steps[skipped..].iter().zip(wanted).all(|(step, wanted)| {
        symbols.iter().any(|(at, name)| Some(*at) == svma(step) && is_named(name, wanted))
    })
}

fn svma(entry: &Value) -> Option<u64> {
    u64::from_str_radix(entry["svma"].as_str()?.trim_start_matches("0x"), 16).ok()
}

/// What is wrong with the evidence of one entry: a verdict without a reason is worth nothing.
fn evidence_faults(entry: &Value) -> Option<String> {
    let path = entry["path"].as_array().map(Vec::as_slice).unwrap_or_default();
    let guard = &entry["guard"];
    let proven = guard["features"].as_array().is_some_and(|features| !features.is_empty());
    let kinds = ["branch", "ifunc", "pointer", "table", "stated"];
    let reach = entry["reach"].as_str().unwrap_or_default();
    match reach {
        "guarded" if !proven || !kinds.iter().any(|kind| guard["kind"] == *kind) => {
            Some(format!("guarded, but by {guard}"))
        }
        "required" | "under-guarded" if path.last().and_then(svma) != svma(entry) => {
            Some(format!("{reach}, but its path is {}", entry["path"]))
        }
        "guarded" | "presumed" | "unreached" | "unknown" | "covered" | "offered" if !path.is_empty() => {
            Some(format!("{reach}, but with a path: {}", entry["path"]))
        }
        "required" | "under-guarded" | "guarded" | "unreached" | "unknown" | "presumed" | "covered"
        | "offered" => None,
        other => Some(format!("`{other}` is no verdict")),
    }
}

/// CPUs that qemu and deburr know by the same name.
const KNOWN_TO_BOTH: [&str; 5] = ["Nehalem", "IvyBridge", "Haswell", "cortex-a53", "neoverse-n1"];

fn judge(case: &Case, built: &Built, symbols: &[(u64, String)], checked: &Checked) -> Vec<String> {
    let mut wrong = Vec::new();
    if checked.0["guards_examined"] != true {
        wrong.push("guards_examined is not true".to_owned());
    }
    // A C library that is linked in has needs of its own.
    let is_dynamic = !built.what.contains("-static");
    let is_level = case.level.split('|').any(|level| checked.0["level"] == level);
    if !is_level && is_dynamic {
        wrong.push(format!("level {}, expected {}", checked.0["level"], case.level));
    }
    // A wrong level already says so.
    for (cpu, outcome) in case.runs.iter().filter(|_| is_level && is_dynamic) {
        let not = checked.0["runs_on"]["not"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_listed =
            not.iter().any(|name| name.as_str().is_some_and(|name| name.eq_ignore_ascii_case(cpu)));
        let fails =
            !matches!(outcome, Outcome::Prints(text) if *text != "wrong" && !text.starts_with("needs "));
        // What is not followed may be what kills it.
        let is_open = checked.0["not_followed"].as_u64() != Some(0);
        if KNOWN_TO_BOTH.contains(cpu) && is_listed != fails && (is_listed || !is_open) {
            let has = if is_listed { "has" } else { "lacks" };
            wrong.push(format!("runs_on.not {has} {cpu}, where it {outcome:?}"));
        }
    }
    let entries = checked.0["isa_functions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut listed = Vec::new();
    for (function, expected) in case.expects {
        let Some((at, _)) = symbols.iter().find(|(_, name)| is_named(name, function)) else {
            panic!("{}: no function {function}", built.what);
        };
        listed.push(*at);
        let entry = entries.iter().find(|entry| svma(entry) == Some(*at));
        let reach = entry.map_or("absent", |entry| entry["reach"].as_str().unwrap_or("without a verdict"));
        if !expected.split('|').any(|expected| expected == reach) {
            let guard = entry.map_or(&Value::Null, |entry| &entry["guard"]);
            wrong.push(format!("{function} at {at:#x}: {reach}, expected {expected}; guard {guard}"));
        }
    }
    for entry in entries {
        wrong.extend(evidence_faults(entry).map(|fault| format!("{}: {fault}", entry["function"])));
        let needed = entry["reach"] == "required" || entry["reach"] == "under-guarded";
        // How a C library that is linked in chooses between its own functions is a known gap: see `gaps.txt`.
        let is_library =
            built.what.contains("-static") && !svma(entry).is_some_and(|at| listed.contains(&at));
        if needed && !is_library && !svma(entry).is_some_and(|at| listed.contains(&at)) {
            wrong.push(format!("{} is {}: {}", entry["function"], entry["reach"], entry["path"]));
        }
    }
    if let (Some(at), false) = (listed.first(), case.path.is_empty()) {
        let entry = entries.iter().find(|entry| svma(entry) == Some(*at)).unwrap_or(&Value::Null);
        if !is_path(entry, case.path, symbols) {
            wrong.push(format!("path {}, expected {:?}", entry["path"], case.path));
        }
    }
    wrong
}

/// Where deburr is known to judge otherwise than it should: `case: build: fault` by line, without addresses and evidence.
const GAPS: &str = include_str!("../reach/gaps.txt");

/// A fault as the list of gaps has it: what differs from compiler to compiler is left out.
fn as_gap(fault: &str) -> String {
    let fault = fault.split("; guard ").next().unwrap_or(fault);
    let fault = fault.split(": [{").next().unwrap_or(fault);
    let fault = if fault.contains("path [") { "another path" } else { fault };
    let words = fault.split(' ').collect::<Vec<_>>();
    let is_address = |word: &&str| word.starts_with("0x");
    let kept = words.iter().enumerate().filter(|&(at, word)| {
        let is_at = *word == "at" && words.get(at + 1).is_some_and(is_address);
        !is_at && !is_address(word)
    });
    kept.map(|(_, word)| *word).collect::<Vec<_>>().join(" ").replace("  ", " ")
}

/// Holds deburr's verdicts on the chosen builds of a case, with symbols and without, against what the case says. A known gap that
/// is gone counts as a fault too, so that the list stays true.
///
/// # Panics
/// If a verdict, its evidence or the file's level is another, or a function that the case does not name is said to be needed.
pub fn assert_verdicts(name: &str, case: &Case) {
    let mut found = std::collections::BTreeSet::new();
    let builds = builds(name, case);
    for built in builds.iter() {
        let symbols = symbols(built);
        let strip = if built.is_aarch64 { "aarch64-linux-gnu-strip" } else { "strip" };
        let bare = stripped(strip, &built.subject);
        for (what, file) in [("", &built.subject), (", stripped", &bare)] {
            for fault in judge(case, built, &symbols, &check(file, &[])) {
                found.insert(format!("{name}: {}{what}: {}", built.what, as_gap(&fault)));
            }
        }
    }
    let is_of = |line: &str, what: &str| {
        let rest = line.strip_prefix(name).and_then(|line| line.strip_prefix(": ")?.strip_prefix(what));
        rest.is_some_and(|rest| rest.starts_with(": ") || rest.starts_with(", stripped: "))
    };
    let is_judged = |line: &&str| builds.iter().any(|built| is_of(line, &built.what));
    let gaps = GAPS.lines().filter(is_judged).map(str::to_owned);
    let gaps: std::collections::BTreeSet<String> = gaps.collect();
    let mut wrong = String::new();
    for new in found.difference(&gaps) {
        let _ = writeln!(wrong, "GAP {new}");
    }
    for gone in gaps.difference(&found) {
        let _ = writeln!(wrong, "no gap any more, take it off tests/reach/gaps.txt: {gone}");
    }
    assert!(wrong.is_empty(), "{name}:\n{wrong}");
}

#[cfg(test)]
mod tests {
    use super::{evidence_faults, is_named, is_path};
    use serde_json::json;

    #[test]
    fn a_name_is_the_last_part_of_a_path_or_a_clone_of_it() {
        assert!(is_named("twice", "twice") && is_named("program::twice", "twice"));
        assert!(
            is_named("twice.constprop.0", "twice") && is_named("twice.avx2.0", "twice.avx2|twice.avx2.0")
        );
        assert!(!is_named("not_twice", "twice") && !is_named("twice.resolver", "twice"));
    }

    #[test]
    fn a_verdict_without_its_reason_is_a_fault() {
        let guard = json!({"kind": "branch", "svma": "0x10", "function": "main", "features": ["AVX2"]});
        let guarded = json!({"svma": "0x20", "reach": "guarded", "path": [], "guard": guard});
        assert_eq!(evidence_faults(&guarded), None);
        let unproven = json!({"svma": "0x20", "reach": "guarded", "path": [], "guard": null});
        let pathless = json!({"svma": "0x20", "reach": "required", "path": [], "guard": null});
        let misspelt = json!({"svma": "0x20", "reach": "underguarded"});
        assert!([unproven, pathless, misspelt].iter().all(|entry| evidence_faults(entry).is_some()));
    }

    #[test]
    fn a_path_is_whole_or_an_end() {
        let symbols = [(1, "_start"), (2, "main"), (3, "careless")].map(|(at, name)| (at, name.to_owned()));
        let entry = json!({"path": [{"svma": "0x1"}, {"svma": "0x2"}, {"svma": "0x3"}]});
        assert!(is_path(&entry, &["_start", "main", "careless"], &symbols));
        assert!(is_path(&entry, &["…", "main", "careless"], &symbols));
        assert!(!is_path(&entry, &["main", "careless"], &symbols));
        assert!(!is_path(&entry, &["…", "careless", "main"], &symbols));
    }
}
