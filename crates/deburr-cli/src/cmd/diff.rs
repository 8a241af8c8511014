//! `deburr diff`: two builds → what differs, file by file, and whether the new one is worse.

use super::{Failure, colored, width_of_terminal};
use crate::args::diff::Diff;
use crate::args::{FailOn, Format, When};
use crate::asking::{Asking, Refusal, Whence};
use crate::input::Content;
use crate::input::mapped::Bytes;
use crate::input::pairs::pair;
use crate::input::walk::{self, Candidate, error_text};
use crate::render::diff::{self, Compared, Layout, Skipped, Summary};
use crate::render::style::Palette;
use deburr_core::compare::Inspected;
use deburr_core::image::Archive;
use deburr_core::{compare, inspect};
use deburr_cpu::level_names;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Runs the verb.
pub(super) fn run(
    options: &Diff,
    color: When,
    out: &mut dyn Write,
    complaints: &mut dyn Write,
) -> Result<ExitCode, Failure> {
    let asking = Asking::new(&options.asked, &options.batch.debug_files).map_err(Failure::Message)?;
    let threads = options.batch.threads.or_else(|| std::thread::available_parallelism().ok());
    let threads = threads.map_or(1, std::num::NonZeroUsize::get);
    let from = options.fail_on.or(asking.config.fail_on).unwrap_or(FailOn::Warning).threshold();
    let mut skipped = Vec::new();
    let old = Tree::walk(&options.old, threads, &mut skipped)?;
    let new = Tree::walk(&options.new, threads, &mut skipped)?;
    let both_files = old.is_file && new.is_file;
    let pairs = if both_files { vec![(Some(0), Some(0))] } else { pair(&old.names, &new.names) };
    let work = |index: usize| {
        let Some(&(a, b)) = pairs.get(index) else { return Vec::new() };
        let side = |tree: &Tree, index: Option<usize>| index.and_then(|index| tree.files.get(index).cloned());
        compare_files(side(&old, a).as_ref(), side(&new, b).as_ref(), &asking)
    };
    let mut compared = Vec::new();
    let mut summary = Summary { fail_on: from, ..Summary::default() };
    for outcome in in_order(pairs.len(), threads, &work) {
        match outcome {
            Outcome::Compared(it) => compared.push(*it),
            Outcome::OnlyOld(path) => summary.only_old.push(path),
            Outcome::Skipped(skip) => skipped.push(skip),
        }
    }
    raise_above_all(&mut compared);
    for skip in &skipped {
        if skip.is_fault {
            // Where the standard error is gone, the exit status still tells.
            let _ = writeln!(complaints, "deburr: {}: {}", skip.path, skip.reason);
        }
    }
    let failed = skipped.iter().any(|skip| skip.is_fault) || compared.is_empty();
    summary.is_worse = compared.iter().any(|it| it.diff.is_worse(from));
    summary.skipped = skipped;
    let terminal = io::stdout().is_terminal();
    if options.format == Format::Json {
        diff::json(out, &compared, &summary, terminal)?;
    } else {
        let layout = Layout {
            palette: Palette::new(colored(color, terminal)),
            width: terminal.then(width_of_terminal).flatten(),
            limit: options.limit,
        };
        diff::text(out, &compared, &summary, &layout)?;
    }
    Ok(match (failed, summary.is_worse) {
        (true, _) => ExitCode::from(2),
        (false, true) => ExitCode::from(1),
        (false, false) => ExitCode::SUCCESS,
    })
}

/// One side: its files, with names by which they are paired.
struct Tree {
    is_file: bool,
    files: Vec<Candidate>,
    names: Vec<String>,
}

impl Tree {
    fn walk(root: &Path, threads: usize, skipped: &mut Vec<Skipped>) -> Result<Tree, Failure> {
        let walked = walk::walk(&[root.to_owned()], threads, &[], false);
        for skip in walked.skipped {
            if skip.named {
                return Err(Failure::Message(format!("{}: {}", skip.path, skip.reason)));
            }
            skipped.push(Skipped { path: skip.path, reason: skip.reason, is_fault: skip.fault });
        }
        let name =
            |file: &Candidate| file.path.strip_prefix(root).unwrap_or(&file.path).display().to_string();
        let names = walked.files.iter().map(name).collect();
        Ok(Tree { is_file: !root.is_dir(), files: walked.files, names })
    }
}

/// What became of a pair, or of one member of an archive.
enum Outcome {
    Compared(Box<Compared>),
    OnlyOld(String),
    Skipped(Skipped),
}

/// Does numbered pieces of work on several threads; what they make comes in order.
fn in_order(count: usize, threads: usize, work: &(dyn Fn(usize) -> Vec<Outcome> + Sync)) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let done: Mutex<BTreeMap<usize, Vec<Outcome>>> = Mutex::new(BTreeMap::new());
    let run = || {
        loop {
            let index = next.fetch_add(1, Relaxed);
            if index >= count {
                return;
            }
            let made = work(index);
            done.lock().unwrap_or_else(PoisonError::into_inner).insert(index, made);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            scope.spawn(run);
        }
        run();
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().flatten().collect()
}

/// The ELF files in a file: itself, or the members of an archive.
struct Opened {
    path: PathBuf,
    bytes: Bytes,
    /// With the name in front of a member, if it is one.
    objects: Vec<(String, std::ops::Range<usize>)>,
    is_archive: bool,
}

impl Opened {
    fn open(file: &Candidate) -> Result<Opened, Skipped> {
        let refuse =
            |reason: String| Skipped { path: file.path.display().to_string(), reason, is_fault: true };
        let bytes = if file.is_stdin {
            return Err(refuse("the standard input cannot be compared".to_owned()));
        } else {
            Bytes::open(&file.path).map_err(|error| refuse(error_text(&error)))?
        };
        let is_archive = Content::of_all(&bytes) == Content::Archive;
        let objects = match is_archive {
            false => vec![(String::new(), 0..bytes.len())],
            true => {
                let archive = Archive::parse(&bytes).map_err(|error| refuse(error.to_string()))?;
                let members = archive.map(|archive| archive.members).unwrap_or_default();
                let is_elf = |range: &std::ops::Range<usize>| {
                    bytes.get(range.clone()).is_some_and(|object| Content::of_all(object) == Content::Elf)
                };
                members
                    .into_iter()
                    .map(|member| (member.name.to_string(), member.range))
                    .filter(|(_, range)| is_elf(range))
                    .collect()
            }
        };
        Ok(Opened { path: file.path.clone(), bytes, objects, is_archive })
    }

    fn name(&self, index: usize) -> String {
        let path = self.path.display();
        match self.objects.get(index) {
            Some((member, _)) if self.is_archive => format!("{path}({member})"),
            _ => path.to_string(),
        }
    }

    fn inspect(&self, index: usize, asking: &Asking) -> Result<Inspected, Skipped> {
        let path = self.name(index);
        let object = self.objects.get(index).and_then(|(_, range)| self.bytes.get(range.clone()));
        let place = (!self.is_archive).then_some(self.path.as_path());
        let whence = Whence { path: &path, file: place };
        let inspected = asking.ask(object.unwrap_or_default(), whence, &[], inspect);
        let refused = |Refusal { reason, fault }| Skipped { path: path.clone(), reason, is_fault: fault };
        let mut inspected = inspected.map_err(refused)?;
        asking.config.change_severities(&mut inspected.report.findings);
        match self.bytes.is_intact() {
            true => Ok(inspected),
            false => {
                let reason = "the file changed while it was read".to_owned();
                Err(Skipped { path, reason, is_fault: true })
            }
        }
    }
}

fn compare_files(old: Option<&Candidate>, new: Option<&Candidate>, asking: &Asking) -> Vec<Outcome> {
    let Some(new) = new else {
        return old.into_iter().map(|old| Outcome::OnlyOld(old.path.display().to_string())).collect();
    };
    let opened = |file: Option<&Candidate>| file.map(Opened::open).transpose();
    let (old, new) = match (opened(old), Opened::open(new)) {
        (Ok(old), Ok(new)) => (old, new),
        (old, new) => {
            let skips = [old.err(), new.err()].into_iter().flatten();
            return skips.map(Outcome::Skipped).collect();
        }
    };
    let names = |file: &Opened| file.objects.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let old_names = old.as_ref().map(names).unwrap_or_default();
    let pairs = pair(&old_names, &names(&new)).into_iter();
    pairs.map(|(a, b)| compare_objects(old.as_ref().zip(a), &new, b, asking)).collect()
}

fn compare_objects(
    old: Option<(&Opened, usize)>,
    new: &Opened,
    index: Option<usize>,
    asking: &Asking,
) -> Outcome {
    let old_path = old.map(|(file, index)| file.name(index));
    let Some(index) = index else { return Outcome::OnlyOld(old_path.unwrap_or_default()) };
    let inspected =
        (old.map(|(file, index)| file.inspect(index, asking)).transpose(), new.inspect(index, asking));
    let (before, after) = match inspected {
        (Ok(before), Ok(after)) => (before, after),
        (Err(skip), _) | (_, Err(skip)) => return Outcome::Skipped(skip),
    };
    let path = new.name(index);
    if before.as_ref().is_some_and(|before| before.report.arch != after.report.arch) {
        let reason = "another architecture than in the old build".to_owned();
        return Outcome::Skipped(Skipped { path, reason, is_fault: true });
    }
    let level = after.report.level.clone();
    let old_level = before.as_ref().map(|before| before.report.level.clone());
    let diff = compare(before.as_ref(), &after);
    Outcome::Compared(Box::new(Compared { old: old_path, new: path, level, old_level, diff }))
}

/// A file that only the new build has raises the level if it needs more than any file of the old build.
fn raise_above_all(compared: &mut [Compared]) {
    let rank = |arch: &str, level: &str| {
        let arch = crate::machine::ARCHES.iter().find(|it| it.name() == arch)?;
        level_names(*arch).position(|name| name == level)
    };
    let mut highest: BTreeMap<&str, Option<usize>> = BTreeMap::new();
    for it in compared.iter() {
        if let Some(level) = &it.old_level {
            let most = highest.entry(it.diff.arch).or_default();
            *most = rank(it.diff.arch, level).max(*most);
        }
    }
    for it in compared.iter_mut().filter(|it| it.old.is_none()) {
        let most = highest.get(it.diff.arch).copied().flatten();
        if most.is_some() && rank(it.diff.arch, &it.level) > most {
            let new = it.level.clone();
            it.diff.levels.push(deburr_core::compare::LevelChange {
                what: "needed",
                old: String::new(),
                new,
                raised: true,
            });
        }
    }
}
