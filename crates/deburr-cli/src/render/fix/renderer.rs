//! What both formats of `deburr fix` are: they get each file when it comes, and the sums of the run at its end.

use super::outcome::{Fixed, Packed, Reverted, Verdict};
use super::summary::FixSummary;
use crate::render::style::Palette;
use std::io::{self, Write};

/// A format.
pub(crate) trait FixRenderer {
    /// Opens the document.
    fn begin(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// Adds a file. `is_named`: whether it is shown though there is nothing in it.
    fn fixed(&mut self, out: &mut dyn Write, fixed: &Fixed, is_named: bool) -> io::Result<()>;

    /// Adds a package, after the files in it.
    fn packed(&mut self, out: &mut dyn Write, packed: &Packed) -> io::Result<()>;

    /// Adds a file that was given back.
    fn reverted(&mut self, out: &mut dyn Write, reverted: &Reverted) -> io::Result<()>;

    /// Adds a verdict.
    fn verdict(&mut self, out: &mut dyn Write, verdict: &Verdict) -> io::Result<()>;

    /// Closes the document.
    fn end(&mut self, out: &mut dyn Write, summary: &FixSummary) -> io::Result<()>;
}

/// A format for people, behind the wall that keeps what files hold from acting upon a terminal.
pub(crate) struct ForPeople<R> {
    pub(crate) format: R,
    pub(crate) palette: Palette,
}

impl<R: FixRenderer> FixRenderer for ForPeople<R> {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.format.begin(&mut self.palette.plain(out))
    }

    fn fixed(&mut self, out: &mut dyn Write, fixed: &Fixed, is_named: bool) -> io::Result<()> {
        self.format.fixed(&mut self.palette.plain(out), fixed, is_named)
    }

    fn packed(&mut self, out: &mut dyn Write, packed: &Packed) -> io::Result<()> {
        self.format.packed(&mut self.palette.plain(out), packed)
    }

    fn reverted(&mut self, out: &mut dyn Write, reverted: &Reverted) -> io::Result<()> {
        self.format.reverted(&mut self.palette.plain(out), reverted)
    }

    fn verdict(&mut self, out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
        self.format.verdict(&mut self.palette.plain(out), verdict)
    }

    fn end(&mut self, out: &mut dyn Write, summary: &FixSummary) -> io::Result<()> {
        self.format.end(&mut self.palette.plain(out), summary)
    }
}
