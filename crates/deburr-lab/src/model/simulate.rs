//! The simulation: constants, a workload and a seed → what the threads complete.
//!
//! Discrete events, as Banks et al. (Discrete-Event System Simulation) teach them: state changes only at events, and time
//! jumps from one to the next. The number of events is bounded, so that it ends whatever the threads do to each other.

use super::agenda::{Agenda, Event};
use super::constants::Constants;
use super::error::ModelError;
use super::line::{Home, Line, Turn, Wish};
use super::operation::{LOAD_PART, LoadExclusive, Operation, Workload};
use super::tally::{Outcome, Tally};
use crate::stats::random::Random;

/// No simulation takes more events, whatever is allowed.
pub const MOST_EVENTS: u64 = 100_000_000;

/// How much is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Operations that are measured, after a quarter as many for warming up, or more until each thread has completed one.
    pub operations: u64,
    /// The most events, up to [`MOST_EVENTS`], those of the warm-up included, which takes up to a quarter of them.
    pub events: u64,
    /// What the random numbers come from.
    pub seed: u64,
}

impl Effort {
    /// Enough for so many threads: 64 operations a thread, and four million events.
    pub fn standard(threads: usize) -> Effort {
        Effort { operations: 1_000.max((threads as u64).saturating_mul(64)), events: 4_000_000, seed: 1 }
    }
}

/// Simulates threads on one line.
///
/// # Errors
/// [`ModelError`], where a number makes no sense, or no operation is ever completed.
pub fn simulate(constants: &Constants, workload: &Workload, effort: &Effort) -> Result<Outcome, ModelError> {
    constants.check()?;
    workload.check()?;
    if effort.operations == 0 || effort.events == 0 {
        return Err(ModelError::Effort);
    }
    // Threads that never meet complete operations at the same time: one each is no time at all.
    let operations = effort.operations.max(4 * workload.threads as u64);
    Simulation::new(constants, workload, effort.seed).run(operations, effort.events.min(MOST_EVENTS))
}

/// What a thread is at. Its next event, its own or the home's, ends this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Between two operations.
    Think,
    /// It gets the line for what comes first.
    Load,
    /// Between load-exclusive and store-exclusive, or after the load of a compare-and-swap loop.
    Loaded,
    /// It gets the line for what comes second.
    Store,
    /// It has it, and compares.
    Compare,
    /// What is left of the operation after it took effect.
    Finish,
}

#[derive(Debug, Clone)]
struct Thread {
    phase: Phase,
    wish: Wish,
    began: f64,
    /// The epoch of its exclusive load.
    monitor: u64,
    /// The version that its compare-and-swap expects.
    expected: u64,
}

struct Simulation<'a> {
    constants: Constants,
    workload: &'a Workload,
    agenda: Agenda,
    random: Random,
    line: Line,
    home: Home,
    threads: Vec<Thread>,
    tally: Tally,
    now: f64,
    /// The last [`Event::Released`] that was planned.
    released: f64,
}

impl<'a> Simulation<'a> {
    fn new(constants: &Constants, workload: &'a Workload, seed: u64) -> Simulation<'a> {
        let thread = Thread { phase: Phase::Think, wish: Wish::Share, began: 0.0, monitor: 0, expected: 0 };
        let mut agenda = Agenda::default();
        (0..workload.threads).for_each(|thread| agenda.plan(0.0, Event::Step(thread)));
        // An operation at the home takes no longer there than it takes as a whole.
        let constants = Constants { far_ns: constants.far_ns.min(workload.cost_ns), ..*constants };
        Simulation {
            constants,
            workload,
            agenda,
            random: Random::new(seed),
            line: Line::new(workload.threads),
            home: Home::default(),
            threads: vec![thread; workload.threads],
            tally: Tally::new(workload.threads, 0.0),
            now: 0.0,
            released: -1.0,
        }
    }

    fn run(mut self, operations: u64, most: u64) -> Result<Outcome, ModelError> {
        let (mut events, mut is_warm) = (0, false);
        while events < most && !(is_warm && self.tally.total() >= operations) {
            let Some((at, event)) = self.agenda.next() else { break };
            (self.now, events) = (at, events + 1);
            self.happen(event);
            // The first copies of the line cost every thread once; who starves does not hold up the others.
            let total = self.tally.total();
            if !is_warm && total >= operations / 4 && (self.tally.is_everybody_in() || events >= most / 4) {
                is_warm = true;
                self.tally = Tally::new(self.threads.len(), self.now);
            }
        }
        let is_cut = !is_warm || self.tally.total() < operations;
        for thread in self.threads.iter().filter(|thread| thread.phase != Phase::Think) {
            self.tally.pending(self.now - thread.began);
        }
        self.tally.outcome(self.now, events, is_cut).ok_or(ModelError::NoProgress { events })
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Step(thread) => self.step(thread),
            Event::Arrival(thread) => {
                let wish = self.threads[thread].wish;
                self.home.arrived(thread, wish);
            }
            Event::Served => {
                if let Some(thread) = self.home.served(&mut self.line) {
                    self.granted(thread);
                }
            }
            Event::Released => {}
        }
        self.serve();
    }

    /// Lets the home go on, as far as it can.
    fn serve(&mut self) {
        loop {
            match self.home.turn(self.now, &mut self.line, &self.constants, &mut self.random) {
                Turn::Nothing => return,
                Turn::Kept(until) => return self.await_release(until),
                Turn::Busy(time) => return self.agenda.plan(self.now + time, Event::Served),
                Turn::Refused(thread) => self.failed(thread),
            }
        }
    }

    /// The home goes on then; one event is enough for all who wait.
    fn await_release(&mut self, until: f64) {
        if self.released != until {
            self.released = until;
            self.agenda.plan(until, Event::Released);
        }
    }

    /// The thread has done what it does without the home.
    fn step(&mut self, thread: usize) {
        match self.threads[thread].phase {
            Phase::Think => self.start(thread),
            Phase::Loaded if self.workload.operation == Operation::CompareAndSwapLoop => {
                self.threads[thread].expected = self.line.version;
                self.swap(thread);
            }
            Phase::Loaded => self.store(thread),
            Phase::Compare => self.compare(thread),
            Phase::Load | Phase::Store | Phase::Finish => self.complete(thread),
        }
    }

    fn start(&mut self, thread: usize) {
        self.threads[thread].began = self.now;
        self.load(thread);
    }

    /// The first access of an operation.
    fn load(&mut self, thread: usize) {
        let (is_owned, is_readable) = (self.line.is_owned(thread), self.line.is_readable(thread));
        let (is_here, wish) = match self.workload.operation {
            Operation::Near | Operation::Exclusive { load: LoadExclusive::Owned, .. } => {
                (is_owned, Wish::Own)
            }
            Operation::Far => (false, Wish::Far),
            Operation::Read | Operation::Exclusive { .. } | Operation::CompareAndSwapLoop => {
                (is_readable, Wish::Share)
            }
        };
        self.threads[thread].phase = Phase::Load;
        if is_here { self.granted(thread) } else { self.request(thread, wish) }
    }

    /// The thread has the line as it wished.
    fn granted(&mut self, thread: usize) {
        let (phase, cost) = (self.threads[thread].phase, self.workload.cost_ns);
        match (self.workload.operation, phase) {
            (Operation::Read, _) => self.busy(thread, cost, Phase::Finish),
            (Operation::Near, _) => self.keep(thread, cost, Phase::Finish),
            (Operation::Far, _) => self.busy(thread, self.travel(), Phase::Finish),
            (Operation::Exclusive { window, load }, Phase::Load) => self.loaded(thread, window, load),
            (Operation::Exclusive { window, .. }, _) => self.stored(thread, window),
            (Operation::CompareAndSwapLoop, Phase::Load) => {
                self.busy(thread, LOAD_PART * cost, Phase::Loaded)
            }
            (Operation::CompareAndSwapLoop, _) => self.keep(thread, (1.0 - LOAD_PART) * cost, Phase::Compare),
        }
    }

    fn loaded(&mut self, thread: usize, window: f64, load: LoadExclusive) {
        self.threads[thread].monitor = self.line.epoch;
        if load == LoadExclusive::Owned {
            self.home.keep(self.now + self.constants.hold_ns);
        }
        if window > 0.0 {
            self.busy(thread, window * self.workload.cost_ns, Phase::Loaded);
        } else {
            self.store(thread);
        }
    }

    fn store(&mut self, thread: usize) {
        let monitor = self.threads[thread].monitor;
        self.threads[thread].phase = Phase::Store;
        if monitor != self.line.epoch {
            self.failed(thread);
        } else if self.line.is_owned(thread) {
            self.granted(thread);
        } else {
            self.request(thread, Wish::Upgrade(monitor));
        }
    }

    fn stored(&mut self, thread: usize, window: f64) {
        self.line.version += 1;
        self.keep(thread, (1.0 - window) * self.workload.cost_ns, Phase::Finish);
    }

    /// A store-exclusive has failed: once more from the load.
    fn failed(&mut self, thread: usize) {
        self.tally.retried();
        self.load(thread);
    }

    fn swap(&mut self, thread: usize) {
        self.threads[thread].phase = Phase::Store;
        if self.line.is_owned(thread) { self.granted(thread) } else { self.request(thread, Wish::Own) }
    }

    fn compare(&mut self, thread: usize) {
        let found = self.line.version;
        if self.threads[thread].expected == found {
            self.line.version += 1;
            return self.complete(thread);
        }
        self.threads[thread].expected = found;
        self.tally.retried();
        self.serve();
        self.swap(thread);
    }

    fn complete(&mut self, thread: usize) {
        if self.workload.operation == Operation::Near {
            self.line.version += 1;
        }
        self.tally.completed(thread, self.now - self.threads[thread].began);
        self.threads[thread].phase = Phase::Think;
        // Whoever waits comes before this thread's next operation.
        self.serve();
        if self.workload.think_ns > 0.0 {
            self.agenda.plan(self.now + self.workload.think_ns, Event::Step(thread));
        } else {
            self.start(thread);
        }
    }

    fn request(&mut self, thread: usize, wish: Wish) {
        self.threads[thread].wish = wish;
        let time = if wish == Wish::Far { self.travel() } else { self.constants.request_ns };
        let jitter = if self.workload.threads > 1 { 0.5 + self.random.uniform() } else { 1.0 };
        self.agenda.plan(self.now + time * jitter, Event::Arrival(thread));
    }

    /// From a thread to the home or back, for an operation that is carried out there.
    fn travel(&self) -> f64 {
        (self.workload.cost_ns - self.constants.far_ns).max(0.0) / 2.0
    }

    fn busy(&mut self, thread: usize, time: f64, then: Phase) {
        self.threads[thread].phase = then;
        self.agenda.plan(self.now + time, Event::Step(thread));
    }

    /// As [`Simulation::busy`], with the line, which nobody gets meanwhile.
    fn keep(&mut self, thread: usize, time: f64, then: Phase) {
        self.home.keep(self.now + time);
        self.busy(thread, time, then);
    }
}
