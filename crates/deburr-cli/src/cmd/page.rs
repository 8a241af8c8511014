//! Where a page goes: the file is there as a whole or not at all, and what cannot be written is known
//! before anything runs.

use crate::output::Output;
use std::io::{self, Write};
use std::path::Path;

/// A page to be.
pub(super) struct Page(Output);

impl Page {
    /// Opens it, if one is wanted; `inputs`: the files that the run reads.
    pub(super) fn open(path: Option<&Path>, inputs: &[&Path]) -> Result<Option<Page>, String> {
        let Some(path) = path else { return Ok(None) };
        let output = Output::open(path, inputs).map_err(complain)?;
        Ok(Some(Page(output)))
    }

    /// Whether what is printed would be in its midst.
    pub(super) fn is_stdout(&self) -> bool {
        self.0.is_stdout
    }

    /// Writes it and gives it its name.
    pub(super) fn write(
        mut self,
        render: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), String> {
        render(&mut self.0).map_err(|error| complain(error.to_string()))?;
        self.0.finish().map_err(complain)
    }
}

fn complain(error: String) -> String {
    format!("--html {error}")
}
