//! What comparisons of files need of each report, taken out of it as it passes.

use crate::input::pairs::kin;
use deburr_core::Report;
use deburr_core::rule::FileFacts;

/// The maximum of functions, of all files together, that are kept in order to compare them.
const MOST_COMPARED: usize = 500_000;

/// What comparisons at the end of the run need.
#[derive(Default)]
pub(crate) struct ComparedFacts {
    pub(crate) files: Vec<FileFacts>,
    functions: usize,
    /// Files for which there was no more room.
    pub(crate) left_out: u64,
}

impl ComparedFacts {
    /// Takes a report's facts out of it.
    pub(crate) fn add(&mut self, report: &mut Report) {
        let is_comparable = |facts: &FileFacts| {
            !facts.shapes.is_empty() || facts.claim.is_some() || facts.assertions.is_some()
        };
        let Some(facts) = report.facts.take().filter(is_comparable) else { return };
        // A file without any takes room, too.
        let room = facts.shapes.len().max(1);
        if self.functions + room > MOST_COMPARED {
            self.left_out += 1;
            return;
        }
        self.functions += room;
        let path = report.path.as_str();
        self.files.push(FileFacts { path: path.into(), kin: kin(path).map(Into::into), ..facts });
    }
}
