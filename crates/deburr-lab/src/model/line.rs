//! The line and its home: who owns it, who has a copy, and who waits.
//!
//! The states of MESI, as one sees them from outside: *owned* (modified or exclusive) by one thread, *shared* by those with a
//! valid copy, *in transit* while the home serves a request. Copies are valid as long as nobody has taken the line since: an
//! *epoch* begins whenever somebody does, and an exclusive monitor remembers the epoch of its load.

use super::constants::{Arbitration, Constants};
use crate::stats::random::Random;
use std::collections::VecDeque;

/// What a thread wants of the home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// A copy to read.
    Share,
    /// The line for itself.
    Own,
    /// Own, as long as nobody has taken the line since this epoch: a store-exclusive.
    Upgrade(u64),
    /// An operation carried out there.
    Far,
}

/// The state of the line.
#[derive(Debug)]
pub(super) struct Line {
    owner: Option<usize>,
    /// Where it is, or was last.
    place: usize,
    /// Grows whenever somebody takes the line.
    pub(super) epoch: u64,
    /// By thread, the epoch of its copy.
    copies: Vec<u64>,
    /// How many stores have changed it.
    pub(super) version: u64,
}

impl Line {
    /// The first thread owns it.
    pub(super) fn new(threads: usize) -> Line {
        let mut copies = vec![0; threads];
        if let Some(first) = copies.first_mut() {
            *first = 1;
        }
        Line { owner: Some(0), place: 0, epoch: 1, copies, version: 0 }
    }

    pub(super) fn is_owned(&self, thread: usize) -> bool {
        self.owner == Some(thread)
    }

    pub(super) fn is_readable(&self, thread: usize) -> bool {
        self.copies.get(thread) == Some(&self.epoch)
    }

    /// The home begins to serve a wish: how long it takes, in nanoseconds.
    fn leave(&mut self, thread: usize, wish: Wish, constants: &Constants) -> f64 {
        self.owner = None;
        let factor = constants.topology.factor(self.place, thread);
        match wish {
            Wish::Share => constants.share_ns * factor,
            Wish::Own | Wish::Upgrade(_) => {
                self.epoch += 1;
                constants.transfer_ns * factor
            }
            Wish::Far => {
                self.epoch += 1;
                constants.far_ns
            }
        }
    }

    /// The wish is served.
    fn come(&mut self, thread: usize, wish: Wish) {
        match wish {
            Wish::Own | Wish::Upgrade(_) => (self.owner, self.place) = (Some(thread), thread),
            Wish::Far => self.version += 1,
            Wish::Share => {}
        }
        if let Some(copy) = self.copies.get_mut(thread).filter(|_| wish != Wish::Far) {
            *copy = self.epoch;
        }
    }
}

/// What the home does next.
#[derive(Debug, PartialEq)]
pub(super) enum Turn {
    /// It has nothing to do, or is busy.
    Nothing,
    /// It waits for a core that keeps the line until then.
    Kept(f64),
    /// It is busy for so many nanoseconds.
    Busy(f64),
    /// The thread's upgrade comes too late: somebody has taken the line.
    Refused(usize),
}

/// Requests in one order.
#[derive(Debug, Default)]
pub(super) struct Home {
    waiting: VecDeque<(usize, Wish)>,
    serving: Option<(usize, Wish)>,
    kept_until: f64,
}

impl Home {
    pub(super) fn arrived(&mut self, thread: usize, wish: Wish) {
        self.waiting.push_back((thread, wish));
    }

    /// A core does not give the line away before then.
    pub(super) fn keep(&mut self, until: f64) {
        self.kept_until = until;
    }

    /// Takes the next request, if there is one and the line can be had.
    pub(super) fn turn(
        &mut self,
        now: f64,
        line: &mut Line,
        constants: &Constants,
        random: &mut Random,
    ) -> Turn {
        if self.serving.is_some() || self.waiting.is_empty() {
            return Turn::Nothing;
        }
        if now < self.kept_until {
            return Turn::Kept(self.kept_until);
        }
        let index = self.chosen(line.place, constants, random);
        let Some((thread, wish)) = self.waiting.remove(index) else { return Turn::Nothing };
        if let Wish::Upgrade(epoch) = wish
            && epoch != line.epoch
        {
            return Turn::Refused(thread);
        }
        self.serving = Some((thread, wish));
        Turn::Busy(line.leave(thread, wish, constants))
    }

    fn chosen(&self, place: usize, constants: &Constants, random: &mut Random) -> usize {
        match constants.arbitration {
            Arbitration::Oldest => 0,
            Arbitration::Random => (random.uniform() * self.waiting.len() as f64) as usize,
            Arbitration::Nearest => {
                let is_near = |(thread, _): &(usize, Wish)| constants.topology.is_near(place, *thread);
                self.waiting.iter().position(is_near).unwrap_or(0)
            }
        }
    }

    /// Whom it has served.
    pub(super) fn served(&mut self, line: &mut Line) -> Option<usize> {
        let (thread, wish) = self.serving.take()?;
        line.come(thread, wish);
        Some(thread)
    }
}
