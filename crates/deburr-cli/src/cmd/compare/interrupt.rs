//! SIGINT, SIGTERM, and SIGHUP of a terminal that is gone → the wish to stop: the first one ends what runs, the second one kills it.

use deburr_lab::measure::stop::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_shutdown;
use signal_hook::iterator::Signals;
use std::fs;
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
        let heeded = [SIGINT, SIGTERM].into_iter().chain((!is_detached()).then_some(SIGHUP));
        for signal in heeded.clone() {
            register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&interrupts.is_over))?;
        }
        let mut signals = Signals::new(heeded)?;
        let stop = interrupts.stop.clone();
        thread::Builder::new().spawn(move || signals.forever().for_each(|_| stop.ask()))?;
        Ok(interrupts)
    }
}

/// Whether somebody wants this to go on without its terminal: nohup(1) has SIGHUP ignored.
fn is_detached() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (SIGHUP - 1) & 1 == 1)
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        // Nothing runs any more that would be left behind.
        self.is_over.store(true, Ordering::Relaxed);
    }
}
