//! Trees → what goes where.
//!
//! In: the variants and their entries. Out: a plan, which `place.rs` carries out; whatever cannot be laid out is refused
//! here, before anything is written.

use super::binary::{self, Binary, Kind};
use super::elf::{Elf, is_standard, own};
use super::interface::Interfaces;
use super::metadata;
use super::place::Roots;
use super::tree::{Entry, Trees};
use super::{AssembleError, Laid, Mechanism, Remark, Request, Source};
use crate::record::{InterfaceRecord, InterfaceState, LaidFile};
use crate::same::same_code;
use deburr_cpu::Arch;
use deburr_launcher::{Build, Model, Table, Variant};
use deburr_text::ShownPath as _;
use glob::{MatchOptions, Pattern};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The variants, lowest first.
pub(super) struct Levels {
    pub(super) sources: Vec<Source>,
    pub(super) dropped: Vec<String>,
    pub(super) arch: Arch,
}

impl Levels {
    pub(super) fn of(request: &Request) -> Result<Levels, AssembleError> {
        let names = || request.sources.iter().map(|source| source.level.clone()).collect::<Vec<_>>();
        let Some(arch) = request.sources.first().map(|source| source.arch) else {
            return Err(AssembleError::NoLowest(names()));
        };
        for (at, source) in request.sources.iter().enumerate() {
            if source.arch != arch {
                let reason = format!(
                    "{} is for another architecture than {}; assemble one tree for each architecture",
                    source.level, request.sources[0].level
                );
                return Err(AssembleError::Levels(reason));
            }
            if request.sources[..at].iter().any(|other| other.level == source.level) {
                return Err(AssembleError::Levels(format!("{} is given twice", source.level)));
            }
        }
        let mut sources = request.sources.clone();
        let is_lowest =
            |source: &Source| sources.iter().all(|other| source.features.is_subset(other.features));
        let Some(lowest) = sources.iter().position(is_lowest).filter(|_| sources.len() > 1) else {
            return Err(AssembleError::NoLowest(names()));
        };
        let lowest = sources.remove(lowest);
        sources.sort_by_key(|source| source.features.iter().count());
        let gains_nothing = |source: &Source| {
            !request.measured.is_empty()
                && request.measured.iter().all(|measured| measured.without_gain.contains(&source.level))
        };
        let dropped: Vec<String> =
            sources.iter().filter(|it| gains_nothing(it)).map(|it| it.level.clone()).collect();
        sources.retain(|source| !dropped.contains(&source.level));
        sources.insert(0, lowest);
        Ok(Levels { sources, dropped, arch })
    }
}

/// A file of several variants.
pub(super) struct Several {
    pub(super) path: PathBuf,
    pub(super) mechanism: Mechanism,
    /// Indices of variants, lowest first, and where the file of each goes.
    pub(super) files: Vec<(usize, PathBuf)>,
    /// Links that the variants need in their folders, and their targets.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// `None` where the dynamic loader chooses, or the program that opens it.
    pub(super) table: Option<Table>,
    /// The launcher, if it does not go into the place of the program.
    pub(super) launcher: Option<Launcher>,
}

/// A launcher that is not in the place of its program.
pub(super) struct Launcher {
    /// Where it goes.
    pub(super) path: PathBuf,
    /// What the place of the program is a link to: the launcher, or what leads to it.
    pub(super) called_as: PathBuf,
}

/// A file that is written besides those of the variants.
pub(super) struct Text {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) is_executable: bool,
}

/// What goes where.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) several: Vec<Several>,
    /// Files and links of the lowest tree.
    pub(super) copies: Vec<PathBuf>,
    pub(super) remarks: Vec<Remark>,
    /// Links of the trees of levels: the level, where, and the target.
    pub(super) links: Vec<(usize, PathBuf, PathBuf)>,
    /// Files of the trees of levels that are not what they are copied from: the level, where, and their bytes.
    pub(super) rewritten: Vec<(usize, PathBuf, Vec<u8>)>,
    /// Files of a level's package: those that say that its tree is whole, and what chooses on the machine.
    pub(super) texts: Vec<(usize, Text)>,
    /// Where whole trees and their launchers are.
    pub(super) place: Option<PathBuf>,
    /// The link that leads to what was chosen on the machine.
    pub(super) selection: Option<PathBuf>,
    /// Interfaces that were compared.
    pub(super) interfaces: Vec<InterfaceRecord>,
}

/// The file's bytes in a variant.
pub(super) fn read(source: &Source, path: &Path) -> Result<Vec<u8>, AssembleError> {
    let file = source.tree.join(path);
    fs::read(&file).map_err(|error| AssembleError::Io(file, error))
}

/// What the file is; and for each level the one whose file it starts: itself, or a lower one with the same code.
pub(super) fn variants_of(
    levels: &Levels,
    path: &Path,
    remarks: &mut Vec<Remark>,
) -> Result<(Option<Binary>, Vec<usize>), AssembleError> {
    let refuse = |source: &Source, reason: String| AssembleError::File(source.tree.join(path), reason);
    let mut contents: Vec<(usize, Vec<u8>)> = Vec::new();
    let mut file_of = Vec::new();
    let mut first: Option<Binary> = None;
    for (index, source) in levels.sources.iter().enumerate() {
        let bytes = read(source, path)?;
        if deburr_launcher::is_launcher(&bytes) {
            let reason =
                "it is a launcher: this tree is assembled already; start from the trees of the variants";
            return Err(refuse(source, reason.to_owned()));
        }
        let binary = match Binary::parse(&bytes) {
            Ok(binary) => binary,
            // What every variant has byte for byte need not be understood.
            Err(_) if contents.first().is_none_or(|(_, lowest)| *lowest == bytes) => None,
            Err(reason) => return Err(refuse(source, reason)),
        };
        if let Some(binary) = binary.as_ref().filter(|it| it.arch != levels.arch) {
            let reason = format!("it is for {}, and {} is not", binary.arch.name(), source.level);
            return Err(refuse(source, reason));
        }
        let is_elf = binary.is_some();
        if index == 0 {
            first = binary;
        } else if let (Some(first), Some(binary)) = (&first, &binary)
            && (first.kind, &first.name) != (binary.kind, &binary.name)
        {
            let reason = format!(
                "it is another kind of file, or has another SONAME, than the one for {}",
                levels.sources[0].level
            );
            return Err(refuse(source, reason));
        }
        let is_same = |(lower, known): &&(usize, Vec<u8>)| {
            levels.sources[*lower].features.is_subset(source.features)
                && (*known == bytes || (is_elf && same_code(known, &bytes).unwrap_or(false)))
        };
        let same = contents.iter().rev().find(is_same).map(|(lower, _)| *lower);
        file_of.push(same.unwrap_or(index));
        if same.is_none() {
            contents.push((index, bytes));
        }
    }
    if contents.len() > 1 && first.as_ref().is_none_or(|binary| binary.kind == Kind::Object) {
        let text = format!("differs between variants; taken from the one for {}", levels.sources[0].level);
        remarks.push(Remark { path: path.to_owned(), text });
        return Ok((None, vec![0; levels.sources.len()]));
    }
    Ok((first, file_of))
}

/// The trees' files by what is to be done with them; read and compared once, for either layout.
#[derive(Default)]
pub(super) struct Sorted<'t> {
    /// ELF files that are executed or loaded.
    pub(super) elf: Vec<Elf<'t>>,
    /// All else, which is copied from the lowest tree.
    copies: Vec<PathBuf>,
    remarks: Vec<Remark>,
}

impl<'t> Sorted<'t> {
    pub(super) fn of(levels: &Levels, trees: &'t Trees) -> Result<Sorted<'t>, AssembleError> {
        let mut sorted = Sorted::default();
        for (path, entry) in &trees.entries {
            match entry {
                Entry::Folder => {}
                Entry::Link(_) => sorted.copies.push(path.clone()),
                Entry::File => match variants_of(levels, path, &mut sorted.remarks)? {
                    (Some(binary), file_of) if binary.kind != Kind::Object => {
                        sorted.elf.push(Elf { path, binary, file_of });
                    }
                    _ => sorted.copies.push(path.clone()),
                },
            }
        }
        Ok(sorted)
    }

    /// The plan of what has no choice.
    pub(super) fn plan(&self) -> Plan {
        Plan { copies: self.copies.clone(), remarks: self.remarks.clone(), ..Plan::default() }
    }
}

impl Plan {
    pub(super) fn of(
        request: &Request,
        (levels, trees): (&Levels, &Trees),
        sorted: &Sorted<'_>,
        comparing: &mut dyn FnMut(&Path),
    ) -> Result<Plan, AssembleError> {
        let mut plan = sorted.plan();
        let all = &sorted.elf;
        let files = || trees.entries.iter().filter(|(_, entry)| **entry == Entry::File);
        let needed: BTreeSet<String> =
            all.iter().flat_map(|file| file.binary.needed.iter().cloned()).collect();
        let (differing, same): (Vec<&Elf<'_>>, Vec<_>) = all.iter().partition(|file| file.differs());
        plan.copies.extend(same.into_iter().map(|file| file.path.to_owned()));
        let libraries = differing.iter().filter(|file| file.binary.kind == Kind::Library);
        are_patterns_of(request, &libraries.map(|file| file.path).collect::<Vec<_>>())?;
        let interfaces = Interfaces::of(request, (levels, trees), all, &|_| true, comparing)?;
        plan.remarks.extend(interfaces.remarks());
        // A program and what it opens are chosen one by one here.
        let is_mixed = request.is_shared && all.iter().any(|file| file.binary.kind == Kind::Program);
        if is_mixed {
            let advice = "or lay out a tree for each level, without --layout shared";
            interfaces.refuse(levels, &differing, advice)?;
            plan.mention_the_same(&interfaces);
        }
        for file in differing {
            let Elf { path, binary, file_of } = file;
            let several = match binary.kind {
                Kind::Program => Some(program(request, levels, trees, path, binary, file_of)?),
                _ => plan.library(request, levels, file, &needed, &interfaces)?,
            };
            match several {
                Some(several) => plan.several.push(several),
                None => plan.copies.push(path.to_path_buf()),
            }
        }
        plan.interfaces = interfaces.records;
        for several in &plan.several {
            let tables = (several.mechanism == Mechanism::Table).then(|| table_of(&several.path));
            let new = several.files.iter().map(|(_, path)| path).filter(|path| **path != several.path);
            for path in new.chain(&tables) {
                if files().any(|(file, _)| file == path || path.starts_with(file)) {
                    let reason = "a variant would go here, but the trees have a file of this name".to_owned();
                    return Err(AssembleError::File(path.clone(), reason));
                }
            }
        }
        Ok(plan)
    }

    /// Says of which files of several levels it is shown that any level can use any other's.
    fn mention_the_same(&mut self, interfaces: &Interfaces) {
        let mut paths: BTreeMap<&Path, bool> = BTreeMap::new();
        for record in &interfaces.records {
            *paths.entry(&record.path).or_insert(true) &= record.state == InterfaceState::Same;
        }
        let same = paths.into_iter().filter(|(_, is_same)| *is_same);
        let text = "its interface is shown to be the same at each level";
        self.remarks.extend(same.map(|(path, _)| Remark { path: path.to_owned(), text: text.to_owned() }));
    }

    /// Where the variants of a library go; `None`, after a remark, where only the lowest can be used.
    pub(super) fn library(
        &mut self,
        request: &Request,
        levels: &Levels,
        file: &Elf<'_>,
        needed: &BTreeSet<String>,
        interfaces: &Interfaces,
    ) -> Result<Option<Several>, AssembleError> {
        let Elf { path, binary, file_of } = file;
        let (path, kept) = (*path, file.own());
        let mut remark = |text: String| self.remarks.push(Remark { path: path.to_owned(), text });
        let (Some(folder), Some(file_name)) = (path.parent(), path.file_name().and_then(|it| it.to_str()))
        else {
            return Err(AssembleError::File(path.to_owned(), "expected a name in UTF-8".to_owned()));
        };
        let lowest = &levels.sources[0].level;
        if binary.search.iter().any(|folder| folder.contains("$ORIGIN") || folder.contains("${ORIGIN}")) {
            remark(format!(
                "its RUNPATH has $ORIGIN, which another folder would change; only the variant for {lowest} is used"
            ));
            return Ok(None);
        }
        let name = file.name();
        // A module that is only opened by name has no SONAME, whatever it is called.
        let is_folder_of_libraries =
            is_standard(folder) || ["lib", "lib64"].iter().any(|it| folder.ends_with(it));
        let is_standard = is_folder_of_libraries && file_name.starts_with("lib") && binary.name.is_some();
        let is_guessed = needed.contains(name) || needed.contains(file_name) || is_standard;
        let is_by_name = has_match(&request.by_name, path);
        if has_match(&request.by_loader, path) || (is_guessed && !is_by_name) {
            let is_hwcap = |level: &str| ["x86-64-v2", "x86-64-v3", "x86-64-v4"].contains(&level);
            let mut files = vec![(0, path.to_owned())];
            for index in &kept[1..] {
                let level = &levels.sources[*index].level;
                if !is_hwcap(level) {
                    remark(format!(
                        "the dynamic loader has no folder for {level}; a program can choose with deburr_select.c instead"
                    ));
                } else if let Some(unshown) = interfaces.get(path, *index) {
                    remark(format!("only the variant for {lowest} is used: {unshown}"));
                } else {
                    files.push((*index, folder.join("glibc-hwcaps").join(level).join(name)));
                }
            }
            let several = Several {
                path: path.to_owned(),
                mechanism: Mechanism::Loader,
                files,
                links: Vec::new(),
                table: None,
                launcher: None,
            };
            return Ok((several.files.len() > 1).then_some(several));
        }
        // A program that selects one was built with the types of its own level.
        let of_this = interfaces.records.iter().filter(|record| record.path == path);
        let differs = of_this.filter(|record| record.state == InterfaceState::Differs && !record.accepted);
        differs.for_each(|record| remark(record.finding()));
        let variants_folder = format!("{file_name}.variants");
        let (mut files, mut variants) = (Vec::new(), Vec::new());
        let place = |index: usize| match index {
            0 => file_name.to_owned(),
            _ => format!("{variants_folder}/{}/{file_name}", levels.sources[index].level),
        };
        files.extend(kept.iter().map(|&index| (index, folder.join(place(index)))));
        variants.extend(named(levels, path, file_of, place)?);
        let table = table(request, levels, variants, None);
        Ok(Some(Several {
            path: path.to_owned(),
            mechanism: Mechanism::Table,
            files,
            links: Vec::new(),
            table: Some(table),
            launcher: None,
        }))
    }

    /// For the record: the files of several variants, relative to the output, which is composed in a folder.
    pub(super) fn files(
        &self,
        levels: &Levels,
        roots: &Roots,
        composed: &Path,
    ) -> Result<Vec<LaidFile>, AssembleError> {
        let mut found = Vec::new();
        for several in &self.several {
            for (index, path) in &several.files {
                let path = roots.of(*index).join(path);
                let bytes = fs::read(&path).map_err(|error| AssembleError::Io(path.clone(), error))?;
                let Build { id, loaded } = binary::build_of(&bytes);
                let path = path.strip_prefix(composed).unwrap_or(&path).to_owned();
                let level = levels.sources[*index].level.clone();
                found.push(LaidFile { level, path, build_id: id, loaded });
            }
        }
        Ok(found)
    }

    /// For the report.
    pub(super) fn laid(&self, levels: &Levels) -> Vec<Laid> {
        let laid = self.several.iter().map(|it| Laid {
            path: it.path.clone(),
            mechanism: it.mechanism,
            levels: it.files.iter().map(|(index, _)| levels.sources[*index].level.clone()).collect(),
        });
        laid.collect()
    }
}

/// How patterns match paths: `*` stays in its folder, `**` does not.
const MATCHING: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

pub(super) fn has_match(patterns: &[Pattern], path: &Path) -> bool {
    patterns.iter().any(|pattern| pattern.matches_path_with(path, MATCHING))
}

/// Whether each pattern selects a library, and none that a pattern of the other kind selects.
pub(super) fn are_patterns_of(request: &Request, libraries: &[&Path]) -> Result<(), AssembleError> {
    for (patterns, others) in [(&request.by_name, &request.by_loader), (&request.by_loader, &request.by_name)]
    {
        for pattern in patterns {
            let mut selected =
                libraries.iter().filter(|path| pattern.matches_path_with(path, MATCHING)).peekable();
            let reason = if selected.peek().is_none() {
                "no library whose variants differ has a path like this, relative to the tree"
            } else if selected.any(|path| has_match(others, path)) {
                "a library is selected both as opened by name and as found by the loader"
            } else {
                continue;
            };
            return Err(AssembleError::Pattern(pattern.clone(), reason));
        }
    }
    Ok(())
}

/// The table's file of a library that is opened by name.
pub(super) fn table_of(library: &Path) -> PathBuf {
    let mut name = library.as_os_str().to_owned();
    name.push(".deburr");
    PathBuf::from(name)
}

/// All levels, each with the path of the file that it starts and the build of that file: the same levels can be asked for in every
/// program of a tree.
fn named(
    levels: &Levels,
    file: &Path,
    file_of: &[usize],
    path: impl Fn(usize) -> String,
) -> Result<Vec<Variant>, AssembleError> {
    let mut variants = Vec::new();
    for (source, &index) in levels.sources.iter().zip(file_of) {
        let build = binary::build_of(&read(&levels.sources[index], file)?);
        variants.push(Variant { build, ..variant(source, path(index)) });
    }
    Ok(variants)
}

/// A variant at a path, in the launcher's own file or without a known build.
pub(super) fn variant(source: &Source, path: String) -> Variant {
    Variant {
        level: source.level.clone(),
        features: source.demanded(),
        path,
        payload: None,
        build: Build::default(),
        marker: None,
    }
}

/// The table, with the preferences among its variants.
pub(super) fn table(
    request: &Request,
    levels: &Levels,
    variants: Vec<Variant>,
    prefix: Option<String>,
) -> Table {
    let has = |level: &String| variants.iter().any(|variant| variant.level == *level);
    let models = request.measured.iter().map(|measured| Model {
        maker: measured.maker,
        signature: measured.signature,
        levels: measured.preferred.iter().filter(|level| has(level)).cloned().collect(),
    });
    let models = models.filter(|model| !model.levels.is_empty()).collect();
    Table { arch: levels.arch, variants, models, prefix, is_own_tree: false }
}

/// Whether a program runs with more rights than its user (set-user-ID, set-group-ID): its launcher needs to know where it will be.
pub(super) fn is_privileged(
    request: &Request,
    levels: &Levels,
    program: &Path,
) -> Result<bool, AssembleError> {
    let refuse = |reason: &str| Err(AssembleError::File(program.to_owned(), reason.to_owned()));
    let file = levels.sources[0].tree.join(program);
    let data = fs::metadata(&file).map_err(|error| AssembleError::Io(file.clone(), error))?;
    let is_privileged = data.permissions().mode() & 0o6000 != 0;
    if is_privileged && request.prefix.is_none() {
        return refuse(
            "it is set-user-ID or set-group-ID: --prefix must name the folder where the tree will be installed, because only there it may look for variants",
        );
    }
    if metadata::is_with_capabilities(&file) {
        return refuse(
            "it has file capabilities, which the kernel would drop when the launcher starts a variant; remove them, and grant them to each variant after installing",
        );
    }
    Ok(is_privileged)
}

/// Where the folder of a program's launcher will be installed, if that is stated. A program that runs with more rights than its user
/// looks for variants only there: one that is set-user-ID or set-group-ID, and one that a security module gives a domain of its own
/// (SELinux, AppArmor), of which its file knows nothing.
pub(super) fn prefix_of(
    request: &Request,
    levels: &Levels,
    program: &Path,
    folder: &Path,
) -> Result<Option<String>, AssembleError> {
    is_privileged(request, levels, program)?;
    let prefix = request.prefix.as_ref();
    Ok(prefix.map(|prefix| format!("{}/{}", prefix.trim_end_matches('/'), folder.shown())))
}

/// Where the variants of a program go.
fn program(
    request: &Request,
    levels: &Levels,
    trees: &Trees,
    path: &Path,
    binary: &Binary,
    file_of: &[usize],
) -> Result<Several, AssembleError> {
    let refuse = |reason: &str| AssembleError::File(path.to_owned(), reason.to_owned());
    let text = |part: Option<&std::ffi::OsStr>| part.and_then(|part| part.to_str()).map(str::to_owned);
    let name = text(path.file_name()).ok_or_else(|| refuse("expected a name in UTF-8"))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let Some(folder_name) = text(folder.file_name()) else {
        return Err(refuse(
            "it is at the top of the tree, where its variants can have no sibling folder; install it into a folder such as bin/",
        ));
    };
    let above = folder.parent().unwrap_or(Path::new(""));
    let prefix = prefix_of(request, levels, path, folder)?;
    let (mut files, mut links) = (Vec::new(), Vec::new());
    let sibling_of = |index: usize| format!("{folder_name}-{}", levels.sources[index].level);
    for index in own(file_of) {
        let sibling = sibling_of(index);
        if trees.entries.contains_key(&above.join(&sibling)) {
            let reason =
                format!("its variants would go to {}, which the trees have", above.join(&sibling).shown());
            return Err(refuse(&reason));
        }
        for first in beside(binary) {
            let Some(first) = first else {
                // `$ORIGIN` itself: whatever is next to the program.
                for (entry, kind) in &trees.entries {
                    let is_library = entry.to_str().is_some_and(|it| it.contains(".so"));
                    if entry.parent() == Some(folder) && *kind != Entry::Folder && is_library {
                        links.extend(link(above, &sibling, &folder_name, entry.file_name()));
                    }
                }
                let hwcaps = std::ffi::OsStr::new("glibc-hwcaps");
                links.extend(link(above, &sibling, &folder_name, Some(hwcaps)));
                continue;
            };
            links.extend(link(above, &sibling, &folder_name, Some(std::ffi::OsStr::new(first))));
        }
        files.push((index, above.join(&sibling).join(&name)));
    }
    let variants = named(levels, path, file_of, |index| format!("../{}/{name}", sibling_of(index)))?;
    let table = table(request, levels, variants, prefix);
    Ok(Several {
        path: path.to_owned(),
        mechanism: Mechanism::Launcher,
        files,
        links,
        table: Some(table),
        launcher: None,
    })
}

/// A link in a sibling folder to what is in the program's own.
fn link(
    above: &Path,
    sibling: &str,
    folder: &str,
    name: Option<&std::ffi::OsStr>,
) -> Option<(PathBuf, PathBuf)> {
    let name = name?;
    Some((above.join(sibling).join(name), Path::new("..").join(folder).join(name)))
}

/// What a program looks for below its own folder: the first name below it, or `None` for the folder itself. What is
/// reached through `..` needs no link, because a sibling has the same parent.
fn beside(binary: &Binary) -> Vec<Option<&str>> {
    let mut names = Vec::new();
    for folder in &binary.search {
        let Some(below) = folder.strip_prefix("$ORIGIN").or_else(|| folder.strip_prefix("${ORIGIN}")) else {
            continue;
        };
        let first = below.split('/').find(|part| !part.is_empty() && *part != ".");
        if first != Some("..") && !names.contains(&first) {
            names.push(first);
        }
    }
    names
}
