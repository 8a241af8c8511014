//! Report stage: weights → the report's findings in their order, and its hot functions.

use super::model::{CallerWeight, HotFunction, Profiled, Report};
use super::names::{name_at, place_of};
use crate::address::Svma;
use crate::function::Program;
use crate::image::Image;
use crate::profile::{Weighed, Weighing, Weight};
use std::cmp::Reverse;
use std::sync::Arc;

/// Maximum of hot functions that are listed.
const LISTED: usize = 100;

/// Adds what a profile shows. `weights`: of the report's findings, in their order.
pub(crate) fn fill_in(
    report: &mut Report,
    weighing: &Weighing<'_, '_, '_>,
    weights: Vec<Weighed>,
    (image, program): (&Image<'_>, &Program),
) {
    for (finding, weighed) in report.findings.iter_mut().zip(weights) {
        let caller = |(at, weight): (Svma, Weight)| CallerWeight {
            function: name_at(image, program, at).map(Arc::from),
            svma: place_of(image, at).1,
            weight,
        };
        finding.weight = Some(weighed.weight);
        finding.callers = weighed.callers.into_iter().map(caller).collect();
    }
    // Where weights are equal, by address as before.
    report.findings.sort_by_key(|finding| finding.weight.map(|weight| Reverse(weight.share)));
    let functions = weighing.functions();
    for function in report.isa_functions.iter_mut().filter(|function| function.section.is_none()) {
        function.share = Some(weighing.of_function(Svma(function.svma.0)));
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
