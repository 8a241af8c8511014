//! The fuzz targets: how one is run from the committed inputs, and what the run says of its coverage.
//!
//! In: a target and seconds. Out: [`Outcome`], from what libFuzzer prints. New inputs stay below `target/`; `cargo xtask corpus`
//! puts them into the repository.
//! libFuzzer reads folders: the committed inputs are unpacked below `target/` before each run.

use crate::repository;
use deburr_inputs::parse_inputs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

/// The fuzz targets, each the name of a stage.
pub(crate) const TARGETS: [&str; 12] = [
    "image",
    "discover",
    "reach",
    "check",
    "patch",
    "package",
    "container",
    "archive",
    "jit",
    "profile",
    "readers",
    "sweep",
];
/// Bytes at most of an input: all structure that there is fits, and a run is short.
const LONGEST_INPUT: usize = 8 << 10;
/// Optimised, and without a sanitizer: what is fuzzed forbids unsafe code, and a sanitizer would halve its speed.
const BUILD: [&str; 3] = ["-O", "--sanitizer", "none"];

/// What this machine lacks for `cargo fuzz`.
pub(crate) fn missing() -> Option<&'static str> {
    let works = |arguments: &[&str]| {
        Command::new("cargo").args(arguments).output().is_ok_and(|output| output.status.success())
    };
    if !works(&["+nightly", "--version"]) {
        return Some("no nightly toolchain: `rustup toolchain install nightly` brings one");
    }
    if !works(&["+nightly", "fuzz", "--version"]) {
        return Some("no cargo-fuzz: `cargo install cargo-fuzz --locked` brings it");
    }
    None
}

/// The file of the committed inputs of a target.
pub(crate) fn committed(target: &str) -> PathBuf {
    repository().join("fuzz/corpus").join(target).with_extension("hex")
}

/// Unpacks the committed inputs of a target into a folder that holds nothing else, one file an input, and returns the folder.
pub(crate) fn unpack(target: &str) -> Result<PathBuf, String> {
    let folder = repository().join("target/fuzz-committed").join(target);
    unpack_file(&committed(target), &folder).map_err(|fault| format!("fuzz/corpus/{target}.hex: {fault}"))?;
    Ok(folder)
}

fn unpack_file(file: &Path, folder: &Path) -> Result<(), String> {
    let fault = |error: io::Error| error.to_string();
    let inputs = parse_inputs(&fs::read_to_string(file).map_err(fault)?)?;
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(fault)?;
    }
    fs::create_dir_all(folder).map_err(fault)?;
    for input in inputs {
        fs::write(folder.join(format!("line-{}", input.line)), input.bytes).map_err(fault)?;
    }
    Ok(())
}

/// Where inputs are kept that runs have found.
pub(crate) fn found(target: &str) -> PathBuf {
    repository().join("target/fuzz").join(target)
}

/// Copies the files of a folder into another; how many, and how many bytes.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<(usize, u64)> {
    fs::create_dir_all(to)?;
    let (mut files, mut bytes) = (0, 0);
    for file in fs::read_dir(from)? {
        let file = file?;
        bytes += fs::copy(file.path(), to.join(file.file_name()))?;
        files += 1;
    }
    Ok((files, bytes))
}

/// Runs a target from the committed inputs alone, so that what it adds is comparable from run to run. What is new is kept with what
/// earlier runs have found.
pub(crate) fn run_committed(target: &str, seconds: u32) -> Result<Outcome, String> {
    let fault = |error: io::Error| format!("the fuzz target {target}: {error}");
    let new = repository().join("target/fuzz-new").join(target);
    if new.exists() {
        fs::remove_dir_all(&new).map_err(fault)?;
    }
    let outcome = run(target, &[&new, &unpack(target)?], seconds);
    copy(&new, &found(target)).map_err(fault)?;
    outcome
}

fn fuzz(command: &str, target: &str) -> Command {
    let mut fuzz = Command::new("cargo");
    fuzz.args(["+nightly", "fuzz", command]).args(BUILD).arg(target).current_dir(repository().join("fuzz"));
    fuzz
}

/// What a run has covered at one time: edges, and features (edges by how often they are taken).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Covered {
    pub(crate) edges: u64,
    pub(crate) features: u64,
}

/// What came of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// After the inputs that there were.
    pub(crate) start: Covered,
    pub(crate) end: Covered,
    pub(crate) runs: u64,
    pub(crate) runs_per_second: u64,
    pub(crate) new_inputs: u64,
}

impl Outcome {
    /// As one line for a reader.
    pub(crate) fn line(&self, target: &str) -> String {
        let Outcome { start, end, runs, runs_per_second, new_inputs } = self;
        format!(
            "{target}: {runs} runs, {runs_per_second} a second; edges {} to {}, features {} to {}; {new_inputs} new inputs",
            start.edges, end.edges, start.features, end.features
        )
    }
}

/// The number after a word in a line.
fn after(line: &str, word: &str) -> Option<u64> {
    line.split_once(word)?.1.split_whitespace().next()?.parse().ok()
}

/// Reads what libFuzzer prints: the line `INITED`, the last line with coverage, and the final statistics.
fn outcome(printed: &str) -> Option<Outcome> {
    let covered =
        |line: &str| Some(Covered { edges: after(line, " cov: ")?, features: after(line, " ft: ")? });
    let lines = || printed.lines().filter(|line| line.starts_with('#'));
    let stat = |name: &str| printed.lines().find_map(|line| after(line, &format!("stat::{name}:")));
    Some(Outcome {
        start: lines().find(|line| line.contains("INITED")).and_then(covered)?,
        end: lines().filter_map(covered).next_back()?,
        runs: stat("number_of_executed_units")?,
        runs_per_second: stat("average_exec_per_sec")?,
        new_inputs: stat("new_units_added")?,
    })
}

/// Runs a target for so long, from the given folders of inputs, and keeps what is new in the first.
pub(crate) fn run(target: &str, folders: &[&Path], seconds: u32) -> Result<Outcome, String> {
    let fault = |error: &dyn std::fmt::Display| format!("the fuzz target {target}: {error}");
    for folder in folders {
        fs::create_dir_all(folder).map_err(|error| fault(&error))?;
    }
    let mut command = fuzz("run", target);
    command.args(folders).args(["--", "-rss_limit_mb=1024", "-timeout=20", "-print_final_stats=1"]);
    // Inputs are small from the start: growing them from nothing would lose their structure. Weighing inputs by the rarity of their
    // features takes half of the time of a run of half a millisecond.
    command.args(["-len_control=0", "-entropic=0"]).arg(format!("-max_len={LONGEST_INPUT}"));
    command.arg(format!("-max_total_time={seconds}"));
    let output = command.stdout(Stdio::inherit()).output().map_err(|error| fault(&error))?;
    let printed = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(fault(&format!("{}\n{printed}", output.status)));
    }
    outcome(&printed).ok_or_else(|| fault(&format!("no statistics in what it printed\n{printed}")))
}

/// Fills a folder with few inputs of others that cover together what all of those do.
pub(crate) fn minimise(target: &str, to: &Path, from: &[&Path]) -> Result<(), String> {
    let fault = |error: &dyn std::fmt::Display| format!("minimising {target}: {error}");
    if to.exists() {
        fs::remove_dir_all(to).map_err(|error| fault(&error))?;
    }
    fs::create_dir_all(to).map_err(|error| fault(&error))?;
    let mut command = fuzz("run", target);
    // As few as a greedy cover needs, of edges alone: an input for each count of each edge would be several times as much.
    command.arg(to).args(from).args(["--", "-set_cover_merge=1", "-use_counters=0"]);
    command.arg(format!("-max_len={LONGEST_INPUT}"));
    let output = command.output().map_err(|error| fault(&error))?;
    let printed = String::from_utf8_lossy(&output.stderr);
    output.status.success().then_some(()).ok_or_else(|| fault(&printed))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "INFO: seed corpus: files: 2 min: 1b max: 9b total: 10b rss: 40Mb
#3	INITED cov: 101 ft: 202 corp: 2/10b exec/s: 0 rss: 44Mb
#64	NEW    cov: 103 ft: 205 corp: 3/19b lim: 9 exec/s: 0 rss: 44Mb L: 9/9 MS: 1 Custom-
#900	DONE   cov: 107 ft: 230 corp: 9/80b lim: 9 exec/s: 450 rss: 44Mb
Done 900 runs in 2 second(s)
stat::number_of_executed_units: 900
stat::average_exec_per_sec:     450
stat::new_units_added:          7
";

    #[test]
    fn coverage_is_read_from_what_the_fuzzer_prints() {
        let expected = Outcome {
            start: Covered { edges: 101, features: 202 },
            end: Covered { edges: 107, features: 230 },
            runs: 900,
            runs_per_second: 450,
            new_inputs: 7,
        };
        assert_eq!(outcome(PRINTED), Some(expected));
        assert_eq!(
            outcome(&PRINTED.replace("INITED", "READ")),
            None,
            "a run that never began has no coverage"
        );
    }

    #[test]
    fn committed_inputs_are_unpacked_one_file_each() {
        for target in TARGETS {
            let text = fs::read_to_string(committed(target)).expect("the committed inputs");
            let inputs = parse_inputs(&text).expect("inputs, one a line");
            let folder = tempfile::tempdir().expect("a folder");
            unpack_file(&committed(target), folder.path()).expect("a folder of inputs");
            for input in &inputs {
                let file = folder.path().join(format!("line-{}", input.line));
                assert_eq!(fs::read(file).expect("an input"), input.bytes, "{target}");
            }
            assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), inputs.len(), "{target}");
        }
    }

    #[test]
    fn every_target_has_a_program() {
        let folder = repository().join("fuzz/fuzz_targets");
        let mut files: Vec<String> = fs::read_dir(folder)
            .expect("the fuzz targets")
            .map(|file| file.expect("an entry").file_name().to_string_lossy().replace(".rs", ""))
            .collect();
        files.sort();
        let mut targets = TARGETS.map(str::to_owned);
        targets.sort();
        assert_eq!(files, targets);
    }
}
