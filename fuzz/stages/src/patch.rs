//! Rewriting: bytes → plan → new bytes, proven, and back.

use crate::input::split;
use deburr_patch::{ApplyOptions, PlanRequest, apply, difference, plan, revert, verify};

/// Plans, writes, proves and takes back. The choice: a new build-id, a note after the file, trampolines.
///
/// # Panics
/// Where what is written is not proven from the two files, differs by other bytes than planned, or does not give the original back.
pub fn patch(data: &[u8]) {
    let Some((choice, bytes)) = split(data) else { return };
    let _ = revert(bytes);
    let _ = difference(bytes, bytes);
    let target = deburr_cpu::level_named("armv8.1-a").map(|level| level.features);
    let request = PlanRequest { target, trampolines: choice.bit(2), ..PlanRequest::default() };
    let Ok(plan) = plan(bytes, &request) else { return };
    let options = ApplyOptions { new_build_id: choice.bit(0), trailer: choice.bit(1) };
    let Ok(patched) = apply(bytes, &plan, &options) else { return };
    assert!(verify(bytes, &patched).is_ok_and(|verified| verified.changes.len() == plan.sites.len()));
    assert!(revert(&patched).is_ok_and(|original| original == bytes));
}
