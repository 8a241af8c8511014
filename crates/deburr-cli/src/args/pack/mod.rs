//! The options of `deburr pack`, by step.

pub(crate) mod assemble;

use clap::{Args, Subcommand};

/// The options of `deburr pack`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  deburr pack assemble PACK -o dist")]
pub(crate) struct Pack {
    #[command(subcommand)]
    pub(crate) step: Step,
}

/// The steps of a pack.
#[derive(Debug, Subcommand)]
pub(crate) enum Step {
    /// Lay the variants out in one tree, in which the best one is chosen at start
    Assemble(Box<assemble::Assemble>),
}
