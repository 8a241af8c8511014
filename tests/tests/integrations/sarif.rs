//! Microsoft's validator of SARIF, with the rules that GitHub's code scanning has, on what `--format sarif` writes.

use crate::fixture::{V3, library};
use deburr_test_support::Scratch;
use deburr_tests::command::deburr;
use deburr_tests::toolchain::{repository, require, run};
use serde_json::Value;
use std::fs;
use std::process::Command;

#[test]
#[cfg(target_arch = "x86_64")]
#[ignore = "downloads 40 MB of npm; `cargo xtask nightly` runs it"]
fn microsofts_validator_has_nothing_to_say_with_its_rules_for_github() {
    require("npm");
    let scratch = Scratch::new("sarif");
    let mut npm = Command::new("npm");
    npm.args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--cache"])
        .arg(scratch.join("cache"))
        .arg("--prefix")
        .arg(scratch.join("tools"))
        .arg("@microsoft/sarif-multitool-linux@5.7.0");
    run(&mut npm);
    let validator = scratch.join("tools/node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool");
    fs::set_permissions(&validator, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();

    library(&scratch, "lib/scale.so", V3);
    let fixtures = repository().join("crates/deburr-core/fixtures/llsc_loop");
    fs::copy(fixtures.join("hit-cas.o"), scratch.join("lib/cas.o")).unwrap();
    for (name, options) in [("clean", &["--select", "mfence"][..]), ("found", &["--baseline", "x86-64-v1"])] {
        let report = scratch.join(format!("{name}.sarif"));
        let mut check = Command::new(deburr());
        check.arg("check").args(options).arg(format!("--format=sarif={}", report.display())).arg("lib");
        let output = check.current_dir(scratch.path()).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
        let document: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
        let results = document["runs"][0]["results"].as_array().unwrap();
        assert_eq!(results.is_empty(), name == "clean", "{results:?}");

        let verdict = scratch.join(format!("{name}.validated.sarif"));
        let mut validate = Command::new(&validator);
        validate.env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
        validate.arg("validate").arg(&report).args(["--rule-kind", "Sarif;Ghas", "--output"]);
        validate.arg(&verdict).args(["--log", "ForceOverwrite"]);
        let said = run(&mut validate);
        let text = fs::read_to_string(&verdict).unwrap();
        let verdict: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap();
        let faults = verdict["runs"][0]["results"].as_array().cloned().unwrap_or_default();
        assert!(faults.is_empty() && !said.contains("error SARIF"), "{said}\n{faults:#?}");
    }
}
