//! Where the page goes: the file is there as a whole or not at all, and what cannot be written is known before anything runs.

use crate::input::walk::error_text;
use crate::render::compare::{Document, html};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A page to be.
pub(super) struct Page {
    destination: PathBuf,
    /// Beside the destination, so that it can take its name.
    passing: PathBuf,
    file: File,
}

impl Page {
    /// Opens it, under another name.
    pub(super) fn open(destination: &Path) -> Result<Page, String> {
        let fault = |error: io::Error| complain(destination, &error);
        if destination.is_dir() {
            return Err(fault(io::ErrorKind::IsADirectory.into()));
        }
        let name = destination.file_name().ok_or_else(|| fault(io::ErrorKind::InvalidInput.into()))?;
        let mut passing = name.to_owned();
        passing.push(format!(".deburr-{}", std::process::id()));
        let passing = destination.with_file_name(passing);
        let file = OpenOptions::new().write(true).create_new(true).open(&passing).map_err(fault)?;
        Ok(Page { destination: destination.to_owned(), passing, file })
    }

    /// Writes it and gives it its name.
    pub(super) fn write(self, document: &Document) -> Result<(), String> {
        let mut out = BufWriter::new(&self.file);
        let written = html::render(document, &mut out).and_then(|()| out.flush());
        let named = written.and_then(|()| fs::rename(&self.passing, &self.destination));
        named.map_err(|error| complain(&self.destination, &error))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // There is none any more where the page has its name.
        let _ = fs::remove_file(&self.passing);
    }
}

fn complain(path: &Path, error: &io::Error) -> String {
    format!("--html {}: {}", path.display(), error_text(error))
}
