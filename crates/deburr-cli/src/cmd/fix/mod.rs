//! `deburr fix`: binaries → what can be rewritten in them, and the rewritten files.

mod back;
mod dispatch;
mod package;
mod place;
mod tree;
mod work;

use crate::args::fix::Fix;
use crate::args::format::{Format, When};
use crate::cmd::failure::Failure;
use crate::cmd::terminal::{colored, width_of_terminal};
use crate::identity::identity;
use crate::input::content::Content;
use crate::input::mapped::Bytes;
use crate::output::dress::{self, Inherited};
use crate::output::target::{self, Regular, Stream, Target};
use crate::output::{passing, refuse_input};
use crate::render::fix::json::FixJson;
use crate::render::fix::outcome::{Break, Fixed, Left, Written};
use crate::render::fix::renderer::FixRenderer;
use crate::render::fix::summary::FixSummary;
use crate::render::fix::text::{FixLayout, FixText};
use crate::render::style::Palette;
use crate::system_error::error_text;
use deburr_core::patch::{Edited, Plan};
use deburr_cpu::Feature;
use place::Existing;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File, Metadata};
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use work::{Made, Trouble, Work};

/// Folders whose files belong to a package manager.
const MANAGED: [&str; 5] = ["/usr", "/bin", "/sbin", "/lib", "/lib64"];

/// Runs the verb.
pub(super) fn run(
    options: &Fix,
    color: When,
    out: &mut dyn Write,
    complaints: &mut dyn Write,
) -> Result<ExitCode, Failure> {
    if let Some(threads) = options.batch.threads {
        // Refused only where there is a pool already.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build_global();
    }
    let terminal = io::stdout().is_terminal();
    let action = match options {
        Fix { verify: Some(_), .. } => "verify",
        Fix { revert: true, .. } => "revert",
        _ if options.is_plan() => "plan",
        _ => "rewrite",
    };
    let mut render: Box<dyn FixRenderer> = match options.format {
        Format::Json => Box::new(FixJson::new(action, terminal)),
        Format::Text => Box::new(FixText::new(FixLayout {
            palette: Palette::new(colored(color, terminal)),
            width: terminal.then(width_of_terminal).flatten(),
            limit: options.limit,
            is_plan: action == "plan",
        })),
    };
    // A file that goes to the standard output has it for itself.
    let mut errors = io::stderr();
    let out: &mut dyn Write = match &options.output {
        Some(output) if target::is_named_stdout(output) => &mut errors,
        _ => out,
    };
    if let Some([original, patched]) = options.verify.as_deref() {
        return back::verify(options, [original, patched], render.as_mut(), out);
    }
    let mut run = Run {
        options,
        work: Work::new(options).map_err(Failure::Message)?,
        render: render.as_mut(),
        out,
        complaints,
        summary: FixSummary::default(),
        failed: false,
    };
    run.render.begin(run.out)?;
    match (&options.output, &options.dispatch) {
        (_, Some(folder)) => run.dispatch(folder)?,
        (Some(output), None) => run.write(output)?,
        (None, None) => run.each()?,
    }
    run.end()
}

/// What is to become of a binary.
#[derive(Debug, Clone, Copy)]
enum Goal<'p> {
    Plan,
    /// The rewritten file goes there.
    New(&'p Path),
    /// It comes in the place of the old one.
    Replace,
}

/// A run so far.
struct Run<'r> {
    options: &'r Fix,
    work: Work<'r>,
    render: &'r mut dyn FixRenderer,
    out: &'r mut dyn Write,
    complaints: &'r mut dyn Write,
    summary: FixSummary,
    failed: bool,
}

impl Run<'_> {
    /// Plans for all paths, or rewrites them where they are.
    fn each(&mut self) -> Result<(), Failure> {
        let goal = if self.options.in_place { Goal::Replace } else { Goal::Plan };
        for path in &self.options.paths {
            match fs::metadata(path) {
                Ok(metadata) if metadata.is_dir() => {
                    let entries = self.read_tree(path)?;
                    if self.options.in_place {
                        let folders = entries.iter().filter(|entry| entry.metadata.is_dir());
                        folders.for_each(|folder| passing::clean(&tree::below(path, &folder.relative)));
                    }
                    let files = entries.iter().filter(|entry| entry.metadata.is_file());
                    // Those of another run, which are none yet.
                    for entry in files.filter(|entry| !passing::is_passing(entry.relative.as_os_str())) {
                        let path = path.join(&entry.relative);
                        // Otherwise a second run would rewrite what the first one kept.
                        if self.options.in_place && self.is_backup(&path) {
                            self.leave(&path, Trouble::left("the backup of a file beside it"), false);
                        } else {
                            self.member(&path, goal)?;
                        }
                    }
                }
                _ => self.named(path, goal)?,
            }
        }
        Ok(())
    }

    /// Writes a new file, or a new tree.
    fn write(&mut self, output: &Path) -> Result<(), Failure> {
        let [path] = self.options.paths.as_slice() else {
            return Err(Failure::Message("-o: give one file or directory".to_owned()));
        };
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => self.mirror(path, output),
            _ => self.named(path, Goal::New(output)),
        }
    }

    /// Copies a tree, with rewritten files where there is something to rewrite.
    fn mirror(&mut self, root: &Path, output: &Path) -> Result<(), Failure> {
        let complain = |path: &Path, error: &io::Error| {
            Failure::Message(format!("{}: {}", path.display(), error_text(error)))
        };
        if target::is_named_stdout(output) {
            return Err(Failure::Message(format!(
                "{}: a directory, which needs one to go to",
                root.display()
            )));
        }
        let inside = fs::canonicalize(root).map_err(|error| complain(root, &error))?;
        if lands_at(output).map_err(|error| complain(output, &error))?.starts_with(&inside) {
            let (output, root) = (output.display(), root.display());
            return Err(Failure::Message(format!("{output}: lies in {root}, which is to be copied")));
        }
        if self.options.revert {
            return Err(Failure::Message(format!("{}: give a file to --revert", root.display())));
        }
        let entries = self.read_tree(root)?;
        place::new_folder(output).map_err(Failure::Message)?;
        // Several names of one file stay that.
        let mut names: HashMap<(u64, u64), PathBuf> = HashMap::new();
        for entry in &entries {
            let (from, to) = (tree::below(root, &entry.relative), tree::below(output, &entry.relative));
            let kind = entry.metadata.file_type();
            let identity = (entry.metadata.dev(), entry.metadata.ino());
            let done = match names.get(&identity) {
                _ if kind.is_dir() && to == output => Ok(()),
                _ if kind.is_dir() => fs::create_dir(&to),
                _ if kind.is_symlink() => {
                    fs::read_link(&from).and_then(|target| std::os::unix::fs::symlink(target, &to))
                }
                Some(first) => fs::hard_link(first, &to),
                None if kind.is_file() => {
                    self.member(&from, Goal::New(&to))?;
                    // Where it was left as it is.
                    let copied = if to.exists() { Ok(()) } else { copy(&from, &to) };
                    if entry.metadata.nlink() > 1 {
                        names.insert(identity, to.clone());
                    }
                    copied
                }
                None => {
                    self.leave(&from, Trouble::left("no regular file: not copied"), false);
                    Ok(())
                }
            };
            if let Err(error) = done {
                self.leave(&to, Trouble::fault(error_text(&error)), false);
            }
        }
        // Folders at last: one that may not be written to could not be filled.
        for entry in entries.iter().rev().filter(|entry| entry.metadata.is_dir()) {
            let to = tree::below(output, &entry.relative);
            let own = std::os::unix::fs::chown(&to, Some(entry.metadata.uid()), Some(entry.metadata.gid()));
            // As with cp, they are the user's own where they cannot be another's.
            let _ = own
                .and_then(|()| fs::set_permissions(&to, entry.metadata.permissions()))
                .or_else(|_| fs::set_permissions(&to, entry.metadata.permissions()));
        }
        Ok(())
    }

    fn read_tree(&mut self, root: &Path) -> Result<Vec<tree::Entry>, Failure> {
        self.summary.is_tree = true;
        let (entries, faults) = tree::read(root);
        for (path, reason) in faults {
            self.leave(&path, Trouble::fault(reason), false);
        }
        Ok(entries)
    }

    /// A file that the user named.
    fn named(&mut self, path: &Path, goal: Goal<'_>) -> Result<(), Failure> {
        let done = if self.options.revert { self.revert(path, goal) } else { self.fix(path, goal) };
        match done {
            Ok(()) => Ok(()),
            Err(Stop::Failure(failure)) => Err(failure),
            Err(Stop::Trouble(trouble)) => {
                self.leave(path, trouble, true);
                Ok(())
            }
        }
    }

    /// A file of a tree.
    fn member(&mut self, path: &Path, goal: Goal<'_>) -> Result<(), Failure> {
        if self.options.revert {
            return Err(Failure::Message(format!("{}: give files to --revert", path.display())));
        }
        match Bytes::open(path).map(|bytes| Content::of_all(&bytes)) {
            Ok(Content::Empty | Content::Other) => self.summary.other_files += 1,
            Ok(Content::Package | Content::Layout) => self.package_of_tree(path, goal)?,
            Ok(_) if tree::is_part_of_image(path) => self.package_of_tree(path, goal)?,
            Ok(_) => match self.fix(path, goal) {
                Ok(()) => {}
                Err(Stop::Failure(failure)) => return Err(failure),
                Err(Stop::Trouble(trouble)) => self.leave(path, trouble, false),
            },
            Err(error) => self.leave(path, Trouble::fault(error_text(&error)), false),
        }
        Ok(())
    }

    /// A package in a tree, which is rewritten like one that is named; what cannot be is a fault if there is something in it
    /// that could be rewritten.
    fn package_of_tree(&mut self, path: &Path, goal: Goal<'_>) -> Result<(), Failure> {
        let done = match tree::is_part_of_image(path) {
            true => Err(Stop::Trouble(Trouble::left(
                "a part of a container image, which other files name by its digest: give the image as a tar archive",
            ))),
            false => self.fix(path, goal),
        };
        let trouble = match done {
            Ok(()) => return Ok(()),
            Err(Stop::Failure(failure)) => return Err(failure),
            Err(Stop::Trouble(trouble)) => trouble,
        };
        let limits = self.options.batch.packages.limits();
        let is_missed = !trouble.is_fault && limits.depth > 0 && {
            let name = path.display().to_string();
            let read = Source::open(path).and_then(|it| package::has_binaries(&name, &it.bytes, &limits));
            read.unwrap_or(true)
        };
        self.leave(path, Trouble { is_fault: trouble.is_fault || is_missed, ..trouble }, false);
        Ok(())
    }

    /// Notes a file that stays as it is; says so at once if it was asked for, or if it is a fault.
    fn leave(&mut self, path: &Path, trouble: Trouble, is_named: bool) {
        let (path, reason) = (path.display().to_string(), trouble.reason);
        if is_named || trouble.is_fault {
            // Where the standard error is gone, the exit status still tells.
            let _ = writeln!(self.complaints, "deburr: {path}: {reason}");
            self.failed = true;
        }
        self.summary.left.push(Left { path, reason, is_fault: trouble.is_fault });
    }

    /// Plans for a file, and writes what was asked for.
    fn fix(&mut self, path: &Path, goal: Goal<'_>) -> Result<(), Stop> {
        let source = Source::open(path)?;
        if Content::of_all(&source.bytes) == Content::Package {
            return self.package(path, &source, goal);
        }
        let destination = self.destination(path, &source, goal)?;
        let Made { plan, patched, trailer } = self.work.make(&source.bytes, Some(path))?;
        if let (true, Some(unmet)) = (self.is_alone(), self.work.unmet().into_iter().next()) {
            return Err(Trouble::fault(unmet).into());
        }
        source.check()?;
        let mut fixed = self.planned(path.display().to_string(), plan, trailer);
        if !fixed.plan.sites.is_empty() {
            fixed.breaks.extend(self.breaks_around(path, &source));
        }
        let patched = match (patched, destination.is_some()) {
            (Some(Err(error)), true) => {
                return Err(Trouble::left(self.hint(&error.to_string(), &error)).into());
            }
            (Some(Err(error)), false) => {
                fixed.obstacle = Some(self.hint(&error.to_string(), &error));
                None
            }
            (Some(Ok(patched)), _) => Some(patched),
            (None, _) => None,
        };
        if let Some(destination) = destination {
            let (written, lost) = destination.deliver(path, &source, patched, |written| {
                let release =
                    |part: &[u8]| [written, &source.bytes].into_iter().for_each(|it| it.release(part));
                work::verify(&source.bytes, written, &release, &fixed.plan)
            })?;
            fixed.breaks.extend(lost);
            fixed.written = Some(written);
        }
        self.tell(&fixed, !self.summary.is_tree)?;
        Ok(())
    }

    /// A plan, with what is to be known of it.
    fn planned(&self, path: String, plan: Plan, trailer: Option<u64>) -> Fixed {
        let needs_lse = plan.sites.iter().any(|site| site.needs_lse());
        Fixed {
            path,
            needs: needs_lse.then(|| Feature::FEAT_LSE.name()).into_iter().collect(),
            breaks: if plan.sites.is_empty() { Vec::new() } else { self.breaks_inside(trailer) },
            plan,
            obstacle: None,
            written: None,
        }
    }

    fn tell(&mut self, fixed: &Fixed, is_named: bool) -> io::Result<()> {
        self.summary.add(fixed);
        self.render.fixed(self.out, fixed, is_named)
    }

    /// Whether there is one file only, so that what is not in it is nowhere.
    fn is_alone(&self) -> bool {
        self.options.paths.len() == 1 && !self.summary.is_tree
    }

    /// What is added to the name of a file that is replaced.
    fn suffix(&self) -> &str {
        self.options.backup.as_deref().unwrap_or(".orig")
    }

    /// Whether a file is the backup of one beside it.
    fn is_backup(&self, path: &Path) -> bool {
        let bytes = path.as_os_str().as_bytes();
        bytes.strip_suffix(self.suffix().as_bytes()).is_some_and(|rest| {
            let rest = Path::new(OsStr::from_bytes(rest));
            rest.parent() == path.parent() && rest.exists()
        })
    }

    /// Where a file goes, if anywhere; refuses what must not be written to.
    fn destination(
        &self,
        path: &Path,
        source: &Source,
        goal: Goal<'_>,
    ) -> Result<Option<Destination>, Trouble> {
        Ok(match goal {
            Goal::Plan => None,
            Goal::New(output) => {
                let config: Vec<&Path> = self.options.config.iter().map(PathBuf::as_path).collect();
                let place = new_file(output, source, &config)?;
                Some(Destination { place, backup: None, is_replaced: false })
            }
            Goal::Replace => {
                let real = behind_links(path)?;
                // What was rewritten once can be so again.
                let is_kept = !self.options.revert || self.options.backup.is_some();
                let backup = is_kept.then(|| {
                    let mut backup = real.clone().into_os_string();
                    backup.push(self.suffix());
                    PathBuf::from(backup)
                });
                Some(Destination { place: Place::File(real), backup, is_replaced: true })
            }
        })
    }

    /// What stands against writing, and what could be done about it.
    fn hint(&self, reason: &str, error: &deburr_core::patch::ApplyError) -> String {
        match error {
            deburr_core::patch::ApplyError::Trailer { .. } => format!(
                "{reason}, such as a signature or an archive, which nobody would find there any more (--trailer \
                 rewrites it all the same)"
            ),
            _ => reason.to_owned(),
        }
    }

    /// What in a rewritten file fits no longer.
    fn breaks_inside(&self, trailer: Option<u64>) -> Vec<Break> {
        let mut breaks = Vec::new();
        if let Some(length) = trailer {
            let text = format!(
                "{length} bytes behind the last section, such as a signature or an archive, are not at the end of \
                 the rewritten file"
            );
            breaks.push(Break { what: "trailer", text });
        }
        if self.options.new_build_id {
            let text = "debug files of the original are not found by the new build-id".to_owned();
            breaks.push(Break { what: "build-id", text });
        }
        breaks
    }

    /// What outside of the file does not fit the rewritten one.
    fn breaks_around(&self, path: &Path, source: &Source) -> Vec<Break> {
        let mut breaks = Vec::new();
        let mut add = |what, text: &str| breaks.push(Break { what, text: text.to_owned() });
        if dress::is_measured(&source.file) {
            add(
                "ima",
                "the kernel holds the original against its attribute security.ima or security.evm: where that is \
                 enforced, the rewritten file must be signed anew",
            );
        }
        let real = fs::canonicalize(path).unwrap_or_default();
        if MANAGED.iter().any(|folder| real.starts_with(folder)) && !real.starts_with("/usr/local") {
            add(
                "checksums",
                "where it takes the original's place, the package manager's checksums tell of it (debsums, rpm -V), \
                 and an update brings the original back",
            );
        }
        if self.options.in_place && source.metadata.nlink() > 1 {
            add("hard-links", "other names of the file (hard links) keep the original");
        }
        breaks
    }

    fn end(mut self) -> Result<ExitCode, Failure> {
        if !self.is_alone() {
            for unmet in self.work.unmet() {
                let _ = writeln!(self.complaints, "deburr: {unmet}");
                self.failed = true;
            }
        }
        self.summary.left.sort_by(|a, b| a.path.cmp(&b.path));
        let (packages, paths) = (self.summary.packages, self.options.paths.len());
        self.summary.is_several = self.summary.is_tree || packages > 0 || paths > 1;
        self.summary.is_package = packages == 1 && paths == 1 && !self.summary.is_tree;
        self.render.end(self.out, &self.summary)?;
        Ok(if self.failed { ExitCode::from(2) } else { ExitCode::SUCCESS })
    }
}

/// Why a file was not done.
enum Stop {
    Trouble(Trouble),
    /// The run ends.
    Failure(Failure),
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Stop {
        Stop::Trouble(trouble)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Failure(error.into())
    }
}

/// Where bytes go.
enum Place {
    File(PathBuf),
    /// With its name.
    Stream(Stream, PathBuf),
}

impl Place {
    fn path(&self) -> &Path {
        match self {
            Place::File(path) | Place::Stream(_, path) => path,
        }
    }
}

/// Where a file goes.
struct Destination {
    place: Place,
    /// What the old file there is called then.
    backup: Option<PathBuf>,
    /// Whether it takes the place of the file that was read.
    is_replaced: bool,
}

impl Destination {
    /// Writes what was made of a file, or a copy of the file where that is nothing; `check` sees what was made, once it is
    /// written. Returns what does not fit any more as well.
    fn deliver(
        self,
        path: &Path,
        source: &Source,
        made: Option<Edited<'_>>,
        check: impl FnOnce(&Bytes) -> Result<(), Trouble>,
    ) -> Result<(Written, Vec<Break>), Trouble> {
        let Destination { place, backup, is_replaced } = self;
        let backup = backup.filter(|_| made.is_some());
        if let Some(backup) = &backup {
            refuse_existing(backup)?;
        }
        let (is_made, name) = (made.is_some(), place.path().to_owned());
        let new = &made.unwrap_or_else(|| (&*source.bytes).into());
        let check = |written: &Bytes| {
            if is_made {
                check(written)?;
            }
            source.check()
        };
        let lost = match place {
            Place::Stream(stream, name) => {
                place::put_through(new, stream, &name, check)?;
                Vec::new()
            }
            Place::File(destination) if is_made || !is_replaced => {
                let replaced = is_replaced.then_some(&source.file);
                let inherited = Inherited { metadata: &source.metadata, replaced, is_privileged: true };
                let existing = backup.as_deref().map_or(Existing::Replace, Existing::Rename);
                place::put(new, &destination, inherited, existing, check)?
            }
            Place::File(_) => Vec::new(),
        };
        let mut breaks = Vec::new();
        if !lost.is_empty() {
            let text = format!("attributes that could not be kept: {}", lost.join(", "));
            breaks.push(Break { what: "attributes", text });
        }
        if backup.is_some() && dress::is_privileged(&source.file, &source.metadata) {
            let text = "the backup has no set-user-ID, set-group-ID or capabilities, so that no second program with \
                 another's rights stays";
            breaks.push(Break { what: "privilege", text: text.to_owned() });
        }
        let written = Written {
            path: if is_replaced { path } else { &name }.display().to_string(),
            is_changed: is_made,
            sha256: sha256(new.pieces()),
            backup: backup.map(|path| path.display().to_string()),
        };
        Ok((written, breaks))
    }
}

/// A file that is read.
struct Source {
    file: File,
    metadata: Metadata,
    bytes: Bytes,
}

impl Source {
    fn open(path: &Path) -> Result<Source, Trouble> {
        let fault = |error: io::Error| Trouble::fault(error_text(&error));
        if path == Path::new("-") {
            return Err(Trouble::fault("the standard input cannot be rewritten: give a file"));
        }
        // The type is asked first: opening a fifo would wait for a writer.
        let kind = fs::metadata(path).map_err(fault)?;
        if !kind.is_file() {
            return Err(Trouble::fault(if kind.is_dir() { "a directory" } else { "no regular file" }));
        }
        let file = File::open(path).map_err(fault)?;
        let metadata = file.metadata().map_err(fault)?;
        let bytes = file.try_clone().and_then(Bytes::of).map_err(fault)?;
        Ok(Source { file, metadata, bytes })
    }

    fn check(&self) -> Result<(), Trouble> {
        match self.bytes.is_intact() {
            true => Ok(()),
            false => Err(Trouble::fault("the file changed while it was read")),
        }
    }
}

/// What is a backup already is not written over.
fn refuse_existing(backup: &Path) -> Result<(), Trouble> {
    match fs::symlink_metadata(backup) {
        Ok(_) => {
            let backup = backup.display();
            Err(Trouble::fault(format!("the backup {backup} exists; --backup gives it another suffix")))
        }
        Err(_) => Ok(()),
    }
}

/// The file that is meant, where a path is a link.
fn behind_links(path: &Path) -> Result<PathBuf, Trouble> {
    if !path.is_symlink() {
        return Ok(path.to_owned());
    }
    fs::canonicalize(path).map_err(|error| Trouble::fault(error_text(&error)))
}

/// The place of a new file; not the file that is read.
fn new_file(output: &Path, source: &Source, others: &[&Path]) -> Result<Place, Trouble> {
    let refused = |reason: &str| Trouble::fault(format!("{}: {reason}", output.display()));
    let target = Target::of(output).map_err(|error| match error.kind() {
        io::ErrorKind::IsADirectory => refused("a directory; give the name of the new file"),
        _ => refused(&error_text(&error)),
    })?;
    if target.identity() == Some(identity(&source.metadata)) {
        return Err(refused("the same file; --in-place rewrites it and keeps a backup"));
    }
    refuse_input(&target, others).map_err(refused)?;
    match target {
        Target::File(Regular { path, .. }) => Ok(Place::File(path)),
        Target::Stream(stream) if stream.is_terminal() => {
            Err(refused("a terminal, which cannot show a binary"))
        }
        Target::Stream(stream) => Ok(Place::Stream(stream, output.to_owned())),
    }
}

/// Where a folder is, or will be, with links followed.
fn lands_at(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let folder = fs::canonicalize(parent.unwrap_or(Path::new(".")))?;
            Ok(path.file_name().map_or(folder.clone(), |name| folder.join(name)))
        }
        found => found,
    }
}

/// Copies a file of a tree.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = File::open(from)?;
    let metadata = from.metadata()?;
    place::copy(&mut from, &metadata, to, true)
}

/// In lower-case hexadecimal digits.
fn sha256<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> String {
    let hash = pieces.into_iter().fold(Sha256::new(), Sha256::chain_update);
    hash.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
