//! The table of findings, those by comparison of files among them.

use super::column::Cell;
use super::name::Table;
use super::rowed::{BYTES, FLAG, Of, RUN, Rowed, SHARE, TEXT, TIME, count, is, may};
use deburr_core::report::{Hex, Origin, OtherPlace, PlacedFinding};

pub(crate) struct Findings;

pub(crate) struct FindingRow<'r> {
    pub(crate) run: i64,
    pub(crate) file: &'r str,
    pub(crate) fingerprint: &'r str,
    pub(crate) within: &'r str,
    pub(crate) of: &'r PlacedFinding,
    /// Where the function begins that it is in.
    pub(crate) function_svma: Option<Hex>,
    pub(crate) function_section: Option<&'r str>,
    /// What it is compared with.
    pub(crate) other: Option<&'r OtherPlace>,
}

impl Rowed for Findings {
    type Row<'r> = FindingRow<'r>;
    const TABLE: Table = Table::Findings;
    const COLUMNS: &'static [Of<Findings>] = &[
        is("run", TIME, RUN, "", |row| Cell::Time(row.run)),
        is("file", TEXT, "the id of its file", "", |row| Cell::text(Some(row.file))),
        is(
            "fingerprint",
            TEXT,
            "stays when a file is linked again, and distinguishes findings; that of SARIF",
            "",
            |row| Cell::text(Some(row.fingerprint)),
        ),
        is("within", TEXT, "the same without the path: joins versions of a package", "", |row| {
            Cell::text(Some(row.within))
        }),
        is("rule", TEXT, "the rule's id", "files[].findings[].rule", |row| Cell::text(Some(&row.of.rule))),
        is("severity", TEXT, "`note`, `warning` or `error`", "files[].findings[].severity", |row| {
            Cell::text(Some(row.of.severity.name()))
        }),
        may("function", TEXT, "the function's name, demangled", "files[].findings[].function", |row| {
            Cell::text(row.of.function.as_deref())
        }),
        may("near", TEXT, "where the function is, if it has no name", "files[].findings[].near", |row| {
            Cell::text(row.of.near.as_deref())
        }),
        may("function_svma", TEXT, "where the function begins: joins `functions.svma`", "", |row| {
            Cell::owned(row.function_svma.map(|it| it.to_string()))
        }),
        may(
            "function_section",
            TEXT,
            "of an object, the section of that: joins `functions.section`",
            "",
            |row| Cell::text(row.function_section),
        ),
        is("svma", TEXT, "its address", "files[].findings[].places[].svma", |row| {
            Cell::owned(Some(row.of.svma.to_string()))
        }),
        may(
            "section",
            TEXT,
            "of an object, the section that the address is an offset in",
            "files[].findings[].section",
            |row| Cell::text(row.of.section.as_deref()),
        ),
        is("extent", BYTES, "the code that it is about", "files[].findings[].extent", |row| {
            Cell::Count(row.of.extent)
        }),
        is(
            "in_loop",
            FLAG,
            "whether it is in a loop of its function",
            "files[].findings[].places[].in_loop",
            |row| Cell::Flag(row.of.in_loop),
        ),
        is(
            "calls",
            count("calls"),
            "direct calls of its function",
            "files[].findings[].places[].calls",
            |row| Cell::Count(row.of.calls),
        ),
        may("share", SHARE, "what a profile saw of it", "files[].findings[].places[].weight.share", |row| {
            row.of.weight.map_or(Cell::Null, |it| Cell::Share(it.share.fraction()))
        }),
        may(
            "compiler",
            TEXT,
            "what made the function, where the file has several compilers",
            "files[].findings[].compiler",
            |row| Cell::owned(row.of.compiler.as_ref().map(ToString::to_string)),
        ),
        may(
            "origin",
            TEXT,
            "who wrote the function, where that is a language's runtime or a library that is linked statically",
            "files[].findings[].origin",
            |row| Cell::text(row.of.origin.map(Origin::name)),
        ),
        is(
            "counted",
            FLAG,
            "whether it counts for the exit status: the owner of the file can change it, or the file does not run",
            "files[].findings[].counted",
            |row| Cell::Flag(row.of.counted),
        ),
        may("source_file", TEXT, "the source file", "files[].findings[].places[].source.file", |row| {
            Cell::text(row.of.source.as_ref().map(|it| it.file.as_str()))
        }),
        may("source_line", count(""), "its line, from 1", "files[].findings[].places[].source.line", |row| {
            Cell::count(row.of.source.as_ref().map(|it| it.line.into()))
        }),
        is("message", TEXT, "one sentence", "files[].findings[].message", |row| {
            Cell::text(Some(&row.of.message))
        }),
        may("evidence", TEXT, "the facts that support it, as JSON", "files[].findings[].evidence", |row| {
            Cell::owned(serde_json::to_string(&row.of.evidence).ok())
        }),
        may(
            "other_path",
            TEXT,
            "the file that this one is compared with",
            "across_files[].other.path",
            |row| Cell::text(row.other.map(|it| &*it.path)),
        ),
        may("other_svma", TEXT, "the address there", "across_files[].other.svma", |row| {
            Cell::owned(row.other.map(|it| it.svma.to_string()))
        }),
    ];
}
