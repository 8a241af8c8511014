//! What tests of layouts compile.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Compiles C to a place in a tree.
pub(crate) fn compile(tree: &Path, to: &str, source: &str, options: &[&str]) {
    let path = tree.join(to);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let input = tree.parent().unwrap().join("input.c");
    fs::write(&input, source).unwrap();
    let output =
        Command::new("gcc").arg("-O1").arg("-o").arg(&path).arg(&input).args(options).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
