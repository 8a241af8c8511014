//! Rules of security modules for what was laid out: a tree of `assemble` → an SELinux module, and files of AppArmor.
//!
//! In: the tree, and for SELinux the file contexts of the policy that it will be installed under. Out: texts of files. Each variant gets
//! what the policy gives the file in its place: `usr/lib/prog/ID/x86-64-v3/bin/prog` that of `usr/bin/prog`. Neither module is asked
//! anything here: labels are computed from the contexts (selabel_file(5)), and rules are written (`apparmor.d(5)`).

mod apparmor;
mod contexts;
mod places;
mod selinux;

use crate::assemble::AssembleError;
use crate::record::{Record, RecordError};
use deburr_text::ShownPath as _;
use places::Places;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What to write rules for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// What `assemble` wrote.
    pub folder: PathBuf,
    /// The name of the SELinux module and of the files; `None`: that of the folder of the trees, with `-levels`.
    pub name: Option<String>,
    /// The file contexts of the SELinux policy; `None`: no module.
    pub contexts: Option<PathBuf>,
    /// Domains by the types of the programs that they may start, where the names do not say so.
    pub domains: Vec<(String, String)>,
    /// Whether to write files of AppArmor.
    pub is_for_apparmor: bool,
}

/// What is to be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Paths below the output, and texts.
    pub files: Vec<(PathBuf, String)>,
    /// For the reader, a line each.
    pub remarks: Vec<String>,
}

/// Why nothing is written.
#[derive(Debug)]
#[non_exhaustive]
pub enum PolicyError {
    /// The tree has no record.
    Record(RecordError),
    /// The tree cannot be read.
    Assembled(AssembleError),
    /// A file cannot be read.
    Io(PathBuf, io::Error),
    /// A file of the tree has no rules: where, and why.
    File(PathBuf, String),
    /// A line of the file contexts cannot be used: file, line, and why.
    Line(PathBuf, usize, String),
    /// No program has the type that a domain was named for.
    Type(String),
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyError::Record(error) => error.fmt(f),
            PolicyError::Assembled(error) => error.fmt(f),
            PolicyError::Io(path, error) => write!(f, "{}: {error}", path.shown()),
            PolicyError::File(path, reason) => write!(f, "{}: {reason}", path.shown()),
            PolicyError::Line(path, line, reason) => write!(f, "{}:{line}: {reason}", path.shown()),
            PolicyError::Type(name) => {
                write!(
                    f,
                    "--domain {name}=…: no program of the tree has this type; the file contexts decide which it has"
                )
            }
        }
    }
}

impl std::error::Error for PolicyError {}

/// Computes the rules.
///
/// # Errors
/// [`PolicyError`].
pub fn policy(request: &Request) -> Result<Policy, PolicyError> {
    let record = Record::read(&request.folder).map_err(PolicyError::Record)?;
    let places = Places::read(&request.folder, &record)?;
    let name = request.name.clone().unwrap_or_else(|| places.name());
    let mut policy = Policy::default();
    if let Some(path) = &request.contexts {
        let contexts = contexts::Contexts::read(path)?;
        let module = selinux::module(&places, &contexts, &request.domains, &name)?;
        policy.remarks.extend(module.remarks);
        policy.files.extend(module.text.map(|text| (PathBuf::from(format!("{name}.cil")), text)));
    }
    if request.is_for_apparmor {
        policy.files.extend(apparmor::files(&places, &name));
    }
    Ok(policy)
}

/// A path below the root of a system, as rules have it. Rules are lines of text, so its name must be one.
fn absolute(path: &Path) -> Result<String, PolicyError> {
    let text = deburr_text::plain(path.as_os_str().as_encoded_bytes());
    let reason = "expected a name in UTF-8 and without control characters: rules are lines of text";
    let text = text.ok_or_else(|| PolicyError::File(path.to_owned(), reason.to_owned()))?;
    Ok(format!("/{text}"))
}
