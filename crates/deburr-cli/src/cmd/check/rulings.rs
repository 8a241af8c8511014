//! What the user decided about findings, applied to one report after another: severities, allowances, stated
//! guards.

use crate::analysis::Analysis;
use crate::args::check::Check;
use crate::config::add::Additions;
use crate::config::allow::{Allowed, Ledger};
use crate::config::guard::GuardUses;
use crate::names::{ARCHES, features_for};
use deburr_core::Report;
use deburr_core::advice::advise;

/// What the user decided about findings, and what came of it.
pub(super) struct Rulings<'p> {
    analysis: &'p Analysis,
    pub(super) uses: GuardUses,
    pub(super) ledger: Ledger<'p>,
    /// Where all findings shall be allowed from now on.
    pub(super) additions: Option<Additions>,
}

impl<'p> Rulings<'p> {
    pub(super) fn new(analysis: &'p Analysis, options: &Check) -> Rulings<'p> {
        Rulings {
            analysis,
            uses: GuardUses::of(&analysis.config.guards),
            ledger: Ledger::new(&analysis.config.allowances),
            additions: options.add_allowances.as_ref().map(|_| Additions::default()),
        }
    }

    /// Applies them to one report: severities, then allowances.
    pub(super) fn settle(&mut self, report: &mut Report) -> Vec<Allowed> {
        self.analysis.config.change_severities(&mut report.findings);
        self.uses.add(report);
        let mut allowed = self.ledger.settle(report);
        if let Some(additions) = &mut self.additions {
            allowed.extend(additions.take(report));
        }
        if !allowed.is_empty() {
            let arch = ARCHES.into_iter().find(|arch| arch.name() == report.arch);
            report.advice = advise(report, features_for(&self.analysis.target, arch));
        }
        allowed
    }
}
