//! The table of functions: those above the first level, those with findings, and those that took most of a profile.

use super::column::Cell;
use super::name::Table;
use super::rowed::{BYTES, INSNS, Of, RUN, Rowed, SHARE, TEXT, TEXTS, TIME, count, is, may};
use deburr_core::listing::FunctionSize;
use deburr_core::report::{Hex, HotFunction, IsaFunction, PlacedFinding, Step};
use std::borrow::Cow;

pub(crate) struct Functions;

pub(crate) struct FunctionRow<'r> {
    pub(crate) run: i64,
    pub(crate) file: &'r str,
    pub(crate) svma: Hex,
    pub(crate) section: Option<&'r str>,
    /// What is known of one above the first level.
    pub(crate) above: Option<&'r IsaFunction>,
    /// How large it is.
    pub(crate) size: Option<&'r FunctionSize>,
    /// The first finding in it, and how many there are.
    pub(crate) finding: Option<&'r PlacedFinding>,
    pub(crate) findings: u64,
    /// What a profile saw of one that took much.
    pub(crate) hot: Option<&'r HotFunction>,
}

impl<'r> FunctionRow<'r> {
    fn first(
        &'r self,
        above: impl Fn(&'r IsaFunction) -> Option<&'r str>,
        finding: impl Fn(&'r PlacedFinding) -> Option<&'r str>,
        hot: impl Fn(&'r HotFunction) -> Option<&'r str>,
    ) -> Cell<'r> {
        Cell::text(match (self.above, self.finding) {
            (Some(it), _) => above(it),
            (None, Some(it)) => finding(it),
            (None, None) => self.hot.and_then(hot),
        })
    }
}

/// A step without a name is its address.
fn route(above: &IsaFunction) -> Cell<'_> {
    fn named(step: &Step) -> Cow<'_, str> {
        match &step.function {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(step.svma.to_string()),
        }
    }
    Cell::Texts(above.path.iter().map(named).collect())
}

impl Rowed for Functions {
    type Row<'r> = FunctionRow<'r>;
    const TABLE: Table = Table::Functions;
    const COLUMNS: &'static [Of<Functions>] = &[
        is("run", TIME, RUN, "", |row| Cell::Time(row.run)),
        is("file", TEXT, "the id of its file", "", |row| Cell::text(Some(row.file))),
        may("function", TEXT, "its name, demangled", "files[].isa_functions[].function", |row| {
            row.first(|it| it.function.as_deref(), |it| it.function.as_deref(), |it| it.function.as_deref())
        }),
        may("near", TEXT, "where it is, if it has no name", "files[].isa_functions[].near", |row| {
            row.first(|it| it.near.as_deref(), |it| it.near.as_deref(), |_| None)
        }),
        is("svma", TEXT, "its address", "files[].isa_functions[].svma", |row| {
            Cell::owned(Some(row.svma.to_string()))
        }),
        may(
            "section",
            TEXT,
            "of an object, the section that the address is an offset in",
            "files[].isa_functions[].section",
            |row| Cell::text(row.section),
        ),
        may("size", BYTES, "its length, with the parts that were split off", "", |row| {
            Cell::count(row.size.map(|it| it.size))
        }),
        may("level", TEXT, "the level that covers what it uses, and the features beyond that", "", |row| {
            Cell::text(row.size.map(|it| it.level.as_str()))
        }),
        may(
            "features",
            INSNS,
            "its instructions by feature above the first level; none of one on that level",
            "files[].isa_functions[].features",
            |row| row.above.map_or(Cell::Null, |it| Cell::Counts(&it.features)),
        ),
        may(
            "reach",
            TEXT,
            "whether a check of the CPU is before it",
            "files[].isa_functions[].reach",
            |row| Cell::named(row.above.map(|it| it.reach)),
        ),
        may("root", TEXT, "what makes the path to it run", "files[].isa_functions[].root", |row| {
            Cell::named(row.above.and_then(|it| it.root))
        }),
        may(
            "route",
            TEXTS,
            "the functions of that path, or their addresses",
            "files[].isa_functions[].path[]",
            |row| row.above.map_or(Cell::Null, route),
        ),
        may("guard", TEXT, "the kind of check before it", "files[].isa_functions[].guard.kind", |row| {
            Cell::named(row.above.and_then(|it| it.guard.as_ref()).map(|it| it.kind))
        }),
        may(
            "guard_function",
            TEXT,
            "the function that checks",
            "files[].isa_functions[].guard.function",
            |row| {
                Cell::text(row.above.and_then(|it| it.guard.as_ref()).and_then(|it| it.function.as_deref()))
            },
        ),
        may(
            "guard_features",
            TEXTS,
            "the features that the check proves",
            "files[].isa_functions[].guard.features",
            |row| Cell::texts(row.above.and_then(|it| it.guard.as_ref()).map(|it| it.features.as_slice())),
        ),
        may(
            "endangered",
            TEXTS,
            "the CPUs that pass the check and lack what it needs",
            "files[].isa_functions[].endangered",
            |row| Cell::texts(row.above.and_then(|it| it.endangered.as_deref())),
        ),
        may("because", TEXT, "why it is unknown", "files[].isa_functions[].because", |row| {
            Cell::named(row.above.and_then(|it| it.because))
        }),
        may("group", TEXT, "what it is unknown with", "files[].isa_functions[].group", |row| {
            Cell::text(row.above.and_then(|it| it.group.as_deref()))
        }),
        may("share", SHARE, "what a profile saw of it", "files[].isa_functions[].share", |row| {
            let share = row.above.map_or_else(|| row.size.and_then(|it| it.share), |it| it.share);
            share.map_or(Cell::Null, |it| Cell::Share(it.fraction()))
        }),
        is("findings", count("findings"), "findings in it", "", |row| Cell::Count(row.findings)),
    ];
}
