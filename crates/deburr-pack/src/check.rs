//! Check stage: the tree of a variant → what in it is not what the variant's level says.
//!
//! In: the programs and shared libraries of a tree, and the target. Out: each function that needs more than the target has
//! where a path without a sufficient check is known, as the rule `above-baseline` finds it, and each file for another machine.
//! Also the features that its instructions need at all: a variant that has none of its level is of no use.

use crate::build::tree::binaries;
use deburr_core::finding::Severity;
use deburr_core::{Request, check};
use deburr_cpu::{Arch, Feature, FeatureSet, Target, system_features};
use deburr_text::ShownPath as _;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file, relative to the tree.
    pub path: PathBuf,
    /// The function and its address, where it is about one.
    pub function: Option<(String, u64)>,
    /// One sentence.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.shown())?;
        if let Some((name, svma)) = &self.function {
            write!(f, "{name} at {svma:#x}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// What a check of a tree or a file gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// What is not what the target says.
    pub faults: Vec<Fault>,
    /// What the instructions need, on paths that are checked or not; without what only an operating system uses.
    pub present: FeatureSet,
}

impl Checked {
    /// The name of the least of `others` that has all that the instructions need of `target`; `None` where they need more
    /// than each of those that `target` exceeds.
    pub fn nothing_above<'a>(
        &self,
        target: FeatureSet,
        others: impl Iterator<Item = (&'a str, FeatureSet)>,
    ) -> Option<&'a str> {
        let used = self.present.intersection(target);
        others
            .filter(|(_, features)| *features != target && features.is_subset(target))
            .filter(|(_, features)| used.is_subset(*features))
            .min_by_key(|(_, features)| features.iter().count())
            .map(|(name, _)| name)
    }
}

/// Checks all programs and shared libraries of a tree. `budget`: the steps that each may take, as [`Request::budget`]. `follow` gets how many are checked, and how many there are.
///
/// # Errors
/// A file or folder that cannot be read.
pub fn check_tree(
    tree: &Path,
    (target, budget): (&Target, Option<u64>),
    follow: &mut dyn FnMut(usize, usize),
) -> Result<Checked, (PathBuf, io::Error)> {
    let paths = binaries(tree).map_err(|error| (tree.to_owned(), error))?;
    let mut all = Checked::default();
    for (index, path) in paths.iter().enumerate() {
        let whole = tree.join(path);
        let bytes = fs::read(&whole).map_err(|error| (whole, error))?;
        let checked = check_file(path.clone(), &bytes, (target, budget));
        all.faults.extend(checked.faults);
        all.present = all.present.union(checked.present);
        follow(index + 1, paths.len());
    }
    Ok(all)
}

/// Checks a file; the budget as in [`check_tree`].
pub fn check_file(path: PathBuf, bytes: &[u8], (target, budget): (&Target, Option<u64>)) -> Checked {
    let whole = |message: String| Checked {
        faults: vec![Fault { path: path.clone(), function: None, message }],
        present: FeatureSet::EMPTY,
    };
    let request = Request {
        baseline: Some(target.features),
        rules: Some(&["above-baseline"]),
        budget,
        ..Request::default()
    };
    let report = match check(bytes, &request) {
        Ok(report) => report,
        Err(error) => return whole(format!("cannot be checked: {error}")),
    };
    let arch = match target.arch {
        Arch::X86_64 => "x86_64",
        Arch::Aarch64 => "aarch64",
    };
    if report.arch != arch {
        return whole(format!("is for {}, not for {}; use a compiler for {arch}", report.arch, target.name));
    }
    if let Some(over_budget) = report.over_budget.filter(|over_budget| over_budget.checks) {
        return whole(over_budget.sentence());
    }
    let fault = |finding: deburr_core::report::PlacedFinding| Fault {
        path: path.clone(),
        function: Some((
            finding.function.as_deref().unwrap_or("a function without a name").to_owned(),
            finding.svma.0,
        )),
        message: finding.message.to_string(),
    };
    // What is reached only by what the analysis does not follow is a warning of the rule, and no proof: the run-time checks of
    // Go are such.
    let is_present =
        |feature: &Feature| feature.arch() == target.arch && report.features.contains_key(feature.name());
    let present: Vec<Feature> = Feature::all().filter(is_present).collect();
    let present = FeatureSet::of(&present).minus(system_features(target.arch));
    let errors = report.findings.into_iter().filter(|finding| finding.severity == Severity::Error);
    Checked { faults: errors.map(fault).collect(), present }
}
