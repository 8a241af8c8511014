//! Node.js from PyPI and two builds of swc from npm, before and after `patch`, under the emulator.

use deburr_tests::rewrite::{Rewritten, rewrite, with_lse};
use deburr_tests::toolchain::{repository, require, run, work_dir};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program of `nodejs_bin` 16.15.1, built with atomics inline.
fn node(dir: &Path) -> PathBuf {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--only-binary", ":all:"]);
    pip.args(["--platform", "manylinux2014_aarch64", "--platform", "manylinux_2_17_aarch64"]);
    run(pip.arg("--target").arg(dir).arg("nodejs_bin==16.15.1a4"));
    dir.join("nodejs/bin/node")
}

/// The library of a package of npm.
fn library(dir: &Path, package: &str, name: &str) -> PathBuf {
    let printed = run(Command::new("npm").current_dir(dir).args(["pack", "--silent", package]));
    let archive = dir.join(printed.lines().last().unwrap_or_default());
    run(Command::new("tar").arg("-C").arg(dir).arg("-xzf").arg(archive));
    dir.join("package").join(name)
}

/// What a script says, run by a form of Node.js.
fn output(node: &Path, script: &str, arguments: &[&Path]) -> String {
    let mut command = Command::new("timeout");
    command.args(["900", "qemu-aarch64", "-cpu", "max", "-L", "/usr/aarch64-linux-gnu"]).arg(node);
    run(command.arg(repository().join("tests/patched").join(script)).args(arguments))
}

fn assert_most_loops_are_rewritten(rewritten: &Rewritten, at_least: usize) {
    rewritten.assert_sites_are_clean();
    let planned = rewritten.plan.sites.iter().filter(|site| site.rule == "llsc-loop").count();
    println!("{}: {planned} loops", rewritten.original.display());
    assert!(planned >= at_least, "{planned} loops: {:?}", rewritten.refusals());
}

#[test]
#[ignore = "downloads 60 MB, minutes of emulation; `cargo xtask nightly` runs it"]
fn node_and_swc_do_the_same_when_patched() {
    for tool in ["python3", "npm", "tar", "qemu-aarch64", "timeout", "aarch64-linux-gnu-g++"] {
        require(tool);
    }
    let dir = work_dir("node");
    let program = rewrite(&node(&dir), Some(with_lse()));
    assert_most_loops_are_rewritten(&program, 6_800);
    let said = output(&program.original, "threads.js", &[]);
    println!("{said}");
    assert!(said.starts_with("60000 -120000n 0 0 5\n"), "{said}");
    assert_eq!(said, output(&program.patched, "threads.js", &[]));
    for (package, name, at_least) in [
        ("@next/swc-linux-arm64-gnu@12.0.0", "next-swc.linux-arm64-gnu.node", 35_300),
        ("@swc/core-linux-arm64-gnu@1.2.50", "swc.linux-arm64-gnu.node", 3_500),
    ] {
        let library = rewrite(&library(&dir, package, name), Some(with_lse()));
        assert_most_loops_are_rewritten(&library, at_least);
        let said = output(&program.original, "transform.js", &[&library.original]);
        println!("{said}");
        assert_eq!(said.lines().count(), 5, "{said}");
        // What Node.js loads has its ending.
        let patched = library.patched.with_extension("patched.node");
        fs::rename(&library.patched, &patched).expect("a file of ours");
        assert_eq!(said, output(&program.patched, "transform.js", &[&patched]));
    }
}
