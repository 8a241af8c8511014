//! The names of verdicts, as every output format spells them: how a function is reached, and by what it is guarded.

use serde::{Deserialize, Serialize};

/// Whether the program reaches a function without having queried the CPU first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// A path without a check reaches it.
    Required,
    /// Every path passes a check that implies what it uses.
    Guarded,
    /// A path passes a check that does not imply all of what it uses.
    UnderGuarded,
    /// No known path from any root reaches it.
    Unreached,
    /// Reached only through a pointer or a check that the analysis does not follow.
    Unknown,
    /// Chosen by a test of what the file's own queries call enough, in a word that is not proven to come from them.
    Presumed,
    /// As unknown, but every known CPU on which the file runs has all that it uses: no check could matter.
    Covered,
    /// Entered only by callers in other files that have chosen it for the CPU, by its name.
    Offered,
}

impl Reach {
    /// Whether a path without a sufficient check is known.
    pub(crate) const fn is_unsafe(self) -> bool {
        matches!(self, Reach::Required | Reach::UnderGuarded)
    }

    /// As every output format spells it: `required`, `under-guarded`.
    pub const fn name(self) -> &'static str {
        match self {
            Reach::Required => "required",
            Reach::Guarded => "guarded",
            Reach::UnderGuarded => "under-guarded",
            Reach::Unreached => "unreached",
            Reach::Unknown => "unknown",
            Reach::Presumed => "presumed",
            Reach::Covered => "covered",
            Reach::Offered => "offered",
        }
    }
}

/// What kind of check guards a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuardKind {
    /// A branch on what the CPU has.
    Branch,
    /// A resolver that the loader calls.
    Ifunc,
    /// A pointer that is set by code that tests.
    Pointer,
    /// A table of pointers that is handed out by code that tests.
    Table,
    /// A guard that the user states.
    Stated,
    /// None that is known: the function's name says for which CPUs it is.
    Name,
}
