//! The analysis of run-time checks: bytes → verdicts of the functions above a level.

use crate::input::split;
use deburr_core::Knowledge;
use deburr_core::front::open;
use deburr_core::function::Program;
use deburr_core::function::reach::{Checks, Reach, Stated, Verdict};
use deburr_core::image::{Image, Linkage};
use deburr_core::insn::sweep::Wants;
use deburr_core::insn::{Class, ClassSet};
use deburr_cpu::FeatureSet;

/// Finds the run-time checks of an ELF file, and judges its functions by the first level, by a higher one, and by everything. Where
/// requested, the file knows what it itself exports of the CPU, or states that some functions are guarded.
///
/// # Panics
/// Where a verdict is not about a function that needs something, or more is found where more is permitted.
pub fn reach(data: &[u8]) {
    let Some((choice, bytes)) = split(data) else { return };
    let wants = Wants::classes(ClassSet::of(&[Class::FeatureQuery]));
    let Ok((image, program)) = open(bytes, choice.has_debug_file().then_some(bytes), wants) else { return };
    let linkage = Linkage::parse(&image);
    let own = choice.bit(1).then(|| Knowledge::learn(&image, &linkage, &program, &[]));
    let foreign: Vec<&Knowledge> = own.iter().collect();
    let all = deburr_cpu::Feature::all().fold(FeatureSet::EMPTY, FeatureSet::with);
    let stated = choice.bit(2).then(|| program.functions().first().map(|function| (function.start, all)));
    let stated: Stated = stated.flatten().into_iter().collect();
    let checks = Checks::find(&image, &linkage, &program, &foreign, (&stated, true), None);

    let first = deburr_cpu::universal_features(image.arch);
    let higher = deburr_cpu::levels(image.arch).get(2).map_or(first, |level| first.union(level.features));
    let judge = |permitted| {
        let verdicts = checks.judge(&image, &program, permitted, &stated);
        hold_of_verdicts(&verdicts, permitted, &image, &program);
        verdicts
    };
    let (by_first, by_higher, by_all) = (judge(first), judge(higher), judge(all));
    // Whatever needs more than a high level needs more than a low one.
    for verdict in &by_higher {
        assert!(by_first.iter().any(|other| other.start == verdict.start));
    }
    assert!(by_all.is_empty(), "nothing needs more than everything");
}

fn hold_of_verdicts(verdicts: &[Verdict], permitted: FeatureSet, image: &Image<'_>, program: &Program) {
    assert!(verdicts.windows(2).all(|pair| pair[0].start < pair[1].start), "verdicts are by address");
    for verdict in verdicts {
        assert!(verdict.instructions > 0);
        assert!(!verdict.features.union(verdict.guarded).is_empty(), "a verdict is about features");
        assert!(verdict.features.intersection(permitted).is_empty(), "what is permitted needs no verdict");
        assert!(image.code_at(image.svma(verdict.start)).is_some());
        assert!(image.code_at(image.svma(verdict.at)).is_some());
        let is_path_known = matches!(verdict.reach, Reach::Required | Reach::UnderGuarded);
        assert!(is_path_known || verdict.path.is_empty(), "only an unsafe function has a path: {verdict:?}");
        for step in verdict.path.iter().filter(|step| step.is_function) {
            let at = image.code_offset(step.svma).expect("a step is in code");
            assert!(program.function_at(at).is_some() || verdict.start == at, "a step is in a function");
        }
    }
}
