//! Items that are here → their rows, kept one by one.
//!
//! In: items with the files that they are. Out: what became of each, in the cache or as a reason. An item is kept as soon as
//! it is checked: a run that is killed has lost those that it had in hand.

use super::cache::{Cache, Entry, Fault, Key};
use super::hashes::{Hashes, Moment, Stamp};
use super::item::Item;
use super::meter::Meter;
use crate::args::batch::Progress;
use crate::batch;
use crate::batch::compared::ComparedFacts;
use crate::batch::outcome::{CheckedFile, Outcome};
use crate::batch::plan::BatchPlan;
use crate::cmd::rulings::Rulings;
use crate::input::content::Content;
use crate::input::walk::{InputFile, Skipped};
use deburr_tables::{Error, FileOf, Rows, Stored};
use std::fs;
use std::path::{Path, PathBuf};

/// What became of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    /// Its rows are kept under that name.
    Kept(Key),
    /// There are none, for that reason.
    Failed(String),
}

/// What all items of a scan share.
pub(super) struct Work<'p> {
    plan: &'p BatchPlan,
    rulings: Rulings<'p>,
    cache: &'p Cache,
    /// When the scan began, in microseconds since 1970.
    run: i64,
}

/// An item that is here.
pub(super) struct Input<'i> {
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

    /// Checks items, each with a number; what becomes of each is told as soon as it is kept.
    ///
    /// # Errors
    /// Where rows cannot be written, for people.
    pub(super) fn check(
        &mut self,
        inputs: &[(usize, Input<'_>)],
        hashes: &mut Hashes,
        meter: &mut Meter,
        mut told: impl FnMut(usize, Fate),
    ) -> Result<(), String> {
        let moment = Moment::now();
        let stamps: Vec<Option<Stamp>> = inputs.iter().map(|(_, input)| stamp(&input.place)).collect();
        let files: Vec<InputFile> = inputs.iter().map(|(_, input)| input.file()).collect();
        let mut current: Option<Current<'p>> = None;
        let mut next = 0;
        let plan = self.plan;
        let mut ended = |work: &mut Self, it: Current<'p>, meter: &mut Meter| -> Result<(), String> {
            let Some((number, input)) = inputs.get(it.turn) else { return Ok(()) };
            let (turn, sha256) = (it.turn, it.sha256.clone());
            let fate = work.end(it, input.item)?;
            if let (Some(sha256), Some(Some(before))) = (sha256, stamps.get(turn))
                && stamp(&input.place).as_ref() == Some(before)
            {
                hashes.note(&input.item.path, *before, moment, &sha256);
            }
            meter.add(1, input.item.size);
            told(*number, fate);
            Ok(())
        };
        let emit = |turn: usize, outcomes: Vec<Outcome<CheckedFile>>| -> Result<(), String> {
            while next <= turn {
                if let Some(before) = current.take() {
                    ended(self, before, meter)?;
                }
                current = Some(self.begin(next)?);
                next += 1;
            }
            let Some(current) = &mut current else { return Ok(()) };
            let path = inputs.get(turn).map_or("", |(_, input)| input.item.path.as_str());
            outcomes.into_iter().try_for_each(|outcome| self.take(current, outcome, path))
        };
        batch::check_all(&files, plan, Progress::Never, emit)?;
        while next < inputs.len() || current.is_some() {
            if let Some(before) = current.take() {
                ended(self, before, meter)?;
            }
            if next < inputs.len() {
                current = Some(self.begin(next)?);
                next += 1;
            }
        }
        Ok(())
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
            Outcome::Skipped(skip) | Outcome::Incomplete(skip) => current.skip(skip, path),
            Outcome::PassedOver(_) => Ok(()),
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
