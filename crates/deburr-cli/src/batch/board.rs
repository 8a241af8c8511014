//! The board that the threads of a run meet at: files to take, members of packages to check, outcomes that
//! wait for their turn.
//!
//! A file gives its outcomes in pieces: one for a plain file, one for each binary of a package. A thread that
//! reads a package hands a member to a thread that has nothing to do, or checks it itself; whoever waits here
//! takes such members meanwhile. There is no deadlock: the file whose turn it is, the *head*, waits only for
//! members that are being checked. Only others wait for the head, and they hold no share of the gate
//! meanwhile.

use super::outcome::Outcome;
use super::progress::PATIENCE;
use crate::analysis::claims::Held;
use crate::input::gate::Pass;
use deburr_package::{Object, Stopped};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Files whose outcomes may wait for their turn, and pieces of one file.
const WINDOW: usize = 64;

/// Pieces of all files that may wait.
const PIECES: usize = 4 * WINDOW;

/// A member of a package, ready to be checked.
pub(super) struct Member<'a> {
    pub(super) object: Object,
    /// What it is held to.
    pub(super) held: Option<Arc<Held>>,
    /// Its share of the gate.
    pub(super) pass: Pass<'a>,
}

struct Job<'a> {
    turn: usize,
    piece: u64,
    member: Member<'a>,
}

struct State<'a, P> {
    /// The next file to be taken.
    next: usize,
    /// The file whose outcomes are being emitted.
    head: usize,
    /// Its pieces that are.
    emitted: u64,
    done: BTreeMap<(usize, u64), Vec<Outcome<P>>>,
    /// How many pieces a file has, where that is known.
    ends: HashMap<usize, u64>,
    jobs: VecDeque<Job<'a>>,
    /// Threads that have nothing to do.
    idle: usize,
    /// Files that are being read.
    reading: usize,
    stopped: bool,
}

impl<P> Default for State<'_, P> {
    fn default() -> Self {
        State {
            next: 0,
            head: 0,
            emitted: 0,
            done: BTreeMap::new(),
            ends: HashMap::new(),
            jobs: VecDeque::new(),
            idle: 0,
            reading: 0,
            stopped: false,
        }
    }
}

/// The board.
pub(super) struct Board<'a, P> {
    state: Mutex<State<'a, P>>,
    changed: Condvar,
    files: usize,
    /// Bytes of the input that have been read, for the progress.
    pub(super) bytes: AtomicU64,
    /// Checks a member.
    check: Box<dyn Fn(Member<'a>) -> Vec<Outcome<P>> + Sync + 'a>,
}

/// The place of one file at the board.
pub(super) struct Seat<'b, 'a, P> {
    board: &'b Board<'a, P>,
    turn: usize,
    pieces: u64,
}

impl<'a, P> Board<'a, P> {
    pub(super) fn new(
        files: usize,
        check: impl Fn(Member<'a>) -> Vec<Outcome<P>> + Sync + 'a,
    ) -> Board<'a, P> {
        Board {
            state: Mutex::default(),
            changed: Condvar::new(),
            files,
            bytes: AtomicU64::new(0),
            check: Box::new(check),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<'a, P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, and checks members of packages meanwhile.
    fn wait<T>(&self, mut ready: impl FnMut(&mut State<'a, P>) -> Option<T>) -> T {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                self.run(job);
                state = self.lock();
            } else if let Some(result) = ready(&mut state) {
                return result;
            } else {
                state.idle += 1;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }

    fn run(&self, job: Job<'a>) {
        let outcomes = (self.check)(job.member);
        self.lock().done.insert((job.turn, job.piece), outcomes);
        self.changed.notify_all();
    }

    /// Takes the next file; `None` where there is nothing more to do.
    pub(super) fn next_file(&self) -> Option<Seat<'_, 'a, P>> {
        let turn = self.wait(|state| {
            if state.stopped || state.next >= self.files && state.reading == 0 {
                return Some(None);
            }
            (state.next < self.files && state.next < state.head + WINDOW).then(|| {
                state.next += 1;
                state.reading += 1;
                Some(state.next - 1)
            })
        });
        Some(Seat { board: self, turn: turn?, pieces: 0 })
    }

    /// Waits for the next piece of a file whose turn it is; `None` after the last. `meanwhile` is called now
    /// and then.
    pub(super) fn emit(
        &self,
        turn: usize,
        piece: u64,
        mut meanwhile: impl FnMut(),
    ) -> Option<Vec<Outcome<P>>> {
        let mut state = self.lock();
        let outcomes = loop {
            if let Some(outcomes) = state.done.remove(&(turn, piece)) {
                state.emitted = piece + 1;
                break Some(outcomes);
            }
            if state.ends.get(&turn) == Some(&piece) {
                state.ends.remove(&turn);
                state.head = turn + 1;
                state.emitted = 0;
                break None;
            }
            let (later, waited) =
                self.changed.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner);
            state = later;
            if waited.timed_out() {
                drop(state);
                meanwhile();
                state = self.lock();
            }
        };
        drop(state);
        self.changed.notify_all();
        outcomes
    }

    /// Ends the run early.
    pub(super) fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }
}

impl<'a, P> Seat<'_, 'a, P> {
    /// The number of the file.
    pub(super) fn turn(&self) -> usize {
        self.turn
    }

    /// Waits until one more piece may wait for its turn.
    pub(super) fn wait_for_room(&self) -> Result<(), Stopped> {
        self.board.wait(|state| {
            let has_room = match state.head == self.turn {
                true => self.pieces - state.emitted < WINDOW as u64,
                false => self.pieces < WINDOW as u64 && state.done.len() < PIECES,
            };
            if state.stopped { Some(Err(Stopped)) } else { has_room.then_some(Ok(())) }
        })
    }

    /// Waits for the file's turn.
    pub(super) fn wait_for_turn(&self) -> Result<(), Stopped> {
        self.board.wait(|state| match state.stopped {
            true => Some(Err(Stopped)),
            false => (state.head == self.turn).then_some(Ok(())),
        })
    }

    /// Hands a member to an idle thread, or checks it here.
    pub(super) fn check(&mut self, member: Member<'a>) {
        let job = Job { turn: self.turn, piece: self.pieces, member };
        self.pieces += 1;
        let mut state = self.board.lock();
        if state.idle > state.jobs.len() {
            state.jobs.push_back(job);
            drop(state);
            self.board.changed.notify_all();
        } else {
            drop(state);
            self.board.run(job);
        }
    }

    /// Adds a piece that is done.
    pub(super) fn push(&mut self, outcomes: Vec<Outcome<P>>) {
        self.board.lock().done.insert((self.turn, self.pieces), outcomes);
        self.pieces += 1;
        self.board.changed.notify_all();
    }

    /// Counts bytes that were read.
    pub(super) fn count(&self, bytes: u64) {
        self.board.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds the last piece.
    pub(super) fn end(mut self, outcomes: Vec<Outcome<P>>) {
        self.push(outcomes);
        let mut state = self.board.lock();
        state.ends.insert(self.turn, self.pieces);
        state.reading -= 1;
        drop(state);
        self.board.changed.notify_all();
    }
}
