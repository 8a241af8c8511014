//! What a rule says about one place in the code.

use crate::address::{Extent, Svma};
use serde::Serialize;
use std::collections::BTreeMap;

/// How much a finding matters. Ordered: a note is less than a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing to repair.
    Note,
    /// Costs performance, or may.
    Warning,
    /// Does not run on the baseline that was asked for.
    Error,
}

impl Severity {
    /// `note`, `warning` or `error`.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One value of the evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A word or a name.
    Text(String),
    /// A count or a size in bytes.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// Several words.
    List(Vec<String>),
}

/// The facts that a finding rests on, by name.
pub type Evidence = BTreeMap<&'static str, Value>;

/// What a rule says about one place in the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// The instruction to point at.
    pub at: Svma,
    /// The code it is about; it holds `at`, which need not be its start.
    pub extent: Extent,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence for people, without the place.
    pub message: String,
    /// The facts behind it.
    pub evidence: Evidence,
}
