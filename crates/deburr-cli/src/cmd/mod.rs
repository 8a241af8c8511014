//! The verbs: arguments → what is printed, and the exit status.

mod catalogue;
mod check;
mod compare;
mod diff;
mod fix;
mod shell;
mod show;
mod sink;

use crate::args::format::When;
use crate::args::{Arguments, Verb, Writer};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

/// Why a verb could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Whoever read the output has gone: no fault.
    ClosedPipe,
    /// For people.
    Message(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Message(format!("writing the output: {error}")),
        }
    }
}

/// Runs the verb.
pub(crate) fn run(arguments: Arguments, complaints: &mut dyn Write) -> Result<ExitCode, Failure> {
    let color = colored(arguments.color, io::stdout().is_terminal());
    let mut out = io::BufWriter::new(io::stdout().lock());
    let status = match arguments.verb {
        Verb::Check(options) => check::run(&options, arguments.color, &mut out, complaints)?,
        Verb::Diff(options) => diff::run(&options, arguments.color, &mut out, complaints)?,
        Verb::Fix(options) => fix::run(&options, arguments.color, &mut out, complaints)?,
        Verb::Compare(options) => compare::run(&options, arguments.color, &mut out)?,
        Verb::Show(options) => show::run(&options, arguments.color, &mut out)?,
        Verb::Cpu { format } => catalogue::cpu(format, color, &mut out)?,
        Verb::Rules { format } => catalogue::rules(format, color, &mut out)?,
        Verb::Explain { rule } => catalogue::explain(&rule, color, &mut out)?,
        Verb::Schema { of } => {
            out.write_all(match of {
                Writer::Check => include_bytes!("../schema.json").as_slice(),
                Writer::Show => include_bytes!("../schema-show.json"),
                Writer::Diff => include_bytes!("../schema-diff.json"),
                Writer::Fix => include_bytes!("../schema-fix.json"),
                Writer::Compare => include_bytes!("../schema-compare.json"),
            })?;
            ExitCode::SUCCESS
        }
        Verb::Completions { shell } => shell::completions(shell, &mut out)?,
        Verb::Man => shell::man(&mut out)?,
    };
    out.flush()?;
    Ok(status)
}

/// Whether output to a terminal, or to none, has colours.
fn colored(when: When, terminal: bool) -> bool {
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto => {
            let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            terminal && !refused && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

/// Columns of the terminal that the standard output is.
fn width_of_terminal() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0))
}
