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
use crate::cmd::rulings::is_answer_allowed;
use crate::config::allow::Ledger;
use crate::input::pairs::{Pair, pair};
use crate::input::walk;
use crate::render::diff::html::drawn::{DrawnFile, InspectedFile};
use crate::render::diff::html::listed::ListedFunction;
use crate::render::diff::{AnswersOfPair, Compared, NotCompared};
use crate::render::page::view::room::Rooms;
use deburr_core::diff::FileDiff;
use deburr_core::{Error, Report, Request, compare, inspect, inspect_with_code};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Product for InspectedFile {
    fn of(bytes: &[u8], request: &Request<'_>, plan: &BatchPlan) -> Result<InspectedFile, Error> {
        let (mut inspection, listings, left_out) = match plan.insns_listed {
            Some(bound) => inspect_with_code(bytes, request, bound)?,
            None => (inspect(bytes, request)?, Vec::new(), 0),
        };
        // Many may have to be held: what no comparison needs goes at once.
        let report = &mut inspection.report;
        (report.facts, report.isa_functions) = (None, Vec::new());
        if plan.insns_listed.is_none() {
            report.advice = Vec::new();
        }
        Ok(InspectedFile { inspection, code: ListedFunction::all(&listings), left_out })
    }

    fn report(&mut self) -> &mut Report {
        &mut self.inspection.report
    }
}

/// A binary of one build.
struct Binary {
    path: String,
    inspected: Result<Box<InspectedFile>, NotCompared>,
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

    /// Whether it is an extension module in a package, as Python and Node.js load them, that could be read.
    fn is_module(&self, index: usize) -> bool {
        let binary = self.binaries.get(index).and_then(|(_, binary)| binary.as_ref());
        let is_named_so =
            |path: &str| path.contains('!') && [".so", ".node"].iter().any(|end| path.ends_with(end));
        binary.is_some_and(|binary| is_named_so(&binary.path) && binary.inspected.is_ok())
    }

    fn take(&mut self, index: usize) -> Option<Binary> {
        self.binaries.get_mut(index)?.1.take()
    }
}

/// A binary that only the old build has.
pub(super) struct OnlyOld {
    pub(super) path: String,
    /// What it would be as a binary that only the new build has.
    pub(super) diff: FileDiff,
}

/// What came of the pairs.
#[derive(Default)]
pub(super) struct Matched {
    /// Findings that the configuration allows.
    pub(super) allowed: u64,
    pub(super) compared: Vec<Compared>,
    /// What only the old build has.
    pub(super) only_old: Vec<OnlyOld>,
    pub(super) skipped: Vec<NotCompared>,
}

/// The matching at work.
pub(super) struct Matching<'a> {
    analysis: &'a Analysis,
    /// The room that a page has left, where one is wanted.
    rooms: Option<Rooms>,
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
    pub(super) fn new(plan: &'a BatchPlan) -> Matching<'a> {
        let analysis = &plan.analysis;
        Matching {
            analysis,
            rooms: plan.insns_listed.map(|_| Rooms::default()),
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
    pub(super) fn take(&mut self, file: &ScopedFile, outcomes: Vec<Outcome<InspectedFile>>) {
        if file.scope != self.scope {
            self.end_scope();
            self.scope = file.scope;
        }
        for outcome in outcomes {
            match outcome {
                Outcome::Checked { product: mut inspected, .. } => {
                    let report = &mut inspected.inspection.report;
                    self.analysis.config.change_severities(&mut report.findings);
                    let allowed = self.ledger.settle(report);
                    self.matched.allowed += allowed.len() as u64;
                    report.answer_allowed = is_answer_allowed(report, &allowed);
                    let path = report.path.clone();
                    self.add(file, Binary { path, inspected: Ok(inspected) });
                }
                Outcome::Skipped(skip) => {
                    let may_lack = skip.fault && !file.is_binary && file.is_at(&skip.path);
                    self.skip(file, skip, may_lack);
                }
                Outcome::Incomplete(skip) => self.skip(file, skip, true),
                Outcome::Described(_)
                | Outcome::Recognised(_)
                | Outcome::PassedOver(_)
                | Outcome::Excluded(_) => {}
            }
        }
    }

    fn skip(&mut self, file: &ScopedFile, skip: walk::Skipped, may_lack: bool) {
        let part = if file.side == Side::Old { &mut self.old } else { &mut self.new };
        part.is_whole &= !may_lack;
        let walk::Skipped { path, reason, fault: is_fault, .. } = skip;
        let skipped = NotCompared { path: path.clone(), reason, is_fault };
        self.add(file, Binary { path, inspected: Err(skipped) });
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
                        let matched = compared(old, binary, self.rooms.as_mut());
                        self.done.push((index, matched));
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
        let mut pairs = pair(&old_names, &new_names);
        pair_lone_modules(&mut pairs, |pair| match pair {
            (Some(a), None) => at(&old_at, Some(a)).is_some_and(|index| old.is_module(index)),
            (None, Some(b)) => at(&new_at, Some(b)).is_some_and(|index| new.is_module(index)),
            _ => false,
        });
        for (a, b) in pairs {
            let index = at(&new_at, b);
            let a = at(&old_at, a).and_then(|index| old.take(index));
            let b = index.and_then(|index| new.take(index));
            let matched = match (a, b) {
                (Some(a), Some(b)) => compared(a, b, self.rooms.as_mut()),
                (None, Some(b)) => only_new(b, old.is_whole, self.rooms.as_mut()),
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

    /// All that came of it, and the room that is left on a page.
    pub(super) fn end(mut self) -> (Matched, Option<Rooms>) {
        self.end_scope();
        (self.matched, self.rooms)
    }
}

/// Makes a pair of what is left of two packages, where that is one module of each: it was renamed.
fn pair_lone_modules(pairs: &mut Vec<Pair>, is_module: impl Fn(Pair) -> bool) {
    let left: Vec<Pair> = pairs.iter().copied().filter(|(a, b)| a.is_none() != b.is_none()).collect();
    let (olds, news): (Vec<Pair>, Vec<Pair>) = left.iter().copied().partition(|(old, _)| old.is_some());
    let ([old], [new]) = (olds.as_slice(), news.as_slice()) else { return };
    if !is_module(*old) || !is_module(*new) {
        return;
    }
    pairs.retain(|pair| pair != old);
    for pair in pairs.iter_mut().filter(|pair| *pair == new) {
        pair.0 = old.0;
    }
}

/// What cannot be compared, and why.
fn skipped(path: String, reason: &str, is_fault: bool) -> Matched {
    Matched { skipped: vec![NotCompared { path, reason: reason.to_owned(), is_fault }], ..Matched::default() }
}

fn compared(old: Binary, new: Binary, rooms: Option<&mut Rooms>) -> Matched {
    match (old.inspected, new.inspected) {
        (Ok(before), Ok(after)) if before.inspection.report.arch != after.inspection.report.arch => {
            skipped(new.path, "another architecture than in the old build", true)
        }
        (Ok(before), Ok(after)) => one(Some((old.path, &before)), new.path, &after, rooms),
        (before, after) => {
            // What neither build can have compared is reported once.
            let before = before.err().filter(|skip| skip.is_fault || after.is_ok());
            let skipped = before.into_iter().chain(after.err()).collect();
            Matched { skipped, ..Matched::default() }
        }
    }
}

fn one(
    old: Option<(String, &InspectedFile)>,
    new: String,
    after: &InspectedFile,
    rooms: Option<&mut Rooms>,
) -> Matched {
    let (path, before) = old.unzip();
    let pair = || {
        let diff = compare(before.map(|it| &it.inspection), &after.inspection);
        let drawn = rooms.map(|rooms| DrawnFile::of(before, after, &diff, rooms));
        (diff, drawn)
    };
    // Here it would cost the whole batch, whose threads would wait indefinitely.
    let Ok((diff, drawn)) = catch_unwind(AssertUnwindSafe(pair)) else {
        return skipped(new, FAILED, true);
    };
    let level = after.inspection.report.level.clone();
    let old_level = before.map(|before| before.inspection.report.level.clone());
    let is_within_stated = after.inspection.is_within_stated();
    let answers = AnswersOfPair::of(before.map(|before| &before.inspection.report), &after.inspection.report);
    Matched {
        compared: vec![Compared { old: path, new, level, old_level, is_within_stated, answers, drawn, diff }],
        ..Matched::default()
    }
}

fn only_new(new: Binary, is_old_whole: bool, rooms: Option<&mut Rooms>) -> Matched {
    match new.inspected {
        Ok(after) if is_old_whole => one(None, new.path, &after, rooms),
        Ok(_) => skipped(new.path, "not in what could be read of the old build", false),
        Err(skip) => Matched { skipped: vec![skip], ..Matched::default() },
    }
}

fn only_old(old: Binary, is_new_whole: bool) -> Matched {
    match old.inspected {
        Ok(before) if is_new_whole => {
            let diff = compare(None, &before.inspection);
            Matched { only_old: vec![OnlyOld { path: old.path, diff }], ..Matched::default() }
        }
        Ok(_) => skipped(old.path, "not in what could be read of the new build", false),
        Err(skip) => Matched { skipped: vec![skip], ..Matched::default() },
    }
}
