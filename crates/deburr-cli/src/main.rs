//! The command `deburr`: the only place with arguments, environment, files, colours and exit codes.
//!
//! In: the command line. Out: text or JSON on the standard output, and complaints on the standard error.
//! The exit status is 0 clean, 1 findings at or above the chosen severity, 2 some work could not be done.

mod analysis;
mod args;
mod batch;
mod cmd;
mod config;
mod identity;
mod input;
mod names;
mod output;
mod profile;
mod render;
mod sha256;
mod system_error;

use cmd::failure::Failure;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match args::parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Fails only where the terminal is gone, and then nobody reads it.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let mut complaints = std::io::stderr();
    match cmd::run(arguments, &mut complaints) {
        Ok(status) => status,
        Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(Failure::Message(message)) => {
            let _ = writeln!(complaints, "deburr: {message}");
            ExitCode::from(2)
        }
    }
}
