//! `yield-in-spin-loop`: `yield` where a loop should pause, which most cores of AArch64 run as a no-operation.

use super::{Context, Rule};
use crate::address::Extent;
use crate::benchmark::Benchmark;
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::atomics;
use crate::function::spin::{self, Hint, Purpose};
use crate::insn::sweep::Wants;
use crate::insn::{Class, ClassSet};
use deburr_cpu::{Feature, FeatureSet};

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "yield-in-spin-loop",
    summary: "yield in a spin loop, where most AArch64 cores do nothing",
    severity: "warning",
    page: include_str!("../../pages/yield-in-spin-loop.md"),
    remedies: &[],
    preview: false,
    benchmark: Some(Benchmark::new(
        "lock",
        &["swpa, yield", "ldaxr/stxr, yield"],
        &["swpa, isb", "ldaxr/stxr, isb"],
    )),
    wants: Wants::classes(ClassSet::of(&[Class::SpinHint]).union(atomics::WANTS)),
    check,
};

/// `sb` as a pause; needs FEAT_SB.
const SB: &str = "sb";
/// `isb` as a pause, which every core has.
const ISB: &str = "isb";

fn check(context: &Context<'_>) -> Vec<Finding> {
    let hints = spin::hints(context.image, context.program, context.atomics());
    let advice = context.target.map(advice);
    hints.into_iter().map(|hint| finding(hint, advice)).collect()
}

/// The pause for machines that have certain features. Published gains of `sb` over `isb` are in
/// `evidence/spin_pause_sb_isb.csv`.
fn advice(target: FeatureSet) -> &'static str {
    if target.contains(Feature::FEAT_SB) { SB } else { ISB }
}

/// `advice`: the pause for the stated target; without one the page has it.
fn finding(hint: Hint, advice: Option<&'static str>) -> Finding {
    let purpose = match hint.purpose {
        Purpose::Retry => "a loop that tries an atomic operation again",
        Purpose::Wait => "a loop that waits for memory",
        Purpose::Delay => "a delay loop",
    };
    let pauses = advice.map_or_else(String::new, |advice| format!("; {advice} pauses on the target"));
    let mut evidence = vec![("loop", Value::Text(hint.purpose.name().into()))];
    evidence.extend(advice.map(|advice| ("advice", Value::Text(advice.into()))));
    Finding {
        rule: RULE.id,
        at: hint.at,
        extent: Extent::sized(hint.at, 4),
        severity: Severity::Warning,
        message: format!("yield in {purpose}: a no-operation on cores without multithreading{pauses}").into(),
        evidence: Evidence::from(evidence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Svma;
    use deburr_cpu::Target;

    fn advice_for(target: &str) -> &'static str {
        advice(Target::parse(target).unwrap().features)
    }

    #[test]
    fn sb_is_advised_where_the_target_has_it_and_isb_elsewhere() {
        for target in ["armv8.5-a", "armv9-a", "neoverse-v2", "armv8-a+sb"] {
            assert_eq!(advice_for(target), "sb", "{target}");
        }
        for target in ["armv8-a", "armv8.4-a", "neoverse-n1", "neoverse-v1", "neoverse-v2+nosb"] {
            assert_eq!(advice_for(target), "isb", "{target}");
        }
    }

    #[test]
    fn a_finding_names_the_pause_of_a_stated_target_and_none_without_one() {
        let hint = Hint { at: Svma(0x40), purpose: Purpose::Delay };
        let plain = finding(hint, None);
        assert_eq!(&*plain.message, "yield in a delay loop: a no-operation on cores without multithreading");
        assert_eq!(plain.evidence.facts().count(), 1);
        for pause in [SB, ISB] {
            let advised = finding(hint, Some(pause));
            assert_eq!(advised.evidence.get("advice"), Some(&Value::Text(pause.into())));
            assert_eq!(*advised.message, format!("{}; {pause} pauses on the target", plain.message));
        }
    }
}
