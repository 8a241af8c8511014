//! `deburr pack install`: what it installs and removes, and what it refuses before anything is written.

use crate::{deburr, stderr};
use deburr_test_support::Scratch;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Trees of two levels of a program that says its level, laid out with these options.
fn laid_out(scratch: &Scratch, name: &str, options: &[&str]) -> String {
    let variants = ["x86-64-v1", "x86-64-v3"].map(|level| {
        let tree = scratch.join(format!("trees/{level}"));
        fs::create_dir_all(tree.join("usr/bin")).unwrap();
        let source =
            scratch.file("prog.c", b"#include <stdio.h>\nint main(void) { return puts(LEVEL) < 0; }");
        let define = format!("-DLEVEL=\"{level}\"");
        let compiled =
            Command::new("gcc").arg(&define).arg("-o").arg(tree.join("usr/bin/prog")).arg(source).status();
        assert!(compiled.unwrap().success());
        format!("--variant={level}={}", tree.display())
    });
    let dist = scratch.join(name).display().to_string();
    let output = deburr(&[&["pack", "assemble", &variants[0], &variants[1], "-o", &dist], options].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    dist
}

fn says(root: &Path) -> String {
    let output = Command::new(root.join("usr/bin/prog")).env_remove("DEBURR_LEVEL").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_tree_is_installed_selected_and_removed() {
    let scratch = Scratch::new("install");
    let dist = laid_out(&scratch, "dist", &["--select"]);
    let root = scratch.join("root");
    let to = root.to_str().unwrap();
    let output = deburr(&["pack", "install", &dist, to]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let count = String::from_utf8_lossy(&output.stdout);
    assert!(count.starts_with(&format!("{to}: ")) && count.ends_with(" files installed\n"), "{count}");
    assert_eq!((says(&root), stderr(&output)), ("x86-64-v3\n".to_owned(), String::new()));
    let link = root.join("usr/lib/prog/selected");
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("start"));
    // Nothing chooses again here, and a line says so.
    let output = deburr(&["pack", "install", "--select", &dist, to]);
    assert_eq!(
        (output.status.code(), fs::read_link(&link).unwrap().as_path()),
        (Some(0), Path::new("start"))
    );
    assert!(
        stderr(&output).contains("nothing chooses again at the next boot of this machine"),
        "{}",
        stderr(&output)
    );
    let output = deburr(&["pack", "install", "--select=once", "--format", "json", &dist, to]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["selected"].as_str().map(Path::new), Some(fs::read_link(&link).unwrap().as_path()));
    assert!(report["selected"].as_str().unwrap().ends_with("/x86-64-v3"), "{report}");
    assert_eq!(says(&root), "x86-64-v3\n");
    let status = deburr(&["pack", "status", &dist]);
    assert!(String::from_utf8(status.stdout).unwrap().contains("usr/lib/prog/selected leads to start\n"));
    let output = deburr(&["pack", "install", "--remove", &dist, to]);
    assert_eq!((output.status.code(), fs::read_dir(&root).unwrap().count()), (Some(0), 0));
}

#[test]
fn what_cannot_be_installed_is_refused_before_anything_is_written() {
    let scratch = Scratch::new("install-refused");
    let trees = laid_out(&scratch, "trees-only", &[]);
    let shared = laid_out(&scratch, "shared", &["--layout", "shared"]);
    let split = laid_out(&scratch, "split", &["--split"]);
    let root = scratch.join("root");
    let to = root.to_str().unwrap();
    let none = scratch.join("none");
    for (options, expected) in [
        (
            &["--select", &trees, to][..],
            "trees-only: laid out without --select: deburr pack assemble --select",
        ),
        (&[&shared, to], "shared: expected what deburr pack assemble wrote with a tree for each level"),
        (&[&split, to], "split: laid out in packages (--split)"),
        (&[none.to_str().unwrap(), to], "none/deburr-pack.json: No such file or directory"),
        (&["--remove", &trees, to], "usr/lib/prog/installed: there is no list of an earlier pack install"),
    ] {
        let output = deburr(&[&["pack", "install"], options].concat());
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        assert!(!root.exists(), "{options:?}");
    }
    // A folder where a file would go, and a file where a folder would.
    fs::create_dir_all(root.join("usr/bin/prog")).unwrap();
    let output = deburr(&["pack", "install", &trees, to]);
    assert!(stderr(&output).contains("usr/bin/prog: is a folder"), "{}", stderr(&output));
    fs::remove_dir(root.join("usr/bin/prog")).unwrap();
    fs::write(root.join("usr/lib"), "").unwrap();
    let output = deburr(&["pack", "install", &trees, to]);
    assert!(stderr(&output).contains("usr/lib: is no folder"), "{}", stderr(&output));
    fs::remove_file(root.join("usr/lib")).unwrap();
    assert_eq!(fs::read_dir(root.join("usr")).unwrap().count(), 1);
    // A list that names what is outside removes nothing.
    let output = deburr(&["pack", "install", &trees, to]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let outside = scratch.file("outside", b"");
    fs::write(root.join("usr/lib/prog/installed"), b"usr/bin/prog\0../outside\0").unwrap();
    for options in [&["--remove", &trees, to][..], &[&trees, to]] {
        let output = deburr(&[&["pack", "install"], options].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains("expected the list that an earlier pack install wrote"),
            "{}",
            stderr(&output)
        );
    }
    assert!(Path::new(&outside).exists() && says(&root) == "x86-64-v3\n");
    // Levels of which no file differs have nothing to choose.
    let same = format!("--variant=x86-64-v3={}", scratch.join("trees/x86-64-v1").display());
    let first = format!("--variant=x86-64-v1={}", scratch.join("trees/x86-64-v1").display());
    let to = scratch.join("same").display().to_string();
    let output = deburr(&["pack", "assemble", "--select", &first, &same, "-o", &to]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--select: no program"), "{}", stderr(&output));
    let shared = deburr(&["pack", "assemble", "--select", "--layout", "shared", &first, &same, "-o", &to]);
    assert_eq!(shared.status.code(), Some(2));
}
