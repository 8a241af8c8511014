//! `above-baseline`: instructions that the baseline's machines do not have. One finding a function.

use super::{Context, Rule};
use crate::address::Extent;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::Function;
use crate::image::Image;
use crate::insn::sweep::{CodeOffset, FeatureHit};
use crate::insn::{self, ClassSet, FeatureGroup};
use deburr_cpu::{Feature, FeatureSet};

/// The rule. It is silent unless the user states a baseline.
pub(super) const RULE: Rule = Rule {
    id: "above-baseline",
    summary: "instruction that the stated baseline does not have",
    severity: "error",
    page: include_str!("../../pages/above-baseline.md"),
    wants: ClassSet::EMPTY,
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let Some(baseline) = context.baseline else { return Vec::new() };
    let (image, program) = (context.image, context.program);
    let permitted = baseline.union(deburr_cpu::system_features(image.arch));
    let above_of: Vec<FeatureSet> = (0..insn::feature_group_count(image.arch))
        .map(|group| {
            u16::try_from(group).map_or(FeatureSet::EMPTY, |group| {
                insn::features_of(image.arch, FeatureGroup(group)).minus(permitted)
            })
        })
        .collect();
    let above = |hit: &FeatureHit| above_of.get(usize::from(hit.group.0)).copied().unwrap_or_default();
    let mut uses: Vec<(Option<Function>, Use)> = Vec::new();
    for (function, hits) in program.hits_by_function() {
        let mut hits = hits.iter().filter(|hit| !above(hit).is_empty());
        let Some(first) = hits.next() else { continue };
        let mut found = Use { first: first.at, last: first.at, features: above(first), count: 1 };
        for hit in hits {
            found = Use {
                last: hit.at,
                features: found.features.union(above(hit)),
                count: found.count + 1,
                ..found
            };
        }
        match uses.last_mut() {
            // The function's code went on in another run.
            Some((last, before)) if function.is_some() && last.as_ref() == function => before.extend(&found),
            _ => uses.push((function.copied(), found)),
        }
    }
    uses.iter().map(|(_, found)| finding(image, found)).collect()
}

/// What one function uses above the baseline.
struct Use {
    first: CodeOffset,
    last: CodeOffset,
    features: FeatureSet,
    count: u64,
}

impl Use {
    fn extend(&mut self, later: &Use) {
        self.last = later.last;
        self.features = self.features.union(later.features);
        self.count += later.count;
    }
}

fn finding(image: &Image<'_>, found: &Use) -> Finding {
    let names: Vec<String> = found.features.iter().map(Feature::name).map(str::to_owned).collect();
    let plural = if found.count == 1 { "instruction" } else { "instructions" };
    let last = image.svma(found.last);
    let length = image.bytes_at(last).and_then(|code| insn::decode(image.arch, code, last));
    let end = last.offset(length.map_or(1, |insn| insn.length.into()));
    Finding {
        rule: RULE.id,
        at: image.svma(found.first),
        extent: Extent { start: image.svma(found.first), end },
        severity: Severity::Error,
        message: format!("{} {plural} above the baseline: {}", found.count, names.join(", ")).into(),
        evidence: Evidence::from([
            ("features", Value::List(names)),
            ("instructions", Value::Number(found.count)),
        ]),
    }
}
