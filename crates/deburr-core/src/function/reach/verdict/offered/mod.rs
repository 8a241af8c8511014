//! Functions that a file offers to its callers by name, `parasail_sw_avx2_256_16` next to `parasail_sw_sse41_128_16`, or by the vectors
//! that it takes: only code for AVX-512 can pass a `__m512`.
//!
//! In: the exported functions of a file, and of the other members of its archive. Out: [`Offers`]: which of them are *offered*, and what
//! the CPUs have that each is for. Whoever calls such a function by its name has chosen it, as a vector variant of the ABI is chosen
//! (`_ZGVdN4v_cos`). It is an entry of the file with what its name says proven, and no other: what the function needs beyond its name,
//! and what another path of the file leads to, is judged as everything else.
//!
//! A name alone could be chance. It counts where the function is one of a family, whose other members are named for other CPUs or for
//! none, or where the file queries the CPU itself.

mod family;

use crate::address::CodeOffset;
use crate::function::reach::file::names;
use crate::function::reach::file::view::View;
use crate::function::reach::verdict::evidence::known_cpus;
use crate::image::Kind;
use crate::insn;
use crate::insn::vector::VectorWidth;
use deburr_cpu::{Arch, Feature, FeatureSet};
pub use family::Families;
use std::collections::HashMap;

/// The offered functions of a file.
#[derive(Debug, Default)]
pub(crate) struct Offers<'a> {
    /// By name, what its CPUs have.
    features: HashMap<&'a str, FeatureSet>,
}

impl<'a> Offers<'a> {
    /// Finds them, by their arguments and by their names. `families`: of all members of the file's archive, if it is in one. `asks`:
    /// whether the file queries the CPU.
    pub(crate) fn of(file: &View<'_, 'a>, families: Option<&Families>, asks: bool) -> Offers<'a> {
        let exports = &file.linkage.named_exports;
        let mut offers = Offers { features: by_argument(file) };
        if !exports.iter().any(|export| family::may_be_variant(export.name)) {
            return offers;
        }
        let arch = file.image.arch;
        let own = || Families::of(arch, exports.iter().map(|export| export.name));
        let made = families.is_none().then(own);
        let Some(families) = families.or(made.as_ref()) else { return offers };
        let asks = asks || file.linkage.imports.iter().any(|import| names::reports_cpu(import.name));
        let mut promises = HashMap::new();
        let mut promise = |named| *promises.entry(named).or_insert_with(|| promised(arch, named));
        for export in exports.iter().filter(|export| !names::is_vector_variant(export.name)) {
            if let Some(named) = families.variant(export.name, asks) {
                let known = offers.features.entry(export.name).or_default();
                *known = known.union(promise(named));
            }
        }
        offers
    }

    /// What the CPUs have that an exported function is for, if it is offered.
    pub(crate) fn of_name(&self, name: &str) -> Option<FeatureSet> {
        self.features.get(name).copied()
    }
}

/// What the callers' CPUs have by the vectors that they pass: a function that takes one of 256 or 512 bits is called by code that has
/// loaded it. One whose only instruction for vectors clears their upper halves hands on what it takes.
fn by_argument<'a>(file: &View<'_, 'a>) -> HashMap<&'a str, FeatureSet> {
    let image = file.image;
    let uses_vectors = |group| insn::features_of(image.arch, group).with_implied().contains(Feature::AVX);
    // An object's callers are linked with it, and are judged then.
    if image.kind != Kind::SharedObject {
        return HashMap::new();
    }
    let mut wide: HashMap<CodeOffset, FeatureSet> = HashMap::new();
    for (function, hits) in file.program.hits_by_function() {
        let Some(start) = function.map(|function| function.start) else { continue };
        if !hits.iter().any(|hit| uses_vectors(hit.group)) || wide.contains_key(&start) {
            continue;
        }
        let code = |at| image.bytes_at(image.svma(at)).unwrap_or_default();
        let passes = || hits.iter().all(|hit| insn::clears_vectors(image.arch, code(hit.at)));
        let feature = match insn::vector_argument(image.arch, code(start)) {
            VectorWidth::None if passes() => Feature::AVX,
            VectorWidth::Bits512 => Feature::AVX512F,
            VectorWidth::Bits256 => Feature::AVX,
            _ => continue,
        };
        wide.insert(start, promised(image.arch, FeatureSet::of(&[feature])));
    }
    let exports = file.linkage.named_exports.iter().filter(|_| !wide.is_empty());
    let taken = exports.filter_map(|export| Some((export.name, *wide.get(&image.code_offset(export.at)?)?)));
    taken.collect()
}

/// All that the known CPUs with some features have: who chooses by a name means CPUs, and no single bits.
fn promised(arch: Arch, named: FeatureSet) -> FeatureSet {
    let having = known_cpus(arch, FeatureSet::EMPTY).into_iter().filter(|has| named.is_subset(*has));
    let common = having.reduce(FeatureSet::intersection).unwrap_or_default();
    common.union(named)
}
