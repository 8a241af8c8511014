//! Reverting: a rewritten file → its original, as its note has it.

use super::file::destination::{Destination, Goal};
use super::file::source::Source;
use super::run::FixRun;
use super::trouble::{Stop, Trouble, guarded};
use crate::input::content::Content;
use crate::render::fix::outcome::Reverted;
use deburr_text::ShownPath as _;

use std::path::Path;

impl FixRun<'_> {
    /// Gives the original of a file back.
    pub(super) fn revert(&mut self, path: &Path, goal: Goal<'_>) -> Result<(), Stop> {
        let source = Source::open(path)?;
        if Content::of_all(&source.bytes) == Content::Package {
            return self.package(path, &source, goal);
        }
        let Some(destination) = Destination::of(self.options, path, &source, goal)? else { return Ok(()) };
        let reverted = guarded(|| deburr_patch::revert(&source.bytes))?;
        let original = reverted.map_err(|error| Trouble::fault(error.to_string()))?;
        // The note's own SHA-256 has shown that it is the original.
        let (written, _) = destination.deliver(path, &source, Some((&*original).into()), |_| Ok(()))?;
        let reverted = Reverted { path: path.shown().into_owned(), written };
        self.render.reverted(self.out, &reverted)?;
        Ok(())
    }
}
