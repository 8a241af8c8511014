//! Report stage: weights → the report's findings in their order, and its hot functions.

use super::model::{HotFunction, Profiled, Report};
use super::names::{name_at, place_of};
use crate::address::CodeOffset;
use crate::function::Program;
use crate::image::Image;
use crate::profile::{Share, Weighing, Weight};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Maximum of hot functions that are listed.
const LISTED: usize = 100;

/// Adds what a profile shows. `weights`: of the report's findings, in their order.
pub(crate) fn fill_in(
    report: &mut Report,
    weighing: &Weighing<'_, '_, '_>,
    weights: &[Weight],
    (image, program): (&Image<'_>, &Program),
) {
    for (finding, weight) in report.findings.iter_mut().zip(weights) {
        finding.weight = Some(*weight);
    }
    // Where weights are equal, by address as before.
    report.findings.sort_by_key(|finding| finding.weight.map(|weight| Reverse(weight.share)));
    let functions = weighing.functions();
    let by_address: FxHashMap<u64, Share> =
        functions.iter().map(|(start, share)| (shown(image, *start), *share)).collect();
    for function in &mut report.isa_functions {
        function.share = Some(by_address.get(&function.svma.0).copied().unwrap_or_default());
    }
    let (share, lost) = weighing.placed();
    let hot = functions.iter().take(LISTED).map(|(start, share)| HotFunction {
        function: name_at(image, program, image.svma(*start)),
        svma: place_of(image, image.svma(*start)).1,
        share: *share,
    });
    let samples = weighing.samples();
    report.profile = Some(Profiled {
        event: samples.event.clone(),
        samples: samples.samples,
        skids: samples.skids,
        share,
        lost,
        functions: hot.collect(),
    });
}

fn shown(image: &Image<'_>, start: CodeOffset) -> u64 {
    place_of(image, image.svma(start)).1.0
}
