//! Where the page goes: the file is there as a whole or not at all, and what cannot be written is known
//! before anything runs.

use crate::args::compare::Compare;
use crate::output::Output;
use crate::render::compare::document::CompareDocument;
use crate::render::compare::html;
use std::path::Path;

/// A page to be.
pub(super) struct Page(Output);

impl Page {
    /// Opens it, if one is wanted.
    pub(super) fn open(options: &Compare) -> Result<Option<Page>, String> {
        let Some(path) = &options.html else { return Ok(None) };
        let output = Output::open(path, &inputs(options)).map_err(complain)?;
        Ok(Some(Page(output)))
    }

    /// Whether what is printed would be in its midst.
    pub(super) fn is_stdout(&self) -> bool {
        self.0.is_stdout
    }

    /// Writes it and gives it its name.
    pub(super) fn write(mut self, document: &CompareDocument) -> Result<(), String> {
        html::render(document, &mut self.0).map_err(|error| complain(error.to_string()))?;
        self.0.finish().map_err(complain)
    }
}

/// The files that a comparison reads.
pub(super) fn inputs(options: &Compare) -> Vec<&Path> {
    let values = options.values.iter().flatten();
    let files = values.chain(&options.files).chain(&options.input).chain(options.resume.iter().flatten());
    files.map(|path| path.as_path()).collect()
}

fn complain(error: String) -> String {
    format!("--html {error}")
}
