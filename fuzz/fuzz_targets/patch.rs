//! Planning, writing, proving and taking back: whatever the bytes are, no panic; and what is written is proven from the two
//! files, and gives the original back.

#![no_main]

use deburr_patch::{ApplyOptions, PlanRequest, apply, difference, plan, revert, verify};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    let _ = revert(bytes);
    let _ = difference(bytes, bytes);
    let target = deburr_cpu::level_named("armv8.1-a").map(|level| level.features);
    let request = PlanRequest { target, trampolines: choice & 4 == 4, ..PlanRequest::default() };
    let Ok(plan) = plan(bytes, &request) else { return };
    let options = ApplyOptions { new_build_id: choice & 1 == 1, trailer: choice & 2 == 2, ..ApplyOptions::default() };
    let Ok(patched) = apply(bytes, &plan, &options) else { return };
    assert!(verify(bytes, &patched).is_ok_and(|verified| verified.changes.len() == plan.sites.len()));
    assert!(revert(&patched).is_ok_and(|original| original == bytes));
});
