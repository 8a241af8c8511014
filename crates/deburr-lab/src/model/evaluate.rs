//! Published rows → constants fitted to some of them, and how far off the model is on all others.

use super::error::ModelError;
use super::fit::{Fit, Observation, fit};
use super::operation::Operation;
use super::published::{Build, Role, Row, operation};
use super::simulate::Effort;
use std::collections::BTreeMap;

/// What was fitted to one machine's rows, and what the model says of them.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The machine.
    pub machine: String,
    /// Its constants.
    pub fit: Fit,
    /// Its rows of several threads, with what the model says.
    pub predictions: Vec<Prediction>,
}

/// A published row and what the model says of it.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// What was published.
    pub row: Row,
    /// What the model says, in nanoseconds.
    pub ns: f64,
    /// What one says without a model: an operation that only reads costs what it costs alone, and any other one takes the line's
    /// time that those of its build took where they were fitted.
    pub plain_ns: f64,
}

impl Prediction {
    /// Predicted by published.
    pub fn ratio(&self) -> f64 {
        self.ns / self.row.ns
    }

    /// By which factor it is off, in either direction.
    pub fn factor(&self) -> f64 {
        self.ratio().max(1.0 / self.ratio())
    }

    /// The same of what one says without a model.
    pub fn plain_factor(&self) -> f64 {
        let ratio = self.plain_ns / self.row.ns;
        ratio.max(1.0 / ratio)
    }

    /// Whether nothing was fitted to it.
    pub fn is_held_out(&self) -> bool {
        self.row.role != Role::Fitted
    }
}

/// Fits each machine's constants, and predicts its rows. Machines come in order of their names.
///
/// # Errors
/// [`ModelError`], where a machine has nothing to fit to, or a row cannot be simulated.
pub fn evaluate(rows: &[Row]) -> Result<Vec<Evaluation>, ModelError> {
    let mut machines: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        machines.entry(&row.machine).or_default().push(row);
    }
    machines.into_iter().map(|(machine, rows)| one(machine, &rows)).collect()
}

fn one(machine: &str, rows: &[&Row]) -> Result<Evaluation, ModelError> {
    let observed: Vec<(&Row, Observation)> =
        rows.iter().filter_map(|row| Some((*row, observation(row, rows)?))).collect();
    let is_fitted = |(row, _): &&(&Row, Observation)| row.role == Role::Fitted;
    let fitted: Vec<Observation> = observed.iter().filter(is_fitted).map(|(_, it)| *it).collect();
    let fit = fit(&fitted)?;
    let mut predictions = Vec::new();
    for (row, observation) in observed {
        let effort = Effort::standard(observation.threads);
        let ns = observation.predicted(&fit.constants, &effort)?;
        let plain_ns = plain(row, &observation, rows);
        predictions.push(Prediction { row: row.clone(), ns, plain_ns });
    }
    Ok(Evaluation { machine: machine.to_owned(), fit, predictions })
}

/// The geometric mean of the time that the build's fitted rows took of the line, for each of so many threads.
fn plain(row: &Row, observation: &Observation, rows: &[&Row]) -> f64 {
    if observation.operation == Operation::Read {
        return observation.cost_ns;
    }
    let build = if row.build == Build::Exclusive { Build::Exclusive } else { Build::Lse };
    let fitted = rows.iter().filter(|it| it.role == Role::Fitted && it.build == build);
    let logarithms: Vec<f64> = fitted.map(|it| libm::log(it.ns / it.threads as f64)).collect();
    libm::exp(logarithms.iter().sum::<f64>() / logarithms.len() as f64) * row.threads as f64
}

/// A row of several threads, with what the operation costs one on that machine; `None` where that was not published.
fn observation(row: &Row, rows: &[&Row]) -> Option<Observation> {
    let is_same = |it: &&&Row| it.role == Role::Input && (&it.name, it.build) == (&row.name, row.build);
    let alone = rows.iter().find(is_same)?;
    let operation = operation(&row.name, row.build).filter(|_| row.role != Role::Input)?;
    Some(Observation { operation, threads: row.threads, cost_ns: alone.ns, ns: row.ns })
}
