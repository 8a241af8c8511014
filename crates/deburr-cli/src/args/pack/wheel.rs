//! The options of `deburr pack wheel`.

use super::checking::Checking;
use crate::args::format::Format;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// The options of `deburr pack wheel`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  deburr pack wheel --levels x86-64-v1,x86-64-v2,x86-64-v3 -- \\
      pip wheel --no-deps -w {out} .
  deburr pack wheel --levels armv8-a,armv8.2-a -- maturin build -r -o {out}
  deburr pack wheel --levels x86-64-v1,x86-64-v3 -- sh -c 'set -e
      pip wheel --no-deps -w raw . && auditwheel repair -w {out} raw/*.whl'
  deburr pack wheel --variant x86-64-v1=v1/x.whl --variant x86-64-v3=v3/x.whl
      wheels that were built elsewhere
  uv pip install --preview-features wheel-variants --find-links wheelhouse x

The command runs as in deburr pack build, once for each level. {out} in it
stands for the folder for its wheel; if that stays empty, a wheel that the
command made in its copy is taken. Each program and shared library in the wheel
is checked: a wheel that needs more than its level is rejected.

For each level a variant wheel is written (PEP 825): the same wheel with
variant.json and a new RECORD. The first level runs on every machine of the
platform tag. Its wheel becomes the null variant, and the plain wheel for
installers that do not know variants. NAME-VERSION-variants.json is the index;
an existing one is extended.

The same wheels give the same bytes. Files have the time SOURCE_DATE_EPOCH, or
1980.

Exit status: 0 all levels are written or have the same code as one below, 2
some are not, 130 interrupted (the same command goes on).")]
pub(crate) struct Wheel {
    /// Levels, a wheel each, the lowest first
    #[arg(
        long,
        value_name = "LEVEL,…",
        value_delimiter = ',',
        required_unless_present = "variants",
        conflicts_with = "variants",
        requires = "command"
    )]
    pub(crate) levels: Vec<String>,
    /// Plain wheel and its level (once for each level)
    #[arg(long = "variant", value_name = "LEVEL=WHEEL")]
    pub(crate) variants: Vec<String>,
    /// The folder for the wheels and their index
    #[arg(short, long, value_name = "DIR", default_value = "wheelhouse")]
    pub(crate) output: PathBuf,
    /// The folder of the builds
    #[arg(long, value_name = "PACK", default_value = "deburr-pack", conflicts_with = "variants")]
    pub(crate) pack: PathBuf,
    /// The tree of sources to copy [default: the current folder]
    #[arg(long, value_name = "DIR", conflicts_with = "variants")]
    pub(crate) source: Option<PathBuf>,
    /// The version of the form of variant.json
    #[arg(long, value_enum, default_value_t = Schema::Second, value_name = "VERSION")]
    pub(crate) schema: Schema,
    /// What becomes of the wheel of the first level
    #[arg(long, value_enum, default_value_t = Fallback::Both, value_name = "KIND")]
    pub(crate) fallback: Fallback,
    /// Keep levels with the same code as one below
    #[arg(long)]
    pub(crate) keep: bool,
    /// Build all wheels again, from new copies
    #[arg(long, conflicts_with = "variants")]
    pub(crate) fresh: bool,
    #[command(flatten)]
    pub(crate) checking: Checking,
    /// Show faults only
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub(crate) format: Format,
    /// The command that builds a wheel
    #[arg(last = true, value_name = "CMD", conflicts_with = "variants")]
    pub(crate) command: Vec<OsString>,
}

/// A version of the form of `variant.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Schema {
    /// PEP 825: the installer must know who provides x86_64 and aarch64
    #[value(name = "0.1.1")]
    First,
    /// PEP 850: the metadata name who provides them
    #[value(name = "0.2.0")]
    Second,
}

/// What becomes of the wheel of the first level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fallback {
    /// The null variant and the plain wheel
    Both,
    /// The null variant, for installers that know variants
    Null,
    /// The plain wheel, which all installers know
    Plain,
}
