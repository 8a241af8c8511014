//! Wheels that pip and uv build and install, whose tags promise more machines than their code runs on.

use crate::fixture::{V1, V3, check, copy, environment, only, ran, shown, wheel};
use deburr_test_support::Scratch;
use deburr_tests::toolchain::run;
use std::process::Command;

#[test]
#[ignore = "fetches packages of PyPI; `cargo xtask nightly` runs it"]
fn a_wheel_whose_tag_promises_too_much_is_installed_by_pip_and_by_uv_and_refused_here() {
    let tools = environment("uv", &["uv"]);
    let scratch = Scratch::new("tag");
    for (level, expected) in [(V1, Some(0)), (V3, Some(1))] {
        let wheel = wheel(&scratch, level, "manylinux_2_17_x86_64", level);
        for installer in [&["pip"][..], &["uv", "pip"]] {
            let mut install = Command::new(tools.join(installer[0]));
            let into = scratch.join(format!("{level}-{}", installer[0]));
            install.args(&installer[1..]).args(["install", "--no-index", "--no-deps", "--target"]).arg(&into);
            let output = ran(install.arg(&wheel));
            assert!(output.status.success() && into.join("scale.so").exists(), "{}", shown(&output));
        }
        let (status, text) = check(&wheel, &["--fail-on", "error"]);
        assert_eq!(status, expected, "{text}");
    }
}

#[test]
#[ignore = "fetches packages of PyPI; `cargo xtask nightly` runs it"]
fn wheels_that_pip_and_uv_build_are_held_to_their_tags() {
    let tools = environment("uv", &["uv"]);
    let scratch = Scratch::new("build-wheel");
    for (flags, expected) in [("", Some(0)), ("-march=x86-64-v3", Some(1))] {
        for (builder, arguments) in
            [("pip", &["wheel", "--no-deps", "--wheel-dir"][..]), ("uv", &["build", "--wheel", "--out-dir"])]
        {
            let project = scratch.join(format!("{builder}{flags}"));
            copy("examples/cibuildwheel", &project);
            let mut build = Command::new(tools.join(builder));
            build.args(arguments).args(["made", "."]).current_dir(&project).env("CFLAGS", flags);
            run(&mut build);
            let (status, text) = check(&only(&project.join("made")), &["--fail-on", "error"]);
            assert_eq!(status, expected, "{builder} {flags}: {text}");
            assert!(text.contains("  claims x86-64-v1: platform linux_x86_64 (the file name)"), "{text}");
        }
    }
}
