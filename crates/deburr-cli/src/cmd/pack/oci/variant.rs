//! Options → the variants of an image, each checked to be what its level says.
//!
//! In: trees and their levels. Out: their files and platforms, the one that needs least first; and what the user should know.

use super::tree::{Entries, Kind, walk};
use crate::args::pack::oci::Oci;
use crate::input::mapped::Bytes;
use deburr_cpu::{Arch, Target, levels, smallest_level};
use deburr_pack::check::{Terms, check_file, is_linked};
use deburr_pack::record::{Record, State};
use deburr_package::layout::Platform;
use deburr_text::ShownPath as _;
use std::path::{Path, PathBuf};

/// Functions that a message names, before it counts the rest.
const MOST_NAMED: usize = 10;

/// A variant of an image.
pub(super) struct Variant {
    pub(super) level: String,
    pub(super) platform: Platform,
    pub(super) tree: PathBuf,
    pub(super) entries: Entries,
    target: Target,
    /// The place of the level among those of its architecture.
    rank: usize,
}

/// The variants, by architecture and level.
pub(super) fn variants(options: &Oci, notes: &mut Vec<String>) -> Result<Vec<Variant>, String> {
    let mut variants: Vec<Variant> = Vec::new();
    for (level, tree) in trees(options, notes)? {
        let variant = variant(&level, tree)?;
        if let Some(other) = variants.iter().find(|other| other.platform == variant.platform) {
            return Err(format!(
                "{} and {} are the same platform; expected one tree for each",
                other.level, variant.level
            ));
        }
        if let Some(other) = variants.iter().find(|other| other.tree == variant.tree) {
            return Err(format!(
                "{}: expected a tree for each level, got the same one for {} and {}; name what deburr pack build made, not what assemble did",
                variant.tree.shown(),
                other.level,
                variant.level
            ));
        }
        variants.push(variant);
    }
    if variants.is_empty() {
        return Err("no variant is left; deburr pack build says why".to_owned());
    }
    variants.sort_by(|a, b| (&a.platform.architecture, a.rank).cmp(&(&b.platform.architecture, b.rank)));
    Ok(variants)
}

/// Levels and trees, as they are named.
fn trees(options: &Oci, notes: &mut Vec<String>) -> Result<Vec<(String, PathBuf)>, String> {
    let mut trees = Vec::new();
    if let Some(folder) = &options.pack {
        for variant in Record::read(folder).map_err(|error| error.to_string())?.variants {
            match variant.state {
                State::Done => trees.push((variant.level, folder.join(variant.tree))),
                State::Failed => notes.push(format!("{}: left out: its build failed", variant.level)),
                State::Rejected => {
                    notes.push(format!("{}: left out: it is not what its level says", variant.level));
                }
            }
        }
    }
    for variant in &options.variants {
        let Some((level, tree)) = variant.split_once('=').filter(|(_, tree)| !tree.is_empty()) else {
            return Err(format!("--variant {variant}: expected LEVEL=TREE, such as x86-64-v3=build/v3"));
        };
        trees.push((level.to_owned(), PathBuf::from(tree)));
    }
    Ok(trees)
}

fn variant(level: &str, tree: PathBuf) -> Result<Variant, String> {
    let target =
        Target::parse(level).map_err(|error| format!("{level}: {error} (`deburr cpu` lists the names)"))?;
    let all = levels(target.arch);
    let Some(rank) = all.iter().position(|level| level.features == target.features) else {
        return Err(format!(
            "{level}: expected a level, such as {}: the platform of an image has no features beyond one",
            all[0].name
        ));
    };
    let name = all[rank].name;
    let platform = match target.arch {
        Arch::X86_64 => Platform::normal("amd64", name.strip_prefix("x86-64-")),
        Arch::Aarch64 => {
            let version = name.trim_start_matches("arm").trim_end_matches("-a").trim_end_matches(".0");
            Platform::normal("arm64", Some(version))
        }
    };
    let entries = walk(&tree)?;
    if entries.is_empty() {
        return Err(format!("{}: the tree is empty", tree.shown()));
    }
    Ok(Variant { level: level.to_owned(), platform, tree, entries, target, rank })
}

impl Variant {
    /// Checks each program and shared library against the level.
    pub(super) fn check(&self, notes: &mut Vec<String>) -> Result<(), String> {
        let (mut faults, mut highest) = (Vec::new(), None);
        let files = self.entries.iter().filter(|(_, entry)| matches!(entry.kind, Kind::File(_)));
        for (path, _) in files {
            let file = self.tree.join(path);
            let bytes = Bytes::open(&file).map_err(|error| format!("{}: {error}", file.shown()))?;
            if !is_linked(&bytes) {
                continue;
            }
            let checked = check_file(path, &bytes, &self.target, &Terms::STRICT);
            let (level, _) = smallest_level(self.target.arch, checked.present);
            let position = |level| levels(self.target.arch).iter().position(|known| known == level);
            highest = highest.max(level.and_then(position));
            notes.extend(
                checked.undecided.iter().map(|undecided| format!("{}: undecided: {undecided}", self.level)),
            );
            faults.extend(checked.faults);
        }
        if !faults.is_empty() {
            let mut text = format!("{}: the tree is not what its level says:", self.level);
            for fault in faults.iter().take(MOST_NAMED) {
                text.push_str(&format!("\n  {fault}"));
            }
            if faults.len() > MOST_NAMED {
                text.push_str(&format!("\n  and {} more", faults.len() - MOST_NAMED));
            }
            return Err(text);
        }
        match highest {
            None => notes.push(format!("{}: the tree holds no program and no shared library", self.level)),
            Some(highest) if highest < self.rank => notes.push(format!(
                "{}: no file holds an instruction above {}; the variant gains nothing by its level",
                self.level,
                levels(self.target.arch)[highest].name
            )),
            Some(_) => {}
        }
        Ok(())
    }

    /// Whether a machine of any level of the architecture runs it.
    pub(super) fn is_first(&self) -> bool {
        self.rank == 0
    }

    /// The path of a folder of the tree that is a link in the base.
    pub(super) fn folder_among<'v>(&'v self, links: &[PathBuf]) -> Option<&'v Path> {
        let folders = self.entries.iter().filter(|(_, entry)| entry.kind == Kind::Folder);
        folders.map(|(path, _)| path.as_path()).find(|path| links.iter().any(|link| link == path))
    }
}
