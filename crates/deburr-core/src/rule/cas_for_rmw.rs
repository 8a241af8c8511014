//! `cas-for-rmw`: a compare-and-swap loop for what one atomic instruction does.

use super::{Context, Rule};
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::atomics::{self, CasForm, CasLoop, Operation};
use crate::insn::sweep::Wants;
use deburr_cpu::Feature;

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "cas-for-rmw",
    summary: "compare-and-swap loop for what one atomic instruction does",
    severity: "warning; on AArch64 without cas inline, note except for a target with LSE",
    page: include_str!("../../pages/cas-for-rmw.md"),
    remedies: &[],
    preview: false,
    benchmark: Some(Benchmark::new("fetch-add", &["cmpxchg loop", "casal loop"], &["lock xadd", "ldaddal"])),
    wants: Wants::classes(atomics::CAS_WANTS),
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let has_lse = context.target.is_some_and(|target| target.contains(Feature::FEAT_LSE));
    let loops = atomics::cas_loops(context.image, context.program, context.atomics());
    loops.iter().filter_map(|found| Some(finding(found, instruction(found)?, has_lse))).collect()
}

/// The one instruction, where there is one.
fn instruction(found: &CasLoop) -> Option<&'static str> {
    let is_used = found.is_value_used;
    Some(match (found.form, found.operation) {
        (CasForm::Locked, Operation::Add | Operation::Sub) if is_used => "lock xadd",
        (CasForm::Locked, Operation::Add) => "lock add",
        (CasForm::Locked, Operation::Sub) => "lock sub",
        (CasForm::Locked, Operation::Swap) => "xchg",
        // x86 has none that gives the old value back.
        (CasForm::Locked, Operation::And | Operation::AndNot) if !is_used => "lock and",
        (CasForm::Locked, Operation::Or) if !is_used => "lock or",
        (CasForm::Locked, Operation::Xor) if !is_used => "lock xor",
        (CasForm::Locked, _) => return None,
        (_, Operation::Add | Operation::Sub) => "ldadd",
        (_, Operation::Swap) => "swp",
        (_, Operation::And | Operation::AndNot) => "ldclr",
        (_, Operation::Or | Operation::OrNot) => "ldset",
        (_, Operation::Xor | Operation::XorNot) => "ldeor",
        (_, Operation::MinMax) => "ldsmax, ldsmin, ldumax or ldumin",
        _ => return None,
    })
}

fn finding(found: &CasLoop, instruction: &'static str, has_lse: bool) -> Finding {
    let form = match found.form {
        CasForm::Lse => "lse",
        CasForm::Exclusives => "exclusives",
        CasForm::Outlined => "outlined",
        CasForm::Locked => "locked",
    };
    let is_sure = has_lse || matches!(found.form, CasForm::Lse | CasForm::Locked);
    let operation = found.operation.name();
    let bytes = if found.size == 1 { "byte" } else { "bytes" };
    let message = format!(
        "compare-and-swap loop for {operation} of {} {bytes}, where {instruction} does it in one instruction",
        found.size
    );
    Finding {
        rule: RULE.id,
        at: found.at,
        extent: found.extent,
        severity: if is_sure { Severity::Warning } else { Severity::Note },
        message: message.into(),
        evidence: Evidence::from([
            ("operation", Value::Text(operation.into())),
            ("size", Value::Number(found.size.into())),
            ("form", Value::Text(form.into())),
            ("instruction", Value::Text(instruction.into())),
        ]),
    }
}
