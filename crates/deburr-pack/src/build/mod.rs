//! `deburr pack build`: a command and targets → a variant for each, built in its own copy of the sources.
//!
//! In: a [`BuildRequest`]. Out: a [`Record`], and in the pack's folder for each level `source` (the copy), `tree` (what is
//! taken of it) and `build.log`. A variant that is done is kept while command, sources and version are the same.

mod flags;
mod follow;
mod go;
mod known;
mod lock;
mod process;
mod request;
mod script;
pub(crate) mod tree;
mod wrap;

pub use follow::{Progress, Stage};
pub use request::{BuildError, BuildRequest, Event, Observer};

use crate::check::{Terms, check_tree};
use crate::demand::demanded;
use crate::record::{BuiltVariant, CheckRecord, Record, SCHEMA_VERSION, State};
use crate::same::same_code;
use crate::wheel;
use deburr_cpu::{Arch, FeatureSet, Target};
use deburr_launcher::words_of;
use deburr_text::ShownPath as _;
use follow::Tail;
use lock::Lock;
use request::at;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tree::Listing;
use wrap::Wrappers;

/// A check that takes no longer is not worth a word.
const SHORT: Duration = Duration::from_secs(10);

/// Builds the variants, checks them, and writes the record after each.
///
/// A variant whose build fails, or that is rejected, does not stop the others; the record says what became of each.
///
/// # Errors
/// [`BuildError`] where the request cannot be met, and when it is interrupted.
pub fn build(
    request: &BuildRequest,
    terms: &Terms<'_>,
    observer: &dyn Observer,
) -> Result<Record, BuildError> {
    are_buildable(&request.targets)?;
    if request.command.is_empty() {
        return Err(BuildError::Request(String::from("expected a build command, as in -- make -j2")));
    }
    if !request.source.is_dir() {
        let reason = "expected the folder of the sources";
        return Err(BuildError::Request(format!("{}: {reason}", request.source.shown())));
    }
    fs::create_dir_all(&request.pack).map_err(at(&request.pack))?;
    let pack = fs::canonicalize(&request.pack).map_err(at(&request.pack))?;
    let source = fs::canonicalize(&request.source).map_err(at(&request.source))?;
    if source.starts_with(&pack) {
        return Err(BuildError::Request(format!(
            "{}: the pack's folder holds the sources; name another one with -o",
            pack.shown()
        )));
    }
    let lock = Lock::of(&pack)?;
    let mut listing = tree::sources(&source, &pack).map_err(at(&source))?;
    if let Some(wheels) = request.wheel.as_ref().and_then(|wheels| fs::canonicalize(wheels).ok()) {
        listing.retain(|path, _| !source.join(path).starts_with(&wheels));
    }
    let at_number = |(index, target)| Variant {
        target,
        number: index + 1,
        request,
        terms,
        pack: &pack,
        source: &source,
        listing: &listing,
        lock: &lock,
        observer,
    };
    let variants: Vec<Variant<'_>> = request.targets.iter().enumerate().map(at_number).collect();
    variants.iter().filter(|variant| !variant.is_kept()).try_for_each(Variant::is_known)?;
    let mut record = first_record(request, &variants, &pack);
    record.write(&pack)?;
    let are_kept = record.variants.iter().all(|it| it.state == State::Done);
    let objects = if are_kept { Vec::new() } else { tree::objects(&source, &listing) };
    if let Some(first) = objects.first() {
        observer.happened(&Event::Objects(first, objects.len()));
    }
    for (variant, built) in variants.iter().zip(0..) {
        let known = record.variants[built].check.take().unwrap_or_default();
        let (state, check) = variant.make(known)?;
        (record.variants[built].state, record.variants[built].check) = (state, Some(check));
        record.write(&pack)?;
    }
    compare_neighbours(&record, &pack, observer)?;
    Ok(record)
}

/// The record before anything is built. What is not built yet counts as failed: a run that is killed leaves no tree that a
/// later step would take for whole. Measurements hold as long as no variant is built anew.
fn first_record(request: &BuildRequest, variants: &[Variant<'_>], pack: &Path) -> Record {
    let before = Record::read(pack).ok();
    let before_of = |level: &str| {
        before.iter().flat_map(|before| &before.variants).find(|variant| variant.level == level)
    };
    let of_record = |variant: &Variant<'_>| BuiltVariant {
        level: variant.target.name.clone(),
        state: if variant.is_kept() { State::Done } else { State::Failed },
        tree: Path::new(&variant.target.name).join("tree"),
        log: Some(Path::new(&variant.target.name).join("build.log")),
        check: before_of(&variant.target.name).filter(|_| variant.is_kept()).and_then(|it| it.check.clone()),
    };
    let built: Vec<BuiltVariant> = variants.iter().map(of_record).collect();
    let before = before.filter(|before| before.variants == built);
    let are_kept = built.iter().all(|it| it.state == State::Done);
    Record {
        schema_version: SCHEMA_VERSION,
        command: request.command.iter().map(|it| it.to_string_lossy().into_owned()).collect(),
        variants: built,
        measured: before.filter(|_| are_kept).map(|before| before.measured).unwrap_or_default(),
        files: Vec::new(),
        place: None,
        selection: None,
        interfaces: Vec::new(),
    }
}

/// Whether variants for these targets make a pack.
fn are_buildable(targets: &[Target]) -> Result<(), BuildError> {
    let Some(first) = targets.first() else {
        return Err(BuildError::Request(String::from("expected one level or more")));
    };
    let mut names = BTreeSet::new();
    for target in targets {
        let reason = if target.arch != first.arch {
            format!("{} and {} are of two architectures; build a pack for each", first.name, target.name)
        } else if target.name.split('+').next() == Some("native") {
            String::from("native is another level on each machine; name the level, as deburr cpu shows it")
        } else if !names.insert(&target.name) {
            format!("{} is given twice", target.name)
        } else {
            // What the code of the variant needs beyond what a compiler emits is known when it is built.
            let idle = words_of(target.arch, demanded(target, Some(FeatureSet::EMPTY))).1;
            if idle == FeatureSet::EMPTY || targets.len() == 1 {
                continue;
            }
            format!("{}: needs {idle:?}, which no program can test at its start", target.name)
        };
        return Err(BuildError::Request(reason));
    }
    Ok(())
}

/// A variant to be made.
struct Variant<'a> {
    target: &'a Target,
    /// Its place among the variants, from 1.
    number: usize,
    request: &'a BuildRequest,
    terms: &'a Terms<'a>,
    pack: &'a Path,
    source: &'a Path,
    listing: &'a Listing,
    lock: &'a Lock,
    observer: &'a dyn Observer,
}

impl Variant<'_> {
    /// Whether it is built already, as the request wants it.
    fn is_kept(&self) -> bool {
        let folder = self.pack.join(&self.target.name);
        !self.request.fresh
            && is_text(&folder.join("done"), &self.checked_identity())
            && folder.join("tree").is_dir()
    }

    /// Whether some compiler knows the target: before the first variant is built, which may take long.
    fn is_known(&self) -> Result<(), BuildError> {
        let (able, unable) = known::compilers(self.target);
        if !unable.is_empty() && able.is_empty() {
            return Err(BuildError::Request(format!(
                "{}: none of {} knows this target; install newer compilers, or name another level",
                self.target.name,
                unable.join(", ")
            )));
        }
        if !unable.is_empty() {
            let (level, unable, able) = (self.target.name.as_str(), &unable, &able);
            self.observer.happened(&Event::Unknown { level, unable, able });
        }
        Ok(())
    }

    /// Builds and checks the variant. `known`: how it was checked, where it is kept.
    fn make(&self, known: CheckRecord) -> Result<(State, CheckRecord), BuildError> {
        let level = self.target.name.as_str();
        let folder = self.pack.join(level);
        let (copy, tree, log) = (folder.join("source"), folder.join("tree"), folder.join("build.log"));
        let (copied, done) = (folder.join("copied"), folder.join("done"));
        let wanted = self.identity();
        if self.is_kept() {
            self.observer.happened(&Event::Kept(level, &known));
            return Ok((State::Done, known));
        }
        self.observer.happened(&Event::Begins(level));
        self.is_at(Stage::Prepares);
        let began = Instant::now();
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        remove(&done)?;
        remove(&tree)?;
        // A copy in which a build failed or was interrupted is gone on with: what it made is newer than its sources.
        if self.request.fresh || !is_text(&copied, &wanted) {
            remove(&copied)?;
            remove(&copy)?;
            remove(&folder.join("calls.log"))?;
            tree::copy(self.source, self.listing, &copy).map_err(at(&copy))?;
            fs::write(&copied, &wanted).map_err(at(&copied))?;
        }
        let wrappers = wrap::write(self.target, &folder, &copy, self.source).map_err(at(&folder))?;
        fs::create_dir_all(&tree).map_err(at(&tree))?;
        if self.request.wheel.is_some() {
            let made = folder.join(wheel::FOLDER);
            remove(&made)?;
            fs::create_dir_all(&made).map_err(at(&made))?;
        }
        let mut tail = Tail::new(&log, &wrappers.calls);
        self.is_at(tail.stage());
        let mut command = self.command(&folder, &copy, &tree, &wrappers)?;
        let follow = &mut || self.is_at(tail.stage());
        let status = process::run(&mut command, &log, self.observer, self.lock, follow)?;
        let reason = if status.success() {
            match self.unusable(&wrappers)? {
                // A wheel without code needs no compiler, and says so better.
                Some(reason) if self.request.wheel.is_some() => {
                    Some(self.take_wheel(&copy, &tree)?.unwrap_or(reason))
                }
                other => other,
            }
        } else {
            Some(self.refusal(&wrappers)?.unwrap_or_else(|| format!("the command ended with {status}")))
        };
        if let Some(reason) = reason {
            self.observer.happened(&Event::Failed(level, reason, &log, process::last_lines(&log)));
            return Ok((State::Failed, CheckRecord::default()));
        }
        if let Some(reason) = self.take(&copy, &tree)? {
            self.observer.happened(&Event::Failed(level, reason, &log, process::last_lines(&log)));
            return Ok((State::Failed, CheckRecord::default()));
        }
        if tree::binaries(&tree).map_err(at(&tree))?.is_empty() {
            let reason =
                "the command succeeded, and made no program and no shared library in its copy or in DESTDIR"
                    .to_owned();
            self.observer.happened(&Event::Failed(level, reason, &log, process::last_lines(&log)));
            return Ok((State::Failed, CheckRecord::default()));
        }
        let building = began.elapsed();
        let Some(check) = self.check(&tree)? else { return Ok((State::Rejected, CheckRecord::default())) };
        let checking = began.elapsed() - building;
        if checking > building.max(SHORT) {
            self.observer.happened(&Event::SlowCheck(level, checking));
        }
        fs::write(&done, self.checked_identity()).map_err(at(&done))?;
        self.observer.happened(&Event::Done(level, began.elapsed(), &check));
        Ok((State::Done, check))
    }

    /// Checks a tree: how that went; `None` where the variant is not what its level says.
    fn check(&self, tree: &Path) -> Result<Option<CheckRecord>, BuildError> {
        if self.request.no_check {
            return Ok(Some(CheckRecord { left_out: true, ..CheckRecord::default() }));
        }
        let level = self.target.name.as_str();
        let checked = check_tree(tree, self.target, self.terms, &mut |done, all| {
            self.is_at(Stage::Checks { done, all });
        })
        .map_err(|(path, error)| BuildError::Io(path, error))?;
        if !checked.faults.is_empty() {
            self.observer.happened(&Event::Rejected(level, &checked.faults));
            return Ok(None);
        }
        let others = self.request.targets.iter().map(|other| (other.name.as_str(), other.features));
        if let Some(below) = checked.nothing_above(self.target.features, others) {
            self.observer.happened(&Event::NothingAbove { level, below });
        }
        Ok(Some(checked.record()))
    }

    fn is_at(&self, stage: Stage<'_>) {
        let (level, of) = (self.target.name.as_str(), self.request.targets.len());
        self.observer.proceeds(&Progress { level, number: self.number, of, stage });
    }

    /// What a variant depends on, as text: it is made anew where this differs.
    fn identity(&self) -> String {
        let request = self.request;
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "{version}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{}",
            self.source,
            request.folder,
            request.command,
            request.take,
            self.listing,
            if request.wheel.is_some() { "wheel\n" } else { "" }
        )
    }

    /// What a variant that is done depends on: also what its check went by.
    fn checked_identity(&self) -> String {
        format!("{}{:?}\n{:?}\n", self.identity(), self.request.no_check, self.terms)
    }

    fn command(
        &self,
        folder: &Path,
        copy: &Path,
        tree: &Path,
        wrappers: &Wrappers,
    ) -> Result<Command, BuildError> {
        let own = match self.request.wheel {
            None => self.request.command.clone(),
            Some(_) => wheel::filled(&self.request.command, &folder.join(wheel::FOLDER)),
        };
        let (program, arguments) = own.split_first().ok_or_else(|| {
            BuildError::Request(String::from("expected a build command, as in -- make -j2"))
        })?;
        let mut path = wrappers.folder.clone().into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let go = flags::go(self.target);
        let mut go_flags = std::env::var_os("GOFLAGS").unwrap_or_default();
        go_flags.push(" -trimpath");
        let mut command = Command::new(program_path(program, &wrappers.folder));
        command.args(arguments).current_dir(copy.join(&self.request.folder));
        command.env("PATH", path);
        // A build of a wheel installs into a folder of its own, which DESTDIR would move.
        match self.request.wheel {
            None => command.env("DESTDIR", tree),
            Some(_) => command.env_remove("DESTDIR"),
        };
        command.env(go.variable, go.value).env("GOFLAGS", go_flags);
        // Caches of compiled code know neither the wrappers nor their flags, and would hand one variant's code to another.
        // Other machines compile without wrappers.
        command.env("GOCACHE", folder.join("go-cache")).env("CCACHE_DISABLE", "1");
        command.env("DISTCC_HOSTS", "localhost").env("ICECC", "disable");
        for variable in ["RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER", "CARGO_TARGET_DIR", "DEBURR_LEVEL"] {
            command.env_remove(variable);
        }
        if wrappers.names.iter().any(|name| name == "rustc") {
            // Cargo of rustup starts the toolchain's rustc without a look at PATH.
            command.env("RUSTC", wrappers.folder.join("rustc"));
        }
        command.envs(wrappers.variables.iter().map(|(name, path)| (name, path)));
        Ok(command)
    }

    /// Why a build that succeeded cannot be a variant.
    fn unusable(&self, wrappers: &Wrappers) -> Result<Option<String>, BuildError> {
        let calls = fs::read_to_string(&wrappers.calls).map_err(at(&wrappers.calls))?;
        let own: BTreeSet<&str> = calls.lines().filter_map(|line| line.strip_prefix("own ")).collect();
        // A flag for another architecture is a question that a configure script asks the compiler, which refuses it.
        let is_foreign = |flag: &str| match self.target.arch {
            Arch::X86_64 => flag.contains("=arm"),
            Arch::Aarch64 => flag.contains("=x86-64"),
        };
        for flag in own.iter().filter(|flag| !is_foreign(flag)) {
            self.observer.happened(&Event::OwnFlag(&self.target.name, flag));
        }
        if calls.lines().any(|line| line.starts_with("called ")) {
            return Ok(None);
        }
        let nothing = format!(
            "no wrapped compiler for this architecture was called, so nothing was built for the level; \
             a compiler that the project names by its absolute path is not found through PATH: name it without the path \
             (make CC=gcc), or in CC or CXX of the environment \
             (wrapped: {})",
            wrappers.names.join(", ")
        );
        Ok(Some(self.refusal(wrappers)?.unwrap_or(nothing)))
    }

    /// Why a compiler that the build called cannot build for the target.
    fn refusal(&self, wrappers: &Wrappers) -> Result<Option<String>, BuildError> {
        let calls = fs::read_to_string(&wrappers.calls).map_err(at(&wrappers.calls))?;
        Ok(calls.lines().find_map(|line| line.strip_prefix(script::REFUSED)).map(str::to_owned))
    }

    /// Fills the tree, where the command did not install into it; or why it cannot.
    fn take(&self, copy: &Path, tree: &Path) -> Result<Option<String>, BuildError> {
        if self.request.wheel.is_some() {
            return self.take_wheel(copy, tree);
        }
        let is_installed = fs::read_dir(tree).map_err(at(tree))?.next().is_some();
        let paths = match self.request.take.as_slice() {
            [] if is_installed => return Ok(None),
            [] => tree::linked(copy, self.listing).map_err(at(copy))?,
            paths => {
                remove(tree)?;
                fs::create_dir_all(tree).map_err(at(tree))?;
                let mut found = Vec::new();
                for path in paths {
                    let named = tree::named(copy, path).map_err(at(copy))?;
                    if named.is_empty() {
                        return Err(BuildError::Request(format!(
                            "--take {}: the command did not make it in {}",
                            path.shown(),
                            copy.shown()
                        )));
                    }
                    found.extend(named);
                }
                // What is in a folder that is taken is taken with it.
                let is_within =
                    |path: &Path| path.ancestors().skip(1).any(|above| found.iter().any(|it| it == above));
                let unique: BTreeSet<PathBuf> =
                    found.iter().filter(|path| !is_within(path)).cloned().collect();
                unique.into_iter().collect()
            }
        };
        tree::take(copy, &paths, tree).map_err(at(tree))?;
        Ok(None)
    }

    /// Fills the tree with the wheel that the command made; or why it cannot.
    fn take_wheel(&self, copy: &Path, tree: &Path) -> Result<Option<String>, BuildError> {
        let folder = self.pack.join(&self.target.name).join(wheel::FOLDER);
        let mut made = tree::wheels(&folder, &Listing::new()).map_err(at(&folder))?;
        if made.is_empty() {
            made = tree::wheels(copy, self.listing).map_err(at(copy))?;
        }
        wheel::take(&made, &folder, tree, self.target.arch)
            .map_err(|(path, error)| BuildError::Io(path, error))
    }
}

/// The program to start: the wrapper, where the command is itself a compiler.
fn program_path(program: &OsString, wrappers: &Path) -> PathBuf {
    let wrapper = wrappers.join(program);
    if !Path::new(program).is_absolute() && wrapper.is_file() { wrapper } else { PathBuf::from(program) }
}

/// Whether a file holds a text.
fn is_text(path: &Path, text: &str) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes == text.as_bytes())
}

/// Removes a file or a folder, if it is there.
fn remove(path: &Path) -> Result<(), BuildError> {
    match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => fs::remove_dir_all(path).map_err(at(path)),
        Ok(_) => fs::remove_file(path).map_err(at(path)),
        Err(_) => Ok(()),
    }
}

/// Compares each variant with the one before it, and says which files have the same code.
fn compare_neighbours(record: &Record, pack: &Path, observer: &dyn Observer) -> Result<(), BuildError> {
    let done: Vec<&BuiltVariant> = record.variants.iter().filter(|it| it.state == State::Done).collect();
    for pair in done.windows(2) {
        let [below, variant] = pair else { continue };
        let (tree_below, tree) = (pack.join(&below.tree), pack.join(&variant.tree));
        let paths = tree::binaries(&tree).map_err(at(&tree))?;
        let mut same = Vec::new();
        for path in &paths {
            let (a, b) = (tree_below.join(path), tree.join(path));
            if !a.is_file() {
                continue;
            }
            let (a, b) = (fs::read(&a).map_err(at(&a))?, fs::read(&b).map_err(at(&b))?);
            let is_same =
                same_code(&a, &b).map_err(|error| BuildError::NotComparable(path.clone(), error))?;
            if is_same {
                same.push(path.clone());
            }
        }
        if !same.is_empty() {
            let others = paths.len() - same.len();
            let (level, below) = (variant.level.as_str(), below.level.as_str());
            observer.happened(&Event::Same { level, below, same: &same, others });
        }
    }
    Ok(())
}
