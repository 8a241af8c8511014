//! Packages and archives that the user named, and of which nothing could be checked though there are programs in them.
//!
//! In: what became of each file, with its number. Out: a fault for each such package: a wheel for Windows is not found clean.

use crate::batch::outcome::{CheckedFile, Outcome};
use crate::input::content::Content;
use crate::input::walk::{InputFile, Skipped};
use crate::text::number::kinds;
use deburr_text::ShownPath as _;
use std::collections::BTreeMap;

/// Counts by the number of a package or an archive.
pub(super) struct Unread<'f> {
    files: &'f [InputFile],
    tallies: BTreeMap<usize, Tally>,
}

#[derive(Default)]
struct Tally {
    checked: u64,
    kinds: BTreeMap<String, u64>,
}

impl<'f> Unread<'f> {
    pub(super) fn new(files: &'f [InputFile]) -> Unread<'f> {
        Unread { files, tallies: BTreeMap::new() }
    }

    /// Notes what became of a file, or of some of it.
    pub(super) fn note(&mut self, turn: usize, outcome: &Outcome<CheckedFile>) {
        let is_wanted = |file: &InputFile| {
            file.is_named()
                && (file.content.is_package() || file.content == Content::Archive || file.is_stdin)
        };
        if !self.files.get(turn).is_some_and(is_wanted) {
            return;
        }
        let tally = self.tallies.entry(turn).or_default();
        match outcome {
            Outcome::Checked { .. } => tally.checked += 1,
            Outcome::Skipped(Skipped { kind: Some(kind), .. })
            | Outcome::Recognised(Skipped { kind: Some(kind), .. }) => {
                *tally.kinds.entry(kind.clone()).or_default() += 1;
            }
            _ => {}
        }
    }

    /// Those of which nothing was checked.
    pub(super) fn end(self) -> impl Iterator<Item = Skipped> {
        let unread = self.tallies.into_iter().filter(|(_, it)| it.checked == 0 && !it.kinds.is_empty());
        unread.filter_map(move |(turn, tally)| {
            let path = self.files.get(turn)?.path.shown().into_owned();
            let reason = format!("nothing in it could be checked: {}", kinds(&tally.kinds));
            Some(Skipped { path, reason, named: true, fault: true, ..Skipped::default() })
        })
    }
}
