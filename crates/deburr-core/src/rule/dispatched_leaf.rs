//! `dispatched-leaf`: a small function that is chosen at run time for an instruction that every machine of the target
//! has; without a target, a hot one for what the machine of a profile has.

use super::{Context, Rule};
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::reach::GuardKind;
use crate::idiom::dispatch::{self, Leaf};
use crate::image::demangle;
use crate::insn::{ClassSet, sweep::Wants};
use deburr_cpu::Feature;

/// The rule. It is silent unless the user states a target or a baseline, or gives a profile.
pub(super) const RULE: Rule = Rule {
    id: "dispatched-leaf",
    summary: "small function chosen at run time for an instruction that the target guarantees",
    severity: "warning",
    page: include_str!("../../pages/dispatched-leaf.md"),
    remedies: &[],
    preview: false,
    benchmark: Some(Benchmark::new("call", &["call through a pointer"], &["inline"])),
    wants: Wants::classes(ClassSet::EMPTY),
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let there = match context.guaranteed() {
        Some(there) => there.with_implied(),
        // What the profile saw run was there.
        None if context.is_profiled => dispatch::SCALAR,
        None => return Vec::new(),
    };
    let mut leaves = dispatch::leaves(context.image, context.program, context.verdicts, there);
    if leaves.is_empty() {
        return Vec::new();
    }
    dispatch::count_uses(context.image, context.linkage(), context.program, &mut leaves);
    leaves.iter().filter_map(|leaf| finding(context, leaf)).collect()
}

fn finding(context: &Context<'_>, leaf: &Leaf<'_>) -> Option<Finding> {
    let image = context.image;
    let function = context.program.function_from(leaf.verdict.start)?;
    let extent = function.extent(image);
    let features: Vec<String> = leaf.verdict.features.iter().map(Feature::name).map(str::to_owned).collect();
    let (needs, instructions) = (features.join(", "), leaf.instructions);
    let place = image.shown(leaf.guard.svma);
    let chooser = image.code_offset(leaf.guard.svma).and_then(|at| context.program.function_at(at));
    let name = chooser.and_then(|function| context.program.name(function, image)).map(demangle);
    let within = name.map_or_else(String::new, |name| format!(" in {name}"));
    let choice = match leaf.guard.kind {
        GuardKind::Ifunc => "chosen by an ifunc resolver",
        GuardKind::Table => "chosen through a table",
        _ => "chosen through a pointer",
    };
    let known = match context.guaranteed() {
        Some(_) => "the target guarantees",
        None => "the profiled machine has",
    };
    let message =
        format!("{instructions} instructions with {needs}, which {known}, {choice} (set at {place}{within})");
    let mut evidence = vec![
        ("features", Value::List(features)),
        ("instructions", Value::Number(instructions as u64)),
        ("guard", Value::Text(format!("{place}{within}").into())),
    ];
    evidence.extend(leaf.uses.map(|uses| ("pointer_uses", Value::Number(uses))));
    Some(Finding {
        rule: RULE.id,
        at: extent.start,
        extent,
        severity: Severity::Warning,
        message: message.into(),
        evidence: Evidence::from(evidence),
    })
}
