//! The editor of binaries in a tar archive: offers each to the caller.
//!
//! It records what a package has to know of those that were replaced: their sums and how much they grew,
//! under each of their names.

use super::error::Made;
use super::job::Job;
use super::tar::edit::{Edit, Member};
use crate::name::{shown, tidied};
use crate::object::Kind;
use crate::sniff::{Found, sniff};
use md5::{Digest, Md5};
use std::collections::HashMap;

/// A replaced file, under each of its names.
#[derive(Clone, Copy)]
pub(crate) struct Replaced {
    pub(crate) md5: [u8; 16],
    /// KiB that it takes more, parts of one counted as one.
    pub(crate) more: i64,
}

/// The editor of binaries.
pub(crate) struct Payload<'p, 'j> {
    job: &'p mut Job<'j>,
    /// Whether the archive is part of a package that says what it is.
    is_inner: bool,
    /// Whether it has an index of its own bytes, which is one of eStargz (stargz-snapshotter, "eStargz").
    pub(crate) is_indexed: bool,
    pub(crate) replaced: HashMap<Vec<u8>, Replaced>,
}

impl<'p, 'j> Payload<'p, 'j> {
    pub(crate) fn new(job: &'p mut Job<'j>, is_inner: bool) -> Payload<'p, 'j> {
        Payload { job, is_inner, is_indexed: false, replaced: HashMap::new() }
    }

    /// What an archive is whose members have hashes or signatures in places that are not made anew.
    fn foreign(name: &[u8]) -> Option<&'static str> {
        match name {
            b".PKGINFO" | b".MTREE" | b".BUILDINFO" => Some("a package of apk or pacman"),
            name if name.starts_with(b".SIGN.") => Some("a package of apk"),
            b"+MANIFEST" | b"+COMPACT_MANIFEST" => Some("a FreeBSD package"),
            b"props.plist" | b"files.plist" => Some("an XBPS package"),
            b"info/index.json" | b"info/paths.json" => Some("a conda package"),
            b"oci-layout" => Some("a container image"),
            _ => None,
        }
    }
}

impl Edit for Payload<'_, '_> {
    fn wants(&mut self, member: &Member, first: &[u8]) -> Made<bool> {
        self.job.begin_member()?;
        let name = tidied(&member.name);
        if let Some(format) = Self::foreign(name).filter(|_| !self.is_inner) {
            return Err(self.job.refused(&format!("{format}: its hashes and signatures are not made anew")));
        }
        self.is_indexed |= name == b"stargz.index.json";
        let twin = member.twin.as_deref().and_then(|twin| self.replaced.get(tidied(twin)).copied());
        match twin {
            // A second name takes no room.
            Some(replaced) => drop(self.replaced.insert(name.to_vec(), Replaced { more: 0, ..replaced })),
            // What was unpacked under the name before is lost.
            None => drop(self.replaced.remove(name)),
        }
        if member.is_sparse {
            self.job.leave(&member.name, "a sparse file, kept as it is");
        }
        match member.size {
            Some(size) if self.job.recognised(&member.name, first).is_some() => {
                self.job.admit(&member.name, size)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn edit(&mut self, member: &Member, bytes: Vec<u8>) -> Made<(Vec<u8>, bool)> {
        let kind = if sniff(&bytes) == Found::Elf { Kind::Elf } else { Kind::Archive };
        let old = bytes.len();
        let (bytes, is_new) = self.job.offered(&member.name, kind, bytes);
        if is_new {
            let kib = |length: usize| i64::try_from(length.div_ceil(1024)).unwrap_or(i64::MAX);
            let more = kib(bytes.len()).saturating_sub(kib(old));
            let replaced = Replaced { md5: Md5::digest(&bytes).into(), more };
            self.replaced.insert(tidied(&member.name).to_vec(), replaced);
            if member.is_signed {
                let name = shown(tidied(&member.name));
                self.job.signatures.push(format!("{name}: its IMA hash or signature holds no longer"));
            }
        }
        Ok((bytes, is_new))
    }
}
