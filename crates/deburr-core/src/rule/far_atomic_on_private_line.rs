//! `far-atomic-on-private-line`: a store form of an LSE atomic in a loop, for a CPU on which that was seen to be slow.

use super::{Context, Rule};
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::idiom::store_form::{self, StoreForm, store_forms};
use crate::insn::sweep::Wants;

/// The rule. It is silent unless the user states one of the [`CORES`] as the target.
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

/// A core of a machine on which a store form took longer than a load-exclusive/store-exclusive loop.
struct Core {
    /// As `--target` has it.
    name: &'static str,
    /// The machine and the medians in nanoseconds, as `evidence/near_far_percpu_add.csv` has them.
    machine: &'static str,
    exclusives: &'static str,
    store_form: &'static str,
}

/// The table has the machine, and not which of its two kinds of core ran; its reporter saw no dependence on that.
const CORES: [Core; 2] = [of_cix_p1("cortex-a520"), of_cix_p1("cortex-a720")];

const fn of_cix_p1(name: &'static str) -> Core {
    Core { name, machine: "CIX P1 (A720/A520)", exclusives: "6.56", store_form: "45.79" }
}

fn check(context: &Context<'_>) -> Vec<Finding> {
    let core = CORES.iter().find(|core| context.target_cpu == Some(core.name));
    let Some(core) = core else { return Vec::new() };
    store_forms(context.image, context.program).iter().map(|form| finding(form, core)).collect()
}

fn finding(form: &StoreForm, core: &Core) -> Finding {
    let Core { name, machine, exclusives, store_form } = core;
    let (mnemonic, instructions) = (&form.mnemonic, form.instructions);
    let message = format!(
        "{mnemonic} in a loop of {instructions} instructions, with no prefetch for write: published for {machine} are \
         {store_form} ns, and {exclusives} ns with exclusives"
    );
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
            ("core", Value::Text((*name).into())),
        ]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_cpu::Target;

    #[test]
    fn every_core_is_a_target_and_has_its_figures_from_the_table() {
        let table = include_str!("../../../../evidence/near_far_percpu_add.csv");
        for core in CORES {
            assert_eq!(Target::parse(core.name).unwrap().cpu(), Some(core.name));
            for (variant, median) in [("LL/SC", core.exclusives), ("LSE store form", core.store_form)] {
                let row = format!(",{},0,{variant},{median},", core.machine);
                assert!(table.contains(&row), "{row}");
            }
        }
    }
}
