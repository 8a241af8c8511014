//! What runs as other CPUs showed: records of `deburr try` → reports with that evidence.
//!
//! In: records, and reports. Out: [`Report::tried`] and that of its functions. A run proves no verdict wrong or right, except one:
//! where a process died in a function for lack of a feature, the check that would have prevented it is not there; that is a
//! finding. A record's file is the report's by its build-id, or by its contents.

use crate::cmd::failure::Failure;
use crate::input::mapped::Bytes;
use crate::product::try_record::{TriedFile, TryRecord};
use deburr_core::Report;
use deburr_core::finding::{Evidence, Severity, Value};
use deburr_core::report::{PlacedFinding, Reach, Tried, TriedRuns};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The rule that says that a function needs more than machines have.
const RULE: &str = "above-baseline";

/// Records of runs.
pub(super) struct Runs {
    records: Vec<TryRecord>,
}

impl Runs {
    /// Reads them.
    pub(super) fn read(paths: &[PathBuf]) -> Result<Runs, Failure> {
        let records = paths.iter().map(|path| TryRecord::read(path)).collect::<Result<_, _>>();
        Ok(Runs { records: records.map_err(Failure::Message)? })
    }

    /// Adds their evidence to a report. `rules`: those that are run.
    pub(super) fn add(&self, report: &mut Report, rules: &[&'static str], complaints: &mut dyn Write) {
        let mut digest: Option<Option<String>> = None;
        let arch = report.arch.clone();
        for record in self.records.iter().filter(|record| record.cpu.arch == arch) {
            let mut is_file = |file: &&TriedFile| match (&file.build_id, &report.build_id) {
                (Some(of_file), Some(of_report)) => of_file == of_report,
                (None, None) => {
                    digest.get_or_insert_with(|| digest_of(&report.path)).as_ref() == Some(&file.sha256)
                }
                _ => false,
            };
            match record.files.iter().find(&mut is_file) {
                Some(file) => add(report, record, file, rules),
                None => {
                    let name = |path: &str| Path::new(path).file_name().map(ToOwned::to_owned);
                    let own = name(&report.path);
                    if record.files.iter().any(|file| own.is_some() && name(&file.path) == own) {
                        // Nobody reads it where the standard error is gone.
                        let _ = writeln!(
                            complaints,
                            "deburr: note: {}: the runs as {} were of another build of it; they say nothing of this one",
                            report.path, record.cpu.name
                        );
                    }
                }
            }
        }
    }
}

fn digest_of(path: &str) -> Option<String> {
    let bytes = Bytes::open(Path::new(path)).ok()?;
    Some(Sha256::digest(&*bytes).iter().map(|byte| format!("{byte:02x}")).collect())
}

fn add(report: &mut Report, record: &TryRecord, file: &TriedFile, rules: &[&'static str]) {
    let cpu = &record.cpu.name;
    let mut found = Vec::new();
    let mut died = 0;
    for function in &mut report.isa_functions {
        let entered = file.functions.iter().find(|it| it.entered.svma == function.svma);
        let deaths = file.deaths_in(function.svma);
        died += deaths;
        let Some(entered) = entered else { continue };
        let executed = entered.entered.executed;
        function.tried.push(Tried::new(cpu.clone(), file.runs, entered.runs, executed, deaths));
        let is_known = matches!(function.reach, Reach::Required | Reach::UnderGuarded);
        if deaths > 0 && !is_known && rules.contains(&RULE) {
            let needed = entered.entered.features.join(", ");
            let message = format!("died of SIGILL in a run as {cpu}: no check for {needed} is before it");
            let facts = vec![
                ("run", Value::Text(cpu.as_str().into())),
                ("reach", Value::Text(function.reach.name().into())),
            ];
            found.push(PlacedFinding::of_run(
                RULE,
                Severity::Error,
                function,
                message,
                Evidence::from(facts),
            ));
        }
    }
    report.findings.extend(found);
    report.findings.sort_by_key(|finding| finding.svma);
    let executed = file.functions.iter().filter(|it| it.entered.executed > 0).count() as u64;
    let entered = file.functions.len() as u64;
    report.tried.push(TriedRuns::new(cpu.clone(), file.runs, file.above, entered, executed, died));
}
