//! A gate that bounds the bytes in flight: memory follows the threads and the largest file, not the number of files.
//!
//! A file passes when the budget has room for it, or when it is alone. Files pass in the order of arrival, so
//! that a large file is not overtaken indefinitely by small ones.

use std::sync::{Condvar, Mutex, PoisonError};

/// Bytes that the files of one thread may have in flight, where there are few threads: threads rarely wait for one another, and
/// the largest file has more.
const SHARE: u64 = 64 << 20;

/// Bytes that all files may have in flight; a larger file passes alone.
const MOST: u64 = 512 << 20;

/// The gate.
pub(crate) struct Gate {
    threads: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    in_flight: u64,
    next_ticket: u64,
    serving: u64,
}

/// Holds a file's share of the budget until it is dropped.
pub(crate) struct Pass<'a> {
    gate: &'a Gate,
    bytes: u64,
}

impl Gate {
    pub(crate) fn new(threads: usize) -> Gate {
        let threads = u64::try_from(threads).unwrap_or(u64::MAX).max(1);
        Gate { threads, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Bytes that may be in flight.
    fn budget(&self) -> u64 {
        MOST.min(SHARE.saturating_mul(self.threads))
    }

    /// The part of one thread.
    pub(crate) fn share(&self) -> u64 {
        self.budget() / self.threads
    }

    /// Waits until `bytes` more may be in flight.
    pub(crate) fn pass(&self, bytes: u64) -> Pass<'_> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        let blocked = |state: &mut State| {
            state.serving != ticket
                || (state.in_flight > 0 && state.in_flight.saturating_add(bytes) > self.budget())
        };
        state = self.changed.wait_while(state, blocked).unwrap_or_else(PoisonError::into_inner);
        state.serving += 1;
        state.in_flight += bytes;
        drop(state);
        self.changed.notify_all();
        Pass { gate: self, bytes }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.gate.state.lock().unwrap_or_else(PoisonError::into_inner).in_flight -= self.bytes;
        self.gate.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn large_files_pass_one_at_a_time() {
        let gate = Gate::new(2);
        let budget = gate.budget();
        let in_flight = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for n in 0..8_u64 {
                let (gate, in_flight) = (&gate, &in_flight);
                scope.spawn(move || {
                    let bytes = if n % 2 == 0 { budget * 2 } else { budget / 4 };
                    let _pass = gate.pass(bytes);
                    let total = in_flight.fetch_add(bytes, Ordering::SeqCst) + bytes;
                    assert!(total <= budget || total == bytes, "{total}");
                    std::thread::sleep(std::time::Duration::from_millis(2));
                    in_flight.fetch_sub(bytes, Ordering::SeqCst);
                });
            }
        });
    }

    #[test]
    fn threads_share_the_budget() {
        assert_eq!([0, 1, 2, 8, 64].map(|threads| Gate::new(threads).share() >> 20), [64, 64, 64, 64, 8]);
    }
}
