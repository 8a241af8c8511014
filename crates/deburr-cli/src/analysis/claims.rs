//! What the files of a batch are held to by `--baseline claim`: the claim of the package that they are in, of a folder of
//! glibc-hwcaps, of another folder or name where the package has none, or their own. A variant ([`super::variants`]) is held to what
//! its name says.
//!
//! In: a package, or a file. Out: [`Held`] for each of its files, and what is to be said of a package without a
//! claim that is understood. Nothing is taken for the first level where nothing says so.

use crate::names::ARCHES;
use deburr_core::image::isa_needed_of;
use deburr_cpu::{Arch, Target};
use deburr_package::claim::{Claim, Machines, Systems};
use std::sync::Arc;

/// What a file is held to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    /// The package, the part of one, or the file, that says so.
    pub(crate) part: String,
    /// What it says, with its place.
    pub(crate) text: String,
    pub(crate) level: Target,
    /// What its package claims, of a variant whose name says more.
    pub(crate) raised_from: Option<Target>,
    /// What else is said of the systems that it is for.
    pub(crate) systems: Systems,
}

/// The claims of one package.
#[derive(Debug, Default)]
pub(crate) struct Book {
    /// By the beginning of paths.
    held: Vec<Arc<Held>>,
    /// Whether the package claims nothing at all.
    is_silent: bool,
}

impl Book {
    /// Of the claims of a package; with what is to be said of those that hold nothing.
    pub(crate) fn of(claims: &[Claim]) -> (Book, Vec<(String, String)>) {
        let (mut book, mut said) = (Book { is_silent: claims.is_empty(), ..Book::default() }, Vec::new());
        for claim in claims {
            if let Err(why) = book.add(claim) {
                said.push((claim.part.clone(), why));
            }
        }
        (book, said)
    }

    fn add(&mut self, claim: &Claim) -> Result<(), String> {
        let (statement, machines) = claim.settled().map_err(|error| error.to_string())?;
        let text = statement.shown();
        if *machines == Machines::Unknown {
            return Err(format!("a claim that is not known here: {text}"));
        }
        for arch in ARCHES {
            let Some(name) = machines.level_for(family(arch)) else { continue };
            let level = Target::parse(name)
                .map_err(|error| format!("a claim that is not known here: {text}: {error}"))?;
            let (part, text) = (claim.part.clone(), text.clone());
            let systems = claim.systems();
            self.held.push(Arc::new(Held { part, text, level, raised_from: None, systems }));
        }
        Ok(())
    }

    /// What is to be said of a package, once its members are known: of how many binaries, and how many of them held to nothing.
    pub(crate) fn silence(&self, binaries: u64, held_to_nothing: u64) -> Option<String> {
        match (binaries - held_to_nothing, held_to_nothing) {
            _ if !self.is_silent => None,
            (1.., 0) => None,
            (0, _) => {
                Some("no claim: it does not say which machines it is for, and was held to nothing".to_owned())
            }
            _ => Some(format!(
                "no claim for {held_to_nothing} of its {binaries} binaries: neither it nor their paths say which machines they are \
                 for, and they were held to nothing"
            )),
        }
    }

    /// What a member of the package is held to: a folder of glibc-hwcaps goes before its package, and that before other paths. An
    /// archive has no architecture of its own: it is held to what there is, as far as its members are of that one.
    pub(crate) fn of_member(&self, path: &str, arch: Option<Arch>) -> Option<Arc<Held>> {
        let of_folder = of_folder(path).map(Arc::new);
        let is_within = |held: &&Arc<Held>| {
            let rest = path.strip_prefix(held.part.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['!', '(']))
        };
        let of_package = self.held.iter().filter(is_within).max_by_key(|held| held.part.len());
        let is_of_arch = |held: &Held| arch.is_none_or(|arch| held.level.arch == arch);
        let of_package = of_package
            .map(|longest| longest.part.as_str())
            .and_then(|part| self.held.iter().find(|held| held.part == part && is_of_arch(held)).cloned());
        // A package that says anything goes before its paths, also where it is for other machines.
        let silent = || self.is_silent.then(|| of_path(path, arch)).flatten();
        let of_path = || silent().filter(is_of_arch).map(Arc::new);
        let held = of_folder.filter(|held| is_of_arch(held)).or(of_package).or_else(of_path);
        held.map(|held| match python_of(path) {
            Some(pythons) if pythons != held.systems.pythons => {
                Arc::new(Held { systems: Systems { pythons, ..held.systems }, ..Held::clone(&held) })
            }
            _ => held,
        })
    }
}

/// The one version of CPython 3 that a module's name is for (PEP 3149): `_m.cpython-311-x86_64-linux-gnu.so`. No other one loads it.
fn python_of(path: &str) -> Option<u32> {
    let (_, tag) = path.strip_suffix(".so")?.rsplit_once(".cpython-")?;
    let minor: u32 = tag.split('-').next()?.strip_prefix('3')?.parse().ok()?;
    1u32.checked_shl(minor)
}

/// What a file that is in no package is held to.
pub(crate) fn of_file(path: &str, bytes: &[u8], arch: Option<Arch>) -> Option<Arc<Held>> {
    let of_note = || {
        let needed = isa_needed_of(bytes)?;
        // The first level has a name of its own there.
        let level = Target::parse(if needed == "x86-64-baseline" { "x86-64" } else { &needed }).ok()?;
        let text = format!("x86 ISA needed: {needed} (the ELF note)");
        Some(Held { part: path.to_owned(), text, level, raised_from: None, systems: Systems::default() })
    };
    of_folder(path).or_else(of_note).filter(|held| Some(held.level.arch) == arch).map(Arc::new)
}

/// What a folder `glibc-hwcaps/LEVEL` says of what is in it (ld.so(8), "glibc-hwcaps").
fn of_folder(path: &str) -> Option<Held> {
    const FOLDER: &str = "glibc-hwcaps/";
    let at = path.find(FOLDER)? + FOLDER.len();
    let (name, _) = path.get(at..)?.split_once('/')?;
    let level = Target::parse(name).ok()?;
    let part = path.get(..at + name.len())?.to_owned();
    Some(Held {
        part,
        text: format!("{FOLDER}{name} (the folder)"),
        level,
        raised_from: None,
        systems: Systems::default(),
    })
}

/// What a path says, of a member of a package that says nothing itself.
fn of_path(path: &str, arch: Option<Arch>) -> Option<Held> {
    let (part, statement) = deburr_package::claim::of_path(path)?;
    let mut arches = ARCHES.into_iter().filter(|known| arch.is_none_or(|arch| arch == *known));
    let name = arches.find_map(|arch| statement.machines.level_for(family(arch)))?;
    let level = Target::parse(name).ok()?;
    Some(Held {
        part: part.to_owned(),
        text: statement.shown(),
        level,
        raised_from: None,
        systems: Systems::default(),
    })
}

/// As claims call the levels of an architecture.
const fn family(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "x86-64",
        Arch::Aarch64 => "aarch64",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deburr_package::claim::{Artefact, Statement};

    fn claim(part: &str, machines: Machines) -> Claim {
        let statement = Statement {
            text: "says".to_owned(),
            place: "here".to_owned(),
            machines,
            refines: false,
            systems: Systems::default(),
        };
        Claim { part: part.to_owned(), artefact: Artefact::Deb, statements: vec![statement] }
    }

    fn level(name: &str) -> Machines {
        Machines::Level(name.to_owned())
    }

    #[test]
    fn members_are_held_to_the_claim_of_their_part() {
        let claims = [
            claim("p!amd64", level("x86-64")),
            claim("p!amd64/v3", level("x86-64-v3")),
            claim("p!arm", level("armv8.0-a")),
        ];
        let (book, said) = Book::of(&claims);
        assert_eq!(said, []);
        let of = |path: &str, arch| book.of_member(path, Some(arch)).map(|held| held.level.name.clone());
        assert_eq!(of("p!amd64!layer 1/1!bin/x", Arch::X86_64).as_deref(), Some("x86-64-v1"));
        assert_eq!(of("p!amd64/v3!layer 1/1!bin/x", Arch::X86_64).as_deref(), Some("x86-64-v3"));
        // A file of another architecture is not what the claim is about.
        assert_eq!(of("p!arm!layer 1/1!bin/x", Arch::X86_64), None);
        assert_eq!(of("q!bin/x", Arch::X86_64), None);
        let archive = book.of_member("p!amd64/v3!layer 1/1!lib/x.a", None);
        assert_eq!(archive.map(|held| held.level.name.clone()).as_deref(), Some("x86-64-v3"));
    }

    #[test]
    fn a_module_is_for_the_python_in_its_name() {
        for (path, expected) in [
            ("x.whl!m/_a.cpython-39-x86_64-linux-gnu.so", Some(1 << 9)),
            ("x.whl!m/_a.cpython-312.so", Some(1 << 12)),
            ("x.whl!m/_a.abi3.so", None),
            ("x.whl!m/_a.cpython-313t-x86_64-linux-gnu.so", None),
            ("x.whl!m/_a.so", None),
        ] {
            assert_eq!(python_of(path), expected, "{path}");
        }
    }

    #[test]
    fn folder_of_hwcaps_goes_before_its_package() {
        let (book, _) = Book::of(&[claim("p", level("x86-64"))]);
        let path = "p!usr/lib/glibc-hwcaps/x86-64-v3/libx.so";
        let held = book.of_member(path, Some(Arch::X86_64)).expect("a claim");
        assert_eq!(
            (held.level.name.as_str(), held.part.as_str()),
            ("x86-64-v3", "p!usr/lib/glibc-hwcaps/x86-64-v3")
        );
        assert_eq!(of_folder("glibc-hwcaps/x86-64-v3"), None);
        assert_eq!(of_folder("glibc-hwcaps/no-level/x"), None);
    }

    #[test]
    fn a_package_without_a_claim_that_is_understood_is_told() {
        for (claims, why) in [
            (&[claim("p", Machines::Unknown)], "a claim that is not known here: says (here)"),
            (&[claim("p", level("x86-64-v9"))], "a claim that is not known here: says (here): "),
        ] {
            let (book, said) = Book::of(claims);
            assert!(said.len() == 1 && said[0].1.starts_with(why), "{said:?}");
            assert_eq!(book.of_member("p!x", Some(Arch::X86_64)), None);
            assert_eq!(book.silence(1, 1), None, "said already");
        }
        let (_, said) = Book::of(&[claim("p", Machines::Any), claim("p", Machines::Elsewhere)]);
        assert_eq!(said, []);
    }

    #[test]
    fn package_that_claims_nothing_is_told_unless_the_paths_of_its_files_do() {
        let (book, said) = Book::of(&[]);
        assert_eq!(said, []);
        let of = |path: &str, arch| book.of_member(path, Some(arch)).map(|held| held.level.name.clone());
        assert_eq!(of("x.jar!Linux/x86_64/libx.so", Arch::X86_64).as_deref(), Some("x86-64-v1"));
        assert_eq!(of("x.jar!Linux/x86_64/libx.so", Arch::Aarch64), None);
        assert_eq!(of("x.jar!libx.so", Arch::X86_64), None);
        for (binaries, held_to_nothing, expected) in [
            (2, 0, None),
            (0, 0, Some("no claim: it does not say")),
            (2, 2, Some("no claim: it does not say")),
            (7, 3, Some("no claim for 3 of its 7 binaries: neither it nor their paths say")),
        ] {
            let said = book.silence(binaries, held_to_nothing);
            assert_eq!(said.is_some(), expected.is_some(), "{said:?}");
            assert!(said.unwrap_or_default().starts_with(expected.unwrap_or_default()));
        }
        // What the package says goes before its paths.
        let (book, _) = Book::of(&[claim("p", level("x86-64-v3"))]);
        let held = book.of_member("p!linux-x64/x.node", Some(Arch::X86_64)).expect("a claim");
        assert_eq!(held.level.name, "x86-64-v3");
    }
}
