//! A file that is read to be rewritten.

use crate::cmd::fix::trouble::Trouble;
use crate::input::mapped::Bytes;
use crate::system_error::error_text;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

/// The file, and what it was like when it was opened.
pub(crate) struct Source {
    pub(crate) file: File,
    pub(crate) metadata: Metadata,
    pub(crate) bytes: Bytes,
}

impl Source {
    pub(crate) fn open(path: &Path) -> Result<Source, Trouble> {
        let fault = |error: io::Error| Trouble::fault(error_text(&error));
        if path == Path::new("-") {
            return Err(Trouble::fault("the standard input cannot be rewritten: give a file"));
        }
        // The type is queried first: opening a fifo would wait for a writer.
        let kind = fs::metadata(path).map_err(fault)?;
        if !kind.is_file() {
            return Err(Trouble::fault(if kind.is_dir() { "a directory" } else { "no regular file" }));
        }
        let file = File::open(path).map_err(fault)?;
        let metadata = file.metadata().map_err(fault)?;
        let bytes = file.try_clone().and_then(Bytes::of).map_err(fault)?;
        Ok(Source { file, metadata, bytes })
    }

    pub(crate) fn check(&self) -> Result<(), Trouble> {
        match self.bytes.is_intact() {
            true => Ok(()),
            false => Err(Trouble::fault("the file changed while it was read")),
        }
    }
}
