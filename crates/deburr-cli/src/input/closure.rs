//! The closure: a file → the shared libraries that it needs, as the loader would find them, and what they
//! show about it.
//!
//! In: a file's dynamic section. Out: [`Closure`], the libraries in the loader's order, and [`Knowledge`] of
//! each, learnt once a run. Follows ld.so(8): `DT_RPATH` of the file and of those that need it, `DT_RUNPATH`,
//! both with `$ORIGIN` and `$LIB`, and the default folders; the files of the run come before those. The cache
//! and the environment of this machine's loader play no part.

use super::content::Content;
use super::debug_file;
use super::mapped::Bytes;
use super::walk::InputFile;
use deburr_core::{Knowledge, Request, image, learn, wanted_debug_file};
use deburr_cpu::Arch;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The maximum of libraries of one file.
const LIMIT: usize = 4096;

/// The libraries that one file needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Closure {
    /// Those found, in the loader's order: breadth first.
    pub(crate) libraries: Vec<PathBuf>,
    /// The names of those not found.
    pub(crate) missing: Vec<String>,
}

/// What a file requests of the loader.
#[derive(Debug)]
struct Header {
    arch: Arch,
    soname: Option<String>,
    libraries: Vec<String>,
    rpath: Vec<String>,
    /// `None` where the file has none: then `rpath` counts.
    runpath: Option<Vec<String>>,
}

impl Header {
    fn of(bytes: &[u8]) -> Option<Header> {
        let needed = image::needed(bytes).ok()?;
        let folders = |text: &str| text.split(':').map(str::to_owned).collect::<Vec<_>>();
        Some(Header {
            arch: needed.arch,
            soname: needed.soname.map(str::to_owned),
            libraries: needed.libraries.into_iter().map(str::to_owned).collect(),
            rpath: needed.rpath.map(folders).unwrap_or_default(),
            runpath: needed.runpath.map(folders),
        })
    }
}

/// Finds libraries, and keeps what was learnt of them, for all files of a run.
pub(crate) struct Closures {
    /// The folder that is taken for `/`.
    root: PathBuf,
    debug_dirs: Option<Vec<PathBuf>>,
    /// The files of the run, by their names and by the names that they give themselves.
    named: HashMap<OsString, Vec<PathBuf>>,
    /// Headers read so far; `None` where there is no file of use.
    headers: Mutex<HashMap<PathBuf, Option<Arc<Header>>>>,
    /// What was learnt so far, by canonical path.
    learnt: Mutex<Learnt>,
}

type Learnt = HashMap<PathBuf, Arc<Knowledge>>;

impl Closures {
    /// Prepares a run over some files.
    pub(crate) fn new(
        files: &[InputFile],
        root: Option<&Path>,
        debug_dirs: Option<Vec<PathBuf>>,
    ) -> Closures {
        let mut closures = Closures {
            root: root.map_or_else(|| PathBuf::from("/"), Path::to_owned),
            debug_dirs,
            named: HashMap::new(),
            headers: Mutex::default(),
            learnt: Mutex::default(),
        };
        for file in files.iter().filter(|file| file.content == Content::Elf && !file.is_stdin) {
            let own = file.path.file_name().map(OsStr::to_owned);
            let soname = closures.header(&file.path).and_then(|header| header.soname.clone());
            let names: HashSet<OsString> = own.into_iter().chain(soname.map(OsString::from)).collect();
            for name in names {
                closures.named.entry(name).or_default().push(file.path.clone());
            }
        }
        closures
    }

    fn header(&self, path: &Path) -> Option<Arc<Header>> {
        let mut headers = self.headers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(header) = headers.get(path) {
            return header.clone();
        }
        // The type is queried first: opening a fifo would wait for a writer.
        let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
        let bytes = is_file.then(|| Bytes::open(path).ok()).flatten();
        let header = bytes.and_then(|bytes| Header::of(&bytes)).map(Arc::new);
        headers.insert(path.to_owned(), header.clone());
        header
    }

    /// The libraries that a file needs, itself and through others. `path`: where it is, if it is a file.
    pub(crate) fn of(&self, bytes: &[u8], path: Option<&Path>) -> Closure {
        Header::of(bytes).map(|header| self.closure(Arc::new(header), path)).unwrap_or_default()
    }

    fn closure(&self, header: Arc<Header>, path: Option<&Path>) -> Closure {
        let mut closure = Closure::default();
        let mut names: HashSet<String> = HashSet::new();
        let mut files: HashSet<PathBuf> = path.map(canonical).into_iter().collect();
        let arch = header.arch;
        let mut pending = VecDeque::from([Loaded::new(header, path, &[], self)]);
        while let Some(loaded) = pending.pop_front() {
            for name in &loaded.header.libraries {
                if closure.libraries.len() >= LIMIT || !names.insert(name.clone()) {
                    continue;
                }
                let Some((found, header)) = self.find(name, &loaded, arch) else {
                    closure.missing.push(name.clone());
                    continue;
                };
                if files.insert(canonical(&found)) {
                    pending.push_back(Loaded::new(header, Some(&found), &loaded.rpath, self));
                    closure.libraries.push(found);
                }
            }
        }
        closure
    }

    /// Finds a library of the right architecture.
    fn find(&self, name: &str, loaded: &Loaded, arch: Arch) -> Option<(PathBuf, Arc<Header>)> {
        let usable = |path: PathBuf| {
            let header = self.header(&path).filter(|header| header.arch == arch)?;
            Some((path, header))
        };
        if name.contains('/') {
            return loaded.folder(name, self).into_iter().find_map(usable);
        }
        let stated = loaded.runpath.as_ref().unwrap_or(&loaded.rpath).iter();
        if let Some(found) = stated.map(|folder| folder.join(name)).find_map(usable) {
            return Some(found);
        }
        let named = self.named.get(OsStr::new(name)).map(Vec::as_slice).unwrap_or_default();
        let shared = |path: &&PathBuf| {
            let from = loaded.origin.as_deref().unwrap_or(Path::new(""));
            path.components().zip(from.components()).take_while(|(a, b)| a == b).count()
        };
        // Of several the nearest: packages bring their own copies. Of these, the first.
        let mut nearest: Vec<&PathBuf> = named.iter().collect();
        nearest.sort_by_key(|path| std::cmp::Reverse(shared(path)));
        if let Some(found) = nearest.into_iter().cloned().find_map(usable) {
            return Some(found);
        }
        default_folders(arch).iter().map(|folder| self.root.join(folder).join(name)).find_map(usable)
    }

    /// What the libraries of a closure show; nothing where none of them shows anything.
    pub(crate) fn knowledge(&self, closure: &Closure) -> Vec<Arc<Knowledge>> {
        let mut learnt = self.learnt.lock().unwrap_or_else(PoisonError::into_inner);
        for library in &closure.libraries {
            self.learn(library, &mut learnt);
        }
        let of = |library: &PathBuf| learnt.get(&canonical(library)).cloned();
        let known: Vec<Arc<Knowledge>> = closure.libraries.iter().filter_map(of).collect();
        if known.iter().all(|knowledge| knowledge.is_empty()) { Vec::new() } else { known }
    }

    /// Learns what a library shows, after those that it needs; libraries that need each other twice, so that
    /// the result does not depend on which came first.
    fn learn(&self, path: &Path, learnt: &mut Learnt) {
        if learnt.contains_key(&canonical(path)) {
            return;
        }
        let closure_of = |path: &Path| {
            self.header(path).map(|header| self.closure(header, Some(path))).unwrap_or_default()
        };
        let closure = closure_of(path);
        let here = canonical(path);
        let mut ring = vec![(path.to_owned(), closure_of(path))];
        for library in &closure.libraries {
            let others = closure_of(library);
            if others.libraries.iter().any(|other| canonical(other) == here) {
                ring.push((library.clone(), others));
            } else {
                self.learn(library, learnt);
            }
        }
        ring.sort_by(|a, b| a.0.cmp(&b.0));
        let iterations = if ring.len() > 1 { 2 } else { 1 };
        for _ in 0..iterations {
            for (path, closure) in &ring {
                let foreign: Vec<Arc<Knowledge>> = (closure.libraries.iter())
                    .filter_map(|library| learnt.get(&canonical(library)).cloned())
                    .collect();
                let knowledge = self.knowledge_of(path, &foreign).unwrap_or_default();
                learnt.insert(canonical(path), Arc::new(knowledge));
            }
        }
    }

    fn knowledge_of(&self, path: &Path, foreign: &[Arc<Knowledge>]) -> Option<Knowledge> {
        let bytes = Bytes::open(path).ok()?;
        let debug_file = self
            .debug_dirs
            .as_deref()
            .and_then(|dirs| debug_file::find(&wanted_debug_file(&bytes)?, path, dirs));
        let foreign: Vec<&Knowledge> = foreign.iter().map(Arc::as_ref).collect();
        let request = Request { debug_file: debug_file.as_deref(), foreign: &foreign, ..Request::default() };
        // A library on which deburr fails shows nothing; where it is checked itself, that is reported.
        let knowledge = catch_unwind(AssertUnwindSafe(|| learn(&bytes, &request))).ok()?.ok()?;
        bytes.is_intact().then_some(knowledge)
    }
}

/// A file that the loader has loaded.
struct Loaded {
    header: Arc<Header>,
    /// The folder that it is in.
    origin: Option<PathBuf>,
    /// Folders of `DT_RPATH`, its own and those of the files that need it.
    rpath: Vec<PathBuf>,
    runpath: Option<Vec<PathBuf>>,
}

impl Loaded {
    fn new(header: Arc<Header>, path: Option<&Path>, inherited: &[PathBuf], closures: &Closures) -> Loaded {
        let origin = path.map(|path| path.parent().unwrap_or(Path::new("")).to_owned());
        let mut loaded = Loaded { header: Arc::clone(&header), origin, rpath: Vec::new(), runpath: None };
        let folders = |list: &[String]| -> Vec<PathBuf> {
            list.iter().flat_map(|folder| loaded.folder(folder, closures)).collect()
        };
        let rpath = folders(&header.rpath);
        let runpath = header.runpath.as_deref().map(folders);
        loaded.rpath = rpath.into_iter().chain(inherited.iter().cloned()).collect();
        loaded.runpath = runpath;
        loaded
    }

    /// What a path with `$ORIGIN` and `$LIB` in it may mean; an absolute one is in the root.
    fn folder(&self, text: &str, closures: &Closures) -> Vec<PathBuf> {
        const ORIGIN: [&str; 2] = ["${ORIGIN}", "$ORIGIN"];
        const LIB: [&str; 2] = ["${LIB}", "$LIB"];
        if LIB.iter().any(|lib| text.contains(lib)) {
            let triplet = format!("lib/{}", triplet(self.header.arch));
            let each = ["lib", "lib64", &triplet];
            let replaced =
                each.map(|lib| LIB.iter().fold(text.to_owned(), |text, name| text.replace(name, lib)));
            return replaced.iter().flat_map(|text| self.folder(text, closures)).collect();
        }
        let origin = ORIGIN.iter().find_map(|origin| text.strip_prefix(origin));
        match (origin, &self.origin) {
            (Some(rest), Some(origin)) => vec![tidied(&origin.join(rest.trim_start_matches('/')))],
            (Some(_), None) => Vec::new(),
            (None, _) if text.is_empty() => Vec::new(),
            (None, _) => vec![closures.root.join(text.trim_start_matches('/'))],
        }
    }
}

/// The path without `.` and, where no link can be in between, without `..`.
fn tidied(path: &Path) -> PathBuf {
    let mut tidied = PathBuf::new();
    for component in path.components() {
        let is_plain =
            tidied.components().next_back().is_some_and(|last| matches!(last, Component::Normal(_)))
                && !tidied.is_symlink();
        match component {
            Component::CurDir => {}
            Component::ParentDir if is_plain => drop(tidied.pop()),
            other => tidied.push(other),
        }
    }
    tidied
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The name of the folder of an architecture's libraries, as Debian has it.
const fn triplet(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "x86_64-linux-gnu",
        Arch::Aarch64 => "aarch64-linux-gnu",
    }
}

/// The loader's default folders, below the root.
fn default_folders(arch: Arch) -> [String; 6] {
    let triplet = triplet(arch);
    [
        format!("lib/{triplet}"),
        format!("usr/lib/{triplet}"),
        "lib64".to_owned(),
        "usr/lib64".to_owned(),
        "lib".to_owned(),
        "usr/lib".to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_is_tidied_but_no_link_is_left_out() {
        assert_eq!(tidied(Path::new("app/bin/../lib/./x")), Path::new("app/lib/x"));
        assert_eq!(tidied(Path::new("../lib")), Path::new("../lib"));
        assert_eq!(tidied(Path::new("/../lib")), Path::new("/../lib"));
    }
}
