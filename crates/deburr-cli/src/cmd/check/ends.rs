//! What a run takes and gives apart from the files that its options name: the streams of the command, or the memory of a program
//! that calls the library.

use crate::identity::{Identity, identity};
use crate::input::held::HeldInputs;
use deburr_tables::{RecordBatch, Table};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

/// The ends of a run.
pub(crate) struct Ends<'a> {
    /// Where the format goes that has no file.
    pub(crate) out: &'a mut dyn Write,
    /// Whether that is the standard output of this process.
    pub(crate) is_stdout: bool,
    /// Whether its reader is gone.
    pub(crate) is_over: Option<&'a Cell<bool>>,
    /// Where complaints go.
    pub(crate) complaints: &'a mut dyn Write,
    /// Input without a file.
    pub(crate) held: HeldInputs,
    /// Where rows go, where the caller wants them.
    pub(crate) rows: Option<&'a mut Vec<(Table, RecordBatch)>>,
    /// Afterwards: the first path that the caller named and of which nothing was checked, and why; in a run that failed.
    pub(crate) refused: Option<(String, String)>,
}

impl<'a> Ends<'a> {
    /// Those of the command.
    pub(crate) fn of_command(
        stdout: &'a mut dyn Write,
        is_over: &'a Cell<bool>,
        complaints: &'a mut dyn Write,
    ) -> Ends<'a> {
        let is_over = Some(is_over);
        let held = HeldInputs::new();
        Ends { out: stdout, is_stdout: true, is_over, complaints, held, rows: None, refused: None }
    }
}

/// What [`Ends::out`] is: a terminal, or which file.
#[derive(Default)]
pub(super) struct Place {
    pub(super) is_terminal: bool,
    pub(super) identities: Vec<Identity>,
}

impl Place {
    /// The place of the standard output.
    pub(super) fn of_stdout() -> Place {
        let file = io::stdout().as_fd().try_clone_to_owned().ok().map(File::from);
        let metadata = file.and_then(|file| file.metadata().ok()).filter(|it| it.is_file());
        Place { is_terminal: io::stdout().is_terminal(), identities: metadata.iter().map(identity).collect() }
    }
}
