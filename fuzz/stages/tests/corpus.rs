//! The committed inputs, through the stages: what fuzzing once reached holds on every push.

use deburr_stages::STAGES;
use std::fs;
use std::path::{Path, PathBuf};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")
}

fn inputs(stage: &str) -> Vec<PathBuf> {
    let folder = corpus().join(stage);
    let listed = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = listed.map(|file| file.expect("a folder's entry").path()).collect();
    files.sort();
    files
}

#[test]
fn every_committed_input_passes_its_stage() {
    for (name, stage) in STAGES {
        let inputs = inputs(name);
        assert!(!inputs.is_empty(), "fuzz/corpus/{name} is empty: `cargo xtask corpus` fills it");
        for input in inputs {
            let bytes = fs::read(&input).expect("a committed file");
            let outcome = std::panic::catch_unwind(|| stage(&bytes));
            assert!(outcome.is_ok(), "{} fails {name}", input.display());
        }
    }
}

/// What fuzzing finds in one stage is met in the others, too.
#[test]
fn the_corpora_are_those_of_all_stages_and_of_no_other() {
    let mut folders: Vec<String> = fs::read_dir(corpus())
        .expect("the corpora")
        .map(|folder| folder.expect("a folder's entry").file_name().to_string_lossy().into_owned())
        .collect();
    folders.sort();
    let mut stages: Vec<&str> = STAGES.iter().map(|(name, _)| *name).collect();
    stages.sort();
    assert_eq!(folders, stages);
}
