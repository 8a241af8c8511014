//! The rules. One file a rule; [`RULES`] is the only place that names them all.

mod above_baseline;
mod llsc_loop;
mod narrow_vectors;
mod outlined_atomic;
mod scalar_hot_loop;
mod scalar_twin;

use crate::finding::{AcrossFinding, Finding};
use crate::function::Program;
use crate::function::atomics::{Atomics, atomics};
use crate::function::reach::Verdict;
use crate::function::shape::{Shape, shapes};
use crate::image::{Image, Linkage};
use crate::insn::sweep::Wants;
use deburr_cpu::{Arch, FeatureSet};
use std::cell::OnceCell;
use std::sync::Arc;

/// All rules.
pub const RULES: &[Rule] = &[
    above_baseline::RULE,
    llsc_loop::RULE,
    narrow_vectors::RULE,
    outlined_atomic::RULE,
    scalar_hot_loop::RULE,
    scalar_twin::RULE,
];

/// What rules do besides at the end of a run, when all files are known.
pub const ACROSS: &[Across] = &[scalar_twin::ACROSS];

/// A comparison of files: a pure function from the facts of all files to findings.
pub struct Across {
    /// The id of the rule that it belongs to.
    pub rule: &'static str,
    /// Runs it over the facts of a run.
    pub check: fn(&[FileFacts]) -> Vec<AcrossFinding>,
}

/// What comparisons need to know of one file: little, since those of a whole run are held together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    /// The file, as the caller calls it; the core leaves it empty.
    pub path: Arc<str>,
    /// Its instruction set.
    pub arch: Arch,
    /// Features that its machines have for certain: those of the first level, of the target and of the baseline.
    pub guaranteed: FeatureSet,
    /// Its named functions that compute in loops.
    pub shapes: Arc<[Shape]>,
}

/// What a rule may look at.
pub struct Context<'a> {
    /// The file.
    pub image: &'a Image<'a>,
    /// Its functions and what the sweep found in them.
    pub program: &'a Program,
    /// Features that every machine the file will run on has; `None`: the user did not say.
    pub target: Option<FeatureSet>,
    /// Features that the file may use; `None`: the user did not say.
    pub baseline: Option<FeatureSet>,
    /// How the program reaches each function above the architecture's first level.
    pub verdicts: &'a [Verdict],
    /// How the program reaches each function above the baseline; empty without one.
    pub above_baseline: &'a [Verdict],
    /// What the loader and other files do with it; `None` where nothing lies above the first level.
    pub linkage: Option<&'a Linkage<'a>>,
    /// Worked out once, for the first who asks.
    pub shared: Shared,
}

/// Facts that several rules ask for.
#[derive(Default)]
pub struct Shared {
    atomics: OnceCell<Atomics>,
    shapes: OnceCell<Arc<[Shape]>>,
}

impl Context<'_> {
    /// How the file's atomics were compiled; worked out once, for the first who asks.
    pub fn atomics(&self) -> &Atomics {
        self.shared.atomics.get_or_init(|| atomics(self.image, self.program))
    }

    /// What comparisons need to know of the file; its shapes are worked out once, for the first who asks.
    pub fn facts(&self, path: &str) -> FileFacts {
        let stated = self.target.unwrap_or_default().union(self.baseline.unwrap_or_default());
        FileFacts {
            path: path.into(),
            arch: self.image.arch,
            guaranteed: deburr_cpu::first_level(self.image.arch).union(stated),
            shapes: self.shared.shapes.get_or_init(|| shapes(self.image, self.program).into()).clone(),
        }
    }
}

/// A rule: a pure function from code to findings.
pub struct Rule {
    /// Its id, the name of its file, page and fixtures.
    pub id: &'static str,
    /// One line: what it finds.
    pub summary: &'static str,
    /// With which severity it reports, in words.
    pub severity: &'static str,
    /// Its page: what it finds, why that costs, what to do.
    pub page: &'static str,
    /// Whether it must be asked for by name: it guesses, or matters only to some.
    pub preview: bool,
    /// What it asks the sweep to note.
    pub wants: Wants,
    /// Runs it over one file.
    pub check: fn(&Context<'_>) -> Vec<Finding>,
}

/// The rule with an id.
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}
