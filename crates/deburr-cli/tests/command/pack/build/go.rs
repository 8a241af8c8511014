//! `deburr pack build` with Go: the level is in `GOAMD64` or `GOARM64`, which an older Go ignores.

use super::{command, disassembly, pack, tree};
use crate::stderr;
use deburr_test_support::Scratch;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

#[test]
#[ignore = "half a minute of compiling; `cargo xtask nightly` runs it"]
fn program_of_go_is_built_at_each_level() {
    let scratch = Scratch::new("pack-go");
    scratch.file("src/go.mod", b"module sums\n\ngo 1.21\n");
    let main = "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n
//go:noinline\nfunc shift(a, b uint64) uint64 { return a << (b & 63) }\n
func main() { fmt.Println(shift(3, uint64(len(os.Args)))) }\n";
    scratch.file("src/main.go", main.as_bytes());
    let folder = scratch.join("src");
    let output = pack(&folder, "x86-64-v1,x86-64-v3", &["go", "build", "-o", "sums", "."]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for (level, has) in [("x86-64-v1", false), ("x86-64-v3", true)] {
        let code = disassembly("objdump", &tree(&folder, level).join("sums"));
        let function = code.split("<main.shift>:").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
        assert_eq!(function.contains("shlx"), has, "{level}: {function}");
    }
}

#[test]
#[ignore = "compiles Go's library twice, a minute; `cargo xtask nightly` runs it"]
fn program_of_go_for_aarch64_is_built_at_each_level() {
    let scratch = Scratch::new("pack-go-arm");
    scratch.file("src/app/go.mod", b"module sums\n\ngo 1.21\n");
    let main = "package main\n\nimport (\n\t\"fmt\"\n\t\"sync/atomic\"\n)\n
//go:noinline\nfunc add(to *uint64) uint64 { return atomic.AddUint64(to, 3) }\n
func main() { var at uint64; fmt.Println(add(&at)) }\n";
    scratch.file("src/app/main.go", main.as_bytes());
    let folder = scratch.join("src");
    let build = ["env", "GOARCH=arm64", "CGO_ENABLED=0", "go", "-C", "app", "build", "-o", "sums", "."];
    let output = pack(&folder, "armv8-a,armv8.1-a", &build);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for (level, has_fallback) in [("armv8.0-a", true), ("armv8.1-a", false)] {
        let code = disassembly("aarch64-linux-gnu-objdump", &tree(&folder, level).join("app/sums"));
        let function = code.split("<main.add>:").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
        assert!(function.contains("ldaddal"), "{level}: {function}");
        assert_eq!(function.contains("ldaxr"), has_fallback, "{level}: {function}");
    }
}

/// A `go` of a version that the toolchain line of the current folder names, or else `GOTOOLCHAIN`, or else 1.22.5. Its `build`
/// compiles `main.c`.
const OLD: &str = r#"#!/bin/sh
[ "$1" != -C ] || { cd "$2"; shift 2; }
version=$(sed -n 's/^toolchain //p' go.mod)
[ -n "$version" ] || version=${GOTOOLCHAIN-go1.22.5}
case $1 in
env) shift; for name; do case $name in GOARCH) echo "${GOARCH-arm64}" ;; GOVERSION) echo "$version" ;; esac; done ;;
build) exec "${COMPILER-aarch64-linux-gnu-gcc}" -o sums main.c ;;
esac
"#;

/// Builds with the `go` above.
fn with_old(scratch: &Scratch, levels: &str, variables: &[(&str, &str)], build: &[&str]) -> Output {
    let go = scratch.file("tools/go", OLD.as_bytes());
    fs::set_permissions(&go, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", scratch.join("tools").display(), std::env::var("PATH").unwrap());
    // Which Go there is, is in the environment, of which no change is noticed.
    let _ = fs::remove_dir_all(scratch.join("src/deburr-pack"));
    let mut command = command(&scratch.join("src"), levels, build);
    command.env("PATH", path).env_remove("GOTOOLCHAIN").env_remove("GOARCH").envs(variables.iter().copied());
    command.output().unwrap()
}

fn done(output: &Output) -> bool {
    output.status.success()
}

#[test]
fn go_that_does_not_know_the_variable_of_the_level_is_refused_by_name_and_version() {
    let scratch = Scratch::new("pack-go-old");
    scratch.file("src/main.c", b"int main(void) { return 0; }\n");
    let module = |lines: &str| drop(scratch.file("src/go.mod", format!("module sums\n{lines}").as_bytes()));
    module("");
    let refused = with_old(&scratch, "armv8-a,armv8.1-a", &[], &["go", "build"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = stderr(&refused);
    // The first level is what it builds anyway.
    assert!(said.contains("armv8.0-a: built and checked"), "{said}");
    let go = scratch.join("tools/go");
    let reason = format!("armv8.1-a: {} is go1.22.5 here, and GOARM64 needs Go 1.23: ", go.display());
    assert!(said.contains(&reason) && said.contains("put Go 1.23 or later first in PATH"), "{said}");

    // Which version compiles is a matter of the environment, and of the module in the folder of the call.
    let newer = [("GOTOOLCHAIN", "go1.23rc1")];
    assert!(done(&with_old(&scratch, "armv8.1-a", &newer, &["go", "build"])));
    assert!(!done(&with_old(&scratch, "armv8.1-a", &[("GOTOOLCHAIN", "go1.21.13")], &["go", "build"])));
    module("toolchain go1.24.1\n");
    assert!(done(&with_old(&scratch, "armv8.1-a", &[], &["go", "build"])));
    module("toolchain go1.9\n");
    scratch.file("src/app/go.mod", b"module app\ntoolchain go1.30.0-vendor\n");
    scratch.file("src/app/main.c", b"int main(void) { return 0; }\n");
    assert!(!done(&with_old(&scratch, "armv8.1-a", &[], &["go", "build"])));
    assert!(done(&with_old(&scratch, "armv8.1-a", &[], &["go", "-C", "app", "build"])));
    // Refused, though the build ignores it.
    let ignored = with_old(&scratch, "armv8.1-a", &[], &["sh", "-c", "go build || true"]);
    assert!(stderr(&ignored).contains("is go1.9 here"), "{}", stderr(&ignored));
}

#[test]
#[ignore = "as long as a toolchain takes; `cargo xtask nightly` runs it"]
fn go_before_1_18_is_refused_above_the_first_level_of_x86() {
    let scratch = Scratch::new("pack-go-older");
    scratch.file("src/main.c", b"int main(void) { return 0; }\n");
    scratch.file("src/go.mod", b"module sums\n");
    let go = |version: &'static str| [("GOTOOLCHAIN", version), ("GOARCH", "amd64"), ("COMPILER", "gcc")];
    for (version, level, is_done) in [
        ("go1.17.13", "x86-64-v2", false),
        ("go1.17.13", "x86-64-v1", true),
        ("go1.18", "x86-64-v2", true),
        ("devel go1.17-ab12 Mon", "x86-64-v2", false),
        ("devel +ab12 Mon", "x86-64-v2", true),
        // Before Go 1.16 there was no such variable to ask for.
        ("", "x86-64-v2", false),
    ] {
        let output = with_old(&scratch, level, &go(version), &["go", "build"]);
        assert_eq!(done(&output), is_done, "{version} {level}: {}", stderr(&output));
    }
    let output = with_old(&scratch, "x86-64-v2", &go(""), &["go", "build"]);
    assert!(
        stderr(&output).contains("is older than 1.16 here, and GOAMD64 needs Go 1.18"),
        "{}",
        stderr(&output)
    );
    // A tool for another machine is no variant's code.
    let tool = ["sh", "-c", "GOARCH=arm64 go build; gcc -o sums main.c"];
    assert!(done(&with_old(&scratch, "x86-64-v2", &go("go1.17"), &tool)));
}

#[test]
fn variable_that_the_project_sets_itself_is_named() {
    let scratch = Scratch::new("pack-go-own");
    scratch.file("src/main.c", b"int main(void) { return 0; }\n");
    scratch.file("src/go.mod", b"module sums\ntoolchain go1.24.0\n");
    let output = with_old(&scratch, "armv8.1-a", &[], &["env", "GOARM64=v8.0", "go", "build"]);
    assert!(stderr(&output).contains("the project's own GOARM64=v8.0"), "{}", stderr(&output));
    let named = Path::new(&scratch.join("src/deburr-pack/armv8.1-a/tree/sums")).is_file();
    assert!(named, "{}", stderr(&output));
}
