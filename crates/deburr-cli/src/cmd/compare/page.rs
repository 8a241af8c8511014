//! Where the page goes: the file is there as a whole or not at all, and what cannot be written is known before anything runs.

use crate::cmd::passing::Passing;
use crate::input::walk::error_text;
use crate::render::compare::{Document, html};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A page to be.
pub(super) struct Page {
    destination: PathBuf,
    passing: Passing,
}

impl Page {
    /// Opens it, under another name.
    pub(super) fn open(destination: &Path) -> Result<Page, String> {
        let fault = |error: io::Error| complain(destination, &error);
        if destination.is_dir() {
            return Err(fault(io::ErrorKind::IsADirectory.into()));
        }
        let passing = Passing::beside(destination, 0o666).map_err(fault)?;
        Ok(Page { destination: destination.to_owned(), passing })
    }

    /// Writes it and gives it its name.
    pub(super) fn write(mut self, document: &Document) -> Result<(), String> {
        let mut out = BufWriter::new(&self.passing.file);
        let written = html::render(document, &mut out).and_then(|()| out.flush());
        drop(out);
        let named = written.and_then(|()| self.passing.rename_to(&self.destination));
        named.map_err(|error| complain(&self.destination, &error))
    }
}

fn complain(path: &Path, error: &io::Error) -> String {
    format!("--html {}: {}", path.display(), error_text(error))
}
