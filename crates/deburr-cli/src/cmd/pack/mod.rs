//! `deburr pack`: the step → what it prints, and the exit status.

mod assemble;
mod build;
mod install;
mod measure;
mod oci;
mod policy;
mod selector;
mod status;
mod terms;
mod watch;
mod wheel;

use super::failure::Failure;
use crate::args::pack::{Pack, Step};
use std::io::Write;
use std::process::ExitCode;

/// Runs a step.
pub(super) fn run(options: &Pack, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    match &options.step {
        Step::Build(options) => build::run(options, out),
        Step::Assemble(options) => assemble::run(options, out),
        Step::Install(options) => install::run(options, out),
        Step::Measure(options) => measure::run(options, out),
        Step::Oci(options) => oci::run(options, out),
        Step::Status(options) => status::run(options, out),
        Step::Policy(options) => policy::run(options, out),
        Step::Wheel(options) => wheel::run(options, out),
        Step::Selector(options) => selector::run(options, out),
    }
}
