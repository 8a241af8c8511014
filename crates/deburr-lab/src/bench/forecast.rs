//! A record → what its variants are predicted to cost with other numbers of threads. In preview.
//!
//! In: a [`BenchRecord`] and numbers of threads. Out: a [`Forecast`], which [`crate::model`] makes from what one thread costs and
//! from constants fitted to what several threads were measured to cost. Predicted numbers are never among the measured ones.

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
    /// How long the line is under way from one thread to another, in nanoseconds.
    pub transfer_ns: f64,
    /// How long it takes to give a thread a copy, in nanoseconds.
    pub share_ns: f64,
    /// How long a request is under way, in nanoseconds.
    pub request_ns: f64,
    /// Measured points that these were fitted to.
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
const OPERATIONS: u64 = 20_000;

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
    let fit = fit(&observations)?;
    let mut points = Vec::new();
    for variant in &variants {
        for &threads in threads {
            let workload =
                Workload { operation: variant.operation, threads, cost_ns: variant.cost_ns, think_ns: 0.0 };
            let effort = Effort { operations: OPERATIONS, ..Effort::standard(threads) };
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

fn variants<'a>(record: &'a BenchRecord, left_out: &mut BTreeSet<String>) -> Vec<Variant<'a>> {
    let mut variants: Vec<Variant<'a>> = Vec::new();
    let shared = |point: &&PointRecord| point.placement == "same-word" && point.suite == "atomics";
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
            if threads > 1 && point.processors.iter().collect::<BTreeSet<_>>().len() == threads {
                variants[index].contended.insert(threads, measured.ns);
            }
        }
    }
    variants
}

/// What one thread was measured to do.
fn alone<'a>(record: &'a BenchRecord, point: &PointRecord, variant: &str) -> Option<&'a Rates> {
    let is_same = |it: &&PointRecord| {
        (&it.kernel, &it.placement, it.processors.len()) == (&point.kernel, &point.placement, 1)
    };
    let variants = record.points.iter().filter(is_same).flat_map(|it| &it.variants);
    variants.filter(|it| it.name == variant).find_map(|it| it.measured.as_ref())
}

/// What a variant does to the line; `None` where the model does not speak of it: plain stores wait in a buffer, fences touch no line.
fn operation(kernel: &str, variant: &str) -> Option<Operation> {
    let instruction = variant.split([' ', '/']).next().unwrap_or_default();
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
