//! What becomes no variant wheel: code that needs more than its level, and wheels that are none of one machine.

use super::{KERNEL, LEVELS, command, names, own, pack, sources};
use crate::{deburr, stderr, stdout};
use deburr_test_support::Scratch;

#[test]
fn a_wheel_that_needs_more_than_its_level_is_not_written() {
    let scratch = Scratch::new("pack-wheel-rejected");
    let folder = sources(&scratch, KERNEL);
    let output = pack(&folder, &LEVELS, &["define=NEEDS_AVX2"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("x86-64-v1: rejected: kernels/kernel.so: add at 0x"), "{said}");
    let said = stdout(&output);
    assert!(said.contains("x86-64-v1        left out: rejected"), "{said}");
    assert!(said.contains("no wheel is for machines below x86-64-v3; build x86-64-v1, too"), "{said}");
    let expected = ["kernels-1.0-cp311-cp311-linux_x86_64-x86_64_v3.whl", "kernels-1.0-variants.json"];
    assert_eq!(names(&scratch), expected);
}

#[test]
fn what_the_command_made_is_taken_only_if_it_can_be_a_variant() {
    let scratch = Scratch::new("pack-wheel-refused");
    let folder = sources(&scratch, KERNEL);
    for (build, complaint) in [
        (&["pure"][..], "holds no machine code, so it is the same at each level"),
        (&["tag=py3-none-any"], "is for any machine (py3-none-any), though it holds kernels/kernel.so"),
        (&["pure", "tag=py3-none-linux_x86_64"], "holds no program and no shared library"),
        (&["none"], "made no wheel; expected one in the folder that {out} names"),
        (&["label=x86_64_v3"], "is a variant already; expected a plain wheel"),
        (
            &["tag=cp311-cp311-macosx_11_0_arm64"],
            "is for macosx_11_0_arm64; expected a platform of Linux on x86_64",
        ),
        (&["tag=cp311-cp311-linux_aarch64"], "is for linux_aarch64; expected a platform of Linux on x86_64"),
        (&["tag=cp311-cp311-linux_x86_64.linux_aarch64"], "expected a platform of Linux on x86_64"),
        (&["member=../../escaped.py"], "zip: ../../escaped.py: a name that is not a plain relative path"),
        (&["member=/tmp/escaped.py"], "zip: /tmp/escaped.py: a name that is not a plain relative path"),
        (&["member=other-1.0.dist-info/METADATA"], "expected one folder *.dist-info, found 2"),
    ] {
        let output = pack(&folder, &["--levels", "x86-64-v1"], build);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{build:?}: {said}");
        assert!(said.contains(complaint), "{build:?}: {said}");
        assert_eq!(names(&scratch), Vec::<String>::new(), "{build:?}");
    }
    assert!(!scratch.join("escaped.py").exists());
}

#[test]
fn several_wheels_are_refused_with_what_to_do() {
    let scratch = Scratch::new("pack-wheel-several");
    let folder = sources(&scratch, KERNEL);
    let script = own("make_wheel.py");
    let build = format!("python3 '{script}' {{out}} && python3 '{script}' {{out}} project=other");
    let output = command(&folder, &["--levels", "x86-64-v1"], &["sh", "-c", &build]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    let names = "kernels-1.0-cp311-cp311-linux_x86_64.whl, other-1.0-cp311-cp311-linux_x86_64.whl";
    assert!(said.contains(&format!("the command made 2 wheels: {names}; expected one")), "{said}");
    assert!(said.contains("pip wheel --no-deps"), "{said}");
}

#[test]
fn a_target_that_no_property_states_is_refused_before_anything_is_built() {
    for (levels, complaint) in [
        ("haswell", "--levels haswell: expected a level, such as x86-64-v2"),
        ("x86-64-v3+aes", "--levels x86-64-v3+aes: expected a level"),
        ("armv8-a+lse", "--levels armv8.0-a+lse: expected a level, such as armv8.1-a"),
        ("x86-64-v9", "--levels x86-64-v9: unknown target"),
    ] {
        let output = deburr(&["pack", "wheel", "--levels", levels, "--", "false"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(complaint), "{}", stderr(&output));
    }
    let output = deburr(&["pack", "wheel", "--levels", "x86-64-v1"]);
    assert_eq!(output.status.code(), Some(2));
    let output = deburr(&["pack", "wheel", "--variant", "x86-64-v1"]);
    assert!(stderr(&output).contains("--variant x86-64-v1: expected LEVEL=WHEEL"), "{}", stderr(&output));
}
