//! A file on its way through the patch stage, and both forms of it under an emulator.
//!
//! In: an AArch64 file. Out: the plan and the patched file, after all that must hold of every patched file was seen to hold.

use crate::oracle::{Listing, is_load_exclusive, is_store_exclusive};
use crate::toolchain::require;
use deburr_core::{Request, Svma, check};
use deburr_cpu::{FeatureSet, level_named};
use deburr_patch::{ApplyOptions, Plan, PlanRequest, RULES, Site, apply, plan, revert, verify};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const OBJDUMP: &str = "aarch64-linux-gnu-objdump";
/// Seconds after which a program under the emulator hangs.
const PATIENCE: &str = "300";

/// A file that was planned for and, if there was anything to write, patched.
#[derive(Debug)]
pub struct Rewritten {
    /// The original.
    pub original: PathBuf,
    /// The file beside it with the plan's words; the original where the plan has no sites.
    pub patched: PathBuf,
    /// What was planned.
    pub plan: Plan,
}

/// The features that LSE comes with.
///
/// # Panics
/// If there is no such level.
pub fn with_lse() -> FeatureSet {
    level_named("armv8.1-a").expect("a level of that name").features
}

/// Plans for a file, and writes what was planned into another, which must be proven from the two files alone and turn back
/// into the original.
///
/// # Panics
/// If one of the stages fails.
pub fn rewrite(file: &Path, target: Option<FeatureSet>) -> Rewritten {
    let what = file.display();
    let bytes = fs::read(file).unwrap_or_else(|error| panic!("{what}: {error}"));
    let plan = plan(&bytes, &PlanRequest { target, ..PlanRequest::default() })
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    let original = file.to_owned();
    if plan.sites.is_empty() {
        return Rewritten { patched: original.clone(), original, plan };
    }
    let patched = apply(&bytes, &plan, &ApplyOptions::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
    let verified = verify(&bytes, &patched).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(verified.changes.len(), plan.sites.len(), "{what}: changes and sites");
    assert!(revert(&patched).is_ok_and(|reverted| reverted == bytes), "{what}: it does not turn back");
    let path = PathBuf::from(format!("{what}.patched"));
    fs::copy(file, &path).unwrap_or_else(|error| panic!("{what}: {error}"));
    fs::write(&path, patched).unwrap_or_else(|error| panic!("{what}: {error}"));
    Rewritten { original, patched: path, plan }
}

impl Rewritten {
    /// The refused places, by rule and reason.
    pub fn refusals(&self) -> BTreeMap<(&'static str, String), Vec<String>> {
        let mut refusals: BTreeMap<_, Vec<String>> = BTreeMap::new();
        for refused in &self.plan.refused {
            let place = format!("{} in {}", refused.at, refused.function.as_deref().unwrap_or("?"));
            refusals.entry((refused.rule, refused.reason.to_string())).or_default().push(place);
        }
        refusals
    }

    /// Insists, with objdump, that no site has an exclusive left, and that the load-exclusives elsewhere are where they were.
    ///
    /// # Panics
    /// If it is not so.
    pub fn assert_sites_are_free_of_exclusives(&self) {
        let exclusives = |file: &Path| {
            let lines = Listing::of(OBJDUMP, file).lines.into_iter();
            let exclusives =
                lines.filter(|line| is_load_exclusive(&line.mnemonic) || is_store_exclusive(&line.mnemonic));
            exclusives.map(|line| line.address).collect::<Vec<u64>>()
        };
        let is_in_site = |at: &u64| {
            let after = self.plan.sites.partition_point(|site| site.at.0 <= *at);
            let site = after.checked_sub(1).and_then(|index| self.plan.sites.get(index));
            site.is_some_and(|site| *at < site.extent().end.0)
        };
        let mut expected = exclusives(&self.original);
        let before = expected.len();
        expected.retain(|at| !is_in_site(at));
        assert_eq!(exclusives(&self.patched), expected, "{}", self.patched.display());
        let of_exclusives = self.plan.sites.iter().filter(|site| site.rule == "llsc-loop").count();
        assert!(before - expected.len() >= 2 * of_exclusives, "{}", self.patched.display());
    }

    /// Insists that the rules find nothing any more where something was written.
    ///
    /// # Panics
    /// If they do, or the file cannot be read.
    pub fn assert_sites_are_clean(&self) {
        let what = self.patched.display();
        let bytes = fs::read(&self.patched).unwrap_or_else(|error| panic!("{what}: {error}"));
        let request = Request { target: Some(with_lse()), rules: Some(RULES), ..Request::default() };
        let report = check(&bytes, &request).unwrap_or_else(|error| panic!("{what}: {error}"));
        let found = report.findings.iter().filter(|finding| {
            let is_there = |site: &&Site| site.extent().contains(Svma(finding.svma.0));
            self.plan.sites.iter().find(is_there).is_some_and(|site| site.rule == finding.rule)
        });
        let found: Vec<_> = found.take(4).collect();
        assert!(found.is_empty(), "{what}: {found:#?}");
    }

    /// Runs both forms, and insists that they end alike and say the same. Returns what they said.
    ///
    /// # Panics
    /// If they differ, or do not end well.
    pub fn assert_same_behaviour(&self, arguments: &[&str]) -> String {
        let [original, patched] = [&self.original, &self.patched].map(|program| {
            let mut command = emulated(program);
            command.args(arguments);
            let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
            assert!(output.status.success(), "{command:?}: {}\n{}", output.status, told(&output));
            output
        });
        assert_eq!(told(&original), told(&patched), "{} {arguments:?}", self.patched.display());
        told(&original)
    }
}

fn told(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// A command that runs a program for AArch64 on a CPU with LSE, with the cross compiler's libraries.
pub fn emulated(program: &Path) -> Command {
    require("qemu-aarch64");
    require("timeout");
    let mut command = Command::new("timeout");
    command.args([PATIENCE, "qemu-aarch64", "-cpu", "max", "-L", "/usr/aarch64-linux-gnu"]).arg(program);
    command
}
