//! SIGINT and SIGTERM → the wish to stop: the first one ends what runs, the second one kills it.

use deburr_lab::measure::stop::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_shutdown;
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// What shells tell of a command that SIGINT ended.
pub(super) const INTERRUPTED: u8 = 130;

/// Signals ask to stop, until it is dropped: then they end this process.
pub(super) struct Interrupts {
    pub(super) stop: Stop,
    is_over: Arc<AtomicBool>,
}

impl Interrupts {
    pub(super) fn heed() -> io::Result<Interrupts> {
        let interrupts = Interrupts { stop: Stop::default(), is_over: Arc::default() };
        for signal in [SIGINT, SIGTERM] {
            register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&interrupts.is_over))?;
        }
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let stop = interrupts.stop.clone();
        thread::Builder::new().spawn(move || signals.forever().for_each(|_| stop.ask()))?;
        Ok(interrupts)
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        // Nothing runs any more that would be left behind.
        self.is_over.store(true, Ordering::Relaxed);
    }
}
