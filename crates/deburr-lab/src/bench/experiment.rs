//! One point of a benchmark: a kernel with so many threads, each of its variants compared with the first.
//!
//! In: a kernel, a [`Setting`], and what the CPU has. Out: a [`Point`]. In every round each variant runs once, in random
//! order, so that what the machine does meanwhile meets all of them; rounds end when [`comparison`](crate::comparison) has
//! decided about each variant, or with the last analysis.

use super::machine::distinct;
use super::run::{RunError, Sample, Setting, chunk_of, sample};
use crate::comparison::{Comparison, Question, Series, compare, outcome};
use crate::kernel::{DELAYS, EMPTY, Kernel, Variant, Work};
use crate::measure::schedule::layout_order;
use crate::measure::stop::Stop;
use crate::side::Side;
use crate::stats::benchstat::Upstream;
use crate::stats::moments::median;
use crate::stats::verdict::{Order, Outcome, Rule};
use crate::stats::{Direction, Error};
use deburr_cpu::FeatureSet;
use std::fmt;
use std::time::{Duration, Instant};

/// A variant, and what became of it.
#[derive(Debug)]
pub struct Measured {
    /// The variant.
    pub variant: &'static Variant,
    /// What the CPU lacks for it: it did not run.
    pub lacks: FeatureSet,
    /// By round.
    pub samples: Vec<Sample>,
    /// Against the first variant that ran; `None` for that one, and where there were too few rounds.
    pub comparison: Option<Comparison>,
}

/// A kernel with so many threads.
#[derive(Debug)]
pub struct Point {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// Its variants, in the kernel's order.
    pub variants: Vec<Measured>,
    /// Rounds taken again, because something else had a processor during them.
    pub retaken: usize,
    /// Whether somebody stopped it before it was done.
    pub is_interrupted: bool,
}

/// Why a point could not be measured.
#[derive(Debug)]
#[non_exhaustive]
pub enum BenchError {
    /// A sample could not be taken.
    Run(RunError),
    /// The samples could not be compared.
    Compare(Error),
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BenchError::Run(error) => error.fmt(f),
            BenchError::Compare(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BenchError {}

impl From<RunError> for BenchError {
    fn from(error: RunError) -> BenchError {
        BenchError::Run(error)
    }
}

impl From<Error> for BenchError {
    fn from(error: Error) -> BenchError {
        BenchError::Compare(error)
    }
}

/// Measures a point.
///
/// # Errors
/// [`BenchError`], where a thread cannot run on its processor, or memory is wrong afterwards.
pub fn point(
    kernel: &'static Kernel,
    setting: &Setting<'_>,
    features: FeatureSet,
    (rule, seed): (&Rule, u64),
    stop: &Stop,
) -> Result<Point, BenchError> {
    let mut variants: Vec<Measured> = kernel
        .variants
        .iter()
        .map(|variant| Measured {
            variant,
            lacks: variant.lacks(features),
            samples: Vec::new(),
            comparison: None,
        })
        .collect();
    let runnable: Vec<usize> =
        (0..variants.len()).filter(|&index| variants[index].lacks.is_empty()).collect();
    // Memory is filled before anything is timed.
    kernel.data().map(|data| (data.sums)());
    let chunks: Vec<u64> =
        runnable.iter().map(|&index| chunk_of(variants[index].variant, setting.work)).collect();
    let mut order: Vec<Vec<usize>> = Vec::new();
    let last = rule.analyses().last().copied().unwrap_or_default();
    let mut retaken = 0;
    // Threads that share a processor are preempted in every round.
    let limit = if distinct(setting.cpus) == setting.cpus.len() { last } else { 0 };
    while order.len() < last {
        let done = order.len();
        if stop.is_wanted()
            || done > 0 && rule.analyses().contains(&done) && is_decided(&variants, &order, rule)?
        {
            break;
        }
        let now = layout_order(seed, (done + retaken) as u32, runnable.len() as u32);
        for &at in &now {
            let measured = &mut variants[runnable[at as usize]];
            let taken = sample(kernel, measured.variant, chunks[at as usize], setting, stop)?;
            measured.samples.push(taken);
        }
        let is_preempted = |measured: &Measured| measured.samples.last().is_some_and(Sample::is_preempted);
        // A round that somebody stopped is in part too short. One that something else disturbed is taken again, a few times.
        let is_disturbed = retaken < limit && variants.iter().any(is_preempted);
        if stop.is_wanted() || is_disturbed {
            variants.iter_mut().for_each(|measured| measured.samples.truncate(done));
            retaken += usize::from(is_disturbed);
        } else {
            order.push(now.iter().map(|&at| runnable[at as usize]).collect());
        }
    }
    let all: Vec<Option<Series>> =
        (0..variants.len()).map(|index| series(&variants, &order, index)).collect();
    for (measured, series) in variants.iter_mut().zip(all) {
        let question =
            Question { name: "rate".to_owned(), unit: "op/s".to_owned(), direction: Direction::Larger };
        measured.comparison =
            series.map(|series| compare(question, &series, rule, seed, Upstream::Corrected)).transpose()?;
    }
    Ok(Point { kernel, variants, retaken, is_interrupted: stop.is_wanted() })
}

fn is_decided(variants: &[Measured], order: &[Vec<usize>], rule: &Rule) -> Result<bool, Error> {
    for series in (0..variants.len()).filter_map(|index| series(variants, order, index)) {
        if outcome(Direction::Larger, &series, rule)? == Outcome::Inconclusive {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A variant's rates, in pairs with those of the first one that ran. `order` has the variants of each round as they ran.
fn series(variants: &[Measured], order: &[Vec<usize>], index: usize) -> Option<Series> {
    let first = variants.iter().position(|measured| measured.lacks.is_empty())?;
    let sides = [&variants[first], variants.get(index)?];
    if index == first || sides.iter().any(|measured| measured.samples.len() < 2) {
        return None;
    }
    let values = sides.map(|measured| measured.samples.iter().map(Sample::rate).collect::<Vec<f64>>());
    let disturbed = |round: usize| sides.iter().any(|measured| measured.samples[round].is_preempted());
    let mut sequence = Vec::new();
    for (round, order) in order.iter().enumerate() {
        let place = |index: usize| order.iter().position(|&at| at == index);
        let both = if place(first) < place(index) { Side::BOTH } else { [Side::B, Side::A] };
        sequence.extend(both.map(|side| crate::comparison::Reading {
            side,
            value: values[side.index()][round],
            began: None,
            pair: round,
            is_contaminated: disturbed(round),
        }));
    }
    let contaminated = (0..order.len()).filter(|&round| disturbed(round)).count();
    Some(Series { sequence, contaminated, ..Series::of(values, Order::Interleaved) })
}

/// What is not the kernel's, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overhead {
    /// An iteration of a variant's frame, without its work.
    pub loop_ns: f64,
    /// One look at the clock.
    pub clock_ns: f64,
    /// An iteration of the delay loop.
    pub delay_ns: f64,
}

/// Measures the frame of every variant, the clock and the delay loop; medians of some.
///
/// # Errors
/// [`RunError`], where no thread can run on the processor.
pub fn overhead(setting: &Setting<'_>) -> Result<Overhead, RunError> {
    const TIMES: usize = 11;
    /// The loop does nothing that longer samples would show.
    const LONGEST: Duration = Duration::from_millis(20);
    /// Iterations of a delay that the frame around it is nothing to.
    const DELAY: u32 = 1000;
    let delays = Work { thinks: 1, delays: [DELAY - 1; DELAYS], ..Work::NONE };
    let iterations = |work: &Work| -> Result<Vec<f64>, RunError> {
        let setting = &Setting { duration: setting.duration.min(LONGEST), work, ..*setting };
        let mut times = Vec::new();
        for variant in EMPTY.variants {
            let chunk = chunk_of(variant, work);
            for _ in 0..TIMES {
                times.push(1e9 / sample(EMPTY, variant, chunk, setting, &Stop::default())?.rate());
            }
        }
        Ok(times)
    };
    let loop_ns = median(&iterations(&Work::NONE)?);
    // Delays are as long as they shall be where nothing else runs: what else the machine does only adds to them.
    let with_delay = iterations(&delays)?.into_iter().fold(f64::INFINITY, f64::min);
    let delay_ns = with_delay / f64::from(DELAY);
    let clock: Vec<f64> = (0..TIMES).map(|_| 1e9 * clock()).collect();
    Ok(Overhead { loop_ns, clock_ns: median(&clock), delay_ns })
}

/// Seconds of one look at the clock, over many.
fn clock() -> f64 {
    const LOOKS: u32 = 10_000;
    let start = Instant::now();
    (0..LOOKS).for_each(|_| {
        std::hint::black_box(Instant::now());
    });
    start.elapsed().as_secs_f64() / f64::from(LOOKS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::run::Placement;
    use crate::kernel::KERNELS;
    use crate::stats::Rope;

    fn setting() -> Setting<'static> {
        Setting {
            cpus: &[0],
            placement: Placement::OwnLine,
            duration: Duration::from_micros(500),
            work: &Work::NONE,
        }
    }

    /// A difference that no machine hides: a locked instruction, and none.
    #[test]
    fn a_variant_that_is_much_faster_is_found_to_be() {
        let kernel = KERNELS.iter().find(|kernel| kernel.name == "store").unwrap();
        let features = deburr_cpu::host().unwrap().features;
        let rule = Rule::standard(Rope::ONE_PERCENT).unwrap();
        let point = point(kernel, &setting(), features, (&rule, 1), &Stop::default()).unwrap();
        assert!(!point.is_interrupted);
        assert!(point.variants[0].comparison.is_none());
        let last = point.variants.last().unwrap();
        assert!(last.comparison.as_ref().unwrap().change().0 > 0.2, "{last:?}");
        assert!(point.variants.iter().all(|measured| measured.samples.len() >= 10));
    }

    #[test]
    fn what_the_cpu_lacks_does_not_run() {
        let kernel =
            KERNELS.iter().find(|kernel| kernel.variants.iter().any(|it| !it.needs.is_empty())).unwrap();
        let rule = Rule::standard(Rope::ONE_PERCENT).unwrap();
        let point = point(kernel, &setting(), FeatureSet::EMPTY, (&rule, 1), &Stop::default()).unwrap();
        for measured in &point.variants {
            assert_eq!(measured.samples.is_empty(), !measured.variant.needs.is_empty(), "{measured:?}");
            assert_eq!(measured.lacks.is_empty(), measured.variant.needs.is_empty());
        }
    }

    #[test]
    fn who_stops_it_gets_what_was_measured() {
        let rule = Rule::standard(Rope::ONE_PERCENT).unwrap();
        let features = deburr_cpu::host().unwrap().features;
        let point = point(KERNELS[0], &setting(), features, (&rule, 1), &Stop::requested(1)).unwrap();
        assert!(point.is_interrupted && point.variants.iter().all(|measured| measured.samples.is_empty()));
    }

    #[test]
    fn the_frame_and_the_clock_cost_something() {
        let Overhead { loop_ns, clock_ns, delay_ns } = overhead(&setting()).unwrap();
        assert!(loop_ns > 0.01 && loop_ns < 1e3, "{loop_ns}");
        assert!(clock_ns > 0.1 && clock_ns < 1e5, "{clock_ns}");
        assert!(delay_ns > 0.01 && delay_ns < 1e3, "{delay_ns}");
    }
}
