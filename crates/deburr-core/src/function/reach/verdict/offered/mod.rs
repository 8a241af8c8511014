//! Functions that a file offers to its callers by name: `parasail_sw_avx2_256_16` next to `parasail_sw_sse41_128_16`.
//!
//! In: the exported functions of a file, and of the other members of its archive. Out: [`Offers`]: which of them are *offered*, and what
//! the CPUs have that each is for. Whoever calls such a function by its name has chosen it, as a vector variant of the ABI is chosen
//! (`_ZGVdN4v_cos`). It is an entry of the file with what its name says proven, and no other: what the function needs beyond its name,
//! and what another path of the file leads to, is judged as everything else.
//!
//! A name alone could be chance. It counts where the function is one of a family, whose other members are named for other CPUs or for
//! none, or where the file queries the CPU itself.

mod family;

use crate::function::reach::file::names;
use crate::function::reach::file::view::View;
use crate::function::reach::verdict::evidence::known_cpus;
use deburr_cpu::{Arch, FeatureSet};
pub use family::Families;
use std::collections::HashMap;

/// The offered functions of a file.
#[derive(Debug, Default)]
pub(crate) struct Offers<'a> {
    /// By name, what its CPUs have.
    features: HashMap<&'a str, FeatureSet>,
}

impl<'a> Offers<'a> {
    /// Finds them. `families`: of all members of the file's archive, if it is in one. `asks`: whether the file queries the CPU.
    pub(crate) fn of(file: &View<'_, 'a>, families: Option<&Families>, asks: bool) -> Offers<'a> {
        let exports = &file.linkage.named_exports;
        if !exports.iter().any(|export| family::may_be_variant(export.name)) {
            return Offers::default();
        }
        let arch = file.image.arch;
        let own = || Families::of(arch, exports.iter().map(|export| export.name));
        let made = families.is_none().then(own);
        let Some(families) = families.or(made.as_ref()) else { return Offers::default() };
        let asks = asks || file.linkage.imports.iter().any(|import| names::reports_cpu(import.name));
        let mut promises = HashMap::new();
        let mut promise = |named| *promises.entry(named).or_insert_with(|| promised(arch, named));
        let offered = exports.iter().filter(|export| !names::is_vector_variant(export.name));
        let offered =
            offered.filter_map(|export| Some((export.name, promise(families.variant(export.name, asks)?))));
        Offers { features: offered.collect() }
    }

    /// What the CPUs have that an exported function is for, if it is offered.
    pub(crate) fn of_name(&self, name: &str) -> Option<FeatureSet> {
        self.features.get(name).copied()
    }
}

/// All that the known CPUs with some features have: who chooses by a name means CPUs, and no single bits.
fn promised(arch: Arch, named: FeatureSet) -> FeatureSet {
    let having = known_cpus(arch, FeatureSet::EMPTY).into_iter().filter(|has| named.is_subset(*has));
    let common = having.reduce(FeatureSet::intersection).unwrap_or_default();
    common.union(named)
}
