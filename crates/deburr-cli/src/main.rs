//! The command `deburr`: the only place with arguments, environment, files, colours and exit codes; all of it is in `lib.rs`.
//!
//! In: the command line. Out: text or JSON on the standard output, and complaints on the standard error.
//! The exit status is 0 clean, 1 findings at or above the chosen severity, 2 some work could not be done.

use std::process::ExitCode;

fn main() -> ExitCode {
    deburr_cli::command()
}
