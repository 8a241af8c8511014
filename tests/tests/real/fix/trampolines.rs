//! Words in added space, run: programs whose sequences have no room for what replaces them, before and after.
//!
//! In: one C program, by gcc and clang, with GNU ld and lld, of every kind of linking. Out: three threads print the same under
//! qemu-user, with the same loaders; and GNU's reader finds the added segment where it has to be.

use deburr_core::{Request, check};
use deburr_cpu::{Feature, FeatureSet};
use deburr_patch::{ApplyOptions, PlanRequest, apply, plan, revert, verify};
use deburr_tests::toolchain::{repository, require, run, stripped, work_dir};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const GCC: &[&str] = &["aarch64-linux-gnu-gcc"];
const CLANG: &[&str] = &["clang", "--target=aarch64-linux-gnu", "-fuse-ld=lld"];
const SYSROOT: &str = "/usr/aarch64-linux-gnu";

/// Every way to link, and what it takes.
const KINDS: [(&str, &[&str]); 4] =
    [("dynamic", &[]), ("fixed", &["-no-pie"]), ("static", &["-static"]), ("static-pie", &["-static-pie"])];

fn built(dir: &Path, name: &str, compiler: &[&str], flags: &[&str]) -> PathBuf {
    let (tool, target) = compiler.split_first().expect("a compiler");
    require(tool);
    let program = dir.join(name);
    let mut command = Command::new(tool);
    command.args(target).args(["-O2", "-march=armv8-a", "-mno-outline-atomics", "-pthread"]);
    run(command.arg(repository().join("tests/trampolines/contended.c")).args(flags).arg("-o").arg(&program));
    program
}

/// The file with all that can be replaced, beside it.
fn patched(file: &Path) -> PathBuf {
    let original = fs::read(file).expect("the program");
    let target = Some(FeatureSet::from_iter([Feature::FEAT_LSE]));
    let sites = |trampolines: bool| {
        let request = PlanRequest { target, trampolines, ..PlanRequest::default() };
        plan(&original, &request).expect("a plan")
    };
    let plan = sites(true);
    let trampoline = plan.sites.iter().filter(|site| site.trampoline.is_some()).count();
    assert!(trampoline >= 8, "{}: {trampoline} in added space", file.display());
    assert_eq!(sites(false).sites.len() + trampoline, plan.sites.len());
    let bytes = apply(&original, &plan, &ApplyOptions::default()).expect("a patched file");
    assert_eq!(verify(&original, &bytes).expect("proofs").changes.len(), plan.sites.len());
    assert!(revert(&bytes).expect("the original") == original);
    let found = |bytes: &[u8]| -> BTreeSet<u64> {
        let request = Request { target, rules: Some(&["llsc-loop"]), ..Request::default() };
        check(bytes, &request).expect("a report").findings.iter().map(|finding| finding.svma.0).collect()
    };
    let (before, after) = (found(&original), found(&bytes));
    assert!(after.is_subset(&before), "{}", file.display());
    // The rule finds what LSE has an instruction for; no trampoline is found in its place.
    assert!(after.len() < before.len(), "{}: {} of {}", file.display(), after.len(), before.len());
    for site in &plan.sites {
        assert!(!after.contains(&site.at.0), "{}: {}", file.display(), site.at);
    }
    let path = file.with_extension("patched");
    fs::write(&path, bytes).expect("room on the disk");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    path
}

fn printed(program: &Path) -> String {
    require("qemu-aarch64");
    run(Command::new("qemu-aarch64").args(["-cpu", "max", "-L", SYSROOT]).arg(program))
}

#[test]
fn contended_programs_print_the_same_from_added_space() {
    let dir = work_dir("trampolines");
    for (compiler, tools) in [("gcc", GCC), ("clang", CLANG)] {
        for (kind, flags) in KINDS {
            let program = built(&dir, &format!("{compiler}-{kind}"), tools, flags);
            let expected = printed(&program);
            // Each is a number of negations, an odd one.
            assert!(expected.starts_with("ffffffff ffffffffffffffff ffff ff ffffffff ffffffff 60003 "));
            assert!(expected.ends_with(" 180009 0 7 1\n"), "{expected}");
            let patched = patched(&program);
            for _ in 0..3 {
                assert_eq!(printed(&patched), expected, "{compiler}, {kind}");
            }
            let headers = run(Command::new("aarch64-linux-gnu-readelf").arg("-lW").arg(&patched));
            assert!(headers.contains(".text.deburr"), "{headers}");
        }
    }
}

#[test]
fn a_shared_library_is_loaded_with_its_added_segment() {
    let dir = work_dir("trampolines-library");
    let library = built(&dir, "libcontended.so", GCC, &["-shared", "-fPIC", "-Dmain=contended"]);
    let main = dir.join("main.c");
    fs::write(&main, "int contended(void);\nint main(void) { return contended(); }\n").expect("a source");
    let program = dir.join("main");
    run(Command::new(GCC[0]).arg(&main).arg("-o").arg(&program).arg(&library).arg("-Wl,-rpath,$ORIGIN"));
    let expected = printed(&program);
    fs::rename(patched(&library), &library).expect("another library");
    assert_eq!(printed(&program), expected);
}

/// Afterwards is too late: GNU strip writes the program headers behind the ELF header again, where they are too many, and
/// llvm-strip moves the added segment to another offset, which Linux before 5.18 does not start.
#[test]
fn a_stripped_program_gets_added_space() {
    let dir = work_dir("trampolines-stripped");
    for (name, tools, strip) in [("gnu", GCC, "aarch64-linux-gnu-strip"), ("llvm", CLANG, "llvm-strip")] {
        let program = built(&dir, name, tools, &[]);
        let expected = printed(&program);
        assert_eq!(printed(&patched(&stripped(strip, &program))), expected, "{strip}");
    }
}
