//! What is in a package: all binaries, those of packages within it among them, and how many other files. Two
//! packages are compared by that.

use crate::cmd::fix::trouble::{Trouble, guarded};
use crate::input::content::arch_of;
use crate::sha256::sha256;
use crate::text::number::counted;
use deburr_cpu::Arch;
use deburr_package::{Limits, Object, Sink, Stopped, read_every};
use std::collections::HashMap;

/// A binary that is not what it was.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    path: String,
    /// SHA-256 of what it was, and of what it is.
    old: String,
    new: String,
}

impl Change {
    pub(super) fn of(object: &Object, new: &[u8]) -> Change {
        Change { path: object.path.clone(), old: sha256([&*object.bytes]), new: sha256([new]) }
    }
}

pub(super) fn unproven(reason: &str) -> Trouble {
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
pub(crate) fn binaries(
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

/// What in a package was not looked into though there are binaries in it that could be rewritten: that is a
/// fault, as the user named all of it.
pub(super) fn missed(
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
        let is_inside = |inner: &&(String, bool)| inner.1 && is_in(&inner.0, path);
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
fn is_in(binary: &str, package: &str) -> bool {
    binary.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('!'))
}

/// Whether there are binaries in a package that could be rewritten.
pub(crate) fn has_binaries(path: &str, bytes: &[u8], limits: &Limits) -> Result<bool, Trouble> {
    let found = Contents::read(path, bytes, limits, |bytes| arch_of(&bytes) == Some(Arch::Aarch64))?;
    Ok(found.binaries.iter().any(|(_, is_ours)| *is_ours))
}

/// The binaries in which two packages differ that are the same except for these.
pub(super) fn differing(path: &str, old: &[u8], new: &[u8], limits: &Limits) -> Result<Vec<Change>, Trouble> {
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
    fn binaries_that_differ_are_all_reported_and_anything_else_is_a_fault() {
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
