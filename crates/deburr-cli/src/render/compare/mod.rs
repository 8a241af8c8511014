//! What `deburr compare` found → text, JSON, tables and a page. Nothing is computed here.

pub(crate) mod benchstat;
pub(crate) mod html;
pub(crate) mod json;
mod quantity;
mod strip;
pub(crate) mod table;
pub(crate) mod text;

use deburr_lab::comparison::{Comparison, Fitness};
use deburr_lab::stats::Direction;
use std::path::PathBuf;

/// Which way is better.
const fn better(direction: Direction) -> &'static str {
    match direction {
        Direction::Larger => "larger",
        Direction::Smaller => "smaller",
    }
}

/// All that there is to tell.
#[derive(Debug)]
pub(crate) struct Document {
    /// By metric, the deciding one first.
    pub(crate) comparisons: Vec<Comparison>,
    /// What was swept over, and its points; `comparisons` are of all of them together.
    pub(crate) sweep: Option<(String, Vec<Point>)>,
    pub(crate) measured: Measured,
    /// What was left out, and why.
    pub(crate) notes: Vec<String>,
    /// What the machine can tell apart, where a command was compared with itself.
    pub(crate) fitness: Option<Fitness>,
    /// Whether a command was compared with itself.
    pub(crate) is_aa: bool,
    /// Whether somebody asked for the published marks, which are no verdict.
    pub(crate) has_marks: bool,
}

impl Document {
    /// All that was compared, with its point: of all points together first, then of each metric point by point.
    fn rows(&self) -> impl Iterator<Item = (Option<&str>, &Comparison)> {
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
    Commands { commands: [String; 2], seed: u64, record: PathBuf, cores: usize },
    Files { files: [PathBuf; 2] },
}

impl Measured {
    /// What A and B are.
    fn sides(&self) -> [String; 2] {
        match self {
            Measured::Commands { commands, .. } => commands.clone(),
            Measured::Files { files, .. } => files.each_ref().map(|file| file.display().to_string()),
        }
    }
}
