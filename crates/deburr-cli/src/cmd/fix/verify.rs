//! Verifying: a file and its rewritten form → whether they do the same, proven from the bytes alone.
//!
//! In: two files, or two packages. Out: the changes by rule, or why they are not proven; exit status 1 for
//! the latter.

use super::package::{contents, trouble};
use super::rewriter;
use super::trouble::{Trouble, guarded};
use crate::args::fix::Fix;
use crate::batch::progress::Life;
use crate::cmd::failure::Failure;
use crate::input::content::Content;
use crate::input::mapped::Bytes;
use crate::render::fix::outcome::Verdict;
use crate::render::fix::renderer::FixRenderer;
use crate::render::fix::summary::FixSummary;
use crate::system_error::error_text;
use deburr_cpu::FeatureSet;
use deburr_package::{Limits, rewrite};
use deburr_patch::{PlanError, VerifyError};
use deburr_text::ShownPath as _;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Changes by rule, or why they are not proven.
type Verified = Result<BTreeMap<&'static str, usize>, String>;

/// Proves the difference of two files, or of two packages.
pub(super) fn verify(
    options: &Fix,
    [original, patched]: [&Path; 2],
    render: &mut dyn FixRenderer,
    out: &mut dyn Write,
) -> Result<ExitCode, Failure> {
    let complain = |path: &Path, reason: &str| Failure::Message(format!("{}: {reason}", path.shown()));
    let open = |path: &Path| {
        let is_special = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
        match Bytes::open(path) {
            _ if is_special => Err(complain(path, "no regular file")),
            opened => opened.map_err(|error| complain(path, &error_text(&error))),
        }
    };
    let target = rewriter::target(options).map_err(Failure::Message)?.unwrap_or_default();
    let (old, new) = (open(original)?, open(patched)?);
    let name = original.shown().into_owned();
    let release = |part: &[u8]| [&old, &new].into_iter().for_each(|file| file.release(part));
    let done = match Content::of_all(&old) {
        _ if *old == *new => Ok(Ok(Ok(BTreeMap::new()))),
        Content::Package => {
            let _life = Life::new(options.batch.progress, name.clone());
            guarded(|| packages(&name, [&old, &new], target, &options.batch.packages.limits()))
        }
        _ => guarded(|| deburr_patch::verify_releasing(&old, &new, target, &release)).map(|verified| {
            match verified {
                Err(VerifyError::Plan(PlanError::Unreadable(error))) => {
                    Err(Trouble::fault(error.to_string()))
                }
                verified => Ok(verified.map(|verified| verified.by_rule).map_err(|error| error.to_string())),
            }
        }),
    };
    let verified = done.and_then(|verified| verified).map_err(|why| complain(original, &why.reason))?;
    for (path, bytes) in [(original, &old), (patched, &new)] {
        if !bytes.is_intact() {
            return Err(complain(path, "the file changed while it was read"));
        }
    }
    let assumptions = if options.verbose { deburr_patch::ASSUMPTIONS } else { &[] };
    let verdict = Verdict { path: patched.shown().into_owned(), original: name, verified, assumptions };
    render.begin(out)?;
    render.verdict(out, &verdict)?;
    render.end(out, &FixSummary::default())?;
    Ok(if verdict.verified.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Proves the difference of two packages: of each binary that differs; and that with these in their places
/// the original becomes the other, byte for byte. Returns the changes by rule, or why they are not proven.
fn packages(
    name: &str,
    [old, new]: [&[u8]; 2],
    target: FeatureSet,
    limits: &Limits,
) -> Result<Verified, Trouble> {
    let mut binaries = contents::binaries(name, new, limits)?;
    let mut by_rule = BTreeMap::new();
    let mut doubt = None;
    let done = rewrite(name, old, limits, &mut |object| {
        let new = binaries.remove(&object.path).filter(|new| *new != object.bytes)?;
        match deburr_patch::verify_releasing(&object.bytes, &new, target, &|_| {}) {
            Ok(verified) => {
                for (rule, changes) in verified.by_rule {
                    *by_rule.entry(rule).or_default() += changes;
                }
                return Some(new);
            }
            Err(error) => doubt.get_or_insert(format!("{}: {error}", object.path)),
        };
        None
    });
    let rewritten = done.map_err(|error| trouble(name, &error))?;
    Ok(match doubt {
        Some(doubt) => Err(doubt),
        None if rewritten.changed.is_empty() => Err("no binary in it differs from the original's".to_owned()),
        None if *rewritten.bytes != *new => Err(
            "its binaries are proven, but the original with them in their places is another package, byte for byte: \
             something else was changed, or another version of deburr wrote it"
                .to_owned(),
        ),
        None => Ok(by_rule),
    })
}
