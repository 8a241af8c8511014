//! The rules. One file a rule; [`RULES`] is the only place that names them all.

mod above_baseline;
mod llsc_loop;
mod outlined_atomic;

use crate::finding::Finding;
use crate::function::Program;
use crate::function::atomics::{Atomics, atomics};
use crate::function::reach::Verdict;
use crate::image::Image;
use crate::insn::ClassSet;
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
    /// How the program reaches each function above the baseline; empty without one.
    pub verdicts: Vec<Verdict>,
    atomics: OnceCell<Atomics>,
}

impl<'a> Context<'a> {
    /// For one file.
    pub fn new(
        image: &'a Image<'a>,
        program: &'a Program,
        target: Option<FeatureSet>,
        baseline: Option<FeatureSet>,
    ) -> Context<'a> {
        Context { image, program, target, baseline, verdicts: Vec::new(), atomics: OnceCell::new() }
    }

    /// How the file's atomics were compiled; worked out once, for the first who asks.
    pub fn atomics(&self) -> &Atomics {
        self.atomics.get_or_init(|| atomics(self.image, self.program))
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
    /// The instruction classes that it asks for; the driver marks them in the sweep.
    pub wants: ClassSet,
    /// Runs it over one file.
    pub check: fn(&Context<'_>) -> Vec<Finding>,
}

/// The rule with an id.
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}
