//! What the verdicts on a file's functions come to: which CPUs run it.
//!
//! In: verdicts. Out: [`Need`], from which everything that states a level of the file is made. A CPU runs the file unless
//! one of the verdicts' gaps endangers it, so that what a file needs is a set of CPUs and no sum of features: code after a
//! check for AVX2 that also uses BMI2 endangers those CPUs alone that have AVX2 and lack BMI2.

use crate::function::reach::verdict::evidence::{Gap, Verdict};
use crate::function::reach::verdict::kind::Reach;
use deburr_cpu::{Arch, FeatureSet, Level, universal_features};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// What the machines of a file must have.
#[derive(Debug, Clone)]
pub struct Need {
    arch: Arch,
    /// The lowest level on which it runs where a machine also has what is [beyond](Need::beyond).
    pub level: Option<&'static Level>,
    /// Features that it needs and that no level has, or that would raise the level only for their sake.
    pub beyond: FeatureSet,
    /// Features that code needs which no check, or only one that all such machines pass, comes before.
    pub features: FeatureSet,
    gaps: BTreeSet<Gap>,
}

impl Need {
    /// What the verdicts on a file's functions come to.
    pub fn of(arch: Arch, verdicts: &[Verdict]) -> Need {
        Need::with_refusal(arch, verdicts, FeatureSet::EMPTY)
    }

    /// The same, of a program that refuses to start without some features, beyond those that are permitted.
    pub fn with_refusal(arch: Arch, verdicts: &[Verdict], refused: FeatureSet) -> Need {
        let refusal = (!refused.is_empty()).then_some(Gap { proven: FeatureSet::EMPTY, missing: refused });
        let gaps = verdicts.iter().flat_map(|verdict| verdict.gaps.iter().copied());
        let gaps: BTreeSet<Gap> = gaps.chain(refusal).collect();
        let unchecked = gaps.iter().filter(|gap| gap.proven.is_empty());
        let features = unchecked.fold(FeatureSet::EMPTY, |all, gap| all.union(gap.missing));
        let mut need = Need { arch, level: None, beyond: FeatureSet::EMPTY, features, gaps };
        let (lowest, _) = deburr_cpu::smallest_level(arch, features);
        let is_enough =
            |level: &&Level| lowest.is_none_or(|lowest| lowest.features.is_subset(level.features));
        let levels = deburr_cpu::levels(arch).iter().filter(is_enough);
        let lowest =
            levels.into_iter().find(|level| need.runs_on(level.features.union(features).with_implied()));
        match lowest {
            Some(level) => (need.level, need.beyond) = (Some(level), features.minus(level.features)),
            None => {
                need.features = need.closed(features);
                (need.level, need.beyond) = deburr_cpu::smallest_level(arch, need.features);
            }
        }
        need.beyond = need.beyond.minus(deburr_cpu::system_features(arch));
        need
    }

    /// Features with all that is needed after the checks that a CPU with them passes.
    fn closed(&self, mut features: FeatureSet) -> FeatureSet {
        while let Some(gap) = self.gaps.iter().find(|gap| gap.endangers(features)) {
            features = features.union(gap.missing);
        }
        features
    }

    /// Whether the file runs on a CPU with some features.
    pub fn runs_on(&self, features: FeatureSet) -> bool {
        let features = features.union(universal_features(self.arch));
        !self.gaps.iter().any(|gap| gap.endangers(features))
    }

    /// What all machines have on which the file runs: the known CPUs and the levels that have what is `permitted`, and the
    /// machine that has no more than that.
    fn everywhere_it_runs(&self, permitted: FeatureSet) -> FeatureSet {
        let cpus = deburr_cpu::cpus_by_features(self.arch).into_iter().map(|(_, has)| has);
        let levels = deburr_cpu::levels(self.arch).iter().map(|level| level.features.with_implied());
        let machines = cpus.chain(levels).map(|has| has.union(universal_features(self.arch)));
        let machines = machines.filter(|has| permitted.is_subset(*has)).chain([permitted]);
        let common = machines.filter(|has| self.runs_on(*has)).reduce(FeatureSet::intersection);
        // What code needs without any check is there in any case.
        let needed = self.gaps.iter().filter(|gap| gap.proven.is_empty());
        let needed = needed.fold(FeatureSet::EMPTY, |all, gap| all.union(gap.missing));
        common.unwrap_or_default().union(needed.with_implied())
    }

    /// Whether there is any CPU at all that it may not run on.
    pub fn endangers_any(&self) -> bool {
        !self.gaps.is_empty()
    }

    /// Whether a function is a reason why the file does not run below its level, or without what is beyond.
    pub fn is_raised_by(&self, verdict: &Verdict) -> bool {
        let below =
            deburr_cpu::levels(self.arch).iter().take_while(|level| Some(*level) != self.level).last();
        let features = below.map(|level| level.features.union(universal_features(self.arch)));
        verdict.gaps.iter().any(|gap| {
            let is_below = features.is_some_and(|features| gap.endangers(features));
            is_below || !gap.missing.intersection(self.beyond).is_empty()
        })
    }

    /// The function that most raises it: the highest level first, then what has no check at all, then the shortest path.
    pub fn most_needing<'v>(&self, verdicts: impl Iterator<Item = &'v Verdict>) -> Option<&'v Verdict> {
        verdicts.filter(|verdict| self.is_raised_by(verdict)).max_by_key(|verdict| {
            let (level, beyond) = deburr_cpu::smallest_level(self.arch, verdict.features);
            let place = deburr_cpu::levels(self.arch).iter().position(|known| Some(known) == level);
            let is_required = verdict.reach == Reach::Required;
            (place, !beyond.is_empty(), is_required, Reverse(verdict.path.len()), Reverse(verdict.start))
        })
    }
}

/// The names of the CPUs that get to an instruction of a function and lack what it needs; of those that have some features.
pub fn endangered(arch: Arch, verdict: &Verdict, having: FeatureSet) -> Vec<String> {
    endangered_by(arch, &verdict.gaps, having)
}

/// The names of the CPUs that some gaps let through; of those that have some features.
pub fn endangered_by(arch: Arch, gaps: &[Gap], having: FeatureSet) -> Vec<String> {
    let is_endangered = |features: FeatureSet| {
        let features = features.union(universal_features(arch));
        having.is_subset(features) && gaps.iter().any(|gap| gap.endangers(features))
    };
    let cpus = deburr_cpu::cpus_by_features(arch).into_iter();
    cpus.filter(|(_, features)| is_endangered(*features)).map(|(name, _)| name).collect()
}

/// Turns `unknown` into `covered` where every known CPU, and every level, on which the file runs has all that the function
/// needs. `permitted`: what all machines in question have; `refused`: what the program refuses to start without, beyond that.
pub(crate) fn cover(arch: Arch, (permitted, refused): (FeatureSet, FeatureSet), verdicts: &mut [Verdict]) {
    let need = Need::with_refusal(arch, verdicts, refused);
    if !need.endangers_any() || verdicts.iter().all(|verdict| verdict.reach != Reach::Unknown) {
        return;
    }
    let covered = need.everywhere_it_runs(permitted);
    let unknown = verdicts.iter_mut().filter(|verdict| verdict.reach == Reach::Unknown);
    for verdict in unknown.filter(|verdict| verdict.features.is_subset(covered)) {
        verdict.reach = Reach::Covered;
        verdict.because = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::CodeOffset;
    use Feature::*;
    use deburr_cpu::Feature;

    const X86: Arch = Arch::X86_64;

    fn verdict(reach: Reach, features: &[Feature], proven: &[Feature]) -> Verdict {
        let missing = FeatureSet::of(features);
        let gap = Gap { proven: FeatureSet::of(proven), missing };
        Verdict {
            start: CodeOffset(0),
            reach,
            features: missing,
            guarded: FeatureSet::EMPTY,
            at: CodeOffset(0),
            instructions: 1,
            path: Vec::new(),
            gaps: if reach.is_unsafe() { vec![gap] } else { Vec::new() },
            guard: None,
            contradiction: None,
            because: None,
        }
    }

    /// What becomes of an unknown function next to some others.
    fn covered(permitted: FeatureSet, others: &[Verdict], features: &[Feature]) -> Reach {
        let arch = features[0].arch();
        let mut verdicts = others.to_vec();
        verdicts.push(verdict(Reach::Unknown, features, &[]));
        cover(arch, (permitted.union(universal_features(arch)), FeatureSet::EMPTY), &mut verdicts);
        verdicts[others.len()].reach
    }

    fn cpu(name: &str) -> FeatureSet {
        let mut cpus = deburr_cpu::cpus_by_features(X86).into_iter();
        cpus.find(|(known, _)| known == name).map(|(_, has)| has).unwrap()
    }

    #[test]
    fn a_file_that_needs_avx_covers_no_bmi2() {
        let needs_avx = [verdict(Reach::Required, &[AVX], &[])];
        assert_eq!(Need::of(X86, &needs_avx).level.unwrap().name, "x86-64-v3", "no level has AVX alone");
        assert_eq!(covered(FeatureSet::EMPTY, &needs_avx, &[BMI2]), Reach::Unknown, "sandybridge runs it");
        assert_eq!(covered(FeatureSet::EMPTY, &needs_avx, &[SSE4_2]), Reach::Covered);
        assert_eq!(covered(FeatureSet::EMPTY, &needs_avx, &[SSE4_2, BMI2]), Reach::Unknown);
    }

    #[test]
    fn what_every_cpu_has_that_runs_the_file_is_covered() {
        let needs_v3 = [verdict(Reach::Required, &[AVX2, BMI2, FMA], &[])];
        assert_eq!(covered(FeatureSet::EMPTY, &needs_v3, &[LZCNT, MOVBE]), Reach::Covered);
        assert_eq!(covered(FeatureSet::EMPTY, &needs_v3, &[AVX512F]), Reach::Unknown);
        let needs_sve = [verdict(Reach::Required, &[FEAT_SVE], &[])];
        assert_eq!(covered(FeatureSet::EMPTY, &needs_sve, &[FEAT_LSE]), Reach::Covered);
        let needs_lse = [verdict(Reach::Required, &[FEAT_LSE], &[])];
        assert_eq!(covered(FeatureSet::EMPTY, &needs_lse, &[FEAT_SVE]), Reach::Unknown);
    }

    #[test]
    fn a_baseline_excludes_the_cpus_without_it() {
        // Piledriver has FMA without AVX2, and lacks what Ivy Bridge has.
        let needs_fma = [verdict(Reach::Required, &[FMA], &[])];
        assert_eq!(covered(FeatureSet::EMPTY, &needs_fma, &[AVX2]), Reach::Unknown);
        assert_eq!(covered(cpu("ivybridge"), &needs_fma, &[AVX2]), Reach::Covered);
        let needs_avx2 = [verdict(Reach::Required, &[AVX2], &[])];
        assert_eq!(covered(cpu("ivybridge"), &needs_avx2, &[BMI2]), Reach::Covered);
        // On the baseline itself the file runs, and it is a CPU like any other.
        assert_eq!(covered(cpu("ivybridge"), &[], &[BMI2]), Reach::Unknown);
    }

    #[test]
    fn a_gap_after_a_check_covers_what_those_have_that_it_leaves() {
        // Whoever has AVX must have AVX2: sandybridge falls out, nehalem stays.
        let after_avx = [verdict(Reach::UnderGuarded, &[AVX2], &[AVX])];
        assert_eq!(covered(FeatureSet::EMPTY, &after_avx, &[BMI2]), Reach::Unknown);
    }

    #[test]
    fn where_no_known_cpu_runs_the_file_its_needs_cover_what_they_bring() {
        let odd = [verdict(Reach::Required, &[FMA4, AVX512_FP16], &[])];
        assert_eq!(covered(FeatureSet::EMPTY, &odd, &[AVX512BW]), Reach::Covered);
        assert_eq!(covered(FeatureSet::EMPTY, &odd, &[SHA]), Reach::Unknown);
    }
}
