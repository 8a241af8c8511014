//! Patch stage: which finding is rewritten by which function.
//!
//! One row for each rule whose findings a plan can remove. Nothing else in this crate knows a rule's id: the
//! plan calls the row's function, and the audit and `verify` go by its [`RewriteKind`].

use crate::candidate::{Proposed, View, barrier, call, frame, hint, sequence};
use crate::site::Site;
use crate::subject::{RewriteKind, Subject};

/// How the findings of one rule are rewritten.
pub(crate) struct Rewrite {
    /// The id of the rule.
    pub(crate) rule: &'static str,
    pub(crate) kind: RewriteKind,
    /// Proposes candidates for every finding of the rule, whose id it is handed.
    pub(crate) candidates: fn(&View<'_, '_, '_>, &'static str) -> Vec<Proposed>,
}

const REWRITES: [Rewrite; 6] = [
    Rewrite { rule: "llsc-loop", kind: RewriteKind::Sequence, candidates: sequence::of_one_register },
    Rewrite { rule: "llsc-pair", kind: RewriteKind::Sequence, candidates: sequence::of_two_registers },
    Rewrite { rule: "outlined-atomic", kind: RewriteKind::Call, candidates: call::candidates },
    Rewrite { rule: "yield-in-spin-loop", kind: RewriteKind::Hint, candidates: hint::candidates },
    Rewrite { rule: "split-frame-reload", kind: RewriteKind::Frame, candidates: frame::candidates },
    Rewrite { rule: "barrier-around-atomic", kind: RewriteKind::Barrier, candidates: barrier::candidates },
];

/// The rules whose findings a plan can remove.
pub const RULES: &[&str] = &{
    let [a, b, c, d, e, f] = REWRITES;
    [a.rule, b.rule, c.rule, d.rule, e.rule, f.rule]
};

impl Rewrite {
    /// All of them, in the order of [`RULES`].
    pub(crate) fn all() -> impl Iterator<Item = Rewrite> {
        REWRITES.into_iter()
    }

    /// That of a rule's findings.
    pub(crate) fn of(rule: &str) -> Option<Rewrite> {
        Rewrite::all().find(|rewrite| rewrite.rule == rule)
    }
}

impl<'a> From<&'a Site> for Subject<'a> {
    fn from(site: &'a Site) -> Subject<'a> {
        Subject {
            kind: Rewrite::of(site.rule).map(|rewrite| rewrite.kind),
            at: site.at,
            old: &site.old,
            new: &site.new,
            trampoline: site.trampoline.as_ref(),
        }
    }
}
