//! Which features a check of the file could be about.

use crate::function::reach::domain::told::Told;
use crate::function::reach::observe::carriers::Carrier;
use deburr_cpu::{Arch, FeatureSet};

/// Which features a check of the file could be about.
#[derive(Debug, Clone)]
pub(crate) struct Guardable {
    /// By what the file itself tests: those features, and those that go with them.
    by_tests: FeatureSet,
    /// What may bring more.
    pub(crate) carrier: Option<Carrier>,
}

impl Default for Guardable {
    /// Nothing was looked for: a check may be about anything.
    fn default() -> Guardable {
        Guardable { by_tests: FeatureSet::ALL, carrier: Some(Carrier::Surroundings) }
    }
}

impl Guardable {
    pub(crate) fn of(arch: Arch, told: Told, carrier: Option<Carrier>) -> Guardable {
        let by_tests = if told.is_lost { FeatureSet::ALL } else { relatives(arch, told.features) };
        Guardable { by_tests, carrier }
    }

    /// Of some features those that no check of the file can be about. `proven`: what a check has proven on the path.
    pub(crate) fn never_guarded(&self, arch: Arch, missing: FeatureSet, proven: FeatureSet) -> FeatureSet {
        match self.carrier {
            Some(_) => FeatureSet::EMPTY,
            None => self.never_tested(arch, missing, proven),
        }
    }

    /// Of some features those that no code of the file tests.
    pub(crate) fn never_tested(&self, arch: Arch, missing: FeatureSet, proven: FeatureSet) -> FeatureSet {
        let untested = missing.minus(self.by_tests);
        if untested.is_empty() { untested } else { untested.minus(relatives(arch, proven)) }
    }
}

/// Some features, and those that a check for one of them may well stand for: what needs it, what it needs, and what most
/// known CPUs with it have. BMI2 is used after a check for AVX2, and no bit of SVE is tested where SVE2 is.
fn relatives(arch: Arch, features: FeatureSet) -> FeatureSet {
    let everywhere = deburr_cpu::universal_features(arch);
    let features = features.minus(everywhere);
    if features.is_empty() {
        return features;
    }
    let cpus: Vec<FeatureSet> = deburr_cpu::cpus_by_features(arch).into_iter().map(|(_, has)| has).collect();
    let mut found = features.with_companions();
    for feature in features.iter() {
        let with: Vec<&FeatureSet> = cpus.iter().filter(|has| has.contains(feature)).collect();
        let all = with.iter().fold(FeatureSet::EMPTY, |all, has| all.union(**has));
        let is_frequent = |other: &deburr_cpu::Feature| {
            with.iter().filter(|has| has.contains(*other)).count() * 2 >= with.len()
        };
        found = all.iter().filter(is_frequent).fold(found, FeatureSet::with);
    }
    features.with_dependents().union(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_cpu::Feature::*;

    fn never(told: &[deburr_cpu::Feature], missing: &[deburr_cpu::Feature]) -> FeatureSet {
        let arch = missing[0].arch();
        let told = Told { features: FeatureSet::of(told), is_lost: false };
        Guardable::of(arch, told, None).never_guarded(arch, FeatureSet::of(missing), FeatureSet::EMPTY)
    }

    #[test]
    fn a_check_may_be_about_what_goes_with_what_it_tests() {
        for (told, missing) in [
            (AVX2, BMI2),
            (AVX, AVX2),
            (AVX2, AVX),
            (SSE4_2, AVX2),
            (FEAT_SVE, FEAT_SVE2),
            (FEAT_SVE2, FEAT_SVE),
        ] {
            assert!(never(&[told], &[missing]).is_empty(), "{told:?} {missing:?}");
        }
        assert_eq!(never(&[FEAT_CRC32], &[FEAT_SVE]), FeatureSet::of(&[FEAT_SVE]));
        assert_eq!(never(&[], &[FEAT_SVE, FEAT_LSE]), FeatureSet::of(&[FEAT_SVE, FEAT_LSE]));
        assert_eq!(never(&[FEAT_ASIMD], &[FEAT_SVE]), FeatureSet::of(&[FEAT_SVE]), "every CPU has it");
    }

    #[test]
    fn what_is_lost_or_comes_from_outside_may_be_about_anything() {
        let lost = Guardable::of(Arch::Aarch64, Told { is_lost: true, ..Told::default() }, None);
        let sve = FeatureSet::of(&[FEAT_SVE]);
        assert!(lost.never_guarded(Arch::Aarch64, sve, FeatureSet::EMPTY).is_empty());
        let import = Some(Carrier::Import("host_level".into()));
        let carried = Guardable::of(Arch::Aarch64, Told::default(), import);
        assert!(carried.never_guarded(Arch::Aarch64, sve, FeatureSet::EMPTY).is_empty());
        assert_eq!(carried.never_tested(Arch::Aarch64, sve, FeatureSet::EMPTY), sve);
        let none = Guardable::of(Arch::Aarch64, Told::default(), None);
        assert!(
            none.never_guarded(Arch::Aarch64, sve, FeatureSet::of(&[FEAT_SVE2])).is_empty(),
            "after such a check"
        );
    }
}
