//! The committed inputs, through the stages: what fuzzing once reached holds on every push.

use deburr_inputs::{Input, parse_inputs};
use deburr_stages::STAGES;
use std::fs;
use std::path::{Path, PathBuf};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")
}

fn inputs(stage: &str) -> Vec<Input> {
    let text = fs::read_to_string(corpus().join(stage).with_extension("hex"));
    let inputs = text.map_err(|error| error.to_string()).and_then(|text| parse_inputs(&text));
    inputs.unwrap_or_else(|fault| panic!("fuzz/corpus/{stage}.hex: {fault}"))
}

#[test]
fn every_committed_input_passes_its_stage() {
    for (name, stage) in STAGES {
        for Input { line, bytes } in inputs(name) {
            let outcome = std::panic::catch_unwind(|| stage(&bytes));
            assert!(outcome.is_ok(), "line {line} of fuzz/corpus/{name}.hex fails {name}");
        }
    }
}

/// What fuzzing finds in one stage is met in the others, too.
#[test]
fn the_corpora_are_those_of_all_stages_and_of_no_other() {
    let mut files: Vec<String> = fs::read_dir(corpus())
        .expect("the corpora")
        .map(|file| file.expect("a folder's entry").file_name().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut stages: Vec<String> = STAGES.iter().map(|(name, _)| format!("{name}.hex")).collect();
    stages.sort();
    assert_eq!(files, stages);
}
