//! A gate that bounds the bytes in flight, so that two large files are never held at the same time.
//!
//! A file passes when the budget has room for it, or when it is alone. Files pass in the order of arrival, so
//! that a large file is not overtaken indefinitely by small ones.

use std::sync::{Condvar, Mutex, PoisonError};

/// Bytes that files may have in flight together; a larger file passes alone.
pub(crate) const BUDGET: u64 = 32 << 20;

/// The gate.
#[derive(Default)]
pub(crate) struct Gate {
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
    /// Waits until `bytes` more may be in flight.
    pub(crate) fn pass(&self, bytes: u64) -> Pass<'_> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        let blocked = |state: &mut State| {
            state.serving != ticket || (state.in_flight > 0 && state.in_flight.saturating_add(bytes) > BUDGET)
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
        let gate = Gate::default();
        let in_flight = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for n in 0..8_u64 {
                let (gate, in_flight) = (&gate, &in_flight);
                scope.spawn(move || {
                    let bytes = if n % 2 == 0 { BUDGET * 2 } else { BUDGET / 4 };
                    let _pass = gate.pass(bytes);
                    let total = in_flight.fetch_add(bytes, Ordering::SeqCst) + bytes;
                    assert!(total <= BUDGET || total == bytes, "{total}");
                    std::thread::sleep(std::time::Duration::from_millis(2));
                    in_flight.fetch_sub(bytes, Ordering::SeqCst);
                });
            }
        });
    }
}
