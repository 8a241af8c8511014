//! What `deburr compare` found → text, JSON and a page. Nothing is computed here.

pub(crate) mod html;
pub(crate) mod json;
mod quantity;
mod strip;
pub(crate) mod text;

use deburr_lab::comparison::Comparison;
use std::path::PathBuf;

/// All that there is to tell.
#[derive(Debug)]
pub(crate) struct Document {
    /// By metric, the deciding one first.
    pub(crate) comparisons: Vec<Comparison>,
    /// The region of equivalence, as a fraction.
    pub(crate) region: f64,
    pub(crate) measured: Measured,
    /// Whether a command was compared with itself.
    pub(crate) is_aa: bool,
}

/// Where the numbers come from.
#[derive(Debug)]
pub(crate) enum Measured {
    Commands { commands: [String; 2], seed: u64, record: PathBuf, cores: usize },
    Files([PathBuf; 2]),
}
