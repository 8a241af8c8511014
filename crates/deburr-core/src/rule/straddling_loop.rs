//! `straddling-loop`: small innermost loops that are in one more line of code than their size demands. In preview:
//! which loops are hot the code does not say.

use super::{Context, Rule};
use crate::address::Extent;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::idiom::small_loop::{LINE, SMALL, SmallLoop, is_placed, small_loops};
use crate::insn::sweep::{Loops, Wants};
use crate::insn::{ClassSet, Flow, Insn, Operation};

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "straddling-loop",
    summary: "small innermost loop placed so that it covers one more 32-byte line than its size demands",
    severity: "note",
    page: include_str!("../../pages/straddling-loop.md"),
    remedies: &[],
    preview: true,
    benchmark: None,
    wants: Wants { classes: ClassSet::EMPTY, loops: Loops::All, computing: false },
    check,
};

/// Bytes of a line in the caches.
const CACHE_LINE: u64 = 64;

/// CPUs whose microcode keeps jumps out of the decoded instructions where they cross or end at a line of [`LINE`] bytes: Intel,
/// "Mitigations for Jump Conditional Code Erratum", section 1.3.
const WITH_JUMP_ERRATUM: [&str; 3] = ["skylake", "skylake-avx512", "cascadelake"];

fn check(context: &Context<'_>) -> Vec<Finding> {
    let loops = small_loops(context.image, context.program, SMALL);
    let straddling = loops.iter().filter(|small| {
        small.lines(LINE) > small.fewest_lines(LINE) && is_placed(context.image, small.extent.start)
    });
    let has_erratum = context.target_cpu.is_some_and(|cpu| WITH_JUMP_ERRATUM.contains(&cpu));
    straddling.map(|small| finding(small, has_erratum.then(|| jumps_at_lines(context, small)))).collect()
}

/// How many jumps of a loop cross a line or end with it. One that is fused with the comparison before it begins there.
fn jumps_at_lines(context: &Context<'_>, small: &SmallLoop) -> u64 {
    let body = small.body(context.image, context.program);
    let before = std::iter::once(None).chain(body.iter().map(Some));
    let jumps = body.iter().zip(before).filter(|(insn, _)| insn.flow != Flow::Next);
    let extents = jumps.map(|(insn, before)| {
        let fused = before.filter(|before| is_fused(before, insn));
        Extent { start: fused.unwrap_or(insn).svma, end: insn.next() }
    });
    extents.filter(|jump| jump.start.0 / LINE != jump.end.0 / LINE).count() as u64
}

/// Whether an instruction and the conditional jump after it are decoded as one: Intel's optimization manual, "Macro-Fusion". A
/// comparison of memory with a constant is not.
fn is_fused(before: &Insn, jump: &Insn) -> bool {
    let compares = matches!(
        before.operation,
        Operation::Compare | Operation::Test | Operation::Add | Operation::Sub | Operation::And
    );
    matches!(jump.flow, Flow::Branch(_)) && compares && !(before.memory.is_some() && before.imm.is_some())
}

/// `jumps`: how many are at the end of a line, where that matters.
fn finding(small: &SmallLoop, jumps: Option<u64>) -> Finding {
    let size = small.extent.len();
    let (lines, fewest) = (small.lines(LINE), small.fewest_lines(LINE));
    let (cache_lines, fewest_cache_lines) = (small.lines(CACHE_LINE), small.fewest_lines(CACHE_LINE));
    let crosses = if cache_lines > fewest_cache_lines { ", and crosses a 64-byte line" } else { "" };
    let at_lines = match jumps {
        None | Some(0) => "",
        Some(1) => ", and one of its jumps crosses or ends a line",
        Some(_) => ", and jumps of it cross or end a line",
    };
    let mut evidence = vec![
        ("size", Value::Number(size)),
        ("instructions", Value::Number(small.instructions.into())),
        ("lines", Value::Number(lines)),
        ("fewest_lines", Value::Number(fewest)),
        ("cache_lines", Value::Number(cache_lines)),
        ("fewest_cache_lines", Value::Number(fewest_cache_lines)),
        ("align", Value::Number(LINE)),
    ];
    evidence.extend(jumps.map(|jumps| ("jcc", Value::Number(jumps))));
    Finding {
        rule: RULE.id,
        at: small.extent.start,
        extent: small.extent,
        severity: Severity::Note,
        message: format!(
            "loop of {size} bytes is in {lines} lines of {LINE} bytes, where {fewest} would do{crosses}{at_lines}: align it to {LINE}"
        )
        .into(),
        evidence: Evidence::from(evidence),
    }
}
