//! `software-popcount`: bits counted by masks and shifts in loops, where one instruction would do; everywhere, if the user
//! names the rule.

use super::{Context, Rule};
use crate::address::{Extent, Svma};
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::reach::{Reach, Verdict};
use crate::idiom::popcount::{self, Elsewhere, Popcount, PopcountKind};
use crate::idiom::repeated::{Repeated, Repetition};
use crate::insn::{self, ClassSet, sweep::Wants};
use crate::remedy::{Compiler, Remedy};
use deburr_cpu::{Arch, Feature};

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "software-popcount",
    summary: "population count by masks and shifts in a loop, with no hardware path next to it",
    severity: "note; warning for a target that has the instruction",
    page: include_str!("../../pages/software-popcount.md"),
    remedies: &[
        Remedy::new(Compiler::Gcc, (11, 1), "-march=x86-64-v2").needing("x86-64-v2"),
        Remedy::new(Compiler::Clang, (12, 0), "-march=x86-64-v2").needing("x86-64-v2"),
        Remedy::new(Compiler::Rustc, (1, 52), "-C target-cpu=x86-64-v2").needing("x86-64-v2"),
        Remedy::new(Compiler::Go, (1, 18), "GOAMD64=v2").needing("x86-64-v2"),
    ],
    preview: false,
    benchmark: Some(Benchmark::new("popcount", &["masks and shifts"], &["popcnt", "cnt"])),
    wants: Wants::classes(ClassSet::EMPTY),
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    /// Maximum number of bytes of a function that is there for the instruction.
    const SMALL: u64 = 128;
    // The kernel's code may not touch vector registers, and writes POPCNT over its calls at run time.
    if context.image.build.is_linux_kernel {
        return Vec::new();
    }
    let checks = context.verdicts.iter().any(|verdict| verdict.guarded.contains(Feature::POPCNT));
    // What only data leads to may be chosen by the code that reads that.
    let is_chosen = |verdict: &Verdict| match verdict.reach {
        Reach::Guarded
        | Reach::Offered
        | Reach::Presumed
        | Reach::Unknown
        | Reach::Covered
        | Reach::Unreached => true,
        Reach::Required => verdict.path.first().is_some_and(|root| !root.is_function),
        Reach::UnderGuarded => false,
    };
    let may_be_chosen = |verdict: &&Verdict| verdict.features.contains(Feature::POPCNT) && is_chosen(verdict);
    let is_small = |verdict: &Verdict| {
        let function = context.program.function_from(verdict.start);
        function.is_some_and(|function| function.extent(context.image).len() <= SMALL)
    };
    let mut others = context.verdicts.iter().filter(may_be_chosen).peekable();
    let elsewhere =
        Elsewhere { checks, anywhere: checks || others.peek().is_some(), alone: others.any(is_small) };
    let all_resolvers = || {
        let linkage = context.linkage();
        let resolved = linkage.resolved.iter().map(|cell| cell.resolver);
        linkage.resolvers.iter().copied().chain(resolved).collect()
    };
    let resolvers: Vec<Svma> = if elsewhere.anywhere { all_resolvers() } else { Vec::new() };
    let popcounts = popcount::popcounts(context.image, context.program, elsewhere, resolvers.into_iter());
    let avoidable: Vec<&Popcount> = popcounts.iter().filter(|popcount| !popcount.is_fallback).collect();
    let sites = avoidable.iter().flat_map(|popcount| &popcount.sites).copied();
    let repeated = Repeated::new(context.image, context.program, sites);
    let is_named = context.is_named(RULE.id);
    let worth_reporting = avoidable.into_iter().filter_map(|popcount| {
        let best = popcount.sites.iter().filter_map(|&site| Some((repeated.at(site)?, site))).min();
        (is_named || best.is_some()).then(|| finding(context, popcount, best))
    });
    worth_reporting.collect()
}

/// `best`: where it runs again and again, if it does.
fn finding(context: &Context<'_>, popcount: &Popcount, best: Option<(Repetition, Svma)>) -> Finding {
    let (feature, instead) = match context.image.arch {
        Arch::X86_64 => (Feature::POPCNT, "popcnt"),
        Arch::Aarch64 => (Feature::FEAT_CSSC, "cnt"),
    };
    let is_there = context.guaranteed().is_some_and(|features| features.contains(feature));
    let (message, mut evidence) = match popcount.kind {
        PopcountKind::Body(bits, callers) => (
            format!(
                "population count of {bits} bits by masks and shifts, called directly {callers} times, where {instead} would do"
            ),
            vec![("bits", Value::Number(bits.into())), ("callers", Value::Number(callers))],
        ),
        PopcountKind::InLine(bits) => (
            format!("population count of {bits} bits by masks and shifts, inline, where {instead} would do"),
            vec![("bits", Value::Number(bits.into()))],
        ),
        PopcountKind::Call(name, calls) => (
            format!("call of {name}, which counts bits by arithmetic, where {instead} would do"),
            vec![("callee", Value::Text(name.into())), ("calls", Value::Number(calls))],
        ),
    };
    evidence.push(("repeated", Value::Text(best.map_or("no", |(how, _)| how.name()).into())));
    // Of several calls in a function, one in a loop.
    let call = best.map(|(_, site)| site).filter(|_| matches!(popcount.kind, PopcountKind::Call(..)));
    let call = call.and_then(|site| {
        let call = insn::decode(context.image.arch, context.image.bytes_at(site)?, site)?;
        Some(Extent { start: site, end: call.next() })
    });
    let extent = call.unwrap_or(popcount.at);
    Finding {
        rule: RULE.id,
        at: extent.start,
        extent,
        severity: if is_there { Severity::Warning } else { Severity::Note },
        message: message.into(),
        evidence: Evidence::from(evidence),
    }
}
