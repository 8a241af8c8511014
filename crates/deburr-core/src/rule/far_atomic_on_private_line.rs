//! `far-atomic-on-private-line`: a store form of an LSE atomic in a loop, for a CPU on which that was seen to be slow.

use super::{Context, Rule};
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::idiom::slow_lse::{SLOW_LSE, SlowLse};
use crate::idiom::store_form::{self, StoreForm, store_forms};
use crate::insn::sweep::Wants;

/// The rule. It is silent unless the user states a CPU of [`SLOW_LSE`] as the target.
pub(super) const RULE: Rule = Rule {
    id: "far-atomic-on-private-line",
    summary: "stadd and the like in a loop, where the stated CPU was seen to execute them far",
    severity: "note",
    page: include_str!("../../pages/far-atomic-on-private-line.md"),
    remedies: &[],
    preview: true,
    benchmark: Some(Benchmark::new("fetch-add", &["stadd (no old value)"], &["ldadd"])),
    wants: Wants::classes(store_form::WANTS),
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let core = SLOW_LSE.iter().find(|core| context.target_cpu == Some(core.cpu));
    let Some(core) = core else { return Vec::new() };
    store_forms(context.image, context.program).iter().map(|form| finding(form, core)).collect()
}

fn finding(form: &StoreForm, core: &SlowLse) -> Finding {
    let SlowLse { cpu, machine, exclusives, store_form, value_form, .. } = core;
    let (mnemonic, instructions) = (&form.mnemonic, form.instructions);
    let message = format!(
        "{mnemonic} in a loop of {instructions} instructions, with no prefetch for write: published for {machine} are \
         {store_form} ns, and {exclusives} ns with exclusives"
    );
    // The other form of LSE is no way out there.
    let message = match value_form {
        Some(value_form) => format!("{message}; {value_form} ns with the form that returns a value"),
        None => message,
    };
    Finding {
        rule: RULE.id,
        at: form.at,
        extent: form.extent(),
        severity: Severity::Note,
        message: message.into(),
        evidence: Evidence::from([
            ("instruction", Value::Text(mnemonic.as_str().into())),
            ("size", Value::Number(form.size.into())),
            ("instructions", Value::Number(instructions as u64)),
            ("core", Value::Text((*cpu).into())),
        ]),
    }
}
