//! `deburr pack`: the step → what it prints, and the exit status.

mod build;

use super::failure::Failure;
use crate::args::pack::{Pack, Step};
use std::io::Write;
use std::process::ExitCode;

pub(super) fn run(options: &Pack, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    match &options.step {
        Step::Build(options) => build::run(options, out),
    }
}
