//! What every format of `deburr check` is: it gets each file when it comes, and the sums of the run at its end.

use super::totals::Totals;
use crate::config::allow::{Allowed, Remarks};
use crate::config::guard::StaleGuard;
use crate::config::in_force::InForce;
use crate::input::walk::Skipped;
use crate::profile::Elsewhere;
use crate::render::style::Palette;
use deburr_core::Report;
use deburr_core::listing::{FunctionSize, Listing};
use deburr_core::report::AcrossFinding;
use std::io::{self, Write};

/// One file that was checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checked<'r> {
    /// With the findings that are not allowed.
    pub(crate) report: &'r Report,
    /// The findings that are.
    pub(crate) allowed: &'r [Allowed],
    /// The code that findings are about, where a format shows it.
    pub(crate) code: CodeOfFile<'r>,
}

/// Code of one file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CodeOfFile<'r> {
    /// Functions with findings, the worst first, and then other hot ones.
    pub(crate) listings: &'r [Listing],
    /// Those for which there was no room.
    pub(crate) left_out: u64,
    /// The sizes of functions above the first level, with findings, and of hot ones.
    pub(crate) sizes: &'r [FunctionSize],
}

/// A run that is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finished<'r> {
    pub(crate) totals: &'r Totals,
    /// By path.
    pub(crate) skipped: &'r [Skipped],
    /// Findings by comparison of files, by file.
    pub(crate) across: &'r [AcrossFinding],
    pub(crate) stale_guards: &'r [StaleGuard],
    pub(crate) remarks: &'r Remarks,
    /// The configuration, where there is one.
    pub(crate) configuration: Option<&'r InForce>,
    /// What the profiles saw, where the user has some.
    pub(crate) profile: Option<&'r Elsewhere>,
}

/// A format: what is written at the beginning, for each file, and at the end.
pub(crate) trait Renderer {
    /// Opens the document.
    fn begin(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// Adds one file.
    fn file(&mut self, out: &mut dyn Write, file: Checked<'_>) -> io::Result<()>;

    /// Closes the document.
    fn end(&mut self, out: &mut dyn Write, run: Finished<'_>) -> io::Result<()>;
}

/// A format for people and logs, behind the wall that keeps what files hold from acting upon them.
pub(crate) struct ForPeople<R> {
    pub(crate) format: R,
    pub(crate) palette: Palette,
}

impl<R: Renderer> Renderer for ForPeople<R> {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.format.begin(&mut self.palette.plain(out))
    }

    fn file(&mut self, out: &mut dyn Write, file: Checked<'_>) -> io::Result<()> {
        self.format.file(&mut self.palette.plain(out), file)
    }

    fn end(&mut self, out: &mut dyn Write, run: Finished<'_>) -> io::Result<()> {
        self.format.end(&mut self.palette.plain(out), run)
    }
}
