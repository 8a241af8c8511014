//! What was completed, and what is said of it.

/// What threads did together.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Operations per second of all threads.
    pub rate: f64,
    /// Operations per second by thread.
    pub thread_rates: Vec<f64>,
    /// The slowest thread's rate as a part of the fastest one's. `None` where a thread has too few operations for that.
    pub fairness: Option<f64>,
    /// The longest that an operation took from its begin to its end, in nanoseconds.
    pub longest_wait_ns: f64,
    /// Failed store-exclusives and failed compare-and-swaps by completed operation.
    pub retries: f64,
    /// Operations that this was measured on.
    pub operations: u64,
    /// Events that it took, with those of the warm-up.
    pub events: u64,
    /// Whether the events were used up before all operations were completed: then the numbers rest on less.
    pub is_cut: bool,
}

/// Operations a thread on average needs before the slowest is compared with the fastest.
const FAIRNESS_OPERATIONS: u64 = 16;

/// Counts operations, from the end of the warm-up.
#[derive(Debug)]
pub(super) struct Tally {
    begin: f64,
    operations: Vec<u64>,
    total: u64,
    /// Threads with at least one operation.
    active: usize,
    retries: u64,
    longest: f64,
}

impl Tally {
    pub(super) fn new(threads: usize, begin: f64) -> Tally {
        Tally { begin, operations: vec![0; threads], total: 0, active: 0, retries: 0, longest: 0.0 }
    }

    pub(super) fn completed(&mut self, thread: usize, took: f64) {
        if let Some(count) = self.operations.get_mut(thread) {
            *count += 1;
            self.active += usize::from(*count == 1);
            self.total += 1;
        }
        self.longest = self.longest.max(took);
    }

    pub(super) fn retried(&mut self) {
        self.retries += 1;
    }

    /// Operations that nobody has completed yet may have taken longer than all others by now.
    pub(super) fn pending(&mut self, took: f64) {
        self.longest = self.longest.max(took);
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Whether each thread has completed an operation.
    pub(super) fn is_everybody_in(&self) -> bool {
        self.active == self.operations.len()
    }

    /// `None` if nothing was completed, or no time has passed.
    pub(super) fn outcome(&self, end: f64, events: u64, is_cut: bool) -> Option<Outcome> {
        let (total, nanoseconds) = (self.total(), end - self.begin);
        if total == 0 || nanoseconds <= 0.0 {
            return None;
        }
        let rate = |operations: u64| 1e9 * operations as f64 / nanoseconds;
        let least = self.operations.iter().copied().min().unwrap_or_default();
        let most = self.operations.iter().copied().max().unwrap_or_default();
        let is_enough = total >= FAIRNESS_OPERATIONS * self.operations.len() as u64;
        Some(Outcome {
            rate: rate(total),
            thread_rates: self.operations.iter().map(|&operations| rate(operations)).collect(),
            fairness: is_enough.then(|| least as f64 / most as f64),
            longest_wait_ns: self.longest,
            retries: self.retries as f64 / total as f64,
            operations: total,
            events,
            is_cut,
        })
    }
}
