//! The batch: files → outcomes in the order of the files, though many are checked at the same time.
//!
//! File-level work runs on threads of its own and not on rayon's: a rayon worker that waits for the core's
//! parallel loops would steal another file and hold two at a time. Each of these threads is a rayon pool of
//! one, so that the core's parallel loops run where the file is; a file too large to share the gate with one
//! file per thread gets a pool of all threads instead. Outcomes wait in a window of bounded length, so that
//! ten thousand reports are never held together. Packages are read by such a thread, member by member.

mod board;
mod package;
pub(crate) mod progress;

use crate::analysis::{Analysis, Provenance, Refusal};
use crate::args::analysis::AnalysisOptions;
use crate::args::batch::{Batch, Progress};
use crate::input::Content;
use crate::input::closure::Closures;
use crate::input::gate::{BUDGET, Gate};
use crate::input::mapped::{Bytes, MAX_FILE};
use crate::input::walk::{Candidate, Skipped, error_text};
use board::{Board, Seat};
use deburr_core::image::Archive;
use deburr_core::report::Reach;
use deburr_core::{Error, Knowledge, Report, Request, check};
use deburr_package::Limits;
use progress::Meter;
use rayon::prelude::*;
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

/// How files are checked.
#[derive(Debug)]
pub(crate) struct Plan {
    /// What is asked of each.
    pub(crate) analysis: Analysis,
    /// Whether the shared libraries that a file needs are looked at with it.
    pub(crate) closure: bool,
    /// What stands for `/` where libraries are looked for.
    pub(crate) root: Option<PathBuf>,
    pub(crate) threads: usize,
    /// How much a package may hold.
    pub(crate) limits: Limits,
}

impl Plan {
    /// Understands the options.
    pub(crate) fn new(options: &AnalysisOptions, batch: &Batch) -> Result<Plan, String> {
        let threads = batch.threads.or_else(|| std::thread::available_parallelism().ok());
        Ok(Plan {
            analysis: Analysis::new(options, &batch.debug_files)?,
            closure: false,
            root: None,
            threads: threads.map_or(1, NonZeroUsize::get),
            limits: batch.packages.limits(),
        })
    }
}

/// What is made of each binary.
pub(crate) trait Made: Send + Sized {
    /// Makes it.
    fn of(bytes: &[u8], request: &Request<'_>) -> Result<Self, Error>;
    /// The report that it is, or has.
    fn report(&mut self) -> &mut Report;
}

impl Made for Report {
    fn of(bytes: &[u8], request: &Request<'_>) -> Result<Report, Error> {
        check(bytes, request)
    }

    fn report(&mut self) -> &mut Report {
        self
    }
}

/// What became of one file, or of one member of an archive or a package.
pub(crate) enum Outcome<M> {
    Checked {
        made: Box<M>,
        bytes: u64,
    },
    Skipped(Skipped),
    /// A fault of a package or an archive: it may hold more than was found.
    Incomplete(Skipped),
    /// Members of a package that are neither binaries nor packages.
    PassedOver(u64),
}

/// Where bytes come from.
#[derive(Clone, Copy)]
enum Origin<'a> {
    File(&'a Candidate),
    /// A package, beside which no debug files lie.
    Member,
}

impl Origin<'_> {
    fn is_named(self) -> bool {
        matches!(self, Origin::File(file) if file.is_named())
    }
}

/// A lone file of fewer bytes is done before a second thread has started.
const WORTH_A_POOL: u64 = 1 << 20;

/// Checks all files, and hands each one's outcomes to `emit` with its number, in order; an error of `emit` ends the run.
pub(crate) fn check_all<M: Made, E>(
    files: &[Candidate],
    plan: &Plan,
    progress: Progress,
    mut emit: impl FnMut(usize, Vec<Outcome<M>>) -> Result<(), E>,
) -> Result<(), E> {
    let closures =
        plan.closure.then(|| Closures::new(files, plan.root.as_deref(), plan.analysis.debug_dirs.clone()));
    // What the standard input is tells itself.
    let packages = files.iter().any(|file| file.content.is_package() || file.is_stdin);
    let alone = files.len() == 1 && !packages;
    let crew = Crew { plan, gate: Gate::default(), alone, pool: OnceLock::new(), closures };
    let workers = if packages { plan.threads } else { plan.threads.min(files.len()) };
    if workers <= 1 && !packages {
        let _here = pool_of_this_thread();
        return files.iter().enumerate().try_for_each(|(turn, file)| emit(turn, crew.check_file(file)));
    }
    let board = Board::new(files.len(), |member| crew.check_member(member));
    let work = || {
        let _here = pool_of_this_thread();
        while let Some(mut seat) = board.next_file() {
            let Some(file) = files.get(seat.turn()) else { return };
            let outcomes = crew.check_at(file, &mut seat);
            seat.end(outcomes);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
        let mut meter = Meter::new(progress, files);
        for turn in 0..files.len() {
            let mut piece = 0;
            let read = || board.bytes.load(Ordering::Relaxed);
            while let Some(outcomes) = board.emit(turn, piece, || meter.show(turn, read())) {
                piece += 1;
                meter.show(turn, read());
                if let Err(error) = meter.aside(|| emit(turn, outcomes)) {
                    board.stop();
                    return Err(error);
                }
            }
            meter.show(turn + 1, read());
        }
        meter.finish();
        Ok(())
    })
}

/// A rayon pool of the calling thread alone: parallel loops run in it as plain loops. Where rayon refuses, its
/// global pool serves.
fn pool_of_this_thread() -> Option<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().ok()
}

/// What all files of a run share.
struct Crew<'a> {
    plan: &'a Plan,
    gate: Gate,
    /// Whether there is one file only.
    alone: bool,
    pool: OnceLock<Option<rayon::ThreadPool>>,
    /// The libraries that files need, where they are looked at.
    closures: Option<Closures>,
}

impl<'a> Crew<'a> {
    fn threads(&self) -> u64 {
        u64::try_from(self.plan.threads).unwrap_or(u64::MAX).max(1)
    }

    /// The pool of all threads, for a file that is worth it.
    fn pool_for(&self, bytes: u64) -> Option<&rayon::ThreadPool> {
        let threads = self.plan.threads;
        let share = BUDGET / self.threads();
        if threads < 2 || bytes < if self.alone { WORTH_A_POOL } else { share } {
            return None;
        }
        let build = || rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok();
        self.pool.get_or_init(build).as_ref()
    }

    /// Checks a file of any kind, or reads it as a package.
    fn check_at<M: Made>(&'a self, file: &Candidate, seat: &mut Seat<'_, 'a, M>) -> Vec<Outcome<M>> {
        let opened = match file.content {
            Content::Layout => return self.check_package(file, None, seat),
            _ if file.is_stdin => standard_input(),
            Content::Package => Bytes::open(&file.path),
            _ => {
                let outcomes = self.check_file(file);
                seat.count(file.size);
                return outcomes;
            }
        };
        let bytes = match opened {
            Ok(bytes) => bytes,
            Err(error) => return vec![skipped(file, error_text(&error))],
        };
        // A first block that cannot be decoded is a package's: the reading tells.
        match Content::of(&bytes, || Ok(&*bytes)).unwrap_or(Content::Package) {
            Content::Package if self.plan.limits.depth > 0 => self.check_package(file, Some(&bytes), seat),
            content => self.check_opened(file, &bytes, content),
        }
    }

    /// Checks one file, or all members of an archive.
    fn check_file<M: Made>(&self, file: &Candidate) -> Vec<Outcome<M>> {
        let _pass = self.gate.pass(file.size);
        match Bytes::open(&file.path) {
            Ok(bytes) => self.check_opened(file, &bytes, file.content),
            Err(error) => vec![skipped(file, error_text(&error))],
        }
    }

    fn check_opened<M: Made>(&self, file: &Candidate, bytes: &Bytes, content: Content) -> Vec<Outcome<M>> {
        let path = file.path.display().to_string();
        let origin = Origin::File(file);
        let check = || match content {
            Content::Elf => vec![self.check_bytes::<M>(bytes, path.clone(), origin)],
            Content::Archive => match Archive::parse(bytes) {
                Ok(archive) => self.check_members(bytes, archive, &path, origin),
                Err(error) => vec![skipped(file, error.to_string())],
            },
            Content::Empty => vec![skipped(file, "an empty file".to_owned())],
            _ => vec![skipped(file, "no ELF file".to_owned())],
        };
        let pool = self.pool_for(bytes.len() as u64);
        let mut outcomes = match pool {
            Some(pool) => pool.install(check),
            None => check(),
        };
        if let (Some(closures), [Outcome::Checked { made, .. }], Content::Elf) =
            (&self.closures, outcomes.as_mut_slice(), content)
        {
            let closure = closures.of(bytes, (!file.is_stdin).then_some(file.path.as_path()));
            // Not in the pool: a worker that waits there could take up another file that waits for the same library.
            let known = if is_open(made.report()) { closures.knowledge(&closure) } else { Vec::new() };
            if !known.is_empty() {
                let foreign: Vec<&Knowledge> = known.iter().map(Arc::as_ref).collect();
                let again = || self.check_knowing(bytes, path.clone(), origin, &foreign);
                outcomes = vec![match pool {
                    Some(pool) => pool.install(again),
                    None => again(),
                }];
            }
            if let [Outcome::Checked { made, .. }] = outcomes.as_mut_slice() {
                let report = made.report();
                let libraries = closure.libraries.iter().map(|library| library.display().to_string());
                report.closure = Some(libraries.collect());
                report.missing_libraries = closure.missing;
            }
        }
        let is_whole = file.is_stdin || bytes.len() as u64 == file.size;
        if is_whole && bytes.is_intact() {
            outcomes
        } else {
            vec![skipped(file, "the file changed while it was read".to_owned())]
        }
    }

    /// Checks the members of an archive that are ELF files.
    fn check_members<M: Made>(
        &self,
        bytes: &[u8],
        archive: Option<Archive>,
        path: &str,
        origin: Origin<'_>,
    ) -> Vec<Outcome<M>> {
        let Some(archive) = archive else { return Vec::new() };
        let checked = archive.members.par_iter().filter_map(|member| {
            let object = bytes.get(member.range.clone()).filter(|object| object.starts_with(b"\x7fELF"))?;
            Some(self.check_bytes(object, format!("{path}({})", member.name), origin))
        });
        let mut outcomes: Vec<Outcome<M>> = checked.collect();
        outcomes.extend(archive.faults.into_iter().map(|reason| {
            let (path, named) = (path.to_owned(), origin.is_named());
            Outcome::Incomplete(Skipped { path, reason, named, fault: true })
        }));
        outcomes
    }

    fn check_bytes<M: Made>(&self, bytes: &[u8], path: String, origin: Origin<'_>) -> Outcome<M> {
        self.check_knowing(bytes, path, origin, &[])
    }

    fn check_knowing<M: Made>(
        &self,
        bytes: &[u8],
        path: String,
        origin: Origin<'_>,
        foreign: &[&Knowledge],
    ) -> Outcome<M> {
        let file = match origin {
            Origin::File(file) if !file.is_stdin => Some(file.path.as_path()),
            _ => None,
        };
        let provenance = Provenance { path: &path, file };
        match self.plan.analysis.run(bytes, provenance, foreign, M::of) {
            Ok(mut made) => {
                made.report().path = path;
                Outcome::Checked { made: Box::new(made), bytes: bytes.len() as u64 }
            }
            Err(Refusal { reason, fault }) => {
                Outcome::Skipped(Skipped { path, reason, named: origin.is_named(), fault })
            }
        }
    }
}

fn skipped<M>(file: &Candidate, reason: String) -> Outcome<M> {
    let path = file.path.display().to_string();
    Outcome::Skipped(Skipped { path, reason, named: file.is_named(), fault: true })
}

/// Whether a check in another file could change the verdict on a function.
fn is_open(report: &Report) -> bool {
    let mut reach = report.isa_functions.iter().map(|function| function.reach);
    reach.any(|reach| !matches!(reach, Reach::Guarded | Reach::Unreached))
}

/// Reads the standard input, up to the size that files may have.
fn standard_input() -> std::io::Result<Bytes> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(std::io::Error::other("too large: at most 8 GiB are read"));
    }
    Ok(Bytes::Owned(bytes))
}
