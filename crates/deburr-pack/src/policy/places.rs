//! Where the variants of a laid-out tree are, and of which file of the system each is a variant.
//!
//! In: the tree and its record. Out: for each program and library its place (`/usr/bin/prog`), its launcher, and its variants, without
//! what changes with each version (`assemble/whole.rs`, `assemble/plan.rs` have the layouts).

use super::{PolicyError, absolute};
use crate::assemble::{Entry, ID_DIGITS, entries_of, lexical};
use crate::record::{LaidFile, Record};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Where a variant is, as an absolute path of the installed system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Location {
    /// In the tree of each level: the folder of the trees, and the path in a tree.
    Trees(String, String),
    /// At one path.
    File(String),
}

/// A program or library, by its place.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Laid {
    /// The launcher, where it is a program and not itself in the place.
    pub(super) launcher: Option<String>,
    /// Whether a launcher starts it.
    pub(super) is_program: bool,
    /// Its variants.
    pub(super) variants: BTreeSet<Location>,
}

/// All of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// By place.
    pub(super) files: BTreeMap<String, Laid>,
}

impl Places {
    /// Reads what was laid out.
    pub(super) fn read(folder: &Path, record: &Record) -> Result<Places, PolicyError> {
        if record.files.is_empty() {
            let reason = "it lays out no file of several variants; name what deburr pack assemble wrote";
            return Err(PolicyError::File(folder.to_owned(), reason.to_owned()));
        }
        let roots = roots(folder, record);
        let mut launchers = Vec::new();
        let mut links = Vec::new();
        for root in &roots {
            collect(&folder.join(root), &mut launchers, &mut links)?;
        }
        // What the machine chooses leads to the launchers at first.
        let selection = record.selection.as_ref().map(|link| {
            roots.iter().find_map(|root| link.strip_prefix(root).ok()).unwrap_or(link).to_owned()
        });
        if let Some(selection) = &selection {
            let start = selection.with_file_name(crate::assemble::START);
            for (_, to) in &mut links {
                if let Ok(below) = to.strip_prefix(selection) {
                    *to = start.join(below);
                }
            }
        }
        let mut places = Places::default();
        // The folder that the trees are an image of, by the folder of the trees.
        let mut images: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
        for launcher in &launchers {
            let place =
                links.iter().find(|(link, to)| to == launcher && link.file_name() == launcher.file_name());
            let place = place.map_or(launcher, |(link, _)| link);
            let laid = places.files.entry(absolute(place)?).or_default();
            laid.is_program = true;
            if place != launcher {
                laid.launcher = Some(absolute(launcher)?);
                let common =
                    place.iter().rev().zip(launcher.iter().rev()).take_while(|(a, b)| a == b).count();
                let start = launcher.iter().count() - common;
                let above: PathBuf = launcher.iter().take(start.saturating_sub(1)).collect();
                images.insert(above, place.iter().take(place.iter().count() - common).collect());
            }
        }
        for file in &record.files {
            let path = roots.iter().find_map(|root| file.path.strip_prefix(root).ok()).unwrap_or(&file.path);
            let (place, location) = located(file, path, &images)?;
            if !matches!(&location, Location::File(same) if *same == place) {
                places.files.entry(place).or_default().variants.insert(location);
            }
        }
        places.files.retain(|_, laid| laid.launcher.is_some() || !laid.variants.is_empty());
        Ok(places)
    }

    /// A name for the rules: the folder of the trees, or the first program.
    pub(super) fn name(&self) -> String {
        let trees = self.files.values().flat_map(|laid| &laid.variants).find_map(|location| match location {
            Location::Trees(trees, _) => Some(trees),
            Location::File(_) => None,
        });
        let path = trees.or_else(|| self.files.keys().next()).map_or("", String::as_str);
        format!("{}-levels", path.rsplit('/').next().unwrap_or_default())
    }
}

/// The folders of a split tree, or the one folder of another.
fn roots(folder: &Path, record: &Record) -> Vec<PathBuf> {
    let mut roots = vec![PathBuf::from(crate::assemble::BASE)];
    roots.extend(record.variants.iter().map(|variant| PathBuf::from(&variant.level)));
    let is_below = |file: &LaidFile| roots.iter().any(|root| file.path.starts_with(root));
    if folder.join(crate::assemble::BASE).is_dir() && record.files.iter().all(is_below) {
        roots.retain(|root| folder.join(root).is_dir());
        roots
    } else {
        vec![PathBuf::new()]
    }
}

/// Of which file a variant is one, and where it is.
fn located(
    file: &LaidFile,
    path: &Path,
    images: &BTreeMap<PathBuf, PathBuf>,
) -> Result<(String, Location), PolicyError> {
    for (trees, image) in images {
        let Ok(below) = path.strip_prefix(trees) else { continue };
        let mut parts = below.iter();
        let is_id = parts.next().and_then(|id| id.to_str()).is_some_and(is_id);
        if is_id && parts.next().is_some_and(|level| *level == *file.level) {
            let rest = parts.as_path();
            let in_tree = absolute(rest)?.trim_start_matches('/').to_owned();
            return Ok((absolute(&image.join(rest))?, Location::Trees(absolute(trees)?, in_tree)));
        }
    }
    let parts: Vec<_> = path.iter().filter_map(OsStr::to_str).collect();
    if parts.windows(2).any(|pair| is_id(pair[0]) && pair[1] == file.level) {
        let reason = "it is in the tree of a level, and no link leads to a launcher of that tree: its place is not known; assemble it anew";
        return Err(PolicyError::File(path.to_owned(), reason.to_owned()));
    }
    // bin-LEVEL/prog, lib/glibc-hwcaps/LEVEL/libx.so, x.so.variants/LEVEL/x.so.
    let here = Location::File(absolute(path)?);
    let name = path.file_name().unwrap_or_default();
    let Some((folder, last)) = path.parent().and_then(|it| Some((it, it.file_name()?.to_str()?))) else {
        return Ok((absolute(path)?, here));
    };
    let above = folder.parent().unwrap_or(Path::new(""));
    let place = match last.strip_suffix(&file.level) {
        Some("") => match above.file_name().and_then(|it| it.to_str()) {
            Some("glibc-hwcaps") => above.with_file_name(name),
            Some(variants) if variants.ends_with(".variants") => above.with_extension(""),
            _ => path.to_owned(),
        },
        Some(stem) => above.join(stem.strip_suffix('-').unwrap_or(last)).join(name),
        None => path.to_owned(),
    };
    Ok((absolute(&place)?, here))
}

fn is_id(text: &str) -> bool {
    text.len() == ID_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Collects launchers, and links with what they lead to, relative to the root.
fn collect(
    root: &Path,
    launchers: &mut Vec<PathBuf>,
    links: &mut Vec<(PathBuf, PathBuf)>,
) -> Result<(), PolicyError> {
    for (path, entry) in entries_of(root).map_err(PolicyError::Assembled)? {
        match entry {
            Entry::Folder => {}
            Entry::Link(target) => {
                let led_to = lexical(&path.parent().unwrap_or(Path::new("")).join(target));
                let led_to = led_to.strip_prefix("/").unwrap_or(&led_to).to_owned();
                links.push((path, led_to));
            }
            Entry::File => {
                let file = root.join(&path);
                let bytes = fs::read(&file).map_err(|error| PolicyError::Io(file.clone(), error))?;
                if !deburr_launcher::is_launcher(&bytes) {
                    continue;
                }
                if !deburr_launcher::table_bytes(&bytes).is_some_and(deburr_launcher::has_prefix) {
                    let reason = "it is laid out without --prefix, so it would refuse to start where a security module changes its domain; assemble it with --prefix / (or where its root will be)";
                    return Err(PolicyError::File(file, reason.to_owned()));
                }
                launchers.push(path);
            }
        }
    }
    Ok(())
}
