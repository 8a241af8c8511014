//! The variants of the trees' libraries → which of them may be loaded by what another level was built with.
//!
//! In: the ELF files of the trees. Out: for each variant whether its interface is that of the lowest level ([`crate::abi`]), and where
//! it is not, why, so that the plan keeps the lowest variant, or nothing is laid out. A library that is not shown to be the same holds
//! back what needs it: that was built with its types.

use super::binary::Kind;
use super::elf::Elf;
use super::plan::{Levels, has_match, read};
use super::tree::{Entry, Trees};
use super::{AssembleError, Remark, Request};
use crate::abi::{Build, Headers, Verdict, compare, is_debug_file_of};
use crate::record::{InterfaceRecord, InterfaceState};
use deburr_core::image::debuglink_of;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What became of the interfaces of the trees' files.
#[derive(Default)]
pub(super) struct Interfaces {
    /// What was found, for the record.
    pub(super) records: Vec<InterfaceRecord>,
    /// By path and level, why what another level was built with must not load the variant, and what to do.
    unshown: BTreeMap<(PathBuf, usize), Unshown>,
}

/// An interface that is not shown to be the same.
struct Unshown {
    text: String,
    /// Whether it is shown to be another one.
    differs: bool,
}

impl Interfaces {
    /// Compares the interfaces of files whose code differs. `of` are those to be compared, among all ELF files of the trees;
    /// `comparing` hears of each before.
    pub(super) fn of(
        request: &Request,
        (levels, trees): (&Levels, &Trees),
        all: &[Elf<'_>],
        of: &dyn Fn(&Elf<'_>) -> bool,
        comparing: &mut dyn FnMut(&Path),
    ) -> Result<Interfaces, AssembleError> {
        let mut found = Interfaces::default();
        let headers = headers(levels, trees)?;
        for file in all.iter().filter(|file| of(file)) {
            // What was built in the same tree may have had all headers of the sources.
            let is_needed =
                all.iter().any(|other| other.binary.needed.iter().any(|name| name == file.name()));
            let headers = (is_public(file) && !is_needed && !headers.is_empty()).then_some(&headers);
            for index in file.own().into_iter().skip(1) {
                comparing(file.path);
                let verdict = verdict(levels, file, index, headers)?;
                found.note(request, levels, file, (index, verdict));
            }
        }
        found.hold_back(levels, all);
        Ok(found)
    }

    fn note(
        &mut self,
        request: &Request,
        levels: &Levels,
        file: &Elf<'_>,
        (index, verdict): (usize, Verdict),
    ) {
        let is_by_loader = file.binary.kind == Kind::Library && has_match(&request.by_loader, file.path);
        if file.binary.kind == Kind::Program && verdict == Verdict::Same {
            // Few programs export anything.
            return;
        }
        let (state, reasons, advice) = match verdict {
            Verdict::Same => (InterfaceState::Same, Vec::new(), ""),
            Verdict::Differs(reasons) => (InterfaceState::Differs, reasons, OF_DIFFERING),
            Verdict::Unknown(reasons) => (InterfaceState::Unknown, reasons, OF_UNKNOWN),
        };
        let accepted = match state {
            InterfaceState::Same => false,
            InterfaceState::Differs => is_by_loader,
            InterfaceState::Unknown => is_by_loader || request.is_unproven_accepted,
        };
        let record = InterfaceRecord {
            path: file.path.to_owned(),
            level: levels.sources[index].level.clone(),
            state,
            reasons,
            accepted,
        };
        if state != InterfaceState::Same && !accepted {
            let text = format!("{}; {advice}", record.finding());
            let differs = state == InterfaceState::Differs;
            self.unshown.insert((file.path.to_owned(), index), Unshown { text, differs });
        }
        self.records.push(record);
    }

    /// Notes what needs a library that stays at the lowest level.
    fn hold_back(&mut self, levels: &Levels, all: &[Elf<'_>]) {
        let by_name: BTreeMap<&str, &Elf<'_>> = all
            .iter()
            .filter(|file| file.binary.kind == Kind::Library)
            .map(|file| (file.name(), file))
            .collect();
        for level in 1..levels.sources.len() {
            loop {
                let held = |file: &Elf<'_>| -> Option<Unshown> {
                    let mut needed = file.binary.needed.iter().filter_map(|name| by_name.get(name.as_str()));
                    let first = needed.find(|it| it.path != file.path && self.at(it, level).is_some())?;
                    let Unshown { text, differs } = self.at(first, level)?;
                    let text =
                        format!("it needs {}, of which only the lowest level is used: {text}", first.name());
                    Some(Unshown { text, differs: *differs })
                };
                let free = all.iter().filter(|file| self.at(file, level).is_none());
                let found: Vec<((PathBuf, usize), Unshown)> = free
                    .filter_map(|file| Some(((file.path.to_owned(), *file.file_of.get(level)?), held(file)?)))
                    .collect();
                if found.is_empty() {
                    break;
                }
                self.unshown.extend(found);
            }
        }
    }

    fn at(&self, file: &Elf<'_>, level: usize) -> Option<&Unshown> {
        self.unshown.get(&(file.path.to_owned(), *file.file_of.get(level)?))
    }

    /// Why a variant is not to be loaded by what another level was built with, if it is not.
    pub(super) fn get(&self, path: &Path, index: usize) -> Option<&str> {
        self.unshown.get(&(path.to_owned(), index)).map(|unshown| unshown.text.as_str())
    }

    /// What whoever lays out is told: interfaces that were believed to be the same.
    pub(super) fn remarks(&self) -> impl Iterator<Item = Remark> + '_ {
        self.records.iter().filter(|record| record.accepted).map(|record| Remark {
            path: record.path.clone(),
            text: format!("taken for the same at each level, which was not shown: {}", record.finding()),
        })
    }

    /// The files of which some level is not shown to have the lowest one's interface, each with the first such level.
    fn unshown<'s>(
        &'s self,
        levels: &'s Levels,
        files: &'s [&Elf<'_>],
    ) -> impl Iterator<Item = (&'s Path, usize, &'s Unshown)> {
        files.iter().filter_map(|file| {
            let mut levels = 1..levels.sources.len();
            let (level, unshown) = levels.find_map(|level| Some((level, self.at(file, level)?)))?;
            Some((file.path, level, unshown))
        })
    }

    /// Refuses a layout in which one of these files would be loaded by what another level was built with, or the other way round.
    pub(super) fn refuse(
        &self,
        levels: &Levels,
        files: &[&Elf<'_>],
        advice: &str,
    ) -> Result<(), AssembleError> {
        refused(self.unshown(levels, files), advice)
    }

    /// As [`Interfaces::refuse`], but only where the interfaces are shown to differ.
    pub(super) fn refuse_differing(
        &self,
        levels: &Levels,
        files: &[&Elf<'_>],
        advice: &str,
    ) -> Result<(), AssembleError> {
        refused(self.unshown(levels, files).filter(|(.., unshown)| unshown.differs), advice)
    }

    /// What whoever lays out is told of these files, whose processes use the lowest level of what they need: it is not known whether
    /// that is right.
    pub(super) fn unknown(&self, levels: &Levels, files: &[&Elf<'_>]) -> Vec<Remark> {
        let unknown = self.unshown(levels, files).filter(|(.., unshown)| !unshown.differs);
        let remark = |(path, level, unshown): (&Path, usize, &Unshown)| Remark {
            path: path.to_owned(),
            text: format!("at {}, {}", levels.sources[level].level, unshown.text),
        };
        unknown.map(remark).collect()
    }
}

fn refused<'s>(
    files: impl Iterator<Item = (&'s Path, usize, &'s Unshown)>,
    advice: &str,
) -> Result<(), AssembleError> {
    let refused: Vec<(PathBuf, String)> =
        files.map(|(path, _, unshown)| (path.to_owned(), format!("{}; {advice}", unshown.text))).collect();
    if refused.is_empty() { Ok(()) } else { Err(AssembleError::Interfaces(refused)) }
}

/// What to do where the interface differs.
const OF_DIFFERING: &str = "--by-loader GLOB takes it for the same; of a public library, types that no installed header defines do not count";
/// What to do where nothing is known.
const OF_UNKNOWN: &str = "build with -g, so that types can be compared; --by-loader GLOB or --unproven-types takes it for the same";

/// Whether a library has a name by which programs outside link with it: a plug-in has none.
fn is_public(file: &Elf<'_>) -> bool {
    file.binary.kind == Kind::Library && file.binary.name.is_some() && file.name().starts_with("lib")
}

/// The headers that the trees install.
fn headers(levels: &Levels, trees: &Trees) -> Result<Headers, AssembleError> {
    let mut headers = Headers::default();
    for (path, entry) in &trees.entries {
        let is_header = *entry == Entry::File && path.iter().any(|folder| folder == "include");
        if let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|_| is_header) {
            headers.add(name, read(&levels.sources[0], path)?);
        }
    }
    Ok(headers)
}

/// Compares a file of a level with that of the lowest.
fn verdict(
    levels: &Levels,
    file: &Elf<'_>,
    index: usize,
    headers: Option<&Headers>,
) -> Result<Verdict, AssembleError> {
    let files = [read(&levels.sources[0], file.path)?, read(&levels.sources[index], file.path)?];
    let debug = |level: usize, at: usize| debug_file(&levels.sources[level].tree, file.path, &files[at]);
    let debug = [debug(0, 0), debug(index, 1)];
    let build = |level: usize, at: usize| Build {
        level: &levels.sources[level].level,
        arch: levels.arch,
        features: levels.sources[level].features,
        bytes: &files[at],
        is_program: file.binary.kind == Kind::Program,
        debug: debug[at].as_deref(),
    };
    Ok(compare(&build(0, 0), &build(index, 1), headers))
}

/// The separate debug file of a file: where GDB looks for it, within the tree.
fn debug_file(tree: &Path, path: &Path, bytes: &[u8]) -> Option<Vec<u8>> {
    let (name, checksum) = debuglink_of(bytes)?;
    let name = Some(name).filter(|name| !name.contains('/'))?;
    let folder = path.parent()?;
    let places = [
        folder.join(&name),
        folder.join(".debug").join(&name),
        Path::new("usr/lib/debug").join(folder).join(&name),
        Path::new("lib/debug").join(folder).join(&name),
    ];
    let mut found = places.iter().filter_map(|place| fs::read(tree.join(place)).ok());
    found.find(|debug| is_debug_file_of(debug, bytes, checksum))
}
