//! Reports of one artefact after another → rows → record batches.
//!
//! In: an artefact, then its files; findings by comparison of files at the end. Out: record batches of the four tables, to
//! whoever wants them, each as soon as it is full.

use super::batch::Batch;
use super::id::{Ids, id};
use super::places::Places;
use super::table::{
    ArtefactOf, ArtefactRow, Artefacts, FileOf, FileRow, Files, FindingRow, Findings, FunctionRow, Functions,
    Rowed, Table,
};
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use deburr_core::report::{AcrossFinding, Fingerprints, Hex, HotFunction, IsaFunction, PlacedFinding};
use std::collections::{HashMap, HashSet};

/// Takes record batches.
pub trait Batches {
    /// Why it cannot.
    type Error: From<ArrowError>;

    /// Takes the next rows of a table.
    ///
    /// # Errors
    /// Where it cannot; the rows are lost then.
    fn take(&mut self, table: Table, rows: RecordBatch) -> Result<(), Self::Error>;
}

/// All that is taken, in memory.
impl Batches for Vec<(Table, RecordBatch)> {
    type Error = ArrowError;

    fn take(&mut self, table: Table, rows: RecordBatch) -> Result<(), ArrowError> {
        self.push((table, rows));
        Ok(())
    }
}

/// The artefact whose files come.
struct Current {
    path: String,
    id: String,
}

impl Current {
    /// What is after the artefact's path in that of something in it: `!usr/bin/x`, `(x.o)`; nothing in its own.
    fn rest<'p>(&self, path: &'p str) -> Option<&'p str> {
        path.strip_prefix(&self.path).filter(|rest| rest.is_empty() || rest.starts_with(['!', '(']))
    }
}

/// What is known of a file's functions, by their place in the list of sizes.
struct Known<'r> {
    /// The first finding in each, and how many there are.
    findings: HashMap<usize, (&'r PlacedFinding, u64)>,
    /// Those that took most of a profile.
    hot: HashMap<usize, &'r HotFunction>,
}

impl Known<'_> {
    fn has(&self, place: usize) -> bool {
        self.findings.contains_key(&place) || self.hot.contains_key(&place)
    }
}

/// The rows of a run that have not gone out.
pub struct Rows<B> {
    /// When the run began, in microseconds since 1970.
    run: i64,
    artefacts: Batch<Artefacts>,
    files: Batch<Files>,
    functions: Batch<Functions>,
    findings: Batch<Findings>,
    current: Option<Current>,
    ids: Ids,
    batches: B,
}

/// Adds a row to a table, and hands on what is full.
fn push<'r, T: Rowed, B: Batches>(
    batch: &mut Batch<T>,
    row: &'r T::Row<'r>,
    batches: &mut B,
) -> Result<(), B::Error> {
    match batch.push(row)? {
        Some(rows) => batches.take(T::TABLE, rows),
        None => Ok(()),
    }
}

fn rest<T: Rowed, B: Batches>(batch: &mut Batch<T>, batches: &mut B) -> Result<(), B::Error> {
    match batch.take()? {
        Some(rows) => batches.take(T::TABLE, rows),
        None => Ok(()),
    }
}

impl<B: Batches> Rows<B> {
    /// Begins the run of a moment, in microseconds since 1970.
    pub fn new(run: i64, batches: B) -> Rows<B> {
        Rows {
            run,
            artefacts: Batch::new(),
            files: Batch::new(),
            functions: Batch::new(),
            findings: Batch::new(),
            current: None,
            ids: Ids::default(),
            batches,
        }
    }

    /// Begins an artefact: what comes next, of a path within it, is a part of it.
    ///
    /// # Errors
    /// Those of whoever takes batches; so for all that follow.
    pub fn artefact(&mut self, of: &ArtefactOf<'_>) -> Result<(), B::Error> {
        let id = self.ids.artefact(of.path);
        push(&mut self.artefacts, &ArtefactRow { run: self.run, id: &id, of }, &mut self.batches)?;
        self.current = Some(Current { path: of.path.to_owned(), id });
        Ok(())
    }

    /// Adds a file that was checked, its functions and its findings.
    pub fn file(&mut self, of: FileOf<'_>) -> Result<(), B::Error> {
        let path = &of.report.path;
        let file = self.add_file(path, Ok(of))?;
        let places = Places::of(of.sizes);
        let placed: Vec<Option<usize>> = of
            .report
            .findings
            .iter()
            .map(|finding| places.at(finding.section.as_deref(), finding.svma))
            .collect();
        self.functions(&file, of, &placed)?;
        let (mut fingerprints, mut within) = (Fingerprints::of(path), Fingerprints::of(""));
        for (finding, at) in of.report.findings.iter().zip(placed) {
            let function = at.and_then(|at| of.sizes.get(at));
            let row = FindingRow {
                run: self.run,
                file: &file,
                fingerprint: &fingerprints.next(finding),
                within: &within.next(finding),
                of: finding,
                function_svma: function.map(|it| it.svma),
                function_section: function.and_then(|it| it.section.as_deref()),
                other: None,
            };
            push(&mut self.findings, &row, &mut self.batches)?;
        }
        Ok(())
    }

    /// Adds a path that was not checked.
    pub fn failure(&mut self, path: &str, reason: &str) -> Result<(), B::Error> {
        self.add_file(path, Err(reason)).map(|_| ())
    }

    /// Adds all findings by comparison of files, by file.
    ///
    /// # Errors
    /// As of [`Rows::artefact`].
    pub fn across(&mut self, findings: &[AcrossFinding]) -> Result<(), B::Error> {
        for of_file in findings.chunk_by(|one, other| one.path == other.path) {
            let path = of_file.first().map_or("", |finding| &finding.path);
            let file = id(path, 0);
            let (mut fingerprints, mut within) = (Fingerprints::of(path), Fingerprints::of(""));
            for found in of_file {
                let finding = PlacedFinding::from(found);
                let row = FindingRow {
                    run: self.run,
                    file: &file,
                    fingerprint: &fingerprints.next(&finding),
                    within: &within.next(&finding),
                    of: &finding,
                    function_svma: None,
                    function_section: None,
                    other: Some(&found.other),
                };
                push(&mut self.findings, &row, &mut self.batches)?;
            }
        }
        Ok(())
    }

    /// Hands on the rows that are left.
    pub fn finish(mut self) -> Result<B, B::Error> {
        rest(&mut self.files, &mut self.batches)?;
        rest(&mut self.functions, &mut self.batches)?;
        rest(&mut self.findings, &mut self.batches)?;
        rest(&mut self.artefacts, &mut self.batches)?;
        Ok(self.batches)
    }

    fn add_file(&mut self, path: &str, of: Result<FileOf<'_>, &str>) -> Result<String, B::Error> {
        let rest = self.current.as_ref().and_then(|current| current.rest(path));
        let artefact = self.current.as_ref().filter(|_| rest.is_some());
        let file = if artefact.is_some() { self.ids.file(path) } else { self.ids.lone(path) };
        let artefact = artefact.map(|artefact| artefact.id.as_str());
        let member = rest.filter(|rest| !rest.is_empty()).map(|rest| rest.strip_prefix('!').unwrap_or(rest));
        let row = FileRow { run: self.run, artefact, file: &file, path, member, of };
        push(&mut self.files, &row, &mut self.batches)?;
        Ok(file)
    }

    /// Adds the functions above the first level, in the order of the report, and then others with findings or weight, by address.
    fn functions(&mut self, file: &str, of: FileOf<'_>, placed: &[Option<usize>]) -> Result<(), B::Error> {
        let mut findings: HashMap<usize, (&PlacedFinding, u64)> = HashMap::new();
        for (finding, at) in of.report.findings.iter().zip(placed) {
            if let Some(at) = at {
                findings.entry(*at).or_insert((finding, 0)).1 += 1;
            }
        }
        let by_place: HashMap<(Option<&str>, Hex), usize> = of
            .sizes
            .iter()
            .enumerate()
            .map(|(index, size)| ((size.section.as_deref(), size.svma), index))
            .collect();
        let heaviest = of.report.profile.iter().flat_map(|profile| &profile.functions);
        let hot: HashMap<usize, &HotFunction> = heaviest
            .filter_map(|function| by_place.get(&(None, function.svma)).map(|place| (*place, function)))
            .collect();
        let known = Known { findings, hot };
        let mut seen: HashSet<usize> = HashSet::new();
        for above in &of.report.isa_functions {
            let place = by_place.get(&(above.section.as_deref(), above.svma)).copied();
            seen.extend(place);
            let row = self.function_row(file, of, place, Some(above), &known);
            if let Some(row) = row {
                push(&mut self.functions, &row, &mut self.batches)?;
            }
        }
        let others = (0..of.sizes.len()).filter(|place| known.has(*place) && !seen.contains(place));
        for place in others {
            if let Some(row) = self.function_row(file, of, Some(place), None, &known) {
                push(&mut self.functions, &row, &mut self.batches)?;
            }
        }
        Ok(())
    }

    fn function_row<'r>(
        &self,
        file: &'r str,
        of: FileOf<'r>,
        place: Option<usize>,
        above: Option<&'r IsaFunction>,
        known: &Known<'r>,
    ) -> Option<FunctionRow<'r>> {
        let size = place.and_then(|place| of.sizes.get(place));
        let found = place.and_then(|place| known.findings.get(&place)).copied();
        Some(FunctionRow {
            run: self.run,
            file,
            svma: above.map(|it| it.svma).or(size.map(|it| it.svma))?,
            section: above.map_or_else(|| size?.section.as_deref(), |it| it.section.as_deref()),
            above,
            size,
            finding: found.map(|(finding, _)| finding),
            hot: place.and_then(|place| known.hot.get(&place)).copied(),
            findings: found.map_or(0, |(_, count)| count),
        })
    }
}
