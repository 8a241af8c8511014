//! `npm pack` of a package whose `cpu` names the machines that its binary is for.

use crate::fixture::{V1, V3, check, library};
use deburr_test_support::Scratch;
use deburr_tests::toolchain::{require, run};
use std::process::Command;

#[test]
fn a_package_of_npm_is_held_to_its_cpu() {
    require("npm");
    let scratch = Scratch::new("npm");
    let package = r#"{"name": "@scope/scale-linux-x64", "version": "1.0.0", "os": ["linux"], "cpu": ["CPU"], "files": ["scale.node"]}"#;
    let pack = |cpu: &str, level: &str| {
        library(&scratch, "package/scale.node", level);
        scratch.file("package/package.json", package.replace("CPU", cpu).as_bytes());
        let mut npm = Command::new("npm");
        npm.args(["pack", "--silent", "--offline", "--cache"]).arg(scratch.join("cache"));
        let name =
            run(npm.arg("--pack-destination").arg(scratch.path()).current_dir(scratch.join("package")));
        assert_eq!(name.trim(), "scope-scale-linux-x64-1.0.0.tgz");
        scratch.join(name.trim())
    };
    let (status, text) = check(&pack("x64", V3), &["--fail-on", "error"]);
    assert_eq!(status, Some(1), "{text}");
    assert!(
        text.contains("1.0.0.tgz!package/scale.node: x86_64, dies on x86-64-v1: needs x86-64-v3"),
        "{text}"
    );
    assert!(
        text.contains("  claims x86-64-v1: ") && text.contains("error[claim-exceeded] 1 finding"),
        "{text}"
    );
    let (status, text) = check(&pack("x64", V1), &["--fail-on", "error"]);
    assert_eq!(status, Some(0), "{text}");
}
