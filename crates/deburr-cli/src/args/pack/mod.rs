//! The options of `deburr pack`, by step.

pub(crate) mod assemble;
pub(crate) mod build;
pub(crate) mod checking;
pub(crate) mod install;
pub(crate) mod layout;
pub(crate) mod measure;
pub(crate) mod oci;
pub(crate) mod policy;
pub(crate) mod selector;
pub(crate) mod status;
pub(crate) mod wheel;

use clap::{Args, Subcommand};

/// The options of `deburr pack`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  deburr pack build --levels x86-64-v1,x86-64-v3 -- make -j2
  deburr pack assemble deburr-pack -o dist
  deburr pack install dist /usr/local
  deburr pack measure deburr-pack -- {tree}/bin/prog --benchmark
  deburr pack oci deburr-pack --entrypoint /usr/bin/prog -o layout
  deburr pack wheel --levels x86-64-v1,x86-64-v3 -- pip wheel --no-deps -w {out} .")]
pub(crate) struct Pack {
    #[command(subcommand)]
    pub(crate) step: Step,
}

/// The steps of a pack.
#[derive(Debug, Subcommand)]
pub(crate) enum Step {
    /// Build a program at several levels, and check each
    ///
    /// Each level is built in its own copy of the sources.
    Build(Box<build::Build>),
    /// Lay the variants out in one tree
    ///
    /// The best variant is chosen at start.
    Assemble(Box<assemble::Assemble>),
    /// Compare the levels on a workload on this CPU
    ///
    /// It notes which of them are worth having.
    Measure(Box<measure::Measure>),
    /// Write a container image with one manifest for each level
    Oci(Box<oci::Oci>),
    /// Copy a tree into a system, and let it choose there
    ///
    /// At each moment a whole old or a whole new program starts.
    Install(install::Install),
    /// Show what a pack or a tree holds, and whether it is whole
    Status(status::Status),
    /// Write SELinux and AppArmor rules for a laid-out tree
    Policy(policy::Policy),
    /// Build Python wheels by level, which an installer chooses among
    Wheel(Box<wheel::Wheel>),
    /// Write the library that selects variants opened by name
    Selector(Box<selector::Selector>),
}
