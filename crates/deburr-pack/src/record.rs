//! The record of a pack: `deburr-pack.json` in the folder that `deburr pack build` makes. Schema version 1.
//!
//! In: what was built. Out: the same for the steps that follow: `assemble`, `measure`, `oci`. Paths are relative to the
//! folder of the record, so that the folder can be moved.

use crate::check::{Fault, Undecided};
use crate::demand;
use deburr_cpu::FeatureSet;
use deburr_text::ShownPath as _;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// The record's name in its folder.
pub const FILE: &str = "deburr-pack.json";
/// The version of the schema; it grows when a field changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 1;

/// What was packed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Record {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The command that built each variant, as its arguments.
    pub command: Vec<String>,
    /// The variants, in the order of the levels that were given.
    pub variants: Vec<BuiltVariant>,
    /// What was measured, by CPU model; empty before `deburr pack measure`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<Measured>,
    /// The files of several variants, where they were laid out; empty in a pack that was built.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<LaidFile>,
    /// The folder of the trees and their launchers, where each level has a tree; relative to the record's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<PathBuf>,
    /// The link that leads to the chosen tree, or to the launchers, where the tree was laid out with `--select`; relative to the
    /// record's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<PathBuf>,
    /// The interfaces that were compared between levels, where variants were laid out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceRecord>,
}

/// Whether what was built with the lowest level's variant of a file can use that of another level.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct InterfaceRecord {
    /// The file, relative to the trees.
    pub path: PathBuf,
    /// The level that was compared with the lowest.
    pub level: String,
    /// What was found.
    pub state: InterfaceState,
    /// Where the interfaces differ, or why that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Whether it was taken for the same at the user's wish.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
}

impl InterfaceRecord {
    /// What was found, as one clause.
    pub fn finding(&self) -> String {
        let first = self.reasons.first().map(String::as_str).unwrap_or_default();
        let more = match self.reasons.len() {
            0 | 1 => String::new(),
            several => format!(" (and {} more)", several - 1),
        };
        match self.state {
            InterfaceState::Same => format!("its interface for {} is the same", self.level),
            InterfaceState::Differs => format!("its interface for {} differs: {first}{more}", self.level),
            InterfaceState::Unknown => {
                format!("whether its interface for {} is the same is unknown: {first}{more}", self.level)
            }
        }
    }
}

/// What is known of an interface at another level than the lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InterfaceState {
    /// It is shown to be the same.
    Same,
    /// It is another one.
    Differs,
    /// Neither is shown.
    Unknown,
}

/// A file that was laid out for a level, and by what it is known also after it was stripped.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct LaidFile {
    /// The level.
    pub level: String,
    /// Relative to the record's folder.
    pub path: PathBuf,
    /// Its build ID in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// Where the part of the file ends that is loaded, in bytes.
    pub loaded: u64,
}

/// One variant.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct BuiltVariant {
    /// The target, as `deburr_cpu::Target` reads it: `x86-64-v3`, `armv8.0-a+lse`, `neoverse-n1`.
    pub level: String,
    /// What became of it.
    pub state: State,
    /// The installed tree, relative to the record's folder.
    pub tree: PathBuf,
    /// What the build wrote on its standard output and standard error, relative to the record's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
    /// How it was checked; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckRecord>,
}

/// How a variant was checked, and what was believed of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct CheckRecord {
    /// Whether it was left out at the user's wish (`--no-check`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_out: bool,
    /// What would reject the variant, in functions that were accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<Fault>,
    /// The stated guards on which the check depends, by their places: `deburr.toml:3`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<String>,
    /// The files that are not decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<Undecided>,
    /// The features above the first level that its code needs, or may need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
}

impl CheckRecord {
    /// What the check was told to believe, and what it has not decided, a line each.
    pub fn believed(&self) -> Vec<String> {
        let accepted = self.accepted.iter().map(|fault| format!("accepted: {fault}"));
        let guards = self.guards.iter().map(|place| format!("believed: the guard of {place}"));
        let undecided = self.undecided.iter().map(|undecided| format!("undecided: {undecided}"));
        accepted.chain(guards).chain(undecided).collect()
    }

    /// What the variant's code needs; `None` where nobody has looked.
    pub fn used(&self) -> Option<FeatureSet> {
        (!self.left_out).then(|| demand::named(&self.needs))
    }
}

/// What became of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is built, and checked to be what its level says.
    Done,
    /// Its build failed, which the log explains, or did not end.
    Failed,
    /// It is built, but is not what its level says.
    Rejected,
}

/// What was measured on one CPU model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Measured {
    /// The CPU's name, for the reader.
    pub cpu: String,
    /// As `deburr_launcher::Model` has it.
    pub maker: u32,
    /// As `deburr_launcher::Model` has it.
    pub signature: u32,
    /// The workload, as its arguments.
    pub command: Vec<String>,
    /// Levels worth having there, best first.
    pub preferred: Vec<String>,
    /// Levels that run there and gain nothing over one that needs less.
    pub without_gain: Vec<String>,
}

/// Why a record cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordError {
    /// It cannot be read or written.
    Io(PathBuf, std::io::Error),
    /// It is no record.
    Malformed(PathBuf, serde_json::Error),
    /// It is of another version.
    Version(PathBuf, u32),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::Io(path, error) => write!(f, "{}: {error}", path.shown()),
            RecordError::Malformed(path, error) => {
                write!(f, "{}: expected a record of deburr pack: {error}", path.shown())
            }
            RecordError::Version(path, version) => write!(
                f,
                "{}: a record of version {version}; this deburr reads version {SCHEMA_VERSION}",
                path.shown()
            ),
        }
    }
}

impl std::error::Error for RecordError {}

impl Record {
    /// Reads the record of a folder.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn read(folder: &Path) -> Result<Record, RecordError> {
        let path = folder.join(FILE);
        let text = std::fs::read_to_string(&path).map_err(|error| RecordError::Io(path.clone(), error))?;
        let record: Record =
            serde_json::from_str(&text).map_err(|error| RecordError::Malformed(path.clone(), error))?;
        if record.schema_version != SCHEMA_VERSION {
            return Err(RecordError::Version(path, record.schema_version));
        }
        Ok(record)
    }

    /// Writes the record into a folder, whole or not at all.
    ///
    /// # Errors
    /// [`RecordError::Io`].
    pub fn write(&self, folder: &Path) -> Result<(), RecordError> {
        let path = folder.join(FILE);
        let temporary = folder.join(format!("{FILE}.new"));
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| RecordError::Malformed(path.clone(), error))?;
        std::fs::write(&temporary, text + "\n")
            .and_then(|()| std::fs::rename(&temporary, &path))
            .map_err(|error| RecordError::Io(path, error))
    }
}
