//! Functions whose names say for which CPUs they are, as evidence for who enters them.
//!
//! In: the functions above the first level with their names, and which of them are unknown. Out: [`ByName`].
//! `dgemm_kernel_HASWELL` and `jxl::N_AVX2::L2Diff` are chosen for the CPU, whatever the table or the field that the choice
//! goes by. One name proves nothing. Where a file queries the CPU, and the names of its unknown functions agree with what
//! these use again and again, they are believed.

use crate::address::CodeOffset;
use crate::function::reach::file::names;
use crate::function::reach::file::view::View;
use crate::function::reach::verdict::evidence::{Gap, Guard, Verdict, known_cpus};
use crate::function::reach::verdict::kind::{GuardKind, Reach};
use crate::function::reach::verdict::presumed::weight::{AGREEMENTS, Weight};
use crate::function::reach::verdict::presumed::words::Words;
use crate::image::{Image, demangle};
use crate::insn;
use deburr_cpu::{Arch, FeatureSet};
use rustc_hash::FxHashMap;
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

/// What the names of a file say.
#[derive(Debug, Default)]
pub(crate) struct ByName {
    /// What each name says, of the unknown functions that use no more than it says.
    features: BTreeMap<CodeOffset, FeatureSet>,
    /// Unknown functions whose names say all that they use.
    pub agreements: u32,
    /// Functions that use more, so that some known CPU has all that the name says and lacks it.
    pub contradictions: u32,
}

/// What one name says, and whether its function agrees.
#[derive(Debug, Clone, Copy)]
struct Said {
    features: FeatureSet,
    agreement: Agreement,
}

/// What the names say of the functions that need more than is permitted.
#[derive(Debug)]
pub(crate) struct Names(BTreeMap<CodeOffset, Said>);

impl Names {
    pub(crate) fn of(file: &View<'_, '_>, permitted: FeatureSet) -> Names {
        let arch = file.image.arch;
        // Most files have no such names.
        let words = LazyCell::new(|| Words::of(arch));
        let cpus = LazyCell::new(|| known_cpus(arch, permitted));
        let mut known: FxHashMap<(FeatureSet, FeatureSet), Agreement> = FxHashMap::default();
        let said = needs(file, permitted).into_iter().filter_map(|(start, needs)| {
            let function = file.program.function_from(start);
            let name = function.and_then(|function| file.program.name(function, file.image))?;
            // Such names are the C library's (ISO C 7.1.3), which may be linked in statically, and says nothing of others.
            let name = Some(name).filter(|name| !name.starts_with("__") && Words::may_be_in(name))?;
            let features = words.features(&names::words(&demangle(name)))?;
            let agreement =
                known.entry((features, needs)).or_insert_with(|| agreement(arch, (features, needs), &cpus));
            Some((start, Said { features, agreement: *agreement }))
        });
        Names(said.collect())
    }

    /// Whether enough functions agree, if they are unknown.
    pub(crate) fn may_agree(&self) -> bool {
        self.0.values().filter(|said| said.agreement == Agreement::Apt).count() >= AGREEMENTS as usize
    }

    /// What is believed of the unknown functions; nothing where these do not agree often enough.
    pub(crate) fn believed(&self, unknown: &BTreeMap<CodeOffset, FeatureSet>) -> ByName {
        let agreeing = || {
            let agrees = |(start, said): &(&CodeOffset, &Said)| {
                said.agreement != Agreement::Contradiction && unknown.contains_key(start)
            };
            self.0.iter().filter(agrees)
        };
        let apt = || agreeing().filter(|(_, said)| said.agreement == Agreement::Apt);
        let different: BTreeSet<FeatureSet> = apt().map(|(_, said)| said.features).collect();
        let contradicts = |said: &&Said| said.agreement == Agreement::Contradiction;
        let weight = Weight {
            agreements: Weight::count(agreeing().count()),
            apt: Weight::count(apt().count()),
            contradictions: Weight::count(self.0.values().filter(contradicts).count()),
        };
        if !weight.suffices(&different) {
            return ByName::default();
        }
        let Weight { agreements, contradictions, .. } = weight;
        let features = agreeing().map(|(start, said)| (*start, said.features)).collect();
        ByName { features, agreements, contradictions }
    }
}

impl ByName {
    /// Turns `unknown` into `presumed` where the function's name says that it is for CPUs which have all that it uses.
    pub(crate) fn presume(&self, image: &Image<'_>, verdicts: &mut [Verdict]) {
        for verdict in verdicts.iter_mut().filter(|verdict| verdict.reach == Reach::Unknown) {
            if let Some(&features) = self.features.get(&verdict.start) {
                verdict.reach = Reach::Presumed;
                verdict.guard =
                    Some(Guard { kind: GuardKind::Name, svma: image.svma(verdict.start), features });
            }
        }
    }
}

/// How a name and what its function uses fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agreement {
    /// It uses a feature that is named, or the same level, and no more.
    Apt,
    /// It uses no more.
    Vacuous,
    /// Some known CPU has what is named and lacks what it uses.
    Contradiction,
}

fn agreement(arch: Arch, (named, needs): (FeatureSet, FeatureSet), cpus: &[FeatureSet]) -> Agreement {
    // What no known CPU has alone is as good as named.
    let gap = Gap { proven: named, missing: needs };
    let is_known = || cpus.iter().any(|has| named.is_subset(*has));
    let is_covered = needs.is_subset(named) || is_known() && !cpus.iter().any(|has| gap.endangers(*has));
    let level = |features| deburr_cpu::smallest_level(arch, features).0.map(|level| level.name);
    let is_apt = || !named.strongest().intersection(needs).is_empty() || level(named) == level(needs);
    match is_covered {
        false => Agreement::Contradiction,
        true if is_apt() => Agreement::Apt,
        true => Agreement::Vacuous,
    }
}

/// What each function needs that is not permitted.
fn needs(file: &View<'_, '_>, permitted: FeatureSet) -> BTreeMap<CodeOffset, FeatureSet> {
    let mut found: BTreeMap<CodeOffset, FeatureSet> = BTreeMap::new();
    for (function, hits) in file.program.hits_by_function() {
        let Some(function) = function else { continue };
        let groups: BTreeSet<_> = hits.iter().map(|hit| hit.group).collect();
        let features = groups.into_iter().fold(FeatureSet::EMPTY, |all, group| {
            all.union(insn::features_of(file.image.arch, group).minus(permitted))
        });
        if !features.is_empty() {
            let needs = found.entry(file.program.whole(function).start).or_default();
            *needs = needs.union(features);
        }
    }
    found
}
