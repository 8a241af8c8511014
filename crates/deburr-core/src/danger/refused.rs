//! What is said of a program that refuses to start, or of a library that refuses to be loaded, on machines that lack
//! some features: one finding, at the branch that refuses.
//!
//! In: a [`Refusal`] of the analysis. Out: a [`Finding`] in the name of a rule, and [`Limit`], from which all that is said
//! of a refusal is made.

use super::{insn_at, level_within, named, names};
use crate::address::{Extent, Svma};
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::Program;
use crate::function::reach::Refusal;
use crate::image::Image;
use crate::remedy::BUILD_FOR;
use deburr_cpu::{Arch, FeatureSet, Level};
use std::fmt;

/// The function of Go's runtime that tests for what the program was built for (`runtime/asm_amd64.s`, `asm_arm64.s`).
const GO_START: &str = "runtime.rt0_go";

/// Below which level, and without which features, a program refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    /// The highest level all of whose features it tests.
    pub level: Option<&'static Level>,
    /// What it tests beyond that.
    pub without: FeatureSet,
}

impl Limit {
    /// Of the features that a program refuses to start without.
    pub(crate) fn of(arch: Arch, features: FeatureSet) -> Limit {
        let everywhere = deburr_cpu::universal_features(arch);
        let tested = features.with_implied().union(everywhere);
        let levels = deburr_cpu::levels(arch).iter().skip(1).rev();
        let level = levels.into_iter().find(|level| level.features.is_subset(tested));
        let known = level.map_or(everywhere, |level| level.features.with_implied().union(everywhere));
        Limit { level, without: features.minus(known).strongest() }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let without = names(self.without).join(", ");
        match (self.level, self.without.is_empty()) {
            (Some(level), true) => write!(f, "refuses below {}", level.name),
            (Some(level), false) => write!(f, "refuses below {}, and without {without}", level.name),
            (None, _) => write!(f, "refuses without {without}"),
        }
    }
}

/// What a rule says of a refusal on machines that have no more than the baseline; `None` where they have all of it.
pub(crate) fn finding(
    rule: &'static str,
    (image, program): (&Image<'_>, &Program),
    refusal: &Refusal,
    baseline: FeatureSet,
) -> Option<Finding> {
    let missing = refusal.missing(image.arch, baseline);
    if missing.is_empty() {
        return None;
    }
    let at = refusal.at.or(image.entry_point).unwrap_or(Svma(0));
    let limit = Limit::of(image.arch, refusal.features);
    let why = match (&refusal.text, &refusal.stated) {
        (Some(text), _) => format!(": \"{text}\""),
        (None, Some(stated)) if refusal.at.is_none() => format!(": built with {stated}"),
        (None, _) => String::new(),
    };
    let mut evidence = vec![
        ("features", Value::List(names(missing))),
        ("refuses", Value::Flag(true)),
        ("function", Value::Text(named((image, program), at).into())),
    ];
    evidence.extend(refusal.text.as_ref().map(|text| ("text", Value::Text(text.as_str().into()))));
    evidence.extend(refusal.stated.as_ref().map(|stated| ("stated", Value::Text(stated.as_str().into()))));
    // Another test is the program's own, which no flag changes.
    let is_go =
        refusal.stated.is_some() || image.build.is_go && named((image, program), at).starts_with(GO_START);
    if let Some(level) = level_within(image.arch, baseline).filter(|_| is_go) {
        evidence.push((BUILD_FOR, Value::Text(level.name.into())));
    }
    let extent = if refusal.at.is_some() { insn_at(image, at) } else { Extent::sized(at, 1) };
    Some(Finding {
        rule,
        at,
        extent,
        severity: Severity::Error,
        message: format!("{limit}{why}").into(),
        evidence: Evidence::from(evidence),
    })
}
