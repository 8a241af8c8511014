//! `straddling-loop`: small innermost loops that are in one more line of code than their size demands. In preview:
//! which loops are hot the code does not say.

use super::{Context, Rule};
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::idiom::small_loop::{LINE, SmallLoop, small_loops};
use crate::insn::ClassSet;
use crate::insn::sweep::{Loops, Wants};

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

fn check(context: &Context<'_>) -> Vec<Finding> {
    let loops = small_loops(context.image, context.program);
    let straddling = loops.iter().filter(|small| small.lines(LINE) > small.fewest_lines(LINE));
    straddling.map(finding).collect()
}

fn finding(small: &SmallLoop) -> Finding {
    let size = small.extent.len();
    let (lines, fewest) = (small.lines(LINE), small.fewest_lines(LINE));
    let (cache_lines, fewest_cache_lines) = (small.lines(CACHE_LINE), small.fewest_lines(CACHE_LINE));
    let crosses = if cache_lines > fewest_cache_lines { ", and crosses a 64-byte line" } else { "" };
    Finding {
        rule: RULE.id,
        at: small.extent.start,
        extent: small.extent,
        severity: Severity::Note,
        message: format!(
            "loop of {size} bytes is in {lines} lines of {LINE} bytes, where {fewest} would do{crosses}: align it to {LINE}"
        )
        .into(),
        evidence: Evidence::from([
            ("size", Value::Number(size)),
            ("instructions", Value::Number(small.instructions.into())),
            ("lines", Value::Number(lines)),
            ("fewest_lines", Value::Number(fewest)),
            ("cache_lines", Value::Number(cache_lines)),
            ("fewest_cache_lines", Value::Number(fewest_cache_lines)),
            ("align", Value::Number(LINE)),
        ]),
    }
}
