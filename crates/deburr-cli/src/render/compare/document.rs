//! What a renderer of `deburr compare` gets: the comparisons, point by point where a parameter was swept, and
//! where their numbers come from.

use crate::render::by_function::ByFunction;
use deburr_lab::comparison::{Comparison, Fitness};
use deburr_lab::measure::pairs::Pair;
use deburr_lab::measure::provenance::Provenance;
use deburr_text::ShownPath as _;
use std::path::PathBuf;

/// All that there is to show.
#[derive(Debug)]
pub(crate) struct CompareDocument {
    /// By metric, the deciding one first.
    pub(crate) comparisons: Vec<Comparison>,
    /// What was swept over, and its points; `comparisons` are of all of them together.
    pub(crate) sweep: Option<(String, Vec<Point>)>,
    pub(crate) measured: Measured,
    /// The machine and the programs, where a record has them.
    pub(crate) provenance: Option<Provenance>,
    /// The pairs at each value of what was swept over, or of an empty one; none of files.
    pub(crate) runs: Vec<(String, Vec<Pair>)>,
    /// What was left out, and why.
    pub(crate) notes: Vec<String>,
    /// What the machine can distinguish, where a command was compared with itself.
    pub(crate) fitness: Option<Fitness>,
    /// What each function took, where that was asked for.
    pub(crate) by_function: Option<ByFunction>,
    /// Whether a command was compared with itself.
    pub(crate) is_aa: bool,
    /// Whether the published marks are wanted, which are no verdict.
    pub(crate) has_marks: bool,
}

impl CompareDocument {
    /// All that was compared, with its point: of all points together first, then of each metric point by point.
    pub(super) fn rows(&self) -> impl Iterator<Item = (Option<&str>, &Comparison)> {
        let together = self.comparisons.iter().map(|comparison| (None, comparison));
        let points = self.sweep.as_ref().map_or(&[][..], |(_, points)| points);
        let at = |index: usize| {
            points
                .iter()
                .filter_map(move |point| Some((Some(point.value.as_str()), point.comparisons.get(index)?)))
        };
        together.chain((0..self.comparisons.len()).flat_map(at))
    }
}

/// A point of a sweep.
#[derive(Debug)]
pub(crate) struct Point {
    pub(crate) value: String,
    /// By metric, as those of the document.
    pub(crate) comparisons: Vec<Comparison>,
}

/// Where the numbers come from.
#[derive(Debug)]
pub(crate) enum Measured {
    Commands { commands: [String; 2], names: [String; 2], seed: u64, record: PathBuf, cores: usize },
    Files { files: [PathBuf; 2] },
}

impl Measured {
    /// What A and B are.
    pub(super) fn sides(&self) -> [String; 2] {
        match self {
            Measured::Commands { commands, names, .. } => {
                let [a, b] = commands.each_ref();
                let called = |name: &String, command: &String| match name.as_str() {
                    "" => command.clone(),
                    name => format!("{name} ({command})"),
                };
                [called(&names[0], a), called(&names[1], b)]
            }
            Measured::Files { files, .. } => files.each_ref().map(|file| file.shown().into_owned()),
        }
    }
}
