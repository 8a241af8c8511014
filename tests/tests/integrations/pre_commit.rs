//! `.pre-commit-hooks.yaml` and the hook of docs/how-to/integrations.md, with the real pre-commit.

use crate::fixture::{V1, V3, deburr_wheel, environment, library, path_with_deburr, ran, shown, wheel};
use deburr_test_support::Scratch;
use deburr_tests::toolchain::{repository, require, run};
use std::fs;
use std::path::Path;
use std::process::Command;

fn git(folder: &Path, arguments: &[&str]) {
    require("git");
    let mut git = Command::new("git");
    git.args(["-c", "user.name=Some One", "-c", "user.email=some.one@example.org"]).arg("-C").arg(folder);
    run(git.args(arguments));
}

/// A repository with one commit of these files.
fn commit(folder: &Path, files: &[(&str, &[u8])]) {
    fs::create_dir_all(folder).unwrap();
    git(folder, &["init", "-q"]);
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).unwrap();
    }
    git(folder, &["add", "."]);
    git(folder, &["commit", "-q", "-m", "First"]);
}

/// pre-commit in a project, on all of its files: whether the hook passed, and what is shown.
fn pre_commit(tools: &Path, project: &Path, scratch: &Scratch, arguments: &[&str]) -> (bool, String) {
    git(project, &["add", "."]);
    let mut pre_commit = Command::new(tools.join("pre-commit"));
    pre_commit.args(arguments).current_dir(project).env("PATH", path_with_deburr());
    let output = ran(pre_commit
        .env("PRE_COMMIT_HOME", scratch.join("home"))
        .env("PIP_FIND_LINKS", scratch.join("index")));
    (output.status.success(), shown(&output))
}

#[test]
#[ignore = "fetches packages of PyPI; `cargo xtask nightly` runs it"]
fn the_hook_refuses_a_library_that_not_every_machine_runs() {
    let tools = environment("pre-commit", &["pre-commit"]);
    let scratch = Scratch::new("pre-commit");
    let [hooks, project] = ["hooks", "project"].map(|name| scratch.join(name));
    let file = ".pre-commit-hooks.yaml";
    commit(&hooks, &[(file, &fs::read(repository().join(file)).unwrap())]);
    // What is no machine code is not for deburr, which would say so and fail.
    commit(
        &project,
        &[("notes.txt", b"text\n"), ("a.png", b"\x89PNG\r\n\x1a\n\0"), ("a.sqlite", b"SQLite\0")],
    );
    let arguments = ["try-repo", hooks.to_str().unwrap(), "deburr", "--all-files", "--verbose"];
    let run = || pre_commit(&tools, &project, &scratch, &arguments);
    let (passed, text) = run();
    assert!(passed && text.contains("(no files to check)Skipped"), "{text}");
    library(&scratch, "project/libscale.so.1", V1);
    library(&scratch, "project/prog", V1);
    fs::remove_file(scratch.join("scale.c")).unwrap();
    let (passed, text) = run();
    assert!(passed && text.contains("2 files checked: no findings"), "{text}");
    library(&scratch, "project/libscale.so.1", V3);
    let (passed, text) = run();
    assert!(!passed && text.contains("exit code: 1"), "{text}");
    assert!(text.contains("error[above-baseline] 1 finding") && text.contains("libscale.so.1"), "{text}");
}

/// The block of docs/how-to/integrations.md that has a hook of its own.
fn documented() -> String {
    let text = fs::read_to_string(repository().join("docs/how-to/integrations.md")).unwrap();
    let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut local = blocks.filter(|block| block.contains("repo: local"));
    local.next().expect("a hook of `repo: local`").to_owned()
}

#[test]
#[ignore = "fetches packages of PyPI; `cargo xtask nightly` runs it"]
fn the_hook_of_the_documentation_takes_deburr_from_pip() {
    let tools = environment("pre-commit", &["pre-commit"]);
    let scratch = Scratch::new("pre-commit-local");
    let config = documented();
    let version = env!("CARGO_PKG_VERSION");
    assert!(config.contains(&format!("deburr=={version}")), "{config}");
    deburr_wheel(&scratch, version);
    let project = scratch.join("project");
    commit(&project, &[(".pre-commit-config.yaml", config.as_bytes())]);
    let arguments = ["run", "--all-files", "--verbose"];
    wheel(&scratch, "project", "manylinux_2_28_x86_64", V1);
    let (passed, text) = pre_commit(&tools, &project, &scratch, &arguments);
    assert!(passed && text.contains("1 file checked: no findings"), "{text}");
    wheel(&scratch, "project", "manylinux_2_28_x86_64", V3);
    let (passed, text) = pre_commit(&tools, &project, &scratch, &arguments);
    assert!(!passed && text.contains("error[claim-exceeded] 1 finding"), "{text}");
}
