//! A record of `deburr compare` → the verdict once more, without running anything: with another region of
//! equivalence or in another format, here or on another machine.

use super::judge::{Measurements, Terms, criteria, document};
use super::plan::ComparePlan;
use crate::args::compare::Compare;
use crate::args::compare::sweep::{Sweep, Values};
use crate::render::compare::document::CompareDocument;
use deburr_lab::measure::layouts;
use deburr_lab::measure::pairs;
use deburr_lab::measure::record::{self, Header, RecordError, RecordedRun};
use deburr_lab::stats::Rope;
use deburr_text::ShownPath as _;
use std::path::{Path, PathBuf};

/// A record as it was read.
pub(super) struct Recorded {
    path: PathBuf,
    header: Header,
    runs: Vec<RecordedRun>,
}

impl Recorded {
    /// What it is of.
    pub(super) fn into_header(self) -> Header {
        self.header
    }
}

/// Reads a record; `None` of a file that is something else.
pub(super) fn open(path: &Path) -> Result<Option<Recorded>, String> {
    // What comes out of a pipe comes once only, and may be a report.
    if !path.is_file() {
        return Ok(None);
    }
    match record::read(path) {
        Ok((header, runs)) => Ok(Some(Recorded { path: path.to_owned(), header, runs })),
        // Not even a header, or no file: the reader of reports says why.
        Err(RecordError::Line(1, _) | RecordError::Io(_)) => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.shown())),
    }
}

/// Says of it what was said when it was measured, as far as the options are the same.
pub(super) fn compared(options: &Compare, recorded: Recorded, rope: Rope) -> Result<CompareDocument, String> {
    let Recorded { path, header, mut runs } = recorded;
    let complain = |why: String| format!("{}: {why}", path.shown());
    if options.paired {
        return Err("--paired: a record knows its pairs".to_owned());
    }
    if !options.trial.metric.is_empty() {
        // The pairs ended when the first metric decided: another one would be judged at a moment that was not
        // its own.
        let names: Vec<&str> = header.metrics.iter().map(|(name, _)| name.as_str()).collect();
        return Err(format!("--metric: a record is judged by what was measured: {}", names.join(", ")));
    }
    let plan = ComparePlan::of_record(header).map_err(complain)?;
    let terms = Terms::of(&plan, options.trial.pairs).map_err(complain)?;
    let points = plan.sweep.as_ref().map_or_else(|| vec![Values::default()], Sweep::points);
    let values = points.iter().map(Values::label);
    let mut points = Vec::new();
    for value in values {
        let own: Vec<RecordedRun> = runs.extract_if(.., |run| run.point == value).collect();
        let layouts = layouts::measured(&own);
        let warm_up = pairs::warm_up_time(&own);
        let pairs = pairs::pairs(own);
        // An interrupted sweep ends with a point that has none, or not all of its layouts either.
        if pairs.len() >= 2 {
            let criteria = criteria(&plan, &layouts, (&terms, rope)).map_err(complain)?;
            points.push(Measurements { value, pairs, warm_up, criteria });
        }
    }
    if points.is_empty() {
        return Err(complain("fewer than two pairs".to_owned()));
    }
    document(&plan, &points, (&terms, rope), options, &path).map_err(complain)
}
