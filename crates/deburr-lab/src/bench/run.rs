//! One sample: some threads run a variant for a while.
//!
//! In: a kernel's variant, the processors, and where the threads' cells are. Out: [`Sample`], what each thread has done.
//! All threads begin together, and stop together when one of them finds that the time is over: no thread runs alone at
//! either end.

#![expect(unsafe_code, reason = "calls assembly, on memory that lives as long as the threads")]

use crate::kernel::{CELL_BYTES, DELAYS, Kernel, Variant, Work};
use crate::measure::stop::Stop;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Where the threads' cells are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// All threads have the same cell.
    SameWord,
    /// Each has a word of its own, in the same line of 64 bytes as far as there is room.
    SameLine,
    /// Each has lines of its own.
    OwnLine,
}

impl Placement {
    /// All of them.
    pub const ALL: [Placement; 3] = [Placement::SameWord, Placement::SameLine, Placement::OwnLine];

    /// Its name: `same-word`.
    pub const fn name(self) -> &'static str {
        match self {
            Placement::SameWord => "same-word",
            Placement::SameLine => "same-line",
            Placement::OwnLine => "own-line",
        }
    }

    /// Words of 64 bits from one thread's cell, which has so many, to the next one's: prefetchers fetch lines in pairs.
    const fn stride(self, words: usize) -> usize {
        match self {
            Placement::SameWord => 0,
            Placement::SameLine => words,
            Placement::OwnLine => 2 * CELL_BYTES / 8,
        }
    }
}

/// How a sample is taken.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The processor of each thread.
    pub cpus: &'a [usize],
    /// Where the threads' cells are.
    pub placement: Placement,
    /// How long they run.
    pub duration: Duration,
    /// What they do between operations.
    pub work: &'a Work,
}

/// What one thread has done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThreadSample {
    /// Operations.
    pub operations: u64,
    /// Seconds from the beginning of the first thread to its own end.
    pub seconds: f64,
    /// Operations between two looks at the clock.
    pub chunk: u64,
    /// The longest time that so many operations took, in seconds.
    pub longest_chunk: f64,
    /// How often another thread had the word before it, if the kernel counts that.
    pub handovers: Option<u64>,
    /// How often the kernel gave its processor to something else; `None` where it does not report that.
    pub preemptions: Option<u64>,
}

/// What all threads have done.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// By thread.
    pub threads: Vec<ThreadSample>,
}

impl Sample {
    /// Operations per second, of all threads together.
    pub fn rate(&self) -> f64 {
        self.threads.iter().map(ThreadSample::rate).sum()
    }

    /// Whether something else had a processor for so long that it shows.
    pub fn is_preempted(&self) -> bool {
        self.threads.iter().any(ThreadSample::is_preempted)
    }
}

impl ThreadSample {
    /// Whether something else had its processor, and some of its operations took a hundredth of all its time: a kernel's thread
    /// that runs for microseconds does not show.
    fn is_preempted(&self) -> bool {
        self.preemptions.is_some_and(|count| count > 0) && self.longest_chunk > 0.01 * self.seconds
    }

    /// Operations per second.
    pub fn rate(&self) -> f64 {
        self.operations as f64 / self.seconds
    }
}

/// Memory that all threads may use.
#[repr(align(4096))]
struct Cells<const WORDS: usize>([AtomicU64; WORDS]);

/// Cells of the largest machines that Linux runs on, each with lines of its own.
const THREADS: usize = 1024;
const WORDS: usize = THREADS * 2 * CELL_BYTES / 8;

/// A run of a variant that cannot be.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// A thread could not be put on its processor.
    Pin(usize, io::Error),
    /// More threads than there is memory for, or none.
    Threads(usize),
    /// The memory did not hold afterwards what it must: the kernel is wrong, or the machine.
    Wrong {
        /// The variant.
        variant: &'static str,
        /// What the word was.
        found: u64,
    },
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Pin(cpu, error) => write!(f, "no thread can run on processor {cpu}: {error}"),
            RunError::Threads(threads) => write!(f, "{threads} threads: expected 1 to {THREADS}"),
            RunError::Wrong { variant, found } => {
                write!(f, "{variant}: left {found:#x} in memory, which is wrong")
            }
        }
    }
}

impl std::error::Error for RunError {}

/// Operations between two looks at the clock: as many as take some ten microseconds alone, a power of two.
///
/// The CPU must have what the variant needs.
pub fn chunk_of(variant: &Variant, work: &Work) -> u64 {
    const ENOUGH: Duration = Duration::from_micros(10);
    const TRIES: usize = 5;
    let cells = Cells::<{ CELL_BYTES / 8 }>([const { AtomicU64::new(0) }; CELL_BYTES / 8]);
    // All delays count alike.
    let mut chunk = if work.thinks == 0 { 1 } else { DELAYS as u64 };
    let time = |chunk: u64| {
        let start = Instant::now();
        // SAFETY: the cell is alive, and as large as a cell is.
        unsafe { (variant.body)(cells.0.as_ptr().cast_mut().cast(), chunk, 1, work) };
        start.elapsed()
    };
    // What else the machine does makes a few operations look like many: the least of some counts.
    while chunk < 1 << 20 && (0..TRIES).any(|_| time(chunk) < ENOUGH) {
        chunk *= 2;
    }
    chunk
}

/// Takes a sample. The CPU must have what the variant needs. It is shorter where somebody wants to stop.
///
/// # Errors
/// [`RunError`], where a processor is not there, or memory is not what it must be afterwards.
pub fn sample(
    kernel: &Kernel,
    variant: &Variant,
    chunk: u64,
    setting: &Setting<'_>,
    stop: &Stop,
) -> Result<Sample, RunError> {
    let threads = setting.cpus.len();
    if threads == 0 || threads > THREADS {
        return Err(RunError::Threads(threads));
    }
    let cells: Box<Cells<WORDS>> = zeroed();
    let stride = setting.placement.stride(kernel.words());
    let words = || cells.0.chunks(stride.max(1)).map(|cell| &cell[0]);
    let own =
        |thread: usize| if stride == 0 { &cells.0[0] } else { words().nth(thread).unwrap_or(&cells.0[0]) };
    // The first thread's is what a cell of all begins with.
    for thread in (0..threads).rev() {
        own(thread).store(first_of(kernel, thread), Ordering::Relaxed);
    }
    let (ready, going, over) = (Barrier::new(threads), AtomicUsize::new(0), AtomicBool::new(false));
    let run = |thread: usize, cpu: usize| -> Result<(Instant, ThreadSample), RunError> {
        let pinned = pin(cpu);
        ready.wait();
        pinned.map_err(|error| {
            over.store(true, Ordering::Relaxed);
            going.fetch_add(1, Ordering::AcqRel);
            RunError::Pin(cpu, error)
        })?;
        let before = preemptions();
        // A barrier wakes sleepers one by one: who is awake waits for the others.
        going.fetch_add(1, Ordering::AcqRel);
        while going.load(Ordering::Acquire) < threads {
            std::hint::spin_loop();
        }
        let cell: *mut u64 = (own(thread) as *const AtomicU64).cast_mut().cast();
        let (mut operations, mut handovers) = (0, 0u64);
        let (start, mut last, mut longest) = (Instant::now(), Duration::ZERO, Duration::ZERO);
        loop {
            // SAFETY: the cells outlive the threads, and are atomics, so that several threads may change them.
            let value = unsafe { (variant.body)(cell, chunk, value_of(thread), setting.work) };
            // Kernels that count nothing leave anything there.
            handovers = handovers.wrapping_add(value);
            operations += chunk;
            let now = start.elapsed();
            longest = longest.max(now - last);
            last = now;
            if now >= setting.duration || stop.is_wanted() {
                over.store(true, Ordering::Relaxed);
            }
            if over.load(Ordering::Relaxed) {
                break;
            }
        }
        let preemptions = preemptions().zip(before).map(|(now, before)| now.saturating_sub(before));
        let (seconds, longest_chunk) = (last.as_secs_f64(), longest.as_secs_f64());
        let handovers = kernel.handovers.then_some(handovers);
        Ok((start, ThreadSample { operations, seconds, chunk, longest_chunk, handovers, preemptions }))
    };
    let ran: Vec<(Instant, ThreadSample)> = thread::scope(|scope| {
        let run = &run;
        let spawned: Vec<_> = setting
            .cpus
            .iter()
            .enumerate()
            .map(|(thread, &cpu)| scope.spawn(move || run(thread, cpu)))
            .collect();
        spawned
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Result<_, _>>()
    })?;
    let threads = since_first(ran);
    let holds = |thread: usize, iterations: u64, values: &[u64]| {
        let cell = own(thread).load(Ordering::Relaxed);
        let (found, is_right) = match kernel.data() {
            Some(data) => {
                let is_right = (data.sums)().is_right(first_of(kernel, thread) as u32, iterations, cell);
                (cell >> 32, is_right)
            }
            None => (cell, kernel.is_right(cell, iterations, values)),
        };
        is_right.then_some(()).ok_or(RunError::Wrong { variant: variant.name, found })
    };
    if stride == 0 {
        let values: Vec<u64> = (0..threads.len()).map(value_of).collect();
        holds(0, threads.iter().map(|thread| thread.operations).sum(), &values)?;
    } else {
        for (number, thread) in threads.iter().enumerate() {
            holds(number, thread.operations, &[value_of(number)])?;
        }
    }
    Ok(Sample { threads })
}

/// Threads by the time since the first of them began: one that had to wait for its processor has lost that time, too.
fn since_first(ran: Vec<(Instant, ThreadSample)>) -> Vec<ThreadSample> {
    let first = ran.iter().map(|(start, _)| *start).min();
    let since = |(start, thread): (Instant, ThreadSample)| {
        let waited = first.map_or(0.0, |first| (start - first).as_secs_f64());
        ThreadSample { seconds: waited + thread.seconds, ..thread }
    };
    ran.into_iter().map(since).collect()
}

/// What a thread's cell is before: where there is memory, where the thread begins in it.
fn first_of(kernel: &Kernel, thread: usize) -> u64 {
    kernel.data().map_or(kernel.initial, |data| (data.sums)().first_of(thread).into())
}

/// What a thread stores, which no other does.
fn value_of(thread: usize) -> u64 {
    thread as u64 + 1
}

fn zeroed<const N: usize>() -> Box<Cells<N>> {
    let mut cells: Box<MaybeUninit<Cells<N>>> = Box::new_uninit();
    // SAFETY: the box is valid for writes, and zero is a value of atomics.
    unsafe {
        cells.as_mut_ptr().write_bytes(0, 1);
        cells.assume_init()
    }
}

fn pin(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// How often this thread was preempted so far.
fn preemptions() -> Option<u64> {
    let status = fs::read_to_string("/proc/thread-self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{EMPTY, KERNELS};

    fn features() -> deburr_cpu::FeatureSet {
        deburr_cpu::host().unwrap().features
    }

    /// Memory is what it must be after each variant, or `sample` is an error.
    #[test]
    fn all_variants_that_the_cpu_has_do_their_work_alone_and_together() {
        let duration = Duration::from_millis(1);
        for kernel in KERNELS.iter().copied().chain([EMPTY]) {
            for variant in kernel.variants.iter().filter(|variant| variant.lacks(features()).is_empty()) {
                for (cpus, placement) in [
                    (&[0][..], Placement::OwnLine),
                    (&[0, 0, 0], Placement::OwnLine),
                    (&[0, 0], Placement::SameWord),
                ] {
                    let work = &Work::NONE;
                    let setting = Setting { cpus, placement, duration, work };
                    let sample = sample(kernel, variant, 100, &setting, &Stop::default());
                    let sample = sample.unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
                    assert_eq!(sample.threads.len(), cpus.len());
                    assert!(sample.rate() > 1e3, "{} {}: {sample:?}", kernel.name, variant.name);
                }
            }
        }
    }

    #[test]
    fn a_preemption_counts_where_it_took_a_hundredth_of_the_time() {
        let thread = |preemptions, longest_chunk| ThreadSample {
            operations: 1000,
            seconds: 0.02,
            chunk: 10,
            longest_chunk,
            handovers: None,
            preemptions,
        };
        let is_preempted = |thread| Sample { threads: vec![thread] }.is_preempted();
        assert!(is_preempted(thread(Some(1), 0.0003)));
        assert!(!is_preempted(thread(Some(3), 0.0001)));
        assert!(!is_preempted(thread(Some(0), 0.01)) && !is_preempted(thread(None, 0.01)));
    }

    /// Two threads of one processor take turns a few times; each alone has its word always.
    #[test]
    fn owners_are_counted_where_the_kernel_does() {
        for kernel in KERNELS.iter().filter(|kernel| kernel.handovers) {
            for (cpus, placement) in [
                (&[0][..], Placement::SameWord),
                (&[0, 0], Placement::SameWord),
                (&[0, 0], Placement::OwnLine),
            ] {
                let duration = Duration::from_millis(1);
                let setting = Setting { cpus, placement, duration, work: &Work::NONE };
                let sample = sample(kernel, &kernel.variants[0], 100, &setting, &Stop::default()).unwrap();
                let counted: Vec<u64> =
                    sample.threads.iter().map(|thread| thread.handovers.unwrap()).collect();
                let operations: u64 = sample.threads.iter().map(|thread| thread.operations).sum();
                let all: u64 = counted.iter().sum();
                if placement == Placement::OwnLine || cpus.len() == 1 {
                    assert!(counted.iter().all(|&count| count == 1), "{}: {sample:?}", kernel.name);
                } else {
                    assert!(all >= 2 && all <= operations, "{}: {sample:?}", kernel.name);
                }
            }
        }
        let kernel = KERNELS.iter().find(|kernel| kernel.name == "fetch-add").unwrap();
        let setting = Setting {
            cpus: &[0],
            placement: Placement::SameWord,
            duration: Duration::from_millis(1),
            work: &Work::NONE,
        };
        let sample = sample(kernel, &kernel.variants[0], 100, &setting, &Stop::default()).unwrap();
        assert_eq!(sample.threads[0].handovers, None);
    }

    #[test]
    fn a_sum_of_results_that_is_wrong_is_an_error() {
        unsafe extern "C" fn counts_only(cell: *mut u64, iterations: u64, _: u64, _: *const Work) -> u64 {
            // SAFETY: the caller gives a cell, which is an atomic.
            unsafe { AtomicU64::from_ptr(cell) }.fetch_add(iterations, Ordering::Relaxed)
        }
        let checksum = KERNELS.iter().find(|kernel| kernel.name == "checksum").unwrap();
        let wrong = Variant { name: "nothing", needs: &[], body: counts_only };
        let setting = Setting {
            cpus: &[0],
            placement: Placement::OwnLine,
            duration: Duration::ZERO,
            work: &Work::NONE,
        };
        let sample = |variant| sample(checksum, variant, 100, &setting, &Stop::default());
        assert!(sample(&checksum.variants[0]).is_ok());
        let error = sample(&wrong).unwrap_err();
        assert_eq!(error.to_string(), "nothing: left 0x0 in memory, which is wrong");
    }

    /// Two that take turns on a processor are together as fast as one.
    #[test]
    fn a_thread_that_waits_for_its_processor_loses_that_time() {
        let (first, half) = (Instant::now(), Duration::from_millis(500));
        let thread = ThreadSample {
            operations: 1000,
            seconds: 0.5,
            chunk: 10,
            longest_chunk: 0.1,
            handovers: None,
            preemptions: None,
        };
        let earlier = ThreadSample { seconds: 1.0, ..thread };
        let threads = since_first(vec![(first + half, thread), (first, earlier)]);
        assert_eq!(threads.iter().map(|thread| thread.seconds).collect::<Vec<_>>(), [1.0, 1.0]);
        assert_eq!(Sample { threads }.rate(), 2000.0);
    }

    #[test]
    fn words_of_one_line_are_apart() {
        let kernel = KERNELS.iter().find(|kernel| kernel.name == "fetch-add").unwrap();
        let setting = Setting {
            cpus: &[0; 9],
            placement: Placement::SameLine,
            duration: Duration::from_millis(1),
            work: &Work::NONE,
        };
        sample(kernel, &kernel.variants[0], 64, &setting, &Stop::default()).unwrap();
    }

    #[test]
    fn a_processor_that_is_not_there_is_an_error_and_no_thread_waits_for_it() {
        let setting = |cpus: &'static [usize]| Setting {
            cpus,
            placement: Placement::SameWord,
            duration: Duration::from_millis(1),
            work: &Work::NONE,
        };
        for cpus in [&[0, 9999][..], &[1_000_000]] {
            let error = sample(EMPTY, &EMPTY.variants[0], 64, &setting(cpus), &Stop::default()).unwrap_err();
            assert!(error.to_string().contains(&format!("processor {}", cpus.last().unwrap())), "{error}");
        }
        let error = sample(EMPTY, &EMPTY.variants[0], 64, &setting(&[]), &Stop::default()).unwrap_err();
        assert_eq!(error.to_string(), "0 threads: expected 1 to 1024");
    }
}
