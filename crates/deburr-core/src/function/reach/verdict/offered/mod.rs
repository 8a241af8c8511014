//! Functions that a file offers to its callers by name, `parasail_sw_avx2_256_16` next to `parasail_sw_sse41_128_16`, or by the vectors
//! that they take: only code for AVX-512 can pass a `__m512`.
//!
//! In: the exported functions of a file, and of the other members of its archive. Out: [`Offers`]: which of them are *offered*, and what
//! the CPUs have that each is for. Whoever calls such a function by its name has chosen it, as a vector variant of the ABI is chosen
//! (`_ZGVdN4v_cos`). It is an entry of the file with what its name says proven, and no other: what the function needs beyond its name,
//! and what another path of the file leads to, is judged as everything else.
//!
//! A name alone could be chance. It counts where the function is one of a family, whose other members are named for other CPUs or for
//! none, or where the file queries the CPU itself. Vectors count in the latter case alone: a function that is passed 128 bits and
//! computes with 256 looks the same.

mod family;

use crate::address::CodeOffset;
use crate::function::reach::file::names;
use crate::function::reach::file::view::View;
use crate::function::reach::verdict::evidence::known_cpus;
use crate::image::Kind;
use crate::image::linkage::Export;
use crate::insn;
use crate::insn::vector::VectorWidth;
use deburr_cpu::{Arch, Feature, FeatureSet};
pub use family::Families;
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};

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
        let arch = file.image.arch;
        let exports = &file.linkage.named_exports;
        let asks = asks || file.linkage.imports.iter().any(|import| names::reports_cpu(import.name));
        let mut promises = HashMap::new();
        let mut promise = |named| *promises.entry(named).or_insert_with(|| promised(arch, named));
        let mut features: HashMap<&'a str, FeatureSet> = HashMap::new();
        if asks {
            let taken = vectors_taken(file);
            features.extend(taken.map(|(name, feature)| (name, promise(FeatureSet::of(&[feature])))));
        }
        if !exports.par_iter().any(|export| family::may_be_variant(export.name)) {
            return Offers { features };
        }
        let own = || Families::of(arch, exports.iter().map(|export| export.name));
        let made = families.is_none().then(own);
        let Some(families) = families.or(made.as_ref()) else { return Offers { features } };
        let functions = exports.par_iter().filter(|export| !names::is_vector_variant(export.name));
        let variant = |export: &Export<'a>| Some((export.name, families.variant(export.name, asks)?));
        for (name, named) in functions.filter_map(variant).collect::<Vec<_>>() {
            let known = features.entry(name).or_default();
            *known = known.union(promise(named));
        }
        Offers { features }
    }

    /// What the CPUs have that an exported function is for, if it is offered.
    pub(crate) fn of_name(&self, name: &str) -> Option<FeatureSet> {
        self.features.get(name).copied()
    }
}

/// The exported functions that are passed vectors of 256 or 512 bits, and the feature of whoever can pass them. Of shared libraries
/// alone: an object's callers are linked with it, and are judged then.
fn vectors_taken<'v, 'a>(file: &'v View<'_, 'a>) -> impl Iterator<Item = (&'a str, Feature)> + 'v {
    let (image, program) = (file.image, file.program);
    let uses_vectors = |group| insn::features_of(image.arch, group).with_implied().contains(Feature::AVX);
    let with_vectors =
        program.hits_by_function().filter(move |(_, hits)| hits.iter().any(|hit| uses_vectors(hit.group)));
    let starts: HashSet<CodeOffset> = match image.kind {
        Kind::SharedObject => with_vectors.filter_map(|(function, _)| Some(function?.start)).collect(),
        _ => HashSet::new(),
    };
    file.linkage.named_exports.iter().filter_map(move |export| {
        image.code_offset(export.at).filter(|start| starts.contains(start))?;
        match insn::vector_argument(image.arch, image.bytes_at(export.at)?) {
            VectorWidth::Bits512 => Some((export.name, Feature::AVX512F)),
            VectorWidth::Bits256 => Some((export.name, Feature::AVX)),
            _ => None,
        }
    })
}

/// All that the known CPUs with some features have: who chooses by a name means CPUs, and no single bits.
fn promised(arch: Arch, named: FeatureSet) -> FeatureSet {
    let having = known_cpus(arch, FeatureSet::EMPTY).into_iter().filter(|has| named.is_subset(*has));
    let common = having.reduce(FeatureSet::intersection).unwrap_or_default();
    common.union(named)
}
