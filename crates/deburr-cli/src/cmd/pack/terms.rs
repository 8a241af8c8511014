//! The options of a check and the configuration → what a check of variants goes by.

use crate::args::pack::checking::Checking;
use crate::config::document::Config;
use deburr_core::StatedGuard;
use deburr_cpu::Arch;
use deburr_pack::check::{Guards, Terms};
use deburr_text::ShownPath as _;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// What the options and the configuration state.
pub(super) struct Stated {
    config: Config,
    accepted: Vec<String>,
    budget: Option<u64>,
    max_time: Option<Duration>,
}

impl Stated {
    /// Reads the configuration: the one that is named, or the one that is found.
    pub(super) fn read(options: &Checking) -> Result<Stated, String> {
        Ok(Stated {
            config: Config::read(options.config.as_deref())?,
            accepted: options.accept.clone(),
            budget: options.budget,
            max_time: options.max_time,
        })
    }

    /// What a check goes by.
    pub(super) fn terms(&self) -> Terms<'_> {
        Terms { budget: self.budget, max_time: self.max_time, accepted: &self.accepted, guards: self }
    }

    /// The configuration that counts, in a line; `None` where it states no guard.
    pub(super) fn in_force(&self) -> Option<String> {
        let path = self.config.path.as_ref()?.shown().into_owned();
        match self.config.guards.len() {
            0 => None,
            1 => Some(format!("{path}: 1 stated guard")),
            count => Some(format!("{path}: {count} stated guards")),
        }
    }
}

impl fmt::Debug for Stated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.guards.fmt(f)
    }
}

impl Guards for Stated {
    fn of_file(&self, path: &Path, arch: Arch) -> Vec<StatedGuard<'_>> {
        self.config.guards_for(&path.shown(), Some(arch))
    }

    fn place(&self, id: usize) -> String {
        self.config.guards.get(id).map(|guard| guard.place().to_owned()).unwrap_or_default()
    }
}
