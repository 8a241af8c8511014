//! Programs in Rust and in Go for AArch64, by compilers that need not be the ones that build deburr.

use crate::package::fetch;
use crate::toolchain::{require, run, work_dir};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's rustc with its standard library for arm64, through apt: the toolchain that builds deburr need not have that target.
/// Returns the compiler, its libraries and the sysroot.
fn rust_for_arm64(dir: &Path) -> (PathBuf, String, PathBuf) {
    let host = run(Command::new("dpkg").arg("--print-architecture")).trim().to_owned();
    let (_, rustc) = fetch(&host, &["rustc"]);
    let versions = ["1.63", "1.75", "1.80", "1.85", "1.86", "1.87", "1.88", "1.89", "1.90"];
    let libraries: Vec<String> = versions.iter().map(|version| format!("libstd-rust-{version}")).collect();
    let libraries: Vec<&str> = libraries.iter().map(String::as_str).collect();
    let (_, libstd) = fetch(&host, &libraries);
    let llvm = ["libllvm14", "libllvm17", "libllvm18", "libllvm19", "libllvm20"];
    let (_, libllvm) = fetch(&host, &llvm);
    let (_, target) = fetch("arm64", &["libstd-rust-dev"]);
    let sysroot = dir.join("sysroot");
    std::fs::create_dir_all(&sysroot).expect("a writable folder");
    std::os::unix::fs::symlink(target.join("usr/lib"), sysroot.join("lib")).expect("a writable folder");
    let folders =
        [&libstd, &libllvm].map(|root| root.join("usr/lib").join(triplet(&host)).display().to_string());
    (rustc.join("usr/bin/rustc"), folders.join(":"), sysroot)
}

fn triplet(architecture: &str) -> &'static str {
    if architecture == "arm64" { "aarch64-linux-gnu" } else { "x86_64-linux-gnu" }
}

/// Compiles a source for AArch64 by Debian's rustc, all in one codegen unit. Returns its version, and where the output lies.
///
/// # Panics
/// If a package cannot be had or the compiler refuses.
pub fn rustc_for_arm64(dir: &Path, source: (&str, &str), flags: &[&str]) -> (String, PathBuf) {
    let (name, text) = source;
    let (rustc, libraries, sysroot) = rust_for_arm64(dir);
    let path = dir.join(format!("{name}.rs"));
    fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut compile = Command::new(&rustc);
    compile.env("LD_LIBRARY_PATH", &libraries).arg("--sysroot").arg(sysroot);
    compile.args(["--target", "aarch64-unknown-linux-gnu", "-Ccodegen-units=1"]).args(flags);
    run(compile.arg(path).arg("-o").arg(dir.join(name)));
    let told = run(Command::new(rustc).env("LD_LIBRARY_PATH", libraries).arg("--version"));
    (told.split_whitespace().nth(1).unwrap_or_default().to_owned(), dir.join(name))
}

const SERVER: &str = r#"package main

import (
	"fmt"
	"net/http"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, r.URL.Path) })
	fmt.Println(http.ListenAndServe("127.0.0.1:0", nil))
}
"#;

/// A small web server for AArch64, built by that version of Go.
///
/// # Panics
/// If there is no Go, or it cannot fetch that version.
pub fn go_server(test: &str, toolchain: &str, flags: &[&str], is_cgo: bool) -> PathBuf {
    require("go");
    let dir = work_dir(test);
    std::fs::write(dir.join("main.go"), SERVER).expect("the work folder can be written");
    std::fs::write(dir.join("go.mod"), "module server\n\ngo 1.19\n").expect("the work folder can be written");
    let mut build = Command::new("go");
    build.current_dir(&dir).args(["build", "-o", "server"]).args(flags);
    build.envs([("GOARCH", "arm64"), ("GOOS", "linux"), ("GOTOOLCHAIN", toolchain), ("GOFLAGS", "")]);
    if is_cgo {
        require("aarch64-linux-gnu-gcc");
        build.envs([("CGO_ENABLED", "1"), ("CC", "aarch64-linux-gnu-gcc")]);
    } else {
        build.env("CGO_ENABLED", "0");
    }
    run(&mut build);
    dir.join("server")
}
