//! The files of a run → what the analysis says of the code that was entered.
//!
//! In: a trace. Out: [`TriedFile`]s of those files that have functions above the CPU, or in which SIGILL came; and why some
//! could not be analysed.

use crate::analysis::FAILED;
use crate::input::debug_file;
use crate::input::mapped::Bytes;
use crate::product::try_record::{TriedFile, TriedFunction, TriedTrap};
use crate::system_error::error_text;
use deburr_core::{Error, Request, RunFacts, wanted_debug_file};
use deburr_cpu::{FeatureSet, Target};
use deburr_lab::emulate::run::{EnteredFile, Trace, Trap};
use deburr_lab::measure::process::End;
use deburr_text::ShownPath as _;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// What is known of a run's files.
#[derive(Default)]
pub(super) struct Analysed {
    pub(super) files: Vec<TriedFile>,
    /// With the reasons.
    pub(super) not_analysed: BTreeMap<String, String>,
}

/// Analyses the files of a run. `target`: the CPU, and `executable`: what it executes.
pub(super) fn analyse(trace: &Trace, target: &Target, executable: FeatureSet) -> Analysed {
    let mut analysed = Analysed::default();
    let has_failed = !matches!(trace.end, End::Status(0));
    for (number, file) in trace.files.iter().enumerate() {
        let of_file = |trap: &&Trap| trap.place.is_some_and(|(file, _)| file == number);
        let traps: Vec<&Trap> = trace.traps.iter().filter(of_file).collect();
        if file.blocks.is_empty() && traps.is_empty() {
            continue;
        }
        let path = file.path.shown().into_owned();
        match analyse_file(file, &traps, (target, executable, has_failed)) {
            Ok(tried) if tried.above == 0 && tried.traps.is_empty() && tried.refused.is_none() => {}
            Ok(tried) => analysed.files.push(tried),
            Err(reason) => _ = analysed.not_analysed.insert(path, reason),
        }
    }
    analysed.files.sort_by(|a, b| a.path.cmp(&b.path));
    analysed
}

fn analyse_file(
    file: &EnteredFile,
    traps: &[&Trap],
    (target, executable, has_failed): (&Target, FeatureSet, bool),
) -> Result<TriedFile, String> {
    let bytes = Bytes::open(&file.path).map_err(|error| error_text(&error))?;
    let offsets: Vec<u64> = traps.iter().filter_map(|trap| Some(trap.place?.1)).collect();
    let run = RunFacts { executable, blocks: &file.blocks, traps: &offsets };
    let work = || -> Result<_, Error> {
        let debug_file = debug_file_of(&bytes, &file.path);
        let request = Request {
            debug_file: debug_file.as_deref(),
            baseline: Some(target.features),
            baseline_name: Some(&target.name),
            rules: Some(&["above-baseline"]),
            ..Request::default()
        };
        deburr_core::entered(&bytes, &request, run)
    };
    let entered = catch_unwind(AssertUnwindSafe(work)).map_err(|_| FAILED.to_owned())?;
    let entered = entered.map_err(|error| error.to_string())?;
    let digest = Sha256::digest(&*bytes);
    if !bytes.is_intact() {
        return Err("the file changed while it was read".to_owned());
    }
    let functions = entered.functions.into_iter().map(|entered| TriedFunction { entered, runs: 1 });
    let places = entered.traps.into_iter().zip(traps);
    Ok(TriedFile {
        path: file.path.shown().into_owned(),
        build_id: entered.build_id,
        sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        level: entered.level,
        answer: entered.answer,
        above: entered.above,
        runs: 1,
        // Where no branch is known, the end of the run shows it.
        refused: entered.refuses.filter(|refusal| entered.refused || (refusal.svma.is_none() && has_failed)),
        functions: functions.collect(),
        traps: places
            .map(|(place, trap)| TriedTrap { place, count: trap.count, deaths: trap.deaths })
            .collect(),
    })
}

fn debug_file_of(bytes: &[u8], path: &Path) -> Option<Bytes> {
    let wanted = wanted_debug_file(bytes)?;
    debug_file::find(&wanted, path, &[PathBuf::from("/usr/lib/debug")])
}
