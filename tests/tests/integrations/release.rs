//! What `scripts/build-packages` makes for a release: each file is checked by deburr itself, installed by the tool that it is for,
//! and run; the command for AArch64 runs under qemu-user.

use crate::fixture::{names, ran, shown};
use deburr_test_support::Scratch;
use deburr_tests::toolchain::{repository, require, run, target_dir};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Maximum of bytes of a wheel.
const WHEEL: u64 = 15 << 20;

/// The files of a release for both architectures: those in the folder that `DEBURR_RELEASE` names, or new ones.
fn release() -> PathBuf {
    if let Some(files) = std::env::var_os("DEBURR_RELEASE") {
        return files.into();
    }
    require("aarch64-linux-gnu-gcc");
    let files = target_dir().join("release-files-tested");
    let _ = fs::remove_dir_all(&files);
    run(Command::new(repository().join("scripts/build-packages")).arg("--out").arg(&files));
    files
}

/// The one file of a release whose name ends, and holds an architecture, so.
fn one(files: &Path, arch: &str, end: &str) -> PathBuf {
    let found: Vec<String> =
        names(files).into_iter().filter(|name| name.ends_with(end) && name.contains(arch)).collect();
    assert_eq!(found.len(), 1, "{end} of {arch}: {found:?}");
    files.join(&found[0])
}

/// The command in the archive for an architecture, and what runs it here.
fn unpacked(scratch: &Scratch, files: &Path, arch: &str) -> PathBuf {
    let to = scratch.join(arch);
    fs::create_dir_all(&to).unwrap();
    run(Command::new("tar")
        .args(["--strip-components=1", "-xzf"])
        .arg(one(files, arch, ".tar.gz"))
        .arg("-C")
        .arg(&to));
    for file in [
        "deburr.1.gz",
        "README.md",
        "LICENSE-MIT",
        "completions/deburr",
        "completions/_deburr",
        "completions/deburr.fish",
    ] {
        assert!(to.join(file).is_file(), "{file} is missing in the archive for {arch}");
    }
    to.join("deburr")
}

/// The exit status of a command, and what it prints.
fn finished(command: &mut Command) -> (Option<i32>, String) {
    let output = ran(command);
    (output.status.code(), shown(&output))
}

/// The report on the samples of the repository, without what differs by machine.
fn report(command: &mut Command) -> String {
    let samples = repository().join("crates/deburr-core/fixtures");
    let output = ran(command.args(["check", "--format", "json", "--quiet"]).arg(samples));
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[ignore = "builds four programs and two modules, and installs them: twenty minutes"]
fn a_release_installs_and_runs_where_it_says() {
    let scratch = Scratch::new("release");
    let files = release();
    run(Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(&files));

    // Each keeps its own promise: no error for what its tags, its architecture or its header says.
    let own = unpacked(&scratch, &files, "x86_64");
    let packages = names(&files)
        .into_iter()
        .filter(|name| [".whl", ".deb", ".rpm"].iter().any(|end| name.ends_with(end)));
    let packages: Vec<PathBuf> = packages.map(|name| files.join(name)).collect();
    assert_eq!(packages.len(), 8);
    for package in &packages {
        let (status, text) = finished(
            Command::new(&own).args(["check", "--baseline", "claim", "--fail-on", "error"]).arg(package),
        );
        assert_eq!(status, Some(0), "{}: {text}", package.display());
        assert!(text.contains("  claims "), "{}: {text}", package.display());
    }

    // The same command in both, and one static binary each: it runs in a root that holds nothing else.
    let foreign = unpacked(&scratch, &files, "aarch64");
    let natively = report(&mut Command::new(&own));
    let emulated = report(Command::new("qemu-aarch64").arg(&foreign));
    assert!(natively.len() > 100_000 && natively == emulated, "the reports of both architectures differ");
    let root = scratch.join("root");
    fs::create_dir_all(&root).unwrap();
    fs::copy(&own, root.join("deburr")).unwrap();
    fs::copy(repository().join("crates/deburr-core/fixtures/llsc_loop/hit-cas.o"), root.join("sample.o"))
        .unwrap();
    let (status, text) =
        finished(Command::new("unshare").args(["--map-root-user", "--root"]).arg(&root).args([
            "/deburr",
            "check",
            "-q",
            "/sample.o",
        ]));
    assert!(status == Some(1) && text.contains("llsc-loop"), "{text}");

    by_pip(&scratch, &files);
    by_dpkg(&scratch, &files);
    by_rpm(&scratch, &files);
    let materials = fs::read_to_string(one(&files, "", ".cdx.json")).unwrap();
    let materials: serde_json::Value = serde_json::from_str(&materials).unwrap();
    let named: Vec<&str> =
        materials["components"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert!(["object", "iced-x86", "clap", "batsat"].iter().all(|name| named.contains(name)), "{named:?}");
}

/// pip installs the command into an environment of its own, then the module with it by the extra, and removes them.
fn by_pip(scratch: &Scratch, files: &Path) {
    for arch in ["x86_64", "aarch64"] {
        for distribution in ["deburr-", "deburr_module-"] {
            let wheels =
                names(files).into_iter().filter(|name| name.ends_with(".whl") && name.contains(arch));
            let own: Vec<String> = wheels.filter(|name| name.starts_with(distribution)).collect();
            assert_eq!(own.len(), 1, "{distribution} for {arch}: {own:?}");
            assert!(own[0].contains("manylinux_2_17"), "{own:?}");
            let bytes = fs::metadata(files.join(&own[0])).unwrap().len();
            assert!(bytes <= WHEEL, "{} has {bytes} bytes", own[0]);
        }
    }
    let environment = scratch.join("venv");
    run(Command::new("python3").args(["-m", "venv"]).arg(&environment));
    let pip = |words: &[&str]| run(Command::new(environment.join("bin/pip")).arg("--quiet").args(words));
    let python = |code: &str| finished(Command::new(environment.join("bin/python")).args(["-c", code]));
    let found = format!("--find-links={}", files.display());
    pip(&["install", "--no-index", &found, "deburr"]);
    let installed = environment.join("bin/deburr");
    assert!(run(Command::new(&installed).arg("--version")).starts_with("deburr "));
    let (_, text) = python("import deburr");
    assert!(text.contains("No module named 'deburr'"), "the command's distribution has no module: {text}");
    pip(&["install", "--no-index", &found, "deburr[module]"]);
    let sample = repository().join("crates/deburr-core/fixtures/llsc_loop/hit-cas.o");
    let code = "import deburr, sys; print([one.rule for one in deburr.check(sys.argv[1]).files[0].findings])";
    let checked = run(Command::new(environment.join("bin/python")).args(["-c", code]).arg(sample));
    assert!(checked.contains("llsc-loop"), "{checked}");
    pip(&["uninstall", "--yes", "deburr", "deburr-module"]);
    assert!(!installed.exists() && python("import deburr").1.contains("No module named"));
}

/// dpkg installs the package into a root of its own, and removes it.
fn by_dpkg(scratch: &Scratch, files: &Path) {
    let root = scratch.join("dpkg");
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    let dpkg = || {
        let mut command = Command::new("fakeroot");
        command
            .arg("dpkg")
            .arg(format!("--root={}", root.display()))
            .arg("--force-not-root")
            .arg("--log=/dev/null");
        command
    };
    require("fakeroot");
    run(dpkg().arg("--install").arg(one(files, "amd64", ".deb")));
    let installed = root.join("usr/bin/deburr");
    assert!(run(Command::new(&installed).arg("--version")).starts_with("deburr "));
    assert!(root.join("usr/share/bash-completion/completions/deburr").is_file());
    run(dpkg().args(["--remove", "deburr"]));
    assert!(!installed.exists());
}

/// rpm installs the package into a root of its own, and erases it.
fn by_rpm(scratch: &Scratch, files: &Path) {
    require("rpm");
    let (root, package) = (scratch.join("rpm"), one(files, "x86_64", ".rpm"));
    let rpm = || {
        let mut command = Command::new("fakeroot");
        command.arg("rpm").arg(format!("--root={}", root.display())).arg("--nodeps");
        command
    };
    run(rpm().arg("--install").arg(&package));
    let installed = root.join("usr/bin/deburr");
    assert!(fs::metadata(&installed).unwrap().permissions().mode() & 0o111 != 0);
    assert!(run(Command::new(&installed).arg("--version")).starts_with("deburr "));
    run(rpm().args(["--erase", "deburr"]));
    assert!(!installed.exists());
}
