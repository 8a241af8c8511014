//! Where a page or an export goes: the file is there as a whole or not at all, and what cannot be written is known
//! before anything runs.

use crate::output::Output;
use std::io::{self, Write};
use std::path::Path;

/// A page to be.
pub(super) struct Page {
    /// The option that names it.
    option: &'static str,
    output: Output,
}

impl Page {
    /// Opens it, if one is wanted; `inputs`: the files that the run reads.
    pub(super) fn open(path: Option<&Path>, inputs: &[&Path]) -> Result<Option<Page>, String> {
        Page::of("--html", path, inputs)
    }

    /// The same of what another option names.
    pub(super) fn of(
        option: &'static str,
        path: Option<&Path>,
        inputs: &[&Path],
    ) -> Result<Option<Page>, String> {
        let Some(path) = path else { return Ok(None) };
        let output = Output::open(path, inputs).map_err(|error| format!("{option} {error}"))?;
        Ok(Some(Page { option, output }))
    }

    /// Whether what is printed would be in its midst.
    pub(super) fn is_stdout(&self) -> bool {
        self.output.is_stdout
    }

    /// Writes it and gives it its name.
    pub(super) fn write(self, render: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), String> {
        let Page { option, mut output } = self;
        render(&mut output).map_err(|error| format!("{option} {error}"))?;
        output.finish().map_err(|error| format!("{option} {error}"))
    }
}
