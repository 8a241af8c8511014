//! The batch: files → outcomes in the order of the files, though many are checked at the same time.
//!
//! File-level work runs on threads of its own and not on rayon's. A rayon worker that waits for the core's
//! parallel loops would steal another file and hold two at a time. Each of these threads is a rayon pool of
//! one, so that the core's parallel loops run where the file is. Outcomes wait in a window of bounded length,
//! so that ten thousand reports are never held together. Packages are read by such a thread, member by
//! member.

pub(crate) mod artefact;
mod board;
mod carried;
pub(crate) mod compared;
mod crew;
pub(crate) mod outcome;
mod package;
pub(crate) mod plan;
pub(crate) mod progress;
mod variants;

use crate::args::batch::Progress;
use crate::input::closure::Closures;
use crate::input::content::Content;
use crate::input::mapped::{Bytes, MAX_FILE};
use crate::input::walk::InputFile;
use crate::system_error::error_text;
use crate::text::line::fit_middle;
use board::{Board, Seat};
use crew::{Crew, skipped};
use deburr_package::{Reading, appended};
use deburr_text::ShownPath as _;
use outcome::{Outcome, Product};
use plan::BatchPlan;
use progress::{AtWork, Life, Meter};
use std::io::{Cursor, Read};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Columns of the name of a file next to the bar.
const LONGEST_NAME: usize = 40;

/// Checks all files, and hands each one's outcomes to `emit` with its number, in order; an error of `emit`
/// ends the run.
pub(crate) fn check_all<P: Product, E>(
    files: &[InputFile],
    plan: &BatchPlan,
    progress: Progress,
    mut emit: impl FnMut(usize, Vec<Outcome<P>>) -> Result<(), E>,
) -> Result<(), E> {
    let closures =
        plan.closure.then(|| Closures::new(files, plan.root.as_deref(), plan.analysis.debug_dirs.clone()));
    // The standard input may turn out to be a package.
    let packages = files.iter().any(|file| file.content.is_package() || file.is_stdin);
    // So may a program: what it carries is read as a package is.
    let packages =
        packages || (files.len().min(plan.threads) <= 1 && files.iter().any(|file| carries(file, plan)));
    let alone = files.len() == 1 && !packages;
    let crew = Crew::new(plan, alone, closures);
    let workers = if packages { plan.threads } else { plan.threads.min(files.len()) };
    if workers <= 1 && !packages {
        let _here = pool_of_this_thread();
        return files.iter().enumerate().try_for_each(|(turn, file)| {
            let life = Life::new(progress, file.path.shown().into_owned());
            let outcomes = crew.check_file(file);
            drop(life);
            emit(turn, outcomes)
        });
    }
    let board = Board::new(files.len(), |member| crew.check_member(member));
    let at_work = AtWork::default();
    let work = || {
        while let Some(mut seat) = board.next_file() {
            let Some(file) = files.get(seat.turn()) else { return };
            let turn = seat.turn();
            at_work.begins(turn);
            let outcomes = crew.check_at(file, &mut seat);
            at_work.ends(turn);
            seat.end(outcomes);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| in_pool_of_one(work));
        }
        // Files say little where some are packages.
        let by_bytes = files.iter().any(|file| file.content.is_package());
        let (length, template) = match by_bytes {
            true => (files.iter().map(|file| file.size).sum(), "{wide_bar} {msg}{bytes}/{total_bytes}"),
            false => (files.len() as u64, "{wide_bar} {msg}{pos}/{len}"),
        };
        let mut meter = Meter::new(progress, length, template);
        let longest = || {
            let path = |(turn, time): (usize, Duration)| {
                let path = files.get(turn)?.path.shown().into_owned();
                Some(format!("{}: {} s, ", fit_middle(&path, Some(LONGEST_NAME)), time.as_secs()))
            };
            at_work.longest().and_then(path).unwrap_or_default()
        };
        for turn in 0..files.len() {
            let mut piece = 0;
            let done =
                |files: usize| if by_bytes { board.bytes.load(Ordering::Relaxed) } else { files as u64 };
            while let Some(outcomes) = board.emit(turn, piece, || meter.show(done(turn), longest)) {
                piece += 1;
                meter.show(done(turn), longest);
                if let Err(error) = meter.with_bar_hidden(|| emit(turn, outcomes)) {
                    board.stop();
                    return Err(error);
                }
            }
            meter.show(done(turn + 1), longest);
        }
        meter.finish();
        Ok(())
    })
}

/// Whether a file is a program that carries something that is to be read.
fn carries(file: &InputFile, plan: &BatchPlan) -> bool {
    let is_program = file.content == Content::Elf && plan.limits.depth > 0;
    let is_carrier = |bytes: Bytes| appended(&bytes).iter().any(|part| part.reading == Reading::Opens);
    is_program && Bytes::open(&file.place).is_ok_and(is_carrier)
}

/// Runs work in a rayon pool of one thread: parallel loops run in it as plain loops. Other than a pool of the calling thread, it is
/// freed at its end: a program that calls the library runs any number of batches. Where rayon refuses, its global pool serves.
fn in_pool_of_one(work: impl FnOnce() + Send) {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// A rayon pool of the calling thread alone: parallel loops run in it as plain loops. It is never freed, and a
/// thread has no more than one: where rayon refuses, the first one serves, or else the global pool.
fn pool_of_this_thread() -> Option<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().ok()
}

impl<'a> Crew<'a> {
    /// Checks a file of any kind, or reads it as a package.
    fn check_at<P: Product>(&'a self, file: &InputFile, seat: &mut Seat<'_, 'a, P>) -> Vec<Outcome<P>> {
        let opened = match file.content {
            Content::Layout => return self.check_package(file, None, seat),
            _ if file.is_stdin => match self.plan.held.get(&file.path) {
                Some(held) => Ok(Bytes::Held(held.clone())),
                None => standard_input(),
            },
            Content::Package => Bytes::open(&file.place),
            _ => {
                let (outcomes, bytes) = self.check_kept(file);
                seat.count(file.size);
                let Some(bytes) = bytes else { return outcomes };
                return self.check_carried(file, (&bytes, outcomes), seat);
            }
        };
        let bytes = match opened {
            Ok(bytes) => bytes,
            Err(error) => return vec![skipped(file, error_text(&error))],
        };
        // A first block that cannot be decoded is a package's: reading it finds out.
        match Content::of(&bytes, || Ok(Cursor::new(&*bytes))).unwrap_or(Content::Package) {
            Content::Package if self.plan.limits.depth > 0 => self.check_package(file, Some(&bytes), seat),
            Content::Elf if self.opens(&bytes) => {
                let outcomes = self.check_opened(file, &bytes, Content::Elf);
                self.check_carried(file, (&bytes, outcomes), seat)
            }
            content => self.check_opened(file, &bytes, content),
        }
    }
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
