//! Refusals: features without which the program ends before it does anything, because a check of its own says so.
//!
//! In: the functions that run when the program starts or the library is loaded ([`roots`]), and what each block of them
//! has proven. Out: a [`Refusal`]. A branch refuses if the side where a feature is absent only leads to the end of the
//! program ([`ends`]), and control cannot get on without passing it ([`unavoidable`]). What is called on demand, or
//! after a choice of the user's, refuses nothing. A refusal is a need like that of an instruction, with other words.

mod called;
mod ends;
mod find;
mod roots;
mod status;
mod unavoidable;

pub(crate) use find::find;

use crate::address::Svma;
use deburr_cpu::{Arch, FeatureSet};

/// What a program refuses to start without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The features that it tests, beyond what every machine has.
    pub features: FeatureSet,
    /// The last branch that refuses; `None` where build information says it and no branch was found.
    pub at: Option<Svma>,
    /// Where the paths begin that end the program, sorted.
    pub paths: Vec<Svma>,
    /// What it prints, where such a text is near.
    pub text: Option<String>,
    /// The setting of the build that says it: `GOAMD64=v3`.
    pub stated: Option<String>,
}

impl Refusal {
    /// Of these features, those that machines with no more than some features lack.
    pub fn missing(&self, arch: Arch, having: FeatureSet) -> FeatureSet {
        self.features.minus(having.with_implied()).minus(deburr_cpu::universal_features(arch))
    }
}
