//! Check stage: the tree of a variant → what in it is not what the variant's level says.
//!
//! In: the programs and shared libraries of a tree, and the target. Out: each function that needs more than the target has
//! where a path without a sufficient check is known, as the rule `above-baseline` finds it, and each file for another machine.

use deburr_core::finding::Severity;
use deburr_core::{Request, check};
use deburr_cpu::{Arch, Target};
use std::fmt;
use std::path::PathBuf;

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
        write!(f, "{}: ", self.path.display())?;
        if let Some((name, svma)) = &self.function {
            write!(f, "{name} at {svma:#x}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// What in a file is not what the target says.
pub fn faults(path: PathBuf, bytes: &[u8], target: &Target) -> Vec<Fault> {
    examine(path, bytes, target).faults
}

/// What a file is, compared with a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// What in it is not what the target says.
    pub faults: Vec<Fault>,
    /// The level of all instructions that it holds, checked or not; empty where it could not be examined.
    pub level_present: String,
}

/// Compares a file with a target.
pub fn examine(path: PathBuf, bytes: &[u8], target: &Target) -> Examined {
    let whole = |message: String| {
        let faults = vec![Fault { path: path.clone(), function: None, message }];
        Examined { faults, level_present: String::new() }
    };
    let request =
        Request { baseline: Some(target.features), rules: Some(&["above-baseline"]), ..Request::default() };
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
    let errors = report.findings.into_iter().filter(|finding| finding.severity == Severity::Error);
    Examined { faults: errors.map(fault).collect(), level_present: report.level_present }
}
