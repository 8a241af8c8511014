//! The command `deburr` as a library, for its own `main.rs` and for the Python module: nothing else is promised.
//!
//! In: the words of a command line, and bytes that the caller holds. Out: what the command prints. The module runs the command's own
//! verbs with the command's own options, so that both say the same of the same input.

mod analysis;
mod args;
mod batch;
mod clock;
mod cmd;
mod config;
mod identity;
mod input;
mod module;
mod names;
mod output;
mod percent;
mod product;
mod profile;
mod render;
mod sha256;
mod system_error;
mod text;

pub use module::{
    CheckCall, Checked, CompareCall, Fault, Given, GivenPackage, Held, Refused, ScanCall, Scanned, check,
    compare, list, rules, scan,
};

use cmd::failure::Failure;
use std::io::Write;
use std::process::ExitCode;

/// Runs the command: the arguments of the process → text on its standard output, and its exit status.
#[must_use]
pub fn command() -> ExitCode {
    let arguments = match args::parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Fails only where the terminal is gone, and then nobody reads it.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let mut complaints = output::complaints::complaints();
    match cmd::run(arguments, &mut complaints) {
        Ok(status) => status,
        Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(Failure::Message(message)) => {
            let _ = writeln!(complaints, "deburr: {message}");
            ExitCode::from(2)
        }
    }
}
