//! `llsc-pair`: 16-byte atomics compiled as exclusive pairs, where one instruction does the same.

use super::{Context, Rule};
use crate::finding::{Evidence, Finding, Severity, Value};
use crate::function::atomics::{self, Fate, Operation, Sequence};
use crate::image::Image;
use crate::insn::sweep::Wants;
use crate::remedy;
use deburr_cpu::{Feature, FeatureSet};

/// The rule.
pub(super) const RULE: Rule = Rule {
    id: "llsc-pair",
    summary: "16-byte compare-and-swap or load as a loop of exclusive pairs",
    severity: "warning; note where written by hand, for a target without the instruction, or for a load",
    page: include_str!("../../pages/llsc-pair.md"),
    remedies: &[remedy::CLANG_LSE.only("operation", "cas")],
    preview: false,
    benchmark: None,
    wants: Wants::classes(atomics::WANTS),
    check,
};

fn check(context: &Context<'_>) -> Vec<Finding> {
    let pairs = context.atomics().sequences.iter().filter(|sequence| sequence.size == 16);
    let finding = |sequence| Some(finding(context.image, sequence, severity(sequence, context.target)?));
    pairs.filter_map(finding).collect()
}

/// `None` where nothing is to be said of it.
fn severity(sequence: &Sequence, target: Option<FeatureSet>) -> Option<Severity> {
    let has = |feature| target.map(|target| target.contains(feature));
    match (sequence.operation, sequence.fate) {
        // LSE has no load of 16 bytes, so no flag for LSE helps; one for LSE2 does.
        (Operation::Load, Fate::NoFlagHelps) if has(Feature::FEAT_LSE2) == Some(true) => {
            Some(Severity::Warning)
        }
        (Operation::Load, Fate::NoFlagHelps) => Some(Severity::Note),
        (_, Fate::WrittenByHand) => Some(Severity::Note),
        (_, Fate::MissedFlag) if has(Feature::FEAT_LSE) == Some(false) => Some(Severity::Note),
        (_, Fate::MissedFlag) => Some(Severity::Warning),
        (_, Fate::InlineDispatch | Fate::RunTimeChoice | Fate::NoFlagHelps) => None,
    }
}

fn finding(image: &Image<'_>, sequence: &Sequence, severity: Severity) -> Finding {
    let by_hand = sequence.fate == Fate::WrittenByHand;
    let hint = if by_hand { " (written by hand: no compiler flag changes it)" } else { "" };
    let message = match sequence.operation {
        Operation::Load => {
            format!(
                "exclusive pair for a load of 16 bytes, which stores as well; with LSE2 one ldp does{hint}"
            )
        }
        operation => {
            format!("exclusive pair for {} of 16 bytes, where casp would do{hint}", operation.name())
        }
    };
    Finding {
        rule: RULE.id,
        at: sequence.load,
        extent: sequence.extent,
        severity,
        message: message.into(),
        evidence: Evidence::from([
            ("operation", Value::Text(sequence.operation.name().into())),
            ("size", Value::Number(sequence.size.into())),
            ("acquire", Value::Flag(sequence.ordering.acquire)),
            ("release", Value::Flag(sequence.ordering.release)),
            ("written_by_hand", Value::Flag(by_hand)),
            ("retries", Value::Flag(sequence.retries)),
            ("store_exclusive", Value::Text(image.shown(sequence.store).into())),
        ]),
    }
}
