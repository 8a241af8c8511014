//! `examples/rpm-check` with the real `rpmbuild`.

use crate::fixture::{check, only, path_with_deburr, ran, shown};
use deburr_test_support::Scratch;
use deburr_tests::toolchain::{repository, require, run};
use std::process::{Command, Output};

/// The program is compiled for x86-64 by clang on every machine, and by no other library than its own start.
const MAKEFILE: &str = "prog: prog.c
\tclang --target=x86_64-linux-gnu $(CFLAGS) -fuse-ld=lld -nostdlib -static -o $@ $<
install: prog
\tinstall -D prog $(DESTDIR)$(prefix)/bin/prog
";
const PROGRAM: &str = "double sum; double from[64];
void _start(void) { for (int i = 0; i < 64; i++) sum += from[i] * 3; for (;;) __builtin_ia32_pause(); }
";

/// Builds the package with such flags of the compiler.
fn build(scratch: &Scratch, flags: &str, more: &[&str]) -> Output {
    for (name, text) in [("Makefile", MAKEFILE), ("prog.c", PROGRAM)] {
        scratch.file(&format!("prog-1.0/{name}"), text.as_bytes());
    }
    std::fs::create_dir_all(scratch.join("SOURCES")).unwrap();
    let archive = scratch.join("SOURCES/prog-1.0.tar.gz");
    run(Command::new("tar").arg("-C").arg(scratch.path()).arg("-czf").arg(archive).arg("prog-1.0"));
    require("rpmbuild");
    let defined = [
        format!("_topdir {}", scratch.as_str()),
        format!("build_cflags -O2 {flags}"),
        "debug_package %{nil}".into(),
    ];
    let mut rpmbuild = Command::new("rpmbuild");
    rpmbuild.args(["-bb", "--target", "x86_64"]).args(defined.iter().flat_map(|it| ["--define", it]));
    rpmbuild.args(more).arg(repository().join("examples/rpm-check/prog.spec"));
    ran(rpmbuild.env("PATH", path_with_deburr()).env_remove("CFLAGS"))
}

#[test]
fn a_package_of_rpm_is_built_only_if_it_runs_where_its_architecture_promises() {
    let scratch = Scratch::new("rpm-check");
    let wide = build(&scratch, "-march=x86-64-v3", &[]);
    assert_eq!(wide.status.code(), Some(1), "{}", shown(&wide));
    assert!(shown(&wide).contains("error[above-baseline] 1 finding"), "{}", shown(&wide));
    assert!(
        shown(&wide).contains("Bad exit status from") && shown(&wide).contains("(%check)"),
        "{}",
        shown(&wide)
    );
    assert!(
        !scratch.join("RPMS/x86_64").exists()
            || std::fs::read_dir(scratch.join("RPMS/x86_64")).unwrap().count() == 0
    );
    // Its distribution promises no less than it needs.
    let promised = build(&scratch, "-march=x86-64-v3", &["--define", "deburr_baseline x86-64-v3"]);
    assert!(promised.status.success(), "{}", shown(&promised));
    let package = only(&scratch.join("RPMS/x86_64"));
    let (status, text) = check(&package, &["--fail-on", "error"]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("claimed is x86-64-v1, "), "{text}");
    let narrow = build(&scratch, "-march=x86-64", &[]);
    assert!(narrow.status.success(), "{}", shown(&narrow));
    let (status, text) = check(&package, &["--fail-on", "error", "--verbose"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("  claims x86-64-v1: "), "{text}");
}
