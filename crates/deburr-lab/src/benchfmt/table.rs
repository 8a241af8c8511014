//! Results gathered into tables: one for each configuration and unit, a row for each benchmark, a column for each file, and each
//! later column compared with the first.

use super::filter::Filter;
use super::key::{Key, Projections};
use super::parse::{Record, Units};
use super::unit::{Class, class};
use super::{QueryError, csv, text};
use crate::stats::benchstat::{self, Assumption, Comparison, Summary, Upstream};
use std::collections::{HashMap, HashSet};

/// How tables are made: benchstat's flags.
#[derive(Debug, Clone)]
pub struct Options {
    /// A table for each distinct value of these keys, and of the unit.
    pub table: String,
    /// A row for each distinct value.
    pub row: String,
    /// A column for each distinct value.
    pub column: String,
    /// Keys whose variation does not matter.
    pub ignore: String,
    /// Which results take part.
    pub filter: String,
    /// p above this prints `~`.
    pub alpha: f64,
    /// Of the intervals.
    pub confidence: f64,
    /// Whether upstream's faults are corrected.
    pub upstream: Upstream,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            table: ".config".to_owned(),
            row: ".fullname".to_owned(),
            column: ".file".to_owned(),
            ignore: String::new(),
            filter: "*".to_owned(),
            alpha: 0.05,
            confidence: 0.95,
            upstream: Upstream::Corrected,
        }
    }
}

/// Takes results, makes tables.
#[derive(Debug)]
pub struct Builder {
    options: Options,
    filter: Filter,
    projections: Projections,
    units: Units,
    /// In the order in which they came up.
    tables: Vec<(Key, Gathered)>,
    places: HashMap<Key, usize>,
}

#[derive(Debug, Default)]
struct Gathered {
    unit: String,
    cells: HashMap<(Key, Key), Sample>,
}

#[derive(Debug, Default)]
struct Sample {
    values: Vec<f64>,
    residues: HashSet<Key>,
}

/// Tables in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Tables {
    /// One for each configuration and unit.
    pub tables: Vec<Table>,
    /// Names of the configuration keys of all tables.
    pub config_keys: Vec<String>,
    /// Names of the keys that make columns.
    pub column_keys: Vec<String>,
}

/// One table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Values of [`Tables::config_keys`]; empty where there is none.
    pub config: Vec<String>,
    /// Of all its values, in base units.
    pub unit: String,
    /// How that is scaled.
    pub class: Class,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Values of [`Tables::column_keys`] for each column.
    pub columns: Vec<Vec<String>>,
    /// By row, then by column; `None` where there is no result.
    pub cells: Vec<Vec<Option<Cell>>>,
    /// Of each column.
    pub summaries: Vec<Summaries>,
}

/// The results of a row and a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// In the order in which they came.
    pub values: Vec<f64>,
    /// Centre and interval.
    pub summary: Summary,
    /// Centre of the first column, and the comparison with it; `None` in the first column and where that has none.
    pub baseline: Option<(f64, Comparison)>,
    /// What the results differ in that neither row nor column says.
    pub notes: Vec<String>,
}

/// What the last row says of a column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summaries {
    /// Geometric mean of the centres.
    pub center: Option<f64>,
    /// Geometric mean of the ratios to the first column.
    pub ratio: Option<f64>,
    /// What to say about it.
    pub notes: Vec<String>,
}

impl Builder {
    /// Without results so far.
    ///
    /// # Errors
    /// [`QueryError`] where a projection or the filter cannot be understood, or α or the confidence lie outside 0 to 1.
    pub fn new(options: &Options) -> Result<Builder, QueryError> {
        let share = |name: &str, value: f64| {
            let refused =
                QueryError { query: format!("{name} {value}"), reason: "is not in the range from 0 to 1" };
            (0.0..=1.0).contains(&value).then_some(()).ok_or(refused)
        };
        share("alpha", options.alpha)?;
        share("confidence", options.confidence)?;
        Ok(Builder {
            filter: Filter::parse(&options.filter)?,
            projections: Projections::parse(&options.table, &options.row, &options.column, &options.ignore)?,
            units: Units::default(),
            tables: Vec::new(),
            places: HashMap::new(),
            options: options.clone(),
        })
    }

    /// What is said of units so far.
    pub fn units(&mut self) -> &mut Units {
        &mut self.units
    }

    /// Adds all values of a result, unless the filter leaves it out.
    pub fn add(&mut self, record: &Record) {
        if !self.filter.takes(record) {
            return;
        }
        let (row, column, residue, tables) = self.projections.project(record);
        for (key, value) in tables.into_iter().zip(&record.values) {
            let place = *self.places.entry(key.clone()).or_insert_with(|| {
                self.tables.push((key, Gathered { unit: value.unit.clone(), ..Gathered::default() }));
                self.tables.len() - 1
            });
            let Some((_, table)) = self.tables.get_mut(place) else { continue };
            let cell = table.cells.entry((row.clone(), column.clone())).or_default();
            cell.values.push(value.value);
            if !cell.residues.contains(&residue) {
                cell.residues.insert(residue.clone());
            }
        }
    }

    /// The tables of all results added.
    pub fn tables(mut self) -> Tables {
        let mut gathered = std::mem::take(&mut self.tables);
        gathered.sort_by(|one, other| self.projections.table.compare(&one.0, &other.0));
        let tables = gathered.iter().map(|(key, gathered)| self.table(key, gathered)).collect();
        let mut config_keys = self.projections.table.fields();
        config_keys.pop();
        Tables { tables, config_keys, column_keys: self.projections.column.fields() }
    }

    fn table(&self, key: &Key, gathered: &Gathered) -> Table {
        let distinct = |keys: Vec<&Key>, compare: &dyn Fn(&Key, &Key) -> std::cmp::Ordering| -> Vec<Key> {
            let mut keys: Vec<Key> = keys.into_iter().cloned().collect();
            keys.sort_by(|one, other| compare(one, other));
            keys.dedup();
            keys
        };
        let (rows, columns) = (&self.projections.row, &self.projections.column);
        let row_keys =
            distinct(gathered.cells.keys().map(|key| &key.0).collect(), &|a, b| rows.compare(a, b));
        let column_keys =
            distinct(gathered.cells.keys().map(|key| &key.1).collect(), &|a, b| columns.compare(a, b));
        let assumption = match self.units.get(&gathered.unit, "assume") {
            Some("exact") => Assumption::Exact,
            _ => Assumption::Nothing,
        };
        let row = |row: &Key| -> Vec<Option<Cell>> {
            let sample = |column: &Key| gathered.cells.get(&(row.clone(), column.clone()));
            let first = column_keys.first().and_then(sample);
            let cell = |(index, column): (usize, &Key)| {
                self.cell(sample(column)?, first.filter(|_| index > 0), assumption)
            };
            column_keys.iter().enumerate().map(cell).collect()
        };
        let cells: Vec<Vec<Option<Cell>>> = row_keys.iter().map(row).collect();
        let mut config = self.projections.table.values(key);
        config.pop();
        let text = |row: &Key| {
            let values = rows.values(row).into_iter().filter(|value| !value.is_empty());
            values.collect::<Vec<_>>().join(" ")
        };
        Table {
            config,
            unit: gathered.unit.clone(),
            class: class(&gathered.unit),
            rows: row_keys.iter().map(text).collect(),
            columns: column_keys.iter().map(|column| columns.values(column)).collect(),
            summaries: (0..column_keys.len()).map(|column| summarize(&cells, column)).collect(),
            cells,
        }
    }

    /// `None` only of a sample without values, of which there is none.
    fn cell(&self, sample: &Sample, first: Option<&Sample>, assumption: Assumption) -> Option<Cell> {
        let (confidence, alpha, upstream) =
            (self.options.confidence, self.options.alpha, self.options.upstream);
        let sum = |sample: &Sample| benchstat::summary(&sample.values, assumption, confidence, upstream).ok();
        let baseline = match first {
            Some(first) => {
                let found =
                    benchstat::compare(&first.values, &sample.values, assumption, alpha, upstream).ok()?;
                Some((sum(first)?.center, found))
            }
            None => None,
        };
        let varying = self.varying(&sample.residues);
        let notes = if varying.is_empty() {
            Vec::new()
        } else {
            vec![format!("benchmarks vary in {}", varying.join(", "))]
        };
        Some(Cell { values: sample.values.clone(), summary: sum(sample)?, baseline, notes })
    }

    /// Fields of the residue in which keys differ.
    fn varying(&self, residues: &HashSet<Key>) -> Vec<String> {
        let values: Vec<Vec<String>> =
            residues.iter().map(|key| self.projections.residue.values(key)).collect();
        let Some((first, rest)) = values.split_first() else { return Vec::new() };
        let fields = self.projections.residue.fields().into_iter().zip(first).enumerate();
        let differs = |index: usize, value: &String| rest.iter().any(|other| other.get(index) != Some(value));
        fields.filter(|(index, (_, value))| differs(*index, value)).map(|(_, (name, _))| name).collect()
    }
}

/// Geometric means of a column: of the ratios to the first one rather than the ratio of the means, so that they mean something
/// also where the columns have different rows.
fn summarize(cells: &[Vec<Option<Cell>>], column: usize) -> Summaries {
    let of = |column: usize| cells.iter().filter_map(move |row| row.get(column)?.as_ref());
    let centers: Vec<f64> = of(column).map(|cell| cell.summary.center).collect();
    let compared: Vec<(f64, f64)> =
        of(column).filter_map(|cell| Some((cell.summary.center, cell.baseline.as_ref()?.0))).collect();
    let mut found = Summaries { center: benchstat::geomean(&centers), ..Summaries::default() };
    let mut note = |text: &str| found.notes.push(text.to_owned());
    if column > 0 && of(0).count() != compared.len() {
        note("benchmark set differs from baseline; geomeans may not be comparable");
    }
    if found.center.is_none() {
        note("summaries must be >0 to compute geomean");
    }
    // 0/0 is 1; anything else over 0 has no ratio.
    let from_zero = compared.iter().any(|(new, old)| new != old && *old == 0.0);
    if column > 0 && !from_zero {
        let ratios: Vec<f64> =
            compared.iter().map(|(new, old)| if new == old { 1.0 } else { new / old }).collect();
        found.ratio = benchstat::geomean(&ratios);
        if found.ratio.is_none() {
            note("ratios must be >0 to compute geomean");
        }
    }
    found
}

impl Tables {
    /// As benchstat prints them for a fixed-width font.
    pub fn text(&self) -> String {
        text::render(self)
    }

    /// As benchstat's comma-separated values, and the notes that it prints apart from them, by cell.
    pub fn csv(&self) -> (String, String) {
        csv::render(self)
    }

    /// For each table the lines above it: keys whose values are new.
    pub(super) fn headings(&self) -> Vec<Vec<String>> {
        let before = std::iter::once(None).chain(self.tables.iter().map(Some));
        let heading = |(table, before): (&Table, Option<&Table>)| -> Vec<String> {
            let pairs = self.config_keys.iter().zip(&table.config).enumerate();
            let new =
                |index: usize, value: &String| before.is_none_or(|old| old.config.get(index) != Some(value));
            let new = pairs.filter(|(index, (_, value))| new(*index, value));
            new.map(|(_, (key, value))| format!("{key}: {value}")).collect()
        };
        self.tables.iter().zip(before).map(heading).collect()
    }
}
