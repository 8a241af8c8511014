//! What `--fail-on` takes, and `fail-on` in the configuration: the least severity that fails a run.

use clap::ValueEnum;
use deburr_core::finding::Severity;

/// The least severity that fails a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Note,
    Warning,
    Error,
    Never,
}

impl FailOn {
    /// The least severity that fails a run; `None`: none does.
    pub(crate) const fn threshold(self) -> Option<Severity> {
        match self {
            FailOn::Note => Some(Severity::Note),
            FailOn::Warning => Some(Severity::Warning),
            FailOn::Error => Some(Severity::Error),
            FailOn::Never => None,
        }
    }
}
