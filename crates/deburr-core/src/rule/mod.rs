//! The rules. One file a rule; this list is the only place that names them all.

use crate::finding::Finding;
use crate::function::Program;
use crate::image::Image;
use crate::insn::ClassSet;
use deburr_cpu::FeatureSet;

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
}

/// A rule: a pure function from code to findings.
pub struct Rule {
    /// Its id, the name of its file, page and fixtures.
    pub id: &'static str,
    /// One line: what it finds.
    pub summary: &'static str,
    /// Its page: what it finds, why that costs, what to do.
    pub page: &'static str,
    /// The instruction classes that it asks for; the driver marks them in the sweep.
    pub wants: ClassSet,
    /// Runs it over one file.
    pub check: fn(&Context<'_>) -> Vec<Finding>,
}

/// All rules.
pub const RULES: &[Rule] = &[];
