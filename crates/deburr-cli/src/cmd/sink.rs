//! Where reports go: formats and files of the command line → sinks, each a renderer with a place to write to.

use super::{Failure, colored, width_of_terminal};
use crate::args::{Check, Destination, FailOn, ReportFormat, When};
use crate::input::walk::{Identity, error_text};
use crate::render::concise::Concise;
use crate::render::few::Few;
use crate::render::github::Github;
use crate::render::json::Document;
use crate::render::junit::Junit;
use crate::render::sarif::Sarif;
use crate::render::style::Palette;
use crate::render::text::{Detail, Text};
use crate::render::{Checked, Finished, Renderer};
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A place to write to, opened before any file is read: what cannot be written should fail at once.
pub(super) struct Outlet<'o> {
    format: ReportFormat,
    out: Box<dyn Write + 'o>,
    /// Which file it is, if it is a regular one.
    pub(super) identity: Option<Identity>,
    is_terminal: bool,
}

/// Opens all outlets; at most one of them is the standard output.
pub(super) fn open<'o>(options: &Check, stdout: &'o mut dyn Write) -> Result<Vec<Outlet<'o>>, Failure> {
    let mut stdout = Some(stdout);
    let mut outlets: Vec<Outlet<'o>> = Vec::new();
    for Destination { format, file } in destinations(options).map_err(Failure::Message)? {
        let outlet = match file {
            Some(path) => {
                let fault = |error: io::Error| {
                    Failure::Message(format!("{}: {}", path.display(), error_text(&error)))
                };
                let file = File::create(&path).map_err(fault)?;
                let identity = identity(file.metadata());
                if identity.is_some() && outlets.iter().any(|other| other.identity == identity) {
                    let path = path.display();
                    return Err(Failure::Message(format!("{path}: two formats for one file")));
                }
                Outlet { format, out: Box::new(BufWriter::new(file)), identity, is_terminal: false }
            }
            None => {
                let file = io::stdout().as_fd().try_clone_to_owned().ok().map(File::from);
                let identity = file.and_then(|file| identity(file.metadata()));
                let out: Box<dyn Write + 'o> = match stdout.take() {
                    Some(stdout) => Box::new(stdout),
                    None => Box::new(io::sink()),
                };
                Outlet { format, out, identity, is_terminal: io::stdout().is_terminal() }
            }
        };
        outlets.push(outlet);
    }
    Ok(outlets)
}

/// The formats and their files, `--output` and the default applied.
fn destinations(options: &Check) -> Result<Vec<Destination>, String> {
    let mut destinations = options.format.clone();
    if destinations.is_empty() {
        destinations.push(Destination { format: ReportFormat::Text, file: None });
    }
    let is_stdout = |file: &Option<PathBuf>| file.as_deref().is_none_or(|file| file == Path::new("-"));
    let mut bare = destinations.iter_mut().filter(|destination| is_stdout(&destination.file));
    let (first, second) = (bare.next(), bare.next());
    match (first, second, &options.output) {
        (Some(_), Some(_), _) => {
            Err("two formats for one place: give them files, as in --format sarif=FILE".to_owned())
        }
        (None, _, Some(_)) => Err("--output: every format has a file of its own".to_owned()),
        (Some(first), None, output) => {
            first.file = output.clone().filter(|file| !is_stdout(&Some(file.clone())));
            Ok(destinations)
        }
        (None, _, None) => Ok(destinations),
    }
}

/// Which file it is, if it is a regular one.
fn identity(metadata: io::Result<Metadata>) -> Option<Identity> {
    metadata.ok().filter(Metadata::is_file).map(|metadata| (metadata.dev(), metadata.ino()))
}

/// A format at work.
struct Sink<'o> {
    out: Box<dyn Write + 'o>,
    renderer: Box<dyn Renderer>,
}

/// All formats of a run.
pub(super) struct Sinks<'o>(Vec<Sink<'o>>);

impl<'o> Sinks<'o> {
    /// Opens the documents. `few`: whether there may be more files than it seems, if they seem few.
    pub(super) fn begin(
        outlets: Vec<Outlet<'o>>,
        options: &Check,
        color: When,
        fail_on: FailOn,
        few: Option<bool>,
    ) -> io::Result<Sinks<'o>> {
        let here = std::env::current_dir().ok().map(|here| here.display().to_string());
        let mut sinks = Vec::new();
        for Outlet { format, mut out, is_terminal, .. } in outlets {
            let palette = Palette::new(colored(color, is_terminal));
            let (pretty, here) = (is_terminal || options.pretty, here.clone());
            let mut renderer: Box<dyn Renderer> = match format {
                ReportFormat::Text => Box::new(Text {
                    detail: Detail {
                        palette,
                        width: is_terminal.then(width_of_terminal).flatten(),
                        limit: options.limit,
                        clean_files: options.verbose || (!options.quiet && few == Some(false)),
                        verbose: options.verbose,
                        statistics: options.statistics,
                        show_skipped: options.show_skipped,
                    },
                    few: Few::new(few == Some(true) && !options.quiet && !options.verbose),
                    summary: !options.quiet,
                }),
                ReportFormat::Concise => Box::new(Concise { palette }),
                ReportFormat::Json => Box::new(Document::new(pretty)),
                ReportFormat::Sarif => Box::new(Sarif { pretty, here, results: 0 }),
                ReportFormat::Github => Box::new(Github { here }),
                ReportFormat::Junit => Box::new(Junit { threshold: fail_on.threshold() }),
            };
            renderer.begin(out.as_mut())?;
            sinks.push(Sink { out, renderer });
        }
        Ok(Sinks(sinks))
    }

    /// Adds one file to all.
    pub(super) fn file(&mut self, file: Checked<'_>) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|sink| sink.renderer.file(sink.out.as_mut(), file))
    }

    /// Closes all.
    pub(super) fn end(mut self, run: Finished<'_>) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|sink| {
            sink.renderer.end(sink.out.as_mut(), run)?;
            sink.out.flush()
        })
    }
}
