//! Projections: which of a result's keys name its table, its row and its column.
//!
//! `.config` is every key that a file says and no other projection names; `.fullname` the benchmark's name
//! without what others name. What nothing names is the residue: cells whose results differ in it get a note.
//! Values keep the order in which they came up; those of `.config` are sorted.

use super::name;
use super::parse::Record;
use super::query::QueryError;
use std::cmp::Ordering;
use std::collections::HashMap;

/// The value of one key of a result; empty where it has none.
pub(super) fn extract(record: &Record, key: &str) -> String {
    match key {
        ".name" => name::base(&record.name).to_owned(),
        ".fullname" => record.name.clone(),
        _ if key.starts_with('/') => name::value(&record.name, key).unwrap_or_default().to_owned(),
        _ => {
            let found = record.config.iter().find(|config| config.key == key);
            found.map(|config| config.value.clone()).unwrap_or_default()
        }
    }
}

/// In which order a field's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    First,
    Alphabetic,
    Numeric,
}

/// A field of a projection; `.config` grows one for every key that it meets.
#[derive(Debug, Clone)]
struct Field {
    name: String,
    order: Order,
    /// Values, by the order in which they came up.
    seen: HashMap<String, usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Config,
    Fullname,
    One(String),
    Unit,
}

/// What names tables, rows or columns. A key is a list of values by field.
#[derive(Debug, Clone, Default)]
pub(super) struct Projection {
    parts: Vec<(Part, Vec<Field>)>,
}

/// The values of a projection's fields, part by part; a part of `.config` may be shorter than it has become
/// since.
pub(super) type Key = Vec<Vec<String>>;

/// All projections of a query, which leave their keys to each other.
#[derive(Debug, Clone)]
pub(super) struct Projections {
    pub(super) table: Projection,
    pub(super) row: Projection,
    pub(super) column: Projection,
    pub(super) residue: Projection,
    named: Vec<String>,
}

impl Projections {
    pub(super) fn parse(
        table: &str,
        row: &str,
        column: &str,
        ignore: &str,
    ) -> Result<Projections, QueryError> {
        let (mut table, row, column, ignore) = (
            Projection::parse(table)?,
            Projection::parse(row)?,
            Projection::parse(column)?,
            Projection::parse(ignore)?,
        );
        let mut named = Vec::new();
        let mut residue = vec![Part::Config, Part::Fullname];
        for (part, _) in [&table, &row, &column, &ignore].into_iter().flat_map(|projection| &projection.parts)
        {
            match part {
                Part::One(key) => named.push(key.clone()),
                other => residue.retain(|part| part != other),
            }
        }
        let residue = Projection { parts: residue.into_iter().map(|part| (part, Vec::new())).collect() };
        table.parts.push((Part::Unit, vec![Field::new(".unit", Order::First)]));
        Ok(Projections { table, row, column, residue: residue.with_names(), named })
    }

    /// The keys of a result: of its row, its column, its residue, and for each of its values of the table.
    pub(super) fn project(&mut self, record: &Record) -> (Key, Key, Key, Vec<Key>) {
        let units = record.values.iter().map(|value| self.table.project(record, &self.named, &value.unit));
        let tables = units.collect();
        let one = |projection: &mut Projection| projection.project(record, &self.named, "");
        (one(&mut self.row), one(&mut self.column), one(&mut self.residue), tables)
    }
}

impl Field {
    fn new(name: &str, order: Order) -> Field {
        Field { name: name.to_owned(), order, seen: HashMap::new() }
    }

    fn see(&mut self, value: &str) {
        if !self.seen.contains_key(value) {
            self.seen.insert(value.to_owned(), self.seen.len());
        }
    }

    fn compare(&self, one: &str, other: &str) -> Ordering {
        let place = |value: &str| self.seen.get(value);
        let by_order = match self.order {
            Order::First => place(one).cmp(&place(other)),
            Order::Alphabetic => Ordering::Equal,
            Order::Numeric => match (number(one), number(other)) {
                (Some(one), Some(other)) => one.total_cmp(&other),
                (one, other) => other.is_some().cmp(&one.is_some()),
            },
        };
        by_order.then_with(|| one.cmp(other))
    }
}

/// `4kB`, `1Mi`, `3.5`.
fn number(text: &str) -> Option<f64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let text = text.strip_suffix(['b', 'B']).unwrap_or(text);
    let (text, base) = text.strip_suffix('i').map_or((text, 1000.0), |text| (text, 1024.0));
    let prefix = text.chars().next_back()?;
    let power = "KMGTPEZY".find(if prefix == 'k' { 'K' } else { prefix });
    match power {
        Some(power) => {
            let digits = text.strip_suffix(prefix)?.parse::<f64>().ok()?;
            Some(digits * libm::pow(base, power as f64 + 1.0))
        }
        None => text.parse().ok(),
    }
}

impl Projection {
    fn parse(query: &str) -> Result<Projection, QueryError> {
        let refuse = |reason| QueryError { query: query.to_owned(), reason };
        let mut parts = Vec::new();
        for word in query.split([' ', ',', '\t']).filter(|word| !word.is_empty()) {
            let (key, order) = word.split_once('@').unwrap_or((word, "first"));
            let order = match order {
                "first" => Order::First,
                "alpha" => Order::Alphabetic,
                "num" => Order::Numeric,
                _ => return Err(refuse("an order is @first, @alpha or @num")),
            };
            let part = match key {
                ".config" => (Part::Config, Vec::new()),
                ".fullname" => (Part::Fullname, vec![Field::new(key, order)]),
                ".unit" => return Err(refuse(".unit names tables always, and nothing else")),
                "" => return Err(refuse("a key is missing")),
                _ => (Part::One(key.to_owned()), vec![Field::new(key, order)]),
            };
            parts.push(part);
        }
        Ok(Projection { parts })
    }

    fn with_names(mut self) -> Projection {
        for (part, fields) in &mut self.parts {
            if *part == Part::Fullname {
                fields.push(Field::new(".fullname", Order::First));
            }
        }
        self
    }

    fn project(&mut self, record: &Record, named: &[String], unit: &str) -> Key {
        let one = |(part, fields): &mut (Part, Vec<Field>)| {
            if *part == Part::Config {
                return config(record, named, fields);
            }
            let value = match part {
                Part::Unit => unit.to_owned(),
                Part::Fullname => {
                    let exclude: Vec<String> =
                        named.iter().filter(|key| *key == ".name" || key.starts_with('/')).cloned().collect();
                    name::without(&record.name, &exclude)
                }
                Part::One(key) => extract(record, key),
                Part::Config => String::new(),
            };
            if let Some(field) = fields.first_mut() {
                field.see(&value);
            }
            vec![value]
        };
        self.parts.iter_mut().map(one).collect()
    }

    /// The fields' names, `.config` as the keys that it has met.
    pub(super) fn fields(&self) -> Vec<String> {
        self.parts.iter().flat_map(|(_, fields)| fields).map(|field| field.name.clone()).collect()
    }

    /// A key's values by field, in the fields' order; empty where it has none.
    pub(super) fn values(&self, key: &Key) -> Vec<String> {
        let parts = self.parts.iter().zip(key);
        let of_part = |((_, fields), values): (&(Part, Vec<Field>), &Vec<String>)| -> Vec<String> {
            (0..fields.len()).map(|index| values.get(index).cloned().unwrap_or_default()).collect()
        };
        parts.flat_map(of_part).collect()
    }

    /// The order of rows, columns and tables.
    pub(super) fn compare(&self, one: &Key, other: &Key) -> Ordering {
        let fields = self.parts.iter().flat_map(|(_, fields)| fields);
        let values = self.values(one).into_iter().zip(self.values(other));
        let mut orders = fields.zip(values).map(|(field, (one, other))| field.compare(&one, &other));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

/// The keys that the file says and no projection names, without the empty ones at the end, so that a key does
/// not change when `.config` grows.
fn config(record: &Record, named: &[String], fields: &mut Vec<Field>) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for config in record.config.iter().filter(|config| config.from_file && !named.contains(&config.key)) {
        let place = fields.iter().position(|field| field.name == config.key).unwrap_or_else(|| {
            fields.push(Field::new(&config.key, Order::Alphabetic));
            fields.len() - 1
        });
        if values.len() <= place {
            values.resize(place + 1, String::new());
        }
        if let Some(value) = values.get_mut(place) {
            value.clone_from(&config.value);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_ordered_as_numbers() {
        let field = Field::new("/size", Order::Numeric);
        let mut sizes = ["32kB", "x", "15", "1kB", "1Ki", "4kB"];
        sizes.sort_by(|one, other| field.compare(one, other));
        assert_eq!(sizes, ["15", "1kB", "1Ki", "4kB", "32kB", "x"]);
    }

    #[test]
    fn queries_that_are_not_understood_are_refused() {
        for query in ["a@(b c)", ".unit", "@alpha", "a@size"] {
            assert!(Projections::parse(".config", query, ".file", "").is_err(), "{query}");
        }
    }
}
