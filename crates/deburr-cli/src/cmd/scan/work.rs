//! Items that are here → their rows, kept one by one.
//!
//! In: items with the files that they are. Out: what became of each, in the cache or as a reason. An item is kept as soon as
//! it is checked: a run that is killed has lost those that it had in hand.

use super::cache::{Cache, Entry, Fault};
use super::course::{Course, Fate};
use super::hashes::{Hashes, Moment, Stamp};
use crate::args::batch::Progress;
use crate::batch;
use crate::batch::compared::ComparedFacts;
use crate::batch::outcome::{CheckedFile, Outcome};
use crate::batch::plan::BatchPlan;
use crate::cmd::rulings::Rulings;
use crate::input::content::Content;
use crate::input::walk::{InputFile, Skipped};
use crate::product::scan_item::Item;
use deburr_tables::{Error, FileOf, Rows, Stored};
use std::fs;
use std::path::{Path, PathBuf};

/// What all items of a scan share.
pub(super) struct Work<'p> {
    plan: &'p BatchPlan,
    rulings: Rulings<'p>,
    cache: &'p Cache,
    /// When the scan began, in microseconds since 1970.
    run: i64,
}

/// An item that is here, and its number.
pub(super) struct Input<'i> {
    pub(super) number: usize,
    pub(super) item: &'i Item,
    pub(super) place: PathBuf,
}

/// An item whose rows come.
struct Current<'c> {
    turn: usize,
    rows: Rows<Stored<Entry<'c>>>,
    /// The hash of its bytes, once it is described.
    sha256: Option<String>,
    compared: ComparedFacts,
    faults: Vec<Fault>,
    /// Why it could not be read as a whole.
    failure: Option<String>,
}

impl<'p> Work<'p> {
    pub(super) fn new(plan: &'p BatchPlan, cache: &'p Cache, run: i64) -> Work<'p> {
        Work { plan, rulings: Rulings::new(&plan.analysis, false), cache, run }
    }

    /// Checks items. What becomes of each is told as soon as it is kept.
    ///
    /// # Errors
    /// Where rows cannot be written, for people.
    pub(super) fn check(
        &mut self,
        inputs: &[Input<'_>],
        hashes: &mut Hashes,
        course: &mut Course,
    ) -> Result<(), String> {
        let moment = Moment::now();
        let stamps: Vec<Option<Stamp>> = inputs.iter().map(|input| stamp(&input.place)).collect();
        let files: Vec<InputFile> = inputs.iter().map(Input::file).collect();
        let mut end = |work: &mut Self, ended: Current<'p>| -> Result<(), String> {
            let (Some(input), Some(before)) = (inputs.get(ended.turn), stamps.get(ended.turn)) else {
                return Ok(());
            };
            if let (Some(before), Some(sha256)) = (before, &ended.sha256)
                && stamp(&input.place).as_ref() == Some(before)
            {
                hashes.note(&input.item.path, *before, moment, sha256);
            }
            course.ended(input.number, input.item, work.end(ended, input.item)?);
            Ok(())
        };
        let mut current: Option<Current<'p>> = None;
        let plan = self.plan;
        batch::check_all(&files, plan, Progress::Never, |turn, outcomes: Vec<Outcome<CheckedFile>>| {
            let mut item = match current.take() {
                Some(item) if item.turn == turn => item,
                ended => {
                    ended.map_or(Ok(()), |ended| end(self, ended))?;
                    self.begin(turn)?
                }
            };
            let path = inputs.get(turn).map_or("", |input| input.item.path.as_str());
            outcomes.into_iter().try_for_each(|outcome| self.take(&mut item, outcome, path))?;
            current = Some(item);
            Ok::<(), String>(())
        })?;
        current.map_or(Ok(()), |last| end(self, last))
    }

    fn begin(&self, turn: usize) -> Result<Current<'p>, String> {
        Ok(Current {
            turn,
            rows: Rows::new(0, Stored::new(self.cache.begin()?)),
            sha256: None,
            compared: ComparedFacts::default(),
            faults: Vec::new(),
            failure: None,
        })
    }

    fn take(
        &mut self,
        current: &mut Current<'_>,
        outcome: Outcome<CheckedFile>,
        path: &str,
    ) -> Result<(), String> {
        match outcome {
            Outcome::Described(artefact) => {
                current.sha256.clone_from(&artefact.sha256);
                current.rows.artefact(&artefact.row()).map_err(told)
            }
            Outcome::Checked { product, bytes } => {
                let CheckedFile { mut report, sizes, sha256, .. } = *product;
                current.compared.add(&mut report);
                self.rulings.settle(&mut report);
                let row = FileOf { report: &report, bytes, sha256: sha256.as_deref(), sizes: &sizes };
                current.rows.file(row).map_err(told)
            }
            Outcome::Skipped(skip) | Outcome::Incomplete(skip) | Outcome::Recognised(skip) => {
                current.skip(skip, path)
            }
            Outcome::PassedOver(_) | Outcome::Excluded(_) => Ok(()),
        }
    }

    /// Keeps the rows of an item.
    fn end(&self, current: Current<'_>, item: &Item) -> Result<Fate, String> {
        let Current { mut rows, sha256, compared, faults, failure, .. } = current;
        let Some(sha256) = sha256.as_deref().or(item.sha256.as_deref()) else {
            return Ok(Fate::Failed(failure.unwrap_or_else(|| "nothing could be read".to_owned())));
        };
        if item.is_stated && item.sha256.as_deref() != Some(sha256) {
            return Ok(Fate::Failed(
                "its bytes are not those of the index: the SHA-256 is another".to_owned(),
            ));
        }
        let across = deburr_core::across(&compared.files, Some(&self.plan.analysis.rules));
        rows.across(&across).map_err(told)?;
        let entry = rows.finish().map_err(told)?.into_inner();
        let key = self.cache.key(&item.path, sha256);
        entry.keep(&key, &faults, (failure.is_some(), self.run))?;
        Ok(Fate::Kept(key))
    }
}

impl Current<'_> {
    fn skip(&mut self, skip: Skipped, path: &str) -> Result<(), String> {
        self.rows.failure(&skip.path, &skip.reason).map_err(told)?;
        if skip.fault {
            if skip.path == path && self.failure.is_none() {
                self.failure = Some(skip.reason.clone());
            }
            self.faults.push((skip.path, skip.reason));
        }
        Ok(())
    }
}

impl Input<'_> {
    fn file(&self) -> InputFile {
        // An index may be wrong about its size, and a folder has none.
        let size = match self.item.content {
            Content::Layout => 0,
            _ => fs::metadata(&self.place).map_or(self.item.size, |metadata| metadata.len()),
        };
        InputFile::below(Path::new(&self.item.path), &self.place, size, self.item.content)
    }
}

fn stamp(place: &Path) -> Option<Stamp> {
    fs::metadata(place).ok().map(|metadata| Stamp::of(&metadata))
}

fn told(error: Error) -> String {
    error.to_string()
}
