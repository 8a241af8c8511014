//! One binary: read, planned for, and written where that is wanted.

use super::breaks;
use super::file::destination::{Destination, Goal};
use super::file::source::Source;
use super::rewriter::{self, Rewrite};
use super::run::FixRun;
use super::trouble::{Stop, Trouble};
use crate::input::content::Content;
use deburr_text::ShownPath as _;
use std::path::Path;

impl FixRun<'_> {
    /// Plans for a file, and writes what is wanted.
    pub(super) fn rewrite(&mut self, path: &Path, goal: Goal<'_>) -> Result<(), Stop> {
        let source = Source::open(path)?;
        if Content::of_all(&source.bytes) == Content::Package {
            return self.package(path, &source, goal);
        }
        let destination = Destination::of(self.options, path, &source, goal)?;
        let Rewrite { plan, patched, trailing } = self.rewriter.make(&source.bytes, Some(path))?;
        self.check_met()?;
        source.check()?;
        let mut fixed = self.planned(path.shown().into_owned(), plan, trailing);
        let mut refusal = None;
        if !fixed.plan.sites.is_empty() {
            refusal = self.attested(&mut fixed, self.disk.attestations(path, &source));
            fixed.breaks.extend(breaks::around(self.options, path, &source));
        }
        let patched = match (patched.transpose(), refusal) {
            (Ok(patched), None) => patched,
            (made, refusal) => {
                let obstacle = refusal.or_else(|| made.err().map(|error| breaks::obstacle(&error)));
                if let Some(reason) = obstacle.clone().filter(|_| destination.is_some()) {
                    return Err(Trouble::left(reason).into());
                }
                fixed.obstacle = obstacle;
                None
            }
        };
        if let Some(destination) = destination {
            let target = self.rewriter.target();
            let (written, lost) = destination.deliver(path, &source, patched, |written| {
                let release =
                    |part: &[u8]| [written, &source.bytes].into_iter().for_each(|it| it.release(part));
                rewriter::verify(&source.bytes, written, target, &release, &fixed.plan)
            })?;
            fixed.breaks.extend(lost);
            fixed.written = Some(written);
        }
        self.show(&fixed, !self.summary.is_tree)?;
        Ok(())
    }
}
