//! Baselines that are CPUs and machines: what some machines with a core lack is no part of the core.

use deburr_tests::command::{Checked, check, deburr};
use deburr_tests::toolchain::{compile, work_dir};
use std::process::Command;

/// PMULL behind a check for CRC32 only, as in rocksdb 6.11.4: it dies on a Raspberry Pi 4.
const POLYNOMIAL: &str = r#"
#include <sys/auxv.h>
#include <arm_neon.h>
__attribute__((target("+crc+crypto"), noinline)) static unsigned long product(unsigned long a, unsigned long b)
{
    return (unsigned long)vmull_p64(a, b);
}
int main(int count, char **words)
{
    return getauxval(16) & (1 << 7) ? (int)product(count, (unsigned long)words) : 0;
}
"#;

fn errors(checked: &Checked) -> usize {
    let findings = checked.0["findings"].as_array().expect("findings");
    findings.iter().filter(|finding| finding["severity"] == "error").count()
}

#[test]
fn a_check_for_crc32_does_not_license_pmull_on_a_raspberry_pi_4() {
    let dir = work_dir("cpus-polynomial");
    let program = compile(&dir, "polynomial", ("c", POLYNOMIAL), "aarch64-linux-gnu-gcc", &["-O2"]);
    for baseline in ["cortex-a72", "raspberrypi4", "raspberrypi3", "cortex-a53", "cortex-a57", "cortex-a55"] {
        let checked = check(&program, &["--baseline", baseline]);
        assert_eq!(errors(&checked), 1, "{baseline}: {}", checked.0["findings"]);
        assert!(checked.0["findings"].to_string().contains("FEAT_PMULL"), "{baseline}");
    }
    for baseline in
        ["neoverse-n1", "graviton1", "graviton2", "raspberrypi5", "jetson-nano", "cortex-a72+aes", "m1"]
    {
        let checked = check(&program, &["--baseline", baseline]);
        assert_eq!(errors(&checked), 0, "{baseline}: {}", checked.0["findings"]);
    }
    let not = check(&program, &[]).0["runs_on"]["not"].to_string();
    assert!(not.contains("\"raspberrypi4\"") && not.contains("\"cortex-a72\""), "{not}");
    assert!(!not.contains("graviton1") && !not.contains("neoverse-n1"), "{not}");
}

#[test]
fn a_check_for_what_is_used_is_enough_on_every_machine() {
    let dir = work_dir("cpus-polynomial-checked");
    let source = POLYNOMIAL.replace("(1 << 7)", "(1 << 4)");
    let program = compile(&dir, "polynomial", ("c", &source), "aarch64-linux-gnu-gcc", &["-O2"]);
    for baseline in ["cortex-a72", "raspberrypi4", "neoverse-n1"] {
        assert_eq!(errors(&check(&program, &["--baseline", baseline])), 0, "{baseline}");
    }
}

#[test]
fn v3_is_a_baseline_for_x86_64_and_none_for_aarch64() {
    let dir = work_dir("cpus-v3");
    let source = "unsigned long cleared(unsigned long x, unsigned long y) { return ~x & y; }";
    let flags = ["-mbmi", "-O2", "-fPIC", "-shared"];
    let library = compile(&dir, "library", ("c", source), "gcc", &flags);
    assert_eq!(errors(&check(&library, &["--baseline", "v3"])), 0);
    assert_eq!(
        errors(&check(&library, &["--baseline", "v2"])),
        errors(&check(&library, &["--baseline", "x86-64-v2"]))
    );
    assert!(errors(&check(&library, &["--baseline", "v2"])) > 0);
    let arm = compile(&dir, "arm", ("c", POLYNOMIAL), "aarch64-linux-gnu-gcc", &["-O2"]);
    assert_eq!(errors(&check(&arm, &["--baseline", "v3"])), 0);
    let output = Command::new(deburr()).args(["check", "--baseline", "v5"]).arg(&library).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}
