//! A package: the binaries in it → plans; and the package with what was made of them in their places, read again and compared
//! with the original before it gets its name.
//!
//! Compared are all binaries, those of packages within it among them: each that differs must be one that was proven when it
//! was made. What else is in a package is copied by `deburr_package::rewrite`, and counted here.

use super::work::{self, Made, Trouble, guarded};
use super::{Goal, Run, Source, Stop, sha256};
use crate::batch::progress::Life;
use crate::input::content::arch_of;
use crate::render::fix::outcome::{Break, Fixed, Packed, Written};
use crate::render::number::counted;
use deburr_core::patch::{self, NoteError, RevertError};
use deburr_cpu::Arch;
use deburr_package::{Limits, Object, RewriteError, Rewritten, Sink, Stopped, read_every, rewrite};
use std::collections::HashMap;
use std::path::Path;

/// A binary that is not what it was.
#[derive(Debug, PartialEq, Eq)]
struct Change {
    path: String,
    /// SHA-256 of what it was, and of what it is.
    old: String,
    new: String,
}

/// What was made of the binaries of one package.
struct Members<'a> {
    /// The package, and what it will be, as they are called before a member's own name.
    path: &'a str,
    new_path: Option<&'a str>,
    fixed: Vec<Fixed>,
    changes: Vec<Change>,
    left: Vec<(String, Trouble)>,
}

impl Run<'_> {
    /// Plans for what is in a package, or gives back what it was, and writes what was asked for.
    pub(super) fn package(&mut self, path: &Path, source: &Source, goal: Goal<'_>) -> Result<(), Stop> {
        let limits = self.options.batch.packages.limits();
        if limits.depth == 0 {
            return Err(Trouble::left("a package, and --max-depth 0 looks into none").into());
        }
        let destination = self.destination(path, source, goal)?;
        let name = path.display().to_string();
        let new_path = destination
            .as_ref()
            .map(|to| if to.is_replaced { name.clone() } else { to.place.path().display().to_string() });
        let mut members = Members {
            path: &name,
            new_path: new_path.as_deref(),
            fixed: Vec::new(),
            changes: Vec::new(),
            left: Vec::new(),
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
        for (path, trouble) in left.into_iter().chain(missed(&name, &source.bytes, &limits, &unopened)?) {
            self.leave(Path::new(&path), trouble, false);
        }
        if let (true, Some(unmet)) = (self.is_alone(), self.work.unmet().into_iter().next()) {
            return Err(Trouble::fault(unmet).into());
        }
        source.check()?;
        if self.options.revert && changed.is_empty() {
            return Err(Trouble::fault("no file in it gives its original back").into());
        }
        let note = |text| Break { what: "package", text };
        let mut breaks = Vec::new();
        if self.options.revert {
            let text = "the files in it are the originals; the package may be compressed otherwise than it was; then a \
                 signature of the whole does not hold";
            breaks.push(note(text.to_owned()));
        } else if !changed.is_empty() {
            breaks.extend(self.breaks_around(path, source));
            breaks.extend(signatures.into_iter().map(note));
        }
        breaks.extend(notes.into_iter().map(note));
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
            self.tell(fixed, false)?;
        }
        self.render.packed(self.out, &packed)?;
        Ok(())
    }

    /// Plans for a binary in a package; returns what it is to become.
    fn inside(&mut self, object: &Object, members: &mut Members<'_>) -> Option<Vec<u8>> {
        let mut leave = |trouble| members.left.push((object.path.clone(), trouble));
        let Made { plan, patched, trailer } = self.work.make(&object.bytes, None).map_err(&mut leave).ok()?;
        let mut fixed = self.planned(object.path.clone(), plan, trailer);
        let patched = match (patched.transpose(), members.new_path) {
            (Ok(patched), _) => patched.map(|patched| patched.to_vec()),
            (Err(error), Some(_)) => {
                leave(Trouble::left(self.hint(&error.to_string(), &error)));
                return None;
            }
            (Err(error), None) => {
                fixed.obstacle = Some(self.hint(&error.to_string(), &error));
                None
            }
        };
        if let Some(new_path) = members.new_path {
            if let Some(patched) = &patched
                && let Err(trouble) = work::verify(&object.bytes, patched, &|_| {}, &fixed.plan)
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

impl Change {
    fn of(object: &Object, new: &[u8]) -> Change {
        Change { path: object.path.clone(), old: sha256([&*object.bytes]), new: sha256([new]) }
    }
}

/// The original of a binary in a package, if it was rewritten.
fn give_back(object: &Object, members: &mut Members<'_>) -> Option<Vec<u8>> {
    let trouble = match guarded(|| patch::revert(&object.bytes)) {
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

/// What stands against a package, without the name that goes before it.
pub(super) fn trouble(package: &str, error: &RewriteError) -> Trouble {
    let text = error.to_string();
    let reason = text.strip_prefix(package).map(|rest| rest.trim_start_matches([':', '!', ' ']));
    let reason = reason.unwrap_or(&text).to_owned();
    Trouble { reason, is_fault: !matches!(error, RewriteError::Refused { .. }) }
}

fn unproven(reason: &str) -> Trouble {
    Trouble::fault(format!("what was written is not proven and was removed, please report it: {reason}"))
}

/// All binaries of a package, and what else is in it.
struct Contents<T> {
    /// What is to be known of a binary's bytes.
    of: fn(Vec<u8>) -> T,
    /// With their paths.
    binaries: Vec<(String, T)>,
    others: u64,
    skipped: Vec<String>,
    /// Why something could not be read.
    fault: Option<String>,
}

impl<T> Contents<T> {
    fn read(path: &str, bytes: &[u8], limits: &Limits, of: fn(Vec<u8>) -> T) -> Result<Contents<T>, Trouble> {
        let mut contents = Contents { of, binaries: Vec::new(), others: 0, skipped: Vec::new(), fault: None };
        // Nothing in the sink stops it.
        let _ = guarded(|| read_every(path, bytes, limits, &mut contents))?;
        Ok(contents)
    }
}

impl<T> Sink for Contents<T> {
    type Permit = ();

    fn admit(&mut self, _bytes: u64) -> Result<(), Stopped> {
        Ok(())
    }

    fn hold(&mut self, _bytes: u64) -> Result<(), Stopped> {
        Ok(())
    }

    fn object(&mut self, object: Object, _permit: ()) -> Result<(), Stopped> {
        self.binaries.push((object.path, (self.of)(object.bytes)));
        Ok(())
    }

    fn pass_over(&mut self) {
        self.others += 1;
    }

    fn skip(&mut self, path: String, reason: String, fault: bool) -> Result<(), Stopped> {
        if fault {
            self.fault.get_or_insert_with(|| format!("{path}: {reason}"));
        }
        self.skipped.push(path);
        Ok(())
    }

    fn progress(&mut self, _bytes: u64) {}
}

/// The binaries of a package by path, each as [`Object::path`].
pub(super) fn binaries(
    path: &str,
    bytes: &[u8],
    limits: &Limits,
) -> Result<HashMap<String, Vec<u8>>, Trouble> {
    let contents = Contents::read(path, bytes, limits, |bytes| bytes)?;
    match contents.fault {
        Some(fault) => Err(Trouble::fault(fault)),
        None => Ok(contents.binaries.into_iter().collect()),
    }
}

/// What in a package was not looked into though there are binaries in it that could be rewritten: that is a fault, as the user
/// asked for all of it.
fn missed(
    path: &str,
    bytes: &[u8],
    limits: &Limits,
    unopened: &[String],
) -> Result<Vec<(String, Trouble)>, Trouble> {
    if unopened.is_empty() {
        return Ok(Vec::new());
    }
    let found = Contents::read(path, bytes, limits, |bytes| arch_of(&bytes) == Some(Arch::Aarch64))?;
    let count = |path: &str| {
        let is_inside = |inner: &&(String, bool)| inner.1 && lies_in(&inner.0, path);
        found.binaries.iter().filter(is_inside).count() as u64
    };
    let missed = unopened.iter().filter_map(|path| match count(path) {
        0 => None,
        binaries => {
            let binaries = counted(binaries, "AArch64 file");
            let reason = format!("not looked into, with {binaries} in it: unpack it, and give it by itself");
            Some((path.clone(), Trouble::fault(reason)))
        }
    });
    Ok(missed.collect())
}

/// Whether a binary is in a package in a package, or is what is compressed there.
fn lies_in(binary: &str, package: &str) -> bool {
    binary.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('!'))
}

/// Whether there are binaries in a package that could be rewritten.
pub(super) fn has_binaries(path: &str, bytes: &[u8], limits: &Limits) -> Result<bool, Trouble> {
    let found = Contents::read(path, bytes, limits, |bytes| arch_of(&bytes) == Some(Arch::Aarch64))?;
    Ok(found.binaries.iter().any(|(_, is_ours)| *is_ours))
}

/// The binaries in which two packages differ that are the same but for these.
fn differing(path: &str, old: &[u8], new: &[u8], limits: &Limits) -> Result<Vec<Change>, Trouble> {
    let hashes = |bytes: &[u8]| Contents::read(path, bytes, limits, |bytes| sha256([&*bytes]));
    let (old, new) = (hashes(old)?, hashes(new)?);
    let same_names = old.binaries.iter().map(|(path, _)| path).eq(new.binaries.iter().map(|(path, _)| path));
    if !same_names || (old.others, old.skipped) != (new.others, new.skipped) {
        return Err(unproven("it does not hold the files that the original holds"));
    }
    let pairs = old.binaries.into_iter().zip(new.binaries).filter(|(old, new)| old != new);
    Ok(pairs.map(|((path, old), (_, new))| Change { path, old, new }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive of two binaries and a text.
    fn package(first: &[u8], second: &str) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, bytes) in [("a.so", first), (second, b"\x7fELF 2"), ("text", b"text")] {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, name, bytes).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn binaries_that_differ_are_all_told_and_anything_else_is_a_fault() {
        let old = package(b"\x7fELF 1", "b.so");
        let differing = |new: &[u8]| differing("p", &old, new, &Limits::default());
        assert_eq!(differing(&old).unwrap(), []);
        let expected = Change {
            path: "p!a.so".into(),
            old: sha256([&b"\x7fELF 1"[..]]),
            new: sha256([&b"\x7fELF 3"[..]]),
        };
        assert_eq!(differing(&package(b"\x7fELF 3", "b.so")).unwrap(), [expected]);
        for other in [package(b"\x7fELF 1", "c.so"), package(b"no ELF", "b.so"), old[..1600].to_vec()] {
            assert!(differing(&other).unwrap_err().reason.contains("the files that the original holds"));
        }
    }
}
