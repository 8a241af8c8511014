//! `contradicted-check`: code that a check of the CPU chooses, and that uses what the check does not prove, where some known
//! CPU has the one without the other. One finding a function, at the first such instruction.

use super::{Context, Rule};
use crate::address::{CodeOffset, Svma};
use crate::danger::insn_at;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::reach::{Gap, Guard, Reach, Verdict, endangered_by};
use crate::image::demangle;
use crate::insn::{ClassSet, sweep::Wants};
use deburr_cpu::{Feature, FeatureSet};
use rustc_hash::FxHashSet;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "contradicted-check",
    summary: "code chosen by a check of the CPU that uses what the check does not prove",
    severity: "warning",
    page: include_str!("../../pages/contradicted-check.md"),
    preview: true,
    remedies: &[],
    benchmark: None,
    wants: Wants::classes(ClassSet::EMPTY),
    check,
};

/// A function that its check does not cover.
struct Contradicted<'v> {
    verdict: &'v Verdict,
    gaps: &'v [Gap],
    at: CodeOffset,
    guard: Option<Guard>,
    is_presumed: bool,
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    // What the file needs in any case, its machines have.
    let required = context.verdicts.iter().filter(|verdict| verdict.reach == Reach::Required);
    let required = required.fold(FeatureSet::EMPTY, |all, verdict| all.union(verdict.features));
    let having = context.guaranteed().unwrap_or_default().union(required);
    // Above a stated baseline it is an error of its own.
    let errors: FxHashSet<CodeOffset> = context
        .above_baseline
        .iter()
        .filter(|verdict| verdict.reach.is_unsafe())
        .map(|verdict| verdict.start)
        .collect();
    let contradicted = context.verdicts.iter().filter_map(|verdict| match &verdict.contradiction {
        Some(it) => {
            let (gaps, is_presumed) = (it.gaps.as_slice(), it.is_presumed);
            Some(Contradicted { verdict, gaps, at: it.at, guard: it.guard, is_presumed })
        }
        None if verdict.reach == Reach::UnderGuarded => {
            let (gaps, at, guard) = (verdict.gaps.as_slice(), verdict.at, verdict.guard);
            Some(Contradicted { verdict, gaps, at, guard, is_presumed: false })
        }
        None => None,
    });
    let others = contradicted.filter(|it| !errors.contains(&it.verdict.start));
    others.filter_map(|it| finding(context, &it, having)).collect()
}

fn finding(context: &Context<'_>, found: &Contradicted<'_>, having: FeatureSet) -> Option<Finding> {
    let image = context.image;
    let endangered = endangered_by(image.arch, found.gaps, having);
    let first = endangered.first()?;
    // That of most CPUs, and of these the one that misses least.
    let affects = |gap: &&Gap| endangered_by(image.arch, std::slice::from_ref(*gap), having).len();
    let worst = found.gaps.iter().max_by_key(affects)?;
    let (missing, proven) = (names(worst.missing.strongest()), names(worst.proven.strongest()));
    let which = match endangered.len() {
        1 => format!("{first} has the one without the other"),
        n => format!("{first} and {} more CPUs have the one without the other", n - 1),
    };
    let place = found.guard.map(|guard| place(context, guard.svma));
    let within = place.as_ref().map_or_else(String::new, |(at, name)| match name {
        Some(name) => format!(" (at {at} in {name})"),
        None => format!(" (at {at})"),
    });
    let kind = if found.is_presumed { "what is presumed to be a check" } else { "a check" };
    let message =
        format!("uses {} after {kind} for {} only{within}: {which}", missing.join(", "), proven.join(", "));
    let mut evidence = vec![
        ("features", Value::List(missing)),
        ("proven", Value::List(proven)),
        ("presumed", Value::Flag(found.is_presumed)),
        ("endangered", Value::List(endangered)),
    ];
    if let Some((at, name)) = place {
        evidence.push(("test", Value::Text(at.into())));
        evidence.extend(name.map(|name| ("chosen_in", Value::Text(name.into()))));
    }
    let at = image.svma(found.at);
    Some(Finding {
        rule: RULE.id,
        at,
        extent: insn_at(image, at),
        severity: Severity::Warning,
        message: message.into(),
        evidence: Evidence::from(evidence),
    })
}

fn names(features: FeatureSet) -> Vec<String> {
    features.iter().map(Feature::name).map(str::to_owned).collect()
}

/// An address as other tools show it, and the name of the function that it is in.
fn place(context: &Context<'_>, svma: Svma) -> (String, Option<String>) {
    let (image, program) = (context.image, context.program);
    let function = image.code_offset(svma).and_then(|at| program.function_at(at));
    let name = function.and_then(|function| program.name(function, image));
    (image.shown(svma), name.map(demangle))
}
