//! Wheels from PyPI, before and after `patch`: every library in them is rewritten, and Debian's Python for arm64 runs a
//! small test of each under the emulator, with both forms.

use deburr_patch::{PlanRequest, plan};
use deburr_tests::package::{elf_files, fetch};
use deburr_tests::rewrite::{rewrite, with_lse};
use deburr_tests::toolchain::{repository, require, run, work_dir};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian 12's; the wheels below exist for it.
const PYTHON: &str = "python3.11";
/// What Python and the wheels need to start.
const PACKAGES: [&str; 14] = [
    "libc6",
    "libgcc-s1",
    "libstdc++6",
    "zlib1g",
    "libexpat1",
    "libffi8",
    "libssl3",
    "libbz2-1.0",
    "liblzma5",
    "libuuid1",
    "python3.11-minimal",
    "libpython3.11-minimal",
    "libpython3.11-stdlib",
    "libcrypt1",
];

/// A folder in which Debian's Python for arm64 finds all that it needs.
fn system(dir: &Path) -> PathBuf {
    let root = dir.join("system");
    fs::create_dir(&root).expect("a writable folder");
    for package in PACKAGES {
        let (_, unpacked) = fetch("arm64", &[package]);
        run(Command::new("cp").arg("-a").arg(unpacked.join(".")).arg(&root));
    }
    root
}

/// What a script says with the packages of a folder.
fn output(system: &Path, packages: &Path, script: &str) -> String {
    require("qemu-aarch64");
    require("timeout");
    let mut python = Command::new("timeout");
    python.args(["900", "qemu-aarch64", "-cpu", "max", "-L"]).arg(system);
    python.arg(system.join("usr/bin").join(PYTHON)).arg(repository().join("tests/patched").join(script));
    python.env("PYTHONPATH", packages).env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONHASHSEED", "0");
    run(&mut python)
}

/// Rewrites all libraries of some wheels, and runs a script with both forms.
fn hold(test: &str, wheels: &[&str], script: &str) {
    let dir = work_dir(test);
    let (system, original, patched) = (system(&dir), dir.join("original"), dir.join("patched"));
    require("python3");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--only-binary", ":all:"]);
    pip.args(["--implementation", "cp", "--python-version", PYTHON.trim_start_matches("python")]);
    pip.args(["--platform", "manylinux2014_aarch64", "--platform", "manylinux_2_17_aarch64"]);
    run(pip.arg("--target").arg(&original).args(wheels));
    run(Command::new("cp").arg("-R").arg(&original).arg(&patched));
    let (mut sites, mut refusals) = (BTreeMap::<&str, usize>::new(), BTreeMap::new());
    for file in elf_files(&patched) {
        let bytes = fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        // Other machines' files come in wheels, too.
        if plan(&bytes, &PlanRequest::default()).is_err() {
            continue;
        }
        let rewritten = rewrite(&file, Some(with_lse()));
        for (reason, places) in rewritten.refusals() {
            *refusals.entry(reason).or_insert(0) += places.len();
        }
        if rewritten.patched == file {
            continue;
        }
        rewritten.assert_sites_are_clean();
        for site in &rewritten.plan.sites {
            *sites.entry(site.rule).or_default() += 1;
        }
        fs::rename(&rewritten.patched, &file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    println!("{wheels:?}: {sites:?} planned, left {refusals:#?}");
    assert!(sites.values().sum::<usize>() > 50);
    let said = output(&system, &original, script);
    println!("{said}");
    assert_eq!(said, output(&system, &patched, script));
    assert!(said.contains("faults []"), "{said}");
}

#[test]
#[ignore = "downloads 60 MB; `cargo xtask nightly` runs it"]
fn numpy_and_scipy_compute_the_same_when_patched() {
    hold("wheels-arrays", &["numpy==1.23.5", "scipy==1.9.3"], "arrays.py");
}

#[test]
#[ignore = "downloads 20 MB; `cargo xtask nightly` runs it"]
fn cryptography_enciphers_the_same_when_patched() {
    hold("wheels-ciphers", &["cryptography==35.0.0", "cffi==1.15.1", "pycparser==2.21"], "ciphers.py");
}
