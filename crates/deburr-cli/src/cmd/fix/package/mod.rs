//! A package: the binaries in it → plans, and the package with rewritten binaries in their places. Before it
//! gets its name, it is read again and compared with the original (`contents.rs`): each binary that differs
//! must be one that was proven. All else in a package is copied by `deburr_package::rewrite`.

pub(super) mod contents;

use super::attested::{self, attestation::Attestation};
use super::breaks;
use super::file::destination::{Destination, Goal};
use super::file::source::Source;
use super::rewriter::{self, Rewrite};
use super::run::FixRun;
use super::trouble::{Stop, Trouble, guarded};
use crate::batch::progress::Life;
use crate::render::fix::outcome::{Break, Fixed, Packed, Written};
use crate::sha256::sha256;
use contents::{Change, differing, missed, unproven};
use deburr_package::{Object, RewriteError, Rewritten, rewrite};
use deburr_patch::{NoteError, RevertError};
use deburr_text::ShownPath as _;
use std::path::Path;

/// What was made of the binaries of one package.
struct Members<'a> {
    /// The package, and what it will be, as they are called before a member's own name.
    path: &'a str,
    new_path: Option<&'a str>,
    fixed: Vec<Fixed>,
    changes: Vec<Change>,
    left: Vec<(String, Trouble)>,
    /// What the package holds of hashes and signatures of its members.
    attested: attested::members::Members,
}

impl FixRun<'_> {
    /// Plans for what is in a package, or gives back what it was, and writes what is wanted.
    pub(super) fn package(&mut self, path: &Path, source: &Source, goal: Goal<'_>) -> Result<(), Stop> {
        let limits = self.options.batch.packages.limits();
        if limits.depth == 0 {
            return Err(Trouble::left("a package, and --max-depth 0 looks into none").into());
        }
        let destination = Destination::of(self.options, path, source, goal)?;
        let name = path.shown().into_owned();
        let new_path = destination
            .as_ref()
            .map(|to| if to.is_replaced { name.clone() } else { to.place.path().shown().into_owned() });
        let mut members = Members {
            path: &name,
            new_path: new_path.as_deref(),
            fixed: Vec::new(),
            changes: Vec::new(),
            left: Vec::new(),
            attested: match self.options.revert {
                true => attested::members::Members::default(),
                false => guarded(|| attested::members::Members::read(&name, &source.bytes, &limits))?,
            },
        };
        let life = || Life::new(self.options.batch.progress, name.clone());
        let rewritten = guarded(|| {
            let _life = life();
            rewrite(&name, &source.bytes, &limits, &mut |object| match self.options.revert {
                true => give_back(object, &mut members),
                false => self.inside(object, &mut members),
            })
        })?;
        let Rewritten { bytes, changed, unopened, signatures, notes } =
            rewritten.map_err(|error| trouble(&name, &error))?;
        let Members { fixed, changes, left, .. } = members;
        let is_broken = self.options.revert && changes.is_empty() && !left.is_empty();
        for (path, trouble) in left.into_iter().chain(missed(&name, &source.bytes, &limits, &unopened)?) {
            self.leave(Path::new(&path), trouble, false);
        }
        self.check_met()?;
        source.check()?;
        if is_broken {
            return Err(Trouble::fault("no file in it gives its original back").into());
        }
        let note = |text| Break { what: "package", text };
        let mut breaks = Vec::new();
        if self.options.revert && !changed.is_empty() {
            let text = "the files in it are the originals; the package may be compressed otherwise than it was; then a \
                 signature of the whole does not hold";
            breaks.push(note(text.to_owned()));
        } else if !self.options.revert && !changed.is_empty() {
            breaks.extend(breaks::around(self.options, path, source));
            breaks.extend(signatures.into_iter().map(note));
        }
        breaks.extend(notes.into_iter().map(note));
        let is_new =
            !self.options.revert && fixed.iter().any(|it| !it.plan.sites.is_empty() && it.obstacle.is_none());
        let whole = if is_new { self.disk.around(path, &source.bytes) } else { Vec::new() };
        breaks.extend(self.whole(&whole, destination.is_some())?);
        let mut packed =
            Packed { path: name.clone(), changed, breaks, written: None, is_reverted: self.options.revert };
        // In a tree, what stays as it is is copied with the rest.
        let destination = destination.filter(|_| !self.summary.is_tree || !packed.changed.is_empty());
        if let Some(destination) = destination {
            let _life = life();
            let made = (!packed.changed.is_empty()).then(|| (&*bytes).into());
            let (written, lost) = destination.deliver(path, source, made, |written| {
                let differing = differing(&name, &source.bytes, written, &limits)?;
                match differing == changes {
                    true => Ok(()),
                    false => Err(unproven("not the binaries that were proven differ")),
                }
            })?;
            packed.breaks.extend(lost);
            packed.written = Some(written);
        }
        self.summary.packages += u64::from(!packed.is_reverted);
        for fixed in &fixed {
            self.show(fixed, false)?;
        }
        self.render.packed(self.out, &packed)?;
        Ok(())
    }

    /// What is to be said of a package that something attests as a whole.
    fn whole(&self, attestations: &[Attestation], is_written: bool) -> Result<Vec<Break>, Trouble> {
        match attestations.first().map(Attestation::refusal) {
            None => Ok(Vec::new()),
            Some(_) if self.options.despite_signature => {
                Ok(attestations.iter().map(Attestation::broken).collect())
            }
            Some(reason) if is_written => Err(Trouble::left(reason)),
            Some(reason) => {
                Ok(vec![Break { what: "attested", text: format!("cannot be written: {reason}") }])
            }
        }
    }

    /// Plans for a binary in a package; returns what it is to become.
    fn inside(&mut self, object: &Object, members: &mut Members<'_>) -> Option<Vec<u8>> {
        let Members { left, attested, .. } = members;
        let mut leave = |trouble| left.push((object.path.clone(), trouble));
        let Rewrite { plan, patched, trailing } =
            self.rewriter.make(&object.bytes, None).map_err(&mut leave).ok()?;
        let mut fixed = self.planned(object.path.clone(), plan, trailing);
        let attestations =
            if fixed.plan.sites.is_empty() { Vec::new() } else { attested.attestations(object) };
        let refusal = self.attested(&mut fixed, attestations);
        let patched = match (patched.transpose(), refusal) {
            (Ok(patched), None) => patched.map(|patched| patched.to_vec()),
            (made, refusal) => {
                let obstacle = refusal.or_else(|| made.err().map(|error| breaks::obstacle(&error)));
                if let Some(reason) = obstacle.clone().filter(|_| members.new_path.is_some()) {
                    leave(Trouble::left(reason));
                    return None;
                }
                fixed.obstacle = obstacle;
                None
            }
        };
        if let Some(new_path) = members.new_path {
            if let Some(patched) = &patched
                && let Err(trouble) =
                    rewriter::verify(&object.bytes, patched, self.rewriter.target(), &|_| {}, &fixed.plan)
            {
                leave(trouble);
                return None;
            }
            let new = patched.as_deref().unwrap_or(&object.bytes);
            let inner = object.path.strip_prefix(members.path).unwrap_or(&object.path);
            fixed.written = Some(Written {
                path: format!("{new_path}{inner}"),
                is_changed: patched.is_some(),
                sha256: sha256([new]),
                backup: None,
            });
        }
        members.fixed.push(fixed);
        let patched = patched.filter(|_| members.new_path.is_some())?;
        members.changes.push(Change::of(object, &patched));
        Some(patched)
    }
}

/// The original of a binary in a package, if it was rewritten.
fn give_back(object: &Object, members: &mut Members<'_>) -> Option<Vec<u8>> {
    let trouble = match guarded(|| deburr_patch::revert(&object.bytes)) {
        Ok(Ok(original)) => {
            members.changes.push(Change::of(object, &original));
            return Some(original);
        }
        // What deburr writes, it can read again.
        Ok(Err(RevertError::Note(NoteError::Missing | NoteError::File(_)))) => return None,
        Ok(Err(error)) => Trouble::fault(error.to_string()),
        Err(trouble) => trouble,
    };
    members.left.push((object.path.clone(), trouble));
    None
}

/// The obstacle to a package, without the name that goes before it.
pub(super) fn trouble(package: &str, error: &RewriteError) -> Trouble {
    let text = error.to_string();
    let without_name = text.strip_prefix(package).map(|rest| rest.trim_start_matches([':', '!', ' ']));
    let reason = without_name.unwrap_or(&text).to_owned();
    Trouble { reason, is_fault: !matches!(error, RewriteError::Refused { .. }) }
}
