//! What packages state, and what decides among several statements.

use std::fmt;

/// A kind of package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Artefact {
    /// A Python wheel.
    Wheel,
    /// A Debian package.
    Deb,
    /// An RPM package.
    Rpm,
    /// A container image, or one of several in a layout.
    Image,
    /// A conda package.
    Conda,
    /// A package of npm.
    Npm,
    /// An application or library for Android.
    Android,
}

impl Artefact {
    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Artefact::Wheel => "wheel",
            Artefact::Deb => "deb",
            Artefact::Rpm => "rpm",
            Artefact::Image => "image",
            Artefact::Conda => "conda",
            Artefact::Npm => "npm",
            Artefact::Android => "android",
        }
    }
}

/// For which machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Machines {
    /// Those of a level or more, by a name that `deburr_cpu::Target` reads: `x86-64`, `x86-64-v3`, `armv8.0-a`,
    /// `x86-64+avx2`.
    Level(String),
    /// Those of several architectures, by such names: each file is for one of them.
    Several(Vec<String>),
    /// All: it has no machine code.
    Any,
    /// Those of another architecture or system, which is not looked into.
    Elsewhere,
    /// Something that is not known here.
    Unknown,
}

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// As it is written: `Architecture-Variant: amd64v3`.
    pub text: String,
    /// Where: `control`, `the file name`.
    pub place: String,
    /// What it means.
    pub machines: Machines,
    /// Whether it only refines what others state of the architecture.
    pub refines: bool,
    /// What else it says of systems that it is for.
    pub systems: Systems,
}

/// What a statement says of the systems that it is for, apart from their processors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Systems {
    /// The largest pages, in bytes, where it says so.
    pub largest_page: Option<u64>,
    /// The oldest glibc, by major and minor version, where it says so.
    pub oldest_glibc: Option<(u32, u32)>,
    /// The minor versions of CPython 3, as bits: bit 11 is Python 3.11. 0 where it does not say.
    pub pythons: u32,
}

impl Systems {
    /// Those of both.
    #[must_use]
    pub fn and(self, other: Systems) -> Systems {
        let glibc = self.oldest_glibc.into_iter().chain(other.oldest_glibc);
        Systems {
            largest_page: self.largest_page.max(other.largest_page),
            oldest_glibc: glibc.min(),
            pythons: self.pythons | other.pythons,
        }
    }
}

/// What a package, or a part of it, says of the machines that it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The part: what the paths of its members begin with, from [`crate::read`]; the package's own path where it is
    /// all of it.
    pub part: String,
    /// The kind of package.
    pub artefact: Artefact,
    /// All that it says; at least one.
    pub statements: Vec<Statement>,
}

/// Statements of one package that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// Two of them, as they are written, with their places.
    pub statements: [String; 2],
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, other] = &self.statements;
        write!(f, "contradicting claims: {one}, but {other}")
    }
}

impl std::error::Error for Contradiction {}

impl Statement {
    pub(super) fn new(place: &str, text: String, machines: Machines) -> Statement {
        Statement {
            text: crate::name::shown(text.as_bytes()),
            place: place.to_owned(),
            machines,
            refines: false,
            systems: Systems::default(),
        }
    }

    pub(super) fn refining(self) -> Statement {
        Statement { refines: true, ..self }
    }

    /// As people read it.
    pub fn shown(&self) -> String {
        format!("{} ({})", self.text, self.place)
    }
}

/// The architecture of a level's name.
fn family(level: &str) -> &'static str {
    if level.starts_with("x86-64") { "x86-64" } else { "aarch64" }
}

impl Machines {
    /// The level for files of an architecture, by its family `x86-64` or `aarch64`.
    pub fn level_for(&self, architecture: &str) -> Option<&str> {
        let levels = match self {
            Machines::Level(level) => std::slice::from_ref(level),
            Machines::Several(levels) => levels.as_slice(),
            Machines::Any | Machines::Elsewhere | Machines::Unknown => &[],
        };
        levels.iter().map(String::as_str).find(|level| family(level) == architecture)
    }
}

impl Claim {
    /// What all that it says is of the systems that it is for.
    pub fn systems(&self) -> Systems {
        self.statements.iter().fold(Systems::default(), |all, statement| all.and(statement.systems))
    }

    /// The statement that decides, and the machines that it names: what refines wins over what does not.
    ///
    /// # Errors
    /// [`Contradiction`], where two refining ones differ, or two are of different architectures.
    pub fn settled(&self) -> Result<(&Statement, &Machines), Contradiction> {
        let contradiction = |one: &Statement, other: &Statement| Contradiction {
            statements: [one, other].map(Statement::shown),
        };
        let mut best: Option<&Statement> = None;
        for statement in &self.statements {
            let Some(before) = best else {
                best = Some(statement);
                continue;
            };
            let is_same = match (&before.machines, &statement.machines) {
                (Machines::Level(one), Machines::Level(other)) => {
                    let (both_refine, neither) =
                        (before.refines && statement.refines, !before.refines && !statement.refines);
                    if (both_refine || neither) && one != other || family(one) != family(other) {
                        return Err(contradiction(before, statement));
                    }
                    true
                }
                // What is not known decides, so that nothing is presumed.
                (_, Machines::Unknown) | (Machines::Unknown, _) => true,
                (one, other) => one == other,
            };
            if !is_same {
                return Err(contradiction(before, statement));
            }
            let is_stronger = statement.machines == Machines::Unknown
                || statement.refines && !before.refines && before.machines != Machines::Unknown;
            if is_stronger {
                best = Some(statement);
            }
        }
        match best {
            Some(best) => Ok((best, &best.machines)),
            None => Err(Contradiction { statements: ["nothing".to_owned(), "nothing".to_owned()] }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(text: &str, machines: Machines, refines: bool) -> Statement {
        Statement {
            text: text.to_owned(),
            place: "here".to_owned(),
            machines,
            refines,
            systems: Systems::default(),
        }
    }

    fn level(name: &str, refines: bool) -> Statement {
        statement(name, Machines::Level(name.to_owned()), refines)
    }

    fn settled(statements: Vec<Statement>) -> Result<Machines, String> {
        let claim = Claim { part: "p".to_owned(), artefact: Artefact::Wheel, statements };
        claim.settled().map(|(_, machines)| machines.clone()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_refining_statement_wins_over_the_general_one() {
        let found = settled(vec![level("x86-64", false), level("x86-64-v3", true), level("x86-64", false)]);
        assert_eq!(found, Ok(Machines::Level("x86-64-v3".to_owned())));
        assert_eq!(settled(vec![statement("any", Machines::Any, false)]), Ok(Machines::Any));
    }

    #[test]
    fn statements_that_contradict_each_other_settle_nothing() {
        let any = || statement("any", Machines::Any, false);
        for statements in [
            vec![level("x86-64", false), level("armv8.0-a", false)],
            vec![level("x86-64-v2", true), level("x86-64-v3", true)],
            vec![level("x86-64", false), level("armv8.1-a", true)],
            vec![any(), level("x86-64", false)],
        ] {
            let error = settled(statements).unwrap_err();
            assert!(error.starts_with("contradicting claims: "), "{error}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_taken_for_the_first_level() {
        let unknown = || statement("?", Machines::Unknown, true);
        for statements in [vec![level("x86-64", false), unknown()], vec![unknown(), level("x86-64-v3", true)]]
        {
            assert_eq!(settled(statements), Ok(Machines::Unknown));
        }
    }
}
