//! The configuration of a run, and what it keeps silent about → a line for people and a member of the JSON document.

use crate::text::number::counted;
use deburr_core::finding::Severity;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a configuration did to a run.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct InForce {
    /// Which file it is.
    pub(crate) path: String,
    /// Rules that would run without it.
    pub(crate) rules_left_out: Vec<&'static str>,
    /// Rules whose findings it gives another severity.
    pub(crate) severity: BTreeMap<&'static str, Severity>,
    /// Guards that it states.
    pub(crate) stated_guards: u64,
    /// Findings that it allows.
    pub(crate) findings_allowed: u64,
}

impl InForce {
    /// Its line: `deburr.toml: 3 findings allowed; rules left out: mfence`.
    pub(crate) fn line(&self) -> String {
        let mut parts = Vec::new();
        if self.findings_allowed > 0 {
            parts.push(format!("{} allowed", counted(self.findings_allowed, "finding")));
        }
        if !self.rules_left_out.is_empty() {
            parts.push(format!("rules left out: {}", self.rules_left_out.join(", ")));
        }
        if !self.severity.is_empty() {
            let changed = self.severity.iter().map(|(rule, severity)| format!("{rule} {}", severity.name()));
            parts.push(format!("severity: {}", changed.collect::<Vec<_>>().join(", ")));
        }
        if self.stated_guards > 0 {
            parts.push(counted(self.stated_guards, "stated guard"));
        }
        match parts.is_empty() {
            true => self.path.clone(),
            false => format!("{}: {}", self.path, parts.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_says_what_is_kept_silent() {
        let mut configuration = InForce {
            path: "deburr.toml".to_owned(),
            rules_left_out: Vec::new(),
            severity: BTreeMap::new(),
            stated_guards: 0,
            findings_allowed: 0,
        };
        assert_eq!(configuration.line(), "deburr.toml");
        configuration.findings_allowed = 1;
        configuration.rules_left_out = vec!["mfence", "llsc-loop"];
        configuration.severity.insert("llsc-pair", Severity::Note);
        configuration.stated_guards = 2;
        let line = "deburr.toml: 1 finding allowed; rules left out: mfence, llsc-loop; severity: llsc-pair note; 2 stated guards";
        assert_eq!(configuration.line(), line);
    }
}
