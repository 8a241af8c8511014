//! Profiling stage: the best event that this machine can be sampled by.
//!
//! In: the kernel's answers to perf_event_open(2). Out: an event in the words of `perf record --event`. Cycles of the processor come
//! first, as they can name the very instruction: PEBS of Intel and IBS of AMD, which perf requests by the modifier `P`. Where the
//! machine shows no counters, the kernel's clock interrupts (`cpu-clock`). Where the kernel shows no samples of itself, those
//! outside of it (`u`; kernel.perf_event_paranoid of 2 or more).

use perf_event_open_sys::{bindings, perf_event_open};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io;
use std::os::fd::FromRawFd;

/// Samples a second while it is tried out. Nothing is sampled: the event stays disabled.
const FREQUENCY: u64 = 99;
/// Values of `precise_ip`, the nearest first. On Arm the kernel takes them and does nothing by them.
const PRECISE: &[u64] = if cfg!(target_arch = "x86_64") { &[3, 2, 1] } else { &[] };

/// An event that can be sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampled {
    /// Whether the processor's cycles are counted; else the kernel's clock interrupts.
    pub is_hardware: bool,
    /// Whether the processor names the instruction itself.
    pub is_precise: bool,
    /// Whether the kernel is in the samples, too.
    pub has_kernel: bool,
}

impl Sampled {
    /// The best that can be sampled here.
    ///
    /// # Errors
    /// The kernel's answer, where nothing can.
    pub fn best() -> Result<Sampled, Errno> {
        best_of(open)
    }

    /// Its name, as perf has it.
    pub fn name(self) -> String {
        let name = if self.is_hardware { "cycles" } else { "cpu-clock" };
        let precise = if self.is_precise { "P" } else { "" };
        let user = if self.has_kernel { "" } else { "u" };
        let colon = if self.is_precise || !self.has_kernel { ":" } else { "" };
        format!("{name}{colon}{precise}{user}")
    }
}

/// What is tried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Trial {
    is_hardware: bool,
    precise: u64,
    has_kernel: bool,
}

fn best_of(open: impl Fn(Trial) -> Result<(), Errno>) -> Result<Sampled, Errno> {
    let mut refusal = Errno::NOENT;
    for is_hardware in [true, false] {
        let precise: &[u64] = if is_hardware { PRECISE } else { &[] };
        for has_kernel in [true, false] {
            for precise in precise.iter().copied().chain([0]) {
                match open(Trial { is_hardware, precise, has_kernel }) {
                    Ok(()) => return Ok(Sampled { is_hardware, is_precise: precise > 0, has_kernel }),
                    Err(error) => refusal = error,
                }
            }
        }
    }
    Err(refusal)
}

/// Opens the event for this process, and closes it again.
fn open(trial: Trial) -> Result<(), Errno> {
    let (kind, config) = match trial.is_hardware {
        true => (bindings::PERF_TYPE_HARDWARE, bindings::PERF_COUNT_HW_CPU_CYCLES),
        false => (bindings::PERF_TYPE_SOFTWARE, bindings::PERF_COUNT_SW_CPU_CLOCK),
    };
    let mut attributes = bindings::perf_event_attr {
        type_: kind,
        size: u32::try_from(size_of::<bindings::perf_event_attr>()).unwrap_or_default(),
        config: u64::from(config),
        sample_type: u64::from(bindings::PERF_SAMPLE_IP),
        ..Default::default()
    };
    attributes.__bindgen_anon_1.sample_freq = FREQUENCY;
    attributes.set_freq(1);
    attributes.set_disabled(1);
    attributes.set_exclude_kernel(u64::from(!trial.has_kernel));
    attributes.set_exclude_hv(u64::from(!trial.has_kernel));
    attributes.set_exclude_guest(1);
    attributes.set_precise_ip(trial.precise);
    // SAFETY: the attributes are of the size that they state, and live during the call.
    #[expect(unsafe_code, reason = "a system call that no safe library has")]
    let opened = unsafe {
        let fd = perf_event_open(&raw mut attributes, 0, -1, -1, bindings::PERF_FLAG_FD_CLOEXEC.into());
        // The kernel has just made it, and nobody else knows it.
        (fd >= 0).then(|| File::from_raw_fd(fd))
    };
    let error = || Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO);
    opened.map(drop).ok_or_else(error)
}

/// What `kernel.perf_event_paranoid` is, where that can be read.
pub fn paranoid() -> Option<i32> {
    fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_come_first_and_as_precise_as_they_can_be() {
        let all = best_of(|_| Ok(())).expect("an event");
        assert!(all.is_hardware && all.has_kernel);
        assert_eq!(all.is_precise, cfg!(target_arch = "x86_64"));
        let plain = best_of(|trial| if trial.precise > 0 { Err(Errno::OPNOTSUPP) } else { Ok(()) });
        assert_eq!(plain.map(Sampled::name).as_deref(), Ok("cycles"));
        let little = best_of(|trial| if trial.precise > 1 { Err(Errno::OPNOTSUPP) } else { Ok(()) });
        assert_eq!(little.map(|it| it.is_precise), Ok(cfg!(target_arch = "x86_64")));
    }

    #[test]
    fn without_counters_it_is_the_clock_and_without_the_kernel_the_program_alone() {
        let no_counters = |trial: Trial| if trial.is_hardware { Err(Errno::NOENT) } else { Ok(()) };
        assert_eq!(best_of(no_counters).map(Sampled::name).as_deref(), Ok("cpu-clock"));
        let no_kernel = |trial: Trial| match (trial.has_kernel, trial.is_hardware) {
            (true, _) => Err(Errno::ACCESS),
            (false, true) => Err(Errno::NOENT),
            (false, false) => Ok(()),
        };
        assert_eq!(best_of(no_kernel).map(Sampled::name).as_deref(), Ok("cpu-clock:u"));
        let user = |trial: Trial| if trial.has_kernel { Err(Errno::ACCESS) } else { Ok(()) };
        let precise = if cfg!(target_arch = "x86_64") { "cycles:Pu" } else { "cycles:u" };
        assert_eq!(best_of(user).map(Sampled::name).as_deref(), Ok(precise));
        assert_eq!(best_of(|_| Err(Errno::ACCESS)), Err(Errno::ACCESS));
    }

    #[test]
    fn this_machine_is_sampled_or_says_why_not() {
        // Where nothing may be sampled, as in some containers, the kernel refuses it by one of these.
        match Sampled::best() {
            Ok(sampled) => assert!(sampled.has_kernel || sampled.name().ends_with('u')),
            Err(error) => assert!(matches!(error, Errno::ACCESS | Errno::PERM | Errno::NOSYS), "{error}"),
        }
    }
}
