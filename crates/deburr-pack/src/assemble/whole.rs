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
//! | `PLACE/selected` | with `--select`: the link through which `bin/prog` leads to the launcher or to one tree (`select.rs`) |
//!
//! `ID` is a hash of what is in the trees. So a new version of a package writes beside the old trees and over none of them, and what
//! decides is one launcher, which is replaced at once.

use super::binary::Kind;
use super::elf::{Elf, is_standard, lexical, own};
use super::interface::Interfaces;
use super::place::{self, Roots};
use super::plan::{
    Launcher, Levels, Plan, Several, Sorted, Text, are_patterns_of, has_match, is_privileged, prefix_of,
    read, table, variant,
};
use super::redirect::{Leads, Redirects};
use super::runpath::with_runpath;
use super::select::{self, Selection};
use super::tree::{Entry, Trees};
use super::{AssembleError, Mechanism, Remark, Request, binary};
use deburr_launcher::Variant;
use deburr_text::ShownPath as _;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The folder of the launchers in the place of the trees: behind every ID, which is of hexadecimal digits.
pub(crate) const START: &str = "start";
/// The hexadecimal digits of an ID.
pub(crate) const ID_DIGITS: usize = 12;

impl Plan {
    /// The plan of whole trees; `None` where no program of the trees could choose one.
    pub(super) fn whole(
        request: &Request,
        (levels, trees): (&Levels, &Trees),
        sorted: &Sorted<'_>,
        comparing: &mut dyn FnMut(&Path),
    ) -> Result<Option<Plan>, AssembleError> {
        let mut plan = sorted.plan();
        let files = &sorted.elf;
        let libraries = files.iter().filter(|file| file.binary.kind == Kind::Library);
        let differing: Vec<&Path> =
            libraries.clone().filter(|file| file.differs()).map(|file| file.path).collect();
        are_patterns_of(request, &differing)?;
        let (private, public): (Vec<_>, Vec<_>) =
            libraries.partition(|library| is_private(request, library, files));
        let loads = Loads::of(files, private);
        let started = loads.started(files);
        if started.is_empty() {
            return Ok(None);
        }
        let private = loads.private_of(&started);
        let needed = files.iter().flat_map(|file| file.binary.needed.iter().cloned()).collect();
        let is_public = |file: &Elf<'_>| public.iter().any(|it| it.path == file.path);
        let interfaces = Interfaces::of(request, (levels, trees), files, &is_public, comparing)?;
        // A process of a level's tree would load the lowest level's variant.
        let in_trees: Vec<&Elf<'_>> = started.iter().chain(&private).copied().collect();
        let advice = "or link it with -Wl,-rpath,'$ORIGIN/…', so that each level has its own";
        interfaces.refuse_differing(levels, &in_trees, advice)?;
        plan.remarks.extend(interfaces.remarks());
        plan.remarks.extend(interfaces.unknown(levels, &in_trees));
        let mut laid: BTreeSet<&Path> = started.iter().map(|file| file.path).collect();
        for file in public.iter().filter(|file| file.differs()) {
            laid.insert(file.path);
            match plan.library(request, levels, file, &needed, &interfaces)? {
                Some(several) => plan.several.push(several),
                None => plan.copies.push(file.path.to_owned()),
            }
        }
        if request.is_selected {
            laid.extend(private.iter().map(|library| library.path));
        }
        let stays = files.iter().filter(|file| !laid.contains(file.path));
        plan.copies.extend(stays.map(|file| file.path.to_owned()));
        plan.interfaces = interfaces.records;
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
    // A module that is only opened by name has no SONAME.
    let is_for_others =
        is_standard(folder) && library.binary.name.is_some() && library.name().starts_with("lib");
    !is_for_others || files.iter().any(finds)
}

/// What the programs of the trees may load.
struct Loads<'f, 't> {
    by_name: BTreeMap<&'f str, &'f Elf<'t>>,
    private: Vec<&'f Elf<'t>>,
    /// Private libraries that no file needs: plug-ins.
    plug_ins: Vec<&'f Elf<'t>>,
}

impl<'f, 't> Loads<'f, 't> {
    fn of(files: &'f [Elf<'t>], private: Vec<&'f Elf<'t>>) -> Loads<'f, 't> {
        let needed: BTreeSet<&str> =
            files.iter().flat_map(|file| &file.binary.needed).map(String::as_str).collect();
        let libraries = files.iter().filter(|file| file.binary.kind == Kind::Library);
        let plug_ins = private.iter().filter(|library| !needed.contains(library.name())).copied();
        Loads {
            by_name: libraries.map(|file| (file.name(), file)).collect(),
            plug_ins: plug_ins.collect(),
            private,
        }
    }

    /// The libraries of the trees that files need, directly or through others.
    fn needed_by<'a>(&self, files: impl Iterator<Item = &'a Elf<'t>>) -> BTreeSet<&'f Path>
    where
        't: 'a,
    {
        let mut waiting: Vec<&str> = files.flat_map(|file| &file.binary.needed).map(String::as_str).collect();
        let mut found = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            if let Some(library) = self.by_name.get(name).filter(|it| found.insert(it.path)) {
                waiting.extend(library.binary.needed.iter().map(String::as_str));
            }
        }
        found
    }

    /// The programs that launchers start: those whose own code differs, those that need a private library whose code does, and
    /// where that of a plug-in does, all that could open it.
    fn started(&self, files: &'f [Elf<'t>]) -> Vec<&'f Elf<'t>> {
        let differing: BTreeSet<&Path> =
            self.private.iter().filter(|library| library.differs()).map(|library| library.path).collect();
        let has_plug_ins = self.plug_ins.iter().any(|library| library.differs());
        let is_dynamic = |program: &Elf<'_>| !program.binary.needed.is_empty();
        let needs_one = |program: &'f Elf<'t>| !self.needed_by([program].into_iter()).is_disjoint(&differing);
        let programs = files.iter().filter(|file| file.binary.kind == Kind::Program);
        programs.filter(|it| it.differs() || (has_plug_ins && is_dynamic(it)) || needs_one(it)).collect()
    }

    /// The private libraries that may be in a process of these programs, also those that are the same at each level: from one
    /// version to the next they change with the program.
    fn private_of(&self, started: &[&'f Elf<'t>]) -> Vec<&'f Elf<'t>> {
        let needed = self.needed_by(started.iter().chain(&self.plug_ins).copied());
        let is_plug_in = |path: &Path| self.plug_ins.iter().any(|plug_in| plug_in.path == path);
        self.private.iter().filter(|it| needed.contains(it.path) || is_plug_in(it.path)).copied().collect()
    }
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
    redirects: Redirects,
    /// Programs with more rights than their user: their launchers have these.
    privileged: BTreeSet<&'a Path>,
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
        let all: Vec<&Elf<'_>> = started.iter().chain(private).copied().collect();
        let mut privileged = BTreeSet::new();
        for program in started {
            if is_privileged(request, levels, program.path)? {
                privileged.insert(program.path);
            }
        }
        let redirects = Redirects::of(&all, private, trees, |path| privileged.contains(path))
            .map_err(|(path, reason)| AssembleError::File(path, reason))?;
        let mut hash = Sha256::new();
        for index in own(&tree_of) {
            hash.update(levels.sources[index].level.as_bytes());
            for file in started.iter().chain(private) {
                hash.update(file.path.as_os_str().as_encoded_bytes());
                hash.update(Sha256::digest(read(&levels.sources[index], file.path)?));
                hash.update(redirects.runpaths.get(file.path).map_or("", String::as_str));
            }
        }
        let id: String =
            hash.finalize().iter().take(ID_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect();
        let root = root_of(trees);
        let place = match &request.place {
            Some(place) => place.clone(),
            None => {
                let first = started.first().map_or(Path::new(""), |program| program.path);
                // Trees that also have an etc are a system's root, where `lib` is only another name for `usr/lib`.
                let system = Path::new("usr");
                let above =
                    if root.as_os_str().is_empty() && first.starts_with(system) { system } else { &root };
                above.join("lib").join(first.file_name().unwrap_or_default())
            }
        };
        let is_taken = |above: &&Path| trees.entries.get(*above).is_some_and(|entry| *entry != Entry::Folder);
        if let Some(above) = place.ancestors().find(is_taken) {
            let reason =
                "the trees of the levels would go below it, and it is no folder; name another --place";
            return Err(AssembleError::File(above.to_owned(), reason.to_owned()));
        }
        let mut taken = vec![id.as_str(), START];
        taken.extend(select::NAMES.into_iter().filter(|_| request.is_selected));
        for taken in taken.into_iter().map(|name| place.join(name)) {
            if trees.entries.contains_key(&taken) {
                let reason =
                    "the trees of the levels would go here, but the trees have it; name another --place";
                return Err(AssembleError::File(taken, reason.to_owned()));
            }
        }
        Ok(Composer {
            request,
            levels,
            trees,
            started,
            private,
            tree_of,
            root,
            place,
            id,
            redirects,
            privileged,
        })
    }

    fn compose(&self, plan: &mut Plan) -> Result<(), AssembleError> {
        plan.place = Some(self.place.clone());
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
                launcher: is_started.then(|| self.launched(file.path)),
            });
            plan.remarks.extend(self.remark(file)?);
            if let Some(runpath) = self.redirects.runpaths.get(file.path) {
                for level in own(&self.tree_of) {
                    let bytes = read(&self.levels.sources[level], file.path)?;
                    let bytes = with_runpath(&bytes, runpath).map_err(|reason| {
                        let reason = format!("{reason}; pass --layout shared");
                        AssembleError::File(file.path.to_owned(), reason)
                    })?;
                    plan.rewritten.push((level, self.in_tree(level, file.path), bytes));
                }
                let text = format!("its RUNPATH is {runpath} in the trees, by links, and absolute elsewhere");
                plan.remarks.push(Remark { path: file.path.to_owned(), text });
            }
        }
        // Each folder in which a tree has a file of its own is a folder of the tree; all else are links.
        let mut folders: BTreeSet<&Path> = BTreeSet::new();
        let above =
            |path: &'a Path| path.ancestors().skip(1).take_while(|above| above.starts_with(&self.root));
        all.iter().for_each(|file| folders.extend(above(file.path)));
        // A link to a folder in which the trees are would be a way around in a circle.
        let has = |folder: &&Path| self.trees.entries.contains_key(*folder);
        folders.extend(self.place.ancestors().filter(has).take_while(|it| it.starts_with(&self.root)));
        let own_files: BTreeSet<&Path> = all.iter().map(|file| file.path).collect();
        let aliases = self.aliases();
        for level in own(&self.tree_of) {
            for (alias, name) in &aliases {
                plan.links.push((level, self.in_tree(level, alias), PathBuf::from(name)));
            }
            for (link, leads) in &self.redirects.links {
                let link = self.in_tree(level, link);
                let to = match leads {
                    Leads::Within(folder) => self.in_tree(level, folder),
                    Leads::Without(folder) => folder.clone(),
                };
                plan.links.push((level, link.clone(), relative(link.parent().unwrap_or(Path::new("")), &to)));
            }
            for (path, entry) in &self.trees.entries {
                let is_here = path.parent().is_some_and(|parent| folders.contains(parent));
                let is_own = folders.contains(path.as_path()) || own_files.contains(path.as_path());
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
                plan.texts.push((level, Text { path: self.marker(level), text, is_executable: false }));
            }
        }
        if self.request.is_selected {
            self.selection().add_to(plan)?;
        }
        Ok(())
    }

    /// Links of other folders to programs that are started: by such a name, the launcher calls a program in the program's own
    /// folder, where it has to be there. The path of each, and the name of the program.
    fn aliases(&self) -> BTreeMap<PathBuf, &OsStr> {
        let mut found = BTreeMap::new();
        for (link, entry) in &self.trees.entries {
            let (mut path, mut at) = (link.clone(), Some(entry));
            // A chain of links has an end, and as many as the kernel follows (path_resolution(7)).
            for _ in 0..40 {
                let Some(Entry::Link(target)) = at else { break };
                path = lexical(&path.parent().unwrap_or(Path::new("")).join(target));
                at = self.trees.entries.get(&path);
            }
            let program = self.started.iter().find(|program| program.path == path).map(|it| it.path);
            let names = program.and_then(|program| Some((program.parent()?, program.file_name()?)));
            if let (Some((folder, name)), Some(own)) = (names, link.file_name())
                && !self.trees.entries.contains_key(&folder.join(own))
            {
                found.insert(folder.join(own), name);
            }
        }
        found
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

    fn launched(&self, program: &Path) -> Launcher {
        let path = self.launcher(program);
        let is_chosen = self.request.is_selected && !self.privileged.contains(program);
        let called_as =
            if is_chosen { Selection::chosen(&self.root, &self.place, program) } else { path.clone() };
        Launcher { path, called_as }
    }

    /// What lets the machine choose.
    fn selection(&self) -> Selection<'_> {
        let programs = self.started.iter().map(|it| it.path).filter(|it| !self.privileged.contains(it));
        let libraries = self.private.iter().map(|it| (it.path, self.in_tree(0, it.path))).collect();
        Selection {
            request: self.request,
            root: &self.root,
            place: &self.place,
            programs: programs.collect(),
            libraries,
        }
    }

    /// Whether a link leads to what is in the tree of each level, too.
    fn is_within(&self, link: &Path, target: &Path) -> bool {
        let to = lexical(&link.parent().unwrap_or(Path::new("")).join(target));
        to.starts_with(&self.root) && self.trees.entries.contains_key(&to)
    }

    /// What the launcher of a program reads.
    fn table(&self, program: &Elf<'_>) -> Result<deburr_launcher::Table, AssembleError> {
        let refuse = |reason: &str| AssembleError::File(program.path.to_owned(), reason.to_owned());
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
        let prefix = prefix_of(self.request, self.levels, program.path, folder)?;
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

/// The path from a folder to a file, both relative to the same one.
pub(super) fn relative(folder: &Path, to: &Path) -> PathBuf {
    let common = folder.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    up.chain(to.components().skip(common)).collect()
}

/// Writes what only a plan of whole trees has: other bytes of copied files, links into the output, and texts, which come last.
pub(super) fn write(plan: &Plan, roots: &Roots) -> Result<(), AssembleError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| AssembleError::Io(path, error)
    };
    for (level, file, bytes) in &plan.rewritten {
        place::rewrite(&roots.of(*level).join(file), bytes)?;
    }
    for (level, link, target) in &plan.links {
        let link = roots.of(*level).join(link);
        if let Some(folder) = link.parent() {
            fs::create_dir_all(folder).map_err(io(folder))?;
        }
        std::os::unix::fs::symlink(target, &link).map_err(io(&link))?;
    }
    for (level, Text { path, text, is_executable }) in &plan.texts {
        let path = roots.of(*level).join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(io(folder))?;
        }
        place::write(&path, text.as_bytes())?;
        place::set_mode(&path, if *is_executable { 0o755 } else { 0o644 })?;
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
}
