//! Files for a launcher: binaries → a folder with the original and the rewritten file of each, and
//! `manifest.json`, which lists what each needs.

use super::breaks;
use super::file::install::{self, Existing};
use super::file::source::Source;
use super::rewriter::{self, Rewrite};
use super::run::FixRun;
use super::trouble::{Stop, Trouble, guarded};
use crate::cmd::failure::Failure;
use crate::output::{self, attributes::Inherited};
use crate::render::fix::manifest::{Manifest, ManifestFile, Variant};
use crate::render::fix::outcome::Written;
use crate::sha256::sha256;
use crate::system_error::error_text;
use deburr_core::{Request, check};
use deburr_cpu::{Arch, FeatureSet, first_level, level_named};
use deburr_patch::Edited;
use deburr_text::ShownPath as _;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::Path;

/// The folders in the folder.
const ORIGINAL: &str = "original";
const REWRITTEN: &str = "rewritten";

impl FixRun<'_> {
    /// Writes both files of each path, and the manifest.
    pub(super) fn dispatch(&mut self, folder: &Path) -> Result<(), Failure> {
        let mut names = HashSet::new();
        for path in &self.options.paths {
            let complain = |reason: &str| Failure::Message(format!("{}: {reason}", path.shown()));
            if fs::metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
                return Err(complain("a directory; give its files to --dispatch"));
            }
            if !names.insert(path.file_name()) {
                return Err(complain("two files of this name cannot be in one folder"));
            }
        }
        install::new_folder(folder).map_err(Failure::Message)?;
        let mut manifest = Manifest::default();
        for path in &self.options.paths {
            match self.dispatch_one(path, folder) {
                Ok(file) => manifest.files.push(file),
                Err(Stop::Failure(failure)) => return Err(failure),
                Err(Stop::Trouble(trouble)) => self.leave(path, trouble, true),
            }
        }
        if !manifest.files.is_empty() {
            let path = folder.join("manifest.json");
            let text = serde_json::to_string_pretty(&manifest).map_err(std::io::Error::from)? + "\n";
            output::write(&path, text.as_bytes(), &[]).map_err(Failure::Message)?;
            self.summary.manifest = Some(manifest);
        }
        Ok(())
    }

    fn dispatch_one(&mut self, path: &Path, folder: &Path) -> Result<ManifestFile, Stop> {
        let source = Source::open(path)?;
        let Rewrite { plan, patched, trailing } = self.rewriter.make(&source.bytes, Some(path))?;
        self.check_met()?;
        let mut fixed = self.planned(path.shown().into_owned(), plan, trailing);
        if !fixed.plan.sites.is_empty()
            && let Some(reason) = self.attested(&mut fixed, self.disk.attestations(path, &source))
        {
            return Err(Trouble::left(reason).into());
        }
        let patched = patched.transpose().map_err(|error| Trouble::left(breaks::obstacle(&error)))?;
        let name = path.file_name().ok_or_else(|| Trouble::fault("no name of a file"))?;
        let target = self.rewriter.target();
        let mut variants = Vec::new();
        let mut add = |part: &str, new: &Edited<'_>, needs: &BTreeSet<String>| -> Result<String, Trouble> {
            let part_folder = folder.join(part);
            if let Err(error) = fs::create_dir(&part_folder)
                && error.kind() != std::io::ErrorKind::AlreadyExists
            {
                return Err(Trouble::fault(format!("{}: {}", part_folder.shown(), error_text(&error))));
            }
            let to = part_folder.join(name);
            let inherited = Inherited { metadata: &source.metadata, replaced: None, is_privileged: true };
            let is_changed = part == REWRITTEN;
            install::put(new, &to, inherited, Existing::Replace, |written| {
                if is_changed {
                    rewriter::verify(
                        &source.bytes,
                        written,
                        target,
                        &|run| written.release(run),
                        &fixed.plan,
                    )?;
                }
                source.check()
            })?;
            variants.push(Variant {
                path: format!("{part}/{}", name.to_string_lossy()),
                needs: needs.iter().cloned().collect(),
                sha256: sha256(new.pieces()),
                size: new.length(),
            });
            Ok(to.shown().into_owned())
        };
        let mut needs = needs(&source.bytes)?;
        let unchanged = Edited::from(&*source.bytes);
        let original = add(ORIGINAL, &unchanged, &needs)?;
        needs.extend(fixed.plan.needs().iter().map(|feature| feature.name().to_owned()));
        let rewritten = patched.as_ref().map(|new| add(REWRITTEN, new, &needs)).transpose()?;
        // The best first.
        variants.reverse();
        let new = patched.as_ref().unwrap_or(&unchanged);
        if rewritten.is_some() {
            fixed.breaks.extend(breaks::around(self.options, path, &source));
        }
        fixed.written = Some(Written {
            is_changed: rewritten.is_some(),
            path: rewritten.unwrap_or(original),
            sha256: sha256(new.pieces()),
            backup: None,
        });
        self.show(&fixed, true)?;
        Ok(ManifestFile { name: name.to_string_lossy().into_owned(), variants })
    }
}

/// The features beyond the architecture's first level without which a file does not run, by name.
fn needs(bytes: &[u8]) -> Result<BTreeSet<String>, Trouble> {
    let request = Request { rules: Some(&[]), ..Request::default() };
    let report = guarded(|| check(bytes, &request))?.map_err(|error| Trouble::fault(error.to_string()))?;
    let of_level = level_named(&report.level).map_or(FeatureSet::default(), |level| level.features);
    let beyond = of_level.minus(first_level(Arch::Aarch64));
    Ok(beyond.iter().map(|feature| feature.name().to_owned()).chain(report.needed_beyond).collect())
}
