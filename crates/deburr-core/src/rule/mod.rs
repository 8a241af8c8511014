//! The rules. One file a rule; [`RULES`] is the only place that names them all.

mod above_baseline;
mod llsc_loop;
mod outlined_atomic;

use crate::finding::Finding;
use crate::function::Program;
use crate::function::atomics::{Atomics, atomics};
use crate::function::reach::Verdict;
use crate::image::{Image, Linkage};
use crate::insn::sweep::Wants;
use deburr_cpu::FeatureSet;
use std::cell::OnceCell;

/// All rules.
pub const RULES: &[Rule] = &[above_baseline::RULE, llsc_loop::RULE, outlined_atomic::RULE];

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
}

impl Context<'_> {
    /// How the file's atomics were compiled; worked out once, for the first who asks.
    pub fn atomics(&self) -> &Atomics {
        self.shared.atomics.get_or_init(|| atomics(self.image, self.program))
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
