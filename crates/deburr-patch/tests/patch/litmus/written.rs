//! What deburr writes over a function, by its public plan of a whole file.

use super::state::{Segment, Thread};
use super::surroundings::Function;
use crate::apply::{CODE, Made, SMALL, made, put};
use deburr_cpu::{Feature, FeatureSet};
use deburr_patch::{Plan, PlanRequest, plan};

const BASE: u64 = 0x40_0000;

/// The function as it is.
pub(super) fn original(function: &Function) -> Thread {
    let code = vec![Segment { at: BASE + CODE.start, words: function.words.clone() }];
    Thread { code, registers: function.registers.clone() }
}

/// The function with other instructions from its site on.
pub(super) fn with(function: &Function, new: &[u32]) -> Thread {
    let mut thread = original(function);
    thread.code[0].words[function.site..function.site + new.len()].copy_from_slice(new);
    thread
}

fn planned(function: &Function) -> Plan {
    let mut file = made(Made { words: function.words.len() as u64, ..SMALL });
    for (at, &word) in function.words.iter().enumerate() {
        put(&mut file, CODE.start as usize + 4 * at, u64::from(word), 4);
    }
    let target: FeatureSet = [Feature::FEAT_LSE].into_iter().collect();
    let rules = ["llsc-loop", "llsc-pair"];
    let request = PlanRequest {
        target: Some(target),
        rules: Some(&rules),
        trampolines: true,
        ..PlanRequest::default()
    };
    plan(&file, &request).expect("a plan")
}

/// The function as deburr writes it, or why it leaves it alone.
pub(super) fn rewritten(function: &Function) -> Result<Thread, String> {
    let plan = planned(function);
    let [site] = &plan.sites[..] else {
        return Err(format!("{:?}", plan.refused.first().map(|refused| &refused.reason)));
    };
    let mut thread = original(function);
    let at = (site.at.0 - BASE - CODE.start) as usize / 4;
    thread.code[0].words[at..at + site.new.len()].copy_from_slice(&site.new);
    thread
        .code
        .extend(site.trampoline.iter().map(|added| Segment { at: added.at.0, words: added.words.clone() }));
    Ok(thread)
}
