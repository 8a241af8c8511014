//! `deburr pack assemble --split` and `examples/pack-deb`: packages of Debian, unpacked alone and together.

use crate::{deburr, stderr};
use deburr_cpu::{Target, host};
use deburr_test_support::Scratch;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const LEVELS: [&str; 2] = ["x86-64-v1", "x86-64-v3"];

/// A program, and a library of which it prints the level.
fn tree(scratch: &Scratch, level: &str) {
    let tree = scratch.join(level).join("usr");
    std::fs::create_dir_all(tree.join("bin")).unwrap();
    std::fs::create_dir_all(tree.join("lib")).unwrap();
    std::fs::write(tree.join("lib/data"), b"data").unwrap();
    let library = scratch.file("library.c", b"const char *name(void) { return LEVEL; }");
    let program = "#include <stdio.h>\nconst char *name(void); int main(void) { return puts(LEVEL) < 0 || puts(name()) < 0; }";
    let program = scratch.file("program.c", program.as_bytes());
    let define = format!("-DLEVEL=\"{level}\"");
    let search = format!("-L{}", tree.join("lib").display());
    let runpath = "-Wl,-rpath,$ORIGIN/../lib";
    let (lib, bin) = (tree.join("lib/libname.so"), tree.join("bin/prog"));
    for (to, from, options) in [
        (lib, library, &["-shared", "-fPIC", "-Wl,-soname,libname.so"][..]),
        (bin, program, &[search.as_str(), "-lname", runpath]),
    ] {
        let mut gcc = Command::new("gcc");
        assert!(gcc.arg(&define).arg("-o").arg(to).arg(from).args(options).status().unwrap().success());
    }
}

/// What the program says, in the root that packages are unpacked into.
fn run(root: &Path, level: Option<&str>) -> Output {
    let mut program = Command::new(root.join("usr/bin/prog"));
    program.envs(level.map(|level| ("DEBURR_LEVEL", level))).output().unwrap()
}

fn unpack(package: &Path, root: &Path) {
    assert!(Command::new("dpkg-deb").arg("-x").args([package, root]).status().unwrap().success());
}

fn files(root: &Path) -> Vec<PathBuf> {
    let output =
        Command::new("find").arg(root).args(["!", "-type", "d", "-printf", "%P\\n"]).output().unwrap();
    let mut files: Vec<_> = String::from_utf8(output.stdout).unwrap().lines().map(PathBuf::from).collect();
    files.sort();
    files
}

#[test]
fn package_of_a_level_adds_its_variants_to_a_base_that_works_alone() {
    let scratch = Scratch::new("pack-deb");
    LEVELS.iter().for_each(|level| tree(&scratch, level));
    let variants = LEVELS.map(|level| format!("--variant={level}={}", scratch.join(level).display()));
    let (dist, whole) = (scratch.join("dist"), scratch.join("whole"));
    for (to, split) in [(&dist, &["--split"][..]), (&whole, &[])] {
        let to = to.to_str().unwrap();
        let arguments = [&["pack", "assemble", &variants[0], &variants[1], "-o", to], split].concat();
        let output = deburr(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let both = [&files(&dist.join("base"))[..], &files(&dist.join("x86-64-v3"))].concat();
    let mut sorted = [&both[..], &[PathBuf::from("deburr-pack.json")]].concat();
    sorted.sort();
    assert_eq!(sorted, files(&whole), "each file is in one package");
    assert_eq!(
        files(&dist.join("x86-64-v3")),
        ["usr/bin-x86-64-v3/prog", "usr/lib/glibc-hwcaps/x86-64-v3/libname.so"].map(PathBuf::from)
    );

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pack-deb/build.sh");
    let mut build = Command::new(script);
    build.arg(&dist).args(["prog", "1.0-1", "Some One <some.one@example.org>"]);
    let folder = scratch.join("debs");
    std::fs::create_dir(&folder).unwrap();
    let output = build.current_dir(&folder).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let (base, level) = (folder.join("prog_1.0-1_amd64.deb"), folder.join("prog-x86-64-v3_1.0-1_amd64.deb"));
    let fields = ["Package", "Depends", "Architecture"];
    let output = Command::new("dpkg-deb").arg("-f").arg(&level).args(fields).output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "Package: prog-x86-64-v3\nDepends: prog (= 1.0-1)\nArchitecture: amd64\n"
    );

    let root = scratch.join("root");
    unpack(&base, &root);
    let runs_v3 = Target::parse("x86-64-v3").unwrap().features.is_subset(host().unwrap().features);
    let library = if runs_v3 { "x86-64-v3" } else { "x86-64-v1" };
    assert_eq!(run(&root, None).stdout, b"x86-64-v1\nx86-64-v1\n");
    assert!(!run(&root, Some("x86-64-v3")).status.success());
    unpack(&level, &root);
    let said = String::from_utf8(run(&root, None).stdout).unwrap();
    assert_eq!(said, format!("{library}\n{library}\n"));
    let said = String::from_utf8(run(&root, Some("x86-64-v1")).stdout).unwrap();
    assert_eq!(said, format!("x86-64-v1\n{library}\n"));
}
