//! The table of artefacts: what was given to deburr.

use super::column::Cell;
use super::name::Table;
use super::rowed::{BYTES, Of, RUN, Rowed, TEXT, TEXTS, TIME, count, is, may};

/// What is known of an artefact.
#[derive(Debug, Clone, Copy, Default)]
pub struct ArtefactOf<'a> {
    /// As the user calls it.
    pub path: &'a str,
    /// `deb`, `rpm`, `wheel`, `zip`, `tar`, `image`, `archive`, `elf` …
    pub kind: &'a str,
    /// The SHA-256 of its bytes, in hexadecimal digits; `None` of a folder.
    pub sha256: Option<&'a str>,
    /// Its size; `None` of a folder.
    pub bytes: Option<u64>,
    /// The name of the package.
    pub package: Option<&'a str>,
    /// Its version.
    pub version: Option<&'a str>,
    /// Its architecture, as its own tools call it.
    pub architecture: Option<&'a str>,
    /// When it was built, in seconds since 1970.
    pub built: Option<i64>,
    /// What it says of the machines that it is for, with the places.
    pub claims: &'a [String],
    /// The version of the program that made the tables.
    pub tool_version: &'a str,
}

pub(crate) struct Artefacts;

pub(crate) struct ArtefactRow<'r> {
    pub(crate) run: i64,
    pub(crate) id: &'r str,
    pub(crate) of: &'r ArtefactOf<'r>,
}

impl Rowed for Artefacts {
    type Row<'r> = ArtefactRow<'r>;
    const TABLE: Table = Table::Artefacts;
    const COLUMNS: &'static [Of<Artefacts>] = &[
        is("run", TIME, RUN, "", |row| Cell::Time(row.run)),
        is("artefact", TEXT, "its id: the same for the same path in every run", "", |row| {
            Cell::text(Some(row.id))
        }),
        is("path", TEXT, "as the user named it, or found in a folder that the user named", "", |row| {
            Cell::text(Some(row.of.path))
        }),
        is(
            "kind",
            TEXT,
            "what it is: `deb`, `rpm`, `wheel`, `conda`, `npm`, `image`; else `zip`, `tar`, `compressed`, `archive`, `elf`",
            "",
            |row| Cell::text(Some(row.of.kind)),
        ),
        may("sha256", TEXT, "SHA-256 of its bytes; none of a folder", "", |row| Cell::text(row.of.sha256)),
        may("bytes", BYTES, "its size", "", |row| Cell::count(row.of.bytes)),
        may("package", TEXT, "the package's name, as it states it", "", |row| Cell::text(row.of.package)),
        may("version", TEXT, "the package's version, with the build or release of that", "", |row| {
            Cell::text(row.of.version)
        }),
        may("architecture", TEXT, "the package's architecture, as its own tools call it", "", |row| {
            Cell::text(row.of.architecture)
        }),
        may(
            "built",
            TIME,
            "when it was built, where it says so: deb, rpm, conda, Alpine, Arch Linux",
            "",
            |row| {
                let micros = row.of.built.and_then(|seconds| seconds.checked_mul(1_000_000));
                micros.map_or(Cell::Null, Cell::Time)
            },
        ),
        is("claims", TEXTS, "what it says of the machines that it is for, with the places", "", |row| {
            Cell::texts(Some(row.of.claims))
        }),
        is("tool_version", TEXT, "the version of deburr", "tool_version", |row| {
            Cell::text(Some(row.of.tool_version))
        }),
        is("tables_version", count(""), "the version of the tables", "", |_| {
            Cell::Count(super::name::TABLES_VERSION.into())
        }),
    ];
}
