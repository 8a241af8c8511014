//! Files in text where nobody knows yet how many there will be: a few get a line each, of many only those
//! with findings do.

use super::detail::Detail;
use super::file;
use deburr_core::Report;
use std::io::{self, Write};

/// Files without findings have a line of their own up to this many files.
pub(crate) const FEW_FILES: usize = 10;

/// The reports of a run, before they become text.
pub(crate) struct Few {
    /// The first of them, until it is known whether they are few.
    waiting: Option<Vec<Report>>,
}

impl Few {
    /// `unknown`: whether the number of files is; otherwise nothing waits.
    pub(crate) fn new(unknown: bool) -> Few {
        Few { waiting: unknown.then(Vec::new) }
    }

    /// Renders one report, now or later.
    pub(crate) fn file(&mut self, out: &mut dyn Write, report: &Report, detail: &Detail) -> io::Result<()> {
        match &mut self.waiting {
            Some(waiting) if waiting.len() < FEW_FILES => {
                waiting.push(report.clone());
                Ok(())
            }
            waiting => {
                let before = waiting.take().into_iter().flatten();
                before.into_iter().try_for_each(|report| file::write(out, &report, detail))?;
                file::write(out, report, detail)
            }
        }
    }

    /// Renders those that wait: they are few.
    pub(crate) fn end(&mut self, out: &mut dyn Write, detail: &Detail) -> io::Result<()> {
        let detail = Detail { clean_files: true, ..*detail };
        self.waiting.take().into_iter().flatten().try_for_each(|report| file::write(out, &report, &detail))
    }
}
