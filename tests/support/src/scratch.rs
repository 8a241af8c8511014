//! Folders for one test each.

use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder that is removed when the test is over, with a name of its own among the temporary files.
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    /// Makes the folder; `name` is part of its name.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn new(name: &str) -> Scratch {
        let made = tempfile::Builder::new().prefix(&format!("deburr-{name}-")).tempdir();
        Scratch(made.unwrap_or_else(|error| panic!("{}: {error}", std::env::temp_dir().display())))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The folder, as an argument of a command.
    pub fn as_str(&self) -> &str {
        self.path().to_str().unwrap_or_else(|| panic!("{} is no UTF-8", self.path().display()))
    }

    /// The path of something in the folder.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file, with the folders that its name asks for, and returns its path.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.join(name);
        let written =
            fs::create_dir_all(path.parent().unwrap_or(self.path())).and_then(|()| fs::write(&path, bytes));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path.display().to_string()
    }

    /// The names in the folder, in order.
    ///
    /// # Panics
    /// If the folder cannot be read.
    pub fn names(&self) -> Vec<String> {
        let entries =
            fs::read_dir(self.path()).unwrap_or_else(|error| panic!("{}: {error}", self.path().display()));
        let mut names: Vec<String> = entries
            .filter_map(Result::ok)
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::Scratch;

    #[test]
    fn a_folder_holds_what_was_written_and_goes_away() {
        let scratch = Scratch::new("scratch");
        let file = scratch.file("a/b", b"bytes");
        assert_eq!(
            (std::fs::read(&file).unwrap().as_slice(), scratch.names()),
            (&b"bytes"[..], vec!["a".to_owned()])
        );
        let path = scratch.path().to_owned();
        drop(scratch);
        assert!(!path.exists());
    }
}
