//! Measuring stage: somebody's wish to stop.
//!
//! In: how often the user requested it, as with Ctrl-C. Out: whether what runs is to end, which is signalled
//! and has a while for it, and whether that is to be at once: it is killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Whether somebody wants to stop. Clones hear the same requests.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    requests: Arc<AtomicU32>,
    /// So many do not concern the reader of this one.
    unheard: u32,
}

impl Stop {
    /// Requests a stop, or repeats the request.
    pub fn request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether what runs is to end.
    pub fn is_wanted(&self) -> bool {
        self.requests() > self.unheard
    }

    /// Whether it is to end at once: the user requested it more than once.
    pub fn is_urgent(&self) -> bool {
        self.requests() > self.unheard.max(1)
    }

    /// The same for what is done after a request, such as cleaning up: only a second request concerns it, or,
    /// where there were two, a further one.
    pub fn only_further(&self) -> Stop {
        Stop { unheard: self.requests().max(1), ..self.clone() }
    }

    fn requests(&self) -> u32 {
        self.requests.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
impl Stop {
    /// One that was requested so many times.
    pub(crate) fn requested(times: u32) -> Stop {
        let stop = Stop::default();
        (0..times).for_each(|_| stop.request());
        stop
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(stop: &Stop) -> (bool, bool) {
        (stop.is_wanted(), stop.is_urgent())
    }

    #[test]
    fn the_second_request_is_urgent() {
        assert_eq!(
            [0, 1, 2, 3].map(|times| heard(&Stop::requested(times))),
            [(false, false), (true, false), (true, true), (true, true)]
        );
    }

    #[test]
    fn what_is_done_nevertheless_hears_the_next_request_from_the_second_one_on() {
        for before in 0..4 {
            let stop = Stop::requested(before);
            let last = stop.only_further();
            assert_eq!(heard(&last), (false, false), "{before}");
            stop.request();
            assert_eq!(heard(&last), (before > 0, before > 0), "{before}");
            stop.request();
            assert_eq!(heard(&last), (true, true), "{before}");
        }
    }
}
