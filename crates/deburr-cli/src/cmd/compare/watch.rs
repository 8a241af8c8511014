//! Runs as they come → whether there have been enough, and whether one has to be made again; and progress for
//! people.
//!
//! In: the pairs so far, after each of them. Out: whether the next one is run, the last one repeated, or the
//! experiment over.

use super::metric::ChosenMetric;
use super::plan::ComparePlan;
use crate::args::batch::Progress;
use crate::cmd::progress::Bar;
use deburr_lab::comparison;
use deburr_lab::measure::experiment::Experiment;
use deburr_lab::measure::layouts::{self, Extent};
use deburr_lab::measure::pairs::{Next, Observer, Pair};
use deburr_lab::measure::record::RecordedRun;
use deburr_lab::side::Side;
use deburr_lab::stats::verdict::{Rule, Sequence};

/// How often one pair or layout is measured because of what ran next to it.
const ATTEMPTS: u32 = 3;

/// Decides by the first metric.
pub(super) struct Watch {
    chosen: Option<ChosenMetric>,
    rule: Rule,
    /// Processors of the machine.
    cores: usize,
    point: String,
    pub(super) bar: Bar,
}

impl Watch {
    pub(super) fn new(plan: &ComparePlan, experiment: &Experiment, rule: Rule, progress: Progress) -> Watch {
        let bar = Bar::new(progress, rule.last() as u64, "pairs");
        let chosen = plan.chosen.first().cloned();
        Watch { chosen, rule, cores: plan.header.cores, bar, point: experiment.point.clone() }
    }

    /// Whether the pairs prove something, or there are as many as there may be.
    fn is_enough(&self, pairs: &[Pair]) -> bool {
        let Some(ChosenMetric { question, .. }) = &self.chosen else { return true };
        let Some(series) = comparison::series(pairs, &question.name, None) else { return true };
        // What has no ratio is reported when all is over.
        let Ok(differences) = series.differences(question.direction) else { return true };
        let mut sequence = Sequence::new(self.rule.clone());
        differences.into_iter().any(|pair| sequence.push(pair).is_err()) || sequence.is_over()
    }
}

impl Observer for Watch {
    fn begins(&mut self, pair: u32, side: Side, is_warm_up: bool) {
        self.bar.set_position(pair);
        let what = if is_warm_up { "warming up with " } else { "running " };
        let at = if self.point.is_empty() { String::new() } else { format!(" at {}", self.point) };
        self.bar.set_message(format!("; {what}{side}{at}"));
    }

    fn judge(&mut self, pairs: &[Pair]) -> Next {
        let conditions = self.chosen.as_ref().map(|chosen| chosen.conditions(pairs, self.cores));
        let is_disturbed =
            |pair: &&Pair| conditions.is_some_and(|conditions| conditions.disturb(pair).is_some());
        let last = pairs.last().filter(is_disturbed);
        // By the runs themselves, so that an experiment that goes on knows it, too.
        let again: usize = pairs.iter().map(|pair| pair.runs[0].attempt as usize).sum();
        if last.is_some_and(|last| last.runs.iter().all(|run| run.attempt.saturating_add(1) < ATTEMPTS))
            && again < self.rule.last()
        {
            return Next::Again;
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
