//! The state of one rewriting: its limits, what was changed, and what is to be said of it.
//!
//! Every format shares it: members are counted and admitted here, recognised, and offered to the caller.

use super::error::{Made, RewriteError, failed};
use crate::codec::decode::decoded;
use crate::codec::meter::Meter;
use crate::inside::{first_block, sniff_inside};
use crate::name::{shown, tidied};
use crate::object::{Kind, Object};
use crate::sniff::{Codec, Found, sniff};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Names that one note lists in full.
const LISTED: usize = 3;

/// Bytes of a member that show what it is, even if it is compressed: the first block of each codec ends
/// within them.
pub(super) const PEEK: u64 = 192 << 10;

/// Names, of which only the first few are listed.
#[derive(Default)]
pub(super) struct Names {
    first: Vec<String>,
    more: u64,
}

impl Names {
    fn push(&mut self, name: String) {
        if self.first.len() < LISTED {
            self.first.push(name);
        } else {
            self.more += 1;
        }
    }

    pub(super) fn listed(&self, why: &str) -> String {
        let more = if self.more > 0 { format!(" and {} more", self.more) } else { String::new() };
        format!("{}{more}: {why}", self.first.join(", "))
    }
}

/// The state of one rewriting.
pub(super) struct Job<'j> {
    pub(super) path: String,
    pub(super) meter: Rc<Meter>,
    pub(super) change: &'j mut dyn FnMut(&Object) -> Option<Vec<u8>>,
    pub(super) members: u64,
    pub(super) changed: Vec<String>,
    pub(super) unopened: Vec<String>,
    /// Members that stay as they are though they may hold binaries, by the reason.
    pub(super) kept: BTreeMap<String, Names>,
    pub(super) signatures: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl Job<'_> {
    pub(super) fn refused(&self, reason: &str) -> RewriteError {
        RewriteError::Refused { path: self.path.to_owned(), reason: reason.to_owned() }
    }

    pub(super) fn unreadable(&self, reason: &str) -> RewriteError {
        RewriteError::Unreadable { path: self.path.to_owned(), reason: reason.to_owned() }
    }

    /// Where a member is, for people.
    pub(super) fn inner(&self, name: &[u8]) -> String {
        format!("{}!{}", self.path, shown(tidied(name)))
    }

    /// Begins a member of the package.
    pub(super) fn begin_member(&mut self) -> Made<()> {
        self.members += 1;
        let most = self.meter.limits.members;
        if self.members > most {
            return Err(self.unreadable(&format!("more than {most} members (--max-members)")));
        }
        Ok(())
    }

    /// Sees that a member may be held in memory.
    pub(super) fn admit(&self, name: &[u8], size: u64) -> Made<()> {
        let most = self.meter.limits.member_bytes;
        if size > most {
            let reason = format!("{size} bytes, where at most {most} are read (--max-member)");
            return Err(RewriteError::Unreadable { path: self.inner(name), reason });
        }
        Ok(())
    }

    pub(super) fn keep(&mut self, name: &[u8], why: &str) {
        self.kept.entry(why.to_owned()).or_default().push(shown(tidied(name)));
    }

    /// Keeps what is not opened, though there may be binaries in it.
    pub(super) fn leave(&mut self, name: &[u8], why: &str) {
        self.keep(name, why);
        self.unopened.push(self.inner(name));
    }

    /// What a member is, if it is to be offered; `first`: as much of it as [`PEEK`].
    pub(super) fn recognised(&mut self, name: &[u8], first: &[u8]) -> Option<Kind> {
        match sniff(first) {
            Found::Elf => return Some(Kind::Elf),
            Found::Archive => return Some(Kind::Archive),
            Found::Package(_) => self.leave(name, "a package in the package, kept as it is"),
            Found::Compressed(codec) => match sniff_inside(codec, first) {
                Ok(Found::Package(_)) => self.leave(name, "a package in the package, kept as it is"),
                Ok(Found::Elf | Found::Archive) => self.leave(name, "a compressed binary, kept as it is"),
                Ok(Found::Compressed(_) | Found::Known(_) | Found::Other) | Err(_) => {}
            },
            Found::Known(_) | Found::Other => {}
        }
        None
    }

    /// Offers a binary: what the member shall hold, and whether that is new.
    pub(super) fn offered(&mut self, name: &[u8], kind: Kind, bytes: Vec<u8>) -> (Vec<u8>, bool) {
        let object = Object { path: self.inner(name), kind, bytes, stored_at: None, lacks: false };
        match (self.change)(&object) {
            Some(new) if new != object.bytes => {
                self.changed.push(object.path);
                (new, true)
            }
            _ => (object.bytes, false),
        }
    }

    pub(super) fn first_block(&self, codec: Option<Codec>, bytes: &[u8]) -> Made<Vec<u8>> {
        let mut stream = decoded(codec, bytes, &self.meter);
        first_block(&mut stream).map_err(|error| failed(&self.path, &self.meter, error))
    }
}
