//! `action.yml`, by a runner that does what GitHub's does for a composite action: defaults of inputs, expressions, environment, shell,
//! outputs. The specification is GitHub's "Metadata syntax for GitHub Actions" and "Workflow commands for GitHub Actions".

use crate::fixture::{V1, V3, deburr_wheel, library, ran, shown, wheel};
use deburr_test_support::Scratch;
use deburr_tests::command::deburr;
use deburr_tests::toolchain::{repository, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A name that a shell would act on, wherever it became part of a command.
const ODD: &str = "$(touch pwned) `touch pwned` \"; touch pwned; ' touch pwned";

/// `action.yml`.
fn action() -> &'static Value {
    static ACTION: OnceLock<Value> = OnceLock::new();
    ACTION.get_or_init(read_action)
}

fn read_action() -> Value {
    let script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    let has_yaml = |python: &&str| {
        Command::new(python).args(["-c", "import yaml"]).output().is_ok_and(|output| output.status.success())
    };
    let python = ["python3", "/usr/bin/python3"].into_iter().find(has_yaml);
    let python = python.expect("no python3 with PyYAML: `scripts/install-tools test` installs python3-yaml");
    let json = run(Command::new(python).args(["-c", script]).arg(repository().join("action.yml")));
    serde_json::from_str(&json).unwrap()
}

/// What one run of the action gave.
struct Ran {
    status: Option<i32>,
    /// What the log gets.
    log: String,
    summary: String,
    outputs: BTreeMap<String, String>,
}

/// Replaces the expressions of a value, of which there is one kind in each place: `${{ inputs.NAME }}`, `${{ steps.ID.outputs.NAME }}`.
fn expanded(text: &str, prefix: &str, values: &BTreeMap<String, String>) -> String {
    let Some(expression) = text.strip_prefix("${{ ").and_then(|rest| rest.strip_suffix(" }}")) else {
        assert!(!text.contains("${{"), "{text}");
        return text.to_owned();
    };
    let name = expression.strip_prefix(prefix).unwrap_or_else(|| panic!("{text}: expected {prefix}"));
    values.get(name).unwrap_or_else(|| panic!("{text}: there is none of that name")).clone()
}

/// The inputs of a run: those given, and the defaults of the others.
fn inputs(action: &Value, given: &[(&str, &str)]) -> BTreeMap<String, String> {
    let declared = action["inputs"].as_object().unwrap();
    assert!(given.iter().all(|(name, _)| declared.contains_key(*name)), "{given:?}");
    let value = |(name, input): (&String, &Value)| {
        let given = given.iter().find(|(given, _)| given == name).map(|(_, value)| (*value).to_owned());
        let default = || input["default"].as_str().map(str::to_owned);
        let value = given.or_else(default).unwrap_or_else(|| panic!("{name} is required"));
        (name.clone(), value)
    };
    declared.iter().map(value).collect()
}

/// Runs the one step of the action in a workspace.
fn run_action(workspace: &Path, given: &[(&str, &str)], environment: &[(&str, &Path)]) -> Ran {
    let action = action();
    assert_eq!(action["runs"]["using"], "composite");
    let steps = action["runs"]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 1);
    let (step, inputs) = (&steps[0], inputs(action, given));
    // A shell would read what an expression gives as a part of its script.
    let script = step["run"].as_str().unwrap();
    assert!(!script.contains("${{"), "{script}");
    assert_eq!(step["shell"], "sh");
    let scratch = Scratch::new("action-runner");
    let files = ["script", "output", "summary"].map(|name| PathBuf::from(scratch.file(name, b"")));
    fs::write(&files[0], script).unwrap();
    let mut shell = Command::new("sh");
    shell.arg("-e").arg(&files[0]).current_dir(workspace);
    shell.env("GITHUB_ACTION_PATH", repository()).env("GITHUB_WORKSPACE", workspace);
    shell.env("GITHUB_OUTPUT", &files[1]).env("GITHUB_STEP_SUMMARY", &files[2]);
    shell.env("RUNNER_TEMP", scratch.path()).env_remove("DEBURR");
    for (name, value) in step["env"].as_object().unwrap() {
        shell.env(name, expanded(value.as_str().unwrap(), "inputs.", &inputs));
    }
    let output = ran(shell.envs(environment.iter().copied()));
    let written = fs::read_to_string(&files[1]).unwrap();
    let of_step: BTreeMap<String, String> = written
        .lines()
        .map(|line| line.split_once('=').unwrap_or_else(|| panic!("{line}")))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let declared = action["outputs"].as_object().unwrap();
    let of_action = |(name, value): (&String, &Value)| {
        (name.clone(), expanded(value["value"].as_str().unwrap(), "steps.check.outputs.", &of_step))
    };
    // A step that could not begin has written none.
    let outputs = if of_step.is_empty() { BTreeMap::new() } else { declared.iter().map(of_action).collect() };
    assert!(!workspace.join("pwned").exists() && !scratch.join("pwned").exists(), "{}", shown(&output));
    let summary = fs::read_to_string(&files[2]).unwrap();
    Ran { status: output.status.code(), log: shown(&output), summary, outputs }
}

/// The same, with the deburr under test.
fn checked(scratch: &Scratch, given: &[(&str, &str)]) -> Ran {
    run_action(scratch.path(), given, &[("DEBURR", deburr())])
}

fn sarif(scratch: &Scratch, name: &str) -> Vec<Value> {
    let text = fs::read(scratch.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let document: Value = serde_json::from_slice(&text).unwrap();
    document["runs"][0]["results"].as_array().unwrap().clone()
}

#[test]
fn a_wheel_that_breaks_its_claim_fails_the_step_and_is_annotated() {
    let scratch = Scratch::new("action");
    let name = format!("{ODD}/scale-1.0-py3-none-manylinux_2_28_x86_64.whl");
    wheel(&scratch, ODD, "manylinux_2_28_x86_64", V3);
    let ran = checked(&scratch, &[("path", &format!("{ODD}\n"))]);
    assert_eq!(ran.status, Some(1), "{}", ran.log);
    let annotation =
        format!("::error file={name}!scale.so,title=claim-exceeded::scale: claimed is x86-64-v1, ");
    assert_eq!(ran.log.matches(&annotation).count(), 1, "{}", ran.log);
    let expected = [("sarif", "deburr.sarif"), ("status", "1")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    assert_eq!(ran.outputs, BTreeMap::from(expected));
    let results = sarif(&scratch, "deburr.sarif");
    let broken = results.iter().filter(|result| result["ruleId"] == "claim-exceeded").count();
    assert_eq!((broken, &results[0]["level"]), (1, &"error".into()), "{results:?}");
    assert!(ran.summary.starts_with("### deburr: findings at or above error\n\n    "), "{}", ran.summary);
    assert!(ran.summary.contains("\n      error[claim-exceeded] 1 finding\n"), "{}", ran.summary);
    // No line of it but the heading is markup.
    let lines: Vec<&str> = ran.summary.lines().skip(1).collect();
    assert!(lines.iter().all(|line| line.is_empty() || line.starts_with("    ")), "{}", ran.summary);
}

#[test]
fn what_keeps_its_claim_passes_by_patterns_too_and_what_is_absent_is_status_2() {
    let scratch = Scratch::new("action-clean");
    wheel(&scratch, "dist", "manylinux_2_28_x86_64", V1);
    wheel(&scratch, "dist", "linux_x86_64", V1);
    let ran = checked(&scratch, &[("path", "dist/*.whl"), ("sarif", "reports/of deburr.sarif")]);
    assert_eq!(ran.status, Some(0), "{}", ran.log);
    assert!(ran.log.contains("2 files checked: no findings"), "{}", ran.log);
    assert_eq!(
        (ran.outputs["sarif"].as_str(), ran.outputs["status"].as_str()),
        ("reports/of deburr.sarif", "0")
    );
    assert!(sarif(&scratch, "reports/of deburr.sarif").is_empty());
    assert!(ran.summary.starts_with("### deburr: nothing at or above error\n"), "{}", ran.summary);
    let ran = checked(&scratch, &[("path", "dist/*.deb"), ("sarif", "")]);
    assert_eq!(ran.status, Some(2), "{}", ran.log);
    assert_eq!((ran.outputs["sarif"].as_str(), ran.outputs["status"].as_str()), ("", "2"));
    assert!(ran.log.contains("dist/*.deb: no such file or directory"), "{}", ran.log);
    assert!(ran.summary.starts_with("### deburr: something could not be checked\n"), "{}", ran.summary);
}

#[test]
fn inputs_are_options_and_no_input_is_a_command() {
    let scratch = Scratch::new("action-inputs");
    library(&scratch, "bin/scale.so", V3);
    let levels = [("path", "bin"), ("baseline", "x86-64-v2 armv8.0-a"), ("target", "x86-64-v2 neoverse-n1")];
    let ran = checked(&scratch, &levels);
    assert_eq!(ran.status, Some(1), "{}", ran.log);
    assert!(ran.log.contains("title=above-baseline::"), "{}", ran.log);
    let given = [("path", "bin"), ("baseline", ""), ("arguments", "--verbose\n--ignore isa-note-missing")];
    let ran = checked(&scratch, &given);
    assert_eq!(ran.status, Some(0), "{}", ran.log);
    assert!(ran.log.contains("x86_64, needs x86-64-v3") && !ran.log.contains("title="), "{}", ran.log);
    let has_note = |select: &str| {
        let ran = checked(&scratch, &[("path", "bin"), ("baseline", ""), ("select", select)]);
        ran.log.contains("title=isa-note-missing::")
    };
    let selects = ["", "isa-note-missing llsc-loop", "above-baseline,claim-exceeded"];
    assert_eq!(selects.map(has_note), [true, true, false]);
    let ran = checked(&scratch, &[("path", "bin"), ("baseline", "x86-64-v1"), ("fail-on", "never")]);
    assert_eq!((ran.status, ran.outputs["status"].as_str()), (Some(0), "0"), "{}", ran.log);
    for name in ["baseline", "select", "fail-on", "target", "arguments", "version", "sarif"] {
        let ran = checked(&scratch, &[("path", "bin"), (name, ODD)]);
        let expected = if matches!(name, "version" | "sarif") { 0 } else { 2 };
        assert_eq!(ran.status, Some(expected), "{name}: {}", ran.log);
    }
    let ran = checked(&scratch, &[("path", "bin"), ("sarif", "a\nstatus=0")]);
    assert_eq!((ran.status, ran.outputs.len()), (Some(2), 0), "{}", ran.log);
}

#[test]
fn names_of_files_are_no_workflow_commands() {
    let scratch = Scratch::new("action-names");
    library(&scratch, "::warning::x", V1);
    let ran = checked(&scratch, &[("path", "::warning::x"), ("arguments", "--verbose")]);
    assert_eq!(ran.status, Some(0), "{}", ran.log);
    let token = ran.log.lines().find_map(|line| line.strip_prefix("::stop-commands::")).unwrap();
    let (stopped, after) = ran.log.split_once(&format!("\n::{token}::\n")).unwrap();
    assert!(token.len() == 32 && stopped.contains("\n::warning::x"), "{}", ran.log);
    assert!(!after.contains("::warning::x"), "{}", ran.log);
}

#[test]
fn annotations_are_no_more_than_a_step_may_show() {
    let scratch = Scratch::new("action-many");
    let functions: String =
        (0..14).map(|n| format!("double f{n}(double a, double b) {{ return a * b + {n}; }}\n")).collect();
    let source = scratch.file("many.c", functions.as_bytes());
    let mut compile = Command::new("clang");
    compile.args(["--target=x86_64-linux-gnu", "-O2", "-march=x86-64-v3", "-c", &source, "-o"]);
    run(compile.arg(scratch.join("many.o")));
    let ran = checked(&scratch, &[("path", "many.o"), ("baseline", "x86-64-v1")]);
    assert_eq!(ran.status, Some(1), "{}", ran.log);
    let shown = ran.log.lines().filter(|line| line.starts_with("::error ")).count();
    assert_eq!((shown, sarif(&scratch, "deburr.sarif").len()), (10, 14), "{}", ran.log);
    // The script counts results by lines.
    let text = fs::read_to_string(scratch.join("deburr.sarif")).unwrap();
    assert_eq!(text.lines().filter(|line| line.contains("\"ruleId\"")).count(), 14);
    assert!(ran.log.contains("10 annotations of a step: 4 more are in the summary"), "{}", ran.log);
}

/// A deburr that writes so much SARIF: random, which does not compress, or many results.
fn writes(scratch: &Scratch, what: &str) -> PathBuf {
    let script = format!(
        "#!/bin/sh\nfor it; do case $it in sarif=*) file=${{it#sarif=}} ;; esac; done\n{what} >\"$file\"\n"
    );
    let program = PathBuf::from(scratch.file("deburr-that-writes", script.as_bytes()));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}

#[test]
fn a_sarif_file_that_github_would_refuse_or_cut_is_said_in_one_line() {
    let scratch = Scratch::new("action-large");
    let large = writes(&scratch, "head -c 10600000 /dev/urandom");
    let ran = run_action(scratch.path(), &[("path", ".")], &[("DEBURR", &large)]);
    let said: Vec<&str> = ran.log.lines().filter(|line| line.starts_with("::warning ")).collect();
    assert_eq!((ran.status, said.len()), (Some(0), 1), "{}", ran.log);
    assert!(said[0].contains(" bytes when compressed, and GitHub takes 10 MB: select rules"), "{}", said[0]);
    let many = writes(&scratch, "yes '\"ruleId\"' | head -n 5001");
    let ran = run_action(scratch.path(), &[("path", ".")], &[("DEBURR", &many)]);
    let said: Vec<&str> = ran.log.lines().filter(|line| line.starts_with("::notice ")).collect();
    assert_eq!((ran.status, said.len()), (Some(0), 1), "{}", ran.log);
    assert!(
        said[0].contains("has 5001 results, of which code scanning shows the 5,000 most severe"),
        "{}",
        said[0]
    );
    let most = writes(&scratch, "yes '\"ruleId\"' | head -n 5000");
    let ran = run_action(scratch.path(), &[("path", ".")], &[("DEBURR", &most)]);
    assert!(!ran.log.contains("title=deburr"), "{}", ran.log);
}

/// Runs the action on a wheel that breaks its claim, with the deburr that pip has: of this release.
fn by_pip(given: &[(&str, &str)]) -> Ran {
    let scratch = Scratch::new("action-pip");
    let index = deburr_wheel(&scratch, env!("CARGO_PKG_VERSION"));
    wheel(&scratch, "dist", "linux_x86_64", V3);
    let offline = [("PIP_FIND_LINKS", index.as_path()), ("PIP_NO_INDEX", Path::new("1"))];
    run_action(scratch.path(), &[&[("path", "dist")], given].concat(), &offline)
}

#[test]
fn pip_installs_the_version_of_this_release() {
    let ran = by_pip(&[]);
    assert_eq!((ran.status, ran.outputs["status"].as_str()), (Some(1), "1"), "{}", ran.log);
    assert!(ran.log.contains("title=claim-exceeded::"), "{}", ran.log);
    let ran = by_pip(&[("version", ODD)]);
    assert_eq!((ran.status, ran.outputs.len()), (Some(2), 0), "{}", ran.log);
    assert!(ran.log.contains("::error title=deburr::version: expected one such as"), "{}", ran.log);
}

#[test]
#[ignore = "makes one more virtual environment; `cargo xtask nightly` runs it"]
fn a_version_that_pip_does_not_have_is_said() {
    let ran = by_pip(&[("version", "99.0")]);
    assert_eq!((ran.status, ran.outputs.len()), (Some(2), 0), "{}", ran.log);
    assert!(ran.log.contains("::error title=deburr::pip could not install deburr 99.0\n"), "{}", ran.log);
}
