//! What `deburr fix` tells: plans and what was written → text for people, or a document whose schema is `schema-fix.json`.

mod json;
mod text;

pub(crate) use json::Document;
pub(crate) use text::{Layout, Text};

use deburr_core::patch::{Plan, Refused};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// One binary, and what is or was rewritten in it.
#[derive(Debug)]
pub(crate) struct Fixed {
    pub(crate) path: String,
    pub(crate) plan: Plan,
    /// The features that the rewritten file needs and the original does not.
    pub(crate) needs: Vec<&'static str>,
    pub(crate) breaks: Vec<Break>,
    /// Why the plan cannot be written.
    pub(crate) obstacle: Option<String>,
    pub(crate) written: Option<Written>,
}

/// Something outside of the rewritten code that does not fit the new file.
#[derive(Debug, Serialize)]
pub(crate) struct Break {
    pub(crate) what: &'static str,
    /// For people.
    pub(crate) text: String,
}

/// A file that was written, or that stays because there is nothing to rewrite in it.
#[derive(Debug, Serialize)]
pub(crate) struct Written {
    pub(crate) path: String,
    /// Whether it differs from what was read.
    pub(crate) is_changed: bool,
    pub(crate) sha256: String,
    /// What the old file is called now.
    pub(crate) backup: Option<String>,
}

/// A package, and what became of it.
#[derive(Debug, Serialize)]
pub(crate) struct Packed {
    pub(crate) path: String,
    /// The files in it that are not what they were, as `package!inner/path`.
    pub(crate) changed: Vec<String>,
    pub(crate) breaks: Vec<Break>,
    pub(crate) written: Option<Written>,
    /// Whether those files are originals that were given back.
    #[serde(skip)]
    pub(crate) is_reverted: bool,
}

/// An original that was given back.
#[derive(Debug, Serialize)]
pub(crate) struct Reverted {
    pub(crate) path: String,
    pub(crate) written: Written,
}

/// Whether two files do the same.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) path: String,
    pub(crate) original: String,
    /// Changes by rule, or why they are not proven.
    pub(crate) verified: Result<BTreeMap<&'static str, usize>, String>,
    /// What the proofs assume, where that is wanted.
    pub(crate) assumptions: &'static [&'static str],
}

/// A file that stays as it is.
#[derive(Debug, Serialize)]
pub(crate) struct Left {
    pub(crate) path: String,
    pub(crate) reason: String,
    /// Whether it could not be done, rather than that it must stay so.
    pub(crate) is_fault: bool,
}

/// What a launcher chooses by.
#[derive(Debug, Serialize)]
pub(crate) struct Manifest {
    pub(crate) schema_version: u32,
    pub(crate) tool_version: &'static str,
    pub(crate) files: Vec<ManifestFile>,
}

impl Default for Manifest {
    fn default() -> Manifest {
        Manifest { schema_version: json::SCHEMA_VERSION, tool_version: json::TOOL_VERSION, files: Vec::new() }
    }
}

/// One file of a manifest.
#[derive(Debug, Serialize)]
pub(crate) struct ManifestFile {
    pub(crate) name: String,
    /// The best first: of those whose needs a CPU has, the first is to be taken.
    pub(crate) variants: Vec<Variant>,
}

/// One form of a file.
#[derive(Debug, Serialize)]
pub(crate) struct Variant {
    /// From the folder of the manifest on.
    pub(crate) path: String,
    /// Features beyond armv8.0-a.
    pub(crate) needs: Vec<String>,
    pub(crate) sha256: String,
    pub(crate) size: u64,
}

/// A run that is over.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// Binaries that were planned for.
    pub(crate) files: u64,
    /// Of those, files with sites.
    pub(crate) files_with_sites: u64,
    /// Files with sites that were written.
    pub(crate) files_rewritten: u64,
    /// Files that need LSE if rewritten.
    pub(crate) files_needing_lse: u64,
    pub(crate) sites: u64,
    /// Sites that spin where they fail.
    pub(crate) spinning: u64,
    pub(crate) refused: u64,
    /// Of those, barriers: candidates to leave out, and no atomics that were missed.
    pub(crate) barriers: u64,
    /// Files of trees that are no binaries.
    pub(crate) other_files: u64,
    /// By path.
    pub(crate) left: Vec<Left>,
    pub(crate) manifest: Option<Manifest>,
    /// Whether a directory was given.
    pub(crate) is_tree: bool,
    /// Packages that were looked into.
    pub(crate) packages: u64,
    /// Whether there is one package and nothing else.
    pub(crate) is_package: bool,
    /// Whether there may be several files.
    pub(crate) is_several: bool,
}

impl Summary {
    /// Counts one file.
    pub(crate) fn add(&mut self, fixed: &Fixed) {
        let Plan { sites, refused } = &fixed.plan;
        let is_written = fixed.written.as_ref().is_some_and(|written| written.is_changed);
        self.files += 1;
        self.files_with_sites += u64::from(!sites.is_empty());
        self.files_rewritten += u64::from(is_written);
        self.files_needing_lse += u64::from(!fixed.needs.is_empty());
        self.sites += sites.len() as u64;
        self.spinning += sites.iter().filter(|site| site.spins).count() as u64;
        self.refused += refused.len() as u64;
        self.barriers += refused.iter().filter(|refused| is_barrier(refused)).count() as u64;
    }
}

/// Whether a place is a barrier that stays: most barriers are needed, so that it is no shortcoming.
fn is_barrier(refused: &Refused) -> bool {
    refused.rule == "barrier-around-atomic"
}

/// A format.
pub(crate) trait Render {
    /// Opens the document.
    fn begin(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    /// Adds a file. `is_named`: whether it is told of though there is nothing in it.
    fn fixed(&mut self, out: &mut dyn Write, fixed: &Fixed, is_named: bool) -> io::Result<()>;

    /// Adds a package, behind the files in it.
    fn packed(&mut self, out: &mut dyn Write, packed: &Packed) -> io::Result<()>;

    /// Adds a file that was given back.
    fn reverted(&mut self, out: &mut dyn Write, reverted: &Reverted) -> io::Result<()>;

    /// Adds a verdict.
    fn verdict(&mut self, out: &mut dyn Write, verdict: &Verdict) -> io::Result<()>;

    /// Closes the document.
    fn end(&mut self, out: &mut dyn Write, summary: &Summary) -> io::Result<()>;
}
