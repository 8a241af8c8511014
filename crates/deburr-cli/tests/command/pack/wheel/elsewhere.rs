//! Wheels that were built elsewhere (`--variant`), and an index that is there already.

use super::{KERNEL, index, names, own, read, sources};
use crate::{deburr, stderr, stdout};
use deburr_test_support::Scratch;
use serde_json::json;
use std::process::{Command, Output};

/// A wheel of the kernel, compiled with these flags by a compiler that no wrapper stands before.
fn wheel(scratch: &Scratch, level: &str, options: &[&str]) -> String {
    let folder = sources(scratch, &format!("#pragma GCC target(\"arch={level}\")\n{KERNEL}"));
    let out = scratch.join(level);
    let mut make = Command::new("python3");
    make.arg(own("make_wheel.py")).arg(&out).args(options).current_dir(folder);
    let output = make.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let tag =
        options.iter().find_map(|option| option.strip_prefix("tag=")).unwrap_or("cp311-cp311-linux_x86_64");
    format!("{}/kernels-1.0-{tag}.whl", out.to_str().unwrap())
}

fn pack(scratch: &Scratch, options: &[&str]) -> Output {
    let house = scratch.join("wheelhouse");
    deburr(&[&["pack", "wheel", "-o", house.to_str().unwrap()], options].concat())
}

#[test]
fn wheels_that_were_built_elsewhere_are_checked_and_written() {
    let scratch = Scratch::new("pack-wheel-elsewhere");
    let (v1, v3) = (wheel(&scratch, "x86-64", &[]), wheel(&scratch, "x86-64-v3", &[]));
    let variants = [format!("x86-64-v3={v3}"), format!("x86-64-v1={v1}")];
    let output = pack(&scratch, &["--variant", &variants[0], "--variant", &variants[1]]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(index(&scratch)["variants"], json!({"null": {}, "x86_64_v3": {"x86_64": {"level": ["v3"]}}}));
    read(&scratch.join("wheelhouse/kernels-1.0-cp311-cp311-linux_x86_64-x86_64_v3.whl"));
}

#[test]
fn a_wheel_for_a_higher_level_is_rejected_with_the_function() {
    let scratch = Scratch::new("pack-wheel-swapped");
    let (v1, v3) = (wheel(&scratch, "x86-64", &[]), wheel(&scratch, "x86-64-v3", &[]));
    let variants = [format!("x86-64-v1={v3}"), format!("x86-64-v3={v1}")];
    let output = pack(&scratch, &["--variant", &variants[0], "--variant", &variants[1]]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(said.contains("x86-64-v1        left out: rejected: kernels/kernel.so: dot at 0x"), "{said}");
    assert!(said.contains("x86-64-v3: no instruction needs more than x86-64-v1"), "{said}");
    let expected = ["kernels-1.0-cp311-cp311-linux_x86_64-x86_64_v3.whl", "kernels-1.0-variants.json"];
    assert_eq!(names(&scratch), expected);
}

#[test]
fn wheels_for_another_python_are_added_to_the_index_and_those_that_disagree_are_not() {
    let scratch = Scratch::new("pack-wheel-merged");
    let v1 = wheel(&scratch, "x86-64", &[]);
    let first = pack(&scratch, &["--variant", &format!("x86-64-v1={v1}")]);
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    let v3 = wheel(&scratch, "x86-64-v3", &["tag=cp312-cp312-linux_x86_64"]);
    let variant = format!("x86-64-v3={v3}");
    let second = pack(&scratch, &["--variant", &variant]);
    assert_eq!(second.status.code(), Some(0), "{}", stderr(&second));
    assert_eq!(index(&scratch)["variants"], json!({"null": {}, "x86_64_v3": {"x86_64": {"level": ["v3"]}}}));
    assert_eq!(names(&scratch).len(), 4);

    let before = names(&scratch);
    let other = pack(&scratch, &["--schema", "0.1.1", "--variant", &variant]);
    assert_eq!(other.status.code(), Some(2));
    assert!(stderr(&other).contains("kernels-1.0-variants.json: its $schema is not"), "{}", stderr(&other));
    assert_eq!(names(&scratch), before);
    std::fs::write(scratch.join("wheelhouse/kernels-1.0-variants.json"), "[]").unwrap();
    let broken = pack(&scratch, &["--variant", &variant]);
    assert_eq!(broken.status.code(), Some(2));
    assert_eq!(names(&scratch), before);
}

#[test]
fn wheels_that_do_not_belong_together_are_refused() {
    let scratch = Scratch::new("pack-wheel-mixed");
    let v1 = wheel(&scratch, "x86-64", &[]);
    let v3 = wheel(&scratch, "x86-64-v3", &["tag=cp312-cp312-linux_x86_64"]);
    let variants = [format!("x86-64-v1={v1}"), format!("x86-64-v3={v3}")];
    let output = pack(&scratch, &["--variant", &variants[0], "--variant", &variants[1]]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("expected the same project, version and tags at each level"), "{said}");
    assert_eq!(names(&scratch), Vec::<String>::new());

    let output = pack(&scratch, &["--variant", "x86-64-v1=/nonexistent/x-1.0-cp311-cp311-linux_x86_64.whl"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("/nonexistent/x-1.0"), "{}", stderr(&output));
    let cut = scratch.file("x-1.0-cp311-cp311-linux_x86_64.whl", &std::fs::read(&v1).unwrap()[..500]);
    let output = pack(&scratch, &["--variant", &format!("x86-64-v1={cut}")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cut off?"), "{}", stderr(&output));
}
