//! SIGINT, SIGTERM and SIGHUP → the wish to stop: the first one ends what runs, the second one kills it.
//!
//! What runs has process groups of its own, which get no signal from a terminal that is closed.

use deburr_lab::measure::stop::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_shutdown;
use signal_hook::iterator::Signals;
use std::fs;
use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::thread;

/// The exit status that shells give a command that SIGINT ended.
pub(super) const INTERRUPTED: u8 = 130;

const SIGNALS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// Signals request to stop, until it is dropped: then they end this process.
pub(super) struct Interrupts {
    pub(super) stop: Stop,
    pub(super) attended: Attended,
    is_over: Arc<AtomicBool>,
}

/// Whether somebody looks at requests to stop: otherwise a signal ends this process at once, whatever it is at.
#[derive(Clone)]
pub(super) struct Attended(Arc<AtomicBool>);

impl Attended {
    pub(super) fn set(&self, is_attended: bool) {
        self.0.store(is_attended, Ordering::SeqCst);
        // Whoever looks at requests after this sees those that a signal made while it was attended.
        fence(Ordering::SeqCst);
    }
}

impl Interrupts {
    /// Heeds signals for who looks at requests all the time.
    pub(super) fn heed() -> io::Result<Interrupts> {
        Interrupts::heed_while(true, || ())
    }

    /// Heeds them for who looks at times, and says when, by [`Attended::set`]. At others, this process ends with
    /// [`INTERRUPTED`], after `farewell`.
    pub(super) fn heed_at_times(farewell: impl Fn() + Send + 'static) -> io::Result<Interrupts> {
        Interrupts::heed_while(false, farewell)
    }

    fn heed_while(is_attended: bool, farewell: impl Fn() + Send + 'static) -> io::Result<Interrupts> {
        let attended = Attended(Arc::new(AtomicBool::new(is_attended)));
        let interrupts = Interrupts { stop: Stop::default(), attended, is_over: Arc::default() };
        // Whoever started this with nohup wants it to outlive the terminal.
        let heeded = || SIGNALS.into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(signal));
        let mut signals = Signals::new(heeded())?;
        // Afterwards: a signal that finds only this handler would be lost.
        for signal in heeded() {
            register_conditional_shutdown(signal, i32::from(INTERRUPTED), Arc::clone(&interrupts.is_over))?;
        }
        let stop = interrupts.stop.clone();
        let attended = Arc::clone(&interrupts.attended.0);
        let heard = move |_| {
            stop.request();
            fence(Ordering::SeqCst);
            if !attended.load(Ordering::SeqCst) {
                farewell();
                process::exit(i32::from(INTERRUPTED));
            }
        };
        thread::Builder::new().spawn(move || signals.forever().for_each(heard))?;
        Ok(interrupts)
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        // Nothing runs any more that would outlive this process.
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Whether who started this process wants it to ignore a signal: the mask `SigIgn` of proc_pid_status(5).
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let digits = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = digits.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
