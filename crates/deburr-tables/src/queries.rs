//! Queries over the tables, for DuckDB: each runs as it is in the directory of the tables.

/// A query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query {
    /// Its name, and that of its file.
    pub name: &'static str,
    /// What it answers: comments first, then SQL.
    pub sql: &'static str,
}

/// All of them.
pub const QUERIES: [Query; 8] = [
    Query { name: "atomics", sql: include_str!("../queries/atomics.sql") },
    Query { name: "compilers", sql: include_str!("../queries/compilers.sql") },
    Query { name: "level-census", sql: include_str!("../queries/level-census.sql") },
    Query { name: "new-since-last-run", sql: include_str!("../queries/new-since-last-run.sql") },
    Query { name: "not-checked", sql: include_str!("../queries/not-checked.sql") },
    Query { name: "who-gains", sql: include_str!("../queries/who-gains.sql") },
    Query { name: "who-gains-at-target", sql: include_str!("../queries/who-gains-at-target.sql") },
    Query { name: "worst-packages", sql: include_str!("../queries/worst-packages.sql") },
];

impl Query {
    /// The first sentence of its comment, in one line.
    pub fn title(&self) -> String {
        let comment = self.sql.lines().map_while(|line| line.strip_prefix("-- "));
        let text = comment.collect::<Vec<_>>().join(" ");
        text.split_once(". ").map_or(text.trim_end_matches('.').to_owned(), |(first, _)| first.to_owned())
    }

    /// For tables in a directory other than the one that DuckDB runs in.
    pub fn in_directory(&self, directory: &str) -> String {
        let place = quoted(directory);
        super::Table::ALL.iter().fold(self.sql.to_owned(), |sql, table| {
            let name = table.name();
            sql.replace(&format!("'{name}/*.parquet'"), &format!("'{place}/{name}/*.parquet'"))
        })
    }
}

/// A path within a pattern, within quotes: what means something in either is escaped.
fn quoted(path: &str) -> String {
    let mut text = String::new();
    for c in path.chars() {
        match c {
            '*' | '?' | '[' => text.extend(['[', c, ']']),
            '\'' => text.push_str("''"),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Table;

    #[test]
    fn only_the_tables_are_read_and_all_of_them_from_the_directory() {
        for query in QUERIES {
            let reads = query.sql.matches("read_parquet(").count();
            let sql = query.in_directory("/a'b/[c]");
            let moved: usize = Table::ALL
                .iter()
                .map(|it| sql.matches(&format!("'/a''b/[[]c]/{}/*.parquet'", it.name())).count())
                .sum();
            assert!(reads > 0 && moved == reads, "{}: {moved} of {reads}", query.name);
        }
    }
}
