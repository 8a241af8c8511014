//! What `deburr fix` did with one binary, one package or one pair of files.
//!
//! The verb fills these in; both renderers lay them out, and the document serialises most of them as they are.

use deburr_cpu::FeatureSet;
use deburr_patch::Plan;
use serde::Serialize;
use std::collections::BTreeMap;

/// One binary, and what is or was rewritten in it.
#[derive(Debug)]
pub(crate) struct Fixed {
    pub(crate) path: String,
    pub(crate) plan: Plan,
    /// The features that the rewritten file needs and the original does not.
    pub(crate) needs: FeatureSet,
    pub(crate) breaks: Vec<Break>,
    /// Why the plan cannot be written.
    pub(crate) obstacle: Option<String>,
    pub(crate) written: Option<Written>,
}

/// Something outside of the rewritten code that does not fit the new file.
#[derive(Debug, Serialize)]
pub(crate) struct Break {
    pub(crate) what: &'static str,
    /// For people.
    pub(crate) text: String,
}

/// A file that was written, or that stays because there is nothing to rewrite in it.
#[derive(Debug, Serialize)]
pub(crate) struct Written {
    pub(crate) path: String,
    /// Whether it differs from what was read.
    pub(crate) is_changed: bool,
    pub(crate) sha256: String,
    /// What the old file is called now.
    pub(crate) backup: Option<String>,
}

/// A package, and what became of it.
#[derive(Debug, Serialize)]
pub(crate) struct Packed {
    pub(crate) path: String,
    /// The files in it that are not what they were, as `package!inner/path`.
    pub(crate) changed: Vec<String>,
    pub(crate) breaks: Vec<Break>,
    pub(crate) written: Option<Written>,
    /// Whether those files are originals that were given back.
    #[serde(skip)]
    pub(crate) is_reverted: bool,
}

/// An original that was given back.
#[derive(Debug, Serialize)]
pub(crate) struct Reverted {
    pub(crate) path: String,
    pub(crate) written: Written,
}

/// Whether two files do the same.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) path: String,
    pub(crate) original: String,
    /// Changes by rule, or why they are not proven.
    pub(crate) verified: Result<BTreeMap<&'static str, usize>, String>,
    /// What the proofs assume, where that is wanted.
    pub(crate) assumptions: &'static [&'static str],
}

/// A file that stays as it is.
#[derive(Debug, Serialize)]
pub(crate) struct Left {
    pub(crate) path: String,
    pub(crate) reason: String,
    /// Whether it could not be done, rather than that it must stay so.
    pub(crate) is_fault: bool,
}
