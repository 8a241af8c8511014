//! Measuring stage: somebody's wish to stop.
//!
//! In: how often the user requested it, as with Ctrl-C, and when. Out: whether what runs is to end, which is signalled
//! and has a while for it, and whether that is to be at once: it is killed. Whoever waits for something else as well is woken by
//! the first request ([`Stop::waker`]): nothing has to look again and again while something is measured.

use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long what runs may take to end after the first request, until it is killed.
pub const GRACE: Duration = Duration::from_millis(400);

/// Whether somebody wants to stop. Clones hear the same requests.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    requests: Arc<Requests>,
    /// So many do not concern the reader of this one.
    unheard: u32,
}

/// What was requested so far.
#[derive(Debug)]
struct Requests {
    count: AtomicU32,
    /// When the first one came.
    first: OnceLock<Instant>,
    /// Readable from the first one on; `None` where the kernel gave none.
    waker: Option<OwnedFd>,
}

impl Default for Requests {
    fn default() -> Requests {
        let waker = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok();
        Requests { count: AtomicU32::new(0), first: OnceLock::new(), waker }
    }
}

impl Stop {
    /// Requests a stop, or repeats the request.
    pub fn request(&self) {
        let _ = self.requests.first.set(Instant::now());
        self.requests.count.fetch_add(1, Ordering::Release);
        if let Some(waker) = &self.requests.waker {
            // It is full only after more requests than can be counted.
            let _ = rustix::io::write(waker, &1_u64.to_ne_bytes());
        }
    }

    /// What becomes readable with the first request; `None` where there was one already, or this cannot be known. Then it has
    /// to be looked at now and again.
    pub(crate) fn waker(&self) -> Option<BorrowedFd<'_>> {
        self.requests.waker.as_ref().filter(|_| self.requests() == 0).map(AsFd::as_fd)
    }

    /// Whether what runs is to end.
    pub fn is_wanted(&self) -> bool {
        self.requests() > self.unheard
    }

    /// Whether it is to end at once: the user requested it more than once, or it had [`GRACE`] for it.
    pub fn is_urgent(&self) -> bool {
        self.is_urgent_after(self.requests.first.get().map(Instant::elapsed).unwrap_or_default())
    }

    /// The same so long after the first request.
    fn is_urgent_after(&self, elapsed: Duration) -> bool {
        self.requests() > self.unheard.max(1) || self.is_wanted() && elapsed >= GRACE
    }

    /// The same for what is done after a request, such as cleaning up: only a second request concerns it, or,
    /// where there were two, a further one.
    pub fn only_further(&self) -> Stop {
        Stop { unheard: self.requests().max(1), ..self.clone() }
    }

    fn requests(&self) -> u32 {
        self.requests.count.load(Ordering::Acquire)
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
        (stop.is_wanted(), stop.is_urgent_after(Duration::ZERO))
    }

    #[test]
    fn the_second_request_is_urgent() {
        assert_eq!(
            [0, 1, 2, 3].map(|times| heard(&Stop::requested(times))),
            [(false, false), (true, false), (true, true), (true, true)]
        );
    }

    #[test]
    fn a_request_becomes_urgent_by_itself_in_time_and_wakes_who_waits() {
        let stop = Stop::default();
        let last = stop.only_further();
        assert!(stop.waker().is_some());
        stop.request();
        assert_eq!(heard(&stop), (true, false));
        assert!(stop.waker().is_none());
        assert!(!stop.is_urgent_after(GRACE / 2) && stop.is_urgent_after(GRACE));
        let first = Instant::now();
        while !stop.is_urgent() {
            assert!(first.elapsed() < Duration::from_secs(60));
            std::thread::yield_now();
        }
        // What is done nevertheless has all the time it needs.
        assert_eq!(heard(&last), (false, false));
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
