//! What the tables are: their names, rows and keys.

/// The version of the tables; it grows when a column changes its meaning or goes away.
pub const TABLES_VERSION: u32 = 1;

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// What was given to deburr: packages, archives, files.
    Artefacts,
    /// The binaries in them, and what could not be checked.
    Files,
    /// Functions above the first level, and those with findings.
    Functions,
    /// What the rules found.
    Findings,
}

/// A table as it is.
#[derive(Debug, Clone, Copy)]
pub struct Described {
    /// What a row of it is.
    pub row: &'static str,
    /// The columns by which a row is unique in all tables of one name.
    pub key: &'static [&'static str],
}

impl Table {
    /// All of them. A shard is complete once its artefacts are there: they are written last.
    pub const ALL: [Table; 4] = [Table::Files, Table::Functions, Table::Findings, Table::Artefacts];

    /// Its name, and that of its folder.
    pub const fn name(self) -> &'static str {
        match self {
            Table::Artefacts => "artefacts",
            Table::Files => "files",
            Table::Functions => "functions",
            Table::Findings => "findings",
        }
    }

    /// What its rows are.
    pub const fn described(self) -> Described {
        match self {
            Table::Artefacts => Described {
                row: "what was given to deburr: a package, an image, a static archive or a file of its own",
                key: &["run", "artefact"],
            },
            Table::Files => Described {
                row: "a binary that was checked, or a path that was not, with the reason in `error`",
                key: &["run", "file"],
            },
            Table::Functions => Described {
                row: "a function that needs more than the architecture's first level, has findings, or took much of a profile: of a file, the 100 heaviest",
                key: &["run", "file", "section", "svma"],
            },
            Table::Findings => Described {
                row: "what a rule found at one place, or by comparison of two files",
                key: &["run", "file", "fingerprint"],
            },
        }
    }
}
