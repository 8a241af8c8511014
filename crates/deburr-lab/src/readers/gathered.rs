//! Values as they are found → measurements, subjects in the order in which they came up.
//!
//! Each subject has the metric first that it is mostly judged by. Also checked here: values of one report
//! that are there twice, and reports that are cut off.

use super::error::{ReadError, ReportPlace};
use super::format::Format;
use super::measurement::Measurement;
use super::metrics::{Metrics, parts};
use super::quantity::shortened;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// What was found so far.
#[derive(Debug)]
pub(super) struct Gathered {
    format: Format,
    metrics: Metrics,
    measurements: Vec<Measurement>,
    places: HashMap<String, usize>,
    /// By measurement: the report that its last value is from.
    last_report: Vec<usize>,
    /// Lines at which reports begin, as far as they say so.
    reports: Vec<usize>,
    /// How many values had been found when the last report began.
    before: usize,
    found: usize,
}

impl Gathered {
    pub(super) fn new(format: Format, metrics: Metrics) -> Gathered {
        Gathered {
            format,
            metrics,
            measurements: Vec::new(),
            places: HashMap::new(),
            last_report: Vec::new(),
            reports: Vec::new(),
            before: 0,
            found: 0,
        }
    }

    /// Another report begins.
    pub(super) fn report(&mut self, line: usize) -> Result<(), ReadError> {
        self.is_any_in_it()?;
        self.reports.push(line);
        self.before = self.found;
        Ok(())
    }

    /// Adds a value that a report has once.
    pub(super) fn once(
        &mut self,
        place: ReportPlace,
        name: impl Into<String>,
        value: f64,
    ) -> Result<(), ReadError> {
        let name = name.into();
        let is_twice = self
            .places
            .get(&name)
            .is_some_and(|&at| self.last_report.get(at).is_some_and(|&report| report == self.reports.len()));
        if is_twice {
            let name = shortened(&name);
            return Err(ReadError::at(
                place,
                format!("{name} a second time in one report of {}", self.format),
            ));
        }
        self.push(place, name, value)
    }

    /// Adds a value, whether or not there are others of that name.
    pub(super) fn push(
        &mut self,
        place: ReportPlace,
        name: impl Into<String>,
        value: f64,
    ) -> Result<(), ReadError> {
        let name = name.into();
        if !value.is_finite() {
            return Err(ReadError::at(place, format!("{}: out of range", shortened(&name))));
        }
        let at = match self.places.entry(name) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let Some((unit, direction)) = self.metrics.quantity(new.key()) else {
                    let name = shortened(new.key());
                    return Err(ReadError::at(place, format!("{name:?} is no metric of {}", self.format)));
                };
                let at = self.measurements.len();
                self.measurements.push(Measurement {
                    name: new.key().clone(),
                    unit,
                    direction,
                    values: Vec::new(),
                });
                self.last_report.push(0);
                *new.insert(at)
            }
        };
        if let Some((measurement, report)) = self.measurements.get_mut(at).zip(self.last_report.get_mut(at)) {
            measurement.values.push(value);
            *report = self.reports.len();
        }
        self.found += 1;
        Ok(())
    }

    /// All of it.
    pub(super) fn finish(self) -> Result<Vec<Measurement>, ReadError> {
        self.is_any_in_it()?;
        if self.measurements.is_empty() {
            return Err(ReadError::whole(format!("no result of {} in it", self.format)));
        }
        let mut subjects: HashMap<String, usize> = HashMap::new();
        let keyed = self.measurements.into_iter().map(|measurement| {
            let (subject, metric) = parts(&measurement.name);
            let next = subjects.len();
            let subject = *subjects.entry(subject.to_owned()).or_insert(next);
            ((subject, self.metrics.rank(metric)), measurement)
        });
        let mut keyed: Vec<((usize, usize), Measurement)> = keyed.collect();
        keyed.sort_by_key(|(key, _)| *key);
        Ok(keyed.into_iter().map(|(_, measurement)| measurement).collect())
    }

    /// All of it, where each report has the same metrics: one that lacks some was cut off, and those after it
    /// would be paired with others.
    pub(super) fn finish_alike(self) -> Result<Vec<Measurement>, ReadError> {
        let reports = self.reports.len().max(1);
        self.finish_with(reports)
    }

    /// All of it, where every metric has as many values.
    pub(super) fn finish_in_step(self) -> Result<Vec<Measurement>, ReadError> {
        let most = self.measurements.iter().map(|measurement| measurement.values.len()).max().unwrap_or(0);
        self.finish_with(most)
    }

    fn finish_with(self, reports: usize) -> Result<Vec<Measurement>, ReadError> {
        self.is_any_in_it()?;
        let lacking = self.measurements.iter().find(|measurement| measurement.values.len() != reports);
        if let Some(Measurement { name, values, .. }) = lacking {
            let (name, have) = (shortened(name), values.len());
            return Err(ReadError::whole(format!(
                "{name}: {have} of {reports} reports of {} have it (cut off, or of different tests?)",
                self.format
            )));
        }
        self.finish()
    }

    fn is_any_in_it(&self) -> Result<(), ReadError> {
        match self.reports.last() {
            Some(&line) if self.found == self.before => {
                Err(ReadError::line(line, format!("a report of {} without results: cut off?", self.format)))
            }
            _ => Ok(()),
        }
    }
}
