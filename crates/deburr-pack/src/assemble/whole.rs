//! Whole trees: the variants → a tree for each level, and a launcher for each program, which starts one of one tree.
//!
//! In: the variants and their entries. Out: a plan, which `place.rs` carries out. A process then runs code of one level: types whose
//! size or alignment follows the level are the same in a program and in the libraries and plug-ins that it opens.
//!
//! | in the output | what |
//! |---|---|
//! | `PLACE/ID/LEVEL/…` | the programs, private libraries and plug-ins of a level; links to all that the levels share |
//! | `PLACE/ID/LEVEL_whole` | a marker, which comes after the tree and goes before it where files are sorted by their paths |
//! | `PLACE/start/bin/prog` | the launcher; it comes after all trees |
//! | `bin/prog` | a link to it |
//! | all else | as in the lowest tree |
//!
//! `ID` is a hash of what is in the trees. So a new version of a package writes beside the old trees and over none of them, and what
//! decides is one launcher, which is replaced at once.

use super::binary::{Binary, Kind};
use super::place::Roots;
use super::plan::{Levels, Plan, Several, are_patterns_of, has_match, own, read, table, variant};
use super::tree::{Entry, Trees};
use super::{AssembleError, Mechanism, Remark, Request, binary, metadata};
use deburr_launcher::Variant;
use deburr_text::ShownPath as _;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// The folder of the launchers in the place of the trees: behind every ID, which is of hexadecimal digits.
const START: &str = "start";

/// An ELF file of the trees.
struct Elf<'t> {
    path: &'t Path,
    binary: Binary,
    /// For each level, the one whose file has the same code: itself, or a lower one.
    file_of: Vec<usize>,
}

impl Elf<'_> {
    fn differs(&self) -> bool {
        own(&self.file_of).len() > 1
    }

    /// The name by which others need it.
    fn name(&self) -> &str {
        let file = self.path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        self.binary.name.as_deref().filter(|name| !name.contains('/')).unwrap_or(file)
    }

    /// Folders of the trees in which it looks for libraries, relative to itself.
    fn search(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let here = self.path.parent().unwrap_or(Path::new(""));
        let relative =
            self.binary.search.iter().filter_map(|folder| {
                folder.strip_prefix("$ORIGIN").or_else(|| folder.strip_prefix("${ORIGIN}"))
            });
        relative.map(move |below| lexical(&here.join(below.trim_start_matches('/'))))
    }
}

impl Plan {
    /// The plan of whole trees; `None` where no program of the trees could choose one.
    pub(super) fn whole(
        request: &Request,
        levels: &Levels,
        trees: &Trees,
    ) -> Result<Option<Plan>, AssembleError> {
        let mut plan = Plan::default();
        let mut files = Vec::new();
        for (path, entry) in &trees.entries {
            match entry {
                Entry::Folder => {}
                Entry::Link(_) => plan.copies.push(path.clone()),
                Entry::File => match plan.variants_of(levels, path)? {
                    (Some(binary), file_of) if binary.kind != Kind::Object => {
                        files.push(Elf { path, binary, file_of });
                    }
                    _ => plan.copies.push(path.clone()),
                },
            }
        }
        let libraries = || files.iter().filter(|file| file.differs() && file.binary.kind == Kind::Library);
        are_patterns_of(request, &libraries().map(|file| file.path).collect::<Vec<_>>())?;
        let (mut private, mut others) = (Vec::new(), Vec::new());
        for file in libraries() {
            match is_private(request, file, &files) {
                true => private.push(file),
                false => others.push(file),
            }
        }
        let started = started(&files, &private);
        if started.is_empty() {
            return Ok(None);
        }
        is_found_from_a_tree(&started, &private)?;
        let needed = files.iter().flat_map(|file| file.binary.needed.iter().cloned()).collect();
        for file in &others {
            match plan.library(request, levels, file.path, &file.binary, &file.file_of, &needed)? {
                Some(several) => plan.several.push(several),
                None => plan.copies.push(file.path.to_owned()),
            }
        }
        let is_other = |file: &Elf<'_>| others.iter().any(|other| other.path == file.path);
        let is_started = |file: &Elf<'_>| started.iter().any(|other| other.path == file.path);
        let stays = files.iter().filter(|file| !is_other(file) && !is_started(file));
        plan.copies.extend(stays.map(|file| file.path.to_owned()));
        Composer::of(request, levels, trees, &started, &private)?.compose(&mut plan)?;
        Ok(Some(plan))
    }
}

/// Whether a library is only for the programs of the trees: it is a plug-in, or what needs it looks for it relative to itself. Any
/// other may be loaded by programs outside, and then the loader chooses.
fn is_private(request: &Request, library: &Elf<'_>, files: &[Elf<'_>]) -> bool {
    if has_match(&request.by_loader, library.path) || has_match(&request.by_name, library.path) {
        return false;
    }
    let folder = library.path.parent().unwrap_or(Path::new(""));
    let finds = |file: &Elf<'_>| {
        file.binary.needed.iter().any(|name| name == library.name()) && file.search().any(|it| it == folder)
    };
    // A module that is only opened by name has none of its own.
    let is_for_others =
        is_standard(folder) && library.binary.name.is_some() && library.name().starts_with("lib");
    !is_for_others || files.iter().any(finds)
}

/// Whether the loader looks into a folder by itself (ld.so(8)), wherever the trees will be installed.
fn is_standard(folder: &Path) -> bool {
    let parts: Vec<&str> = folder.iter().filter_map(OsStr::to_str).collect();
    let below = match parts.as_slice() {
        ["usr", "local", rest @ ..] | ["usr", rest @ ..] => rest,
        rest => rest,
    };
    matches!(below, ["lib" | "lib64"]) || matches!(below, ["lib", triplet] if triplet.contains("-linux-"))
}

/// The programs that launchers start: those whose own code differs, those that need a private library whose code does, and where
/// there are plug-ins, all that could open one.
fn started<'f, 't>(files: &'f [Elf<'t>], private: &[&Elf<'t>]) -> Vec<&'f Elf<'t>> {
    let by_name: BTreeMap<&str, &Elf<'_>> = files
        .iter()
        .filter(|file| file.binary.kind == Kind::Library)
        .map(|file| (file.name(), file))
        .collect();
    let needed: BTreeSet<&str> =
        files.iter().flat_map(|file| &file.binary.needed).map(String::as_str).collect();
    let has_plug_ins = private.iter().any(|library| !needed.contains(library.name()));
    let needs_private = |program: &Elf<'_>| {
        let mut waiting: Vec<&str> = program.binary.needed.iter().map(String::as_str).collect();
        let mut seen = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            let Some(library) = by_name.get(name).filter(|_| seen.insert(name.to_owned())) else { continue };
            if private.iter().any(|it| it.path == library.path) {
                return true;
            }
            waiting.extend(library.binary.needed.iter().map(String::as_str));
        }
        false
    };
    let is_dynamic = |program: &Elf<'_>| !program.binary.needed.is_empty();
    let programs = files.iter().filter(|file| file.binary.kind == Kind::Program);
    programs.filter(|it| it.differs() || (has_plug_ins && is_dynamic(it)) || needs_private(it)).collect()
}

/// Whether what is started finds the private libraries of its own tree: by an absolute RUNPATH it would load those of the lowest.
fn is_found_from_a_tree(started: &[&Elf<'_>], private: &[&Elf<'_>]) -> Result<(), AssembleError> {
    for file in started.iter().chain(private) {
        let absolute = file.binary.search.iter().filter(|folder| folder.starts_with('/'));
        for folder in absolute {
            let wanted = lexical(Path::new(folder.trim_start_matches('/')));
            let holds = |library: &&&Elf<'_>| {
                library.path.parent().is_some_and(|it| !it.as_os_str().is_empty() && wanted.ends_with(it))
            };
            if let Some(library) = private.iter().find(holds) {
                let reason = format!(
                    "its RUNPATH {folder} leads to {} of the lowest level from every tree; link it with \
                     -Wl,-rpath,'$ORIGIN/…', or pass --layout shared",
                    library.path.shown()
                );
                return Err(AssembleError::File(file.path.to_owned(), reason));
            }
        }
    }
    Ok(())
}

/// What makes the trees of a plan.
struct Composer<'a> {
    request: &'a Request,
    levels: &'a Levels,
    trees: &'a Trees,
    started: &'a [&'a Elf<'a>],
    private: &'a [&'a Elf<'a>],
    /// For each level, the one whose tree it uses: itself, or a lower one of the same code.
    tree_of: Vec<usize>,
    /// The folder of the trees whose image each level's tree is.
    root: PathBuf,
    /// Where the trees and the launchers are.
    place: PathBuf,
    /// Of what is in the trees, in hexadecimal digits.
    id: String,
}

impl<'a> Composer<'a> {
    fn of(
        request: &'a Request,
        levels: &'a Levels,
        trees: &'a Trees,
        started: &'a [&'a Elf<'a>],
        private: &'a [&'a Elf<'a>],
    ) -> Result<Composer<'a>, AssembleError> {
        let code_of = |level: usize| -> Vec<usize> {
            started.iter().chain(private).map(|file| file.file_of[level]).collect()
        };
        let codes: Vec<Vec<usize>> = (0..levels.sources.len()).map(code_of).collect();
        let first_like =
            |level: usize| (0..=level).find(|lower| codes[*lower] == codes[level]).unwrap_or(level);
        let tree_of: Vec<usize> = (0..codes.len()).map(first_like).collect();
        let mut hash = Sha256::new();
        for index in own(&tree_of) {
            hash.update(levels.sources[index].level.as_bytes());
            for file in started.iter().chain(private) {
                hash.update(file.path.as_os_str().as_encoded_bytes());
                hash.update(Sha256::digest(read(&levels.sources[index], file.path)?));
            }
        }
        let id: String = hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let root = root_of(trees);
        let place = match &request.place {
            Some(place) => place.clone(),
            None => {
                let name = started.first().and_then(|program| program.path.file_name()).unwrap_or_default();
                root.join("lib").join(name)
            }
        };
        let is_taken = |above: &&Path| trees.entries.get(*above).is_some_and(|entry| *entry != Entry::Folder);
        if let Some(above) = place.ancestors().find(is_taken) {
            let reason =
                "the trees of the levels would go below it, and it is no folder; name another --place";
            return Err(AssembleError::File(above.to_owned(), reason.to_owned()));
        }
        for taken in [place.join(&id), place.join(START)] {
            if trees.entries.contains_key(&taken) {
                let reason =
                    "the trees of the levels would go here, but the trees have it; name another --place";
                return Err(AssembleError::File(taken, reason.to_owned()));
            }
        }
        Ok(Composer { request, levels, trees, started, private, tree_of, root, place, id })
    }

    fn compose(&self, plan: &mut Plan) -> Result<(), AssembleError> {
        let all: Vec<&Elf<'_>> = self.started.iter().chain(self.private).copied().collect();
        for file in &all {
            let is_started = file.binary.kind == Kind::Program;
            plan.several.push(Several {
                path: file.path.to_owned(),
                mechanism: if is_started { Mechanism::Launcher } else { Mechanism::Tree },
                files: own(&self.tree_of)
                    .into_iter()
                    .map(|level| (level, self.in_tree(level, file.path)))
                    .collect(),
                links: Vec::new(),
                table: if is_started { Some(self.table(file)?) } else { None },
                launcher: is_started.then(|| self.launcher(file.path)),
            });
            plan.remarks.extend(self.remark(file)?);
        }
        // Each folder in which a tree has a file of its own is a folder of the tree; all else are links.
        let mut folders: BTreeSet<&Path> = BTreeSet::new();
        let above =
            |path: &'a Path| path.ancestors().skip(1).take_while(|above| above.starts_with(&self.root));
        all.iter().for_each(|file| folders.extend(above(file.path)));
        // A link to a folder in which the trees are would be a way around in a circle.
        let has = |folder: &&Path| self.trees.entries.contains_key(*folder);
        folders.extend(self.place.ancestors().filter(has).take_while(|it| it.starts_with(&self.root)));
        for level in own(&self.tree_of) {
            for (path, entry) in &self.trees.entries {
                let is_here = path.parent().is_some_and(|parent| folders.contains(parent));
                let is_own = folders.contains(path.as_path()) || all.iter().any(|file| file.path == path);
                if !is_here || is_own || *path == self.root {
                    continue;
                }
                let link = self.in_tree(level, path);
                let to = match entry {
                    Entry::Link(target) if self.is_within(path, target) => target.clone(),
                    _ => relative(link.parent().unwrap_or(Path::new("")), path),
                };
                plan.links.push((level, link, to));
            }
            if level > 0 {
                let text = format!("All files of the tree {} are there.\n", self.levels.sources[level].level);
                plan.markers.push((level, self.marker(level), text));
            }
        }
        Ok(())
    }

    /// Where a file of a level's tree is.
    fn in_tree(&self, level: usize, path: &Path) -> PathBuf {
        let level = &self.levels.sources[self.tree_of[level]].level;
        self.place.join(&self.id).join(level).join(path.strip_prefix(&self.root).unwrap_or(path))
    }

    fn marker(&self, level: usize) -> PathBuf {
        self.place.join(&self.id).join(format!("{}_whole", self.levels.sources[self.tree_of[level]].level))
    }

    fn launcher(&self, program: &Path) -> PathBuf {
        self.place.join(START).join(program.strip_prefix(&self.root).unwrap_or(program))
    }

    /// Whether a link leads to what is in the tree of each level, too.
    fn is_within(&self, link: &Path, target: &Path) -> bool {
        let folder = link.parent().unwrap_or(Path::new(""));
        target.is_relative() && lexical(&folder.join(target)).starts_with(&self.root)
    }

    /// What the launcher of a program reads.
    fn table(&self, program: &Elf<'_>) -> Result<deburr_launcher::Table, AssembleError> {
        let refuse = |reason: &str| AssembleError::File(program.path.to_owned(), reason.to_owned());
        let file = self.levels.sources[0].tree.join(program.path);
        let data = fs::metadata(&file).map_err(|error| AssembleError::Io(file.clone(), error))?;
        let is_privileged = data.permissions().mode() & 0o6000 != 0;
        if is_privileged && self.request.prefix.is_none() {
            return Err(refuse(
                "it is set-user-ID or set-group-ID: --prefix must name the folder where the tree will be installed, because only there it may look for variants",
            ));
        }
        if metadata::is_with_capabilities(&file) {
            return Err(refuse(
                "it has file capabilities, which the kernel would drop when the launcher starts a variant; remove them, and grant them to each variant after installing",
            ));
        }
        let launcher = self.launcher(program.path);
        let folder = launcher.parent().unwrap_or(Path::new(""));
        let from_here = |path: &Path| -> Result<String, AssembleError> {
            relative(folder, path)
                .into_os_string()
                .into_string()
                .map_err(|_| refuse("expected a name in UTF-8"))
        };
        let mut variants = Vec::new();
        for (index, source) in self.levels.sources.iter().enumerate() {
            let tree = self.tree_of[index];
            let path = from_here(&self.in_tree(index, program.path))?;
            let marker = if tree > 0 { Some(from_here(&self.marker(index))?) } else { None };
            let build = binary::build_of(&read(&self.levels.sources[tree], program.path)?);
            variants.push(Variant { build, marker, ..variant(source, path) });
        }
        let prefix = self.request.prefix.as_ref().filter(|_| is_privileged);
        let prefix = prefix.map(|prefix| format!("{}/{}", prefix.trim_end_matches('/'), folder.shown()));
        let table = table(self.request, self.levels, variants, prefix);
        Ok(deburr_launcher::Table { is_own_tree: true, ..table })
    }

    /// Mentions a file that may open plug-ins of the lowest level by an absolute path.
    fn remark(&self, file: &Elf<'_>) -> Result<Option<Remark>, AssembleError> {
        let at_root = ["usr", "opt"].iter().any(|top| self.root.starts_with(top));
        let folders: BTreeSet<&Path> =
            self.private.iter().filter_map(|it| it.path.parent()).filter(|it| !is_standard(it)).collect();
        if !at_root || folders.is_empty() {
            return Ok(None);
        }
        let bytes = read(&self.levels.sources[0], file.path)?;
        for folder in folders {
            let path = format!("/{}", folder.shown());
            if memchr::memmem::find(&bytes, path.as_bytes()).is_some() {
                let text = format!(
                    "it holds the path {path}: what it opens there and not relative to itself is of {}",
                    self.levels.sources[0].level
                );
                return Ok(Some(Remark { path: file.path.to_owned(), text }));
            }
        }
        Ok(None)
    }
}

/// The folder that a program takes for the root of what it is installed with: `usr`, `usr/local` or `opt/NAME` where all is there.
fn root_of(trees: &Trees) -> PathBuf {
    let files: Vec<&Path> = trees
        .entries
        .iter()
        .filter(|(_, entry)| **entry != Entry::Folder)
        .map(|(path, _)| path.as_path())
        .collect();
    let optional = files.first().map(|first| first.iter().take(2).collect::<PathBuf>());
    let optional = optional.filter(|it| it.starts_with("opt") && it.iter().count() == 2);
    let mut candidates = vec![PathBuf::from("usr/local"), PathBuf::from("usr")];
    candidates.extend(optional);
    candidates
        .into_iter()
        .find(|root| files.iter().all(|file| file.starts_with(root) && file.parent() != Some(root)))
        .unwrap_or_default()
}

/// A path without `.` and, as far as that is known, without `..`.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// The path from a folder to a file, both relative to the same one.
pub(super) fn relative(folder: &Path, to: &Path) -> PathBuf {
    let common = folder.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    up.chain(to.components().skip(common)).collect()
}

/// Writes what only a plan of whole trees has: links into the output, and markers, which come last.
pub(super) fn write(plan: &Plan, roots: &Roots) -> Result<(), AssembleError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| AssembleError::Io(path, error)
    };
    for (level, link, target) in &plan.links {
        let link = roots.of(*level).join(link);
        if let Some(folder) = link.parent() {
            fs::create_dir_all(folder).map_err(io(folder))?;
        }
        std::os::unix::fs::symlink(target, &link).map_err(io(&link))?;
    }
    for (level, marker, text) in &plan.markers {
        let marker = roots.of(*level).join(marker);
        fs::write(&marker, text).map_err(io(&marker))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_from_a_folder_lead_up_and_down() {
        for (folder, to, expected) in [
            ("usr/lib/p/start/bin", "usr/lib/p/0a/v3/bin/prog", "../../0a/v3/bin/prog"),
            ("usr/bin", "usr/lib/p/start/bin/prog", "../lib/p/start/bin/prog"),
            ("", "share", "share"),
            ("a/b", "a/b/c", "c"),
        ] {
            assert_eq!(relative(Path::new(folder), Path::new(to)), Path::new(expected));
        }
        assert_eq!(lexical(Path::new("usr/bin/../lib/./x")), Path::new("usr/lib/x"));
        assert_eq!(lexical(Path::new("../x")), Path::new("../x"));
    }

    #[test]
    fn only_folders_that_the_loader_knows_are_standard() {
        for folder in ["lib", "usr/lib", "usr/lib64", "usr/local/lib", "usr/lib/x86_64-linux-gnu"] {
            assert!(is_standard(Path::new(folder)), "{folder}");
        }
        for folder in
            ["", "usr/lib/postgresql", "usr/lib/x86_64-linux-gnu/gstreamer-1.0", "opt/x/lib", "plugins"]
        {
            assert!(!is_standard(Path::new(folder)), "{folder}");
        }
    }
}
