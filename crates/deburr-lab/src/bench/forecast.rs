//! A record → what its variants are predicted to cost with other numbers of threads. In preview.
//!
//! In: a [`BenchRecord`] and numbers of threads. Out: a [`Forecast`], which [`crate::model`] makes from what one thread costs and
//! from constants fitted to what several threads were measured to cost. Predicted numbers are never among the measured ones.

use super::machine::distinct;
use super::pace::Think;
use super::record::{BenchRecord, PointRecord, Rates};
use crate::model::fit::{Observation, fit};
use crate::model::{Effort, ModelError, Operation, Workload, simulate};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What is predicted of a machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forecast {
    /// Always true: the model is not within a factor of two of everything published.
    pub preview: bool,
    /// How long the line is in transit from one thread to another, in nanoseconds.
    pub transfer_ns: f64,
    /// How long it takes to give a thread a copy, in nanoseconds.
    pub share_ns: f64,
    /// How long a request is in transit, in nanoseconds.
    pub request_ns: f64,
    /// Measured points that these were fitted to; of those that do the same with as many threads, the median.
    pub fitted_points: usize,
    /// The most threads among them.
    pub fitted_threads: usize,
    /// By which factor the model is off these points, on geometric average.
    pub fit_error: f64,
    /// Kernels that there is no model of, or that were not measured with one thread.
    pub left_out: Vec<String>,
    /// What is predicted.
    pub points: Vec<PredictedPoint>,
}

/// A variant with so many threads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictedPoint {
    /// Always `predicted`.
    pub kind: &'static str,
    /// The kernel.
    pub kernel: String,
    /// The variant.
    pub variant: String,
    /// How many threads.
    pub threads: usize,
    /// Operations per second of all threads together.
    pub rate: f64,
    /// Nanoseconds of a thread's operation.
    pub ns: f64,
    /// The slowest thread's rate as a fraction of the fastest one's; `None` where too few operations were simulated.
    pub fairness: Option<f64>,
    /// The longest that a single operation took, in nanoseconds.
    pub longest_wait_ns: f64,
    /// Failed store-exclusives or compare-and-swaps by operation.
    pub retries: f64,
    /// Operations that were simulated.
    pub operations: u64,
}

/// Why nothing is predicted.
#[derive(Debug)]
#[non_exhaustive]
pub enum ForecastError {
    /// Nothing was measured that several threads contend for, each with a processor of its own.
    NotContended,
    /// The model says why.
    Model(ModelError),
}

impl fmt::Display for ForecastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ForecastError::NotContended => write!(
                f,
                "nothing to predict from: no kernel of `atomics` was measured with one thread and with several on processors of \
                 their own; run `deburr bench atomics --threads 1,2,4 --format json` on that machine"
            ),
            ForecastError::Model(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ForecastError {}

impl From<ModelError> for ForecastError {
    fn from(error: ModelError) -> ForecastError {
        ForecastError::Model(error)
    }
}

/// Operations that are simulated for a point: enough for fairness of pairs that fail by chance.
const OPERATIONS: u64 = 10_000;
/// Events of a point: many variants and numbers of threads take seconds all together.
const EVENTS: u64 = 1_000_000;

/// What the variants of a record would cost with so many threads.
///
/// # Errors
/// [`ForecastError`], where the record has nothing to predict from.
pub fn forecast(record: &BenchRecord, threads: &[usize]) -> Result<Forecast, ForecastError> {
    let mut left_out = BTreeSet::new();
    let variants = variants(record, &mut left_out);
    let observations: Vec<Observation> = variants.iter().flat_map(Variant::observations).collect();
    if observations.is_empty() {
        return Err(ForecastError::NotContended);
    }
    let fit = fit(&typical(&observations))?;
    let mut points = Vec::new();
    for variant in &variants {
        for &threads in threads {
            let workload =
                Workload { operation: variant.operation, threads, cost_ns: variant.cost_ns, think_ns: 0.0 };
            let effort = Effort { operations: OPERATIONS, events: EVENTS, ..Effort::standard(threads) };
            let outcome = simulate(&fit.constants, &workload, &effort)?;
            points.push(PredictedPoint {
                kind: "predicted",
                kernel: variant.kernel.to_owned(),
                variant: variant.name.to_owned(),
                threads,
                rate: outcome.rate,
                ns: 1e9 * threads as f64 / outcome.rate,
                fairness: outcome.fairness,
                longest_wait_ns: outcome.longest_wait_ns,
                retries: outcome.retries,
                operations: outcome.operations,
            });
        }
    }
    Ok(Forecast {
        preview: true,
        transfer_ns: fit.constants.transfer_ns,
        share_ns: fit.constants.share_ns,
        request_ns: fit.constants.request_ns,
        fitted_points: observations.len(),
        fitted_threads: observations.iter().map(|it| it.threads).max().unwrap_or_default(),
        fit_error: fit.error,
        left_out: left_out.into_iter().collect(),
        points,
    })
}

/// A variant that there is a model of.
struct Variant<'a> {
    kernel: &'a str,
    name: &'a str,
    operation: Operation,
    cost_ns: f64,
    /// What several threads were measured to cost each, by their number.
    contended: BTreeMap<usize, f64>,
}

impl Variant<'_> {
    /// Two threads and the most: more would only take longer. What only reads says nothing about transfers.
    fn observations(&self) -> Vec<Observation> {
        let Variant { operation, cost_ns, contended, .. } = self;
        let ends: BTreeMap<&usize, &f64> =
            contended.first_key_value().into_iter().chain(contended.last_key_value()).collect();
        let is_transfer = *operation != Operation::Read;
        let observation =
            |(&threads, &ns)| Observation { operation: *operation, threads, cost_ns: *cost_ns, ns };
        ends.into_iter().filter(|_| is_transfer).map(observation).collect()
    }
}

/// Of those that do the same with as many threads, the one whose time is the median: the fit takes as long with few variants as with
/// many.
fn typical(observations: &[Observation]) -> Vec<Observation> {
    let mut groups: Vec<Vec<Observation>> = Vec::new();
    for one in observations {
        let is_same = |it: &Observation| (it.operation, it.threads) == (one.operation, one.threads);
        match groups.iter_mut().find(|group| group.first().is_some_and(is_same)) {
            Some(group) => group.push(*one),
            None => groups.push(vec![*one]),
        }
    }
    let median = |mut group: Vec<Observation>| {
        group.sort_by(|one, next| one.ns.total_cmp(&next.ns));
        group[(group.len() - 1) / 2]
    };
    groups.into_iter().map(median).collect()
}

fn variants<'a>(record: &'a BenchRecord, left_out: &mut BTreeSet<String>) -> Vec<Variant<'a>> {
    let mut variants: Vec<Variant<'a>> = Vec::new();
    let shared = |point: &&PointRecord| {
        point.placement == "same-word" && point.suite == "atomics" && is_without_pause(point)
    };
    for point in record.points.iter().filter(shared) {
        for variant in &point.variants {
            let Some(measured) = &variant.measured else { continue };
            let Some(operation) = operation(&point.kernel, &variant.name) else {
                left_out.insert(format!("{}: {}", point.kernel, variant.name));
                continue;
            };
            let Some(alone) = alone(record, point, &variant.name) else {
                left_out.insert(format!("{}: {}", point.kernel, variant.name));
                continue;
            };
            let known = variants
                .iter()
                .position(|it| (it.kernel, it.name) == (point.kernel.as_str(), variant.name.as_str()));
            let index = known.unwrap_or_else(|| {
                let contended = BTreeMap::new();
                variants.push(Variant {
                    kernel: &point.kernel,
                    name: &variant.name,
                    operation,
                    cost_ns: alone.ns,
                    contended,
                });
                variants.len() - 1
            });
            let threads = point.processors.len();
            if threads > 1 && distinct(&point.processors) == threads {
                variants[index].contended.insert(threads, measured.ns);
            }
        }
    }
    variants
}

/// Whether its threads think of nothing between two operations: what they cost alone would be more than what the line sees.
fn is_without_pause(point: &PointRecord) -> bool {
    point.think == Think::None.to_string()
}

/// What one thread was measured to do.
fn alone<'a>(record: &'a BenchRecord, point: &PointRecord, variant: &str) -> Option<&'a Rates> {
    let is_same = |it: &&PointRecord| {
        (&it.kernel, &it.placement, it.processors.len()) == (&point.kernel, &point.placement, 1)
            && is_without_pause(it)
    };
    let variants = record.points.iter().filter(is_same).flat_map(|it| &it.variants);
    variants.filter(|it| it.name == variant).find_map(|it| it.measured.as_ref())
}

/// What a variant does to the line; `None` where the model does not speak of it: plain stores wait in a buffer, fences touch no line.
fn operation(kernel: &str, variant: &str) -> Option<Operation> {
    let variant =
        ["prefetchw and ", "prfm and "].iter().find_map(|it| variant.strip_prefix(it)).unwrap_or(variant);
    let kernel = kernel.strip_suffix("-64").unwrap_or(kernel);
    let instruction = match variant {
        "outlined, with LSE" => "cas",
        "outlined, without LSE" => "ldaxr",
        _ => variant.split([' ', '/']).next().unwrap_or_default(),
    };
    match (kernel, instruction) {
        ("fence", _) => None,
        _ if variant.ends_with(" loop") => Some(Operation::CompareAndSwapLoop),
        _ if variant.starts_with("load, then ") || variant.starts_with("ldr, then ") => Some(Operation::Read),
        ("failing-compare-and-swap", "ldaxr" | "ldxr") => Some(Operation::Read),
        (_, "ldaxr" | "ldxr") => Some(Operation::EXCLUSIVE),
        ("load", "mov" | "ldar" | "ldapr" | "ldr") => Some(Operation::Read),
        (_, "lock" | "xchg") => Some(Operation::Near),
        (_, name)
            if ["ldadd", "ldset", "swp", "cas", "stadd", "stset"].iter().any(|it| name.starts_with(it)) =>
        {
            Some(Operation::Near)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::machine::Machine;
    use crate::bench::record::{SCHEMA_VERSION, VariantRecord};
    use crate::kernel::KERNELS;

    fn point(kernel: &str, processors: &[usize], times: &[(&str, f64)]) -> PointRecord {
        let variant = |&(name, ns): &(&str, f64)| VariantRecord {
            name: name.to_owned(),
            lacks: Vec::new(),
            measured: Some(Rates {
                rounds: 8,
                rate: 1e9 * processors.len() as f64 / ns,
                range: (1.0, 2.0),
                ns,
                thread_rates: Vec::new(),
                fairness: 1.0,
                longest_wait_ns: ns,
                wait_operations: 1,
                run_length: None,
                preempted: 0,
            }),
            verdict: None,
        };
        PointRecord {
            suite: "atomics".to_owned(),
            kernel: kernel.to_owned(),
            placement: "same-word".to_owned(),
            processors: processors.to_vec(),
            bytes: None,
            think: Think::None.to_string(),
            section_ns: 0.0,
            retaken: 0,
            variants: times.iter().map(variant).collect(),
        }
    }

    fn record(points: Vec<PointRecord>) -> BenchRecord {
        BenchRecord {
            schema_version: SCHEMA_VERSION,
            tool_version: "0".to_owned(),
            measured_at: None,
            machine: Machine::here("a".to_owned(), "x86_64".to_owned(), "x86-64-v1".to_owned()),
            loop_ns: 0.1,
            clock_ns: 20.0,
            sample_ms: 1.0,
            region: 0.03,
            is_interrupted: false,
            points,
        }
    }

    #[test]
    fn points_are_predicted_from_one_thread_and_from_several() {
        let alone = point("fetch-add", &[0], &[("lock xadd", 5.0), ("cmpxchg loop", 6.0), ("unheard", 1.0)]);
        let together = point("fetch-add", &[0, 1, 2, 3], &[("lock xadd", 200.0)]);
        let forecast = forecast(&record(vec![alone, together]), &[1, 4, 8]).unwrap();
        assert!(forecast.preview && forecast.fitted_points == 1 && forecast.fitted_threads == 4);
        assert_eq!(forecast.left_out, ["fetch-add: unheard"]);
        let ns = |variant: &str, threads| {
            let found = forecast.points.iter().find(|it| it.variant == variant && it.threads == threads);
            found.map(|it| (it.ns, it.kind)).unwrap()
        };
        assert_eq!(forecast.points.len(), 6);
        // Alone it costs what was measured, with four threads what was fitted, and twice as many wait twice as long.
        assert!((ns("lock xadd", 1).0 - 5.0).abs() < 1e-6 && (ns("cmpxchg loop", 1).0 - 6.0).abs() < 1e-6);
        assert!((ns("lock xadd", 4).0 / 200.0 - 1.0).abs() < 0.05, "{forecast:?}");
        assert!((ns("lock xadd", 8).0 / 400.0 - 1.0).abs() < 0.05, "{forecast:?}");
        assert!(ns("cmpxchg loop", 8).0 > ns("lock xadd", 8).0);
        assert!(forecast.points.iter().all(|it| it.kind == "predicted"));
    }

    #[test]
    fn a_record_without_a_contended_point_says_what_to_run() {
        let alone = || point("fetch-add", &[0], &[("lock xadd", 5.0)]);
        let turns = point("fetch-add", &[0, 0], &[("lock xadd", 10.0)]);
        let reads = [point("load", &[0], &[("mov", 0.5)]), point("load", &[0, 1], &[("mov", 0.5)])];
        let other = PointRecord {
            placement: "own-line".to_owned(),
            ..point("fetch-add", &[0, 1], &[("lock xadd", 5.0)])
        };
        let paced = PointRecord {
            think: "fixed:100".to_owned(),
            ..point("fetch-add", &[0, 1], &[("lock xadd", 150.0)])
        };
        let cases = [
            vec![],
            vec![alone()],
            vec![alone(), turns],
            reads.to_vec(),
            vec![alone(), other],
            vec![alone(), paced],
        ];
        for points in cases {
            let error = forecast(&record(points), &[4]).unwrap_err();
            assert!(error.to_string().contains("deburr bench atomics --threads 1,2,4"), "{error}");
        }
    }

    #[test]
    fn a_record_with_impossible_times_is_refused() {
        for (one, two) in
            [(0.0, 50.0), (-5.0, 50.0), (5.0, 0.0), (5.0, -1.0), (1e300, 50.0), (5.0, f64::INFINITY)]
        {
            let points = vec![
                point("fetch-add", &[0], &[("lock xadd", one)]),
                point("fetch-add", &[0, 1], &[("lock xadd", two)]),
            ];
            assert!(matches!(forecast(&record(points), &[4]), Err(ForecastError::Model(_))), "{one} {two}");
        }
        let many: Vec<usize> = (0..100_000).collect();
        let points = vec![
            point("fetch-add", &[0], &[("lock xadd", 5.0)]),
            point("fetch-add", &many, &[("lock xadd", 50.0)]),
        ];
        assert!(matches!(
            forecast(&record(points), &[4]),
            Err(ForecastError::Model(ModelError::Threads { .. }))
        ));
    }

    #[test]
    fn of_every_kernel_of_atomics_some_variant_has_a_model_except_of_fences() {
        for kernel in KERNELS.iter().filter(|kernel| kernel.suite == "atomics") {
            let known = kernel.variants.iter().any(|variant| operation(kernel.name, variant.name).is_some());
            let is_expected =
                kernel.name != "fence" && (!kernel.name.starts_with("store") || cfg!(target_arch = "x86_64"));
            assert_eq!(known, is_expected, "{}", kernel.name);
        }
        for (kernel, variant, expected) in [
            ("exchange", "ldxr/stxr", Some(Operation::EXCLUSIVE)),
            ("failing-compare-and-swap", "ldaxr/stlxr", Some(Operation::Read)),
            ("failing-compare-and-swap", "casal", Some(Operation::Near)),
            ("reader-lock", "casal loop", Some(Operation::CompareAndSwapLoop)),
            ("fetch-add", "prfm and stadd", Some(Operation::Near)),
            ("load", "ldadd of 0", Some(Operation::Near)),
            ("load", "ldar", Some(Operation::Read)),
            ("load-64", "ldapr", Some(Operation::Read)),
            ("failing-compare-and-swap-64", "outlined, without LSE", Some(Operation::Read)),
            ("exchange", "outlined, without LSE", Some(Operation::EXCLUSIVE)),
            ("exchange", "outlined, with LSE", Some(Operation::Near)),
            ("exchange", "prefetchw and xchg", Some(Operation::Near)),
            ("store", "stlr", None),
            ("store", "mov and lock or", None),
            ("fence", "lock or", None),
        ] {
            assert_eq!(operation(kernel, variant), expected, "{kernel}: {variant}");
        }
    }
}
