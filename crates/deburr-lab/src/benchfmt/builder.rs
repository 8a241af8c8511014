//! Results → tables: one for each configuration and unit, a row for each benchmark, a column for each file.
//!
//! In: records, by the projections and the filter of the options. Out: [`Tables`], each later column compared
//! with the first by the statistics of benchstat.

use super::filter::Filter;
use super::key::{Key, Projections};
use super::options::Options;
use super::parse::{Record, Units};
use super::query::QueryError;
use super::table::{Cell, Summaries, Table, Tables};
use super::unit::class;
use crate::stats::benchstat::{self, Assumption};
use std::collections::{HashMap, HashSet};

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

impl Builder {
    /// Without results so far.
    ///
    /// # Errors
    /// [`QueryError`] where a projection or the filter cannot be understood, or α or the confidence is
    /// outside 0 to 1.
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

/// Geometric means of a column: of the ratios to the first one rather than the ratio of the means, so that
/// they mean something also where the columns have different rows.
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
