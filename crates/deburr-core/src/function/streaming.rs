//! The parts of functions that are executed in streaming mode.
//!
//! In: a program, as the sweep found it. Out: the same, with what its instructions need in the mode in which they are executed. SVE
//! instructions between an `smstart` and the last `smstop` before the next one need SME: a kernel for SME runs on CPUs that have no SVE.
//! An earlier `smstop` belongs to a path that returns early.

use super::program::Program;
use crate::address::CodeOffset;
use crate::image::Image;
use crate::insn;
use deburr_cpu::Feature;
use std::ops::Range;

/// Settles what instructions need, by the mode that they are executed in.
pub(super) fn settle_streaming(image: &Image<'_>, program: &mut Program) {
    let is_of_sme = |group| insn::features_of(image.arch, group).contains(Feature::FEAT_SME);
    if !program.group_counts().any(|(group, _)| is_of_sme(group)) {
        return;
    }
    let regions = regions(image, program);
    program.regroup(|hit| {
        let before = regions.partition_point(|region| region.start <= hit.at);
        let is_inside = |region: &Range<CodeOffset>| region.contains(&hit.at);
        if !before.checked_sub(1).and_then(|last| regions.get(last)).is_some_and(is_inside) {
            return hit.group;
        }
        insn::in_streaming_mode(image.arch, image.bytes_at(image.svma(hit.at)).unwrap_or_default(), hit.group)
    });
}

/// From where to where functions are in streaming mode, by address: to their ends where nothing leaves it.
fn regions(image: &Image<'_>, program: &Program) -> Vec<Range<CodeOffset>> {
    let mut regions: Vec<Range<CodeOffset>> = Vec::new();
    for (function, hits) in program.hits_by_function() {
        let Some(function) = function else { continue };
        for hit in hits {
            let code = image.bytes_at(image.svma(hit.at)).unwrap_or_default();
            let last = regions.last_mut().filter(|region| region.start >= function.start);
            match (insn::streaming_change(image.arch, code), last) {
                (Some(true), last) if last.as_ref().is_none_or(|region| region.end < function.end) => {
                    regions.push(hit.at..function.end);
                }
                (Some(false), Some(region)) => region.end = hit.at,
                _ => {}
            }
        }
    }
    regions
}
