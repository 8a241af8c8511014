//! What the user decided about findings, applied to one report after another: severities, allowances, stated
//! guards.

use crate::analysis::Analysis;
use crate::config::add::Additions;
use crate::config::allow::{Allowed, Ledger};
use crate::config::guard::GuardUses;
use crate::names::{ARCHES, features_for};
use deburr_core::Report;
use deburr_core::advice::advise;
use deburr_core::finding::Value;
use deburr_core::report::{Answer, PlacedFinding};

/// What the user decided about findings, and what came of it.
pub(crate) struct Rulings<'p> {
    analysis: &'p Analysis,
    pub(crate) uses: GuardUses,
    pub(crate) ledger: Ledger<'p>,
    /// Where all findings shall be allowed from now on.
    pub(crate) additions: Option<Additions>,
}

impl<'p> Rulings<'p> {
    /// `allows_all`: whether all findings shall be allowed from now on.
    pub(crate) fn new(analysis: &'p Analysis, allows_all: bool) -> Rulings<'p> {
        Rulings {
            analysis,
            uses: GuardUses::of(&analysis.config.guards),
            ledger: Ledger::new(&analysis.config.allowances),
            additions: allows_all.then(Additions::default),
        }
    }

    /// Applies them to one report: severities, then allowances.
    pub(crate) fn settle(&mut self, report: &mut Report) -> Vec<Allowed> {
        self.analysis.config.change_severities(&mut report.findings);
        self.uses.add(report);
        let mut allowed = self.ledger.settle(report);
        if let Some(additions) = &mut self.additions {
            allowed.extend(additions.take(report));
        }
        report.answer_allowed = is_answer_allowed(report, &allowed);
        if !allowed.is_empty() {
            let arch = ARCHES.into_iter().find(|arch| arch.name() == report.arch);
            report.advice = advise(report, features_for(&self.analysis.target, arch));
        }
        allowed
    }
}

/// Whether allowances took all findings that say why a file dies, or why it is undecided, and there were some.
pub(crate) fn is_answer_allowed(report: &Report, allowed: &[Allowed]) -> bool {
    let says_why = |finding: &PlacedFinding| {
        let is_open = finding.evidence.get("because").is_some();
        // No known CPU dies of it.
        let is_harmless = finding.evidence.get("endangered") == Some(&Value::List(Vec::new()));
        let is_of_answer = ["above-baseline", "claim-exceeded"].contains(&&*finding.rule);
        match report.answer {
            Some(Answer::Dies) => is_of_answer && !is_open && !is_harmless,
            Some(Answer::Undecided) => is_of_answer && is_open,
            _ => false,
        }
    };
    let is_read = report.answer != Some(Answer::Undecided) || report.unread_payload.is_empty();
    is_read
        && allowed.iter().any(|allowed| says_why(&allowed.finding))
        && !report.findings.iter().any(says_why)
}
