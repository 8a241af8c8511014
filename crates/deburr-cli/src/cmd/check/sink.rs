//! Where reports go: formats and files of the command line → sinks, each a renderer with a place to write to.
//!
//! In: the options. Out: [`Sinks`], which pass each report to all formats. All files are opened before any
//! input is read.

use super::ends::Place;
use super::tables::Tables;
use crate::args::check::Check;
use crate::args::format::{Destination, ReportFormat, When};
use crate::batch::artefact::Artefact;
use crate::cmd::failure::Failure;
use crate::cmd::terminal::{colored, width_of_terminal};
use crate::config::fail_on::Failing;
use crate::identity::Identity;
use crate::input::walk::Skipped;
use crate::output::Output;
use crate::render::check::concise::Concise;
use crate::render::check::github::Github;
use crate::render::check::html::renderer::Html;
use crate::render::check::json::Json;
use crate::render::check::junit::Junit;
use crate::render::check::lintian::Lintian;
use crate::render::check::renderer::{Checked, Finished, ForPeople, Renderer};
use crate::render::check::sarif::Sarif;
use crate::render::check::text::Text;
use crate::render::check::text::detail::Detail;
use crate::render::check::text::few::Few;
use crate::render::check::variant::Variant;
use crate::render::style::Palette;
use deburr_core::profile::Share;
use deburr_tables::{FileOf, RecordBatch, Table};
use deburr_text::ShownPath as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Columns of a line where the output is no terminal.
const LONGEST_LINE: usize = 160;

/// Where a report goes.
enum Out<'o> {
    Stdout(&'o mut dyn Write),
    File(Output),
}

impl Out<'_> {
    fn end(mut self) -> Result<(), Failure> {
        self.flush()?;
        match self {
            Out::Stdout(_) => Ok(()),
            Out::File(file) => file.finish().map_err(Failure::Message),
        }
    }
}

impl Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Out::Stdout(out) => out.write(bytes),
            Out::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Out::Stdout(out) => out.flush(),
            Out::File(file) => file.flush(),
        }
    }
}

/// A format and its place, opened before any file is read: what cannot be written should fail at once.
pub(super) struct Outlet<'o> {
    format: ReportFormat,
    out: Out<'o>,
    /// Which files are no input.
    pub(super) identities: Vec<Identity>,
    is_terminal: bool,
}

/// Opens all outlets, of which no more than one is the standard output, and the tables. `inputs`: what the run reads.
/// `is_stdout`: whether `stdout` is the standard output of this process; otherwise it is memory.
pub(super) fn open<'o>(
    options: &Check,
    inputs: &[&Path],
    (stdout, is_stdout): (&'o mut dyn Write, bool),
    rows: Option<&'o mut Vec<(Table, RecordBatch)>>,
) -> Result<(Vec<Outlet<'o>>, Option<Tables<'o>>), Failure> {
    let mut stdout = Some(stdout);
    let mut outlets: Vec<Outlet<'o>> = Vec::new();
    let mut tables = rows.map(Tables::in_memory);
    for Destination { format, file } in destinations(options).map_err(Failure::Message)? {
        if format == ReportFormat::Parquet {
            let complaint = |words: &str| Failure::Message(format!("--format parquet: {words}"));
            let folder = file.ok_or_else(|| complaint("give it a directory, as in --format parquet=DIR"))?;
            if tables.replace(Tables::open(&folder)?).is_some() {
                return Err(complaint("two directories for one run"));
            }
            continue;
        }
        let outlet = match (file, &mut stdout) {
            (Some(path), _) => {
                let output = Output::open(&path, inputs).map_err(Failure::Message)?;
                let identities = output.identities.clone();
                Outlet { format, out: Out::File(output), identities, is_terminal: false }
            }
            (None, stdout) => {
                let Some(out) = stdout.take() else { continue };
                let Place { is_terminal, identities } =
                    if is_stdout { Place::of_stdout() } else { Place::default() };
                Outlet { format, out: Out::Stdout(out), identities, is_terminal }
            }
        };
        if let Some(file) = outlets.iter().find_map(|other| outlet.meets(other)) {
            return Err(Failure::Message(format!("{file}: two formats for one file")));
        }
        outlets.push(outlet);
    }
    Ok((outlets, tables))
}

impl Outlet<'_> {
    /// Whether its format shows code.
    pub(super) fn shows_code(&self) -> bool {
        self.format == ReportFormat::Html
    }

    /// The file that is another one's place, too.
    fn meets(&self, other: &Outlet<'_>) -> Option<&str> {
        let (file, is_same) = match (&self.out, &other.out) {
            (Out::File(own), Out::File(other)) => (own, own.is_same(other)),
            (Out::File(file), Out::Stdout(_)) => (file, file.is_stdout || file.is_one_of(&other.identities)),
            (Out::Stdout(_), Out::File(_)) => return other.meets(self).map(|_| "the standard output"),
            (Out::Stdout(_), Out::Stdout(_)) => return None,
        };
        is_same.then_some(file.name.as_str())
    }
}

/// The formats and their files, `--output` and the default applied.
fn destinations(options: &Check) -> Result<Vec<Destination>, String> {
    let mut destinations = options.format.clone();
    let page = |file: &PathBuf| Destination { format: ReportFormat::Html, file: Some(file.clone()) };
    destinations.extend(options.html.iter().map(page));
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

fn for_people<'o>(palette: Palette, format: impl Renderer + 'o) -> Box<dyn Renderer + 'o> {
    Box::new(ForPeople { format, palette })
}

/// A format at work.
struct Sink<'o> {
    out: Out<'o>,
    renderer: Box<dyn Renderer>,
}

/// All formats of a run.
pub(super) struct Sinks<'o> {
    sinks: Vec<Sink<'o>>,
    tables: Option<Tables<'o>>,
}

impl<'o> Sinks<'o> {
    /// Opens the documents. `few`: whether there may be more files than it seems, if they seem few.
    pub(super) fn begin(
        (outlets, tables): (Vec<Outlet<'o>>, Option<Tables<'o>>),
        options: &Check,
        color: When,
        failing: Failing,
        few: Option<bool>,
    ) -> io::Result<Sinks<'o>> {
        let here = std::env::current_dir().ok().map(|here| here.shown().into_owned());
        let mut sinks = Vec::new();
        for Outlet { format, mut out, is_terminal, .. } in outlets {
            let palette = Palette::new(colored(color, is_terminal));
            let (pretty, here) = (is_terminal || options.pretty, here.clone());
            let without_colours = Palette::new(false);
            let mut renderer: Box<dyn Renderer> = match format {
                ReportFormat::Text => for_people(
                    palette,
                    Text {
                        detail: Detail {
                            palette,
                            width: if is_terminal { width_of_terminal() } else { Some(LONGEST_LINE) },
                            limit: options.limit,
                            top: options.top,
                            min_share: Share::parts_per_million((options.min_share * 1e4).round() as u32),
                            clean_files: options.verbose || (!options.quiet && few == Some(false)),
                            verbose: options.verbose,
                            statistics: options.statistics,
                            show_skipped: options.show_skipped,
                        },
                        few: Few::new(few == Some(true) && !options.quiet && !options.verbose),
                        summary: !options.quiet,
                    },
                ),
                ReportFormat::Concise => for_people(palette, Concise { palette }),
                ReportFormat::Json => Box::new(Json::new(options.schema_version, pretty)),
                ReportFormat::Sarif => Box::new(Sarif::new(pretty, here)),
                ReportFormat::Github => {
                    for_people(without_colours, Github { here, undecided_fails: failing.undecided })
                }
                ReportFormat::Junit => Box::new(Junit { failing }),
                ReportFormat::Lintian => for_people(without_colours, Lintian),
                ReportFormat::Html => Box::<Html>::default(),
                ReportFormat::VariantJson => Box::new(Variant { pretty, ..Variant::default() }),
                // It has no outlet: it goes to the tables.
                ReportFormat::Parquet => continue,
            };
            renderer.begin(&mut out)?;
            sinks.push(Sink { out, renderer });
        }
        Ok(Sinks { sinks, tables })
    }

    /// Begins an artefact: files of it come.
    pub(super) fn artefact(&mut self, artefact: &Artefact) -> Result<(), Failure> {
        self.tables.as_mut().map_or(Ok(()), |tables| tables.artefact(artefact))
    }

    /// Adds one file to all, of so many bytes and such a hash.
    pub(super) fn file(
        &mut self,
        file: Checked<'_>,
        (bytes, sha256): (u64, Option<&str>),
    ) -> Result<(), Failure> {
        self.sinks.iter_mut().try_for_each(|sink| sink.renderer.file(&mut sink.out, file))?;
        let row = FileOf { report: file.report, bytes, sha256, sizes: file.code.sizes };
        self.tables.as_mut().map_or(Ok(()), |tables| tables.file(row))
    }

    /// Adds what was not checked to those that do not wait for the end.
    pub(super) fn skip(&mut self, skip: &Skipped) -> Result<(), Failure> {
        self.tables.as_mut().map_or(Ok(()), |tables| tables.skip(skip))
    }

    /// Closes all.
    pub(super) fn end(self, run: Finished<'_>) -> Result<(), Failure> {
        self.sinks.into_iter().try_for_each(|mut sink| {
            sink.renderer.end(&mut sink.out, run)?;
            sink.out.end()
        })?;
        self.tables.map_or(Ok(()), |tables| tables.end(run.across))
    }
}
