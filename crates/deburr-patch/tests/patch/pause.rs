//! What takes the place of `yield`: `isb` for every machine, `sb` only for a target that is stated to have it.

use super::apply::{CODE, SMALL, made, put};
use deburr_core::Svma;
use deburr_core::image::Image;
use deburr_cpu::{Feature, FeatureSet, Target};
use deburr_patch::{
    ApplyOptions, Change, Concern, Pause, Plan, PlanRequest, Reason, RewriteKind, Subject, VerifyError,
    apply, audit, plan, revert, verify, verify_releasing,
};

const YIELD: u32 = 0xd503203f; // yield
const ISB: u32 = 0xd5033fdf; // isb
const SB: u32 = 0xd50330ff; // sb
/// Two loops that wait, one after the other.
const WAITS: [u32; 8] = [
    YIELD,      // yield
    0xb9400001, // ldr  w1, [x0]
    0x35ffffc1, // cbnz w1, #-8
    YIELD,      // yield
    0xb9400401, // ldr  w1, [x0, #4]
    0x35ffffc1, // cbnz w1, #-8
    0xd65f03c0, // ret
    0xd503201f, // nop
];

fn waiting() -> Vec<u8> {
    let mut bytes = made(SMALL);
    for (at, word) in (CODE.start as usize..).step_by(4).zip(WAITS) {
        put(&mut bytes, at, u64::from(word), 4);
    }
    bytes
}

fn features(target: &str) -> FeatureSet {
    Target::parse(target).unwrap().features
}

fn planned(bytes: &[u8], pause: Pause, target: Option<&str>) -> Plan {
    let request = PlanRequest { pause, target: target.map(features), ..PlanRequest::default() };
    plan(bytes, &request).unwrap()
}

fn new_words(plan: &Plan) -> Vec<u32> {
    plan.sites.iter().flat_map(|site| site.new.clone()).collect()
}

#[test]
fn isb_is_written_for_every_target_and_needs_nothing() {
    let bytes = waiting();
    for target in [None, Some("armv8-a"), Some("neoverse-v2")] {
        let plan = planned(&bytes, Pause::default(), target);
        assert_eq!(new_words(&plan), [ISB, ISB], "{target:?}");
        assert_eq!(plan.needs(), FeatureSet::EMPTY);
    }
}

#[test]
fn sb_is_written_only_for_a_target_that_has_it_and_is_recorded_as_a_need() {
    let bytes = waiting();
    for target in [None, Some("armv8-a"), Some("armv8.4-a"), Some("neoverse-v2+nosb")] {
        let plan = planned(&bytes, Pause::Sb, target);
        assert!(plan.sites.is_empty(), "{target:?}");
        let reasons: Vec<&Reason> = plan.refused.iter().map(|refused| &refused.reason).collect();
        assert_eq!(reasons, [&Reason::TargetWithoutSb; 2], "{target:?}");
    }
    for target in ["armv8.5-a", "armv8-a+sb", "neoverse-v2"] {
        let plan = planned(&bytes, Pause::Sb, Some(target));
        assert_eq!(new_words(&plan), [SB, SB], "{target}");
        assert_eq!(plan.refused, []);
        assert_eq!(plan.needs(), FeatureSet::of(&[Feature::FEAT_SB]), "{target}");
    }
}

#[test]
fn sb_is_verified_only_for_a_target_that_has_it_and_turns_back_into_yield() {
    let bytes = waiting();
    let plan = planned(&bytes, Pause::Sb, Some("neoverse-v2"));
    let patched = apply(&bytes, &plan, &ApplyOptions::default()).unwrap();
    let verified = |target: FeatureSet| verify_releasing(&bytes, &patched, target, &|_| {});
    assert_eq!(verified(features("armv8.5-a")).unwrap().by_rule["yield-in-spin-loop"], 2);
    let at = Svma(plan.sites[0].at.0);
    let unproven = Err(VerifyError::Unproven { at, reason: Reason::TargetWithoutSb });
    assert_eq!(verified(features("armv8.4-a")), unproven);
    assert_eq!(verify(&bytes, &patched), unproven);
    assert_eq!(revert(&patched).unwrap(), bytes);
}

#[test]
fn other_words_in_the_place_of_yield_are_not_verified() {
    let bytes = waiting();
    let good = planned(&bytes, Pause::Sb, Some("neoverse-v2"));
    // nop; dsb sy; wfe; and one of each pause, which no plan has.
    for [first, second] in [[0xd503201f, SB], [SB, 0xd5033f9f], [0xd503205f; 2], [ISB, SB], [SB, ISB]] {
        let mut plan = good.clone();
        (plan.sites[0].new[0], plan.sites[1].new[0]) = (first, second);
        let patched = apply(&bytes, &plan, &ApplyOptions::default()).unwrap();
        let verified = verify_releasing(&bytes, &patched, features("neoverse-v2"), &|_| {});
        let other = matches!(verified, Err(VerifyError::Unproven { reason: Reason::OtherWords, .. }));
        assert!(other, "{first:#x} {second:#x}: {verified:?}");
    }
}

#[test]
fn the_audit_agrees_with_sb_only_for_a_target_that_has_it() {
    let bytes = waiting();
    let image = Image::parse(&bytes, None).unwrap();
    let site = planned(&bytes, Pause::Isb, None).sites.remove(0);
    let concerns = |new: u32, target: FeatureSet| {
        let change = Change::from(&deburr_patch::Site { new: vec![new], ..site.clone() });
        let subject = Subject {
            kind: Some(RewriteKind::Hint),
            at: change.at,
            old: &change.old,
            new: &change.new,
            trampoline: None,
        };
        let found = audit(&image, target, &[subject]);
        found.into_iter().map(|contradiction| contradiction.concern).collect::<Vec<_>>()
    };
    let (with, without) = (features("armv8.5-a"), features("armv8.4-a"));
    assert_eq!(concerns(ISB, FeatureSet::EMPTY), []);
    assert_eq!(concerns(SB, with), []);
    assert_eq!(concerns(SB, without), [Concern::Undefined]);
    assert_eq!(concerns(SB, FeatureSet::EMPTY), [Concern::Undefined]);
    assert_eq!(concerns(0xd503205f, with), [Concern::Instructions]); // wfe
}
