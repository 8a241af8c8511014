//! Matching: what becomes of each binary of two builds, as the batch reports it → pairs that are compared,
//! and what has no partner.
//!
//! Of the old build is held what a comparison needs of each binary, never its bytes. A binary of the new
//! build is compared as soon as it is there if the old one has the same name; others wait for the end of
//! their scope.

use super::scope::{ScopedFile, Side};
use crate::analysis::{Analysis, FAILED};
use crate::batch::outcome::{Outcome, Product};
use crate::batch::plan::BatchPlan;
use crate::config::allow::Ledger;
use crate::input::pairs::pair;
use crate::input::walk;
use crate::render::diff::{Compared, NotCompared};
use deburr_core::diff::Inspection;
use deburr_core::{Error, Report, Request, compare, inspect};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Product for Inspection {
    fn of(bytes: &[u8], request: &Request<'_>, _plan: &BatchPlan) -> Result<Inspection, Error> {
        let mut inspection = inspect(bytes, request)?;
        // Many may have to be held: what no comparison needs goes at once.
        let report = &mut inspection.report;
        (report.facts, report.isa_functions, report.advice) = (None, Vec::new(), Vec::new());
        Ok(inspection)
    }

    fn report(&mut self) -> &mut Report {
        &mut self.report
    }
}

/// A binary of one build.
struct Binary {
    path: String,
    inspection: Result<Box<Inspection>, NotCompared>,
}

/// One build's part of a scope.
struct Part {
    /// Names, and the binaries that have not been compared.
    binaries: Vec<(String, Option<Binary>)>,
    /// Whether all that it has was found.
    is_whole: bool,
}

impl Default for Part {
    fn default() -> Part {
        Part { binaries: Vec::new(), is_whole: true }
    }
}

impl Part {
    /// The names of those that have not been compared, and where they are.
    fn left(&self) -> (Vec<usize>, Vec<String>) {
        let left = self.binaries.iter().enumerate().filter(|(_, (_, binary))| binary.is_some());
        left.map(|(index, (name, _))| (index, name.clone())).unzip()
    }

    fn take(&mut self, index: usize) -> Option<Binary> {
        self.binaries.get_mut(index)?.1.take()
    }
}

/// What came of the pairs.
#[derive(Default)]
pub(super) struct Matched {
    pub(super) compared: Vec<Compared>,
    /// Paths that only the old build has.
    pub(super) only_old: Vec<String>,
    pub(super) skipped: Vec<NotCompared>,
}

/// The matching at work.
pub(super) struct Matching<'a> {
    analysis: &'a Analysis,
    ledger: Ledger<'a>,
    scope: usize,
    old: Part,
    new: Part,
    /// Binaries of the old build by their names, those of one name in order.
    waiting: HashMap<String, VecDeque<usize>>,
    /// What came of the scope so far, by the place in the new build.
    done: Vec<(usize, Matched)>,
    matched: Matched,
}

impl<'a> Matching<'a> {
    /// Of nothing yet.
    pub(super) fn new(analysis: &'a Analysis) -> Matching<'a> {
        Matching {
            analysis,
            ledger: Ledger::new(&analysis.config.allowances),
            scope: 0,
            old: Part::default(),
            new: Part::default(),
            waiting: HashMap::new(),
            done: Vec::new(),
            matched: Matched::default(),
        }
    }

    /// Takes what became of a file, or of some of what is in it.
    pub(super) fn take(&mut self, file: &ScopedFile, outcomes: Vec<Outcome<Inspection>>) {
        if file.scope != self.scope {
            self.end_scope();
            self.scope = file.scope;
        }
        for outcome in outcomes {
            match outcome {
                Outcome::Checked { product: mut inspection, .. } => {
                    let report = &mut inspection.report;
                    self.analysis.config.change_severities(&mut report.findings);
                    self.ledger.settle(report);
                    let path = report.path.clone();
                    self.add(file, Binary { path, inspection: Ok(inspection) });
                }
                Outcome::Skipped(skip) => {
                    let may_lack = skip.fault && !file.is_binary && file.is_at(&skip.path);
                    self.skip(file, skip, may_lack);
                }
                Outcome::Incomplete(skip) => self.skip(file, skip, true),
                Outcome::Described(_) | Outcome::PassedOver(_) => {}
            }
        }
    }

    fn skip(&mut self, file: &ScopedFile, skip: walk::Skipped, may_lack: bool) {
        let part = if file.side == Side::Old { &mut self.old } else { &mut self.new };
        part.is_whole &= !may_lack;
        let walk::Skipped { path, reason, fault: is_fault, .. } = skip;
        let skipped = NotCompared { path: path.clone(), reason, is_fault };
        self.add(file, Binary { path, inspection: Err(skipped) });
    }

    fn add(&mut self, file: &ScopedFile, binary: Binary) {
        let name = file.name_of(&binary.path);
        match file.side {
            Side::Old => {
                self.waiting.entry(name.clone()).or_default().push_back(self.old.binaries.len());
                self.old.binaries.push((name, Some(binary)));
            }
            Side::New => {
                let partner = self.waiting.get_mut(&name).and_then(VecDeque::pop_front);
                let index = self.new.binaries.len();
                match partner.and_then(|partner| self.old.take(partner)) {
                    Some(old) => {
                        self.done.push((index, compared(old, binary)));
                        self.new.binaries.push((name, None));
                    }
                    None => self.new.binaries.push((name, Some(binary))),
                }
            }
        }
    }

    /// Compares what is left of a scope, now that all its names are known.
    fn end_scope(&mut self) {
        let (mut old, mut new) = (std::mem::take(&mut self.old), std::mem::take(&mut self.new));
        let mut done = std::mem::take(&mut self.done);
        self.waiting.clear();
        let ((old_at, old_names), (new_at, new_names)) = (old.left(), new.left());
        let at = |places: &[usize], index: Option<usize>| index.and_then(|index| places.get(index).copied());
        for (a, b) in pair(&old_names, &new_names) {
            let index = at(&new_at, b);
            let a = at(&old_at, a).and_then(|index| old.take(index));
            let b = index.and_then(|index| new.take(index));
            let matched = match (a, b) {
                (Some(a), Some(b)) => compared(a, b),
                (None, Some(b)) => only_new(b, old.is_whole),
                (Some(a), None) => only_old(a, new.is_whole),
                (None, None) => continue,
            };
            done.push((index.unwrap_or(usize::MAX), matched));
        }
        done.sort_by_key(|(index, _)| *index);
        for (_, matched) in done {
            self.matched.compared.extend(matched.compared);
            self.matched.only_old.extend(matched.only_old);
            self.matched.skipped.extend(matched.skipped);
        }
    }

    /// All that came of it.
    pub(super) fn end(mut self) -> Matched {
        self.end_scope();
        self.matched
    }
}

/// What cannot be compared, and why.
fn skipped(path: String, reason: &str, is_fault: bool) -> Matched {
    Matched { skipped: vec![NotCompared { path, reason: reason.to_owned(), is_fault }], ..Matched::default() }
}

fn compared(old: Binary, new: Binary) -> Matched {
    match (old.inspection, new.inspection) {
        (Ok(before), Ok(after)) if before.report.arch != after.report.arch => {
            skipped(new.path, "another architecture than in the old build", true)
        }
        (Ok(before), Ok(after)) => one(Some((old.path, &before)), new.path, &after),
        (before, after) => {
            // What neither build can have compared is reported once.
            let before = before.err().filter(|skip| skip.is_fault || after.is_ok());
            let skipped = before.into_iter().chain(after.err()).collect();
            Matched { skipped, ..Matched::default() }
        }
    }
}

fn one(old: Option<(String, &Inspection)>, new: String, after: &Inspection) -> Matched {
    let (path, before) = old.unzip();
    // Here it would cost the whole batch, whose threads would wait indefinitely.
    let Ok(diff) = catch_unwind(AssertUnwindSafe(|| compare(before, after))) else {
        return skipped(new, FAILED, true);
    };
    let level = after.report.level.clone();
    let old_level = before.map(|before| before.report.level.clone());
    Matched { compared: vec![Compared { old: path, new, level, old_level, diff }], ..Matched::default() }
}

fn only_new(new: Binary, is_old_whole: bool) -> Matched {
    match new.inspection {
        Ok(after) if is_old_whole => one(None, new.path, &after),
        Ok(_) => skipped(new.path, "not in what could be read of the old build", false),
        Err(skip) => Matched { skipped: vec![skip], ..Matched::default() },
    }
}

fn only_old(old: Binary, is_new_whole: bool) -> Matched {
    match old.inspection {
        Ok(_) if is_new_whole => Matched { only_old: vec![old.path], ..Matched::default() },
        Ok(_) => skipped(old.path, "not in what could be read of the new build", false),
        Err(skip) => Matched { skipped: vec![skip], ..Matched::default() },
    }
}
