//! The verbs: arguments → what is printed, and the exit status.

mod bench;
mod by_function;
pub(crate) mod catalogue;
pub(crate) mod check;
pub(crate) mod compare;
mod diff;
pub(crate) mod emulate;
pub(crate) mod failure;
mod fix;
mod interrupt;
mod pack;
mod page;
mod progress;
mod query;
mod record;
pub(crate) mod rulings;
pub(crate) mod scan;
mod shell;
mod show;
mod terminal;

use crate::args::{Arguments, Verb};
use crate::output;
use crate::output::reader::WhileRead;
use check::ends::Ends;
use failure::Failure;
use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use terminal::colored;

/// Runs the verb.
pub(crate) fn run(arguments: Arguments, complaints: &mut dyn Write) -> Result<ExitCode, Failure> {
    let color = colored(arguments.color, io::stdout().is_terminal());
    let is_over = Cell::new(false);
    let stdout = WhileRead::new(io::stdout().lock(), &is_over);
    let mut out = io::BufWriter::with_capacity(output::BLOCK, stdout);
    let status = match arguments.verb {
        Verb::Check(options) => {
            let mut ends = Ends::of_command(&mut out, &is_over, complaints);
            check::run(&options, arguments.color, &mut ends)?.into()
        }
        Verb::Diff(options) => diff::run(&options, arguments.color, &mut out, complaints)?,
        Verb::Fix(options) => fix::run(&options, arguments.color, &mut out, complaints)?,
        Verb::Bench(options) => bench::run(&options, color, &mut out)?,
        Verb::Compare(options) => compare::run(&options, arguments.color, &mut out)?,
        Verb::Try(options) => emulate::run(&options, color, &mut out)?,
        Verb::Record(options) => record::run(&options, complaints)?,
        Verb::Pack(options) => pack::run(&options, &mut out)?,
        Verb::Show(options) => show::run(&options, arguments.color, &mut out)?,
        Verb::Scan(options) => scan::run(&options, &mut out, complaints)?,
        Verb::Query(options) => query::run(&options, &mut out, complaints)?,
        Verb::Cpu { format } => catalogue::cpu(format, color, &mut out)?,
        Verb::Rules { format } => catalogue::rules(format, color, &mut out)?,
        Verb::Explain { rule } => catalogue::explain(&rule, color, &mut out)?,
        Verb::Schema { of } => catalogue::schema(of, &mut out)?,
        Verb::Completions { shell } => shell::completions(shell, &mut out)?,
        Verb::Man => shell::man(&mut out)?,
    };
    out.flush()?;
    Ok(status)
}
