//! What the analyses of one file may cost together, in steps: instructions that are decoded for a graph or followed on abstract
//! values, values that are joined with another path's, and operations of an evaluation. A step count says the same on every machine, and beside any load.
//!
//! Whether a budget is spent depends on the file alone: the analyses are the same on any number of threads, and what they take
//! adds up. What a spent budget leaves is not used: it would depend on who came first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Steps for each byte of code, where the caller states no budget. Measured: see BENCHMARKS.md, "A budget".
const STEPS_OF_BYTE: u64 = 3;
/// Steps of a file without much code.
const LEAST: u64 = 10_000_000;

/// The budget of a file that has so many bytes of code, where the caller states none, in steps.
pub fn default_budget(code_bytes: u64) -> u64 {
    code_bytes.saturating_mul(STEPS_OF_BYTE).max(LEAST)
}

/// The part of a budget, of four, that the analysis of run-time checks may take; the rest is for the rules.
const OF_CHECKS: u64 = 3;

/// The steps that are left to the analyses of a file. Without a limit, unless one is set. Clones take of the same.
#[derive(Debug, Clone)]
pub(crate) struct Budget(Arc<Steps>);

#[derive(Debug)]
struct Steps {
    taken: AtomicU64,
    /// How many may be taken by now.
    until: AtomicU64,
    most: u64,
    /// What ends all analyses, by the caller's wish.
    stop: Option<Arc<AtomicBool>>,
    /// Whether somebody wanted steps when there were none.
    is_wanted: AtomicBool,
    /// Whether nothing is limited any more.
    is_over: AtomicBool,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::of(u64::MAX, None)
    }
}

impl Budget {
    /// So many steps, of which the analysis of checks comes first; `stop`: whether no more are to be taken, however many are left.
    pub(crate) fn of(most: u64, stop: Option<Arc<AtomicBool>>) -> Budget {
        let until = AtomicU64::new(most / 4 * OF_CHECKS);
        Budget(Arc::new(Steps {
            taken: AtomicU64::new(0),
            until,
            most,
            stop,
            is_wanted: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        }))
    }

    /// Takes steps; whether there were so many.
    pub(crate) fn take(&self, steps: usize) -> bool {
        self.0.taken.fetch_add(steps as u64, Ordering::Relaxed);
        !self.is_spent()
    }

    /// How many are left for what is at work.
    pub(crate) fn left(&self) -> u64 {
        self.0.until.load(Ordering::Relaxed).saturating_sub(self.taken())
    }

    /// Whether there are none left for what is at work.
    pub(crate) fn is_spent(&self) -> bool {
        let is_spent = self.taken() > self.0.until.load(Ordering::Relaxed) || self.is_stopped();
        is_spent && !self.0.is_over.load(Ordering::Relaxed)
    }

    /// Whether there are some left for who is about to take some: where there are none, that is remembered.
    pub(crate) fn has_any(&self) -> bool {
        let has_any = !self.is_spent();
        if !has_any {
            self.0.is_wanted.store(true, Ordering::Relaxed);
        }
        has_any
    }

    /// Whether somebody wanted some when there were none left, since this was asked.
    pub(crate) fn was_wanted(&self) -> bool {
        self.0.is_wanted.swap(false, Ordering::Relaxed)
    }

    /// Ends the analysis of checks; whether its part was spent. The rules have what it has left of the whole.
    pub(crate) fn end_of_checks(&self) -> bool {
        let is_spent = self.is_spent();
        let until = self.0.until.load(Ordering::Relaxed);
        // What was taken beyond the part depends on the threads.
        self.0.taken.fetch_min(until, Ordering::Relaxed);
        self.0.until.store(self.0.most, Ordering::Relaxed);
        is_spent
    }

    /// Ends the rules: what is reported of their findings, and the code that is shown, costs no more than there is of it, and is not
    /// limited.
    pub(crate) fn end_of_rules(&self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }

    /// Whether it was ended by the caller's wish.
    pub(crate) fn is_stopped(&self) -> bool {
        self.0.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// The steps that were taken.
    pub(crate) fn taken(&self) -> u64 {
        self.0.taken.load(Ordering::Relaxed)
    }

    /// The steps that there were.
    pub(crate) fn most(&self) -> u64 {
        self.0.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_by_all_that_take_of_it() {
        let budget = Budget::of(40, None);
        let other = budget.clone();
        assert!(budget.take(16) && other.take(14) && !budget.is_spent());
        assert!(!budget.take(100) && other.is_spent());
        assert!(budget.end_of_checks() && !budget.is_spent(), "the rules have their part");
        assert!(other.take(10) && !other.take(1));
        budget.end_of_rules();
        assert!(!other.is_spent() && other.take(1000), "nothing is limited any more");
        let thrifty = Budget::of(40, None);
        assert!(thrifty.take(1) && !thrifty.end_of_checks() && thrifty.take(39) && !thrifty.take(1));
        assert!(Budget::default().take(1 << 60));
    }

    #[test]
    fn whoever_wants_to_stop_spends_it() {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Budget::of(1000, Some(Arc::clone(&stop)));
        assert!(stopped.take(1));
        stop.store(true, Ordering::Relaxed);
        assert!(!stopped.take(1) && stopped.end_of_checks() && stopped.is_spent());
    }
}
