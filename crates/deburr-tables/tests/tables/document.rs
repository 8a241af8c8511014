//! docs/reference/tables.md has every column as the code has it; `DEBURR_BLESS=1` writes that part of it anew.

use deburr_tables::{Column, QUERIES, Table, columns};
use std::collections::BTreeSet;
use std::fs;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/tables.md");
const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deburr-cli/src/schema.json");
const BEGIN: &str = "cargo test -p deburr-tables document. -->\n";
const END: &str = "\n## Queries\n";

/// The tables in the order in which people read them.
const READ: [Table; 4] = [Table::Artefacts, Table::Files, Table::Functions, Table::Findings];

fn row(column: &Column) -> String {
    let none = if column.nullable { ", none" } else { "" };
    let json = if column.json.is_empty() { String::new() } else { format!("`{}`", column.json) };
    let Column { name, unit, meaning, .. } = column;
    format!("| `{name}` | {}{none} | {unit} | {meaning} | {json} |\n", column.kind.name())
}

fn described() -> String {
    let mut text = String::new();
    for table in READ {
        text += &format!("\n### {}\n\nA row is {}.\n\n", table.name(), table.described().row);
        text += "| column | type | unit | meaning | JSON report |\n|---|---|---|---|---|\n";
        text.extend(columns(table).iter().map(row));
    }
    text
}

fn listed() -> String {
    let row = |query: &deburr_tables::Query| {
        let file = format!("../../crates/deburr-tables/queries/{}.sql", query.name);
        format!("| [`{}`]({file}) | {} |\n", query.name, query.title())
    };
    QUERIES.iter().map(row).collect()
}

#[test]
fn the_document_has_every_column_and_every_query_as_the_code_has_it() {
    let text = fs::read_to_string(DOCUMENT).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the mark");
    let (_, after) = rest.split_once(END).expect("the queries");
    let (head, queries) = after.split_once("|---|---|\n").expect("the table of queries");
    let tail = queries.find("\n\n").map_or("", |at| &queries[at + 1..]);
    let expected = format!("{before}{BEGIN}{}{END}{head}|---|---|\n{}{tail}", described(), listed());
    if std::env::var_os("DEBURR_BLESS").is_some() {
        fs::write(DOCUMENT, &expected).unwrap();
    }
    assert_eq!(fs::read_to_string(DOCUMENT).unwrap(), expected, "DEBURR_BLESS=1 writes it anew");
    for table in READ {
        let described = table.described();
        let key: Vec<String> = described.key.iter().map(|name| format!("`{name}`")).collect();
        let line = format!("| `{}` | {} | {} |", table.name(), described.row, key.join(", "));
        assert!(text.contains(&line), "{line}");
    }
}

/// Whether the schema of the JSON report has a field: `files[].runs_on.not`.
fn has(schema: &serde_json::Value, field: &str) -> bool {
    let resolved = |node: &serde_json::Value| {
        let options = node["oneOf"].as_array().and_then(|all| all.iter().find(|it| it["type"] != "null"));
        let node = options.unwrap_or(node);
        match node["$ref"].as_str() {
            Some(name) => schema["$defs"][name.trim_start_matches("#/$defs/")].clone(),
            None => node.clone(),
        }
    };
    let mut node = schema.clone();
    for part in field.split('.') {
        let name = part.trim_end_matches("[]");
        node = resolved(&node);
        let Some(next) = node["properties"].get(name) else { return false };
        node = resolved(next);
        if part.ends_with("[]") {
            node = resolved(&node["items"]);
        }
    }
    true
}

#[test]
fn every_field_of_the_json_report_that_a_column_names_is_in_its_schema() {
    let schema: serde_json::Value = serde_json::from_str(&fs::read_to_string(SCHEMA).unwrap()).unwrap();
    let mut named = 0;
    for table in READ {
        for column in columns(table).iter().filter(|column| !column.json.is_empty()) {
            assert!(has(&schema, column.json), "{}.{}: {}", table.name(), column.name, column.json);
            named += 1;
        }
    }
    assert!(named > 60, "{named}");
    assert!(!has(&schema, "files[].no_such_field") && !has(&schema, "files[].build.compiler"));
}

#[test]
fn names_are_unique_and_keys_are_columns() {
    for table in READ {
        let columns = columns(table);
        let names: BTreeSet<&str> = columns.iter().map(|column| column.name).collect();
        assert_eq!(names.len(), columns.len(), "{}", table.name());
        assert!(table.described().key.iter().all(|key| names.contains(key)), "{}", table.name());
        assert!(columns.iter().all(|column| !column.meaning.is_empty() && !column.meaning.ends_with('.')));
    }
}

#[test]
fn every_file_is_a_query_of_its_name() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/queries");
    let files = fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
    let listed = QUERIES.map(|query| format!("{}.sql", query.name));
    assert_eq!(files.collect::<BTreeSet<_>>(), BTreeSet::from(listed));
    assert!(QUERIES.is_sorted_by_key(|query| query.name));
    for query in QUERIES {
        assert!(query.title().len() > 20, "{}", query.name);
        assert_eq!(
            query.sql.matches(';').count(),
            1,
            "{}: one statement, and no second in its comment",
            query.name
        );
    }
}
