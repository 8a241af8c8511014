//! The table of files: the binaries that were checked, and what could not be.

use super::column::Cell;
use super::name::Table;
use super::rowed::{BYTES, FLAG, INSNS, Of, RUN, Rowed, SHARE, TEXT, TEXTS, TIME, count, is, may};
use deburr_core::Report;
use deburr_core::listing::FunctionSize;
use deburr_core::report::{Answer, Atomics, Claim, NeededBy, Runtime};

/// What is known of a file that was checked.
#[derive(Debug, Clone, Copy)]
pub struct FileOf<'a> {
    /// The report, with its path.
    pub report: &'a Report,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: Option<&'a str>,
    /// Where its functions are that are above the first level, or have findings.
    pub sizes: &'a [FunctionSize],
}

pub(crate) struct Files;

pub(crate) struct FileRow<'r> {
    pub(crate) run: i64,
    pub(crate) artefact: Option<&'r str>,
    pub(crate) file: &'r str,
    pub(crate) path: &'r str,
    /// Its place in the artefact.
    pub(crate) member: Option<&'r str>,
    /// Or why there is nothing.
    pub(crate) of: Result<FileOf<'r>, &'r str>,
}

impl<'r> FileRow<'r> {
    fn report(&'r self) -> Option<&'r Report> {
        self.of.as_ref().ok().map(|file| file.report)
    }

    fn text(&'r self, of: impl Fn(&'r Report) -> &'r str) -> Cell<'r> {
        Cell::text(self.report().map(of))
    }

    fn texts(&'r self, of: impl Fn(&'r Report) -> &'r Vec<String>) -> Cell<'r> {
        Cell::texts(self.report().map(|report| of(report).as_slice()))
    }

    fn count(&'r self, of: impl Fn(&'r Report) -> u64) -> Cell<'r> {
        Cell::count(self.report().map(of))
    }

    fn atomics(&'r self, of: impl Fn(&'r Atomics) -> u64) -> Cell<'r> {
        Cell::count(self.report().and_then(|report| report.atomics.as_ref()).map(of))
    }

    fn claim(&'r self, of: impl Fn(&'r Claim) -> &'r str) -> Cell<'r> {
        Cell::text(self.report().and_then(|report| report.claim.as_ref()).map(of))
    }

    fn runtime(&'r self) -> Option<&'r Runtime> {
        self.report()?.runtime.as_ref()
    }

    fn needed_by(&'r self) -> Option<&'r NeededBy> {
        self.report()?.needed_by.as_ref()
    }
}

impl Rowed for Files {
    type Row<'r> = FileRow<'r>;
    const TABLE: Table = Table::Files;
    const COLUMNS: &'static [Of<Files>] = &[
        is("run", TIME, RUN, "", |row| Cell::Time(row.run)),
        may(
            "artefact",
            TEXT,
            "the id of the artefact that it is, or is in; none where that could not be read",
            "",
            |row| Cell::text(row.artefact),
        ),
        is("file", TEXT, "its id: the same for the same path in every run", "", |row| {
            Cell::text(Some(row.file))
        }),
        is("path", TEXT, "its path, after `!` within the package", "files[].path", |row| {
            Cell::text(Some(row.path))
        }),
        may(
            "member",
            TEXT,
            "its path within the artefact, the same for every version of a package",
            "",
            |row| Cell::text(row.member),
        ),
        may("sha256", TEXT, "SHA-256 of its bytes", "", |row| {
            Cell::text(row.of.as_ref().ok().and_then(|file| file.sha256))
        }),
        may("bytes", BYTES, "its size", "", |row| Cell::count(row.of.as_ref().ok().map(|file| file.bytes))),
        may("error", TEXT, "why it was not checked; none where it was", "skipped[].reason", |row| {
            Cell::text(row.of.as_ref().err().copied())
        }),
        may("arch", TEXT, "`x86_64` or `aarch64`", "files[].arch", |row| row.text(|it| &it.arch)),
        may("build_id", TEXT, "the build id, in hexadecimal digits", "files[].build_id", |row| {
            Cell::text(row.report().and_then(|it| it.build_id.as_deref()))
        }),
        may("level", TEXT, "the level that it needs in order to run", "files[].level", |row| {
            row.text(|it| &it.level)
        }),
        may(
            "needed_beyond",
            TEXTS,
            "features that it needs beyond the level",
            "files[].needed_beyond",
            |row| row.texts(|it| &it.needed_beyond),
        ),
        may(
            "level_guarded",
            TEXT,
            "the level with what it uses after checks of the CPU",
            "files[].level_guarded",
            |row| Cell::text(row.report().and_then(|it| it.level_guarded.as_deref())),
        ),
        may(
            "guarded_beyond",
            TEXTS,
            "features after checks, beyond that level",
            "files[].guarded_beyond",
            |row| row.texts(|it| &it.guarded_beyond),
        ),
        may("level_present", TEXT, "the level of all that it contains", "files[].level_present", |row| {
            row.text(|it| &it.level_present)
        }),
        may("level_beyond", TEXTS, "features present beyond that level", "files[].level_beyond", |row| {
            row.texts(|it| &it.level_beyond)
        }),
        may("runs_not", TEXTS, "the known CPUs that it does not run on", "files[].runs_on.not", |row| {
            row.texts(|it| &it.runs_on.not)
        }),
        may(
            "needed_by",
            TEXT,
            "the function that most raises what it needs",
            "files[].needed_by.function",
            |row| Cell::text(row.needed_by().and_then(|it| it.function.as_deref())),
        ),
        may("needed_by_svma", TEXT, "that function's address", "files[].needed_by.svma", |row| {
            Cell::owned(row.needed_by().map(|it| it.svma.to_string()))
        }),
        may("needed_by_root", TEXT, "what makes the path to it run", "files[].needed_by.root", |row| {
            Cell::named(row.needed_by().and_then(|it| it.root))
        }),
        may(
            "needed_features",
            TEXTS,
            "features above the first level that code needs without a check",
            "files[].needed_features",
            |row| row.texts(|it| &it.needed_features),
        ),
        may(
            "refuses",
            TEXTS,
            "features without which it ends the program, or fails to load; none where it does not test for that",
            "files[].refuses.features",
            |row| {
                let refusal = row.report().and_then(|it| it.refuses.as_ref());
                Cell::texts(refusal.map(|it| it.features.as_slice()))
            },
        ),
        may(
            "not_followed",
            count("functions"),
            "functions that are unknown",
            "files[].not_followed",
            |row| row.count(|it| it.not_followed),
        ),
        may(
            "answer",
            TEXT,
            "whether the baseline, or the claim, runs it: `runs`, `runs_presumed`, `undecided` or `dies`; none where neither applies",
            "files[].answer",
            |row| Cell::text(row.report().and_then(|it| it.answer).map(Answer::name)),
        ),
        may("baseline", TEXT, "the baseline that it was judged by", "files[].on_baseline.name", |row| {
            Cell::text(row.report().and_then(|it| it.on_baseline.as_ref()).map(|on| on.name.as_str()))
        }),
        may(
            "undecided_functions",
            count("functions"),
            "functions above the baseline that paths which were not followed may reach",
            "files[].on_baseline.undecided_functions",
            |row| {
                Cell::count(
                    row.report().and_then(|it| it.on_baseline.as_ref()).map(|on| on.undecided_functions),
                )
            },
        ),
        may(
            "xcr0_not_asked",
            FLAG,
            "whether it trusts cpuid alone for AVX",
            "files[].xcr0_not_asked",
            |row| row.report().map_or(Cell::Null, |it| Cell::Flag(it.xcr0_not_asked)),
        ),
        may("features", INSNS, "instructions by the feature that they need", "files[].features", |row| {
            row.report().map_or(Cell::Null, |it| Cell::Counts(&it.features))
        }),
        may(
            "compilers",
            TEXTS,
            "the compilers that made it, of `.comment`",
            "files[].build.compilers",
            |row| row.texts(|it| &it.build.compilers),
        ),
        may(
            "producers",
            TEXTS,
            "compilers with their flags, where DWARF has them",
            "files[].build.producers",
            |row| row.texts(|it| &it.build.producers),
        ),
        may("go_version", TEXT, "Go's version", "files[].build.go_version", |row| {
            Cell::text(row.report().and_then(|it| it.build.go_version.as_deref()))
        }),
        may(
            "isa_needed",
            TEXT,
            "the x86 level that its own note claims",
            "files[].build.isa_needed",
            |row| Cell::text(row.report().and_then(|it| it.build.isa_needed.as_deref())),
        ),
        may("properties", TEXTS, "`IBT`, `SHSTK`, `BTI`, `PAC`", "files[].build.properties", |row| {
            row.texts(|it| &it.build.properties)
        }),
        may("allocator", TEXT, "whose `malloc` it uses", "files[].runtime.allocator", |row| {
            Cell::text(row.runtime().and_then(|it| it.allocator.as_deref()))
        }),
        may(
            "starts_threads",
            FLAG,
            "whether it starts threads by itself",
            "files[].runtime.starts_threads",
            |row| {
                row.report()
                    .map_or(Cell::Null, |_| Cell::Flag(row.runtime().is_some_and(|it| it.starts_threads)))
            },
        ),
        may("openmp", TEXTS, "libraries of OpenMP that it uses", "files[].runtime.openmp", |row| {
            Cell::texts(row.runtime().map(|it| it.openmp.as_slice()))
        }),
        may("blas", TEXTS, "libraries of linear algebra that it uses", "files[].runtime.blas", |row| {
            Cell::texts(row.runtime().map(|it| it.blas.as_slice()))
        }),
        may(
            "static_tls",
            BYTES,
            "thread-local variables of a library that the loader must place in the static block",
            "files[].runtime.static_tls",
            |row| Cell::count(row.runtime().and_then(|it| it.static_tls)),
        ),
        may(
            "claim_level",
            TEXT,
            "the level that it was held to, with `--baseline claim`",
            "files[].claim.level",
            |row| row.claim(|it| &it.level),
        ),
        may("claim_text", TEXT, "that claim as it is written", "files[].claim.text", |row| {
            row.claim(|it| &it.text)
        }),
        may("claim_part", TEXT, "what makes that claim", "files[].claim.part", |row| {
            row.claim(|it| &it.part)
        }),
        may(
            "inline_llsc",
            count("loops"),
            "load-exclusive/store-exclusive loops without LSE",
            "files[].atomics.inline_llsc",
            |row| row.atomics(|it| it.inline_llsc),
        ),
        may(
            "inline_lse",
            count("instructions"),
            "inline LSE instructions",
            "files[].atomics.inline_lse",
            |row| row.atomics(|it| it.inline_lse),
        ),
        may(
            "helper_bodies",
            count("functions"),
            "bodies of outlined atomics",
            "files[].atomics.helper_bodies",
            |row| row.atomics(|it| it.helper_bodies),
        ),
        may(
            "outlined_calls",
            count("calls"),
            "calls of outlined atomics",
            "files[].atomics.outlined_calls",
            |row| row.atomics(|it| it.outlined_calls),
        ),
        may(
            "inline_dispatch",
            count("loops"),
            "loops next to LSE, chosen inline",
            "files[].atomics.inline_dispatch",
            |row| row.atomics(|it| it.inline_dispatch),
        ),
        may(
            "run_time_choice",
            count("loops"),
            "loops of functions chosen at run time",
            "files[].atomics.run_time_choice",
            |row| row.atomics(|it| it.run_time_choice),
        ),
        may(
            "not_a_missed_flag",
            count("loops"),
            "loops that no flag removes",
            "files[].atomics.not_a_missed_flag",
            |row| row.atomics(|it| it.not_a_missed_flag),
        ),
        may(
            "executable_bytes",
            BYTES,
            "its executable sections",
            "files[].coverage.executable_bytes",
            |row| row.count(|it| it.coverage.executable_bytes),
        ),
        may("decoded_bytes", BYTES, "instructions", "files[].coverage.decoded_bytes", |row| {
            row.count(|it| it.coverage.decoded_bytes)
        }),
        may("data_bytes", BYTES, "data in them", "files[].coverage.data_bytes", |row| {
            row.count(|it| it.coverage.data_bytes)
        }),
        may("undecoded_bytes", BYTES, "what is neither", "files[].coverage.undecoded_bytes", |row| {
            row.count(|it| it.coverage.undecoded_bytes)
        }),
        may("functions", count("functions"), "functions found", "files[].coverage.functions", |row| {
            row.count(|it| it.coverage.functions)
        }),
        may(
            "named_functions",
            count("functions"),
            "of those, with a name",
            "files[].coverage.named_functions",
            |row| row.count(|it| it.coverage.named_functions),
        ),
        may(
            "allowed",
            count("findings"),
            "findings that the user allows, in no table",
            "files[].allowed",
            |row| row.count(|it| it.allowed),
        ),
        may("share", SHARE, "what a profile saw of it", "files[].profile.share", |row| {
            let profile = row.report().and_then(|it| it.profile.as_ref());
            profile.map_or(Cell::Null, |it| Cell::Share(it.share.fraction()))
        }),
        may(
            "missing_libraries",
            TEXTS,
            "libraries that it needs and that were not found",
            "files[].missing_libraries",
            |row| row.texts(|it| &it.missing_libraries),
        ),
        may("faults", TEXTS, "faults that did not stop the check", "files[].faults", |row| {
            row.texts(|it| &it.faults)
        }),
        may(
            "over_budget",
            TEXT,
            "what its analyses had too small a budget for",
            "files[].over_budget",
            |row| match row.report().and_then(|it| it.over_budget.as_ref()) {
                Some(over_budget) => Cell::Text(over_budget.sentence().into()),
                None => Cell::Null,
            },
        ),
    ];
}
