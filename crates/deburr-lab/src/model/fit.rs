//! Measurements of contended operations → the constants under which the model comes nearest to them.
//!
//! The error is the mean of the logarithms' distances (rounded near 0, as Huber's), so that twice and half as much weigh the
//! same and one odd measurement does not decide. Where measurements do not determine a constant, it stays at its usual ratio to the transfer time. The
//! search is in logarithms: a grid, then steps along each constant that become shorter (Hooke, Jeeves, JACM 1961). Every
//! simulation has the same seed, and the same measurements give the same constants.

use super::constants::Constants;
use super::error::ModelError;
use super::operation::{Operation, Workload};
use super::simulate::{Effort, simulate};

/// A contended operation that was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// What the threads do.
    pub operation: Operation,
    /// How many there are.
    pub threads: usize,
    /// What an operation costs a thread that is alone, in nanoseconds.
    pub cost_ns: f64,
    /// What it costs one of these threads, in nanoseconds.
    pub ns: f64,
}

/// What was fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// The constants.
    pub constants: Constants,
    /// By which factor the model is off what it was fitted to, on (geometric) average; 1 is exact.
    pub error: f64,
}

/// `share_ns` and `request_ns` as parts of `transfer_ns`, as long as nothing measured says otherwise.
const USUAL: [f64; 2] = [0.5, 1.0];
/// What it costs to leave [`USUAL`] by a factor of e, in units of the error.
const PRIOR: f64 = 0.01;
/// Errors below this count by their square, so that a small one has no edge that the search sticks to.
const ROUNDED: f64 = 0.05;
/// The transfer times of the grid begin here, in nanoseconds, and double so many times.
const GRID: (f64, i32) = (2.0, 10);
/// The shortest step, as a logarithm: 2 %.
const SHORTEST_STEP: f64 = 0.02;

impl Observation {
    /// What the model makes of it, in nanoseconds.
    ///
    /// # Errors
    /// [`ModelError`], as of [`simulate`].
    pub fn predicted(&self, constants: &Constants, effort: &Effort) -> Result<f64, ModelError> {
        let Observation { operation, threads, cost_ns, .. } = *self;
        let outcome = simulate(constants, &Workload { operation, threads, cost_ns, think_ns: 0.0 }, effort)?;
        Ok(1e9 * threads as f64 / outcome.rate)
    }
}

/// Fits `transfer_ns`, `share_ns` and `request_ns`.
///
/// # Errors
/// [`ModelError::NothingToFit`] without an observation of two threads or more, and what [`simulate`] says of them.
pub fn fit(observations: &[Observation]) -> Result<Fit, ModelError> {
    if observations.is_empty()
        || observations.iter().any(|it| it.threads < 2 || !(it.ns > 0.0 && it.ns.is_finite()))
    {
        return Err(ModelError::NothingToFit);
    }
    let mut best = (f64::INFINITY, [0.0; 3]);
    for doublings in 0..GRID.1 {
        let transfer = libm::log(GRID.0 * f64::from(1 << doublings));
        let at = [transfer, transfer + libm::log(USUAL[0]), transfer + libm::log(USUAL[1])];
        let loss = loss(at, observations)?;
        if loss < best.0 {
            best = (loss, at);
        }
    }
    let mut step = libm::log(2.0);
    for _ in 0..MOST_POLLS {
        let mut is_better = false;
        for (direction, sign) in DIRECTIONS.iter().flat_map(|it| [(it, 1.0), (it, -1.0)]) {
            let at = std::array::from_fn(|index| best.1[index] + sign * step * direction[index]);
            let loss = loss(at, observations)?;
            if loss < best.0 {
                (best, is_better) = ((loss, at), true);
            }
        }
        if !is_better {
            step /= 2.0;
        }
        if step < SHORTEST_STEP {
            break;
        }
    }
    let distances = distances(&constants(best.1), observations)?;
    let error = libm::exp(distances.iter().sum::<f64>() / observations.len() as f64);
    Ok(Fit { constants: constants(best.1), error })
}

/// The most times that all directions are tried.
const MOST_POLLS: usize = 60;
/// Events of a simulation while constants are sought.
const EVENTS: u64 = 60_000;

/// Each constant alone, two of them against each other, two together, and all three.
const DIRECTIONS: [[f64; 3]; 10] = [
    [1.0, 1.0, 1.0],
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 1.0],
    [1.0, 0.0, -1.0],
    [1.0, -1.0, 0.0],
    [0.0, 1.0, -1.0],
    [1.0, 0.0, 1.0],
    [1.0, 1.0, 0.0],
    [0.0, 1.0, 1.0],
];

fn constants(at: [f64; 3]) -> Constants {
    let [transfer, share, request] = at.map(|it| libm::exp(it).clamp(1e-3, 1e6));
    Constants::of(transfer, share, request)
}

fn loss(at: [f64; 3], observations: &[Observation]) -> Result<f64, ModelError> {
    let [transfer, share, request] = at;
    let unusual = [share - transfer - libm::log(USUAL[0]), request - transfer - libm::log(USUAL[1])];
    let unusual: f64 = unusual.iter().map(|by| by * by).sum();
    let mut sum = 0.0;
    for distance in distances(&constants(at), observations)? {
        sum += libm::sqrt(distance * distance + ROUNDED * ROUNDED) - ROUNDED;
    }
    Ok(sum / observations.len() as f64 + PRIOR * unusual)
}

/// The distances of the logarithms of what is predicted and what was measured.
fn distances(constants: &Constants, observations: &[Observation]) -> Result<Vec<f64>, ModelError> {
    let distance = |observation: &Observation| {
        let effort = Effort { events: EVENTS, ..Effort::standard(observation.threads) };
        Ok(libm::log(observation.predicted(constants, &effort)? / observation.ns).abs())
    };
    observations.iter().map(distance).collect()
}
