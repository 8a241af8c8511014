//! `deburr pack`, by step.

mod arm64;
mod assemble;
mod build;
mod deb;
mod dist;
mod install;
mod measure;
mod oci;
mod policy;
mod profile;
mod rpm;
mod select;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};

/// The tree of a level in what was laid out.
fn tree_of(laid: &Path, level: &str) -> PathBuf {
    let mut waiting = vec![laid.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                if entry.file_name() == level {
                    return entry.path();
                }
                waiting.push(entry.path());
            }
        }
    }
    panic!("{}: no tree of {level}", laid.display());
}
