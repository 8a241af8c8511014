//! Why a function stays unknown: the stable names of the causes, as every output format spells them.

use crate::address::Svma;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Why it is not proven whether a check is before a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Cause {
    /// A branch depends on the CPU in a manner that is not followed.
    UnknownTest,
    /// The test, or the code that stores the pointer, has its knowledge from a function of another file.
    AnotherFile,
    /// The test depends on what a function of the file returns that reports the CPU by its name. How it learns that was lost.
    NamedQuery,
    /// A resolver in another member of the archive chooses it.
    ResolverElsewhere,
    /// Code that is not known to test stores the function's address, or hands it out.
    PointerStored,
    /// A table in data holds the function's address, and who calls through it is not followed.
    PointerTable,
    /// Code makes the function's address, and where that goes is not seen; or something chooses one of several.
    AddressEscapes,
    /// Other files may call the function, and the file has checks of its own: the callers may have to test.
    ExportedBesideChecks,
    /// The operating system grants what the instruction works on: a protection key, tagged memory.
    GrantedBySystem,
    /// Go's run-time library keeps what it learns where it is not followed.
    GoRuntime,
    /// Code that belongs to no known function refers to it.
    NoFunctionBounds,
    /// The analysis stopped there: too many functions, instructions or pointers in between.
    LimitOfAnalysis,
    /// The budget of the file's analysis was spent: nothing that it had found is used.
    Budget,
}

impl Cause {
    /// The name in reports: `unknown-test`, `pointer-stored`, ….
    pub const fn name(self) -> &'static str {
        match self {
            Cause::UnknownTest => "unknown-test",
            Cause::AnotherFile => "another-file",
            Cause::NamedQuery => "named-query",
            Cause::ResolverElsewhere => "resolver-elsewhere",
            Cause::PointerStored => "pointer-stored",
            Cause::PointerTable => "pointer-table",
            Cause::AddressEscapes => "address-escapes",
            Cause::ExportedBesideChecks => "exported-beside-checks",
            Cause::GrantedBySystem => "granted-by-system",
            Cause::GoRuntime => "go-runtime",
            Cause::NoFunctionBounds => "no-function-bounds",
            Cause::LimitOfAnalysis => "limit-of-analysis",
            Cause::Budget => "budget",
        }
    }
}

/// Why one function stays unknown, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Because {
    /// Why.
    pub cause: Cause,
    /// The test, the store, the table: what the reader has to look at. `None` where the cause is the file's.
    pub at: Option<Svma>,
    /// Of a table, the instruction that refers to it.
    pub referrer: Option<Svma>,
    /// The function that is queried, where that is the cause. Of other causes: a function or an object of another file that may
    /// carry what no code of this one tests.
    pub import: Option<Arc<str>>,
}

impl Because {
    /// A cause with its place.
    pub(crate) const fn at(cause: Cause, at: Svma) -> Because {
        Because { cause, at: Some(at), referrer: None, import: None }
    }

    /// What a resolver in another member of the archive chooses by a name.
    pub(crate) fn of_resolver(name: &str) -> Because {
        let cause = Cause::ResolverElsewhere;
        Because { cause, at: None, referrer: None, import: Some(name.into()) }
    }

    /// A cause that is the whole file's.
    pub(crate) const fn of_file(cause: Cause) -> Because {
        Because { cause, at: None, referrer: None, import: None }
    }
}
