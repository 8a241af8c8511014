//! What is requested of a check, as the caller states it.

use crate::danger::StatedClaim;
use crate::function::reach::{Families, Knowledge};
use crate::profile::Samples;
use deburr_cpu::FeatureSet;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What is requested of a check.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request<'a> {
    /// The separate debug file, if the caller has it.
    pub debug_file: Option<&'a [u8]>,
    /// Features that every machine the file will run on has.
    pub target: Option<FeatureSet>,
    /// The CPU that the user names as the target, in the spelling of `deburr_cpu::Target`; `None` for a level.
    pub target_cpu: Option<&'a str>,
    /// Features that the file may use.
    pub baseline: Option<FeatureSet>,
    /// What the user calls the baseline, in the spelling of `deburr_cpu::Target`.
    pub baseline_name: Option<&'a str>,
    /// What is claimed of the machines that the file is for, where it is to be held to that: the baseline then has the
    /// features of the claim.
    pub claim: Option<StatedClaim<'a>>,
    /// Ids of the rules to run; `None`: all but those in preview.
    pub rules: Option<&'a [&'a str]>,
    /// Ids of those among them that the user names one by one: they also report what is rarely worth it.
    pub named: &'a [&'a str],
    /// Checks that the user knows of.
    pub guards: &'a [StatedGuard<'a>],
    /// What the shared libraries show that the file needs, in the loader's order; see [`learn`](crate::check::learn).
    pub foreign: &'a [&'a Knowledge],
    /// Of an archive's member, the global functions that only resolvers of the archive lead to; see
    /// [`chosen_by_resolvers`](crate::image::chosen_by_resolvers).
    pub chosen: Option<&'a HashSet<&'a str>>,
    /// Of an archive's member, the families of the functions that all members define; see [`families`](crate::families).
    pub families: Option<&'a Families>,
    /// What a profile saw of the file: it weighs findings, and changes none.
    pub samples: Option<&'a Samples>,
    /// Ids of rules whose findings count only where they take a part of the run that can be felt; without samples, none do.
    pub when_hot: &'a [&'a str],
    /// Whether the code was made at run time, for the very CPU that it ran on: then nobody ships it, and no machine, check or
    /// compiler's flag is held against it. What it uses is still counted.
    pub made_at_run_time: bool,
    /// The interpreter that the file names and that the system it is for does not have, where the caller knows that system.
    pub missing_interpreter: Option<&'a str>,
    /// Where the file's bytes begin in the application for Android that it is in, where the loader maps them from there.
    pub stored_at: Option<u64>,
    /// Whether the file is in a package: then it is what users get, and not what a developer has just built.
    pub is_packed: bool,
    /// Whether findings in code that the file's owner cannot change count like the others; see [`Origin`](crate::report::Origin).
    pub include_runtime: bool,
    /// Whether a claim is held to what is not proven by notes; see `strict`.
    pub notes_undecided: bool,
    /// Steps that the analyses of the file may take together; `None`: [`default_budget`](crate::default_budget) of its code. Where
    /// they are spent, what depends on them is undecided; see [`Report::over_budget`](crate::Report::over_budget).
    pub budget: Option<u64>,
    /// What ends the analyses as a spent budget does, once it is true.
    pub stop: Option<&'a Arc<AtomicBool>>,
    /// Whether what is only presumed counts as unknown, and whether a claim is also held to what is not proven.
    pub strict: bool,
}

/// A check that the user knows of: the functions it names are only entered where the CPU has the features.
#[derive(Debug, Clone, Copy)]
pub struct StatedGuard<'a> {
    /// The caller's number for it.
    pub id: usize,
    /// The name of the functions, as a symbol or demangled; `*` matches any characters, `?` for one.
    pub function: &'a str,
    /// What is known to be there when they run.
    pub features: FeatureSet,
}
