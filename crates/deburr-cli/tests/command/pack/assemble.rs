//! `deburr pack assemble` as a user meets it.

use crate::{deburr, stderr};
use deburr_test_support::Scratch;
use std::process::Command;

#[test]
fn two_trees_are_assembled_and_the_launcher_says_what_it_starts() {
    let scratch = Scratch::new("pack-assemble");
    for (level, status) in [("x86-64-v1", "1"), ("x86-64-v3", "3")] {
        let input = scratch.file("input.c", format!("int main(void) {{ return {status}; }}").as_bytes());
        std::fs::create_dir_all(scratch.join(level).join("bin")).unwrap();
        let program = scratch.join(level).join("bin/prog");
        assert!(Command::new("gcc").arg("-o").arg(program).arg(&input).status().unwrap().success());
    }
    let dist = scratch.join("dist").to_str().unwrap().to_owned();
    let variant = |level: &str| format!("--variant={level}={}", scratch.join(level).display());
    let (low, high) = (variant("x86-64-v1"), variant("x86-64-v3"));
    let arguments = ["pack", "assemble", &high, &low, "-o", &dist, "--format", "json"];
    let output = deburr(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["levels"], serde_json::json!(["x86-64-v1", "x86-64-v3"]));
    assert_eq!(report["laid"][0]["mechanism"], "launcher");
    for (level, status) in [("x86-64-v1", 1), ("x86-64-v3", 3)] {
        let run = Command::new(format!("{dist}/bin/prog")).env("DEBURR_LEVEL", level).status().unwrap();
        assert_eq!(run.code(), Some(status));
    }
    let again = deburr(&arguments);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        stderr(&again).contains("expected a folder that is empty or does not exist"),
        "{}",
        stderr(&again)
    );
    let wrong = deburr(&["pack", "assemble", "--variant", "x86-64-v3", "-o", "/nonexistent/dist"]);
    assert_eq!((wrong.status.code(), stderr(&wrong).contains("LEVEL=TREE")), (Some(2), true));
}

#[test]
fn variants_that_are_not_built_are_left_out_with_a_line() {
    let scratch = Scratch::new("pack-assemble-left");
    let pack = scratch.join("pack");
    let mut variants = Vec::new();
    for (level, state) in
        [("x86-64-v1", "done"), ("x86-64-v2", "rejected"), ("x86-64-v3", "done"), ("x86-64-v4", "failed")]
    {
        let input =
            scratch.file("input.c", format!("int main(void) {{ return {}; }}", &level[8..]).as_bytes());
        std::fs::create_dir_all(pack.join(level).join("bin")).unwrap();
        let program = pack.join(level).join("bin/prog");
        assert!(Command::new("gcc").arg("-o").arg(program).arg(&input).status().unwrap().success());
        variants.push(serde_json::json!({ "level": level, "state": state, "tree": level }));
    }
    let record = serde_json::json!({ "schema_version": 1, "command": ["make"], "variants": variants });
    scratch.file("pack/deburr-pack.json", record.to_string().as_bytes());
    let dist = scratch.join("dist").to_str().unwrap().to_owned();
    let output = deburr(&["pack", "assemble", pack.to_str().unwrap(), "-o", &dist, "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(
        stderr(&output),
        "deburr: x86-64-v2: left out: it is not what its level says\ndeburr: x86-64-v4: left out: its build failed\n"
    );
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["levels"], serde_json::json!(["x86-64-v1", "x86-64-v3"]));
}
