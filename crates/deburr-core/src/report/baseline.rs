//! Report stage: the verdicts on what the baseline lacks → whether every machine of the baseline runs the file.
//!
//! In: one verdict for each function that needs more than the baseline. Out: an [`Answer`] and what it rests on,
//! [`OnBaseline`]. The worst function decides: `dies` before `undecided` before `runs_presumed` before `runs`.

use crate::danger;
use crate::function::reach::{Cause, Gap, Reach, Verdict, endangered_by};
use crate::image::Image;
use crate::report::{Answer, OnBaseline, Report};
use deburr_cpu::FeatureSet;
use std::collections::BTreeSet;

/// Answers for a baseline. `above`: the verdicts on functions that need more than it has. `refused`: what the program refuses
/// to start without and the baseline does not have.
pub(crate) fn answer(
    report: &mut Report,
    image: &Image<'_>,
    (name, baseline): (&str, FeatureSet),
    (above, refused): (&[Verdict], FeatureSet),
) {
    let on = on_baseline(image, (name, baseline), (above, refused));
    report.answer = Some(match &on {
        OnBaseline { refuses: true, .. } => Answer::Dies,
        OnBaseline { dying_functions: 1.., .. } => Answer::Dies,
        OnBaseline { undecided_functions: 1.., .. } => Answer::Undecided,
        OnBaseline { presumed_functions: 1.., .. } => Answer::RunsPresumed,
        _ => Answer::Runs,
    });
    report.on_baseline = Some(on);
}

/// Counts the functions that decide.
fn on_baseline(
    image: &Image<'_>,
    (name, baseline): (&str, FeatureSet),
    (above, refused): (&[Verdict], FeatureSet),
) -> OnBaseline {
    let count = |is: &dyn Fn(&Verdict) -> bool| above.iter().filter(|verdict| is(verdict)).count() as u64;
    let is_dying = |verdict: &Verdict| danger::is_deadly(image.arch, verdict, baseline);
    // What the system must grant before the instruction has anything to work on is presumed to be requested first.
    let is_granted = |verdict: &Verdict| {
        verdict.because.as_ref().is_some_and(|because| because.cause == Cause::GrantedBySystem)
    };
    let refusal = (!refused.is_empty()).then_some(Gap { proven: FeatureSet::EMPTY, missing: refused });
    let deadly = above.iter().filter(|it| is_dying(it)).flat_map(|verdict| verdict.gaps.iter().copied());
    let gaps: BTreeSet<_> = deadly.chain(refusal).collect();
    OnBaseline {
        name: name.to_owned(),
        refuses: refusal.is_some(),
        dying_functions: count(&is_dying),
        required_functions: count(&|it| it.reach == Reach::Required),
        undecided_functions: count(&|it| it.reach == Reach::Unknown && !is_granted(it)),
        presumed_functions: count(&|it| it.reach == Reach::Presumed || is_granted(it)),
        dies_on: endangered_by(image.arch, &gaps.into_iter().collect::<Vec<_>>(), baseline),
    }
}
