//! `deburr fix`: binaries → what can be rewritten in them, and the rewritten files.
//!
//! In: the options. Out: plans or files, what the renderer prints, and the exit status. One binary goes
//! through `rewriter.rs` (bytes → plan and new bytes) and `file/` (reading and writing); packages and trees
//! call the same for each binary.

mod attested;
mod breaks;
mod dispatch;
mod file;
mod package;
mod revert;
mod rewrite;
mod rewriter;
mod run;
mod trailing;
mod tree;
mod trouble;
mod verify;

use crate::args::fix::Fix;
use crate::args::format::{Format, When};
use crate::cmd::failure::Failure;
use crate::cmd::terminal::{colored, width_of_terminal};
use crate::output::target;
use crate::render::fix::json::FixJson;
use crate::render::fix::renderer::{FixRenderer, ForPeople};
use crate::render::fix::summary::FixSummary;
use crate::render::fix::text::{FixLayout, FixText};
use crate::render::style::Palette;
use attested::disk::Disk;
use deburr_core::idiom::slow_lse::SlowLse;
use file::destination::Goal;
use rewriter::Rewriter;
use run::FixRun;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use trouble::Stop;

/// Runs the verb.
pub(super) fn run(
    options: &Fix,
    color: When,
    out: &mut dyn Write,
    complaints: &mut dyn Write,
) -> Result<ExitCode, Failure> {
    if let Some(threads) = options.batch.threads {
        // Refused only where there is a pool already.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build_global();
    }
    let terminal = io::stdout().is_terminal();
    let action = match options {
        Fix { verify: true, .. } => "verify",
        Fix { revert: true, .. } => "revert",
        _ if options.is_plan() => "plan",
        _ => "rewrite",
    };
    let palette = Palette::new(colored(color, terminal));
    let mut render: Box<dyn FixRenderer> = match options.format {
        Format::Json => Box::new(FixJson::new(action, terminal)),
        Format::Text => {
            let format = FixText::new(FixLayout {
                palette,
                width: terminal.then(width_of_terminal).flatten(),
                limit: options.limit,
                is_plan: action == "plan",
            });
            Box::new(ForPeople { format, palette })
        }
    };
    // A file that goes to the standard output has it for itself.
    let mut errors = palette.plain(io::stderr());
    let out: &mut dyn Write = match &options.output {
        Some(output) if target::is_named_stdout(output) => &mut errors,
        _ => out,
    };
    if options.verify {
        let [original, patched] = options.paths.as_slice() else {
            return Err(Failure::Message(
                "--verify: give two files, the original and the rewritten one".to_owned(),
            ));
        };
        return verify::verify(options, [original, patched], render.as_mut(), out);
    }
    let mut run = FixRun {
        options,
        rewriter: Rewriter::new(options).map_err(Failure::Message)?,
        render: render.as_mut(),
        out,
        complaints,
        summary: FixSummary::default(),
        disk: Disk::default(),
        failed: false,
    };
    if let Some(slow) = rewriter::slow_target(options).map_err(Failure::Message)? {
        warn_of_slow(slow, run.complaints);
    }
    run.render.begin(run.out)?;
    match (&options.output, &options.dispatch) {
        (_, Some(folder)) => run.dispatch(folder)?,
        (Some(output), None) => run.write(output)?,
        (None, None) => run.each()?,
    }
    run.end()
}

/// Says that what will be written was seen to be slower than what is there. That changes no exit status.
fn warn_of_slow(slow: &SlowLse, complaints: &mut dyn Write) {
    let SlowLse { cpu, machine, exclusives, store_form, value_form, source } = slow;
    let value_form = value_form.map_or_else(String::new, |median| format!(", {median} ns by ldadd"));
    let _ = writeln!(
        complaints,
        "deburr: --target {cpu}: LSE may be slower there: {machine} took {exclusives} ns for an add by exclusives without \
         contention, {store_form} ns by stadd{value_form} ({source}); measure before you ship"
    );
}

impl FixRun<'_> {
    /// Plans for all paths, or rewrites them where they are.
    fn each(&mut self) -> Result<(), Failure> {
        let goal = if self.options.in_place { Goal::Replace } else { Goal::Plan };
        for path in &self.options.paths {
            match fs::metadata(path) {
                Ok(metadata) if metadata.is_dir() => self.tree(path, goal)?,
                _ => self.named(path, goal)?,
            }
        }
        Ok(())
    }

    /// Writes a new file, or a new tree.
    fn write(&mut self, output: &Path) -> Result<(), Failure> {
        let [path] = self.options.paths.as_slice() else {
            return Err(Failure::Message("-o: give one file or directory".to_owned()));
        };
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => self.mirror(path, output),
            _ => self.named(path, Goal::New(output)),
        }
    }

    /// A file that the user named.
    fn named(&mut self, path: &Path, goal: Goal<'_>) -> Result<(), Failure> {
        let done = if self.options.revert { self.revert(path, goal) } else { self.rewrite(path, goal) };
        match done {
            Ok(()) => Ok(()),
            Err(Stop::Failure(failure)) => Err(failure),
            Err(Stop::Trouble(trouble)) => {
                self.leave(path, trouble, true);
                Ok(())
            }
        }
    }
}
