//! Runs as they come → whether there have been enough, and whether one has to be made again; and progress for
//! people.
//!
//! In: the pairs so far, after each of them. Out: whether the next one is run, the last one repeated, or the
//! experiment over.

use super::judge::Terms;
use super::metric::ChosenMetric;
use super::plan::ComparePlan;
use crate::args::batch::Progress;
use crate::cmd::progress::Bar;
use crate::output::complaints::complaints;
use crate::render::compare::quantity::percent;
use deburr_lab::comparison::{self, Conditions};
use deburr_lab::measure::experiment::Experiment;
use deburr_lab::measure::layouts::{self, Extent};
use deburr_lab::measure::pairs::{Next, Observer, Pair, warm_up_time};
use deburr_lab::measure::record::RecordedRun;
use deburr_lab::side::Side;
use deburr_lab::stats::verdict::Rule;
use std::io::Write;

/// How often one pair or layout is measured because of what ran next to it.
const ATTEMPTS: u32 = 3;

/// Pairs after which it is said that the machine is too busy.
const EARLY: usize = 3;

/// Decides by the first metric.
pub(super) struct Watch {
    chosen: Option<ChosenMetric>,
    rule: Rule,
    terms: Terms,
    /// Processors of the machine.
    cores: usize,
    point: String,
    /// What runs, and how far B is ahead so far, as the bar shows it.
    doing: String,
    so_far: String,
    /// Whether something may be said on the standard error.
    is_heard: bool,
    is_warned: bool,
    /// Seconds that runs took which only warm up.
    pub(super) warm_up: f64,
    pub(super) bar: Bar,
}

impl Watch {
    /// `known`: the runs that the record has already.
    pub(super) fn new(
        plan: &ComparePlan,
        experiment: &Experiment,
        (terms, rule): (Terms, Rule),
        known: &[RecordedRun],
        progress: Progress,
    ) -> Watch {
        Watch {
            warm_up: warm_up_time(known),
            chosen: plan.chosen.first().cloned(),
            bar: Bar::new(progress, u64::from(terms.most), "pairs"),
            rule,
            terms,
            cores: plan.header.cores,
            point: experiment.point.clone(),
            doing: String::new(),
            so_far: String::new(),
            is_heard: progress != Progress::Never,
            is_warned: false,
        }
    }

    fn show(&self, what: &str) {
        let at = if self.point.is_empty() { String::new() } else { format!(" at {}", self.point) };
        self.bar.set_message(format!("; {what}{at}{}", self.so_far));
    }

    /// Whether the pairs prove something, can prove nothing more, or there are as many as there may be.
    fn is_enough(&mut self, pairs: &[Pair]) -> bool {
        let Some(chosen) = &self.chosen else { return true };
        let Some(series) = chosen.series(pairs, self.cores, self.terms.is_under_load) else { return true };
        if series.values[0].is_empty() {
            return false;
        }
        let Ok(progress) = comparison::progress(chosen.question.direction, &series, &self.rule) else {
            // A short run may have no time by ticks, and the next one some. A metric without a ratio is reported at the end.
            let is_nothing_yet =
                chosen.is_by_ticks() && series.values.iter().flatten().all(|value| *value == 0.0);
            return !is_nothing_yet
                || pairs.len() >= self.terms.most as usize
                || self.terms.is_out_of_time(pairs, self.warm_up);
        };
        self.so_far = format!("; B {} so far", percent(progress.change));
        progress.ending.is_some() || self.terms.is_out_of_time(pairs, self.warm_up)
    }

    /// Says once, after the first pairs, that all of them were disturbed.
    fn warn_early(&mut self, pairs: &[Pair], conditions: &Conditions) {
        let is_due = pairs.len() == EARLY && self.is_heard && !self.is_warned && !self.terms.is_under_load;
        if !is_due || !pairs.iter().all(|pair| conditions.disturb(pair).is_some()) {
            return;
        }
        self.is_warned = true;
        self.bar.hidden_while(|| {
            let text = "deburr compare: this machine is busy: all of the first pairs were disturbed, and from such pairs \
                        there is hardly a verdict. Wait for a quiet time, give the runs processors of their own (--pin), \
                        measure --metric cpu, or judge under load at your own risk (--under-load)\n";
            // Where nobody reads it there is nobody to tell.
            let _ = complaints().write_all(text.as_bytes());
        });
    }
}

impl Observer for Watch {
    fn begins(&mut self, pair: u32, side: Side, is_warm_up: bool) {
        self.bar.set_position(pair);
        let what = if is_warm_up { "warming up with " } else { "running " };
        self.doing = format!("{what}{side}");
        self.show(&self.doing);
    }

    fn waits(&mut self, busy: Option<f64>) {
        match busy {
            Some(busy) => self.show(&format!("waiting until others are quiet ({busy:.1} processors busy)")),
            None => self.show(&self.doing),
        }
    }

    fn warmed_up(&mut self, pair: &Pair) {
        self.warm_up += warm_up_time(&pair.runs);
    }

    fn judge(&mut self, pairs: &[Pair]) -> Next {
        let chosen = self.chosen.as_ref().filter(|chosen| chosen.feels_load());
        if let Some(conditions) = chosen.map(|chosen| chosen.conditions(pairs, self.cores)) {
            self.warn_early(pairs, &conditions);
            let last = pairs.last().filter(|pair| conditions.disturb(pair).is_some());
            // By the runs themselves, so that an experiment that goes on knows it, too.
            let again: usize = pairs.iter().map(|pair| pair.runs[0].attempt as usize).sum();
            if last.is_some_and(|last| last.runs.iter().all(|run| run.attempt.saturating_add(1) < ATTEMPTS))
                && again < self.terms.most as usize
                && !self.terms.is_under_load
                && !self.terms.is_out_of_time(pairs, self.warm_up)
            {
                return Next::Again;
            }
        }
        if self.is_enough(pairs) { Next::Enough } else { Next::Pair }
    }
}

/// Sees layouts being measured.
pub(super) struct LayoutWatch {
    chosen: Option<ChosenMetric>,
    cores: usize,
    /// How many runs may be made again.
    most: usize,
    pub(super) bar: Bar,
}

impl LayoutWatch {
    pub(super) fn new(plan: &ComparePlan, extent: Extent, progress: Progress) -> LayoutWatch {
        let runs = extent.layouts.saturating_mul(extent.rounds);
        let bar = Bar::new(progress, u64::from(runs), "runs of A's layouts");
        LayoutWatch {
            chosen: plan.chosen.first().cloned(),
            cores: plan.header.cores,
            most: runs as usize,
            bar,
        }
    }
}

impl layouts::Observer for LayoutWatch {
    fn begins(&mut self, measured: u32) {
        self.bar.set_position(measured);
    }

    fn is_spoiled(&mut self, runs: &[RecordedRun]) -> bool {
        let conditions = self.chosen.as_ref().map(|chosen| chosen.conditions_of(runs, self.cores));
        let again: usize = runs.iter().map(|run| run.attempt as usize).sum();
        let is_disturbed =
            |run: &RecordedRun| conditions.is_some_and(|conditions| conditions.disturb_run(run).is_some());
        runs.last().is_some_and(|run| is_disturbed(run) && run.attempt.saturating_add(1) < ATTEMPTS)
            && again < self.most
    }
}
