//! What the tests of integrations share: libraries for a level, wheels and folders of Python's tools, deburr and its output.

use deburr_test_support::Scratch;
use deburr_tests::command::deburr;
use deburr_tests::toolchain::{repository, require, run, target_dir};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

/// x86-64's first level, and its third, as compilers name them.
pub(crate) const V1: &str = "x86-64";
pub(crate) const V3: &str = "x86-64-v3";

/// The loop of each library: with the third level every instruction of it on floating-point numbers is of AVX.
const SCALE: &str = "double scale(const double *from, long n) {
    double sum = 0;
    for (long i = 0; i < n; i++) sum += from[i] * 3;
    return sum;
}
";

/// A shared library for x86-64 that is compiled for a level, whatever the machine is.
pub(crate) fn library(scratch: &Scratch, name: &str, level: &str) -> PathBuf {
    require("clang");
    require("ld.lld");
    let source = scratch.file("scale.c", SCALE.as_bytes());
    let library = scratch.join(name);
    fs::create_dir_all(library.parent().unwrap()).unwrap();
    let mut compile = Command::new("clang");
    compile.args(["--target=x86_64-linux-gnu", "-O2", "-fPIC", "-shared", "-nostdlib", "-fuse-ld=lld"]);
    run(compile.arg(format!("-march={level}")).arg(source).arg("-o").arg(&library));
    library
}

/// A wheel by Python's `zipfile`, which holds a library and what the name says of it. Returns its path.
pub(crate) fn wheel(scratch: &Scratch, folder: &str, tag: &str, level: &str) -> PathBuf {
    let content = format!("content-{tag}-{level}");
    library(scratch, &format!("{content}/scale.so"), level);
    let about = format!("Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n");
    scratch.file(&format!("{content}/scale-1.0.dist-info/WHEEL"), about.as_bytes());
    let about = b"Metadata-Version: 2.1\nName: scale\nVersion: 1.0\n";
    scratch.file(&format!("{content}/scale-1.0.dist-info/METADATA"), about);
    scratch.file(&format!("{content}/scale-1.0.dist-info/RECORD"), b"");
    zip(scratch, &content, &format!("{folder}/scale-1.0-py3-none-{tag}.whl"))
}

/// The wheel by which pip installs the deburr under test: a program in `scripts`, as in wheels that hold programs. Returns its folder.
pub(crate) fn deburr_wheel(scratch: &Scratch, version: &str) -> PathBuf {
    let content = "content-deburr";
    let about = format!("deburr-{version}.dist-info");
    let program = format!("#!/bin/sh\nexec '{}' \"$@\"\n", deburr().display());
    for (name, text) in [
        (format!("deburr-{version}.data/scripts/deburr"), program.as_str()),
        (format!("{about}/WHEEL"), "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
        (format!("{about}/METADATA"), &format!("Metadata-Version: 2.1\nName: deburr\nVersion: {version}\n")),
        (format!("{about}/RECORD"), ""),
    ] {
        scratch.file(&format!("{content}/{name}"), text.as_bytes());
    }
    let program = scratch.join(format!("{content}/deburr-{version}.data/scripts/deburr"));
    run(Command::new("chmod").arg("+x").arg(program));
    zip(scratch, content, &format!("index/deburr-{version}-py3-none-any.whl"));
    scratch.join("index")
}

/// Packs what is in a folder, by Python's `zipfile`.
fn zip(scratch: &Scratch, content: &str, name: &str) -> PathBuf {
    require("python3");
    let archive = scratch.join(name);
    fs::create_dir_all(archive.parent().unwrap()).unwrap();
    let names: Vec<String> = names(&scratch.join(content));
    let mut zip = Command::new("python3");
    zip.args(["-m", "zipfile", "-c"]).arg(&archive).args(names).current_dir(scratch.join(content));
    run(&mut zip);
    archive
}

/// The names in a folder, in order.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The only file in a folder, except hidden ones.
pub(crate) fn only(folder: &Path) -> PathBuf {
    let mut names = names(folder);
    names.retain(|name| !name.starts_with('.'));
    assert_eq!(names.len(), 1, "{}: {names:?}", folder.display());
    folder.join(&names[0])
}

/// Runs a program of a test to its end, whatever its status.
pub(crate) fn ran(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Both outputs of a command, for messages and for what a tool shows of either.
pub(crate) fn shown(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// `deburr check --baseline claim`: its exit status, and what it shows.
pub(crate) fn check(path: &Path, options: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(deburr());
    command.args(["check", "--baseline", "claim"]).args(options).arg(path);
    let output = ran(&mut command);
    (output.status.code(), shown(&output))
}

/// A copy of a folder of the repository, since builds write next to their sources.
pub(crate) fn copy(from: &str, to: &Path) {
    let from = repository().join(from);
    run(Command::new("cp").arg("-r").arg(from).arg(to));
}

/// The search path with deburr on it.
pub(crate) fn path_with_deburr() -> String {
    let folder = deburr().parent().unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

/// The folder of programs of a virtual environment with packages of PyPI, which is kept for the next run.
pub(crate) fn environment(name: &str, packages: &[&str]) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    require("python3");
    let folder = target_dir().join("real").join(format!("python-{name}"));
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder));
    let mut pip = Command::new(folder.join("bin/pip"));
    run(pip.args(["install", "-q", "--disable-pip-version-check"]).args(packages));
    folder.join("bin")
}
